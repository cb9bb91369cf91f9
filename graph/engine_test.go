package graph

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ptobuild/ptobuild/cache"
)

func store(t *testing.T) cache.Store {
	t.Helper()
	s, err := cache.NewDisk(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func counted(n *atomic.Int32, key string) *Action {
	return &Action{Mnemonic: "Test", Key: cache.NewKey(key).Sum(), Run: func(context.Context) (map[string][]byte, error) {
		n.Add(1)
		return map[string][]byte{"out": []byte(key), "empty": nil}, nil
	}}
}

func TestActionRunsOnce(t *testing.T) {
	s := store(t)
	var n atomic.Int32
	e := NewEngine(s, 4)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if r, err := e.Do(context.Background(), counted(&n, "a")); err != nil || string(r.Outputs["out"]) != "a" {
				t.Error(r, err)
			}
		})
	}
	wg.Wait()
	if n.Load() != 1 {
		t.Errorf("ran %d times", n.Load())
	}
	// Another process finds the result in the store.
	r, err := NewEngine(s, 1).Do(context.Background(), counted(&n, "a"))
	if err != nil || !r.Cached || string(r.Outputs["out"]) != "a" || len(r.Outputs) != 2 || n.Load() != 1 {
		t.Errorf("%+v, %v, %d runs", r, err, n.Load())
	}
	if _, err := NewEngine(s, 1).Do(context.Background(), counted(&n, "b")); err != nil || n.Load() != 2 {
		t.Errorf("another key: %v, %d runs", err, n.Load())
	}
}

func TestFailureIsNotCached(t *testing.T) {
	e := NewEngine(store(t), 1)
	fail := true
	a := &Action{Key: cache.NewKey("x").Sum(), Run: func(context.Context) (map[string][]byte, error) {
		if fail {
			return nil, errors.New("no luck")
		}
		return map[string][]byte{"out": []byte("ok")}, nil
	}}
	if _, err := e.Do(context.Background(), a); err == nil {
		t.Fatal("it succeeded")
	}
	fail = false
	if r, err := e.Do(context.Background(), a); err != nil || r.Cached {
		t.Errorf("second try: %+v, %v", r, err)
	}
}

// brokenStore fails every write and read: the build must not notice.
type brokenStore struct{}

var errDisk = errors.New("no space left on device")

func (brokenStore) Get(context.Context, cache.Digest) ([]byte, error) { return nil, errDisk }
func (brokenStore) Put(context.Context, []byte) (cache.Digest, error) { return cache.Digest{}, errDisk }
func (brokenStore) GetAction(context.Context, cache.Digest) (*cache.ActionResult, error) {
	return nil, errDisk
}
func (brokenStore) PutAction(context.Context, cache.Digest, *cache.ActionResult) error {
	return errDisk
}

func TestBrokenCacheDoesNotFailTheBuild(t *testing.T) {
	for _, s := range []cache.Store{nil, brokenStore{}} {
		var n atomic.Int32
		if r, err := NewEngine(s, 1).Do(context.Background(), counted(&n, "a")); err != nil || string(r.Outputs["out"]) != "a" {
			t.Errorf("%T: %+v, %v", s, r, err)
		}
	}
}

func TestJobsAreBounded(t *testing.T) {
	e := NewEngine(nil, 2)
	var running, most atomic.Int32
	err := Each(16, make([]int, 32), func(i int, _ int) error {
		_, err := e.Do(context.Background(), &Action{Key: cache.NewKey(fmt.Sprint(i)).Sum(), Run: func(context.Context) (map[string][]byte, error) {
			now := running.Add(1)
			for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
			}
			defer running.Add(-1)
			return nil, nil
		}})
		return err
	})
	if err != nil || most.Load() > 2 {
		t.Errorf("%v, %d at once", err, most.Load())
	}
}

// An action may need the result of another one, even when every slot is taken by such actions.
func TestNestedActionsDoNotDeadlock(t *testing.T) {
	e := NewEngine(nil, 2)
	err := Each(8, make([]int, 8), func(i int, _ int) error {
		_, err := e.Do(context.Background(), &Action{Key: cache.NewKey(fmt.Sprint(i)).Sum(), Run: func(ctx context.Context) (map[string][]byte, error) {
			_, err := e.Do(ctx, &Action{Key: cache.NewKey(fmt.Sprint("inner", i%3)).Sum(), Run: func(context.Context) (map[string][]byte, error) { return nil, nil }})
			return nil, err
		}})
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestCancelledAction(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	e := NewEngine(nil, 1)
	started := make(chan struct{})
	go func() {
		_, _ = e.Do(context.Background(), &Action{Key: cache.NewKey("slow").Sum(), Run: func(context.Context) (map[string][]byte, error) {
			close(started)
			<-ctx.Done()
			return nil, nil
		}})
	}()
	<-started
	cancel()
	if _, err := e.Do(ctx, &Action{Key: cache.NewKey("other").Sum(), Run: func(ctx context.Context) (map[string][]byte, error) {
		return nil, ctx.Err()
	}}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestEachKeepsOrderAndErrors(t *testing.T) {
	items := make([]int, 100)
	out := make([]int, 100)
	err := Each(3, items, func(i int, _ int) error {
		out[i] = i
		if i%40 == 7 {
			return fmt.Errorf("item %d", i)
		}
		return nil
	})
	if err == nil || err.Error() != "item 7\nitem 47\nitem 87" || out[99] != 99 {
		t.Errorf("%v", err)
	}
}
