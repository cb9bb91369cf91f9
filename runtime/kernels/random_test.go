package kernels

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
)

// Every in-core op on random operands: whatever the registry accepts runs, or fails with a report; it never breaks the evaluator, and the run-time
// shape and dtype agree with the inferred type.
func TestRandomOps(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	dtypes := []ir.DType{ir.FP32, ir.FP16, ir.BF16, ir.INT8, ir.INT16, ir.INT32, ir.UINT8, ir.UINT32, ir.INT64, ir.UINT64}
	extents := []int{1, 1, 2, 3, 8, 32, 64}
	shape := func(rank int) []any {
		s := make([]any, rank)
		for i := range s {
			s[i] = extents[rng.IntN(len(extents))]
		}
		return s
	}
	accepted, ran := map[string]int{}, map[string]int{}
	for round := range 40 {
		for _, spec := range ops.Builtin().All() {
			ns, _ := cutName(spec.Name)
			if ns != "tile" && ns != "tensor" || spec.Where&ops.InCore == 0 {
				continue
			}
			b := kernelOf(t, "random")
			p := b.out("p", dtypes[rng.IntN(len(dtypes))], shape(1+rng.IntN(3))...)
			d := p.Typ.(*ir.TensorType).DType
			main := shape(2)
			operand := func(k ops.Param) ir.Expr {
				if k.Kind&(ops.TensorArg|ops.TileArg) == 0 {
					switch k.Kind {
					case ops.ScalarArg:
						if d.IsFloat() && rng.IntN(2) == 0 {
							return flt(1.5)
						}
						return num(int64(rng.IntN(4)))
					case ops.TupleArg:
						if k.Optional && rng.IntN(2) == 0 {
							return nil
						}
						s := shape(2)
						if rng.IntN(2) == 0 {
							s = []any{0, 0}
						}
						return list(s...)
					}
					return num(1)
				}
				if k.Kind&ops.TensorArg != 0 && rng.IntN(3) == 0 {
					return p
				}
				s := main
				switch rng.IntN(5) {
				case 0:
					s = []any{main[0], 1}
				case 1:
					s = []any{1, main[1]}
				case 2:
					s = shape(2)
				}
				kind := d
				if rng.IntN(5) == 0 {
					kind = dtypes[rng.IntN(len(dtypes))]
				}
				if k.Kind&ops.TileArg != 0 {
					u := b.op("tile.full", list(s...), num(1), kw("dtype", kind))
					if rng.IntN(4) == 0 {
						u = b.op("tile.set_validshape", u, num(int64(rng.IntN(s[0].(int)+1))), num(int64(rng.IntN(s[1].(int)+1))))
					}
					if len(k.Mem) > 0 && k.Mem[0] != ir.Vec {
						u = b.op("tile.move", u, mem(string(k.Mem[0])))
					}
					return u
				}
				return b.op("tensor.full", list(s...), num(1), kw("dtype", kind))
			}
			var args []ir.Expr
			for _, k := range spec.Params {
				if e := operand(k); e != nil {
					args = append(args, e)
				} else {
					break
				}
			}
			var kws ir.Kwargs
			for _, k := range spec.Kwargs {
				if !k.Required && rng.IntN(2) == 0 {
					continue
				}
				switch k.Kind {
				case ops.IntKw:
					kws = append(kws, kw(k.Name, int64(rng.IntN(9))))
				case ops.BoolKw:
					kws = append(kws, kw(k.Name, rng.IntN(2) == 0))
				case ops.DTypeKw:
					kws = append(kws, kw(k.Name, dtypes[rng.IntN(len(dtypes))]))
				case ops.ModeKw, ops.EnumKw:
					if len(k.Names) > 0 {
						kws = append(kws, kw(k.Name, int64(rng.IntN(len(k.Names)))))
					}
				}
			}
			call, d1 := ops.Builtin().Call(diag.Span{File: "k.py", Line: 5, Col: 1}, spec.Name, args, kws)
			if d1 != nil {
				continue
			}
			accepted[spec.Name]++
			var result *ir.Var
			if isRegionType(call.Typ) {
				result = b.let(call)
				b.add(&ir.Return{Values: []ir.Expr{result}})
			} else {
				b.add(&ir.Eval{X: call, Pos: call.Pos})
			}
			s := newBench(t, b.f)
			n := 1
			var ext []int
			for _, e := range p.Typ.(*ir.TensorType).Shape {
				v, _ := ir.IntValue(e)
				n *= int(v)
				ext = append(ext, int(v))
			}
			s.tensor(&data{p.Typ.(*ir.TensorType).DType, ext, make([]float64, n)})
			k := s.r.p.kernel("random")
			if result != nil && k.err == nil {
				// The body ends in Return and the drop of the result: look at the result before them.
				at := len(k.body) - 2
				k.body = slices.Insert(k.body, at, func(m *machine) { agrees(t, m, call, &m.regs[b.n]) })
			}
			err := s.run()
			if err == nil {
				ran[spec.Name]++
				continue
			}
			if x, ok := err.(*diag.Diagnostic); !ok || x.Code == CodeInternal {
				t.Errorf("round %d: %s: %v", round, ir.PrintExpr(call), err)
			}
		}
	}
	for name := range accepted {
		if ran[name] == 0 {
			t.Logf("%s was accepted %d times and never ran", name, accepted[name])
		}
	}
	if len(ran) < 150 {
		t.Errorf("only %d ops ran", len(ran))
	}
}

// agrees checks a result against the type that the registry inferred.
func agrees(t *testing.T, m *machine, c *ir.OpCall, r *region) {
	t.Helper()
	if r.st == nil && r.mem == nil {
		return // the tile of a pipe that nobody fills
	}
	shape, valid := ir.ShapeOf(c.Typ), ir.ShapeOf(c.Typ)
	switch x := c.Typ.(type) {
	case *ir.TensorType:
		valid = ir.EffectiveTensorView(x).ValidShape
	case *ir.TileType:
		valid = ir.EffectiveTileView(x).ValidShape
	}
	if r.rank != len(shape) || r.dt != ir.ElemDType(c.Typ) {
		t.Errorf("%s has shape %v and dtype %s at run time", ir.PrintExpr(c), shapeOf(r), r.dt)
		return
	}
	for a := range shape {
		n, ok := ir.IntValue(shape[a])
		v, okv := ir.IntValue(valid[a])
		if ok && int(n) != r.shape[a] || okv && int(v) != r.valid[a] {
			t.Errorf("%s: %s has shape %v valid %v at run time", ir.PrintExpr(c), ir.PrintType(c.Typ), shapeOf(r), show(r.valid, r.rank))
			return
		}
	}
	if float := isFloat(r.dt); r.st != nil && float != (r.st.f != nil) {
		t.Errorf("%s: wrong store", ir.PrintExpr(c))
	}
}
