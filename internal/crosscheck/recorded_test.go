package crosscheck

import (
	"bytes"
	"context"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/codegen/orch"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/sim"
	"github.com/ptobuild/ptobuild/runtime/trace"
)

// TestRecorded compiles the C++ of random programs against the recording header of the conformance suite (testdata/recorder), which shares nothing with our
// runtime, and compares what it records with the trace of the plan.
func TestRecorded(t *testing.T) {
	t.Parallel()
	rec := newRecorder(t)
	everyProfile(t, "CROSSCHECK_RECORDED", 6, func(b *built) bool { return !b.warned }, func(b *built, profile *orch.Profile) *problem { return b.checkRecorded(rec, profile) })
}

// recorder is the compiled driver of the recording header.
type recorder struct{ cxx, dir, driver, work string }

func newRecorder(t *testing.T) *recorder {
	t.Helper()
	cxx, err := osexec.LookPath("g++")
	if err != nil {
		t.Fatal("the test needs a C++ compiler: ", err)
	}
	r := &recorder{cxx: cxx, dir: "testdata/recorder", work: t.TempDir()}
	r.driver = filepath.Join(r.work, "driver.o")
	if out, err := osexec.Command(cxx, "-std=c++17", "-w", "-I", r.dir, "-c", filepath.Join(r.dir, "main.cpp"), "-o", r.driver).CombinedOutput(); err != nil {
		t.Fatalf("the recorder does not compile: %v\n%s", err, out)
	}
	return r
}

func (r *recorder) compile(code string) (exe string, err error) {
	dir, err := os.MkdirTemp(r.work, "program")
	if err != nil {
		return "", err
	}
	exe = filepath.Join(dir, "program")
	cmd := osexec.Command(r.cxx, "-std=c++17", "-O0", "-w", "-Wno-narrowing", "-I", r.dir, "-x", "c++", "-", "-x", "none", r.driver, "-o", exe)
	cmd.Stdin = strings.NewReader(code)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v\n%s", err, out)
	}
	return exe, nil
}

// checkRecorded compares what the compiled C++ records with the trace of the plan. The recorder runs no kernels, so it is told what element reads find.
func (b *built) checkRecorded(r *recorder, profile *orch.Profile) *problem {
	code, _ := orch.Print(b.plan, profile)
	exe, err := r.compile(code)
	if err != nil {
		return &problem{kind: "compile", text: err.Error()}
	}
	defer os.RemoveAll(filepath.Dir(exe))
	for _, in := range inputs {
		job := b.job(in, exec.Schedule{Policy: sim.Sequential})
		results, err := (&exec.Plan{Ops: registry}).Run(context.Background(), job)
		if err != nil {
			return &problem{kind: "run", text: err.Error()}
		}
		want := results[0].Trace.Events()
		args := filepath.Join(filepath.Dir(exe), "args.txt")
		if err := os.WriteFile(args, []byte(entryText(job, want)), 0o644); err != nil {
			return &problem{kind: "files", text: err.Error()}
		}
		var errText bytes.Buffer
		cmd := osexec.Command(exe, args)
		cmd.Stderr = &errText
		out, err := cmd.Output()
		if err != nil {
			return &problem{kind: "recorded run", text: fmt.Sprintf("n, m = %v: %v\n%s", in, err, &errText)}
		}
		got, err := trace.ReadJSON(bytes.NewReader(out))
		if err != nil {
			return &problem{kind: "recorded trace", text: err.Error()}
		}
		nameKernels(got, b.plan)
		if d := trace.Diff(trace.Normal(got), trace.Normal(want)); d != "" {
			return &problem{kind: "recorded", text: fmt.Sprintf("n, m = %v: %s", in, d)}
		}
	}
	return nil
}

// entryText describes the arguments of a run to the driver: tensors, scalars, and the results of element reads in order.
func entryText(job *exec.Job, events []trace.Event) string {
	var out strings.Builder
	for k, x := range job.Tensors {
		fmt.Fprintf(&out, "tensor %s %d", orch.Default().DataTypes[job.Plan.Tensors[k].DType], len(x.Shape))
		for _, n := range x.Shape {
			fmt.Fprintf(&out, " %d", n)
		}
		out.WriteString("\n")
	}
	for _, s := range job.Scalars {
		fmt.Fprintf(&out, "scalar %d\n", s)
	}
	reads := map[string][]uint64{}
	var buffers []string
	for _, e := range events {
		if r, ok := e.(*trace.Read); ok {
			if reads[r.T.Buf] == nil {
				buffers = append(buffers, r.T.Buf)
			}
			reads[r.T.Buf] = append(reads[r.T.Buf], r.Value)
		}
	}
	for _, buf := range buffers {
		fmt.Fprintf(&out, "seq %s %d", buf, len(reads[buf]))
		for _, v := range reads[buf] {
			fmt.Fprintf(&out, " %d", v)
		}
		out.WriteString("\n")
	}
	return out.String() + "limit 1000000\n"
}

// nameKernels gives the tasks of a recorded trace the names of the plan's kernel table; the recorder knows ids only.
func nameKernels(events []trace.Event, f *plan.File) {
	for _, e := range events {
		s, ok := e.(*trace.Submit)
		if !ok {
			continue
		}
		s.Kernels = slices.Clone(s.Kernels)
		for i, name := range s.Kernels {
			if id, err := strconv.Atoi(strings.TrimPrefix(name, "#")); err == nil && id < len(f.Kernels) {
				s.Kernels[i] = f.Kernels[id].Name
			}
		}
	}
}
