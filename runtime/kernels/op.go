package kernels

import (
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
)

// opCtx is one op call while it is compiled.
type opCtx struct {
	c    *compiler
	call *ir.OpCall
	site *site
	leaf string
	tile bool // of the tile namespace
	dt   ir.DType
}

// evalFn makes the result of an op in out: a fresh region, or a view or update of an operand. After a failure out means nothing.
type evalFn = func(m *machine, out *region)

// builders make evalFns, by the part of the op's name after the last dot. Tensor and tile ops of one name share a builder.
var builders map[string]func(o *opCtx) evalFn

func init() {
	builders = map[string]func(o *opCtx) evalFn{}
	for _, family := range [...]map[string]func(o *opCtx) evalFn{
		elementwiseOps, unaryOps, reduceOps, expandOps, matmulOps, memoryOps, viewOps, gatherOps, sortOps, createOps, laneOps,
	} {
		for name, b := range family {
			builders[name] = b
		}
	}
}

// Supported reports whether the evaluator knows an op that gives a tensor or tile.
func Supported(op string) bool {
	ns, leaf := cutName(op)
	return (ns == "tile" || ns == "tensor") && builders[leaf] != nil
}

func cutName(op string) (ns, leaf string) {
	i := strings.LastIndexByte(op, '.')
	return op[:max(i, 0)], op[i+1:]
}

// fits reports a call that is not as the spec of its op says. It is asked once for every call that is compiled, so that builders may rely on number and
// kinds of operands: a program may come from a dump or a plugin.
func (c *compiler) fits(e *ir.OpCall) bool {
	reg := c.p.reg
	if reg == nil {
		reg = ops.Builtin()
	}
	spec := reg.Lookup(e.Op)
	if spec == nil {
		c.errorf(CodeOp, e.Pos, "%s: there is no such op", e.Op)
		return false
	}
	if d := spec.FitsOperands(e); d != nil {
		c.errorf(CodeExpr, e.Pos, "%s", d.Message)
		return false
	}
	return true
}

// opCall compiles an op whose result is no scalar.
func (c *compiler) opCall(e *ir.OpCall, to slot) {
	if !c.fits(e) {
		return
	}
	ns, leaf := cutName(e.Op)
	o := &opCtx{c: c, call: e, site: c.site(e.Op, e.Pos), leaf: leaf, tile: ns == "tile", dt: ir.ElemDType(e.Typ)}
	switch {
	case ns == "array":
		c.arrayOp(o, to)
		return
	case ns == "system" || ns == "prefetch": // synchronisation and hints: lanes run one at a time anyway
		return
	case leaf == "gather_compare":
		o.gatherCompare(to)
		return
	case leaf == "alloc":
		return // an allocation of dumps
	}
	build := builders[leaf]
	if ns != "tile" && ns != "tensor" {
		build = c.foreign(e.Op)
	}
	if build == nil {
		if s, _ := c.evaluator(e.Op); s != nil && s.Plugin() != "" {
			c.errorf(CodeOp, e.Pos, "%s: plugin %s has no numbers for this op (Evaluate), and no pass replaced it", e.Op, s.Plugin())
			c.err = c.err.WithHint("tell the author of the plugin, or give the kernel as C++ (external_source=)")
			return
		}
		c.errorf(CodeOp, e.Pos, "%s: the simulator does not evaluate this op", e.Op)
		c.err = c.err.WithHint("give the kernel as C++ (external_source=), or write it with other ops")
		return
	}
	if isRegionType(e.Typ) && !computable(o.dt) {
		c.errorf(CodeDType, e.Pos, "%s: the simulator cannot compute with %s elements", e.Op, o.dt)
		return
	}
	f := build(o)
	if f == nil || c.err != nil {
		return
	}
	charge := o.charge()
	if to.kind != regionSlot {
		c.emit(func(m *machine) {
			m.at = o.site
			f(m, &m.out)
			if m.err == nil {
				charge(m, &m.out)
				m.discard(&m.out)
			}
			m.out.st = nil
		})
		return
	}
	i := to.i
	c.emit(func(m *machine) {
		m.at = o.site
		f(m, &m.out)
		if m.err == nil {
			charge(m, &m.out)
			m.set(i, &m.out)
		}
	})
}

func isRegionType(t ir.Type) bool {
	switch t.(type) {
	case *ir.TensorType, *ir.TileType:
		return true
	}
	return false
}

// has reports operand i is there: optional list operands may be empty lists.
func (o *opCtx) has(i int) bool {
	if i >= len(o.call.Args) || o.call.Args[i] == nil {
		return false
	}
	t, ok := o.call.Args[i].(*ir.MakeTuple)
	return !ok || len(t.Elems) > 0
}

// reg is the slot of region operand i.
func (o *opCtx) reg(i int) int {
	if i >= len(o.call.Args) {
		o.c.errorf(CodeExpr, o.call.Pos, "%s: operand %d is missing", o.call.Op, i)
		return 0
	}
	s := o.c.lookup(o.call.Args[i])
	if s.kind != regionSlot {
		o.c.errorf(CodeExpr, o.call.Args[i].Span(), "%s: %s is no tensor or tile", o.call.Op, ir.PrintExpr(o.call.Args[i]))
		return 0
	}
	return s.i
}

// isRegion reports that operand i is a tensor or tile.
func (o *opCtx) isRegion(i int) bool {
	return i < len(o.call.Args) && isRegionType(o.call.Args[i].Type())
}

// list is list operand i.
func (o *opCtx) list(i int) []intExpr {
	t, ok := o.call.Args[i].(*ir.MakeTuple)
	if !ok {
		o.c.errorf(CodeExpr, o.call.Args[i].Span(), "%s: operand %d must be a list", o.call.Op, i)
		return nil
	}
	if len(t.Elems) > maxRank {
		o.c.errorf(CodeShape, t.Pos, "%s: %d axes, the simulator has at most %d", o.call.Op, len(t.Elems), maxRank)
		return nil
	}
	out := make([]intExpr, len(t.Elems))
	for k, e := range t.Elems {
		out[k] = o.c.intExpr(e)
	}
	return out
}

func evalDims(m *machine, list []intExpr) (d dims) {
	d.eval(m, list)
	return d
}

// eval is evalDims in place: a copy right after single stores waits for them, which small kernels feel.
func (d *dims) eval(m *machine, list []intExpr) {
	for k := range list {
		d[k] = int(list[k].eval(m))
	}
}

func (o *opCtx) intArg(i int) intExpr     { return o.c.intExpr(o.call.Args[i]) }
func (o *opCtx) floatArg(i int) floatExpr { return o.c.floatExpr(o.call.Args[i]) }

func (o *opCtx) kwInt(name string, d int64) int64 {
	if v, ok := o.call.Kwargs.Get(name); ok {
		switch v := v.(type) {
		case int64:
			return v
		case bool:
			return truth(v)
		}
	}
	return d
}

func (o *opCtx) kwBool(name string) bool { return o.kwInt(name, 0) != 0 }

func (o *opCtx) kwEnum(name, d string) string {
	if v, ok := o.call.Kwargs.Get(name); ok {
		switch v := v.(type) {
		case ir.Enum:
			return v.Name
		case string:
			return v
		}
	}
	return d
}

// scalarOperand gives operand i, a scalar, as a region of the result's dtype.
func (o *opCtx) scalarOperand(i int, d ir.DType) func(m *machine) *region {
	if isFloat(d) {
		x := o.floatArg(i)
		return func(m *machine) *region { return m.floatOperand(x.eval(m), d) }
	}
	x := o.intArg(i)
	return func(m *machine) *region { return m.intOperand(x.eval(m), d) }
}

// second gives operand i, a region or a scalar.
func (o *opCtx) second(i int) func(m *machine) *region {
	if !o.isRegion(i) {
		return o.scalarOperand(i, o.dt)
	}
	r := o.reg(i)
	return func(m *machine) *region { return &m.regs[r] }
}

// arrayOp compiles array.create and array.update_element.
func (c *compiler) arrayOp(o *opCtx, to slot) {
	t, _ := o.call.Typ.(*ir.ArrayType)
	if t == nil || t.DType == ir.TASK_ID {
		return
	}
	if to.kind != arraySlot {
		to = c.newSlot(t)
	}
	i, n := to.i, int(t.Len)
	if o.leaf == "create" {
		c.emit(func(m *machine) {
			if cap(m.arrays[i]) < n {
				m.arrays[i] = make([]int64, n)
			}
			m.arrays[i] = m.arrays[i][:n]
			clear(m.arrays[i])
		})
		return
	}
	from := c.lookup(o.call.Args[0])
	if from.kind != arraySlot {
		c.errorf(CodeExpr, o.call.Pos, "%s: %s is no array", o.call.Op, ir.PrintExpr(o.call.Args[0]))
		return
	}
	index, v, a := o.intArg(1), o.intArg(2), from.i
	c.emit(func(m *machine) {
		x, k := m.arrays[a], index.eval(m)
		if k < 0 || k >= int64(len(x)) {
			m.fail(o.site, CodeBounds, "index %d is out of range for an array of %d", k, len(x))
			return
		}
		x[k] = wrap(v.eval(m), t.DType)
		m.arrays[i] = x
	})
}

// intOp compiles an op with an integer or boolean scalar result.
func (c *compiler) intOp(e *ir.OpCall) intExpr {
	if !c.fits(e) {
		return constInt(0)
	}
	ns, leaf := cutName(e.Op)
	o := &opCtx{c: c, call: e, site: c.site(e.Op, e.Pos), leaf: leaf, tile: ns == "tile", dt: ir.ElemDType(e.Typ)}
	switch leaf {
	case "get_block_idx":
		return intExpr{f: func(m *machine) int64 { return int64(m.call.Block) }}
	case "get_block_num":
		return intExpr{f: func(m *machine) int64 { return int64(max(m.call.BlockCount, 1)) }}
	case "get_subblock_idx":
		return intExpr{f: func(m *machine) int64 { return int64(m.sub) }}
	case "dim":
		r, axis := o.reg(0), o.intArg(1)
		return intExpr{f: func(m *machine) int64 {
			x := &m.regs[r]
			a := int(axis.eval(m))
			if a < 0 {
				a += x.rank
			}
			if a < 0 || a >= x.rank {
				m.fail(o.site, CodeBounds, "axis %d of a tensor of rank %d", a, x.rank)
				return 0
			}
			return int64(x.shape[a])
		}}
	case "read":
		at := o.element()
		return intExpr{f: func(m *machine) int64 {
			r, off := at(m)
			if m.err != nil {
				return 0
			}
			outer := m.at // the read may stand in an operand of another op
			m.at = o.site
			v := m.elemI(r, off)
			m.at = outer
			return v
		}}
	case "get_element":
		s, index := c.lookup(e.Args[0]), o.intArg(1)
		if s.kind != arraySlot {
			break
		}
		a := s.i
		return intExpr{f: func(m *machine) int64 {
			x, k := m.arrays[a], index.eval(m)
			if k < 0 || k >= int64(len(x)) {
				m.fail(o.site, CodeBounds, "index %d is out of range for an array of %d", k, len(x))
				return 0
			}
			return x[k]
		}}
	}
	if f := o.foreignScalar(); f != nil {
		return intExpr{f: func(m *machine) int64 {
			switch v := f(m).(type) {
			case int64:
				return wrap(v, o.dt)
			case bool:
				return truth(v)
			}
			return 0
		}}
	}
	c.errorf(CodeOp, e.Pos, "%s: the simulator does not evaluate this op in a kernel", e.Op)
	return constInt(0)
}

// floatOp compiles an op with a float scalar result.
func (c *compiler) floatOp(e *ir.OpCall) floatExpr {
	if !c.fits(e) {
		return constFloat(0)
	}
	_, leaf := cutName(e.Op)
	o := &opCtx{c: c, call: e, site: c.site(e.Op, e.Pos), leaf: leaf, dt: ir.ElemDType(e.Typ)}
	if f := o.foreignScalar(); f != nil {
		return floatExpr{f: func(m *machine) float64 {
			v, _ := f(m).(float64)
			return v
		}}
	}
	if leaf != "read" {
		c.errorf(CodeOp, e.Pos, "%s: the simulator does not evaluate this op in a kernel", e.Op)
		return constFloat(0)
	}
	at := o.element()
	return floatExpr{f: func(m *machine) float64 {
		r, off := at(m)
		if m.err != nil {
			return 0
		}
		outer := m.at
		m.at = o.site
		v := m.elemF(r, off)
		m.at = outer
		return float64(v)
	}}
}

// element compiles the place of one element: operand 0 at the indices of operand 1. A read checks that the element was written.
func (o *opCtx) element() func(m *machine) (*region, int) {
	r, index := o.reg(0), o.list(1)
	read := o.leaf == "read"
	return func(m *machine) (*region, int) {
		x := &m.regs[r]
		if len(index) != x.rank {
			m.fail(o.site, CodeShape, "%d indices for %d axes", len(index), x.rank)
			return x, 0
		}
		off := x.off
		for a := range index {
			k := int(index[a].eval(m))
			if k < 0 || k >= x.shape[a] {
				m.fail(o.site, CodeBounds, "index %d of axis %d is outside of extent %d", k, a, x.shape[a])
				return x, 0
			}
			off += k * x.stride[a]
		}
		if read && x.st != nil && x.st.def != defAll {
			x.st.toBits()
			if x.st.def == defBits && x.st.bits[off>>6]>>(off&63)&1 == 0 {
				m.fail(o.site, CodeUndefined, "reads element %d of a tile, which was never written", off)
			}
		}
		return x, off
	}
}

// show is the first n extents, for messages; shapeOf those of a region.
func show(d dims, n int) []int { return slices.Clone(d[:n]) }

func shapeOf(r *region) []int { return show(r.shape, r.rank) }

// unsupported reports a use of an op that the evaluator cannot compile.
func (o *opCtx) unsupported(code diag.Code, format string, args ...any) evalFn {
	o.c.errorf(code, o.call.Pos, o.call.Op+": "+format, args...)
	return nil
}
