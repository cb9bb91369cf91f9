package kernels

import (
	"math"
	"strings"

	"github.com/ptobuild/ptobuild/ir"
)

// binary is an operation on two rows: on floats, on a row and one value (hot ones only), and on integers. The integer form gives the first element that
// has no result, or -1; u replaces it for UINT64, whose order and quotients differ.
type binary struct {
	f  func(d, x, y []float64)
	fs func(d, x []float64, y float64)
	i  func(d, x, y []int64) int
	u  func(d, x, y []int64) int
}

func eachF(f func(x, y float64) float64) func(d, x, y []float64) {
	return func(d, x, y []float64) {
		x, y = x[:len(d)], y[:len(d)]
		for j := range d {
			d[j] = f(x[j], y[j])
		}
	}
}

func eachI(f func(x, y int64) int64) func(d, x, y []int64) int {
	return func(d, x, y []int64) int {
		x, y = x[:len(d)], y[:len(d)]
		for j := range d {
			d[j] = f(x[j], y[j])
		}
		return -1
	}
}

// eachDiv is eachI for operations that need y ≠ 0.
func eachDiv(f func(x, y int64) int64) func(d, x, y []int64) int {
	return func(d, x, y []int64) int {
		x, y = x[:len(d)], y[:len(d)]
		for j := range d {
			if y[j] == 0 {
				return j
			}
			d[j] = f(x[j], y[j])
		}
		return -1
	}
}

func maxF(x, y float64) float64 {
	if x < y {
		return y
	}
	return x
}

func minF(x, y float64) float64 {
	if y < x {
		return y
	}
	return x
}

func fmodF(x, y float64) float64 { return math.Mod(x, y) }

// remF is the remainder with the divisor's sign.
func remF(x, y float64) float64 {
	r := math.Mod(x, y)
	if r != 0 && (r < 0) != (y < 0) {
		r += y
	}
	return r
}

var binaries = map[string]*binary{
	"add": {
		f: func(d, x, y []float64) {
			x, y = x[:len(d)], y[:len(d)]
			for j := range d {
				d[j] = x[j] + y[j]
			}
		},
		fs: func(d, x []float64, y float64) {
			x = x[:len(d)]
			for j := range d {
				d[j] = x[j] + y
			}
		},
		i: eachI(func(x, y int64) int64 { return x + y }),
	},
	"sub": {
		f: func(d, x, y []float64) {
			x, y = x[:len(d)], y[:len(d)]
			for j := range d {
				d[j] = x[j] - y[j]
			}
		},
		fs: func(d, x []float64, y float64) {
			x = x[:len(d)]
			for j := range d {
				d[j] = x[j] - y
			}
		},
		i: eachI(func(x, y int64) int64 { return x - y }),
	},
	"mul": {
		f: func(d, x, y []float64) {
			x, y = x[:len(d)], y[:len(d)]
			for j := range d {
				d[j] = x[j] * y[j]
			}
		},
		fs: func(d, x []float64, y float64) {
			x = x[:len(d)]
			for j := range d {
				d[j] = x[j] * y
			}
		},
		i: eachI(func(x, y int64) int64 { return x * y }),
	},
	"div": {
		f: func(d, x, y []float64) {
			x, y = x[:len(d)], y[:len(d)]
			for j := range d {
				d[j] = x[j] / y[j]
			}
		},
		fs: func(d, x []float64, y float64) {
			x = x[:len(d)]
			for j := range d {
				d[j] = x[j] / y
			}
		},
		i: eachDiv(func(x, y int64) int64 { return x / y }),
		u: eachDiv(func(x, y int64) int64 { return int64(uint64(x) / uint64(y)) }),
	},
	"maximum": {
		f: func(d, x, y []float64) {
			x, y = x[:len(d)], y[:len(d)]
			for j := range d {
				d[j] = maxF(x[j], y[j])
			}
		},
		i: eachI(func(x, y int64) int64 { return max(x, y) }),
		u: eachI(func(x, y int64) int64 { return int64(max(uint64(x), uint64(y))) }),
	},
	"minimum": {
		f: func(d, x, y []float64) {
			x, y = x[:len(d)], y[:len(d)]
			for j := range d {
				d[j] = minF(x[j], y[j])
			}
		},
		i: eachI(func(x, y int64) int64 { return min(x, y) }),
		u: eachI(func(x, y int64) int64 { return int64(min(uint64(x), uint64(y))) }),
	},
	"expdif": {f: func(d, x, y []float64) {
		x, y = x[:len(d)], y[:len(d)]
		for j := range d {
			d[j] = math.Exp(x[j] - y[j])
		}
	}},
	"fmod": {
		f: eachF(fmodF),
		i: eachDiv(func(x, y int64) int64 { return x % y }),
		u: eachDiv(func(x, y int64) int64 { return int64(uint64(x) % uint64(y)) }),
	},
	"rem": {
		f: eachF(remF),
		i: eachDiv(floorMod),
		u: eachDiv(func(x, y int64) int64 { return int64(uint64(x) % uint64(y)) }),
	},
	"and": {i: eachI(func(x, y int64) int64 { return x & y })},
	"or":  {i: eachI(func(x, y int64) int64 { return x | y })},
	"xor": {i: eachI(func(x, y int64) int64 { return x ^ y })},
	"shl": {i: eachI(func(x, y int64) int64 { return x << uint64(y) })},
	"shr": {
		i: eachI(func(x, y int64) int64 { return x >> uint64(y) }),
		u: eachI(func(x, y int64) int64 { return int64(uint64(x) >> uint64(y)) }),
	},
}

var elementwiseOps = func() map[string]func(o *opCtx) evalFn {
	t := map[string]func(o *opCtx) evalFn{
		"addc": threeOp("add", "add"), "subc": threeOp("sub", "add"), "addsc": threeOp("add", "add"), "subsc": threeOp("sub", "add"),
		"cmp": buildCmp, "cmps": buildCmp, "sel": buildSel, "sels": buildSel,
		"part_add": buildPart, "part_mul": buildPart, "part_max": buildPart, "part_min": buildPart,
	}
	for name, b := range binaries {
		if name == "expdif" {
			continue
		}
		t[name], t[name+"s"] = binaryOp(b), binaryOp(b)
	}
	return t
}()

// binaryOp is elementwise on operands 0 and 1, a region or a scalar.
func binaryOp(b *binary) func(o *opCtx) evalFn {
	return func(o *opCtx) evalFn {
		if (isFloat(o.dt) && b.f == nil) || (!isFloat(o.dt) && b.i == nil) {
			return o.unsupported(CodeDType, "no such operation on %s elements", o.dt)
		}
		x, y := o.reg(0), o.second(1)
		return func(m *machine, out *region) { m.binary(o.site, b, &m.regs[x], y(m), o.dt, out) }
	}
}

// binary computes out = x op y with broadcasting.
func (m *machine) binary(s *site, b *binary, x, y *region, d ir.DType, out *region) {
	if !m.need(s, x) || !m.need(s, y) {
		return
	}
	rank := max(x.rank, y.rank)
	var shape, valid dims
	var px, py operand
	px.off, py.off = x.off, y.off
	for a := range rank {
		k := rank - 1 - a
		nx, ny := last(&x.shape, x.rank, k, 1), last(&y.shape, y.rank, k, 1)
		vx, vy := last(&x.valid, x.rank, k, 1), last(&y.valid, y.rank, k, 1)
		px.stride[a], py.stride[a] = last(&x.stride, x.rank, k, 0), last(&y.stride, y.rank, k, 0)
		switch {
		case nx == ny:
			shape[a], valid[a] = nx, min(vx, vy)
		case nx == 1:
			shape[a], valid[a], px.stride[a] = ny, vy, 0
		case ny == 1:
			shape[a], valid[a], py.stride[a] = nx, vx, 0
		default:
			m.fail(s, CodeShape, "shapes %v and %v do not broadcast", shapeOf(x), shapeOf(y))
			return
		}
	}
	m.fresh(out, d, rank, &shape, &valid)
	m.binaryRows(s, b, x, &px, y, &py, out)
}

// binaryRows fills the valid region of out.
func (m *machine) binaryRows(s *site, b *binary, x *region, px *operand, y *region, py *operand, out *region) {
	var it rows
	it.start(out.rank, &out.valid, true, &out.operand, px, py)
	if isFloat(out.dt) {
		for it.next() {
			d := out.st.f[it.off[0] : it.off[0]+it.n]
			xs := m.fetchF(x, it.off[1], it.n, it.in[1], &m.f[0])
			if it.in[2] == 0 && b.fs != nil {
				b.fs(d, xs, m.elemF(y, it.off[2]))
			} else {
				b.f(d, xs, m.fetchF(y, it.off[2], it.n, it.in[2], &m.f[1]))
			}
			m.roundRow(d, out.dt)
		}
	} else {
		f := b.i
		if out.dt == ir.UINT64 && b.u != nil {
			f = b.u
		}
		for it.next() {
			d := out.st.i[it.off[0] : it.off[0]+it.n]
			j := f(d, m.fetchI(x, it.off[1], it.n, it.in[1], &m.i[0]), m.fetchI(y, it.off[2], it.n, it.in[2], &m.i[1]))
			if j >= 0 {
				m.fail(s, CodeArithmetic, "integer division by zero (element %d of a row)", j)
				return
			}
			wrapRow(d, out.dt)
		}
	}
	out.st.define(out)
}

// threeOp is (a op1 b) op2 c, rounded after each step.
func threeOp(first, second string) func(o *opCtx) evalFn {
	return func(o *opCtx) evalFn {
		x, y, z := o.reg(0), o.second(1), o.reg(2)
		f, g := binaries[first], binaries[second]
		return func(m *machine, out *region) {
			m.binary(o.site, f, &m.regs[x], y(m), o.dt, &m.tmp)
			if m.err != nil {
				return
			}
			m.binary(o.site, g, &m.tmp, &m.regs[z], o.dt, out)
			m.discard(&m.tmp)
		}
	}
}

var cmpOps = [...]ir.BinOp{ir.Eq, ir.Ne, ir.Lt, ir.Le, ir.Gt, ir.Ge}

// buildCmp packs the comparisons of a row LSB first, eight columns a byte; rows of the mask are whole 32-byte blocks.
func buildCmp(o *opCtx) evalFn {
	mode := o.kwInt("cmp_type", 0)
	if mode < 0 || int(mode) >= len(cmpOps) {
		return o.unsupported(CodeExpr, "cmp_type %d does not exist", mode)
	}
	op := cmpOps[mode]
	x, y := o.reg(0), o.second2(1, ir.ElemDType(o.call.Args[0].Type()))
	from := ir.ElemDType(o.call.Args[0].Type())
	unsigned := from == ir.UINT64
	return func(m *machine, out *region) {
		a, b := &m.regs[x], y(m)
		if !m.need(o.site, a) || !m.need(o.site, b) {
			return
		}
		r := a.rank
		if r == 0 || b.rank > r {
			m.fail(o.site, CodeShape, "shapes %v and %v cannot be compared", shapeOf(a), shapeOf(b))
			return
		}
		pb := operand{off: b.off}
		valid := a.valid
		for k := range r {
			n := last(&b.shape, b.rank, r-1-k, 1)
			pb.stride[k] = last(&b.stride, b.rank, r-1-k, 0)
			switch {
			case n == 1 && a.shape[k] != 1:
				pb.stride[k] = 0
			case n != a.shape[k]:
				m.fail(o.site, CodeShape, "shapes %v and %v cannot be compared", shapeOf(a), shapeOf(b))
				return
			default:
				valid[k] = min(valid[k], last(&b.valid, b.rank, r-1-k, 1))
			}
		}
		shape, mv := a.shape, valid
		mv[r-1] = (valid[r-1] + 7) / 8
		shape[r-1] = ((a.shape[r-1]+7)/8 + 31) / 32 * 32
		m.fresh(out, ir.UINT8, r, &shape, &mv)
		po := out.operand
		po.stride[r-1] = 0 // one mask row for each line of columns
		var it rows
		it.start(r, &valid, false, &po, &a.operand, &pb)
		for it.next() {
			d := out.st.i[it.off[0] : it.off[0]+mv[r-1]]
			clear(d)
			if isFloat(from) {
				xs, ys := m.fetchF(a, it.off[1], it.n, it.in[1], &m.f[0]), m.fetchF(b, it.off[2], it.n, it.in[2], &m.f[1])
				for j := range xs {
					if compare(op, xs[j], ys[j]) {
						d[j>>3] |= 1 << (j & 7)
					}
				}
				continue
			}
			xs, ys := m.fetchI(a, it.off[1], it.n, it.in[1], &m.i[0]), m.fetchI(b, it.off[2], it.n, it.in[2], &m.i[1])
			for j := range xs {
				u, v := xs[j], ys[j]
				if unsigned { // flipping the top bit maps unsigned order to signed
					u, v = u^math.MinInt64, v^math.MinInt64
				}
				if compare(op, u, v) {
					d[j>>3] |= 1 << (j & 7)
				}
			}
		}
		out.st.define(out)
	}
}

// second2 is second for another dtype than the result's.
func (o *opCtx) second2(i int, d ir.DType) func(m *machine) *region {
	if !o.isRegion(i) {
		return o.scalarOperand(i, d)
	}
	r := o.reg(i)
	return func(m *machine) *region { return &m.regs[r] }
}

// buildSel: where the mask bit is set the first choice, else the second: sel(mask, lhs, rhs), sels(mask, src, tmp, scalar).
func buildSel(o *opCtx) evalFn {
	mask, x := o.reg(0), o.reg(1)
	other := 2
	if o.leaf == "sels" {
		other = 3
	}
	y := o.second(other)
	return func(m *machine, out *region) {
		k, a, b := &m.regs[mask], &m.regs[x], y(m)
		if !m.need(o.site, k) || !m.need(o.site, a) || !m.need(o.site, b) {
			return
		}
		r := a.rank
		if b.rank != 0 && !m.sameExtents(o.site, b, a) {
			return
		}
		need := a.valid
		if r > 0 {
			need[r-1] = (need[r-1] + 7) / 8
		}
		if r == 0 || k.rank != r || !within(r, &need, &k.valid) {
			m.fail(o.site, CodeShape, "a mask %v does not cover %v", show(k.valid, k.rank), show(a.valid, r))
			return
		}
		m.fresh(out, o.dt, r, &a.shape, &a.valid)
		pk, pb := k.operand, operand{off: b.off}
		pk.stride[r-1] = 0
		if b.rank == r {
			pb = b.operand
		}
		var it rows
		it.start(r, &a.valid, false, &a.operand, &pk, &pb)
		for it.next() {
			line := 0 // out is packed: its line follows from the index of the run
			for q := range r - 1 {
				line += it.idx[q] * out.stride[q]
			}
			bits := m.fetchI(k, it.off[1], (it.n+7)/8, k.stride[r-1], &m.i[2])
			if isFloat(o.dt) {
				xs, ys := m.fetchF(a, it.off[0], it.n, it.in[0], &m.f[0]), m.fetchF(b, it.off[2], it.n, it.in[2], &m.f[1])
				d := out.st.f[line : line+it.n]
				for j := range d {
					if d[j] = ys[j]; bits[j>>3]>>(j&7)&1 != 0 {
						d[j] = xs[j]
					}
				}
				continue
			}
			xs, ys := m.fetchI(a, it.off[0], it.n, it.in[0], &m.i[0]), m.fetchI(b, it.off[2], it.n, it.in[2], &m.i[1])
			d := out.st.i[line : line+it.n]
			for j := range d {
				if d[j] = ys[j]; bits[j>>3]>>(j&7)&1 != 0 {
					d[j] = xs[j]
				}
			}
		}
		out.st.define(out)
	}
}

// within reports that extents a do not go beyond extents b.
func within(rank int, a, b *dims) bool {
	for k := range rank {
		if a[k] > b[k] {
			return false
		}
	}
	return true
}

// buildPart: both valid: the operation; one valid: that one; none: 0.
func buildPart(o *opCtx) evalFn {
	kind := strings.TrimPrefix(o.leaf, "part_")
	b := binaries[map[string]string{"add": "add", "mul": "mul", "max": "maximum", "min": "minimum"}[kind]]
	x, y := o.reg(0), o.reg(1)
	return func(m *machine, out *region) {
		p, q := &m.regs[x], &m.regs[y]
		if !m.need(o.site, p) || !m.need(o.site, q) {
			return
		}
		if p.rank != q.rank || !sameFront(p.rank, &p.shape, &q.shape) {
			m.fail(o.site, CodeShape, "shapes %v and %v differ", shapeOf(p), shapeOf(q))
			return
		}
		valid, both := p.valid, p.valid
		for a := range p.rank {
			valid[a], both[a] = max(p.valid[a], q.valid[a]), min(p.valid[a], q.valid[a])
		}
		m.fresh(out, o.dt, p.rank, &p.shape, &both)
		clear(out.st.f)
		clear(out.st.i)
		out.st.def = defAll // elements that neither has are 0
		m.copyRegion(out, p)
		m.copyRegion(out, q)
		m.binaryRows(o.site, b, p, &p.operand, q, &q.operand, out)
		out.valid, out.st.def = valid, defAll
	}
}
