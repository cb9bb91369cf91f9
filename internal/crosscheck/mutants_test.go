package crosscheck

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/runtime/check"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// Mutation testing of the checks. Correct programs give no report. In each of them one thing is broken at a time (mutantsOf). A mutant misbehaves when some order of its tasks gives another result than program order; every one that does must be
// reported. An independent search of all pairs of tasks and elements says whether there is a race at all: a report without one is a false alarm.

// outcome is what one program does.
type outcome struct {
	dies       bool // in program order
	outputs    [][]byte
	tasks      int
	reports    diag.List
	races      []*check.Race
	real       bool // the search of all pairs finds a race
	conflicted bool // the checker reported one
}

// judge runs a plan in program order with the checks.
func (b *built) judge(in [2]int64) outcome {
	var o outcome
	job := b.job(in, exec.Schedule{Policy: sim.Sequential})
	job.Inspect = func(_ exec.Schedule, rt *sim.Runtime) {
		rep := check.Run(rt, b.names())
		o.races, o.conflicted = rep.Races, len(rep.Races) > 0
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
					if g.Nodes[k].Kind == sim.NodeTask && slices.ContainsFunc(g.Nodes[k].Preds, func(x sim.Edge) bool { return x.From == e.From && x.Held }) {
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
	programs, repaired, mutants, dead, bad, caught, quiet int
}

// base is a correct program of a seed, nil when it has none: one whose dependencies the compiler derives, or one that is correct as it is or after a repair.
func base(seed uint64) (b *built, src string, repaired bool) {
	body, text := generate(seed), source
	if seed%3 != 0 {
		body, text = generateWide(seed), wideSource
	}
	src = text(body)
	derived := seed%2 == 0 && !strings.Contains(src, "pl.parallel") && // whose trips do conflict in these programs
		!strings.Contains(strings.ReplaceAll(src, "pl.no_dep(x)", ""), "no_dep(") && !strings.Contains(src, "manual_dep=") // else the author has to know
	if !derived {
		fixed, found, races, ok := repair(src, inputs[seed%uint64(len(inputs))])
		if !ok || len(races) > 0 {
			return nil, "", false
		}
		src, repaired = fixed, found > 0
	}
	b, _, p := build(src, passes.Options{AutoDeps: derived})
	if p != nil || b == nil || b.warned || derived && !b.covered {
		return nil, "", false
	}
	return b, src, repaired
}

// some picks n mutants at random, of all kinds alike.
func some(ms []mutant, n int, seed uint64) []mutant {
	rng := rand.New(rand.NewPCG(seed, 3))
	rng.Shuffle(len(ms), func(i, j int) { ms[i], ms[j] = ms[j], ms[i] })
	nth, of := map[string]int{}, map[*mutant]int{} // the place of each among those of its kind
	list := make([]*mutant, len(ms))
	for i := range ms {
		list[i] = &ms[i]
		of[&ms[i]] = nth[ms[i].kind]
		nth[ms[i].kind]++
	}
	slices.SortStableFunc(list, func(a, b *mutant) int { return cmp.Compare(of[a], of[b]) })
	picked := make([]mutant, min(n, len(list)))
	for i := range picked {
		picked[i] = *list[i]
	}
	return picked
}

// TestMutants prints the mutation score: of the mutants that misbehave, how many are reported. CROSSCHECK_MUTANTS is how many correct programs are taken,
// CROSSCHECK_BREAKS how many mutants of each.
func TestMutants(t *testing.T) {
	t.Parallel()
	programs, each := int(number(t, "CROSSCHECK_MUTANTS", 30)), int(number(t, "CROSSCHECK_BREAKS", 8))
	var st mutantStats
	byKind := map[string]*mutantStats{}
	failed := 0
	complain := func(seed uint64, src, what string) {
		t.Errorf("seed %d: %s\n%s", seed, what, src[strings.Index(src, "def main"):])
		if failed++; failed >= 5 {
			t.Fatal("enough")
		}
	}
	for seed := number(t, "CROSSCHECK_FIRST", 0); st.programs < programs; seed++ {
		b, src, repaired := base(seed)
		if b == nil {
			continue
		}
		in := inputs[seed%uint64(len(inputs))]
		right := b.judge(in)
		if right.dies || right.tasks < 2 {
			continue
		}
		st.programs++
		if repaired {
			st.repaired++
		}
		if len(right.reports) > 0 || right.real {
			complain(seed, src, fmt.Sprintf("a correct program (race found by pairs: %v): %v", right.real, right.reports))
			continue
		}
		for _, m := range some(mutantsOf(b.plan), each, seed) {
			st.mutants++
			k := byKind[m.kind]
			if k == nil {
				k = &mutantStats{}
				byKind[m.kind] = k
			}
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
			case b.misbehaves(in, o.outputs, o.tasks):
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
	t.Logf("mutation score %d/%d: %d correct programs, %d mutants, %d of the programs were repaired; %d mutants end with an error, %d misbehave, %d do not in the orders tried",
		st.caught, st.bad, st.programs, st.mutants, st.repaired, st.dead, st.bad, st.quiet)
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		t.Logf("%s: %d/%d of %d mutants", kind, byKind[kind].caught, byKind[kind].bad, byKind[kind].mutants)
	}
	if st.bad == 0 {
		t.Error("no mutant misbehaves: the mutants are no test")
	}
}
