package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"

	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/ui"
)

// The persistent worker protocol of Bazel, in its JSON form: requests come on stdin and answers go to stdout, one JSON object after the other. Requests
// with an id other than 0 may overlap (multiplex workers).

type workRequest struct {
	Arguments  []string `json:"arguments"`
	RequestID  int      `json:"requestId"`
	Cancel     bool     `json:"cancel"`     // of the request with this id
	SandboxDir string   `json:"sandboxDir"` // folder that the request's paths start from
}

type workResponse struct {
	ExitCode     int    `json:"exitCode"`
	Output       string `json:"output"`
	RequestID    int    `json:"requestId"`
	WasCancelled bool   `json:"wasCancelled,omitempty"`
}

// serveWorker answers requests of `emit` until stdin ends. Requests share syntax trees and the processes of plugins, and nothing else.
func (a *app) serveWorker(ctx context.Context) error {
	out := os.Stdout
	os.Stdout = os.Stderr // stdout is for answers only
	defer func() { os.Stdout = out }()
	plugins := graph.KeepPlugins(ctx)
	defer plugins.Close()
	w := &worker{trees: graph.NewTrees(), plugins: plugins, running: map[int]context.CancelFunc{}, out: json.NewEncoder(out)}
	return w.serve(ctx, os.Stdin)
}

type worker struct {
	trees   *graph.Trees
	plugins *graph.RunningPlugins

	mu      sync.Mutex
	running map[int]context.CancelFunc
	out     *json.Encoder
	failed  error // of out
}

func (w *worker) serve(ctx context.Context, in io.Reader) error {
	ctx, stop := context.WithCancel(ctx)
	var requests sync.WaitGroup
	defer requests.Wait()
	defer stop()
	dec := json.NewDecoder(in)
	for {
		var r workRequest
		if err := dec.Decode(&r); errors.Is(err, io.EOF) {
			requests.Wait() // stdin may close before the last answer
			return w.failed
		} else if err != nil {
			return err
		}
		w.mu.Lock()
		if w.failed != nil {
			w.mu.Unlock()
			return w.failed
		}
		if r.Cancel {
			if cancel := w.running[r.RequestID]; cancel != nil {
				cancel()
			}
			w.mu.Unlock()
			continue
		}
		rctx, cancel := context.WithCancel(ctx)
		w.running[r.RequestID] = cancel
		w.mu.Unlock()
		requests.Go(func() {
			defer cancel()
			answer := w.run(rctx, &r)
			w.mu.Lock()
			defer w.mu.Unlock()
			delete(w.running, r.RequestID)
			if err := w.out.Encode(answer); err != nil {
				w.failed = err
			}
		})
	}
}

// run runs one request as a command of its own.
func (w *worker) run(ctx context.Context, r *workRequest) *workResponse {
	var text bytes.Buffer
	app := &app{ui: &ui.UI{Out: &text, Err: &text}, trees: w.trees, running: w.plugins}
	defer app.closeBuilder()
	root := app.root()
	args := append([]string{"emit"}, r.Arguments...)
	if r.SandboxDir != "" {
		args = append(args, "--directory", r.SandboxDir)
	}
	root.SetArgs(args)
	root.SetOut(&text)
	root.SetErr(&text)
	code := app.exitCode(ctx, root.ExecuteContext(ctx))
	if ctx.Err() != nil {
		return &workResponse{RequestID: r.RequestID, WasCancelled: true}
	}
	return &workResponse{ExitCode: code, Output: text.String(), RequestID: r.RequestID}
}
