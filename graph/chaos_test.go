package graph

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ptobuild/ptobuild/cache"
)

// childRoot tells the test binary to build a workspace and do nothing else; fileLimit, how large a file may be for it.
const (
	childRoot = "PTOBUILD_TEST_BUILD"
	fileLimit = "PTOBUILD_TEST_FILE_LIMIT"
)

// TestBuildChild is the process that other tests run, and kill. It prints what the build reports.
func TestBuildChild(t *testing.T) {
	root := os.Getenv(childRoot)
	if root == "" {
		return
	}
	if n, err := strconv.ParseUint(os.Getenv(fileLimit), 10, 64); err == nil {
		signal.Ignore(syscall.SIGXFSZ) // then writing fails with EFBIG, after as much as fits
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: n}); err != nil {
			t.Fatal(err)
		}
	}
	store, err := cache.NewDisk(filepath.Join(root, ".cache"), func(err error) { fmt.Println("cache:", err) })
	if err != nil {
		fmt.Println("cache:", err)
	}
	s := &site{t, root, nil}
	if store != nil {
		s.store = store
	}
	fmt.Println(s.build().Diagnostics)
}

// child makes a process that builds a site.
func (s *site) child(env ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestBuildChild$") // whoever runs it need not be able to find it
	cmd.Env = append(append(os.Environ(), childRoot+"="+s.root), env...)
	return cmd
}

// versions gives the text that each output has in some version of the sources.
func (s *site) versions() map[string]bool {
	s.t.Helper()
	texts := map[string]bool{}
	for i := range 3 {
		s.write("a.py", version(i))
		s.build()
		for name, text := range s.outputs() {
			texts[name+text] = true
		}
	}
	return texts
}

// whole fails when an output has a text that it has in no version.
func (s *site) whole(texts map[string]bool, after string) {
	s.t.Helper()
	for name, text := range s.outputs() {
		if !texts[name+text] {
			s.t.Fatalf("%s: %s is half written", after, name)
		}
	}
}

// right builds, and fails when the outputs are not those of a clean build.
func (s *site) right(after string) {
	s.t.Helper()
	if r := s.build(); r.Diagnostics.HasErrors() || !maps.Equal(s.outputs(), s.clean()) {
		s.t.Fatalf("%s: %v; outputs %q, clean %q", after, r.Diagnostics, slices.Sorted(maps.Keys(s.outputs())), slices.Sorted(maps.Keys(s.clean())))
	}
}

// A build that is killed at any moment leaves outputs that are old or new, never half, and the next build makes them right.
func TestKilled(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	rng := rand.New(rand.NewPCG(1, 2))
	texts := s.versions()
	killed := 0
	for i := range 200 {
		s.write("a.py", version(rng.IntN(3)))
		if i%10 == 0 {
			s.remove(".cache") // without it there is more to do
			s.remove(OutDir)
		}
		cmd := s.child()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rng.IntN(15_000)) * time.Microsecond) // a random moment of its life
		_ = cmd.Process.Kill()                                         // it may have ended
		if cmd.Wait() != nil {
			killed++
		}
		s.whole(texts, fmt.Sprint("kill ", i))
		if i%4 == 0 {
			s.right(fmt.Sprint("kill ", i))
		}
	}
	t.Logf("%d builds were killed before their end", killed)
}

// A disk that is full at any point of a build: what cannot be written is reported, what is there is whole, and when there is room again it comes right. The
// limit of the size of a file stands for the disk: it holds for root as well, and lets the first part of a file through.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	texts := s.versions()
	reported := 0
	for i := range 16 {
		s.write("a.py", version(i%3))
		if i%4 == 0 {
			s.remove(OutDir)
			s.remove(".cache")
		}
		out, err := s.child(fileLimit + "=" + fmt.Sprint(i*100)).Output()
		if err != nil {
			t.Fatalf("with files of %d bytes: %v\n%s", i*100, err, out)
		}
		if strings.Contains(string(out), string(CodeOutput)) && strings.Contains(string(out), "file too large") {
			reported++
		}
		s.whole(texts, fmt.Sprint("files of ", i*100))
		if i%2 == 1 {
			s.right(fmt.Sprint("after files of ", i*100))
		}
	}
	if reported < 4 {
		t.Errorf("only %d builds said that something could not be written", reported)
	}
	s.right("in the end")
	if left, err := filepath.Glob(s.abs(StateDir + "/.tmp-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// Outputs, state and cache that may not be written: what is built is reported as not written, nothing is lost, and it comes right when they may be.
func TestReadOnly(t *testing.T) {
	s := newSite(t)
	if err := filepath.WalkDir(s.root, func(p string, d fs.DirEntry, err error) error { return errors.Join(err, os.Lchown(p, nobody(), -1)) }); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{s.root, filepath.Dir(s.root)} { // made for whoever runs the test
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run := func() string {
		t.Helper()
		cmd := s.child("HOME=" + s.root)
		if os.Getuid() == 0 { // may write everything
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(nobody()), Gid: uint32(nobody())}}
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	modes := func(below string, dirs, files fs.FileMode) {
		t.Helper()
		var names []string
		if err := filepath.WalkDir(s.abs(below), func(p string, d fs.DirEntry, err error) error {
			names = append(names, p)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		for _, p := range slices.Backward(names) {
			mode := files
			if info, err := os.Lstat(p); err == nil && info.IsDir() {
				mode = dirs
			}
			if err := os.Chmod(p, mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	if out := run(); strings.Contains(out, "PTO-") || strings.Contains(out, "cache:") {
		t.Fatalf("first build: %s", out)
	}
	for i, x := range []struct{ dir, told string }{{OutDir, string(CodeOutput)}, {StateDir, ""}, {".cache", "cache:"}} {
		before := s.outputs()
		modes(x.dir, 0o555, 0o444)
		s.write("a.py", version(i+1))
		for again := range 2 {
			if again == 1 && x.dir == ".cache" {
				x.told = "" // there is nothing to store any more
			}
			if out := run(); x.told != "" && (!strings.Contains(out, x.told) || !strings.Contains(out, "permission denied")) || x.told == "" && strings.Contains(out, "PTO-") {
				t.Errorf("%s cannot be written: %s", x.dir, out)
			}
		}
		if got := s.outputs(); x.dir == OutDir && !maps.Equal(got, before) {
			t.Error("read-only outputs changed")
		} else if x.dir != OutDir && !maps.Equal(got, s.clean()) {
			t.Errorf("with %s read-only the outputs are wrong", x.dir)
		}
		modes(x.dir, 0o777, 0o666)
		run()
		if !maps.Equal(s.outputs(), s.clean()) {
			t.Errorf("after %s could be written again the outputs are wrong", x.dir)
		}
	}
}

// nobody is a user without rights.
func nobody() int {
	if uid := os.Getuid(); uid != 0 {
		return uid
	}
	return 65534
}

// version is one of some texts of a source.
func version(i int) string {
	return strings.Replace(program, "o = self.k(a, o)", strings.Repeat("o = self.k(a, o)\n        ", i)+"o = self.k(a, o)", 1)
}

// Builds at the same time get in each other's way, but no output is ever half written, and none is wrong in the end.
func TestBuildsAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	texts := s.versions()
	for i := range 8 {
		s.write("a.py", version(i%3))
		var builds []*exec.Cmd
		for range 3 {
			cmd := s.child()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			builds = append(builds, cmd)
		}
		s.write("a.py", version((i+1)%3)) // while they run
		for _, cmd := range builds {
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		}
		s.whole(texts, fmt.Sprint("round ", i))
		s.right(fmt.Sprint("round ", i))
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
