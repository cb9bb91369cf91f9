package pack

import (
	"encoding/json"
	"strconv"

	"github.com/ptobuild/ptobuild/codegen/orch"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir/plan"
)

// A writer builds JSON text. The files have a fixed, small shape, and a source map has a line per statement, so they are written directly.
type writer struct{ b []byte }

func (w *writer) raw(ss ...string) {
	for _, s := range ss {
		w.b = append(w.b, s...)
	}
}

func (w *writer) str(s string) {
	q, err := json.Marshal(s)
	if err != nil { // cannot happen: invalid UTF-8 is replaced
		q = []byte(`""`)
	}
	w.b = append(w.b, q...)
}

func (w *writer) int(v int64) { w.b = strconv.AppendInt(w.b, v, 10) }

// list writes n entries, one a line.
func (w *writer) list(indent string, n int, entry func(i int)) {
	w.raw("[")
	for i := range n {
		if i > 0 {
			w.raw(",")
		}
		w.raw("\n", indent, "  ")
		entry(i)
	}
	if n > 0 {
		w.raw("\n", indent)
	}
	w.raw("]")
}

// kernelsJSON is the kernel table: function id to name, core and tensor directions.
func kernelsJSON(f *plan.File) []byte {
	w := &writer{}
	w.raw("{\n  \"kernels\": ")
	w.list("  ", len(f.Kernels), func(i int) {
		k := &f.Kernels[i]
		w.raw(`{"func_id": `)
		w.int(int64(k.ID))
		w.raw(`, "name": `)
		w.str(k.Name)
		w.raw(`, "core_type": `)
		w.str(k.Core.String())
		w.raw(`, "signature": [`)
		for j, t := range k.Signature {
			if j > 0 {
				w.raw(", ")
			}
			w.str(direction(t))
		}
		w.raw("]")
		if k.Func != k.Name {
			w.raw(`, "function": `)
			w.str(k.Func)
		}
		if k.External != nil {
			w.raw(`, "external": `)
			w.str(k.External.Source)
		}
		w.raw("}")
	})
	w.raw("\n}\n")
	return w.b
}

// Map is a source map: where the lines and tasks of the C++ come from.
type Map struct {
	Function string
	Lines    []MapLines
	Tasks    []MapTask
	Barriers []MapBarrier
}

// MapLines is a stretch of lines of the C++.
type MapLines struct {
	First, Last int
	Span        diag.Span
}

// MapTask is a task of the C++, by its ordinal.
type MapTask struct {
	Task    int
	Kernel  string
	FuncIDs []int
	Span    diag.Span
}

// MapBarrier is a dependency-only task.
type MapBarrier struct {
	Barrier int
	Span    diag.Span
}

// MapOf makes the source map of an orchestration function.
func MapOf(f *plan.File, lines []orch.LineSpan) *Map {
	m := &Map{Function: f.Func, Lines: make([]MapLines, len(lines))}
	for i, l := range lines {
		m.Lines[i] = MapLines{l.First, l.Last, l.Span}
	}
	plan.Walk(f.Body, func(s plan.Stmt) bool {
		switch s := s.(type) {
		case *plan.Task:
			t := MapTask{Task: int(s.Ordinal), Kernel: s.Label, Span: s.Pos}
			for _, k := range s.Kernels {
				if k >= 0 {
					t.FuncIDs = append(t.FuncIDs, int(k))
				}
			}
			m.Tasks = append(m.Tasks, t)
		case *plan.Dummy:
			m.Barriers = append(m.Barriers, MapBarrier{int(s.Ordinal), s.Pos})
		}
		return true
	})
	return m
}

// Name is the path of the file.
func (m *Map) Name() string { return m.Function + ".map.json" }

// Spans calls f for every place, in an order that depends on nothing but the map.
func (m *Map) Spans(f func(*diag.Span)) {
	for i := range m.Lines {
		f(&m.Lines[i].Span)
	}
	for i := range m.Tasks {
		f(&m.Tasks[i].Span)
	}
	for i := range m.Barriers {
		f(&m.Barriers[i].Span)
	}
}

// JSON is the content of the file.
func (m *Map) JSON() []byte {
	w := &writer{}
	w.raw("{\n  \"version\": 1,\n  \"function\": ")
	w.str(m.Function)
	w.raw(",\n  \"code\": ")
	w.str("orchestration/" + m.Function + ".cpp")
	w.raw(",\n  \"lines\": ")
	w.list("  ", len(m.Lines), func(i int) {
		l := &m.Lines[i]
		w.raw(`{"first": `)
		w.int(int64(l.First))
		w.raw(`, "last": `)
		w.int(int64(l.Last))
		w.raw(", ")
		w.span(l.Span)
		w.raw("}")
	})
	w.raw(",\n  \"tasks\": ")
	w.list("  ", len(m.Tasks), func(i int) {
		t := &m.Tasks[i]
		w.raw(`{"task": `)
		w.int(int64(t.Task))
		w.raw(`, "kernel": `)
		w.str(t.Kernel)
		w.raw(`, "func_ids": [`)
		for n, k := range t.FuncIDs {
			if n > 0 {
				w.raw(", ")
			}
			w.int(int64(k))
		}
		w.raw("], ")
		w.span(t.Span)
		w.raw("}")
	})
	w.raw(",\n  \"barriers\": ")
	w.list("  ", len(m.Barriers), func(i int) {
		w.raw(`{"barrier": `)
		w.int(int64(m.Barriers[i].Barrier))
		w.raw(", ")
		w.span(m.Barriers[i].Span)
		w.raw("}")
	})
	w.raw("\n}\n")
	return w.b
}

// span writes the fields of a place.
func (w *writer) span(s diag.Span) {
	w.raw(`"file": `)
	w.str(s.File)
	for _, f := range [...]struct {
		key string
		v   int32
	}{{"line", s.Line}, {"col", s.Col}, {"end_line", s.EndLine}, {"end_col", s.EndCol}} {
		w.raw(`, "`, f.key, `": `)
		w.int(int64(f.v))
	}
}
