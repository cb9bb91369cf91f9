package artifact

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/ptobuild/ptobuild/runtime/sim"
	"github.com/ptobuild/ptobuild/runtime/trace"
)

// The timeline, in the format of Chrome's trace viewer and of Perfetto: the orchestration with its scopes and submits, what waits for a core,
// the cores, and arrows for dependencies. Timestamps are virtual microseconds.

const (
	pidOrchestrator = 1
	pidScheduler    = 2
	pidView         = 3
	pidWorkers      = 4
)

type slice struct {
	Name string  `json:"name"`
	Cat  string  `json:"cat,omitempty"`
	Ph   string  `json:"ph"`
	Ts   micros  `json:"ts"`
	Dur  *micros `json:"dur,omitempty"`
	Pid  int     `json:"pid"`
	Tid  int     `json:"tid"`
	ID   int     `json:"id,omitempty"`
	Bp   string  `json:"bp,omitempty"`
	Args any     `json:"args,omitempty"`
}

// micros prints nanoseconds as microseconds.
type micros uint64

func (m micros) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%d.%03d", m/1000, m%1000), nil
}

type sliceArgs struct {
	Task  string   `json:"task_id,omitempty"`
	N     *int     `json:"task,omitempty"`
	Block *int32   `json:"block,omitempty"`
	Of    int32    `json:"block_num,omitempty"`
	Site  string   `json:"site,omitempty"`
	Waits []string `json:"waits_for,omitempty"`
}

// timeline writes events one a line.
type timeline struct {
	w     io.Writer
	err   error
	first bool
	flow  int
}

func (t *timeline) add(s slice) {
	if t.err != nil {
		return
	}
	b, err := json.Marshal(&s)
	if err != nil {
		t.err = err
		return
	}
	sep := ",\n"
	if t.first {
		sep, t.first = "\n", false
	}
	_, t.err = fmt.Fprintf(t.w, "%s%s", sep, b)
}

func (t *timeline) name(what string, pid, tid int, name string) {
	t.add(slice{Name: what, Ph: "M", Pid: pid, Tid: tid, Args: map[string]string{"name": name}})
}

func (t *timeline) span(name, cat string, pid, tid int, from, to uint64, args any) {
	d := micros(to - from)
	t.add(slice{Name: name, Cat: cat, Ph: "X", Ts: micros(from), Dur: &d, Pid: pid, Tid: tid, Args: args})
}

func writeTimeline(w io.Writer, v *view) error {
	if _, err := io.WriteString(w, `{"displayTimeUnit":"ns","traceEvents":[`); err != nil {
		return err
	}
	t := &timeline{w: w, first: true}
	t.name("process_name", pidOrchestrator, 0, "Orchestrator "+v.orchestration)
	t.name("thread_name", pidOrchestrator, 0, "scopes")
	t.name("thread_name", pidOrchestrator, 1, "submits")
	t.name("process_name", pidScheduler, 0, "Scheduler")
	t.name("process_name", pidView, 0, "Tasks")
	t.name("process_name", pidWorkers, 0, "Cores")
	for i := range v.cfg.Clusters {
		t.name("thread_name", pidWorkers, i, fmt.Sprintf("AIC %d", i))
	}
	for i := range 2 * v.cfg.Clusters {
		t.name("thread_name", pidWorkers, v.cfg.Clusters+i, fmt.Sprintf("AIV %d", i))
	}
	v.scopeSlices(t)
	v.taskSlices(t)
	v.counters(t)
	if t.err != nil {
		return t.err
	}
	_, err := io.WriteString(w, "\n]}\n")
	return err
}

func (v *view) scopeSlices(t *timeline) {
	type open struct {
		at   uint64
		name string
	}
	var stack []open
	for _, m := range v.rt.ScopeMarks() {
		if !m.End {
			name := "scope " + place(m.Site)
			if m.Depth == 0 {
				name = v.orchestration
			}
			stack = append(stack, open{m.Host, name})
			continue
		}
		o := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		t.span(o.name, "scope", pidOrchestrator, 0, o.at, m.Host, nil)
	}
}

// taskSlices draws each task: its submit, its wait for a core, its blocks, and arrows from the tasks it waited for.
func (v *view) taskSlices(t *timeline) {
	for i := range v.nodes {
		n := &v.nodes[i]
		r := v.times[n.Ordinal]
		if n.Kind != sim.NodeTask || r == nil {
			continue
		}
		name, ord := v.name(n), n.Ordinal
		args := sliceArgs{Task: decimal(uint64(n.ID)), N: &ord, Site: place(n.Site)}
		full := args
		for _, e := range n.Preds {
			full.Waits = append(full.Waits, fmt.Sprintf("%s (%s)", v.label(&v.nodes[e.From]), e.Kind))
		}
		t.span("submit "+name, "submit", pidOrchestrator, 1, r.Submitted, r.Submitted+v.cfg.Costs.Submit, args)
		state := name
		if r.Skipped {
			state += " (predicate false)"
		}
		t.add(slice{Name: state, Cat: "task", Ph: "b", Ts: micros(r.Ready), Pid: pidView, ID: ord + 1, Args: full}) // they overlap: not on threads
		t.add(slice{Name: state, Cat: "task", Ph: "e", Ts: micros(r.Finish), Pid: pidView, ID: ord + 1})
		for _, b := range r.Blocks {
			a, block := args, b.Block
			a.Block, a.Of = &block, n.Blocks
			t.span(v.rt.KernelName(n.Kernels[b.Lane]), "block", pidWorkers, int(b.Core), b.Start, b.Finish, a)
		}
		v.arrows(t, n, r)
	}
}

func (v *view) label(n *sim.Node) string {
	if n.Kind == sim.NodeAlloc {
		return "alloc " + n.ID.String()
	}
	return fmt.Sprintf("task %d", n.Ordinal)
}

// arrows go from the last block of a producer to the first one of the task; allocations and dummies have none.
func (v *view) arrows(t *timeline, n *sim.Node, r *trace.Retire) {
	if len(r.Blocks) == 0 {
		return
	}
	to := slices.MinFunc(r.Blocks, func(a, b trace.Block) int { return cmp.Compare(a.Start, b.Start) })
	for _, e := range n.Preds {
		p := v.times[v.nodes[e.From].Ordinal]
		if v.nodes[e.From].Kind != sim.NodeTask || p == nil || len(p.Blocks) == 0 {
			continue
		}
		from := slices.MaxFunc(p.Blocks, func(a, b trace.Block) int { return cmp.Compare(a.Finish, b.Finish) })
		t.flow++
		t.add(slice{Name: "dependency", Cat: e.Kind.String(), Ph: "s", Ts: micros(max(from.Finish, 1) - 1), Pid: pidWorkers, Tid: int(from.Core), ID: t.flow})
		t.add(slice{Name: "dependency", Cat: e.Kind.String(), Ph: "f", Ts: micros(to.Start), Pid: pidWorkers, Tid: int(to.Core), ID: t.flow, Bp: "e"})
	}
}

// counters draw over time how many tasks wait for others, how many wait for a core, and how many cores are busy.
func (v *view) counters(t *timeline) {
	type change struct {
		at   uint64
		what int
		by   int
	}
	var changes []change
	for i := range v.nodes {
		n := &v.nodes[i]
		r := v.times[n.Ordinal]
		if n.Kind != sim.NodeTask || r == nil {
			continue
		}
		changes = append(changes, change{r.Submitted, 0, 1}, change{r.Ready, 0, -1}, change{r.Ready, 1, 1}, change{r.Start, 1, -1})
		for _, b := range r.Blocks {
			changes = append(changes, change{b.Start, 2 + min(int(b.Lane), 1), 1}, change{b.Finish, 2 + min(int(b.Lane), 1), -1})
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	names := [...]string{"tasks that wait for others", "tasks that wait for a core", "busy AIC", "busy AIV"}
	var now, shown [len(names)]int
	for i, c := range changes {
		now[c.what] += c.by
		if i+1 < len(changes) && changes[i+1].at == c.at {
			continue
		}
		for k, name := range names {
			if now[k] != shown[k] {
				shown[k] = now[k]
				t.add(slice{Name: name, Ph: "C", Ts: micros(c.at), Pid: pidScheduler, Args: map[string]int{"n": now[k]}})
			}
		}
	}
}

// The records of which the reference makes its timeline: per core what ran when, per task when it was dispatched.

type swimlaneMeta struct {
	Clock   uint64   `json:"clock_freq_hz"`
	Cores   int      `json:"num_cores"`
	Types   []string `json:"core_types"`
	Threads []int    `json:"core_to_thread"`
}

func writeSwimlane(w io.Writer, v *view) error {
	c := v.cfg.Clusters
	meta := swimlaneMeta{Clock: 1_000_000_000, Cores: 3 * c, Types: slices.Repeat([]string{"aic"}, c), Threads: make([]int, 3*c)}
	meta.Types = append(meta.Types, slices.Repeat([]string{"aiv"}, 2*c)...)
	var cores [][6]uint64   // core, token, task, start, end, receive delay
	var tasks [][4]uint64   // core, task, dispatch, finish
	var submits [][3]uint64 // task, begin and end of its submit
	for i := range v.nodes {
		n := &v.nodes[i]
		r := v.times[n.Ordinal]
		if n.Kind != sim.NodeTask || r == nil {
			continue
		}
		submits = append(submits, [3]uint64{uint64(n.ID), r.Submitted, r.Submitted + v.cfg.Costs.Submit})
		for _, b := range r.Blocks {
			cores = append(cores, [6]uint64{uint64(b.Core), uint64(len(cores)), uint64(n.ID), b.Start, b.Finish, 0})
			tasks = append(tasks, [4]uint64{uint64(b.Core), uint64(n.ID), b.Start, b.Finish})
		}
	}
	return writeObject(w, []member{{"level", 2}, {"metadata", meta}, {"aicore_tasks", cores}, {"aicpu_tasks", tasks},
		{"aicpu_scheduler_phases", []int{}}, {"aicpu_orchestrator_phases", submits}})
}
