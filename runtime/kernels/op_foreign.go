package kernels

import (
	"unsafe"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
)

// Ops that the evaluator does not know are computed by their spec's Evaluate, which may run in another process: operands are copied out, the result and
// what was written are copied back.

// evaluator is the Evaluate of an op outside of the core's namespaces, nil without one.
func (c *compiler) evaluator(op string) (*ops.Spec, func(*ops.Evaluation) *diag.Diagnostic) {
	if c.p.reg == nil {
		return nil, nil
	}
	s := c.p.reg.Lookup(op)
	if s == nil {
		return nil, nil
	}
	return s, s.Evaluate
}

// foreign is the builder of an op with an Evaluate.
func (c *compiler) foreign(op string) func(o *opCtx) evalFn {
	spec, eval := c.evaluator(op)
	if eval == nil {
		return nil
	}
	return func(o *opCtx) evalFn { return o.buildForeign(spec, eval) }
}

func (o *opCtx) buildForeign(spec *ops.Spec, eval func(*ops.Evaluation) *diag.Diagnostic) evalFn {
	operands := o.foreignOperands(spec)
	var shape, valid []intExpr
	updated := -1
	switch spec.Result.Kind {
	case ops.Fresh, ops.View:
		dims := ir.ShapeOf(o.call.Typ)
		if _, unknown := o.call.Typ.(*ir.UnknownType); unknown && spec.Infer == nil {
			return o.unsupported(CodeShape, "its result has no type: plugin %s has no type rule for it (Infer)", spec.Plugin())
		}
		if len(dims) == 0 || len(dims) > maxRank {
			return o.unsupported(CodeShape, "the simulator has results of 1 to %d axes", maxRank)
		}
		shape = o.dims(dims)
		valid = shape
		if v := validOf(o.call.Typ); v != nil {
			valid = o.dims(v)
		}
	case ops.InPlace:
		updated = o.reg(spec.Result.Arg)
	case ops.None:
	default:
		return o.unsupported(CodeOp, "the simulator evaluates ops whose result is new, a window of an operand, an updated operand, a scalar or none")
	}
	viewed := -1
	if spec.Result.Kind == ops.View {
		viewed = o.reg(spec.Result.Arg)
	}
	return func(m *machine, out *region) {
		var s, v dims
		if shape != nil {
			s, v = evalDims(m, shape), evalDims(m, valid)
			for k := range shape {
				if s[k] < 0 || v[k] < 0 || v[k] > s[k] {
					m.fail(o.site, CodeShape, "%v is no shape for its result", show(s, len(shape)))
				}
			}
			if m.err != nil {
				return
			}
		}
		c := operands(m, foreignShape{len(shape), s, v})
		if m.err != nil {
			return
		}
		e := c.Evaluation
		if shape != nil && viewed < 0 {
			m.fresh(out, o.dt, len(shape), &s, &v)
			e.Result = m.elementsOf(out)
		}
		if !m.evaluate(o, c, eval) {
			return
		}
		switch {
		case viewed >= 0:
			*out = m.regs[viewed]
			m.window(o, out, e.Origin, &foreignShape{len(shape), s, v})
		case shape != nil:
			m.takeBack(out, e.Result)
			out.st.define(out)
		case updated >= 0:
			*out = m.regs[updated]
		}
	}
}

// window makes a region the part of it that begins at origin; it may have fewer axes, then the first ones are dropped.
func (m *machine) window(o *opCtx, r *region, origin []int64, s *foreignShape) {
	if origin == nil {
		origin = make([]int64, r.rank)
	}
	if len(origin) != r.rank || s.rank > r.rank {
		m.fail(o.site, CodeShape, "a window of %d axes that begins at %v in %d axes", s.rank, origin, r.rank)
		return
	}
	off, size := dims{}, dims{}
	drop := r.rank - s.rank
	for a := range r.rank {
		off[a], size[a] = int(origin[a]), 1
		if a >= drop {
			size[a] = s.valid[a-drop]
		}
	}
	if !m.checkWindow(o.site, r, &off, &size) {
		return
	}
	for a := range r.rank {
		r.off += off[a] * r.stride[a]
	}
	for range drop {
		r.dropAxis(0)
	}
	r.shape, r.valid = s.shape, s.valid
}

// foreignScalar compiles a call of an op with an Evaluate that gives a scalar, nil when there is none.
func (o *opCtx) foreignScalar() func(m *machine) any {
	spec, eval := o.c.evaluator(o.call.Op)
	if eval == nil || spec.Result.Kind != ops.Value {
		return nil
	}
	operands := o.foreignOperands(spec)
	return func(m *machine) any {
		c := operands(m, foreignShape{})
		if m.err != nil || !m.evaluate(o, c, eval) {
			return nil
		}
		return c.Scalar
	}
}

// foreignShape is the extents of a result or window, and of its valid part.
type foreignShape struct {
	rank         int
	shape, valid dims
}

// foreignCall is an evaluation, and by operand the region that its elements are a copy of.
type foreignCall struct {
	*ops.Evaluation
	regions []region
}

// foreignOperands compiles the copying out of the operands; it is given the extents of the result.
func (o *opCtx) foreignOperands(spec *ops.Spec) func(m *machine, result foreignShape) foreignCall {
	read := make([]func(m *machine, c *foreignCall, result foreignShape), len(o.call.Args))
	for i, a := range o.call.Args {
		switch {
		case o.isRegion(i):
			r, effect, window := o.reg(i), spec.EffectIn(o.call, i), o.foreignWindow(spec, i)
			read[i] = func(m *machine, c *foreignCall, result foreignShape) {
				c.regions[i] = m.regs[r]
				if window != nil {
					if window(m, &c.regions[i], result); m.err != nil {
						return
					}
				}
				c.Operands[i] = m.copyOut(o, &c.regions[i], effect)
			}
		case isList(a):
			list := o.list(i)
			read[i] = func(m *machine, c *foreignCall, _ foreignShape) {
				c.Operands[i].List = make([]int64, len(list))
				for k := range list {
					c.Operands[i].List[k] = list[k].eval(m)
				}
			}
		default:
			t, ok := a.Type().(*ir.ScalarType)
			var scalar func(m *machine) any
			switch {
			case !ok || t.DType == ir.TASK_ID:
				scalar = func(*machine) any { return nil }
			case t.DType == ir.BOOL:
				x := o.intArg(i)
				scalar = func(m *machine) any { return x.eval(m) != 0 }
			case isFloat(t.DType):
				x := o.floatArg(i)
				scalar = func(m *machine) any { return x.eval(m) }
			default:
				x := o.intArg(i)
				scalar = func(m *machine) any { return x.eval(m) }
			}
			read[i] = func(m *machine, c *foreignCall, _ foreignShape) { c.Operands[i].Scalar = scalar(m) }
		}
	}
	return func(m *machine, result foreignShape) foreignCall {
		c := foreignCall{&ops.Evaluation{Op: o.call.Op, Kwargs: o.call.Kwargs, Operands: make([]ops.Operand, len(read))}, make([]region, len(read))}
		for _, f := range read {
			if f(m, &c, result); m.err != nil {
				break
			}
		}
		return c
	}
}

// foreignWindow compiles the making of operand i's window (ops.Param.Window) out of the operand; nil for all of it.
func (o *opCtx) foreignWindow(spec *ops.Spec, i int) func(m *machine, r *region, result foreignShape) {
	if i >= len(spec.Params) || spec.Params[i].Window == (ops.Window{}) {
		return nil
	}
	w := spec.Params[i].Window
	at := o.list(spec.Param(w.At))
	var extents func(m *machine, result foreignShape) foreignShape
	switch k := spec.Param(w.Extents); {
	case w.Extents == ops.ResultExtents:
		extents = func(_ *machine, result foreignShape) foreignShape { return result }
	case o.isRegion(k):
		like := o.reg(k)
		extents = func(m *machine, _ foreignShape) foreignShape {
			r := &m.regs[like]
			return foreignShape{r.rank, r.shape, r.valid}
		}
	default:
		list := o.list(k)
		extents = func(m *machine, _ foreignShape) foreignShape {
			d := evalDims(m, list)
			return foreignShape{len(list), d, d}
		}
	}
	return func(m *machine, r *region, result foreignShape) {
		origin := make([]int64, len(at))
		for k := range at {
			origin[k] = at[k].eval(m)
		}
		s := extents(m, result)
		for k := range s.rank {
			if s.valid[k] < 0 {
				m.fail(o.site, CodeShape, "%v is no shape for a window", show(s.shape, s.rank))
			}
		}
		if m.err == nil {
			m.window(o, r, origin, &s)
		}
	}
}

func isList(e ir.Expr) bool {
	_, ok := e.(*ir.MakeTuple)
	return ok
}

// evaluate calls the op's own code and copies back what it wrote into its operands.
func (m *machine) evaluate(o *opCtx, c foreignCall, eval func(*ops.Evaluation) *diag.Diagnostic) bool {
	if d := eval(c.Evaluation); d != nil {
		m.fail(o.site, d.Code, "%s", d.Message)
		if f, ok := m.err.(*diag.Diagnostic); ok && f.Hint == "" {
			f.Hint = d.Hint
		}
		return false
	}
	for i := range c.Operands {
		if x := c.Operands[i].Elements; x != nil && x.Writable {
			m.takeBack(&c.regions[i], x)
		}
	}
	return m.err == nil
}

// copyOut is a region as Elements. What the op only writes or does not touch is not read.
func (m *machine) copyOut(o *opCtx, r *region, effect ops.Effect) ops.Operand {
	e := m.elementsOf(r)
	e.Writable = effect == ops.Write || effect == ops.ReadWrite
	if effect == ops.Write || effect == ops.Untouched || !m.need(o.site, r) {
		return ops.Operand{Elements: e}
	}
	packed := region{dt: r.dt, rank: r.rank, shape: r.shape}
	packed.pack()
	var it rows
	it.start(r.rank, &r.valid, true, &packed.operand, &r.operand)
	f, d, n := floatsOf(e), doublesOf(e), intsOf(e)
	for it.next() {
		switch {
		case f != nil:
			for j, v := range m.fetchF(r, it.off[1], it.n, it.in[1], &m.f[0]) {
				f[it.off[0]+j*it.in[0]] = float32(v)
			}
		case d != nil:
			for j, v := range m.fetchF(r, it.off[1], it.n, it.in[1], &m.f[0]) {
				d[it.off[0]+j*it.in[0]] = v
			}
		default:
			for j, v := range m.fetchI(r, it.off[1], it.n, it.in[1], &m.i[0]) {
				n[it.off[0]+j*it.in[0]] = v
			}
		}
	}
	return ops.Operand{Elements: e}
}

// takeBack writes the valid part of elements into a region, rounded to its dtype.
func (m *machine) takeBack(r *region, e *ops.Elements) {
	if len(e.Data) != e.Len()*e.Size() || e.Len() != r.elems() {
		m.fail(m.at, CodeShape, "its result has another size than its type")
		return
	}
	packed := region{dt: r.dt, rank: r.rank, shape: r.shape}
	packed.pack()
	var it rows
	it.start(r.rank, &r.valid, true, &r.operand, &packed.operand)
	f, d, n := floatsOf(e), doublesOf(e), intsOf(e)
	for it.next() {
		switch {
		case isFloat(r.dt):
			row := grow(&m.f[1], it.n)
			for j := range row {
				if d != nil {
					row[j] = d[it.off[1]+j*it.in[1]]
				} else {
					row[j] = float64(f[it.off[1]+j*it.in[1]])
				}
			}
			m.putF(r, it.off[0], it.in[0], row)
		default:
			row := grow(&m.i[1], it.n)
			for j := range row {
				row[j] = n[it.off[1]+j*it.in[1]]
			}
			m.putI(r, it.off[0], it.in[0], row)
		}
	}
}

// elementsOf is room for the elements of a region. Where nothing is rounded, floating dtypes are FP64.
func (m *machine) elementsOf(r *region) *ops.Elements {
	e := &ops.Elements{DType: r.dt, Shape: shapeOf(r), Valid: show(r.valid, r.rank)}
	if m.double && isFloat(r.dt) {
		e.DType = ir.FP64
	}
	switch {
	case e.DType == ir.FP64:
		e.Data = bytesOf(make([]float64, r.elems()))
	case isFloat(e.DType):
		e.Data = bytesOf(make([]float32, r.elems()))
	default:
		e.Data = bytesOf(make([]int64, r.elems()))
	}
	return e
}

// bytesOf, floatsOf, doublesOf and intsOf see the same memory as bytes and as numbers; like the rest of the evaluator they count on a little-endian machine.
func bytesOf[T float32 | float64 | int64](x []T) []byte {
	var t T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(t)))
}

func floatsOf(e *ops.Elements) []float32 {
	if !isFloat(e.DType) || e.DType == ir.FP64 {
		return nil
	}
	return aligned[float32](e.Data)
}

func doublesOf(e *ops.Elements) []float64 {
	if e.DType != ir.FP64 {
		return nil
	}
	return aligned[float64](e.Data)
}

func intsOf(e *ops.Elements) []int64 {
	if isFloat(e.DType) {
		return nil
	}
	return aligned[int64](e.Data)
}

// aligned views bytes as numbers; bytes that came from elsewhere may lie anywhere.
func aligned[T float32 | float64 | int64](b []byte) []T {
	var t T
	size := unsafe.Sizeof(t)
	n := len(b) / int(size)
	if p := uintptr(unsafe.Pointer(unsafe.SliceData(b))); p%size != 0 {
		x := make([]T, n)
		copy(bytesOf(x), b)
		return x
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

func (o *opCtx) dims(exprs []ir.Expr) []intExpr {
	out := make([]intExpr, len(exprs))
	for k, e := range exprs {
		out[k] = o.c.intExpr(e)
	}
	return out
}

// validOf is the declared valid shape of a type, nil for all of it.
func validOf(t ir.Type) []ir.Expr {
	switch t := t.(type) {
	case *ir.TileType:
		if t.View != nil {
			return t.View.ValidShape
		}
	case *ir.TensorType:
		if t.View != nil {
			return t.View.ValidShape
		}
	}
	return nil
}
