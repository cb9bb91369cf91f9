package kernels

import "strings"

// expandOps spread a row or column vector over a matrix.
var expandOps = func() map[string]func(o *opCtx) evalFn {
	t := map[string]func(o *opCtx) evalFn{"row_expand": buildExpand, "col_expand": buildExpand, "expand_clone": buildExpand, "expands": buildExpands}
	for suffix, b := range map[string]string{"add": "add", "sub": "sub", "mul": "mul", "div": "div", "max": "maximum", "min": "minimum", "expdif": "expdif"} {
		t["row_expand_"+suffix] = vectorOp(binaries[b])
		t["col_expand_"+suffix] = t["row_expand_"+suffix]
	}
	return t
}()

// vectorOperand steps through a vector spread over a matrix of a rank: column 0 of each row, or row 0 of each column.
func (m *machine) vectorOperand(o *opCtx, v, main *region) (operand, bool) {
	p := operand{off: v.off}
	axis := main.rank - 1
	if strings.HasPrefix(o.leaf, "col_") {
		axis--
	}
	for k := range main.rank {
		q := main.rank - 1 - k
		n := last(&v.valid, v.rank, q, 1)
		if k == axis || n == 1 && main.valid[k] != 1 && k < main.rank-2 {
			continue
		}
		if n < main.valid[k] {
			m.fail(o.site, CodeShape, "a vector valid in %v does not reach over %v", show(v.valid, v.rank), show(main.valid, main.rank))
			return p, false
		}
		p.stride[k] = last(&v.stride, v.rank, q, 0)
	}
	return p, true
}

func vectorOp(b *binary) func(o *opCtx) evalFn {
	return func(o *opCtx) evalFn {
		if (isFloat(o.dt) && b.f == nil) || (!isFloat(o.dt) && b.i == nil) {
			return o.unsupported(CodeDType, "no such operation on %s elements", o.dt)
		}
		x, y := o.reg(0), o.reg(1)
		return func(m *machine, out *region) {
			r, v := &m.regs[x], &m.regs[y]
			if !m.need(o.site, r) || !m.need(o.site, v) {
				return
			}
			if r.rank < 2 {
				m.fail(o.site, CodeShape, "needs at least 2 axes, got %v", shapeOf(r))
				return
			}
			p, ok := m.vectorOperand(o, v, r)
			if !ok {
				return
			}
			m.fresh(out, o.dt, r.rank, &r.shape, &r.valid)
			m.binaryRows(o.site, b, r, &r.operand, v, &p, out)
		}
	}
}

// buildExpand repeats operand 1 (row_expand, col_expand) or 0 (expand_clone) over the shape of the other.
func buildExpand(o *opCtx) evalFn {
	target, vec := o.reg(0), o.reg(1)
	clone := o.leaf == "expand_clone"
	if clone {
		target, vec = vec, target
	}
	return func(m *machine, out *region) {
		t, v := &m.regs[target], &m.regs[vec]
		if !m.need(o.site, v) {
			return
		}
		p := operand{off: v.off}
		if clone {
			for k := range t.rank {
				q := t.rank - 1 - k
				switch n := last(&v.shape, v.rank, q, 1); {
				case n == t.shape[k]:
					p.stride[k] = last(&v.stride, v.rank, q, 0)
				case n != 1:
					m.fail(o.site, CodeShape, "%v cannot be broadcast to %v", shapeOf(v), shapeOf(t))
					return
				}
			}
		} else {
			var ok bool
			if p, ok = m.vectorOperand(o, v, t); !ok {
				return
			}
		}
		m.fresh(out, o.dt, t.rank, &t.shape, &t.valid)
		m.copyRows(out, v, &p)
		out.st.define(out)
	}
}

// copyRows fills the valid region of a fresh result from a region walked by p.
func (m *machine) copyRows(out, from *region, p *operand) {
	var it rows
	it.start(out.rank, &out.valid, true, &out.operand, p)
	for it.next() {
		if isFloat(out.dt) {
			d := out.st.f[it.off[0] : it.off[0]+it.n]
			copy(d, m.fetchF(from, it.off[1], it.n, it.in[1], &m.f[0]))
			if from.dt != out.dt {
				m.roundRow(d, out.dt)
			}
		} else {
			d := out.st.i[it.off[0] : it.off[0]+it.n]
			copy(d, m.fetchI(from, it.off[1], it.n, it.in[1], &m.i[0]))
			if from.dt != out.dt {
				wrapRow(d, out.dt)
			}
		}
	}
}

// buildExpands fills the target's valid region with a scalar.
func buildExpands(o *opCtx) evalFn {
	target, v := o.reg(0), o.scalarOperand(1, o.dt)
	return func(m *machine, out *region) {
		t, x := &m.regs[target], v(m)
		m.fresh(out, o.dt, t.rank, &t.shape, &t.valid)
		m.copyRows(out, x, &operand{})
		out.st.define(out)
	}
}
