package kit

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/plugins"
)

const tries = 64 // calls per op

// types makes up calls of every op, and asks for their types in two processes, twice each.
func (k *Kit) types() (string, error) {
	var asked []*ir.OpCall
	for i, s := range k.about.Ops {
		if !k.about.Can[i].Infer {
			continue
		}
		r := rand.New(rand.NewPCG(1, uint64(i)))
		for n := range tries {
			if c := madeUp(s, r, n); c != nil {
				asked = append(asked, c)
			}
		}
		asked = append(asked, k.ws.like(s.Name)...)
	}
	if len(asked) == 0 {
		return "nothing to ask", nil
	}
	var first []ir.Type
	refused := 0
	for process := range 2 {
		c := k.open(nil)
		defer c.Close()
		if _, err := k.load(c); err != nil {
			return "", err
		}
		for range 2 {
			types, errs, err := c.InferTypes(k.conf.Name, asked)
			if err != nil {
				return "", err
			}
			if first == nil {
				first, refused = types, len(errs)
				for _, e := range errs {
					if e.Diag.Message == "" {
						return "", fmt.Errorf("%s is refused without saying why", show(asked[e.Call]))
					}
				}
				continue
			}
			for i := range types {
				if (types[i] == nil) != (first[i] == nil) || types[i] != nil && !ir.EqualTypes(types[i], first[i]) {
					return "", fmt.Errorf("the same question got two answers (process %d): %s", process+1, show(asked[i]))
				}
			}
		}
	}
	accepted := map[string]int{}
	for i, c := range asked {
		if first[i] == nil {
			continue
		}
		n := *c
		n.Typ = first[i]
		k.calls = append(k.calls, &n)
		accepted[c.Op]++
	}
	var ds diag.List
	for i, s := range k.about.Ops {
		if k.about.Can[i].Infer && accepted[s.Name] == 0 {
			ds.Add(diag.Warningf(plugins.CodeConformance, diag.Span{}, "none of the calls that were made up for op %s is right, so little of it is tested", s.Name).
				WithHint("use it in a program of the workspace: its calls are tried then, with other dtypes and extents too"))
		}
	}
	text := fmt.Sprintf("%d calls, %d of them refused with a report, 2 × 2 times each", len(asked), refused)
	if len(ds) > 0 {
		return text, ds
	}
	return text, nil
}

// madeUp is a call of an op with operands that its spec accepts, nil when there is none.
func madeUp(s *ops.Spec, r *rand.Rand, n int) *ir.OpCall {
	dtypes := []ir.DType{ir.FP32, ir.FP64, ir.FP16, ir.BF16, ir.INT32}
	d := dtypes[r.IntN(len(dtypes))]
	if n < tries/2 {
		d = ir.FP32
	}
	dim := func() ir.Expr {
		if r.IntN(8) == 0 {
			return &ir.Var{Hint: "N", Typ: ir.IndexType, Dyn: true}
		}
		return ir.Int(int64([]int{16, 16, 32, 64, 1, 15, 128}[r.IntN(7)]))
	}
	shape := []ir.Expr{dim(), dim()}
	// Operands mostly have the same shape, and else one that ops often want beside it.
	other := func() []ir.Expr {
		if n <= 2 || r.IntN(3) > 0 {
			return shape
		}
		switch r.IntN(6) {
		case 0:
			return []ir.Expr{shape[1], shape[0]}
		case 1:
			return []ir.Expr{ir.Int(1), shape[1]}
		case 2:
			return []ir.Expr{shape[0], ir.Int(1)}
		case 3, 4:
			if x, known := ir.IntValue(shape[1]); known && x%2 == 0 {
				return []ir.Expr{shape[0], ir.Int(x / 2)}
			}
		}
		return []ir.Expr{dim(), dim()}
	}
	if n < 2 {
		shape = []ir.Expr{ir.Int(16), ir.Int(16)}
	}
	c := &ir.OpCall{Op: s.Name, Typ: ir.Unknown, Pos: diag.Span{File: "made_up.py", Line: int32(n + 1), Col: 1}}
	for i, p := range s.Params {
		if p.Optional && r.IntN(2) == 0 {
			break
		}
		at := diag.Span{File: "made_up.py", Line: int32(n + 1), Col: int32(i + 2)}
		v := func(t ir.Type) ir.Expr { return &ir.Var{Hint: p.Name, Typ: t, Pos: at} }
		switch {
		case p.Kind&ops.TensorArg != 0:
			c.Args = append(c.Args, v(&ir.TensorType{Shape: other(), DType: d}))
		case p.Kind&ops.TileArg != 0:
			mem := ir.Vec
			if len(p.Mem) > 0 {
				mem = p.Mem[r.IntN(len(p.Mem))]
			}
			c.Args = append(c.Args, v(&ir.TileType{Shape: other(), DType: d, Mem: mem}))
		case p.Kind&ops.TupleArg != 0:
			c.Args = append(c.Args, &ir.MakeTuple{Elems: []ir.Expr{ir.Int(int64(r.IntN(16))), ir.Int(int64(r.IntN(16)))}, Pos: at})
		case p.Kind&ops.ScalarArg != 0:
			if r.IntN(2) == 0 {
				c.Args = append(c.Args, &ir.ConstInt{Value: int64(r.IntN(32)), DType: ir.INDEX, Pos: at})
			} else {
				c.Args = append(c.Args, v(ir.IndexType))
			}
		case p.Kind&ops.ArrayArg != 0:
			c.Args = append(c.Args, v(&ir.ArrayType{Len: 4, DType: ir.INT32}))
		case p.Kind&ops.TaskArg != 0:
			c.Args = append(c.Args, v(ir.TaskIDType))
		default:
			return nil
		}
	}
	for _, kw := range s.Kwargs {
		v := kw.Default
		if v == nil && !kw.Required {
			continue
		}
		if v == nil || r.IntN(4) == 0 {
			switch kw.Kind {
			case ops.IntKw:
				x := int64(1 + r.IntN(16))
				if kw.Min < kw.Max {
					x = min(max(x, kw.Min), kw.Max)
				}
				v = x
			case ops.BoolKw:
				v = r.IntN(2) == 0
			case ops.FloatKw:
				v = float64(r.IntN(100)) / 4
			case ops.StrKw, ops.ModeKw:
				v = "x"
				if len(kw.Names) > 0 {
					v = kw.Names[r.IntN(len(kw.Names))]
				}
			case ops.DTypeKw:
				v = d
			case ops.EnumKw:
				if len(kw.Names) == 0 {
					return nil
				}
				v = ir.Enum{Kind: kw.Enum, Name: kw.Names[r.IntN(len(kw.Names))]}
			default:
				return nil
			}
		}
		c.Kwargs = append(c.Kwargs, ir.Kwarg{Name: kw.Name, Value: v})
	}
	return c
}

// batch asks one by one what was asked all at once.
func (k *Kit) batch() (string, error) {
	if len(k.calls) == 0 {
		return "nothing to ask", nil
	}
	c := k.open(nil)
	defer c.Close()
	if _, err := k.load(c); err != nil {
		return "", err
	}
	n := min(len(k.calls), 200)
	for _, call := range k.calls[:n] {
		types, _, err := c.InferTypes(k.conf.Name, []*ir.OpCall{call})
		if err != nil {
			return "", err
		}
		if types[0] == nil || !ir.EqualTypes(types[0], call.Typ) {
			return "", fmt.Errorf("alone, %s has another type than among others", show(call))
		}
	}
	return fmt.Sprintf("%d calls alone and all at once", n), nil
}

// emission reads the templates of all calls that have one into plan statements: in one process all at once, in another one by one and
// backwards.
func (k *Kit) emission() (string, error) {
	var first []string
	for process := range 2 {
		c := k.open(nil)
		defer c.Close()
		l, err := k.load(c)
		if err != nil {
			return "", err
		}
		reg := ops.NewRegistry(l.Ops...)
		var asked []*ir.OpCall
		for _, call := range k.calls {
			spec := reg.Lookup(call.Op)
			if spec == nil || spec.Emit == nil || !spec.IsHost() {
				continue
			}
			asked = append(asked, call)
			if process == 0 {
				spec.EmitAhead(call, true)
			}
		}
		if process == 1 {
			slices.Reverse(asked)
			slices.Reverse(first)
		}
		for i, call := range asked {
			stmts, d := reg.Lookup(call.Op).Emit(siteOf(call))
			if d != nil {
				return "", diag.Errorf(plugins.CodeConformance, diag.Span{}, "%s: %s", show(call), d.Message)
			}
			if process == 0 {
				first = append(first, planText(stmts))
			} else if planText(stmts) != first[i] {
				return "", fmt.Errorf("alone, in another process, it emits other C++ for %s", show(call))
			}
		}
	}
	if len(first) == 0 {
		return "nothing to ask", nil
	}
	return fmt.Sprintf("%d templates, all at once and alone in another process", len(first)), nil
}

// siteOf is a site with names for everything.
func siteOf(c *ir.OpCall) *ops.EmitSite {
	s := &ops.EmitSite{Call: c, Args: make([]plan.Expr, len(c.Args)), Lists: make([][]plan.Expr, len(c.Args)), Result: &plan.Name{Text: "result"},
		Local: func(affix string) *plan.Name { return &plan.Name{Text: affix} }, EntryTensor: func(int) (int, bool) { return 0, false }}
	value := func(e ir.Expr, name string) plan.Expr {
		if x, ok := e.(*ir.ConstInt); ok {
			return &plan.Int{Value: x.Value, DType: x.DType}
		}
		return &plan.Ref{Name: &plan.Name{Text: name}}
	}
	for i, a := range c.Args {
		if t, ok := a.(*ir.MakeTuple); ok {
			for j, e := range t.Elems {
				s.Lists[i] = append(s.Lists[i], value(e, fmt.Sprintf("list%d_%d", i, j)))
			}
			continue
		}
		s.Args[i] = value(a, fmt.Sprintf("operand%d", i))
	}
	return s
}

func planText(stmts []plan.Stmt) string { return plan.Print(&plan.File{Func: "f", Body: stmts}) }

// numbers evaluates all calls that can be, on random data, in two processes, twice each.
func (k *Kit) numbers() (string, error) {
	var inputs, outputs []*ops.Evaluation
	var calls []*ir.OpCall // of the inputs
	for i, call := range k.calls {
		s := k.about.Ops[k.opIndex(call.Op)]
		if k.about.Can[k.opIndex(call.Op)].Evaluate {
			if e := evaluation(s, call, rand.New(rand.NewPCG(2, uint64(i)))); e != nil {
				inputs, calls = append(inputs, e), append(calls, call)
			}
		}
	}
	faults := map[string]*diag.Diagnostic{} // the first of each op, which is not asked any more
	for process := range 2 {
		for range 2 {
			c := k.open(nil) // each has a memory of its own
			l, err := k.load(c)
			if err != nil {
				c.Close()
				return "", err
			}
			reg := ops.NewRegistry(l.Ops...)
			first := len(outputs) == 0
			for i, in := range inputs {
				if first {
					outputs = append(outputs, nil)
				}
				if faults[in.Op] != nil {
					continue
				}
				e := cloneEvaluation(in)
				if d := reg.Lookup(e.Op).Evaluate(e); d != nil {
					e = nil // refused
					if failed(d) {
						n := *d
						n.Message = "its type rule accepts " + show(calls[i]) + ", but: " + d.Message
						faults[in.Op] = &n
						continue
					}
				}
				if first {
					outputs[i] = e
					if d := k.onlyWrites(reg.Lookup(in.Op), calls[i], in, e); d != nil {
						faults[in.Op] = d
					}
				} else if !sameNumbers(outputs[i], e) {
					faults[in.Op] = diag.Errorf(plugins.CodeConformance, diag.Span{}, "%s gave two results on the same data (process %d)", show(calls[i]), process+1)
				}
			}
			if err := c.Close(); err != nil {
				return "", err
			}
		}
	}
	var ds diag.List
	for _, op := range slices.Sorted(maps.Keys(faults)) {
		ds.Add(faults[op])
	}
	if len(ds) > 0 {
		return "", ds
	}
	if len(inputs) == 0 {
		return "nothing to compute", nil
	}
	return fmt.Sprintf("%d evaluations, each in 4 processes", len(inputs)), nil
}

// onlyWrites evaluates a call again for each operand that the op only writes by its effects, with other numbers there. The rest of out is what it gave before. An element that
// it leaves alone is no part of what it writes.
func (k *Kit) onlyWrites(s *ops.Spec, c *ir.OpCall, in, out *ops.Evaluation) *diag.Diagnostic {
	if out == nil {
		return nil // refused
	}
	for i := range in.Operands {
		if in.Operands[i].Elements == nil || s.EffectIn(c, i) != ops.Write {
			continue
		}
		other := cloneEvaluation(in)
		fill(other.Operands[i].Elements, rand.New(rand.NewPCG(3, uint64(i))), 8)
		got := cloneEvaluation(other)
		switch d := s.Evaluate(got); {
		case d != nil && failed(d):
			return d
		case d == nil:
			x := got.Operands[i].Elements
			keep(x, other.Operands[i].Elements, in.Operands[i].Elements, out.Operands[i].Elements)
			if sameNumbers(out, got) {
				continue
			}
		}
		return diag.Errorf(plugins.CodeConformance, diag.Span{}, "%s: op %s says that it only writes operand %s, but what it writes depends on what was there: its effect is ReadWrite",
			show(c), s.Name, s.Params[min(i, len(s.Params)-1)].Name)
	}
	return nil
}

// failed reports that a call was not refused but not answered.
func failed(d *diag.Diagnostic) bool {
	return d.Code == plugins.CodeCrash || d.Code == plugins.CodeFailed || d.Code == plugins.CodeHang
}

// keep takes the elements of x that were left alone, when x was old and when it was like, for what they were in like.
func keep(x, old, like, wrote *ops.Elements) {
	n := x.Size()
	for at := 0; at+n <= len(x.Data); at += n {
		of := func(e *ops.Elements) []byte { return e.Data[at : at+n] }
		if bytes.Equal(of(x), of(old)) && bytes.Equal(of(wrote), of(like)) {
			copy(of(x), of(like))
		}
	}
}

func (k *Kit) opIndex(name string) int {
	for i, s := range k.about.Ops {
		if s.Name == name {
			return i
		}
	}
	return 0
}

// evaluation is a call with random numbers, nil when its extents are not all known.
func evaluation(s *ops.Spec, c *ir.OpCall, r *rand.Rand) *ops.Evaluation {
	e := &ops.Evaluation{Op: c.Op, Kwargs: c.Kwargs}
	elements := func(t ir.Type) *ops.Elements {
		x := &ops.Elements{DType: ir.ElemDType(t)}
		for _, d := range ir.ShapeOf(t) {
			n, known := ir.IntValue(d)
			if !known || n > 1024 {
				return nil
			}
			x.Shape = append(x.Shape, int(n))
		}
		x.Valid = x.Shape
		x.Data = make([]byte, x.Len()*x.Size())
		return x
	}
	for i, a := range c.Args {
		var o ops.Operand
		switch t := a.Type().(type) {
		case *ir.TensorType, *ir.TileType:
			if o.Elements = elements(windowed(s, c, i)); o.Elements == nil {
				return nil
			}
			fill(o.Elements, r, 0)
			o.Elements.Writable = s.EffectIn(c, i) == ops.Write || s.EffectIn(c, i) == ops.ReadWrite
		case *ir.TupleType:
			for _, x := range a.(*ir.MakeTuple).Elems {
				n, _ := ir.IntValue(x)
				o.List = append(o.List, n)
			}
		case *ir.ScalarType:
			n, known := ir.IntValue(a)
			if !known {
				n = int64(r.IntN(16))
			}
			o.Scalar = n
			if t.DType.IsFloat() {
				o.Scalar = float64(n)
			}
		}
		e.Operands = append(e.Operands, o)
	}
	if s.Result.Kind == ops.Fresh {
		if e.Result = elements(c.Typ); e.Result == nil {
			return nil
		}
	}
	return e
}

// fill makes numbers from from-1 to from+1, or from to from+7 where they are whole. Those of FP64 are such that a plugin that knows only floats leaves them as they are.
func fill(x *ops.Elements, r *rand.Rand, from int) {
	for at := 0; at < len(x.Data); at += x.Size() {
		switch {
		case x.Size() == 4:
			binary.LittleEndian.PutUint32(x.Data[at:], math.Float32bits(r.Float32()*2-1+float32(from)))
		case x.DType == ir.FP64:
			binary.LittleEndian.PutUint64(x.Data[at:], math.Float64bits(float64(r.Float32()*2-1+float32(from))))
		default:
			binary.LittleEndian.PutUint64(x.Data[at:], uint64(r.IntN(8)+from))
		}
	}
}

// windowed is the type of what an evaluation holds of operand i.
func windowed(s *ops.Spec, c *ir.OpCall, i int) ir.Type {
	t := c.Args[i].Type()
	if i >= len(s.Params) || s.Params[i].Window == (ops.Window{}) {
		return t
	}
	w := &ir.TensorType{DType: ir.ElemDType(t)}
	switch like := s.Param(s.Params[i].Window.Extents); {
	case like < 0:
		w.Shape = ir.ShapeOf(c.Typ)
	case like >= len(c.Args): // a made-up call ends where an optional operand is left out
		return t
	default:
		if list, ok := c.Args[like].(*ir.MakeTuple); ok {
			w.Shape = list.Elems
		} else {
			w.Shape = ir.ShapeOf(c.Args[like].Type())
		}
	}
	return w
}

func cloneEvaluation(e *ops.Evaluation) *ops.Evaluation {
	n := *e
	n.Operands = make([]ops.Operand, len(e.Operands))
	clone := func(x *ops.Elements) *ops.Elements {
		if x == nil {
			return nil
		}
		y := *x
		y.Data = bytes.Clone(x.Data)
		return &y
	}
	for i, o := range e.Operands {
		o.Elements = clone(o.Elements)
		n.Operands[i] = o
	}
	n.Result = clone(e.Result)
	return &n
}

func sameNumbers(a, b *ops.Evaluation) bool {
	if a == nil || b == nil {
		return a == b
	}
	same := func(x, y *ops.Elements) bool { return x == nil || bytes.Equal(x.Data, y.Data) }
	for i := range a.Operands {
		if !same(a.Operands[i].Elements, b.Operands[i].Elements) {
			return false
		}
	}
	return same(a.Result, b.Result) && a.Scalar == b.Scalar && slices.Equal(a.Origin, b.Origin)
}
