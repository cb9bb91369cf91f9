package pack

import (
	"encoding/json"
	"strconv"

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

// sourceMap says where the lines and tasks of the C++ come from.
func sourceMap(u Unit) []byte {
	f := u.Plan
	w := &writer{}
	w.raw("{\n  \"version\": 1,\n  \"function\": ")
	w.str(f.Func)
	w.raw(",\n  \"code\": ")
	w.str("orchestration/" + f.Func + ".cpp")
	w.raw(",\n  \"lines\": ")
	w.list("  ", len(u.Lines), func(i int) {
		l := &u.Lines[i]
		w.raw(`{"first": `)
		w.int(int64(l.First))
		w.raw(`, "last": `)
		w.int(int64(l.Last))
		w.raw(", ")
		w.span(l.Span)
		w.raw("}")
	})
	var tasks []*plan.Task
	var barriers []*plan.Dummy
	plan.Walk(f.Body, func(s plan.Stmt) bool {
		switch s := s.(type) {
		case *plan.Task:
			tasks = append(tasks, s)
		case *plan.Dummy:
			barriers = append(barriers, s)
		}
		return true
	})
	w.raw(",\n  \"tasks\": ")
	w.list("  ", len(tasks), func(i int) {
		t := tasks[i]
		w.raw(`{"task": `)
		w.int(int64(t.Ordinal))
		w.raw(`, "kernel": `)
		w.str(t.Label)
		w.raw(`, "func_ids": [`)
		n := 0
		for _, k := range t.Kernels {
			if k < 0 {
				continue
			}
			if n++; n > 1 {
				w.raw(", ")
			}
			w.int(int64(k))
		}
		w.raw("], ")
		w.span(t.Pos)
		w.raw("}")
	})
	w.raw(",\n  \"barriers\": ")
	w.list("  ", len(barriers), func(i int) {
		w.raw(`{"barrier": `)
		w.int(int64(barriers[i].Ordinal))
		w.raw(", ")
		w.span(barriers[i].Pos)
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
