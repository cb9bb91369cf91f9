package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/ui"
	"github.com/ptobuild/ptobuild/runtime/native"
)

// watched is a watch --json that runs as a process of its own.
type watched struct {
	t      *testing.T
	dir    string
	stdin  io.WriteCloser
	events *bufio.Scanner
}

const watchedProgram = `import pypto.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: pl.Tensor[[16, 16], pl.FP32], o: pl.Out[pl.Tensor[[16, 16], pl.FP32]]) -> pl.Tensor[[16, 16], pl.FP32]:
        v = pl.load(a, [0, 0], [16, 16])
        o = pl.store(pl.add(v, 1.0), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: pl.Tensor[[16, 16], pl.FP32], o: pl.Out[pl.Tensor[[16, 16], pl.FP32]]) -> pl.Tensor[[16, 16], pl.FP32]:
        o = self.k(a, o)
        return o
`

const watchedConfig = `[workspace]
name = "w"
[[test]]
target = "//a:main"
inputs.a = { constant = 1.0 }
schedules = 1
`

func startWatch(t *testing.T, flags ...string) *watched {
	w := &watched{t: t, dir: t.TempDir()}
	w.write("a.py", "this is no program of pypto\n")
	w.write("Pto.toml", watchedConfig)
	cmd := exec.Command(os.Args[0], append([]string{"watch", "--json", "-C", w.dir}, flags...)...)
	cmd.Env = append(os.Environ(), "PTOBUILD_CACHE="+t.TempDir(), asTool+"=1", native.HelperEnv+"="+os.Args[0])
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if w.stdin, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.events = bufio.NewScanner(stdout)
	stop := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() }) // a missing event fails the test
	t.Cleanup(func() { stop.Stop() })
	w.events.Buffer(nil, 1<<24)
	t.Cleanup(func() {
		w.stdin.Close()
		_ = cmd.Process.Kill() // it has ended in a good run
		_ = cmd.Wait()
	})
	return w
}

func (w *watched) write(name, text string) {
	w.t.Helper()
	p := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(p+".new", []byte(text), 0o666); err != nil { // as editors save
		w.t.Fatal(err)
	}
	if err := os.Rename(p+".new", p); err != nil {
		w.t.Fatal(err)
	}
}

// until reads events to the end of the first round that satisfies want, and gives the engines of its tests.
func (w *watched) until(what string, want func(done *watchEvent) bool) (engines string) {
	w.t.Helper()
	for w.events.Scan() {
		var e watchEvent
		if err := json.Unmarshal(w.events.Bytes(), &e); err != nil {
			w.t.Fatalf("%v: %s", err, w.events.Text())
		}
		switch {
		case e.Event == "start":
			engines = ""
		case e.Event == "test":
			engines += e.Engine + ";"
		case e.Event == "done" && want(&e):
			return engines
		}
	}
	w.t.Fatalf("the watch ended before %s", what)
	return ""
}

func passed(e *watchEvent) bool {
	return len(e.Diagnostics) == 0 && len(e.Tests) == 1 && e.Tests[0].Passed
}

func TestWatchCommand(t *testing.T) {
	w := startWatch(t, "--test")
	w.until("a first build with an error", func(e *watchEvent) bool { return e.Diagnostics.HasErrors() })
	w.write("a.py", watchedProgram)
	if got := w.until("its mending", passed); got != "plan;compiled C++;" {
		t.Errorf("answers of %s", got)
	}
	w.write("a.py", strings.Replace(watchedProgram, "1.0", "2.0", 1))
	if got := w.until("an edit of a kernel", passed); got != "plan;compiled C++;" {
		t.Errorf("answers of %s", got)
	}
	w.write("a.py", "# a comment\n"+strings.Replace(watchedProgram, "1.0", "2.0", 1))
	w.until("a comment", passed)
	w.write("a.py", strings.Replace(watchedProgram, "return o", "return q", 1))
	w.until("an error", func(e *watchEvent) bool { return e.Diagnostics.HasErrors() })
	w.write("a.py", watchedProgram)
	w.until("its mending", passed)
	w.write("Pto.toml", "[workspace\n")
	w.until("an error in Pto.toml", func(e *watchEvent) bool { return e.Diagnostics.HasErrors() })
	w.write("Pto.toml", watchedConfig)
	w.until("its mending", passed)
	w.write("deep/er/b.py", strings.Replace(watchedProgram, "class P", "class Q", 1))
	w.until("a new folder", func(e *watchEvent) bool { return e.Targets == 2 })
	if err := os.RemoveAll(filepath.Join(w.dir, "deep")); err != nil {
		t.Fatal(err)
	}
	w.until("its removal", func(e *watchEvent) bool { return e.Targets == 1 })
	if err := os.RemoveAll(filepath.Join(w.dir, ".ptobuild", "state")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w.stdin, "r"); err != nil {
		t.Fatal(err)
	}
	if got := w.until("r", passed); got != "plan;compiled C++;" {
		t.Errorf("r: answers of %s", got)
	}
	if _, err := io.WriteString(w.stdin, "f"); err != nil {
		t.Fatal(err)
	}
	if got := w.until("f", passed); got != "" {
		t.Errorf("f, with nothing failed: answers of %s", got)
	}
	if _, err := io.WriteString(w.stdin, "q"); err != nil {
		t.Fatal(err)
	}
	for w.events.Scan() { // to the end of the process
	}
}

func TestWatchBuildsOnly(t *testing.T) {
	w := startWatch(t, "--test=false")
	w.write("a.py", watchedProgram)
	engines := w.until("a build without a test", func(done *watchEvent) bool {
		return done.Targets == 1 && len(done.Diagnostics) == 0 && done.Tests == nil
	})
	if engines != "" {
		t.Errorf("tests ran: %s", engines)
	}
}

// roundsEnv is how many rounds TestWatchMemory runs instead of a few.
const roundsEnv = "PTOBUILD_TEST_ROUNDS"

// What a watch holds does not grow with its rounds. Changes are handed to it as its watcher would.
func TestWatchMemory(t *testing.T) {
	w := &watched{t: t, dir: t.TempDir()}
	for i := range 50 {
		w.write(fmt.Sprintf("p%d.py", i), strings.ReplaceAll(watchedProgram, "class P", fmt.Sprint("class P", i)))
	}
	w.write("a.py", watchedProgram)
	w.write("Pto.toml", watchedConfig)
	t.Setenv("PTOBUILD_CACHE", t.TempDir())
	a := &app{ui: &ui.UI{Out: io.Discard, Err: io.Discard, JSON: true}, dir: w.dir}
	s, err := a.session()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	defer a.closeStore(t.Context())
	a.running = graph.KeepPlugins(t.Context())
	x := &watching{a: a, f: watchFlags{tests: true, test: testFlags{noCompile: true}}, session: s, watcher: &graph.Watcher{}, verdicts: map[string]seenVerdict{}}
	if err := x.f.test.only.parse(); err != nil {
		t.Fatal(err)
	}
	x.see()
	round := func(j job) {
		t.Helper()
		if !x.round(t.Context(), j) || x.failing || len(x.verdicts) != 1 {
			t.Fatalf("a round failed: %s", x.summary)
		}
	}
	round(job{batch: graph.Batch{All: true}})
	n := 150
	if v, err := strconv.Atoi(os.Getenv(roundsEnv)); err == nil {
		n = v
	}
	held := func() uint64 {
		runtime.GC()
		runtime.GC() // what the first one finalised
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var early uint64
	for i := range n {
		if i == n/10 {
			early = held()
		}
		w.write("a.py", strings.Replace(watchedProgram, "1.0", fmt.Sprint(i, ".25"), 1))
		w.write("p7.py", strings.Replace(strings.ReplaceAll(watchedProgram, "class P", "class P7"), "o = self.k(a, o)", strings.Repeat("o = self.k(a, o)\n        ", i%7)+"o = self.k(a, o)", 1))
		round(job{batch: graph.Batch{Paths: []string{"a.py", "p7.py"}}})
		if i%100 == 0 {
			s.Save()
		}
	}
	late := held()
	t.Logf("after %d rounds %d KiB are held, after %d %d KiB", n/10, early>>10, n, late>>10)
	if late > early+early/4 {
		t.Errorf("after %d rounds %d KiB are held, after %d rounds %d KiB", n/10, early>>10, n, late>>10)
	}
}
