package trace

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
)

// Equal reports that two traces hold the same orchestration events. Not compared: sites and other additions of the simulator, how a view was made,
// the C type under which a scalar was passed, an explicit block count of 1, and the words of errors and notes.
func Equal(a, b []Event) bool { return Diff(a, b) == "" }

// Diff says in words where got first differs from want; "" when they are equal.
func Diff(got, want []Event) string {
	d := First(got, want)
	switch {
	case d == nil:
		return ""
	case d.Got == nil:
		return fmt.Sprintf("event %d is missing: %s", d.At, describe(d.Want))
	case d.Want == nil:
		return fmt.Sprintf("event %d is one too many: %s", d.At, describe(d.Got))
	}
	return fmt.Sprintf("event %d, %s: %s", d.At, describe(d.Got), d.Text)
}

// Difference is where two traces part.
type Difference struct {
	At        int   // number of the event, retirements not counted
	Got, Want Event // nil: there is none
	Text      string
}

// First finds where got first differs from want; nil when they are equal.
func First(got, want []Event) *Difference {
	g, w := orchestration(got), orchestration(want)
	for i := range max(len(g), len(w)) {
		switch {
		case i >= len(g):
			return &Difference{At: i, Want: w[i]}
		case i >= len(w):
			return &Difference{At: i, Got: g[i]}
		}
		if d := diffEvent(g[i], w[i]); d != "" {
			return &Difference{i, g[i], w[i], d}
		}
	}
	return nil
}

// Describe names an event in a few words.
func Describe(e Event) string { return describe(e) }

// SiteOf is where in the source an event comes from; no span when it has no place.
func SiteOf(e Event) diag.Span {
	switch e := e.(type) {
	case *ScopeBegin:
		return e.Site
	case *ScopeEnd:
		return e.Site
	case *Alloc:
		return e.Site
	case *Submit:
		return e.Site
	case *Read:
		return e.Site
	case *Write:
		return e.Site
	case *Query:
		return e.Site
	}
	return diag.Span{}
}

func orchestration(events []Event) []Event {
	return slices.DeleteFunc(slices.Clone(events), func(e Event) bool { _, own := e.(*Retire); return own })
}

// describe names an event in a few words.
func describe(e Event) string {
	at := func(s diag.Span) string {
		if s.IsValid() {
			return " at " + s.String()
		}
		return ""
	}
	switch e := e.(type) {
	case *Run:
		return fmt.Sprintf("run %q", e.Name)
	case *Config:
		return fmt.Sprintf("configuration for %d arguments", e.Args)
	case *ScopeBegin:
		if e.Manual {
			return "begin of a MANUAL scope" + at(e.Site)
		}
		return "begin of an AUTO scope" + at(e.Site)
	case *ScopeEnd:
		return "end of a scope" + at(e.Site)
	case *Alloc:
		return fmt.Sprintf("allocation of %d buffers", len(e.Tensors)) + at(e.Site)
	case *Submit:
		if e.Kind == "dummy" {
			return fmt.Sprintf("dummy task %d", e.N) + at(e.Site)
		}
		return fmt.Sprintf("task %d of kernel %s", e.N, kernelText(e.Kernels)) + at(e.Site)
	case *Read:
		return fmt.Sprintf("read of %s[%d]", e.T.Buf, e.At) + at(e.Site)
	case *Write:
		return fmt.Sprintf("write of %s[%d]", e.T.Buf, e.At) + at(e.Site)
	case *Query:
		return "query of " + e.What + at(e.Site)
	case *Note:
		return "note " + e.What
	case *Error:
		return "error " + e.What + ": " + e.Detail
	case *End:
		return fmt.Sprintf("end after %d tasks", e.Tasks)
	}
	return fmt.Sprintf("%T", e)
}

func kernelText(k []string) string {
	s := make([]string, len(k))
	for i, x := range k {
		if s[i] = x; x == "" {
			s[i] = "none"
		}
	}
	return strings.Join(s, "+")
}

// difference finds the first field that differs.
type difference struct{ text string }

func (d *difference) field(what string, got, want any, equal bool) {
	if d.text == "" && !equal {
		d.text = fmt.Sprintf("%s %v, expected %v", what, got, want)
	}
}

func diffEvent(got, want Event) string {
	d := &difference{}
	wrong := func(ok bool) bool {
		if !ok {
			d.text = "expected " + describe(want)
		}
		return ok
	}
	switch g := got.(type) {
	case *Run:
		if w, ok := want.(*Run); wrong(ok) {
			d.field("named", g.Name, w.Name, g.Name == w.Name)
		}
	case *Config:
		if w, ok := want.(*Config); wrong(ok) {
			d.field("argument count", g.Args, w.Args, g.Args == w.Args)
		}
	case *ScopeBegin:
		w, ok := want.(*ScopeBegin)
		wrong(ok && w.Manual == g.Manual)
	case *ScopeEnd:
		_, ok := want.(*ScopeEnd)
		wrong(ok)
	case *Alloc:
		if w, ok := want.(*Alloc); wrong(ok && len(g.Tensors) == len(w.Tensors)) {
			for i := range g.Tensors {
				d.created(fmt.Sprintf("buffer %d", i), &g.Tensors[i], &w.Tensors[i])
			}
		}
	case *Submit:
		if w, ok := want.(*Submit); wrong(ok) {
			d.submit(g, w)
		}
	case *Read:
		if w, ok := want.(*Read); wrong(ok) {
			d.access(&g.T, &w.T, g.At, w.At, g.Type, w.Type, g.Value, w.Value)
		}
	case *Write:
		if w, ok := want.(*Write); wrong(ok) {
			d.access(&g.T, &w.T, g.At, w.At, g.Type, w.Type, g.Value, w.Value)
		}
	case *Query:
		w, ok := want.(*Query)
		wrong(ok && w.What == g.What)
	case *Note:
		w, ok := want.(*Note)
		wrong(ok && w.What == g.What && w.Buf == g.Buf)
	case *Error:
		_, ok := want.(*Error)
		wrong(ok)
	case *End:
		if w, ok := want.(*End); wrong(ok) {
			d.field("task count", g.Tasks, w.Tasks, g.Tasks == w.Tasks)
		}
	}
	return d.text
}

func (d *difference) submit(g, w *Submit) {
	d.field("ordinal", g.N, w.N, g.N == w.N)
	d.field("kind", g.Kind, w.Kind, g.Kind == w.Kind)
	d.field("kernel", kernelText(g.Kernels), kernelText(w.Kernels), slices.Equal(g.Kernels, w.Kernels))
	d.field("number of tensor arguments", len(g.Args), len(w.Args), len(g.Args) == len(w.Args))
	if d.text != "" {
		return
	}
	for i := range g.Args {
		a, b, what := &g.Args[i], &w.Args[i], fmt.Sprintf("argument %d", i)
		d.field(what+" is passed as", a.Dir, b.Dir, a.Dir == b.Dir)
		if a.New != nil && b.New != nil {
			d.field(what+" is", a.New.Buf, b.New.Buf, a.New.Buf == b.New.Buf)
			d.created(what, a.New, b.New)
		} else if a.New == nil && b.New == nil {
			d.tensor(what, &a.T, &b.T)
		}
	}
	d.field("number of scalar arguments", len(g.Scalars), len(w.Scalars), len(g.Scalars) == len(w.Scalars))
	if d.text != "" {
		return
	}
	for i := range g.Scalars {
		a, b := g.Scalars[i].Bits, w.Scalars[i].Bits
		d.field(fmt.Sprintf("scalar argument %d is", i), int64(a), int64(b), narrow(a) == narrow(b))
	}
	d.field("waits for tasks", g.Deps, w.Deps, slices.Equal(g.Deps, w.Deps))
	d.field("waits for allocations", g.AllocDeps, w.AllocDeps, slices.Equal(g.AllocDeps, w.AllocDeps))
	d.field("block count", max(g.Blocks, 1), max(w.Blocks, 1), max(g.Blocks, 1) == max(w.Blocks, 1))
	d.field("sync_start", g.SyncStart, w.SyncStart, g.SyncStart == w.SyncStart)
	d.field("early resolve", g.Early, w.Early, g.Early == w.Early)
	d.field("timing slot", g.TimingSlot, w.TimingSlot, g.TimingSlot == w.TimingSlot)
	d.field("dump marks", dumpText(g), dumpText(w), dumpText(g) == dumpText(w))
	switch a, b := g.Pred, w.Pred; {
	case a != nil && b != nil:
		d.tensor("predicate operand", &a.T, &b.T)
		d.field("predicate index", a.Idx, b.Idx, slices.Equal(a.Idx, b.Idx))
		d.field("predicate", fmt.Sprint(a.Op, " ", a.Target), fmt.Sprint(b.Op, " ", b.Target), a.Op == b.Op && a.Target == b.Target)
	case a != nil || b != nil:
		d.field("predicate present:", a != nil, b != nil, false)
	}
}

func dumpText(s *Submit) string {
	if s.DumpAll {
		return "all"
	}
	return fmt.Sprint(s.Dump)
}

// narrow makes a sign-extended 32-bit value equal to its zero-extended form: which one it is depends only on the C type.
func narrow(v uint64) uint64 {
	if int64(v) < 0 && int64(v) >= -1<<31 {
		return v & 0xFFFFFFFF
	}
	return v
}

func (d *difference) created(what string, g, w *NewTensor) {
	d.field(what+" has shape", g.Shape, w.Shape, slices.Equal(g.Shape, w.Shape))
	d.field(what+" has dtype", g.DType, w.DType, g.DType == w.DType)
	d.field(what+" has manual_dep", g.ManualDep, w.ManualDep, g.ManualDep == w.ManualDep)
	d.field(what+" has initial value", g.Init, w.Init, g.Init == w.Init)
}

// tensor compares what a handle covers. The offset and strides of an empty window and the strides of single rows mean nothing.
func (d *difference) tensor(what string, g, w *Tensor) {
	d.field(what+" lies in", g.Buf, w.Buf, g.Buf == w.Buf)
	d.field(what+" has shape", g.Shape, w.Shape, slices.Equal(g.Shape, w.Shape))
	d.field(what+" has dtype", g.DType, w.DType, g.DType == w.DType)
	d.field(what+" has manual_dep", g.ManualDep, w.ManualDep, g.ManualDep == w.ManualDep)
	if d.text != "" || slices.Contains(g.Shape, 0) {
		return
	}
	d.field(what+" starts at element", g.Off, w.Off, g.Off == w.Off)
	same := len(g.Strides) == len(w.Strides)
	for i := 0; same && i < len(g.Strides); i++ {
		same = g.Strides[i] == w.Strides[i] || g.Shape[i] == 1
	}
	d.field(what+" has strides", g.Strides, w.Strides, same)
}

func (d *difference) access(g, w *Tensor, gAt, wAt uint64, gType, wType string, gValue, wValue uint64) {
	d.tensor("the tensor", g, w)
	d.field("element", gAt, wAt, gAt == wAt)
	d.field("type", gType, wType, gType == wType)
	d.field("value", gValue, wValue, gValue == wValue)
}
