package lower

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang/eval"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// Annotations: the type expressions of parameters, results and variables (spec: dsl-ir 1.3).

var opaqueTypes = map[string]string{
	"pl.Ptr": "Ptr", "pl.MemRefType": "MemRefType", "pl.PrefetchAsyncContext": "pl.PrefetchAsyncContext", "pl.PrefetchAsyncContextType": "pl.PrefetchAsyncContext",
	"pl.AsyncEvent": "pl.AsyncEvent", "pl.AsyncEventType": "pl.AsyncEvent", "pl.AsyncSession": "pl.AsyncSession", "pl.AsyncSessionType": "pl.AsyncSession",
	"pld.WindowBufferType": "pld.WindowBufferType", "pld.CommCtxType": "pld.CommCtxType", "pld.CommCtx": "pld.CommCtxType",
}

var typeNames = []string{"Tensor", "Tile", "Scalar", "Array", "Tuple", "TaskId", "Ptr", "Out", "InOut"}

// annotation reads a type.
func (b *body) annotation(x syntax.Expr) (ir.Type, bool) {
	if c, ok := x.(*syntax.Constant); ok && c.Kind == syntax.None {
		b.errorf(CodeAnnotation, x, "None is not a type of the DSL")
		return nil, false
	}
	x = b.expand(x)
	if x == nil {
		return nil, false
	}
	if s, ok := x.(*syntax.Subscript); ok {
		path := b.symbol(s.X)
		args := indices(s)
		switch path {
		case "pl.Scalar":
			if len(args) != 1 {
				b.errorf(CodeAnnotation, x, "pl.Scalar takes one dtype: pl.Scalar[pl.INDEX]")
				return nil, false
			}
			d, ok := b.dtype(args[0])
			return ir.Scalar(d), ok
		case "pl.Tensor", "pld.DistributedTensor":
			return b.tensorType(x, args, path == "pld.DistributedTensor")
		case "pl.Tile":
			return b.tileType(x, args)
		case "pl.Array":
			return b.arrayType(x, args)
		case "pl.Tuple", "tuple":
			t := &ir.TupleType{}
			if len(args) == 1 {
				if e, isTuple := args[0].(*syntax.Tuple); isTuple && len(e.Elems) == 0 {
					return t, true
				}
			}
			ok := true
			for _, a := range args {
				e, good := b.annotation(a)
				if _, nested := e.(*ir.TupleType); nested && good && b.mode != Dump {
					b.errorf(CodeAnnotation, a, "nested tuple types are not supported")
					good = false
				}
				ok = ok && good
				t.Elems = append(t.Elems, e)
			}
			return t, ok
		case "pl.PrefetchAsyncContext", "pl.AsyncEvent", "pl.AsyncSession": // with the name of the C++ type
			return &ir.OpaqueType{Name: path}, true
		case "pl.Out", "pl.InOut":
			b.errorf(CodeAnnotation, x, "%s[…] is only for parameters", path)
			return nil, false
		}
		if path == "" {
			b.errorf(CodeAnnotation, x, "'%s' is not a type of the DSL", dotted(s.X)).WithHint("types are pl.Tensor[[…], pl.DT], pl.Tile[…], pl.Scalar[pl.DT], pl.Array[N, pl.DT]")
		} else {
			b.badType(x, path)
		}
		return nil, false
	}
	path := b.symbol(x)
	switch path {
	case "pl.TaskId":
		return ir.TaskIDType, true
	case "pl.UnknownType":
		return ir.Unknown, true
	case "pl.Tensor", "pl.Tile", "pld.DistributedTensor":
		b.errorf(CodeAnnotation, x, "bare '%s' has no shape and dtype", path).WithHint("write %s[[rows, cols], pl.FP32]", path)
		return nil, false
	case "pl.Out", "pl.InOut":
		b.errorf(CodeAnnotation, x, "bare '%s' has no type", path).WithHint("write %s[pl.Tensor[[rows, cols], pl.FP32]]", path)
		return nil, false
	case "pl.Array", "pl.Tuple":
		b.errorf(CodeAnnotation, x, "bare '%s' has no elements", path).
			WithHint("write %s", map[string]string{"pl.Array": "pl.Array[N, pl.INT32]", "pl.Tuple": "pl.Tuple[T1, T2]"}[path])
		return nil, false
	case "pl.Scalar":
		b.errorf(CodeAnnotation, x, "bare 'pl.Scalar' has no dtype").WithHint("write pl.Scalar[pl.INDEX]")
		return nil, false
	}
	if n, ok := opaqueTypes[path]; ok {
		return &ir.OpaqueType{Name: n}, true
	}
	if name, ok := strings.CutPrefix(path, "pl."); ok {
		if d, known := ir.DTypeNamed(name); known {
			return ir.Scalar(d), true // a bare dtype stands for a scalar
		}
	}
	if call, called := b.dslCall(x); slices.Contains(typeNames, strings.TrimPrefix(called, "pl.")) || called == "pld.DistributedTensor" {
		b.errorf(CodeAnnotation, call, "'%s' is a type, and types are not called", called).WithHint("write them with brackets: pl.Tensor[[rows, cols], pl.FP32]")
		return nil, false
	}
	if path == "" {
		b.errorf(CodeAnnotation, x, "'%s' is not a type of the DSL", dotted(x)).WithHint("types are pl.Tensor[[…], pl.DT], pl.Tile[…], pl.Scalar[pl.DT], pl.Array[N, pl.DT]")
		return nil, false
	}
	b.badType(x, path)
	return nil, false
}

func (b *body) badType(x syntax.Node, path string) {
	d := b.errorf(CodeAnnotation, x, "Unknown type '%s'", path)
	if best := diag.Nearest(strings.TrimPrefix(path, "pl."), typeNames); best != "" {
		d.WithHint("did you mean 'pl.%s'?", best)
	}
}

// dtype reads pl.FP32 and its kin, also through a name of the module.
func (b *body) dtype(x syntax.Expr) (ir.DType, bool) {
	path := b.symbol(x)
	if path == "" {
		if n, isName := x.(*syntax.Name); isName && b.names.lookup(n.ID) != nil {
			b.errorf(CodeAnnotation, x, "'%s' is a value, not a dtype", n.ID)
			return 0, false
		}
		if a, isAttr := x.(*syntax.Attribute); isAttr && a.Name == "dtype" {
			if d, ok := b.dtypeOf(x); ok {
				return d, true
			}
		}
		v, ok := b.eval(x)
		if !ok {
			return 0, false
		}
		if s, isSymbol := v.(*eval.Symbol); isSymbol {
			if b.absent(s, x) {
				return 0, false
			}
			path = canonical(s.Path)
		} else {
			b.errorf(CodeAnnotation, x, "Unknown dtype '%s'", dotted(x)).WithHint("dtypes are written pl.FP32, pl.BF16, pl.INT32, …")
			return 0, false
		}
	}
	name := strings.TrimPrefix(path, "pl.")
	if d, ok := ir.DTypeNamed(name); ok && path != name {
		return d, true
	}
	d := b.errorf(CodeAnnotation, x, "Unknown dtype '%s'", path)
	if best := diag.Nearest(name, ir.DTypeNames()); best != "" {
		d.WithHint("did you mean 'pl.%s'?", best)
	} else {
		d.WithHint("dtypes are written pl.FP32, pl.BF16, pl.INT32, …")
	}
	return 0, false
}

// dtypeOf reads x.dtype of a jit function, or a dtype, without reports.
func (b *body) dtypeOf(x syntax.Expr) (ir.DType, bool) {
	if a, ok := x.(*syntax.Attribute); ok && a.Name == "dtype" {
		if n, ok := a.X.(*syntax.Name); ok {
			if old := b.names.lookup(n.ID); old != nil {
				if old.expr == nil {
					return 0, false
				}
				d := ir.ElemDType(old.expr.Type())
				return d, d != ir.NoDType
			}
		}
	}
	v, ok := b.symbolValue(x)
	if !ok {
		return 0, false
	}
	d, ok := v.(ir.DType)
	return d, ok
}

// shape reads a list of extents.
func (b *body) shape(x syntax.Expr) ([]ir.Expr, bool) {
	b.inType++
	defer func() { b.inType-- }()
	elems, isList := listElems(x)
	if !isList {
		// A list computed by the module: pl.Tensor[SHAPE, pl.FP32].
		if n, isName := x.(*syntax.Name); isName && b.names.lookup(n.ID) != nil {
			b.errorf(CodeShape, x, "a shape must be a list of extents, '%s' is a value", n.ID)
			return nil, false
		}
		v, ok := b.eval(x)
		if !ok {
			return nil, false
		}
		values, ok := sequence(v)
		if !ok {
			b.errorf(CodeShape, x, "a shape must be a list of extents: pl.Tensor[[rows, cols], pl.FP32]")
			return nil, false
		}
		for _, e := range values {
			elems = append(elems, &valueExpr{Constant: &syntax.Constant{Range: x.At()}, v: e})
		}
	}
	out := make([]ir.Expr, 0, len(elems))
	ok := true
	for _, e := range elems {
		d, good := b.dim(e)
		if !good {
			ok = false
			continue
		}
		out = append(out, d)
	}
	return out, ok
}

// dim reads one extent: an integer, a dynamic symbol, a scalar in scope, or arithmetic over them.
func (b *body) dim(x syntax.Expr) (ir.Expr, bool) {
	if n, isName := x.(*syntax.Name); isName && b.names.lookup(n.ID) == nil {
		if _, found := b.env.Lookup(n.ID); !found {
			if b.mode == Dump && strings.HasSuffix(n.ID, freeSuffix) {
				return b.read(n)
			}
			if b.mode == Dump || b.u.opt.OpenNames {
				return b.u.symbolNamed(n.ID, b.at(n)), true
			}
			d := b.errorf(CodeShape, x, "Unknown shape variable '%s'", n.ID)
			if best := diag.Nearest(n.ID, b.visible()); best != "" {
				d.WithHint("did you mean '%s'?", best)
			} else {
				d.WithHint("define it at module level: %s = pl.dynamic(\"%s\")", n.ID, n.ID)
			}
			return nil, false
		}
	}
	e, ok := b.expr(x)
	if !ok {
		return nil, false
	}
	switch t := e.Type().(type) {
	case *ir.ScalarType:
		if t.DType.IsInt() {
			if n, known := ir.IntValue(e); known {
				if n < 0 {
					b.errorf(CodeShape, x, "an extent must not be negative, got %d", n)
					return nil, false
				}
				return &ir.ConstInt{Value: n, DType: ir.INDEX, Pos: b.at(x)}, true
			}
			return e, true
		}
	case *ir.UnknownType:
		return e, true
	}
	b.errorf(CodeShape, x, "an extent must be int or pl.dynamic, got %s", typeText(e.Type()))
	return nil, false
}

func (b *body) tensorType(x syntax.Expr, args []syntax.Expr, distributed bool) (ir.Type, bool) {
	name := "pl.Tensor"
	if distributed {
		name = "pld.DistributedTensor"
	}
	if len(args) < 2 {
		b.errorf(CodeAnnotation, x, "%s needs a shape and a dtype", name).WithHint("write %s[[rows, cols], pl.FP32]", name)
		return nil, false
	}
	t := &ir.TensorType{Distributed: distributed}
	var ok, good bool
	t.Shape, ok = b.shape(args[0])
	t.DType, good = b.dtype(args[1])
	ok = ok && good
	for _, a := range args[2:] {
		if c, isConst := a.(*syntax.Constant); isConst && c.Kind == syntax.Str {
			continue // the buffer of a window, printed in explicit dumps
		}
		a = b.expand(a)
		if a == nil {
			ok = false
			continue
		}
		if call, path := b.dslCall(a); path == "pl.TensorView" {
			v, good := b.tensorView(call)
			t.View, ok = v, ok && good
			continue
		}
		if m, isMem, good := b.memRef(a); isMem {
			t.MemRef, ok = m, ok && good
			continue
		}
		switch path := b.symbol(a); path {
		case "pl.ND", "pl.TensorLayout.ND":
		case "pl.NZ", "pl.MX_A_ZZ", "pl.MX_B_NN", "pl.TensorLayout.NZ", "pl.TensorLayout.MX_A_ZZ", "pl.TensorLayout.MX_B_NN":
			t.View = &ir.TensorView{Layout: path[strings.LastIndex(path, ".")+1:]}
		case "pl.DN", "pl.TensorLayout.DN":
			b.errorf(CodeAnnotation, a, "pl.Tensor[..., pl.DN] is not supported").
				WithHint("a DN tensor needs its strides: write pl.TensorView(stride=[…], layout=pl.TensorLayout.DN)")
			ok = false
		default:
			text := path
			if text == "" {
				text = dotted(a)
			}
			d := b.errorf(CodeAnnotation, a, "Unknown layout '%s'", text)
			if best := diag.Nearest(strings.TrimPrefix(text, "pl."), []string{"ND", "NZ", "MX_A_ZZ", "MX_B_NN"}); best != "" {
				d.WithHint("did you mean 'pl.%s'?", best)
			} else {
				d.WithHint("layouts are pl.ND, pl.NZ, pl.MX_A_ZZ, pl.MX_B_NN")
			}
			ok = false
		}
	}
	return t, ok
}

func (b *body) tensorView(call *syntax.Call) (*ir.TensorView, bool) {
	v := &ir.TensorView{}
	ok := true
	if len(call.Args) > 0 {
		b.errorf(CodeAnnotation, call.Args[0], "pl.TensorView takes keyword arguments only")
		ok = false
	}
	for _, k := range call.Keywords {
		good := true
		switch k.Name {
		case "valid_shape":
			v.ValidShape, good = b.shape(k.Value)
		case "stride":
			if v.Stride, good = b.shape(k.Value); len(v.Stride) == 0 {
				v.Stride = nil // packed
			}
		case "layout":
			v.Layout, good = b.enum(k.Value, "TensorLayout", []string{"ND", "DN", "NZ", "MX_A_ZZ", "MX_B_NN"})
		case "pad":
			v.Pad, good = b.enum(k.Value, "PadValue", padValues)
		default:
			b.viewKeyword("TensorView", k, []string{"valid_shape", "stride", "layout", "pad"})
			good = false
		}
		ok = ok && good
	}
	return v, ok
}

var padValues = []string{"null", "zero", "max", "min"}

func (b *body) viewKeyword(what string, k syntax.Keyword, known []string) {
	d := b.u.errorf(CodeAnnotation, k.Span(b.file), "Unknown %s keyword '%s'", what, k.Name)
	if best := diag.Nearest(k.Name, known); best != "" {
		d.WithHint("did you mean '%s'?", best)
	} else {
		d.WithHint("it takes %s", listText(known))
	}
}

var memSpaces = []string{"DDR", "Vec", "Mat", "Left", "Right", "Acc", "Bias", "ScalarLocal", "LeftScale", "RightScale"}

func (b *body) tileType(x syntax.Expr, args []syntax.Expr) (ir.Type, bool) {
	if len(args) < 2 {
		b.errorf(CodeAnnotation, x, "pl.Tile needs a shape and a dtype").WithHint("write pl.Tile[[rows, cols], pl.FP32]")
		return nil, false
	}
	t := &ir.TileType{}
	var ok, good bool
	t.Shape, ok = b.shape(args[0])
	t.DType, good = b.dtype(args[1])
	ok = ok && good
	for _, a := range args[2:] {
		a = b.expand(a)
		if a == nil {
			ok = false
			continue
		}
		if call, path := b.dslCall(a); path == "pl.TileView" {
			v, good := b.tileView(call)
			t.View, ok = v, ok && good
			continue
		}
		if m, isMem, good := b.memRef(a); isMem {
			t.MemRef, ok = m, ok && good
			continue
		}
		path := b.symbol(a)
		if name, isMem := strings.CutPrefix(path, "pl.Mem."); isMem {
			if !contains(memSpaces, name) {
				b.unknownEnum(a, "Mem", name, memSpaces)
				ok = false
			}
			t.Mem = ir.Mem(name)
			continue
		}
		d := b.errorf(CodeAnnotation, a, "Tile does not accept layouts like %s", cmpText(path, dotted(a)))
		d.WithHint("a tile takes pl.Mem.X, pl.TileView(…) and pl.MemRef(…)")
		ok = false
	}
	if t.MemRef != nil && t.Mem == ir.MemUnset && ok {
		b.errorf(CodeAnnotation, x, "a pl.Tile with a MemRef needs its memory space").WithHint("add pl.Mem.Vec or another space")
		ok = false
	}
	return t, ok
}

func cmpText(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func (b *body) tileView(call *syntax.Call) (*ir.TileView, bool) {
	v := &ir.TileView{}
	ok := true
	if len(call.Args) > 0 {
		b.errorf(CodeAnnotation, call.Args[0], "pl.TileView takes keyword arguments only")
		ok = false
	}
	layouts := []string{"none_box", "row_major", "col_major"}
	for _, k := range call.Keywords {
		good := true
		switch k.Name {
		case "valid_shape":
			v.ValidShape, good = b.shape(k.Value)
		case "stride":
			v.Stride, good = b.shape(k.Value)
		case "start_offset":
			v.StartOffset, good = b.expr(k.Value)
		case "blayout":
			v.BLayout, good = b.enum(k.Value, "TileLayout", layouts)
		case "slayout":
			v.SLayout, good = b.enum(k.Value, "TileLayout", layouts)
		case "fractal":
			var e ir.Expr
			if e, good = b.expr(k.Value); good {
				if v.Fractal, good = b.intValue(e); !good {
					b.errorf(CodeConstant, k.Value, "fractal must be a compile-time integer")
				}
			}
		case "pad":
			v.Pad, good = b.enum(k.Value, "PadValue", padValues)
		case "compact":
			v.Compact, good = b.enum(k.Value, "CompactMode", []string{"null", "normal"})
		default:
			b.viewKeyword("TileView", k, []string{"valid_shape", "stride", "start_offset", "blayout", "slayout", "fractal", "pad", "compact"})
			good = false
		}
		ok = ok && good
	}
	return v, ok
}

// memRef reads pl.MemRef(…), pl.MemRef(…)[k], and names of allocations. isMem tells whether x is one at all.
func (b *body) memRef(x syntax.Expr) (m *ir.MemRef, isMem, ok bool) {
	if s, isSub := x.(*syntax.Subscript); isSub {
		inner := b.expand(s.X)
		if inner == nil {
			return nil, true, false
		}
		m, isMem, ok = b.memRef(inner)
		if !isMem {
			return nil, false, false
		}
		k, good := b.expr(s.Index)
		if !ok || !good {
			return nil, true, false
		}
		c := *m
		c.Slot = k
		return &c, true, true
	}
	call, path := b.dslCall(x)
	if path != "pl.MemRef" {
		return nil, false, false
	}
	m = &ir.MemRef{}
	args := call.Args
	if len(args) == 4 {
		args = args[1:] // (space, addr, size, id), an older form
	}
	for _, k := range call.Keywords {
		if k.Name != "slots" {
			b.unknownKeyword("pl.MemRef", k, []string{"slots"})
			return nil, true, false
		}
		e, good := b.expr(k.Value)
		if !good {
			return nil, true, false
		}
		n, known := b.intValue(e)
		if !known || n < 1 {
			b.errorf(CodeConstant, k.Value, "slots must be a positive compile-time integer")
			return nil, true, false
		}
		m.Slots = n
	}
	if len(args) != 1 && len(args) != 3 {
		b.errorf(CodeAnnotation, x, "pl.MemRef takes a name, or a base, a byte offset and a size")
		return nil, true, false
	}
	ok = true
	name, isString := b.staticString(args[0])
	if n, isName := args[0].(*syntax.Name); isName && b.mode == Dump && b.names.lookup(n.ID) == nil {
		name, isString = n.ID, true
	}
	if len(args) == 1 {
		if !isString {
			b.errorf(CodeAnnotation, args[0], "the name of a pl.MemRef must be a string literal")
			return nil, true, false
		}
		m.Name = name
		return m, true, true
	}
	if isString {
		m.Base = b.memBase(name, b.at(args[0]))
	} else {
		e, good := b.expr(args[0])
		v, isVar := e.(*ir.Var)
		switch {
		case !good:
			ok = false
		case isVar:
			m.Base = v
		default: // (addr, size, id)
			m.ByteOffset = e
			size, good1 := b.expr(args[1])
			id, good2 := b.expr(args[2])
			if !good1 || !good2 {
				return nil, true, false
			}
			m.Size, _ = b.intValue(size)
			n, _ := b.intValue(id)
			m.Base = b.memBase(fmt.Sprintf("mem_%d", n), b.at(x))
			return m, true, true
		}
	}
	off, good := b.expr(args[1])
	size, good2 := b.expr(args[2])
	if !ok || !good || !good2 {
		return nil, true, false
	}
	m.ByteOffset = off
	n, known := b.intValue(size)
	if !known {
		b.errorf(CodeConstant, args[2], "the size of a pl.MemRef must be a compile-time integer")
		return nil, true, false
	}
	m.Size = n
	return m, true, true
}

// memBase is the allocation that a type names by a string: in signatures it comes before its definition.
func (b *body) memBase(name string, at diag.Span) *ir.Var {
	name = strings.TrimSuffix(name, freeSuffix)
	if v := b.mems[name]; v != nil {
		return v
	}
	if b.mems == nil {
		b.mems = map[string]*ir.Var{}
	}
	v := &ir.Var{Hint: name, Typ: &ir.OpaqueType{Name: "Ptr"}, Pos: at}
	b.mems[name] = v
	return v
}

func (b *body) arrayType(x syntax.Expr, args []syntax.Expr) (ir.Type, bool) {
	if len(args) != 2 {
		b.errorf(CodeAnnotation, x, "pl.Array takes a length and a dtype: pl.Array[4, pl.TASK_ID]")
		return nil, false
	}
	e, ok := b.expr(args[0])
	d, good := b.dtype(args[1])
	if !ok || !good {
		return nil, false
	}
	n, known := b.intValue(e)
	switch {
	case !known:
		b.errorf(CodeConstant, args[0], "the length of a pl.Array must be a compile-time integer")
		return nil, false
	case n <= 0:
		b.errorf(CodeShape, args[0], "the length of a pl.Array must be positive, got %d", n)
		return nil, false
	case !d.IsInt() && d != ir.BOOL && d != ir.TASK_ID:
		b.errorf(CodeAnnotation, args[1], "elements of a pl.Array are integers, BOOL or TASK_ID, not %s", d)
		return nil, false
	}
	return &ir.ArrayType{Len: n, DType: d}, true
}

// symbolNamed is the dynamic symbol of a name, one per program.
func (u *Unit) symbolNamed(name string, at diag.Span) *ir.Var {
	if v := u.dyn[name]; v != nil {
		return v
	}
	v := &ir.Var{Hint: name, Typ: ir.IndexType, Dyn: true, Pos: at}
	u.dyn[name] = v
	return v
}
