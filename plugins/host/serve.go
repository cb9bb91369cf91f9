package host

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/plugins"
	"github.com/ptobuild/ptobuild/plugins/launch"
)

// Serve answers a client (plugins.Pipe) until in ends, then ends all plugins.
func Serve(in io.Reader, out io.Writer) error {
	pipe := plugins.NewPipe(in, out)
	var hello plugins.Hello
	if err := pipe.Receive(&hello); err != nil {
		return fmt.Errorf("reading the first message: %w", err)
	}
	if err := pipe.Send(plugins.HelloReply{Version: plugins.PipeVersion}); err != nil {
		return err
	}
	if hello.Version != plugins.PipeVersion {
		return nil // the client says so
	}
	h := newIn(hello.Folder, hello.Plugins)
	h.shared = hello.Shared
	exited := make(chan string, 1)
	if l := hello.Launched; l != nil {
		h.plugins[l.Plugin].launched = &launched{*l, launch.Inherited(plugins.LaunchedStdout), launch.Inherited(plugins.LaunchedStderr), exited}
	}
	var err error
	ctx, cancel := context.WithCancel(context.Background())
	var mu sync.Mutex // of sending
	var wg sync.WaitGroup
	for {
		var r plugins.Request
		if err = pipe.ReceiveRequest(&r); err != nil {
			break
		}
		if r.Exit != nil {
			exited <- r.Exit.State
			continue
		}
		wg.Go(func() {
			resp := h.answer(ctx, &r)
			mu.Lock()
			defer mu.Unlock()
			_ = pipe.SendResponse(resp) // a client that is gone no longer waits
		})
	}
	close(exited)
	cancel()
	wg.Wait()
	if err == io.EOF {
		err = nil
	}
	if closing := h.Close(); err == nil {
		err = closing
	}
	return err
}

func (h *Host) answer(ctx context.Context, r *plugins.Request) *plugins.Response {
	out := &plugins.Response{ID: r.ID}
	p := h.Plugin(r.Plugin)
	if p == nil {
		out.Failure = diag.List{diag.Errorf(plugins.CodeConfig, diag.Span{}, "no plugin is named %q", r.Plugin)}
		return out
	}
	var err error
	switch {
	case r.Infer != nil:
		out.Infer, err = p.Infer(ctx, r.Infer)
	case r.Verify != nil:
		out.Verify, err = p.Verify(ctx, r.Verify)
	case r.Emit != nil:
		out.Emit, err = p.Emit(ctx, r.Emit)
	case r.Evaluate != nil:
		out.Evaluate, err = p.Evaluate(ctx, r.Evaluate)
	case r.Run != nil:
		out.Run, err = p.Run(ctx, r.Run)
	default:
		out.Desc, err = p.Describe(ctx)
	}
	if err != nil {
		*out = plugins.Response{ID: r.ID, Failure: diag.AsList(err, plugins.CodeFailed)}
	}
	return out
}
