// Package bench measures ptobuild, where it can beside a peer that does comparable work in the same run. README.md says what stands beside what. Nothing
// here fails because it is slow: the numbers are for people.
package bench

import (
	"bytes"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ptobuild/ptobuild/runtime/native"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if dir := buildDir; dir != "" {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// side is one of two things that are measured in turn.
type side struct {
	name string
	run  func()
}

// against measures ours as the benchmark and the peer after each of its runs, and reports how many times faster the medians say that we are.
func against(b *testing.B, ours func(), peer side) {
	b.Helper()
	if peer.run == nil {
		b.Logf("%s is not installed: no ratio", peer.name)
		for b.Loop() {
			ours()
		}
		return
	}
	ours() // both warm
	peer.run()
	var a, p []time.Duration
	for b.Loop() {
		start := time.Now()
		ours()
		a = append(a, time.Since(start))
		b.StopTimer()
		start = time.Now()
		peer.run()
		p = append(p, time.Since(start))
		b.StartTimer()
	}
	b.ReportMetric(float64(median(p)), "peer-ns/op")
	b.ReportMetric(float64(median(p))/float64(median(a)), "x-vs-"+peer.name)
	b.ReportMetric(float64(p[0])/float64(a[0]), "best-x") // medians are in order now
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// command is a side that runs a program; its run is nil when the program is not installed.
func command(b *testing.B, name, dir string, argv ...string) side {
	path, err := osexec.LookPath(argv[0])
	if err != nil {
		return side{name: name}
	}
	return side{name, func() { runCommand(b, dir, path, argv[1:]...) }}
}

func runCommand(b *testing.B, dir, path string, args ...string) {
	cmd := osexec.Command(path, args...)
	cmd.Dir = dir
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	if err := cmd.Run(); err != nil {
		b.Fatalf("%s %v: %v\n%s", path, args, err, text.String())
	}
}

// The tool's binary, built once.
var (
	buildDir string
	built    = sync.OnceValues(func() (string, error) {
		dir, err := os.MkdirTemp("", "ptobuild-bench-")
		if err != nil {
			return "", err
		}
		buildDir = dir
		exe := filepath.Join(dir, "ptobuild")
		cmd := osexec.Command("go", "build", "-o", dir+"/", "../cmd/ptobuild", "../cmd/"+native.HelperName)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if text, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w\n%s", err, text)
		}
		return exe, nil
	})
)

func tool(b *testing.B) string {
	b.Helper()
	exe, err := built()
	if err != nil {
		b.Fatal(err)
	}
	return exe
}

// orchestrationHost is the program that compiled C++ runs in.
func orchestrationHost(b *testing.B) string {
	return filepath.Join(filepath.Dir(tool(b)), native.HelperName)
}

// examples are the files of the workspace, by path from this folder.
func examples(b *testing.B) []string {
	b.Helper()
	files, err := filepath.Glob("../examples/*.py")
	if err != nil || len(files) == 0 {
		b.Fatalf("no examples: %v", err)
	}
	return files
}

// workspace is a copy of the examples and Pto.toml without any state.
func workspace(b *testing.B) string {
	b.Helper()
	dir := b.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS("../examples")); err != nil {
		b.Fatal(err)
	}
	config, err := os.ReadFile("../Pto.toml")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "Pto.toml"), config, 0o666)
	}
	if err != nil {
		b.Fatal(err)
	}
	return dir
}
