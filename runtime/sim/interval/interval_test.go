package interval

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestAgainstList(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	m := New[int]()
	type item struct {
		i      Index
		lo, hi uint64
		v      int
	}
	var list []item
	for step := range 20000 {
		switch {
		case rng.IntN(3) > 0 && len(list) < 400:
			lo := rng.Uint64N(1000)
			hi := lo + 1 + rng.Uint64N(1+rng.Uint64N(200))
			list = append(list, item{m.Insert(lo, hi, step), lo, hi, step})
		case len(list) > 0:
			k := rng.IntN(len(list))
			m.Remove(list[k].i)
			list = slices.Delete(list, k, k+1)
		}
		lo := rng.Uint64N(1100)
		hi := lo + rng.Uint64N(50)
		var want []Index
		for _, x := range list {
			if lo < hi && x.lo < hi && lo < x.hi {
				want = append(want, x.i)
			}
			if a, b := m.Bounds(x.i); a != x.lo || b != x.hi || *m.At(x.i) != x.v {
				t.Fatalf("step %d: interval %d is [%d, %d) with %d", step, x.i, a, b, *m.At(x.i))
			}
		}
		got := slices.Clone(m.Meet(lo, hi))
		if !slices.IsSortedFunc(got, func(a, b Index) int { x, _ := m.Bounds(a); y, _ := m.Bounds(b); return int(x) - int(y) }) {
			t.Fatalf("step %d: not in order", step)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) || m.Len() != len(list) {
			t.Fatalf("step %d: Meet(%d, %d) = %v, want %v", step, lo, hi, got, want)
		}
	}
}

func BenchmarkInsertMeetRemove(b *testing.B) {
	m := New[[12]uint64]()
	var live [1024]Index
	for i := range live {
		live[i] = m.Insert(uint64(i)*64, uint64(i)*64+64, [12]uint64{})
	}
	for i := 0; b.Loop(); i++ {
		k := i * 7919 % len(live)
		lo := uint64(k) * 64
		m.Remove(m.Meet(lo, lo+64)[0])
		live[k] = m.Insert(lo, lo+64, [12]uint64{})
	}
}
