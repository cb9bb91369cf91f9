package graph

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// watched is a folder under watch.
type watched struct {
	t    *testing.T
	root string
	w    *Watcher
}

func newWatched(t *testing.T, opt WatchOptions) *watched {
	x := &watched{t: t, root: t.TempDir()}
	x.write("a.py", "1")
	x.write("build/x", "1")
	x.write(".git/index", "1")
	ctx, cancel := context.WithCancel(t.Context())
	opt.Concerns = func(p string) bool { return strings.HasSuffix(p, ".py") || p == "data.npy" || p == "sub" }
	x.w = Watch(ctx, x.root, opt)
	t.Cleanup(func() {
		cancel()
		for range x.w.C { // closed after cancel
		}
	})
	return x
}

func (x *watched) write(name, text string) {
	x.t.Helper()
	p := filepath.Join(x.root, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
		x.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o666); err != nil {
		x.t.Fatal(err)
	}
}

// expect waits until a change of a path was told.
func (x *watched) expect(what, path string, change func()) {
	x.t.Helper()
	change()
	limit := time.After(10 * time.Second)
	for {
		select {
		case b := <-x.w.C:
			if b.All || slices.Contains(b.Paths, path) {
				return
			}
		case <-limit:
			x.t.Fatalf("%s was not seen", what)
		}
	}
}

func TestWatch(t *testing.T) {
	x := newWatched(t, WatchOptions{})
	rename := func(from, to string) {
		if err := os.Rename(filepath.Join(x.root, from), filepath.Join(x.root, to)); err != nil {
			t.Fatal(err)
		}
	}
	x.expect("a write", "a.py", func() { x.write("a.py", "2") })
	for i := range 3 { // a watch of the file would be lost with the first
		x.expect("an atomic replace", "a.py", func() {
			x.write("a.py.tmp", fmt.Sprint(i))
			rename("a.py.tmp", "a.py")
		})
	}
	x.expect("a save as vim does it", "a.py", func() {
		rename("a.py", "a.py~")
		x.write("a.py", "3")
	})
	for i := range 20 { // the file may be there before the folder is watched
		name := fmt.Sprintf("new%d/deep/b.py", i)
		x.expect("a file in a new folder", name, func() { x.write(name, "1") })
	}
	x.expect("a second file in the new folder", "new1/deep/c.py", func() { x.write("new1/deep/c.py", "1") })
	x.expect("a file that the build reads", "data.npy", func() { x.write("data.npy", "1") })
	x.expect("a removal", "a.py", func() {
		if err := os.Remove(filepath.Join(x.root, "a.py")); err != nil {
			t.Fatal(err)
		}
	})
	x.write("sub/x.py", "1")
	x.expect("a folder that is moved away", "sub", func() { rename("sub", "gone") })
}

// Batches that are put together share nothing with those that they are made of: a round may still read one.
func TestBatchWith(t *testing.T) {
	a := Batch{Paths: append(make([]string, 0, 8), "a.py", "b.py")}
	b := a.With(Batch{Paths: []string{"b.py", "c.py"}, All: true})
	c := a.With(Batch{Paths: []string{"a.py"}})
	if want := []string{"a.py", "b.py", "c.py"}; !slices.Equal(b.Paths, want) || !b.All {
		t.Errorf("got %v", b)
	}
	if want := []string{"a.py", "b.py"}; !slices.Equal(c.Paths, want) || !slices.Equal(a.Paths, want) || c.All {
		t.Errorf("got %v of %v", c, a)
	}
}

// A storm of changes is told of in a few batches that name every file.
func TestWatchStorm(t *testing.T) {
	x := newWatched(t, WatchOptions{})
	const n = 2000
	go func() {
		for i := range n {
			x.write(fmt.Sprintf("d%d/s%d.py", i%20, i), "1")
		}
	}()
	seen := map[string]bool{}
	batches := 0
	limit := time.After(30 * time.Second)
	for len(seen) < n {
		select {
		case b := <-x.w.C:
			batches++
			if b.All {
				return
			}
			for _, p := range b.Paths {
				seen[p] = true
			}
		case <-limit:
			t.Fatalf("%d of %d files in %d batches", len(seen), n, batches)
		}
	}
	if batches > n/10 {
		t.Errorf("%d batches for %d files", batches, n)
	}
}

// A file that changes all the time holds nothing up.
func TestWatchBusyFile(t *testing.T) {
	x := newWatched(t, WatchOptions{})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				x.write("a.py", "2")
			}
		}
	})
	x.expect("a file that is written without an end", "a.py", func() {})
	close(stop)
	wg.Wait()
}

// When events were lost anything may have changed.
func TestWatchOverflow(t *testing.T) {
	w := &Watcher{root: t.TempDir(), concerns: func(string) bool { return true }, batches: make(chan Batch)}
	faults, raw := make(chan error, 1), make(chan Batch, 1)
	faults <- fsnotify.ErrEventOverflow
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go w.drain(ctx, nil, faults, raw, 0)
	go w.settle(ctx, raw)
	if b := <-w.batches; !b.All || w.Polls() {
		t.Errorf("%+v, polls: %v", b, w.Polls())
	}
}

// A change of branch is one batch, however many files it writes.
func TestWatchBranchSwitch(t *testing.T) {
	x := newWatched(t, WatchOptions{})
	const n = 10000
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("d%02d/s%04d.py", i%50, i))
	}
	slices.Sort(names)
	x.write(".git/index.lock", "")
	for _, name := range names {
		x.write(name, "1")
	}
	if err := os.Remove(filepath.Join(x.root, ".git/index.lock")); err != nil {
		t.Fatal(err)
	}
	got := <-x.w.C
	if got.Paths = slices.DeleteFunc(got.Paths, func(p string) bool { return p == "a.py" }); !got.All && !slices.Equal(got.Paths, names) {
		t.Errorf("the first batch has %d of %d files", len(got.Paths), n)
	}
	x.write("a.py", "2") // had there been more to tell, it would come first
	if b := <-x.w.C; !slices.Equal(b.Paths, []string{"a.py"}) {
		t.Errorf("a second batch for one change of branch: %d files", len(b.Paths))
	}
}

// While git holds its lock nothing is told; then all of it is, what came last at once or right after.
func TestWatchWaitsForGit(t *testing.T) {
	x := newWatched(t, WatchOptions{})
	x.write(".git/index.lock", "")
	x.write("a.py", "2")
	select {
	case b := <-x.w.C:
		t.Fatalf("told of %v during a checkout", b)
	case <-time.After(3 * settleMany):
	}
	x.write("b.py", "2")
	if err := os.Remove(filepath.Join(x.root, ".git/index.lock")); err != nil {
		t.Fatal(err)
	}
	told := <-x.w.C
	for !slices.Contains(told.Paths, "b.py") {
		told = told.With(<-x.w.C)
	}
	if !slices.Equal(told.Paths, []string{"a.py", "b.py"}) {
		t.Errorf("%v after the checkout", told.Paths)
	}
}

func TestWatchIgnoresTheRest(t *testing.T) {
	x := newWatched(t, WatchOptions{})
	for _, name := range []string{"build/x", ".git/index", "notes.txt", "log/out.txt", "__pycache__/a.py", "build/y.py"} {
		x.write(name, "2")
	}
	x.write("a.py", "2") // events are in order: had one of the others been told of, it would have come first
	if b := <-x.w.C; !slices.Equal(b.Paths, []string{"a.py"}) {
		t.Errorf("told of %v", b.Paths)
	}
}

// Where folders cannot be watched they are polled, with advice.
func TestWatchFallsBackToPolling(t *testing.T) {
	x := newWatched(t, WatchOptions{limit: 2})
	x.expect("a change in a folder that is watched", "a.py", func() { x.write("a.py", "2") })
	x.expect("a change beyond the limit", "p/q/r/s/b.py", func() { x.write("p/q/r/s/b.py", "2") })
	if !x.w.Polls() || x.w.Advice() == nil || !strings.Contains(x.w.Advice().Hint, "max_user_watches") {
		t.Errorf("polls: %v, advice: %v", x.w.Polls(), x.w.Advice())
	}
	y := newWatched(t, WatchOptions{Poll: true})
	y.expect("a change", "a.py", func() { y.write("a.py", "2") })
}

// The root may go and come back.
func TestWatchSurvivesItsRoot(t *testing.T) {
	x := newWatched(t, WatchOptions{})
	x.expect("the removal", "a.py", func() {
		if err := os.RemoveAll(x.root); err != nil {
			t.Fatal(err)
		}
	})
	x.expect("the return", "a.py", func() { x.write("a.py", "2") })
	x.expect("a change after it", "a.py", func() { x.write("a.py", "3") })
}
