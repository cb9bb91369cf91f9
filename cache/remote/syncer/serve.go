package syncer

import (
	"bufio"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/ptobuild/ptobuild/cache"
	"github.com/ptobuild/ptobuild/cache/remote"
)

// leftTime is how long uploads may go on after the tool has left.
const leftTime = time.Minute

// Serve answers requests until in ends, and then ends what was to be drained. dial makes the backend of a remote.
func Serve(in io.Reader, out io.Writer, dial func(*remote.Remote) (Backend, error)) error {
	dec := gob.NewDecoder(bufio.NewReader(in))
	var hello remote.Hello
	if err := dec.Decode(&hello); err != nil {
		return fmt.Errorf("reading the greeting: %w", err)
	}
	w := &writer{enc: gob.NewEncoder(out)}
	w.send(remote.HelloReply{Version: remote.Version})
	if hello.Version != remote.Version {
		return fmt.Errorf("the greeting has version %d, not %d", hello.Version, remote.Version)
	}
	warn := func(x remote.Warning) { w.send(&remote.Response{Warnings: []remote.Warning{x}}) }
	disk, err := cache.NewDisk(hello.Dir, func(err error) { warn(remote.Warning{Code: cache.CodeFolder, Message: err.Error()}) })
	if err != nil {
		return err
	}
	var remotes []*remote.Remote
	var backends []Backend
	for _, r := range hello.Remotes {
		b, err := dial(r)
		if err != nil {
			warn(warning(&peer{Remote: r}, cache.CodeConfig, err))
			continue
		}
		remotes, backends = append(remotes, r), append(backends, b)
	}
	s := New(disk, hello.Group, remotes, backends, warn)
	defer s.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var drains sync.WaitGroup
	for {
		r := new(remote.Request)
		if err := dec.Decode(r); errors.Is(err, io.EOF) {
			defer time.AfterFunc(leftTime, cancel).Stop()
			drains.Wait() // the tool has left, and lets us upload what it made
			return nil
		} else if err != nil {
			return fmt.Errorf("reading requests: %w", err)
		}
		if r.Op == remote.Upload { // in order, so that a later Drain waits for it
			s.Upload(r.Keys)
			continue
		}
		if r.Op == remote.Drain {
			drains.Add(1)
		}
		go func() {
			resp := &remote.Response{ID: r.ID}
			switch r.Op {
			case remote.Fetch:
				resp.Found = s.Fetch(ctx, r.Keys)
			case remote.Drain:
				s.Drain(ctx, r.Keys)
				drains.Done()
			case remote.Probe:
				resp.Health = s.Probe(ctx)
			}
			w.send(resp)
		}()
	}
}

// writer writes one value at a time.
type writer struct {
	mu  sync.Mutex
	enc *gob.Encoder
}

func (w *writer) send(v any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.enc.Encode(v) // whoever does not read has ended
}
