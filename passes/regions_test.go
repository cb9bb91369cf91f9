package passes

import (
	"math/rand/v2"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
)

func TestLinear(t *testing.T) {
	i, n := ivar("i"), ivar("n")
	mul := bin(ir.Mul, i, ir.Int(4))
	for _, c := range []struct {
		name string
		e    ir.Expr
		sym  ir.Expr
		lo   int64
	}{
		{"number", ir.Int(3), nil, 3},
		{"variable", n, n, 0},
		{"sum", bin(ir.Add, mul, ir.Int(2)), mul, 2},
		{"difference", bin(ir.Sub, bin(ir.Add, mul, ir.Int(2)), ir.Int(5)), mul, -3},
		{"number first", bin(ir.Add, ir.Int(2), n), n, 2},
	} {
		if got := linear(c.e); got.lo != c.lo || !sameSym(got.sym, c.sym) {
			t.Errorf("%s: got %+v", c.name, got)
		}
	}
}

func TestAreas(t *testing.T) {
	i, n := ivar("i"), ivar("n")
	box := func(is ...interval) area { return area{axes: is} }
	at := func(lo, size int64) interval { return interval{nil, lo, size} }
	for _, c := range []struct {
		name             string
		a, b             area
		overlaps, covers bool
	}{
		{"apart on one axis", box(at(0, 4), at(0, 16)), box(at(4, 4), at(0, 16)), false, false},
		{"inside", box(at(0, 8), at(0, 16)), box(at(2, 4), at(0, 16)), true, true},
		{"partly", box(at(0, 4), at(0, 16)), box(at(2, 4), at(0, 16)), true, false},
		{"whole and part", area{}, box(at(2, 4)), true, true},
		{"part and whole", box(at(2, 4)), area{}, true, false},
		{"same symbol, apart", box(interval{i, 0, 4}), box(interval{i, 4, 4}), false, false},
		{"same symbol, partly", box(interval{i, 0, 4}), box(interval{i, 2, 4}), true, false},
		{"other symbol", box(interval{i, 0, 4}), box(interval{n, 100, 4}), true, false},
		{"unknown size", box(interval{nil, 0, -1}), box(at(100, 4)), true, false},
	} {
		if got := c.a.overlaps(c.b); got != c.overlaps {
			t.Errorf("%s: overlaps %v", c.name, got)
		}
		if got := c.a.covers(c.b); got != c.covers {
			t.Errorf("%s: covers %v", c.name, got)
		}
	}
}

// TestAreaSet compares the set with a plain list under random pushes and pops.
func TestAreaSet(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	n := ivar("n")
	random := func() area {
		switch r.IntN(20) {
		case 0:
			return area{}
		case 1:
			return area{axes: []interval{{n, int64(r.IntN(40)), 4}, {nil, 0, 16}}}
		}
		return area{axes: []interval{{nil, int64(r.IntN(60)) - 5, int64(r.IntN(9))}, {nil, int64(r.IntN(3)) * 8, 8}}}
	}
	for range 200 {
		var s *areaSet
		if random().overlaps(area{}) && s.overlaps(random()) {
			t.Fatal("an empty set overlaps nothing")
		}
		s = &areaSet{}
		var list []area
		var pushed []bool
		for range 60 {
			if len(list) > 0 && r.IntN(3) == 0 {
				if pushed[len(list)-1] {
					s.pop()
				}
				list, pushed = list[:len(list)-1], pushed[:len(pushed)-1]
			} else {
				a := random()
				pushed = append(pushed, s.push(a))
				list = append(list, a)
			}
			q := random()
			want := false
			for _, a := range list {
				want = want || a.overlaps(q)
			}
			if got := s.overlaps(q); got != want {
				t.Fatalf("overlaps(%+v) = %v among %+v", q, got, list)
			}
		}
	}
}
