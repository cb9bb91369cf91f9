package graph

import (
	"strings"
	"testing"
	"time"

	"github.com/ptobuild/ptobuild/runtime/sim"
)

func TestConfigErrors(t *testing.T) {
	for name, c := range map[string]struct {
		src  string
		want string // message or hint of the only report
		line int32
	}{
		"syntax":        {"[workspace]\nname = \n", "expected value", 2},
		"unknown key":   {"[workspace]\nsuorces = [\"*.py\"]\n", `did you mean "sources"?`, 2},
		"wrong type":    {"[build]\nprofile = 3\n", "build.profile: is a number, it must be a string", 2},
		"no target":     {"[[test]]\nname = \"x\"\n", "without a target", 1},
		"two names":     {"[[test]]\ntarget = \"//a:f\"\n[[test]]\ntarget = \"//b:f\"\n", `two tests are named "f"`, 3},
		"two inputs":    {"[[test]]\ntarget = \"//a:f\"\ninputs.x = { random = 1, constant = 2.0 }\n", "exactly one of random, constant and npy", 1},
		"empty input":   {"[[test]]\ntarget = \"//a:f\"\ninputs.x = { low = 1.0 }\n", "exactly one of random, constant and npy", 1},
		"two expects":   {"[[test]]\ntarget = \"//a:f\"\nexpect.sequential = true\nexpect.npy = { x = \"x.npy\" }\n", "expects more than one thing", 1},
		"one bracket":   {"[test]\ntarget = \"//a:f\"\n", "[[test]] in double brackets", 1},
		"tolerance":     {"[[test]]\ntarget = \"//a:f\"\nrtol = -1.0\n", "no tolerance", 1},
		"schedules":     {"[[test]]\ntarget = \"//a:f\"\nschedules = -1\n", "schedules = -1", 1},
		"range":         {"[[test]]\ntarget = \"//a:f\"\ninputs.x = { random = 1, low = 3.0, high = 1.0 }\n", "low must be below high", 1},
		"clusters":      {"[build]\nplatform = \"a5\"\n[simulator]\nclusters = -1\n", "-1 clusters", 3},
		"platform":      {"[build]\nplatform = \"a9\"\n", "the platforms are a2a3 and a5", 2},
		"task window":   {"[simulator]\ntask_window = 12\n", "a task window of 12", 1},
		"three rings":   {"[simulator]\nheap = [1024, 1024, 1024]\n", "has 3 values", 2},
		"heap":          {"[simulator]\nheap = \"a lot\"\n", "is no size", 2},
		"timeout":       {"[simulator]\ntimeout = \"soon\"\n", "is no duration", 2},
		"cost":          {"[simulator.costs]\nsubmitt = 1\n", `did you mean "submit"?`, 2},
		"negative cost": {"[simulator.costs]\nop = -1\n", "a cost is not negative", 2},
		"kernel time":   {"[simulator.kernels]\nadd = 0\n", "kernel add takes 0 ns", 2},
		"duplicate key": {"[workspace]\nname = \"a\"\nname = \"b\"\n", "already been defined", 3},
	} {
		t.Run(name, func(t *testing.T) {
			_, ds := parseConfig(ConfigName, []byte(c.src))
			if len(ds) != 1 {
				t.Fatalf("%d reports: %v", len(ds), ds)
			}
			if d := ds[0]; !strings.Contains(d.Error(), c.want) || d.Span.Line != c.line {
				t.Errorf("got line %d: %v", d.Span.Line, d)
			}
		})
	}
}

func TestParseConfig(t *testing.T) {
	c, ds := parseConfig(ConfigName, []byte(`
[workspace]
name = "w"
[build]
platform = "a5"
[target."//a:f"]
analyze_auto_scopes_for_deps = true
[[test]]
target = "//a:f"
inputs.x = { random = 0, low = -2.0, high = 3.5 }
scalars = { n = 3, alpha = 0.5, on = true }
dims.M = 8
expect.reference = ["python3", "ref.py"]
rtol = 1e-3
`))
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	x := c.Tests[0]
	if x.Name != "f" || x.Line != 8 || *x.Inputs["x"].Random != 0 || *x.Inputs["x"].High != 3.5 || x.Scalars["n"] != int64(3) || x.Dims["M"] != 8 || *x.RTol != 1e-3 ||
		x.ATol != nil || !*c.Targets["//a:f"].AutoDeps {
		t.Errorf("%+v", x)
	}
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte("[[test]]\ntarget = \"//a:f\"\n"))
	f.Fuzz(func(t *testing.T, b []byte) { parseConfig(ConfigName, b) })
}

func TestSimulatorConfig(t *testing.T) {
	c, ds := parseConfig(ConfigName, []byte(`
[build]
platform = "a5"
[simulator]
clusters = 36
task_window = 64
heap = ["1MiB", 2048, "4MiB", "4MiB"]
exact_overlap = true
timeout = "5m"
costs = { launch = 0, macs_per_ns = 9 }
kernels.add = 1200
`))
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	m := c.machine()
	want := sim.PlatformCosts("a5")
	want.Launch, want.Multiply = 0, 9
	if m.Platform != "a5" || m.Clusters != 36 || m.Limits.Rings[2].TaskWindow != 64 || m.Limits.Rings[0].Heap != 1<<20 || m.Limits.Rings[1].Heap != 2048 ||
		!m.ExactOverlap || *m.Costs != want || m.Times["add"] != 1200 || c.timeout() != 5*time.Minute {
		t.Errorf("%+v", m)
	}
	full, err := sim.Complete((&Config{}).machine())
	if err != nil || full.Clusters != 8 || full.Limits.Rings[3].TaskWindow != 16384 || *full.Costs != sim.PlatformCosts("") {
		t.Errorf("%+v, %v", full, err)
	}
}
