package graph

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ptobuild/ptobuild/cache"
)

// childRoot tells the test binary to build a workspace and do nothing else.
const childRoot = "PTOBUILD_TEST_BUILD"

// TestBuildChild is the process that TestKilled kills.
func TestBuildChild(t *testing.T) {
	root := os.Getenv(childRoot)
	if root == "" {
		return
	}
	store, err := cache.NewDisk(filepath.Join(root, ".cache"), nil)
	if err != nil {
		t.Fatal(err)
	}
	(&site{t, root, store}).build()
}

// A build that is killed at any moment leaves outputs that are old or new, never half, and the next build makes them right.
func TestKilled(t *testing.T) {
	s := newSite(t)
	rng := rand.New(rand.NewPCG(1, 2))
	texts := map[string]bool{} // of every C++ file that a build can make
	for i := range 3 {
		s.write("a.py", version(i))
		s.build()
		for name, text := range s.outputs() {
			texts[name+text] = true
		}
	}
	killed := 0
	for i := range 120 {
		s.write("a.py", version(rng.IntN(3)))
		if i%10 == 0 {
			s.remove(".cache") // without it there is more to do
			s.remove(OutDir)
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestBuildChild$")
		cmd.Env = append(os.Environ(), childRoot+"="+s.root)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rng.IntN(30)) * time.Millisecond) // a random moment of its life
		_ = cmd.Process.Kill()                                     // it may have ended
		if cmd.Wait() != nil {
			killed++
		}
		for name, text := range s.outputs() {
			if !texts[name+text] && !strings.HasPrefix(filepath.Base(name), ".tmp-") {
				t.Fatalf("kill %d left %s half written", i, name)
			}
		}
		if i%4 == 0 {
			if r := s.build(); r.Diagnostics.HasErrors() || !maps.Equal(s.outputs(), s.clean()) {
				t.Fatalf("after kill %d: %v; outputs %q, clean %q", i, r.Diagnostics, slices.Sorted(maps.Keys(s.outputs())), slices.Sorted(maps.Keys(s.clean())))
			}
		}
	}
	t.Logf("%d builds were killed before their end", killed)
}

// version is one of some texts of a source.
func version(i int) string {
	return strings.Replace(program, "o = self.k(a, o)", strings.Repeat("o = self.k(a, o)\n        ", i)+"o = self.k(a, o)", 1)
}

// Builds at the same time get in each other's way, but no output is wrong in the end.
func TestTwoBuildsAtOnce(t *testing.T) {
	s := newSite(t)
	for i := range 10 {
		s.write("a.py", version(i%3))
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if _, err := s.tryBuild(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		s.write("sub/b.py", strings.Replace(version((i+1)%3), "class P", "class Q", 1))
		wg.Wait()
		if r := s.build(); r.Diagnostics.HasErrors() || !maps.Equal(s.outputs(), s.clean()) {
			t.Fatalf("round %d: %v", i, r.Diagnostics)
		}
	}
}

// What cannot be written is reported, and written when it can be.
func TestUnwritableOutputs(t *testing.T) {
	s := newSite(t)
	s.write("build/a", "a file where a folder should be")
	if r := s.build(); !r.Diagnostics.HasErrors() || len(r.Targets) != 4 {
		t.Errorf("%v", r.Diagnostics)
	}
	s.remove("build/a")
	if r := s.build(); r.Diagnostics.HasErrors() || !maps.Equal(s.outputs(), s.clean()) {
		t.Errorf("after it went: %v", r.Diagnostics)
	}
	s.remove(StateDir)
	s.write(StateDir, "a file where the state should be")
	for range 2 {
		if r := s.build(); fmt.Sprint(r.Diagnostics) == "" {
			t.Error("a header that cannot be written was not reported")
		}
	}
}

// Files from the future, after the clock was set back, are read every time and never taken for something else.
func TestClockSetBack(t *testing.T) {
	s := newSite(t)
	future := time.Now().Add(24 * time.Hour)
	for i := range 3 {
		s.write("a.py", version(i))
		if err := os.Chtimes(s.abs("a.py"), future, future); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if r := s.build(); r.Diagnostics.HasErrors() || !maps.Equal(s.outputs(), s.clean()) {
				t.Fatalf("version %d: %v", i, r.Diagnostics)
			}
		}
	}
}
