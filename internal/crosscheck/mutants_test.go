package crosscheck

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/runtime/check"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// Mutation testing of the checks. Correct programs give no report. In each of them one thing is broken at a time: an edge goes, a direction gets weaker, a
// scope becomes MANUAL. A mutant misbehaves when some order of its tasks gives another result than program order; every one that does must be
// reported. An independent search of all pairs of tasks and elements says whether there is a race at all: a report without one is a false alarm.

// mutant is one change of a plan.
type mutant struct {
	kind, what string
	on, off    func()
}

// mutantsOf lists the ways to break a plan.
func mutantsOf(f *plan.File) []mutant {
	var ms []mutant
	add := func(kind string, at plan.Stmt, what string, on, off func()) {
		ms = append(ms, mutant{kind, fmt.Sprintf("%s: %s", at.Span(), what), on, off})
	}
	deps := func(s plan.Stmt, d *plan.Deps) {
		if d == nil {
			return
		}
		all := d.Entries
		for i := range all {
			add("edge", s, fmt.Sprintf("dependency %d removed", i), func() { d.Entries = slices.Delete(slices.Clone(all), i, i+1) }, func() { d.Entries = all })
		}
	}
	plan.Walk(f.Body, func(s plan.Stmt) bool {
		switch s := s.(type) {
		case *plan.Task:
			deps(s, s.Deps)
			for i := range s.Args {
				old := s.Args[i].Tag
				for _, tag := range map[plan.ArgTag][]plan.ArgTag{plan.Input: {plan.NoDep}, plan.InOut: {plan.OutputExisting, plan.Input, plan.NoDep}, plan.OutputExisting: {plan.Input, plan.NoDep}}[old] {
					add("direction", s, fmt.Sprintf("argument %d passed as %d, not %d", i, tag, old), func() { s.Args[i].Tag = tag }, func() { s.Args[i].Tag = old })
				}
			}
		case *plan.Dummy:
			deps(s, s.Deps)
		case *plan.Scope:
			if s.Manual {
				return true
			}
			var scopes []*plan.Scope
			plan.Walk([]plan.Stmt{s}, func(x plan.Stmt) bool {
				if x, ok := x.(*plan.Scope); ok && !x.Manual {
					scopes = append(scopes, x)
				}
				return true
			})
			set := func(manual bool) func() {
				return func() {
					for _, x := range scopes {
						x.Manual = manual
					}
				}
			}
			add("scope", s, "MANUAL", set(true), set(false))
		}
		return true
	})
	return ms
}

// outcome is what one program does.
type outcome struct {
	dies       bool // in program order
	outputs    [][]byte
	tasks      int
	reports    diag.List
	real       bool // the search of all pairs finds a race
	conflicted bool // the checker reported one
}

// judge runs a plan in program order with the checks.
func (b *built) judge(in [2]int64) outcome {
	var o outcome
	job := b.job(in, exec.Schedule{Policy: sim.Sequential})
	job.Inspect = func(_ exec.Schedule, rt *sim.Runtime) {
		rep := check.Run(rt, check.Names{})
		o.conflicted = len(rep.Races) > 0
		o.reports, o.real = rep.Diags(), raceByPairs(rt.Graph())
	}
	results, err := (&exec.Plan{Ops: registry}).Run(context.Background(), job)
	if err != nil || results[0].Failed() {
		o.dies = true
		if err == nil {
			o.reports.Add(results[0].Diags...)
		}
		return o
	}
	o.outputs, o.tasks = results[0].Outputs, results[0].Tasks
	for _, d := range results[0].Diags {
		if d.Code == sim.CodeOutlives || d.Code == sim.CodeReclaimed {
			o.reports.Add(d)
		}
	}
	return o
}

// misbehaves looks for an order of the tasks with another result.
func (b *built) misbehaves(in [2]int64, want [][]byte, tasks int) bool {
	orders := []exec.Schedule{{Policy: sim.FIFO}, {Policy: sim.LIFO}, {Policy: sim.Newest}}
	for i := range uint64(5) {
		orders = append(orders, exec.Schedule{Policy: sim.Random, Seed: i})
	}
	for i := range uint64(min(tasks, 12)) {
		orders = append(orders, exec.Schedule{Policy: sim.Late, Seed: i})
	}
	for _, s := range orders {
		r, err := (&exec.Plan{Ops: registry}).Run(context.Background(), b.job(in, s))
		if err != nil || r[0].Failed() || !slices.EqualFunc(r[0].Outputs, want, bytes.Equal) {
			return true
		}
	}
	return false
}

// raceByPairs searches a graph for a race the slow way: the transitive closure of the edges, and the elements of each pair of tasks.
func raceByPairs(g *sim.Graph) bool {
	n := len(g.Nodes)
	type bits = []uint64
	before := make([]bits, n)
	fence := -1
	for i := range g.Nodes {
		node := &g.Nodes[i]
		before[i] = make(bits, n/64+1)
		add := func(k int) {
			before[i][k/64] |= 1 << (k % 64)
			for w, x := range before[k] {
				before[i][w] |= x
			}
		}
		for _, e := range node.Preds {
			add(int(e.From))
			if node.Kind == sim.NodeWrite {
				for k := range i {
					if g.Nodes[k].Kind == sim.NodeTask && slices.ContainsFunc(g.Nodes[k].Preds, func(x sim.Edge) bool { return x.From == e.From }) {
						add(k)
					}
				}
			}
		}
		if fence >= 0 {
			add(fence)
		}
		if node.Kind == sim.NodeRead || node.Kind == sim.NodeWrite {
			fence = i
		}
	}
	// By byte address of the elements: who read and who wrote. Memory that is handed out again is another one: its number goes into the key.
	type place struct {
		addr  uint64
		owner sim.TaskID
	}
	type use struct {
		node  int
		write bool
	}
	uses := map[place][]use{}
	found := false
	touch := func(i int, t *sim.Tensor, owner sim.TaskID, write bool) {
		elements(t, func(addr uint64) {
			p := place{addr, owner}
			for _, u := range uses[p] {
				if (u.write || write) && u.node != i && before[i][u.node/64]>>(u.node%64)&1 == 0 {
					found = true
				}
			}
			if k := len(uses[p]); k > 0 && uses[p][k-1] == (use{i, write}) {
				return
			}
			uses[p] = append(uses[p], use{i, write})
		})
	}
	for i := range g.Nodes {
		node := &g.Nodes[i]
		one := func(t sim.Tensor, idx []uint32, write bool) {
			if at, err := t.Flat(idx); err == nil {
				t.Start, t.Shape, t.Strides = at, nil, nil
				touch(i, &t, t.Owner, write)
			}
		}
		switch {
		case node.Kind == sim.NodeRead || node.Kind == sim.NodeWrite:
			one(node.Access.Tensor, node.Access.Index, node.Kind == sim.NodeWrite)
		case node.Kind == sim.NodeTask:
			if node.Pred != nil {
				one(node.Pred.Tensor, node.Pred.Index, false)
			}
			for k := range node.Touched {
				x := &node.Touched[k]
				touch(i, &x.Window, node.Args[x.Arg].Tensor.Owner, x.Write)
			}
		}
	}
	return found
}

// elements calls f with the address of each element of a window.
func elements(t *sim.Tensor, f func(addr uint64)) {
	size := uint64(t.DType.Bytes())
	var walk func(k int, at uint64)
	walk = func(k int, at uint64) {
		if k == len(t.Shape) {
			f(t.Addr + at*size)
			return
		}
		for i := range uint64(t.Shape[k]) {
			walk(k+1, at+i*uint64(t.Strides[k]))
		}
	}
	walk(0, t.Start)
}

// mutantStats counts what became of the mutants.
type mutantStats struct {
	programs, mutants, dead, bad, caught, quiet int
}

// TestMutants prints the mutation score: of the mutants that misbehave, how many are reported. CROSSCHECK_MUTANTS is how many correct programs are taken,
// CROSSCHECK_BREAKS how many mutants of each.
func TestMutants(t *testing.T) {
	t.Parallel()
	programs, each := int(number(t, "CROSSCHECK_MUTANTS", 40)), int(number(t, "CROSSCHECK_BREAKS", 8))
	var st mutantStats
	byKind := map[string]*mutantStats{"edge": {}, "direction": {}, "scope": {}}
	failed := 0
	complain := func(seed uint64, src, what string) {
		t.Errorf("seed %d: %s\n%s", seed, what, src[len(kernels):])
		if failed++; failed >= 5 {
			t.Fatal("enough")
		}
	}
	for seed := number(t, "CROSSCHECK_FIRST", 0); st.programs < programs; seed++ {
		src := source(generate(seed))
		if strings.Contains(src, "pl.parallel") {
			continue // its trips do conflict in these programs
		}
		derived := seed%2 == 0 // else what the runtime tracks has to do
		b, _, p := build(src, passes.Options{AutoDeps: derived})
		if p != nil || b == nil || b.warned || derived && !b.covered {
			continue
		}
		in := inputs[seed%uint64(len(inputs))]
		base := b.judge(in)
		if base.dies || base.tasks < 2 || !derived && base.real {
			continue
		}
		st.programs++
		if len(base.reports) > 0 || base.real {
			complain(seed, src, fmt.Sprintf("a correct program (race found by pairs: %v): %v", base.real, base.reports))
			continue
		}
		ms := mutantsOf(b.plan)
		rng := rand.New(rand.NewPCG(seed, 3))
		rng.Shuffle(len(ms), func(i, j int) { ms[i], ms[j] = ms[j], ms[i] })
		for _, m := range ms[:min(each, len(ms))] {
			st.mutants++
			k := byKind[m.kind]
			k.mutants++
			m.on()
			o := b.judge(in)
			switch {
			case o.dies:
				st.dead++
			case o.conflicted && !o.real:
				complain(seed, src, fmt.Sprintf("false alarm for %s: %v", m.what, o.reports))
			case o.real && !o.conflicted:
				complain(seed, src, "a race by pairs is not found for "+m.what)
			case b.misbehaves(in, base.outputs, o.tasks):
				st.bad++
				k.bad++
				if len(o.reports) > 0 {
					st.caught++
					k.caught++
				} else {
					complain(seed, src, "nothing is said about "+m.what)
				}
			default:
				st.quiet++
			}
			m.off()
		}
	}
	t.Logf("mutation score %d/%d: %d correct programs, %d mutants, %d end with an error, %d misbehave, %d do not in the orders tried", st.caught, st.bad, st.programs, st.mutants, st.dead, st.bad, st.quiet)
	for _, kind := range []string{"edge", "direction", "scope"} {
		t.Logf("%s: %d/%d of %d mutants", kind, byKind[kind].caught, byKind[kind].bad, byKind[kind].mutants)
	}
	if st.bad == 0 {
		t.Error("no mutant misbehaves: the mutants are no test")
	}
}
