package graph

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/internal/npy"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/kernels"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// entryData makes the entry tensors and scalars of a test from its description in Pto.toml.
func (b *Builder) entryData(t *TestConfig, f *plan.File) ([]exec.Tensor, []uint64, diag.List) {
	at := diag.Span{File: ConfigName, Line: int32(t.Line), Col: 1}
	var ds diag.List
	dims := t.Dims
	var tensorNames, scalarNames, dimNames []string
	for _, p := range f.Tensors {
		tensorNames = append(tensorNames, p.Param)
		for _, e := range p.Shape {
			if v, ok := e.(*ir.Var); ok && !slices.Contains(dimNames, v.Hint) {
				dimNames = append(dimNames, v.Hint)
			}
		}
	}
	for _, s := range f.Scalars {
		scalarNames = append(scalarNames, s.Param)
	}
	ds.Add(unknownNames(at, t.Name, "inputs", slices.Sorted(maps.Keys(t.Inputs)), tensorNames)...)
	ds.Add(unknownNames(at, t.Name, "scalars", slices.Sorted(maps.Keys(t.Scalars)), scalarNames)...)
	ds.Add(unknownNames(at, t.Name, "dims", slices.Sorted(maps.Keys(dims)), dimNames)...)
	tensors := make([]exec.Tensor, len(f.Tensors))
	for i, p := range f.Tensors {
		shape, d := entryShape(&p, dims)
		if d != nil {
			d.Span = at
			ds.Add(d)
			continue
		}
		in, given := t.Inputs[p.Param]
		data, d := b.fill(p.DType, shape, in, given, p.Param, p.Dir)
		if d != nil {
			d.Span = at
			d.Message = fmt.Sprintf("test %q: input %q: %s", t.Name, p.Param, d.Message)
			ds.Add(d)
		}
		tensors[i] = exec.Tensor{DType: p.DType, Shape: shape, Data: data}
	}
	scalars := make([]uint64, len(f.Scalars))
	for i, s := range f.Scalars {
		v, ok := t.Scalars[s.Param]
		if !ok {
			ds.Add(diag.Errorf(CodeTestSetup, at, "test %q gives no value for scalar %q", t.Name, s.Param).
				WithHint("add scalars.%s = … to the test, or give --scalar %s=… to `ptobuild run`", s.Param, s.Param))
			continue
		}
		bits, err := scalarBits(s.DType, v)
		if err != nil {
			ds.Add(diag.Errorf(CodeTestSetup, at, "test %q: scalar %q: %v", t.Name, s.Param, err))
		}
		scalars[i] = bits
	}
	return tensors, scalars, ds
}

func unknownNames(at diag.Span, test, table string, given, known []string) diag.List {
	var ds diag.List
	for _, n := range given {
		if slices.Contains(known, n) {
			continue
		}
		d := diag.Errorf(CodeTestSetup, at, "test %q: %s names %q, which the target does not have", test, table, n)
		switch near := diag.Nearest(n, known); {
		case near != "":
			d.WithHint("did you mean %q?", near)
		case len(known) > 0:
			d.WithHint("it has: %s", strings.Join(known, ", "))
		}
		ds.Add(d)
	}
	return ds
}

// entryShape evaluates the declared extents of an entry tensor with the test's dims.
func entryShape(p *plan.Tensor, dims map[string]int64) ([]uint32, *diag.Diagnostic) {
	shape := make([]uint32, len(p.Shape))
	for i, e := range p.Shape {
		var missing string
		r := ir.Rewriter{Expr: func(e ir.Expr) ir.Expr {
			if v, ok := e.(*ir.Var); ok {
				if n, ok := dims[v.Hint]; ok {
					return ir.Int(n)
				}
				missing = v.Hint
			}
			return e
		}}
		n, ok := ir.IntValue(ir.Simplify(r.Rewrite(e)))
		switch {
		case missing != "":
			return nil, diag.Errorf(CodeTestSetup, diag.Span{}, "the extent %s of parameter %q is not given", missing, p.Param).
				WithHint("add dims.%s = … to the test, or give --dim %s=… to `ptobuild run`", missing, missing)
		case !ok || n < 0 || n > math.MaxUint32:
			return nil, diag.Errorf(CodeTestSetup, diag.Span{}, "extent %s of parameter %q is no size", ir.PrintExpr(e), p.Param)
		}
		shape[i] = uint32(n)
	}
	return shape, nil
}

// fill makes the content of one entry tensor. Without a description an In or InOut tensor is random, seeded by its name; an Out tensor holds the
// runtime's pattern for memory that nothing has written, so that elements which stay so show.
func (b *Builder) fill(dt ir.DType, shape []uint32, in InputConfig, given bool, name string, dir ir.ParamDir) ([]byte, *diag.Diagnostic) {
	n := 1
	for _, d := range shape {
		n *= int(d)
	}
	size := dt.Bytes()
	data := make([]byte, n*size)
	switch {
	case given && in.Npy != "":
		a, err := b.readNpy(in.Npy)
		if err != nil {
			return data, diag.Errorf(CodeTestSetup, diag.Span{}, "%v", err)
		}
		if err := fits(a, dt, shape); err != nil {
			return data, diag.Errorf(CodeTestSetup, diag.Span{}, "%s %v", in.Npy, err)
		}
		return a.Data, nil
	case given && in.Constant != nil:
		for i := range n {
			kernels.Store(dt, data[i*size:], *in.Constant)
		}
		return data, nil
	case !given && dir == ir.Out:
		sim.Unwrite(data)
		return data, nil
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	seed := h.Sum64()
	lo, hi := -1.0, 1.0
	if !dt.IsFloat() {
		lo, hi = 0, 8
	}
	if dt == ir.BOOL {
		hi = 2
	}
	if in.Random != nil {
		seed = uint64(*in.Random)
	}
	if in.Low != nil {
		lo = *in.Low
	}
	if in.High != nil {
		hi = *in.High
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	for i := range n {
		v := lo + rng.Float64()*(hi-lo)
		if !dt.IsFloat() {
			v = math.Floor(v)
		}
		kernels.Store(dt, data[i*size:], v)
	}
	return data, nil
}

func (b *Builder) readNpy(name string) (*npy.Array, error) {
	raw, err := b.WS.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, unwrapPath(err))
	}
	a, err := npy.Unmarshal(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return a, nil
}

// fits checks dtype and shape of an array against what a parameter needs. BF16 travels as uint16, INDEX as int64.
func fits(a *npy.Array, dt ir.DType, shape []uint32) error {
	want := dt
	switch dt {
	case ir.BF16:
		want = ir.UINT16
	case ir.INDEX:
		want = ir.INT64
	}
	if a.DType != want {
		return fmt.Errorf("holds %s, the parameter is %s", a.DType, dt)
	}
	same := len(a.Shape) == len(shape)
	for i := 0; same && i < len(shape); i++ {
		same = a.Shape[i] == int64(shape[i])
	}
	if !same {
		return fmt.Errorf("has shape %v, the parameter has %v", a.Shape, shape)
	}
	return nil
}

// scalarBits encodes a scalar of Pto.toml as the 64-bit pattern that the runtime passes.
func scalarBits(dt ir.DType, v any) (uint64, error) {
	var f float64
	switch v := v.(type) {
	case int64:
		if dt == ir.BOOL && uint64(v) <= 1 {
			return uint64(v), nil
		}
		if dt.IsInt() {
			if dt.Bits() < 64 && (v < -(1<<(dt.Bits()-1)) || v >= 1<<dt.Bits()) {
				return 0, fmt.Errorf("%d does not fit %s", v, dt)
			}
			return uint64(v) & (math.MaxUint64 >> (64 - dt.Bits())), nil
		}
		f = float64(v)
	case float64:
		f = v
	case bool:
		if dt != ir.BOOL {
			return 0, fmt.Errorf("is %s, not a bool", dt)
		}
		if v {
			return 1, nil
		}
		return 0, nil
	default:
		return 0, fmt.Errorf("%q is text, not a number", fmt.Sprint(v))
	}
	if !dt.IsFloat() {
		return 0, fmt.Errorf("%v is no %s", v, dt)
	}
	var buf [8]byte
	kernels.Store(dt, buf[:dt.Bytes()], f)
	return binary.LittleEndian.Uint64(buf[:]), nil
}
