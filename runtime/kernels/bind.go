package kernels

import (
	"math"

	"github.com/ptobuild/ptobuild/internal/diag"

	"github.com/ptobuild/ptobuild/internal/float16"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// Arguments: tensors in parameter order, then scalars in parameter order (spec: runtime 3.2).

// param is one parameter: where its argument goes.
type param struct {
	name   string
	pos    diag.Span
	tensor *ir.TensorType // nil: a scalar
	dtype  ir.DType
	slot   slot
}

// dimBinding gives a dynamic dimension the extent of an axis.
type dimBinding struct{ slot, reg, axis int }

// validBinding narrows the valid region of a parameter.
type validBinding struct {
	reg  int
	dims []intExpr
}

func (m *machine) bind(mem *sim.Memory, c *sim.KernelCall) {
	tensor, scalar := 0, 0
	for i := range m.k.params {
		p := &m.k.params[i]
		s := &site{pos: p.pos}
		if p.tensor != nil {
			if tensor >= len(c.Args) {
				m.fail(s, CodeArgs, "no argument for tensor parameter '%s': the task has %d tensors", p.name, len(c.Args))
				return
			}
			m.bindTensor(s, mem, p, &c.Args[tensor].Tensor, tensor)
			if m.err != nil {
				return
			}
			tensor++
			continue
		}
		if p.slot.kind == noSlot { // a task id or context: nothing that a kernel computes with
			scalar++
			continue
		}
		if scalar >= len(c.Scalars) {
			m.fail(s, CodeArgs, "no argument for scalar parameter '%s': the task has %d scalars", p.name, len(c.Scalars))
			return
		}
		m.bindScalar(p, &c.Scalars[scalar])
		scalar++
	}
	if tensor < len(c.Args) {
		m.fail(&site{pos: m.k.pos}, CodeArgs, "takes %d tensors, but the task has %d", tensor, len(c.Args))
		return
	}
	for _, d := range m.k.dims {
		m.ints[d.slot] = int64(m.regs[d.reg].shape[d.axis])
	}
	for _, v := range m.k.valids {
		r := &m.regs[v.reg]
		for a := range min(r.rank, len(v.dims)) {
			r.valid[a] = min(max(int(v.dims[a].eval(m)), 0), r.shape[a])
		}
	}
}

// bindTensor checks a handle against the declared type and makes it a region. Unit axes that the declaration lacks are dropped (a window of an
// orchestration may keep them).
func (m *machine) bindTensor(s *site, mem *sim.Memory, p *param, t *sim.Tensor, arg int) {
	want := p.tensor.Shape
	packed := p.dtype.Bits() == 4 // the runtime counts bytes, which hold two elements each
	if packed && t.DType.Bytes() != 1 || !packed && t.DType != p.dtype && (t.DType.Bits() != p.dtype.Bits() || t.DType.IsFloat() != p.dtype.IsFloat()) {
		m.fail(s, CodeArgs, "parameter '%s' has %s elements, but the argument has %s", p.name, p.dtype, t.DType)
		return
	}
	if !computable(p.dtype) {
		m.fail(s, CodeDType, "parameter '%s' has %s elements, with which the simulator cannot compute", p.name, p.dtype)
		return
	}
	per := 1
	if packed {
		per = 2
	}
	if len(t.Shape) > maxRank || len(t.Strides) != len(t.Shape) {
		m.fail(s, CodeArgs, "the handle for parameter '%s' has rank %d", p.name, len(t.Shape))
		return
	}
	m.drop(p.slot.i)
	r := &m.regs[p.slot.i]
	r.arg, r.dt, r.rank, r.off = arg, p.dtype, len(t.Shape), per*int(t.Start)
	end := r.off
	empty := false
	for a := range r.rank {
		r.shape[a], r.stride[a] = int(t.Shape[a]), per*int(t.Strides[a])
		if packed && a == r.rank-1 {
			if r.stride[a] != per {
				m.fail(s, CodeArgs, "parameter '%s' has elements of four bits, and its last axis does not lie side by side", p.name)
				return
			}
			r.shape[a], r.stride[a] = per*r.shape[a], 1
		}
		empty = empty || r.shape[a] == 0
		end += (r.shape[a] - 1) * r.stride[a]
	}
	for a := r.rank - 1; a >= 0 && r.rank > len(want); a-- {
		if r.shape[a] != 1 {
			continue
		}
		// An axis goes only when the declaration does not have a 1 there itself.
		if k := a - (r.rank - len(want)); k >= 0 {
			if n, ok := ir.IntValue(want[k]); ok && n == 1 {
				continue
			}
		}
		r.dropAxis(a)
	}
	if r.rank != len(want) {
		m.fail(s, CodeArgs, "parameter '%s' has %d axes, but the argument has shape %v", p.name, len(want), t.Shape)
		return
	}
	r.valid = r.shape
	if !empty {
		size := uint64(end+per) / uint64(per) * uint64(p.dtype.Bytes())
		if t.Size > 0 && size > t.Size {
			m.fail(s, CodeBounds, "the window of argument '%s' ends at byte %d of a buffer of %d", p.name, size, t.Size)
			return
		}
		if r.mem = mem.Bytes(t.Addr, size); r.mem == nil {
			m.fail(s, CodeMemory, "the memory of argument '%s' is not mapped (address %#x, %d bytes)", p.name, t.Addr, size)
			return
		}
	}
}

// computable reports a dtype whose elements the evaluator can hold.
func computable(d ir.DType) bool {
	switch d {
	case ir.HF4, ir.TASK_ID, ir.NoDType:
		return false
	}
	return true
}

// bindScalar converts a scalar argument to the type of its parameter. The argument's bits are of its C type, under its short name ("f32", "i64"), as
// recorded traces and both ways to run an orchestration give it; an integer where a kernel expects a float is the float's bit pattern.
func (m *machine) bindScalar(p *param, a *sim.Scalar) {
	var f float64
	switch a.Type {
	case "f64":
		f = math.Float64frombits(a.Bits)
	case "f32":
		f = float64(math.Float32frombits(uint32(a.Bits)))
	case "f16":
		f = float64(float16.FromHalf(uint16(a.Bits)))
	case "bf16":
		f = float64(float16.FromBF16(uint16(a.Bits)))
	default:
		if p.slot.kind == floatSlot {
			m.floats[p.slot.i] = float64(decode(uint32(a.Bits), p.dtype))
		} else {
			m.ints[p.slot.i] = wrap(int64(a.Bits), p.dtype)
		}
		return
	}
	if p.slot.kind == floatSlot {
		m.floats[p.slot.i] = m.nearest(f, p.dtype)
	} else {
		m.ints[p.slot.i] = saturate(math.Trunc(f), p.dtype)
	}
}
