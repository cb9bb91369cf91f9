package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
)

// oracle is the dependency rules of spec runtime.md 2.2 to 2.4 in their plainest form: a list of all writers, searched from end to end.
type oracle struct {
	writers []oracleWriter
	owners  map[TaskID]int // made by node
	edges   []map[int]bool // per node
	exact   bool           // windows that share no byte are disjoint, whatever their layouts
}

type oracleWriter struct {
	node int
	t    Tensor
}

func (o *oracle) submit(out Outputs, args []Arg, deps []TaskID, manual bool) {
	me := len(o.edges)
	for _, x := range out.Tensors { // the memory was another buffer's before
		o.writers = slices.DeleteFunc(o.writers, func(w oracleWriter) bool { return w.t.Addr < x.Addr+x.Size && x.Addr < w.t.Addr+w.t.Size })
	}
	from := map[int]bool{}
	for _, d := range deps {
		from[o.owners[d]] = true
	}
	var dropped []int
	if !manual {
		for _, a := range args {
			if a.Tag == Output {
				continue
			}
			if a.Tensor.Owner != InvalidTask {
				from[o.owners[a.Tensor.Owner]] = true
			}
			if a.Tensor.ManualDep || a.Tag != Input && a.Tag != InOut {
				continue
			}
			for i, w := range o.writers {
				if slices.Contains(dropped, i) {
					continue
				}
				switch o.relate(a.Tensor, w.t) {
				case covers:
					if a.Tag == InOut {
						dropped = append(dropped, i)
					}
					from[w.node] = true
				case overlaps:
					from[w.node] = true
				}
			}
		}
		var left []oracleWriter
		for i, w := range o.writers {
			if !slices.Contains(dropped, i) {
				left = append(left, w)
			}
		}
		o.writers = left
		for _, a := range args {
			if (a.Tag == InOut || a.Tag == OutputExisting) && !a.Tensor.ManualDep {
				o.writers = append(o.writers, oracleWriter{me, a.Tensor})
			}
		}
	}
	o.owners[out.Task] = me
	o.edges = append(o.edges, from)
}

func (o *oracle) relate(a, b Tensor) relation {
	r := slowRelate(a, b)
	if r == overlaps && o.exact {
		sa := bytesOf(a)
		for x := range bytesOf(b) {
			if sa[x] {
				return overlaps
			}
		}
		return disjoint
	}
	return r
}

// slowRelate decides by the sets of bytes where the rule is exact, else by the byte intervals.
func slowRelate(a, b Tensor) relation {
	alo, ahi := a.Bytes()
	blo, bhi := b.Bytes()
	if alo == ahi || blo == bhi || alo >= bhi || blo >= ahi {
		return disjoint
	}
	if a.DType != b.DType || a.Addr != b.Addr || !slices.Equal(a.Strides, b.Strides) || !boxed(a) || !boxed(b) {
		return overlaps
	}
	sa, sb := bytesOf(a), bytesOf(b)
	common, all := false, true
	for x := range sb {
		common = common || sa[x]
		all = all && sa[x]
	}
	switch {
	case all:
		return covers
	case common:
		return overlaps
	}
	return disjoint
}

func (o *oracle) text() string {
	var s []string
	for i, from := range o.edges {
		l := []int{}
		for f := range from {
			l = append(l, f)
		}
		slices.Sort(l)
		s = append(s, fmt.Sprint(i, l))
	}
	return strings.Join(s, " ")
}

func graphText(g *Graph) string {
	var s []string
	for i, n := range g.Nodes {
		l := []int{}
		for _, e := range n.Preds {
			l = append(l, int(e.From))
		}
		slices.Sort(l)
		s = append(s, fmt.Sprint(i, l))
	}
	return strings.Join(s, " ")
}

// The fast dependency tracking gives exactly the oracle's edges on random programs, under every policy, and whatever has retired.
func TestEdgesAgainstOracle(t *testing.T) {
	tags := []ArgTag{Input, InOut, OutputExisting, NoDep}
	full := 0
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 11))
		cfg := Config{Check: true, Policy: Policy(int(seed) % Policies), Seed: seed}
		if seed%3 == 0 { // memory is reused, and submits wait for it
			cfg.Limits = Limits{Heap: 16 << 10, TaskWindow: 512}
		}
		cfg.ExactOverlap = seed%4 == 1
		p := newProg(t, cfg)
		o := &oracle{owners: map[TaskID]int{}, exact: cfg.ExactOverlap}
		ext := []Tensor{p.ext(ir.FP32, 8, 8), p.ext(ir.FP32, 4, 4, 4)}
		var ids []TaskID
		total := 0
		var scope func(depth int, manual bool, made []Tensor)
		scope = func(depth int, manual bool, made []Tensor) {
			p.ScopeBegin(manual, p.site())
			for range 1 + rng.IntN(12) {
				if rng.IntN(5) == 0 && depth < 6 && total < 150 {
					scope(depth+1, manual || rng.IntN(4) == 0, slices.Clone(made))
					continue
				}
				total++
				a := TaskArgs{Kind: KindAIV, Kernels: [3]int32{-1, 0, -1}, TimingSlot: -1}
				for range rng.IntN(4) {
					if rng.IntN(6) == 0 {
						a.Args = append(a.Args, Arg{Tag: Output, Create: &CreateInfo{Shape: u(8, 8), DType: ir.FP32, ManualDep: rng.IntN(3) == 0}})
						continue
					}
					pool := append(slices.Clone(ext), made...)
					x := pool[rng.IntN(len(pool))]
					if rng.IntN(3) > 0 {
						off, shape := make([]uint32, len(x.Shape)), make([]uint32, len(x.Shape))
						for k, n := range x.Shape {
							off[k] = rng.Uint32N(n)
							shape[k] = rng.Uint32N(n - off[k] + 1)
						}
						x = must(x.View(shape, off, rng.IntN(8) == 0))
					} else if rng.IntN(6) == 0 {
						x = must(x.Transpose(0, 1, false))
					} else if rng.IntN(4) == 0 {
						k := rng.IntN(len(x.Shape))
						x = must(x.Slice(k, rng.Uint32N(x.Shape[k]), x.Shape[k], 1+rng.Uint32N(3), false))
					}
					a.Args = append(a.Args, Arg{Tag: tags[rng.IntN(len(tags))], Tensor: x})
				}
				for range rng.IntN(3) {
					if len(ids) > 0 {
						a.Deps = append(a.Deps, ids[rng.IntN(len(ids))])
					}
				}
				if rng.IntN(8) == 0 {
					a.Kind, a.Kernels = KindDummy, [3]int32{-1, -1, -1}
				}
				out := p.Submit(&a, p.site())
				o.submit(out, a.Args, a.Deps, manual)
				ids = append(ids, out.Task)
				made = append(made, out.Tensors...)
			}
			p.ScopeEnd(p.site())
		}
		for range 4 {
			scope(1, false, nil)
		}
		if f := p.Fatal(); f != nil && f.Number == HeapRingDeadlock {
			full++
			continue
		}
		p.finish()
		if got, want := graphText(p.Graph()), o.text(); got != want {
			t.Fatalf("seed %d:\n got %s\nwant %s", seed, got, want)
		}
	}
	if full > 40 {
		t.Errorf("%d programs did not fit into the small heap", full)
	}
}
