// Package artifact writes what a run did in the shapes that the tools of the Ascend runtime read (spec runtime.md 3.4): the dependency graph, a timeline,
// scope statistics and dumped arguments. docs/simulator.md describes the files.
//
// Everything in them is the same for every run of a program with the same inputs, order and machine: times are virtual and addresses stable.
package artifact

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strconv"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/sim"
	"github.com/ptobuild/ptobuild/runtime/trace"
)

// Write writes all artefacts of a run that has ended into a folder, which it makes. The run must have been recorded and checked (sim.Config.Record and
// Check). orchestration is the name of the entry function; args may be nil.
func Write(dir, orchestration string, rt *sim.Runtime, args *ArgsDump) error {
	v := newView(rt, orchestration)
	for _, f := range []struct {
		name  string
		write func(io.Writer, *view) error
	}{
		{"deps.json", writeDeps},
		{"l2_swimlane_records.json", writeSwimlane},
		{"merged_swimlane.json", writeTimeline},
		{"name_map.json", writeNames},
		{"scope_stats/scope_stats.jsonl", writeScopes},
		{"trace.jsonl", func(w io.Writer, v *view) error { return trace.WriteJSON(w, rt.Trace().All()) }},
	} {
		if err := writeFile(filepath.Join(dir, f.name), func(w io.Writer) error { return f.write(w, v) }); err != nil {
			return err
		}
	}
	if args == nil {
		return nil
	}
	return args.write(filepath.Join(dir, "args_dump"))
}

func writeFile(path string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	err = write(w)
	if e := w.Flush(); err == nil {
		err = e
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// member is a member of the object that writeObject writes.
type member struct {
	key   string
	value any
}

// writeObject writes a JSON object with a line for each entry of its lists, so that people can read and compare it.
func writeObject(w io.Writer, members []member) error {
	b := []byte("{")
	for i, m := range members {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strconv.AppendQuote(append(b, '\n'), m.key), ':')
		if v := reflect.ValueOf(m.value); v.Kind() == reflect.Slice {
			b = append(b, '[')
			for k := range v.Len() {
				line, err := json.Marshal(v.Index(k).Interface())
				if err != nil {
					return err
				}
				if k > 0 {
					b = append(b, ',')
				}
				b = append(append(b, '\n'), line...)
			}
			b = append(b, ']')
			continue
		}
		x, err := json.Marshal(m.value)
		if err != nil {
			return err
		}
		b = append(b, x...)
	}
	_, err := w.Write(append(b, "\n}\n"...))
	return err
}

// view joins what the trace and the graph say about each task.
type view struct {
	rt            *sim.Runtime
	cfg           sim.Config
	orchestration string
	nodes         []sim.Node
	times         map[int]*trace.Retire // by task ordinal
}

func newView(rt *sim.Runtime, orchestration string) *view {
	v := &view{rt: rt, cfg: rt.Config(), orchestration: orchestration, nodes: rt.Graph().Nodes, times: map[int]*trace.Retire{}}
	for _, e := range rt.Trace().Events() {
		if r, ok := e.(*trace.Retire); ok {
			v.times[r.N] = r
		}
	}
	return v
}

// isTask reports nodes that have a task id.
func isTask(n *sim.Node) bool { return n.Kind == sim.NodeTask || n.Kind == sim.NodeAlloc }

// name is what a task is called on a timeline.
func (v *view) name(n *sim.Node) string {
	switch {
	case n.Kind == sim.NodeAlloc:
		return "alloc"
	case n.Task == sim.KindDummy:
		return "dummy"
	}
	s := ""
	for i, id := range n.Kernels {
		if id >= 0 && (i == 0 || id != n.Kernels[i-1]) {
			if s != "" {
				s += "+"
			}
			s += v.rt.KernelName(id)
		}
	}
	return s
}

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }

func place(s diag.Span) string {
	if !s.IsValid() {
		return "(unknown):0"
	}
	return fmt.Sprintf("%s:%d", s.File, s.Line)
}

// writeNames says what the numbers of kernels mean.
func writeNames(w io.Writer, v *view) error {
	names := map[string]string{}
	for i, n := range v.cfg.Names {
		names[strconv.Itoa(i)] = n
	}
	return writeObject(w, []member{{"level", 2}, {"orchestrator_name", v.orchestration}, {"callable_id_to_name", names}})
}
