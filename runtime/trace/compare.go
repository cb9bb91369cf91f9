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
	d := first(&reader{list: got}, &reader{list: want})
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
func First(got, want *Log) *Difference { return first(got.reader(), want.reader()) }

func first(got, want *reader) *Difference {
	for at := 0; ; at++ {
		g, w := got.call(), want.call()
		if g == nil && w == nil {
			return nil
		}
		if g == nil || w == nil {
			return &Difference{At: at, Got: g, Want: w}
		}
		if d := diffEvent(g, w); d != "" {
			return &Difference{at, g, w, d}
		}
	}
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
		return fmt.Sprintf("task %d of kernel %s", e.N, kernelNames(e.Kernels)) + at(e.Site)
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

type kernelNames []string

func (k kernelNames) String() string {
	s := make([]string, len(k))
	for i, x := range k {
		if s[i] = x; x == "" {
			s[i] = "none"
		}
	}
	return strings.Join(s, "+")
}

// difference finds the first field that differs. Most events are equal, so that words are only made when one differs.
type difference struct {
	part  string // the part of the event that is compared, before each field
	index int    // its number, -1: there is only one
	text  string
}

func (d *difference) of(part string, index int) { d.part, d.index = part, index }

func field[T any](d *difference, what string, got, want T, equal bool) {
	if d.text != "" || equal {
		return
	}
	where := ""
	switch {
	case d.part != "" && d.index >= 0:
		where = fmt.Sprintf("%s %d ", d.part, d.index)
	case d.part != "":
		where = d.part + " "
	}
	d.text = fmt.Sprintf("%s%s %v, expected %v", where, what, got, want)
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
			field(d, "named", g.Name, w.Name, g.Name == w.Name)
		}
	case *Config:
		if w, ok := want.(*Config); wrong(ok) {
			field(d, "argument count", g.Args, w.Args, g.Args == w.Args)
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
				d.of("buffer", i)
				d.created(&g.Tensors[i], &w.Tensors[i])
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
			field(d, "task count", g.Tasks, w.Tasks, g.Tasks == w.Tasks)
		}
	}
	return d.text
}

func (d *difference) submit(g, w *Submit) {
	field(d, "ordinal", g.N, w.N, g.N == w.N)
	field(d, "kind", g.Kind, w.Kind, g.Kind == w.Kind)
	field(d, "kernel", kernelNames(g.Kernels), kernelNames(w.Kernels), slices.Equal(g.Kernels, w.Kernels))
	field(d, "number of tensor arguments", len(g.Args), len(w.Args), len(g.Args) == len(w.Args))
	if d.text != "" {
		return
	}
	for i := range g.Args {
		a, b := &g.Args[i], &w.Args[i]
		d.of("argument", i)
		field(d, "is passed as", a.Dir, b.Dir, a.Dir == b.Dir)
		if a.New != nil && b.New != nil {
			field(d, "is", a.New.Buf, b.New.Buf, a.New.Buf == b.New.Buf)
			d.created(a.New, b.New)
		} else if a.New == nil && b.New == nil {
			d.tensor(&a.T, &b.T)
		}
	}
	d.of("", -1)
	field(d, "number of scalar arguments", len(g.Scalars), len(w.Scalars), len(g.Scalars) == len(w.Scalars))
	if d.text != "" {
		return
	}
	for i := range g.Scalars {
		a, b := g.Scalars[i].Bits, w.Scalars[i].Bits
		d.of("scalar argument", i)
		field(d, "is", int64(a), int64(b), narrow(a) == narrow(b))
	}
	d.of("", -1)
	field(d, "waits for tasks", g.Deps, w.Deps, slices.Equal(g.Deps, w.Deps))
	field(d, "waits for allocations", g.AllocDeps, w.AllocDeps, slices.Equal(g.AllocDeps, w.AllocDeps))
	field(d, "block count", max(g.Blocks, 1), max(w.Blocks, 1), max(g.Blocks, 1) == max(w.Blocks, 1))
	field(d, "sync_start", g.SyncStart, w.SyncStart, g.SyncStart == w.SyncStart)
	field(d, "early resolve", g.Early, w.Early, g.Early == w.Early)
	field(d, "timing slot", g.TimingSlot, w.TimingSlot, g.TimingSlot == w.TimingSlot)
	field(d, "dump marks", dumpMarks{g}, dumpMarks{w}, g.DumpAll == w.DumpAll && (g.DumpAll || slices.Equal(g.Dump, w.Dump)))
	switch a, b := g.Pred, w.Pred; {
	case a != nil && b != nil:
		d.of("predicate operand", -1)
		d.tensor(&a.T, &b.T)
		d.of("predicate", -1)
		field(d, "index", a.Idx, b.Idx, slices.Equal(a.Idx, b.Idx))
		d.of("", -1)
		field(d, "predicate", condition{a.Op, a.Target}, condition{b.Op, b.Target}, a.Op == b.Op && a.Target == b.Target)
	case a != nil || b != nil:
		field(d, "predicate present:", a != nil, b != nil, false)
	}
}

type dumpMarks struct{ *Submit }

func (m dumpMarks) String() string {
	if m.DumpAll {
		return "all"
	}
	return fmt.Sprint(m.Dump)
}

type condition struct {
	op     string
	target int64
}

func (c condition) String() string { return fmt.Sprint(c.op, " ", c.target) }

// narrow makes a sign-extended 32-bit value equal to its zero-extended form: which one it is depends only on the C type.
func narrow(v uint64) uint64 {
	if int64(v) < 0 && int64(v) >= -1<<31 {
		return v & 0xFFFFFFFF
	}
	return v
}

func (d *difference) created(g, w *NewTensor) {
	field(d, "has shape", g.Shape, w.Shape, slices.Equal(g.Shape, w.Shape))
	field(d, "has dtype", g.DType, w.DType, g.DType == w.DType)
	field(d, "has manual_dep", g.ManualDep, w.ManualDep, g.ManualDep == w.ManualDep)
	field(d, "has initial value", g.Init, w.Init, g.Init == w.Init)
}

// tensor compares what a handle covers. The offset and strides of an empty window and the strides of single rows mean nothing.
func (d *difference) tensor(g, w *Tensor) {
	field(d, "lies in", g.Buf, w.Buf, g.Buf == w.Buf)
	field(d, "has shape", g.Shape, w.Shape, slices.Equal(g.Shape, w.Shape))
	field(d, "has dtype", g.DType, w.DType, g.DType == w.DType)
	field(d, "has manual_dep", g.ManualDep, w.ManualDep, g.ManualDep == w.ManualDep)
	if d.text != "" || slices.Contains(g.Shape, 0) {
		return
	}
	field(d, "starts at element", g.Off, w.Off, g.Off == w.Off)
	same := len(g.Strides) == len(w.Strides)
	for i := 0; same && i < len(g.Strides); i++ {
		same = g.Strides[i] == w.Strides[i] || g.Shape[i] == 1
	}
	field(d, "has strides", g.Strides, w.Strides, same)
}

func (d *difference) access(g, w *Tensor, gAt, wAt uint64, gType, wType string, gValue, wValue uint64) {
	d.of("the tensor", -1)
	d.tensor(g, w)
	d.of("", -1)
	field(d, "element", gAt, wAt, gAt == wAt)
	field(d, "type", gType, wType, gType == wType)
	field(d, "value", gValue, wValue, gValue == wValue)
}
