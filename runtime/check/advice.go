package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// Advice is what bounds the speed of a run, and what the program could do about it. Times are virtual nanoseconds of the kernels alone, on as many
// cores as they like.
type Advice struct {
	Tasks int    `json:"tasks"`
	Work  uint64 `json:"work_ns"`          // of all tasks
	Path  uint64 `json:"critical_path_ns"` // of the longest chain of tasks that wait for each other
	Steps []Step `json:"critical_path"`    // that chain
	// Width is how many tasks run at a time, on average, in each tenth of the critical path when every task starts as early as it can.
	Width []float64 `json:"width"`
	// WithoutFalse is the critical path without the edges between tasks that touch different elements.
	WithoutFalse uint64    `json:"critical_path_without_false_edges_ns"`
	Notes        diag.List `json:"notes"`
	False        []False   `json:"-"` // edges between tasks that touch different elements
}

// False is an argument because of which tasks of two places wait for each other, though they touch different elements.
type False struct {
	User Use // the task that waits, with the argument
	Diag *diag.Diagnostic
}

// Step is a part of the critical path: its tasks of one place in the source. Steps stand in the order of their first tasks.
type Step struct {
	Site   diag.Span `json:"site"`
	Kernel string    `json:"kernel"`
	Tasks  int       `json:"tasks"`
	Time   uint64    `json:"time_ns"`

	first int32
}

// Advise looks for what makes a checked run slower than it has to be; nil without Config.Check.
func Advise(rt *sim.Runtime, names Names) *Advice {
	g := rt.Graph()
	if g == nil {
		return nil
	}
	r := &run{rt: rt, graph: g, names: names}
	o := newOrder(g)
	a := &Advice{WithoutFalse: 0}
	for i := range g.Nodes {
		if n := &g.Nodes[i]; n.Kind == sim.NodeTask && n.Task != sim.KindDummy {
			a.Tasks++
			a.Work += n.Time
		}
	}
	finish, via := r.longest(o, nil)
	a.Path = slices.Max(append(finish, 0))
	r.steps(a, finish, via)
	a.Width = r.width(finish, a.Path)
	r.falseEdges(a, o)
	r.transitive(a, o)
	r.deepScopes(a)
	r.idleBuffers(a)
	return a
}

// longest is when each node finishes at the earliest, and the node that it waits for last (-1: none). Edges in without do not count.
func (r *run) longest(o *order, without map[[2]int32]bool) (finish []uint64, via []int32) {
	finish, via = make([]uint64, len(r.graph.Nodes)), make([]int32, len(r.graph.Nodes))
	for i := range r.graph.Nodes {
		n := &r.graph.Nodes[i]
		start := uint64(0)
		via[i] = -1
		wait := func(k int32) {
			if finish[k] > start {
				start, via[i] = finish[k], k
			}
		}
		for _, e := range n.Preds {
			if without == nil || !without[[2]int32{e.From, int32(i)}] {
				wait(e.From)
			}
		}
		if f := o.fence[i]; f >= 0 {
			wait(f)
		}
		finish[i] = start + n.Time
	}
	return finish, via
}

// steps follows the critical path back from its end.
func (r *run) steps(a *Advice, finish []uint64, via []int32) {
	last := int32(-1)
	for i := range finish {
		if last < 0 || finish[i] > finish[last] {
			last = int32(i)
		}
	}
	for i := last; i >= 0; i = via[i] {
		n := &r.graph.Nodes[i]
		if n.Kind != sim.NodeTask || n.Task == sim.KindDummy || n.Time == 0 {
			continue
		}
		k := r.kernels(n)
		at := slices.IndexFunc(a.Steps, func(s Step) bool { return s.Site == n.Site && s.Kernel == k })
		if at < 0 {
			a.Steps = append(a.Steps, Step{Site: n.Site, Kernel: k})
			at = len(a.Steps) - 1
		}
		a.Steps[at].Tasks++
		a.Steps[at].Time += n.Time
		a.Steps[at].first = i
	}
	slices.SortFunc(a.Steps, func(x, y Step) int { return cmp.Compare(x.first, y.first) })
}

const widthParts = 10

func (r *run) width(finish []uint64, path uint64) []float64 {
	if path == 0 {
		return nil
	}
	w := make([]float64, widthParts)
	part := float64(path) / widthParts
	for i := range r.graph.Nodes {
		from, to := float64(finish[i]-r.graph.Nodes[i].Time), float64(finish[i])
		for k := int(from / part); k < widthParts && float64(k)*part < to; k++ {
			w[k] += (min(to, float64(k+1)*part) - max(from, float64(k)*part)) / part
		}
	}
	return w
}

// maxAdvice bounds the notes of a kind.
const maxAdvice = 8

// falseEdges finds edges between tasks that touch different elements: the runtime compares the windows that tasks are given, and what overlaps there,
// or cannot be told apart, waits.
func (r *run) falseEdges(a *Advice, o *order) {
	type key struct {
		first, second sim.Site
		arg           int16
	}
	type found struct {
		key
		from, to int32 // the first such pair
		n        int
	}
	without := map[[2]int32]bool{}
	index := map[key]int{}
	var list []found
	for i := range r.graph.Nodes {
		n := &r.graph.Nodes[i]
		if n.Kind != sim.NodeTask || !n.Exact || n.Task == sim.KindDummy {
			continue
		}
		for _, e := range n.Preds {
			m := &r.graph.Nodes[e.From]
			if e.Kind != sim.EdgeOverlap || m.Kind != sim.NodeTask || !m.Exact || m.Task == sim.KindDummy || r.meets(m, n) {
				continue
			}
			without[[2]int32{e.From, int32(i)}] = true
			k := key{m.Site, n.Site, e.Arg}
			at, ok := index[k]
			if !ok {
				at = len(list)
				index[k] = at
				list = append(list, found{key: k, from: e.From, to: int32(i)})
			}
			list[at].n++
		}
	}
	a.WithoutFalse = a.Path
	if len(list) == 0 {
		return
	}
	finish, _ := r.longest(o, without)
	a.WithoutFalse = slices.Max(append(finish, 0))
	slices.SortStableFunc(list, func(x, y found) int { return cmp.Compare(y.n, x.n) })
	for _, f := range list[:min(len(list), maxAdvice)] {
		m, n := &r.graph.Nodes[f.from], &r.graph.Nodes[f.to]
		p := r.param(n, int(f.arg))
		what := fmt.Sprintf("%s waits for %s because of argument %s, but they touch different elements", r.task(n), r.task(m), p)
		if f.first == f.second {
			what = fmt.Sprintf("the trips of this loop run one after the other because of argument %s, but they touch different elements: %s waits for %s", p, r.task(n), r.task(m))
		}
		d := &diag.Diagnostic{Severity: diag.Note, Code: CodeAdvice, Span: n.Site, Message: fmt.Sprintf("%s (%d such pairs)", what, f.n)}
		d.WithHint("give each task a window of its own (%s) that the runtime can tell apart, or pass %s: then the checks watch over it",
			r.names.say("pl.slice", "view"), r.names.say("pl.no_dep(…)", "it with add_no_dep"))
		if f.first != f.second {
			d.WithRelated(m.Site, "it waits for this")
		}
		a.Notes.Add(d)
		a.False = append(a.False, False{r.use(&access{node: f.to, arg: f.arg}), d})
	}
}

// meets reports that two tasks have accesses in conflict.
func (r *run) meets(m, n *sim.Node) bool {
	for i := range m.Touched {
		x := &m.Touched[i]
		for k := range n.Touched {
			y := &n.Touched[k]
			if (x.Write || y.Write) && sim.Overlap(&x.Window, &y.Window) {
				return true
			}
		}
	}
	return n.Pred != nil && slices.ContainsFunc(m.Touched, func(t sim.Touch) bool {
		e := element(&n.Pred.Tensor, n.Pred.Index)
		return t.Write && sim.Overlap(&t.Window, &e)
	})
}

// transitive finds explicit dependencies that others imply.
func (r *run) transitive(a *Advice, o *order) {
	type key struct{ from, to sim.Site }
	seen := map[key]int{}
	for i := range r.graph.Nodes {
		n := &r.graph.Nodes[i]
		if n.Kind != sim.NodeTask || len(n.Preds) < 2 {
			continue
		}
		implied := map[int32]int32{} // dependency → the one that implies it
		for _, by := range n.Preds {
			var want []int32
			for _, e := range n.Preds {
				if e.From < by.From && e.Kind == sim.EdgeExplicit && r.graph.Nodes[e.From].Kind == sim.NodeTask {
					want = append(want, e.From)
				}
			}
			if o.before(by.From, want, func(f int32) { implied[f] = by.From }); o.budget <= 0 {
				return
			}
		}
		for _, e := range n.Preds {
			by, ok := implied[e.From]
			if !ok {
				continue
			}
			k := key{r.graph.Nodes[e.From].Site, n.Site}
			if seen[k]++; seen[k] > 1 || len(seen) > maxAdvice {
				continue
			}
			a.Notes.Add((&diag.Diagnostic{Severity: diag.Note, Code: CodeAdvice, Span: n.Site, Message: fmt.Sprintf("%s need not name %s in %s: it waits for %s, which comes after that",
				r.task(n), r.task(&r.graph.Nodes[e.From]), r.names.say("deps=", "its dependencies"), r.task(&r.graph.Nodes[by]))}).
				WithHint("a shorter list is less work for the orchestration, and less of the dependency pool").WithRelated(k.from, "this one"))
		}
	}
}

// deepScopes tells of scopes that share the last ring.
func (r *run) deepScopes(a *Advice) {
	st := r.rt.Stats()
	last := len(st.Rings) - 1
	if st.MaxDepth <= last || st.Rings[last].Tasks == 0 {
		return
	}
	a.Notes.Add((&diag.Diagnostic{Severity: diag.Note, Code: CodeAdvice, Span: st.Rings[last].TasksAt, Message: fmt.Sprintf(
		"scopes are nested %d deep, and all from depth %d on share ring %d: a task of an inner scope gives its memory back only after the older ones of the outer scope", st.MaxDepth, last, last)}).
		WithHint("every loop and branch body is a scope: flatten loops, or place scopes by hand with auto_scope=False"))
}

// idleBuffers compares what the buffers of a ring take with what is in use, from the first task that is given a buffer to the last: a buffer lives
// from its allocation until its scope ends and those before it are gone.
func (r *run) idleBuffers(a *Advice) {
	type buffer struct {
		owner sim.TaskID
		addr  uint64
	}
	type life struct {
		size        uint64
		first, last int
	}
	lives := map[buffer]*life{}
	var order []buffer
	use := func(t *sim.Tensor, i int) {
		if l := lives[buffer{t.Owner, t.Addr}]; l != nil {
			if l.first < 0 {
				l.first = i
			}
			l.last = i
		}
	}
	for i := range r.graph.Nodes {
		n := &r.graph.Nodes[i]
		for k := range n.Args {
			t := &n.Args[k].Tensor
			if n.Args[k].Tag == sim.Output {
				b := buffer{t.Owner, t.Addr}
				lives[b] = &life{size: t.Size, first: -1}
				order = append(order, b)
			}
			if n.Kind == sim.NodeTask {
				use(t, i)
			}
		}
		if n.Access != nil {
			use(&n.Access.Tensor, i)
		}
	}
	st := r.rt.Stats()
	change := make([][4]int64, len(r.graph.Nodes)+1) // of the bytes in use, by ring
	for _, b := range order {
		if l := lives[b]; l.first >= 0 {
			change[l.first][b.owner>>32] += int64(l.size)
			change[l.last+1][b.owner>>32] -= int64(l.size)
		}
	}
	for ring := range st.Rings {
		needed, now := int64(0), int64(0)
		for i := range change {
			now += change[i][ring]
			needed = max(needed, now)
		}
		p := &st.Rings[ring]
		if needed == 0 || p.Heap < 2*uint64(needed) || p.Heap < 64<<10 {
			continue
		}
		a.Notes.Add((&diag.Diagnostic{Severity: diag.Note, Code: CodeAdvice, Span: p.HeapAt, Message: fmt.Sprintf(
			"buffers of ring %d take up to %d bytes, but no more than %d of them are in use at a time: a buffer lives until its scope ends", ring, p.Heap, needed)}).
			WithHint("make short-lived buffers in the loop or branch that uses them, so that their scope ends earlier"))
	}
}
