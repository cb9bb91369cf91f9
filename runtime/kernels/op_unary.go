package kernels

import (
	"math"

	"github.com/ptobuild/ptobuild/ir"
)

// unary is an operation on one row.
type unary struct {
	f func(d, x []float64)
	i func(d, x []int64)
}

// inDouble computes in double and rounds once to float64.
func inDouble(f func(float64) float64) func(d, x []float64) {
	return func(d, x []float64) {
		x = x[:len(d)]
		for j, v := range x {
			d[j] = f(v)
		}
	}
}

func eachI1(f func(int64) int64) func(d, x []int64) {
	return func(d, x []int64) {
		x = x[:len(d)]
		for j, v := range x {
			d[j] = f(v)
		}
	}
}

var unaries = map[string]*unary{
	"abs": {
		f: func(d, x []float64) {
			x = x[:len(d)]
			for j, v := range x {
				d[j] = math.Abs(v)
			}
		},
		i: eachI1(func(v int64) int64 { return max(v, -v) }),
	},
	"neg": {
		f: func(d, x []float64) {
			x = x[:len(d)]
			for j, v := range x {
				d[j] = -v
			}
		},
		i: eachI1(func(v int64) int64 { return -v }),
	},
	"relu": {
		f: func(d, x []float64) {
			x = x[:len(d)]
			for j, v := range x {
				d[j] = maxF(v, 0)
			}
		},
		i: eachI1(func(v int64) int64 { return max(v, 0) }),
	},
	"not": {i: eachI1(func(v int64) int64 { return ^v })},
	"exp": {f: func(d, x []float64) {
		x = x[:len(d)]
		for j, v := range x {
			d[j] = math.Exp(v)
		}
	}},
	"log":   {f: inDouble(math.Log)},
	"sin":   {f: inDouble(math.Sin)},
	"cos":   {f: inDouble(math.Cos)},
	"sqrt":  {f: inDouble(math.Sqrt)},
	"rsqrt": {f: inDouble(func(v float64) float64 { return 1 / math.Sqrt(v) })},
	"recip": {f: func(d, x []float64) {
		x = x[:len(d)]
		for j, v := range x {
			d[j] = 1 / v
		}
	}},
}

var unaryOps = func() map[string]func(o *opCtx) evalFn {
	t := map[string]func(o *opCtx) evalFn{"cast": buildCast, "lrelu": buildLrelu, "prelu": buildLrelu}
	for name, u := range unaries {
		t[name] = unaryOp(u)
	}
	return t
}()

func unaryOp(u *unary) func(o *opCtx) evalFn {
	return func(o *opCtx) evalFn {
		if isFloat(o.dt) && u.f == nil || !isFloat(o.dt) && u.i == nil {
			return o.unsupported(CodeDType, "no such operation on %s elements", o.dt)
		}
		x := o.reg(0)
		return func(m *machine, out *region) {
			r := &m.regs[x]
			if !m.need(o.site, r) {
				return
			}
			m.fresh(out, o.dt, r.rank, &r.shape, &r.valid)
			var it rows
			it.start(r.rank, &r.valid, true, &out.operand, &r.operand)
			for it.next() {
				if isFloat(o.dt) {
					d := out.st.f[it.off[0] : it.off[0]+it.n]
					u.f(d, m.fetchF(r, it.off[1], it.n, it.in[1], &m.f[0]))
					m.roundRow(d, o.dt)
				} else {
					d := out.st.i[it.off[0] : it.off[0]+it.n]
					u.i(d, m.fetchI(r, it.off[1], it.n, it.in[1], &m.i[0]))
					wrapRow(d, o.dt)
				}
			}
			out.st.define(out)
		}
	}
}

// buildCast converts elements: float to int by the mode and saturating, float to narrower float with the mode on the mantissa, int to float to the
// nearest, int to int by keeping the low bits.
func buildCast(o *opCtx) evalFn {
	x := o.reg(0)
	from, to := ir.ElemDType(o.call.Args[0].Type()), o.dt
	mode := roundings[o.kwEnum("mode", "round")]
	row := castRow(from, to, mode)
	return func(m *machine, out *region) {
		r := &m.regs[x]
		if !m.need(o.site, r) {
			return
		}
		m.fresh(out, to, r.rank, &r.shape, &r.valid)
		it := &m.it
		it.start(r.rank, &r.valid, true, &out.operand, &r.operand)
		for it.next() {
			row(m, r, it, out)
		}
		out.st.define(out)
	}
}

// castRow picks the conversion of one run.
func castRow(from, to ir.DType, mode rounding) func(m *machine, r *region, it *rows, out *region) {
	switch {
	case isFloat(from) && isFloat(to):
		widens := to == ir.FP64 || to == ir.FP32 && from != ir.FP64 || to == ir.BF16 && from.Bits() == 8 || to == ir.FP16 && from.Bits() == 8 && from != ir.FP8E8M0
		return func(m *machine, r *region, it *rows, out *region) {
			d := out.st.f[it.off[0] : it.off[0]+it.n]
			copy(d, m.fetchF(r, it.off[1], it.n, it.in[1], &m.f[0]))
			switch {
			case widens || m.double:
			case mode == rintMode:
				m.roundRow(d, to)
			case mode == roundMode && to == ir.BF16:
				roundAwayBF16(d)
			case mode == roundMode && to == ir.FP16:
				roundAwayHalf(d)
			default:
				for j, v := range d {
					d[j] = mode.narrow(v, to)
				}
			}
		}
	case isFloat(from):
		return func(m *machine, r *region, it *rows, out *region) {
			d := out.st.i[it.off[0] : it.off[0]+it.n]
			for j, v := range m.fetchF(r, it.off[1], it.n, it.in[1], &m.f[0]) {
				if to == ir.BOOL {
					d[j] = truth(v != 0)
					continue
				}
				d[j] = saturate(mode.integral(v), to)
			}
		}
	case isFloat(to):
		return func(m *machine, r *region, it *rows, out *region) {
			d := out.st.f[it.off[0] : it.off[0]+it.n]
			for j, v := range m.fetchI(r, it.off[1], it.n, it.in[1], &m.i[0]) {
				d[j] = m.intToFloat(v, from, to)
			}
		}
	}
	return func(m *machine, r *region, it *rows, out *region) {
		d := out.st.i[it.off[0] : it.off[0]+it.n]
		copy(d, m.fetchI(r, it.off[1], it.n, it.in[1], &m.i[0]))
		wrapRow(d, to)
	}
}

// roundAwayBF16 rounds to nearest, ties away from zero: half a unit is added to the magnitude.
func roundAwayBF16(x []float64) {
	for j, v := range x {
		b := math.Float32bits(float32(v))
		if b&0x7fffffff > 0x7f800000 || float64(float32(v)) != v {
			x[j] = roundMode.narrow(v, ir.BF16)
			continue
		}
		x[j] = float64(math.Float32frombits((b + 0x8000) &^ 0xffff))
	}
}

// roundAwayHalf does the same for FP16; subnormal results and overflow take the general way.
func roundAwayHalf(x []float64) {
	for j, v := range x {
		b := math.Float32bits(float32(v))
		if e := b & 0x7fffffff; e < 0x38800000 || e >= 0x477fe000 || float64(float32(v)) != v {
			x[j] = roundMode.narrow(v, ir.FP16)
			continue
		}
		x[j] = float64(math.Float32frombits((b + 0x1000) &^ 0x1fff))
	}
}

// buildLrelu: x > 0 ? x : x · slope, with a scalar (lrelu) or elementwise (prelu) slope.
func buildLrelu(o *opCtx) evalFn {
	x, y := o.reg(0), o.second(1)
	b := &binary{
		f: eachF(func(x, y float64) float64 {
			if x > 0 {
				return x
			}
			return x * y
		}),
		i: eachI(func(x, y int64) int64 {
			if x > 0 {
				return x
			}
			return x * y
		}),
	}
	return func(m *machine, out *region) { m.binary(o.site, b, &m.regs[x], y(m), o.dt, out) }
}
