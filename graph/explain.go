package graph

import (
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/passes/lower"
)

// Pipeline lists the passes that the builder runs, those of plugins included.
func (b *Builder) Pipeline() []*passes.Pass { return b.pipeline }

// PassReport is what one pass did to a program.
type PassReport struct {
	Pass    string       `json:"pass"`
	Dump    string       `json:"dump"` // the name under which `ptobuild ir --stage` takes it; tells two runs of one pass apart
	Changed []FuncChange `json:"changed"`
	Notes   []Note       `json:"notes"`
}

// FuncChange is a function that a pass changed. Its size is in statements, nested ones included; -1 means that there is no such function.
type FuncChange struct {
	Function string `json:"function"`
	Before   int    `json:"before"`
	After    int    `json:"after"`
	// Renamed: only names of variables changed.
	Renamed bool `json:"renamed,omitempty"`
}

// Note is a decision and the DSL place that it is about.
type Note struct {
	At   diag.Span `json:"at"`
	Text string    `json:"text"`
}

// ExplainPasses runs the pipeline on the program of a target and tells what each pass did. With errors among the reports it ends with the pass that
// made them.
func (b *Builder) ExplainPasses(t *Target) ([]PassReport, diag.List) {
	reports := []PassReport{{Notes: []Note{}}} // the last one is the pass that runs
	before := t.Program
	ctx := &passes.Context{Ops: b.Ops, Options: b.options(t.Label), Explain: func(_ string, at diag.Span, what string) {
		r := &reports[len(reports)-1]
		r.Notes = append(r.Notes, Note{at, what})
	}}
	_, ds := b.runPasses(ctx, t.Program, b.pipeline, func(i int, p *passes.Pass, after *ir.Program) {
		r := &reports[len(reports)-1]
		r.Pass, r.Dump, r.Changed = p.Name, passes.DumpName(i, p), changes(before, after)
		before = after
		reports = append(reports, PassReport{Notes: []Note{}})
	})
	last := len(reports) - 1
	if last < len(b.pipeline) && len(reports[last].Notes) > 0 {
		reports[last].Pass, reports[last].Dump = b.pipeline[last].Name, passes.DumpName(last, b.pipeline[last])
		return reports, ds
	}
	return reports[:last], ds
}

// changes compares two stages of a program, function by function, in the order of the later one; functions that are gone come last.
func changes(before, after *ir.Program) []FuncChange {
	out := []FuncChange{}
	if before == after {
		return out
	}
	old := map[string]*ir.Function{}
	for _, f := range before.Funcs {
		old[f.Name] = f
	}
	for _, f := range after.Funcs {
		was := old[f.Name]
		delete(old, f.Name)
		switch {
		case was == nil:
			out = append(out, FuncChange{f.Name, -1, size(f), false})
		case was != f && !ir.IdenticalFunctions(was, f):
			out = append(out, FuncChange{f.Name, size(was), size(f), ir.EqualFunctions(was, f)})
		}
	}
	for _, f := range before.Funcs {
		if old[f.Name] != nil {
			out = append(out, FuncChange{f.Name, size(f), -1, false})
		}
	}
	return out
}

func size(f *ir.Function) int {
	n := 0
	ir.Inspect(f.Body, func(ir.Stmt) bool { n++; return true })
	return n
}

// DepsReport tells where the dependency edges of a target's tasks come from (behaviour X-08).
type DepsReport struct {
	Target string     `json:"target"`
	Tasks  []TaskDeps `json:"tasks"`
	// Notes are what the passes and the lowering found: the derived edges with the conflict behind each, regions that could not be covered and why, and
	// derived edges that had to be dropped.
	Notes []Note `json:"notes"`
}

// TaskDeps is one task of the plan, in print order. Dummy tasks have no kernel.
type TaskDeps struct {
	Task   string    `json:"task"` // the C++ variable of its arguments
	Kernel string    `json:"kernel,omitempty"`
	At     diag.Span `json:"at"`
	Edges  []Edge    `json:"edges"`
}

// Edge is one entry of a dependency array.
type Edge struct {
	ID      string    `json:"id"`
	Kind    string    `json:"kind"`    // user, derived, allocation
	Guarded bool      `json:"guarded"` // only added when the id is valid
	At      diag.Span `json:"at"`
}

// depPasses are the passes whose notes are about dependencies.
var depPasses = []string{"DeriveCallDirections", "AutoDeriveTaskDependencies", "ExpandManualPhaseFence", "ClassifyIterArgCarry"}

// ExplainDeps takes a target to its plan and tells where its dependency edges come from.
func (b *Builder) ExplainDeps(t *Target) (*DepsReport, diag.List) {
	r := &DepsReport{Target: t.Label.String(), Tasks: []TaskDeps{}, Notes: []Note{}}
	ctx := &passes.Context{Ops: b.Ops, Options: b.options(t.Label), Explain: func(pass string, at diag.Span, what string) {
		for _, p := range depPasses {
			if p == pass {
				r.Notes = append(r.Notes, Note{at, what})
			}
		}
	}}
	prog, ds := b.runPasses(ctx, t.Closure, b.pipeline, nil)
	if ds.HasErrors() {
		return nil, ds
	}
	f, more := lower.Lower(prog, prog.Lookup(t.Label.Func), b.Ops, lower.Options{NoManualAllocDeps: b.options(t.Label).NoManualAllocDeps,
		Explain: func(at diag.Span, what string) { r.Notes = append(r.Notes, Note{at, what}) }})
	if ds.Add(more...); f == nil || ds.HasErrors() {
		return nil, b.blamePlugins(t, b.atOperands(ds))
	}
	plan.Walk(f.Body, func(s plan.Stmt) bool {
		switch s := s.(type) {
		case *plan.Task:
			r.Tasks = append(r.Tasks, TaskDeps{s.Params.Text, s.Label, s.Pos, edges(s.Deps)})
		case *plan.Dummy:
			es := edges(s.Deps)
			if s.Gathered != nil {
				es = append(es, Edge{ID: "every id of " + s.Gathered.Text, Kind: "derived", At: s.Pos})
			}
			r.Tasks = append(r.Tasks, TaskDeps{s.Params.Text, "", s.Pos, es})
		}
		return true
	})
	return r, ds
}

func edges(d *plan.Deps) []Edge {
	if d == nil {
		return []Edge{}
	}
	out := make([]Edge, len(d.Entries))
	for i, e := range d.Entries {
		out[i] = Edge{ID: plan.ExprText(e.ID), Kind: "user", Guarded: e.Guarded, At: e.Pos}
		switch {
		case e.Compiler:
			out[i].Kind = "derived"
		case e.Alloc:
			out[i].Kind = "allocation"
		}
	}
	return out
}

// aboutTask reports a note on the edges or slots of one task.
func aboutTask(text string) bool {
	return strings.Contains(text, " waits for ") || strings.Contains(text, " takes '") || strings.Contains(text, " updates '")
}

// NotesAt are the notes that say why a task waits and how it takes its arguments, and the rest of them.
func NotesAt(notes []Note, t TaskDeps) (mine, rest []Note) {
	for _, n := range notes {
		if n.At.File == t.At.File && n.At.Line == t.At.Line && aboutTask(n.Text) {
			mine = append(mine, n)
		} else {
			rest = append(rest, n)
		}
	}
	return mine, rest
}
