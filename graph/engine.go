package graph

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ptobuild/ptobuild/cache"
)

// Action is one step whose outputs depend on nothing but its key.
type Action struct {
	Mnemonic string // "Compile", "Reference", "Test"
	Target   Label
	Key      cache.Digest
	// Run makes the outputs, by name. A failure is not cached.
	Run func(ctx context.Context) (map[string][]byte, error)
}

// Result is what an action gave.
type Result struct {
	Outputs map[string][]byte
	Cached  bool
	Took    time.Duration
}

// Engine runs actions: each key once, results from the store when it has them, at most Jobs at a time.
type Engine struct {
	Store cache.Store // nil: nothing is kept between processes
	// Done, when set, is told of every action that ended. It may be called from several goroutines.
	Done func(a *Action, r *Result, err error)

	slots chan struct{}
	mu    sync.Mutex // guards calls
	calls map[cache.Digest]*call
}

// holdsSlot is the context key that marks the inside of a running action.
type holdsSlot struct{}

type call struct {
	done chan struct{}
	res  *Result
	err  error
}

// NewEngine makes an engine with a number of slots.
func NewEngine(store cache.Store, jobs int) *Engine {
	return &Engine{Store: store, slots: make(chan struct{}, max(jobs, 1)), calls: map[cache.Digest]*call{}}
}

// Do returns the result of an action. Callers of one key share one run.
func (e *Engine) Do(ctx context.Context, a *Action) (*Result, error) {
	e.mu.Lock()
	c, running := e.calls[a.Key]
	if !running {
		c = &call{done: make(chan struct{})}
		e.calls[a.Key] = c
	}
	e.mu.Unlock()
	if running {
		select {
		case <-c.done:
			return c.res, c.err
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	c.res, c.err = e.run(ctx, a)
	if c.err != nil { // the next caller may have better luck (a cancelled context, a full disk)
		e.mu.Lock()
		delete(e.calls, a.Key)
		e.mu.Unlock()
	}
	close(c.done)
	if e.Done != nil {
		e.Done(a, c.res, c.err)
	}
	return c.res, c.err
}

func (e *Engine) run(ctx context.Context, a *Action) (*Result, error) {
	start := time.Now()
	if r := e.lookup(ctx, a); r != nil {
		r.Took = time.Since(start)
		return r, nil
	}
	if ctx.Value(holdsSlot{}) == nil { // an action that needs another one lends it its slot: waiting for a second one could deadlock
		select {
		case e.slots <- struct{}{}:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		defer func() { <-e.slots }()
		ctx = context.WithValue(ctx, holdsSlot{}, true)
	}
	outs, err := a.Run(ctx)
	if err != nil {
		return nil, err
	}
	e.save(ctx, a, outs)
	return &Result{Outputs: outs, Took: time.Since(start)}, nil
}

// lookup returns the stored result of an action, nil when there is none that is whole.
func (e *Engine) lookup(ctx context.Context, a *Action) *Result {
	if e.Store == nil {
		return nil
	}
	ar, err := e.Store.GetAction(ctx, a.Key)
	if err != nil {
		return nil
	}
	r := &Result{Outputs: make(map[string][]byte, len(ar.Outputs)), Cached: true}
	for _, o := range ar.Outputs {
		b, err := e.Store.Get(ctx, o.Digest)
		if err != nil {
			return nil
		}
		r.Outputs[o.Path] = b
	}
	return r
}

// save records outputs. A cache that cannot be written never fails a build: the action only runs again next time.
func (e *Engine) save(ctx context.Context, a *Action, outs map[string][]byte) {
	if e.Store == nil {
		return
	}
	ar := &cache.ActionResult{}
	for name, b := range outs {
		d, err := e.Store.Put(ctx, b)
		if err != nil {
			return
		}
		ar.Outputs = append(ar.Outputs, cache.OutputFile{Path: name, Digest: d})
	}
	_ = e.Store.PutAction(ctx, a.Key, ar)
}

// PluginWorkers is how many sources per job are compiled at a time where there are plugins.
const PluginWorkers = 4

// workers is how many sources are compiled at a time (jobs as for Each). One that waits for a plugin needs no core, and what is asked at the same time travels together.
func (b *Builder) workers(jobs int) int {
	if b.client == nil || jobs == 1 {
		return jobs
	}
	return PluginWorkers * cmp.Or(max(jobs, 0), runtime.NumCPU())
}

// Each runs f for every item, at most jobs at once (0: one per core), and returns all errors joined, in item order.
func Each[T any](jobs int, items []T, f func(i int, item T) error) error {
	if jobs <= 0 {
		jobs = runtime.NumCPU()
	}
	errs := make([]error, len(items))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(jobs, len(items)) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(items) {
					return
				}
				errs[i] = f(i, items[i])
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
