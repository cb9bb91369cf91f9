package kernels

import (
	"math"

	"github.com/ptobuild/ptobuild/ir"
)

// createOps make tiles and tensors from nothing.
var createOps = map[string]func(o *opCtx) evalFn{
	"create": buildCreate, "create_l1": buildCreate, "full": buildFull, "ci": buildCi, "tri": buildTri, "random": buildRandom,
}

// shapeFrom compiles list operand i as the shape of the result, and valid_shape operand i+1.
func (o *opCtx) shapeFrom(i int) func(m *machine, out *region) bool {
	list := o.list(i)
	var valid []intExpr
	if o.has(i+1) && !o.isRegion(i+1) {
		if _, ok := o.call.Args[i+1].(*ir.MakeTuple); ok {
			valid = o.list(i + 1)
		}
	}
	return func(m *machine, out *region) bool {
		shape := evalDims(m, list)
		v := shape
		if len(valid) == len(list) && valid != nil {
			v = evalDims(m, valid)
		}
		for a := range list {
			if shape[a] < 0 || v[a] < 0 || v[a] > shape[a] {
				m.fail(o.site, CodeShape, "%v is no shape", show(shape, len(list)))
			}
		}
		if m.err != nil {
			return false
		}
		m.fresh(out, o.dt, len(list), &shape, &v)
		return true
	}
}

func buildCreate(o *opCtx) evalFn {
	make := o.shapeFrom(0)
	init, given := o.call.Kwargs.Get("init_value")
	x, _ := init.(float64)
	return func(m *machine, out *region) {
		if make(m, out) && given {
			fill(out.st, m.nearest(x, o.dt), int64(x))
			out.st.def = defAll
		}
	}
}

func buildFull(o *opCtx) evalFn {
	make, v := o.shapeFrom(0), o.scalarOperand(1, o.dt)
	return func(m *machine, out *region) {
		if !make(m, out) {
			return
		}
		if x := v(m); isFloat(o.dt) {
			fill(out.st, x.st.f[0], 0)
		} else {
			fill(out.st, 0, x.st.i[0])
		}
		out.st.def = defAll
	}
}

// buildCi counts along each row from start.
func buildCi(o *opCtx) evalFn {
	start, make := o.intArg(0), o.shapeFrom(1)
	by := int64(1)
	if o.kwBool("descending") {
		by = -1
	}
	return func(m *machine, out *region) {
		s := start.eval(m)
		if !make(m, out) {
			return
		}
		cols := max(last(&out.shape, out.rank, 0, 1), 1)
		for j := range out.st.size() {
			v := s + by*int64(j%cols)
			if isFloat(o.dt) {
				out.st.f[j] = m.nearest(float64(v), o.dt)
			} else {
				out.st.i[j] = wrap(v, o.dt)
			}
		}
		out.st.def = defAll
	}
}

// buildTri: ones where c ≤ r + diagonal (upper: c ≥ r + diagonal).
func buildTri(o *opCtx) evalFn {
	diagonal, make := o.intArg(0), o.shapeFrom(1)
	upper := o.kwBool("upper")
	return func(m *machine, out *region) {
		d := int(diagonal.eval(m))
		if !make(m, out) {
			return
		}
		rows, cols := max(last(&out.shape, out.rank, 1, 1), 1), max(last(&out.shape, out.rank, 0, 1), 1)
		for j := range out.st.size() {
			r, c := j/cols%rows, j%cols
			one := c <= r+d
			if upper {
				one = c >= r+d
			}
			if isFloat(o.dt) {
				out.st.f[j] = float64(truth(one))
			} else {
				out.st.i[j] = truth(one)
			}
		}
		out.st.def = defAll
	}
}

// buildRandom is Philox 4x32: each counter value gives four words, the counter goes up by one for the next four.
func buildRandom(o *opCtx) evalFn {
	var words [6]intExpr
	for k := range words {
		words[k] = o.intArg(k)
	}
	make, n := o.shapeFrom(6), int(o.kwInt("rounds", 10))
	if o.dt.Bits() != 32 {
		return o.unsupported(CodeDType, "random words are 32 bits wide, not %s", o.dt)
	}
	return func(m *machine, out *region) {
		var w [6]uint32
		for k := range words {
			w[k] = uint32(words[k].eval(m))
		}
		if !make(m, out) {
			return
		}
		key, counter := [2]uint32{w[0], w[1]}, [4]uint32{w[2], w[3], w[4], w[5]}
		for j := 0; j < out.st.size(); j += 4 {
			x := philox(counter, key, n)
			for q := 0; q < 4 && j+q < out.st.size(); q++ {
				if isFloat(o.dt) {
					out.st.f[j+q] = float64(math.Float32frombits(x[q]))
				} else {
					out.st.i[j+q] = wrap(int64(x[q]), o.dt)
				}
			}
			for q := range counter {
				if counter[q]++; counter[q] != 0 {
					break
				}
			}
		}
		out.st.def = defAll
	}
}

func philox(c [4]uint32, k [2]uint32, n int) [4]uint32 {
	for range n {
		p, q := uint64(c[0])*0xD2511F53, uint64(c[2])*0xCD9E8D57
		c = [4]uint32{uint32(q>>32) ^ c[1] ^ k[0], uint32(q), uint32(p>>32) ^ c[3] ^ k[1], uint32(p)}
		k[0] += 0x9E3779B9
		k[1] += 0xBB67AE85
	}
	return c
}
