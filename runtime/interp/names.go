package interp

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// kindInfo is the kind of create-infos; plans have no CKind for them.
const kindInfo = plan.OutputsT + 1

// compiler turns a plan into closures.
type compiler struct {
	file  *plan.File
	vars  map[*plan.Name]variable
	at    diag.Span     // the statement being compiled
	count [numBanks]int // slots per bank
}

// variable is where a name lives.
type variable struct {
	kind  plan.CKind
	t     ctype // of numbers and of elements of arrays of numbers
	array bool
	n     int // elements of an array
	slot  int
}

// bank is a slice of the frame.
type bank int

const (
	idArrays bank = iota
	uintArrays
	numArrays
	tensors
	ids
	outputs
	infos
	floats
	ints
	numBanks
)

// bank is where a variable of this kind lives.
func (v variable) bank() bank {
	switch {
	case v.array && v.kind == plan.TaskT:
		return idArrays
	case v.array && v.kind == plan.Uint32T:
		return uintArrays
	case v.array:
		return numArrays
	case v.kind == plan.TensorT:
		return tensors
	case v.kind == plan.TaskT:
		return ids
	case v.kind == plan.OutputsT:
		return outputs
	case v.kind == kindInfo:
		return infos
	case v.t.isFloat():
		return floats
	}
	return ints
}

func (c *compiler) declare(n *plan.Name, v variable) int {
	k := &c.count[v.bank()]
	v.slot = *k
	*k++
	if n != nil {
		c.vars[n] = v
	}
	return v.slot
}

func (c *compiler) lookup(n *plan.Name) variable {
	v, ok := c.vars[n]
	if !ok {
		c.bad("%s is not declared", nameOf(n))
	}
	return v
}

func nameOf(n *plan.Name) string {
	switch {
	case n == nil:
		return "a name"
	case n.Text != "":
		return n.Text
	}
	return n.Hint
}

func numberType(t plan.CType) ctype {
	switch t.Kind {
	case plan.Uint32T:
		return cU32
	case plan.Int32T:
		return cI32
	case plan.Number:
		return ctypeOf(t.DType)
	}
	return cI64
}

func (c *compiler) frame(rt *sim.Runtime, args Args) *frame {
	fr := &frame{
		rt: rt, limit: args.MaxSteps, stop: args.Stop, entries: args.Tensors, scalars: args.Scalars,
		idArrays: make([][]sim.TaskID, c.count[idArrays]), uintArrays: make([][]uint32, c.count[uintArrays]), numArrays: make([][]slotValue, c.count[numArrays]),
		tensors: make([]sim.Tensor, c.count[tensors]), ids: make([]sim.TaskID, c.count[ids]), outs: make([]sim.Outputs, c.count[outputs]),
		infos: make([]sim.CreateInfo, c.count[infos]), floats: make([]float64, c.count[floats]), ints: make([]int64, c.count[ints]),
	}
	if fr.limit <= 0 {
		fr.limit = DefaultSteps
	}
	for i := range fr.ids {
		fr.ids[i] = sim.InvalidTask
	}
	return fr
}

// entry declares the entry tensors, scalars and dynamic dimensions.
func (c *compiler) entry() action {
	var code []action
	for i, t := range c.file.Tensors {
		k := c.declare(t.Name, variable{kind: plan.TensorT})
		code = append(code, func(fr *frame) { fr.tensors[k] = fr.entries[i] })
	}
	for i, s := range c.file.Scalars {
		t := ctypeOf(s.DType)
		k := c.declare(s.Name, variable{kind: plan.Number, t: t})
		if t.isFloat() {
			code = append(code, func(fr *frame) { fr.floats[k] = floatOfBits(fr.scalars[i], t) })
		} else {
			code = append(code, func(fr *frame) { fr.ints[k] = wrap(int64(fr.scalars[i]), t) })
		}
	}
	for _, d := range c.file.Dims {
		x := c.num(&plan.EntryExtent{Ordinal: d.Tensor, Axis: d.Axis}).i
		k := c.declare(d.Name, variable{kind: plan.Number, t: cI64})
		code = append(code, func(fr *frame) { fr.ints[k] = x(fr) })
	}
	return func(fr *frame) {
		for _, e := range code {
			e(fr)
		}
	}
}

// variable compiles the use of a number variable.
func (c *compiler) variable(n *plan.Name) number {
	v := c.lookup(n)
	k := v.slot
	switch v.bank() {
	case floats:
		return floating(v.t, func(fr *frame) float64 { return fr.floats[k] })
	case ints:
		return integer(v.t, func(fr *frame) int64 { return fr.ints[k] })
	}
	c.bad("%s is not a number", nameOf(n))
	return number{}
}

func (c *compiler) element(e *plan.Elem) number {
	v := c.lookup(e.Array)
	i := c.to(c.num(e.I), cI64).i
	k := v.slot
	switch v.bank() {
	case uintArrays:
		return integer(cU32, func(fr *frame) int64 { return int64(fr.uintArrays[k][fr.index(i(fr), v.n)]) })
	case numArrays:
		if v.t.isFloat() {
			return floating(v.t, func(fr *frame) float64 { return fr.numArrays[k][fr.index(i(fr), v.n)].f })
		}
		return integer(v.t, func(fr *frame) int64 { return fr.numArrays[k][fr.index(i(fr), v.n)].i })
	}
	c.bad("%s is not an array of numbers", nameOf(e.Array))
	return number{}
}

func (c *compiler) slotOf(n *plan.Name, b bank, what string) int {
	v := c.lookup(n)
	if v.bank() != b {
		c.bad("%s is not %s", nameOf(n), what)
	}
	return v.slot
}

func (c *compiler) tensorSlot(n *plan.Name) int { return c.slotOf(n, tensors, "a tensor") }
func (c *compiler) outsSlot(n *plan.Name) int   { return c.slotOf(n, outputs, "the result of a submit") }
func (c *compiler) infoSlot(n *plan.Name) int   { return c.slotOf(n, infos, "a create-info") }
func (c *compiler) uintArray(n *plan.Name) int  { return c.slotOf(n, uintArrays, "an array of extents") }

// taskID compiles an expression that is a task id.
func (c *compiler) taskID(e plan.Expr) func(*frame) sim.TaskID {
	switch e := e.(type) {
	case *plan.InvalidTask:
		return func(*frame) sim.TaskID { return sim.InvalidTask }
	case *plan.Ref:
		k := c.slotOf(e.Name, ids, "a task id")
		return func(fr *frame) sim.TaskID { return fr.ids[k] }
	case *plan.TaskIDOf:
		k := c.outsSlot(e.Outs)
		return func(fr *frame) sim.TaskID { return fr.outs[k].Task }
	case *plan.Elem:
		v := c.lookup(e.Array)
		if v.bank() != idArrays {
			c.bad("%s is not an array of task ids", nameOf(e.Array))
		}
		i, k := c.to(c.num(e.I), cI64).i, v.slot
		return func(fr *frame) sim.TaskID { return fr.idArrays[k][fr.index(i(fr), v.n)] }
	}
	c.bad("%T is not a task id", e)
	return nil
}

// tensor compiles an expression that is a tensor handle.
func (c *compiler) tensor(e plan.Expr) func(*frame) sim.Tensor {
	switch e := e.(type) {
	case *plan.Ref:
		k := c.tensorSlot(e.Name)
		return func(fr *frame) sim.Tensor { return fr.tensors[k] }
	case *plan.OutRef:
		k, i := c.outsSlot(e.Outs), e.I
		return func(fr *frame) sim.Tensor {
			t := fr.rt.Output(fr.outs[k], i, fr.site())
			fr.check()
			return t
		}
	case *plan.View:
		t, shapes, offsets := c.tensorSlot(e.Tensor), c.uintArray(e.Shapes), c.uintArray(e.Offsets)
		return func(fr *frame) sim.Tensor {
			v := fr.rt.View(&fr.tensors[t], fr.uintArrays[shapes], fr.uintArrays[offsets], fr.site())
			fr.check()
			return v
		}
	case *plan.Reshape:
		t, shapes, n := c.tensorSlot(e.Tensor), c.uintArray(e.Shapes), e.N
		return func(fr *frame) sim.Tensor {
			v := fr.rt.Reshape(&fr.tensors[t], fr.uints(shapes, n), fr.site())
			fr.check()
			return v
		}
	case *plan.Transpose:
		t, a, b := c.tensorSlot(e.Tensor), e.A, e.B
		return func(fr *frame) sim.Tensor {
			v := fr.rt.Transpose(&fr.tensors[t], a, b, fr.site())
			fr.check()
			return v
		}
	}
	c.bad("%T is not a tensor", e)
	return nil
}
