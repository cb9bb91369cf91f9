package remote

import (
	"bufio"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/ptobuild/ptobuild/cache"
)

// HelperName is the program that talks to remotes; HelperEnv overrides where it is.
const (
	HelperName = "ptobuild-remote-cache"
	HelperEnv  = "PTOBUILD_REMOTE_CACHE_HELPER"
)

// Helper is the path of that program: beside the running executable unless the environment says otherwise.
func Helper() (string, error) {
	if p := os.Getenv(HelperEnv); p != "" {
		return p, nil
	}
	exe, err := os.Executable()
	return filepath.Join(filepath.Dir(exe), HelperName), err
}

// greetingTime is how long the helper may take to start.
const greetingTime = 20 * time.Second

var errHelper = errors.New("no helper for remote caches")

// helper is the running program. The zero value of what mu guards is one that was not started.
type helper struct {
	path  string
	hello Hello
	warn  func(*Warning)

	mu      sync.Mutex // guards what follows
	started bool
	broken  bool // never to be started again
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     io.Closer
	queue   []*Request    // to be written
	wake    chan struct{} // has an element when the queue may have some
	leaving chan struct{} // closed when nothing more will be queued
	written chan struct{} // closed when nothing more will be written
	next    uint64
	waiting map[uint64]chan *Response
	ended   chan struct{} // closed when its output ended
}

// call sends a request and waits for its answer.
func (h *helper) call(ctx context.Context, r *Request) (*Response, error) {
	answer := make(chan *Response, 1)
	ended, err := h.post(r, answer)
	if err != nil {
		return nil, err
	}
	select {
	case resp := <-answer:
		return resp, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-ended:
		h.lost()
		return nil, errHelper
	}
}

// send sends a request whose answer nobody waits for.
func (h *helper) send(r *Request) { _, _ = h.post(r, nil) } // a helper that is gone was reported

// post queues a request, so that a helper that does not read holds up nobody. The answer goes to answer when that is not nil; ended is closed when there
// will be none.
func (h *helper) post(r *Request, answer chan *Response) (ended chan struct{}, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.started && !h.broken {
		h.started = true
		if w := h.start(); w != nil {
			h.broken = true
			h.warn(w)
		}
	}
	if h.broken {
		return nil, errHelper
	}
	h.next++
	r.ID = h.next
	if answer != nil {
		h.waiting[r.ID] = answer
	}
	h.queue = append(h.queue, r)
	select {
	case h.wake <- struct{}{}:
	default:
	}
	return h.ended, nil
}

// write writes the queue until the helper ends, or is left.
func (h *helper) write(w *bufio.Writer, enc *gob.Encoder, wake, ended, leaving, written chan struct{}) {
	defer close(written)
	for last := false; !last; {
		select {
		case <-wake:
		case <-leaving:
			last = true
		case <-ended:
			return
		}
		h.mu.Lock()
		queue := h.queue
		h.queue = nil
		h.mu.Unlock()
		for _, r := range queue {
			if enc.Encode(r) != nil {
				return // it ended; whoever waits for an answer learns that from ended
			}
		}
		if w.Flush() != nil {
			return
		}
	}
}

// lost reports, once, that the helper ended by itself.
func (h *helper) lost() {
	h.mu.Lock()
	first := !h.broken
	h.broken = true
	h.mu.Unlock()
	if first {
		h.warn(&Warning{Code: cache.CodeHelper, Message: h.path + ", which talks to remote caches, ended unexpectedly; building without them"})
	}
}

// start starts the program and greets it; the lock is held.
func (h *helper) start() *Warning {
	cmd := exec.Command(h.path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for us to handle
	cmd.Stderr = os.Stderr                                // where the Go runtime writes of its end; nothing else does
	in, err := cmd.StdinPipe()
	if err != nil {
		return h.notStarted(err)
	}
	out, write, err := os.Pipe() // Wait would close StdoutPipe under the reader
	if err != nil {
		return h.notStarted(err)
	}
	cmd.Stdout = write
	err = cmd.Start()
	_ = write.Close()
	if err != nil {
		_ = out.Close()
		return h.notStarted(err)
	}
	buffered := bufio.NewWriter(in)
	enc, dec := gob.NewEncoder(buffered), gob.NewDecoder(bufio.NewReader(out))
	var reply HelloReply
	_ = out.SetReadDeadline(time.Now().Add(greetingTime)) // a pipe has deadlines
	if err = enc.Encode(h.hello); err == nil {
		err = buffered.Flush()
	}
	if err == nil {
		err = dec.Decode(&reply)
	}
	if err != nil || reply.Version != Version {
		_ = in.Close()
		_ = out.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return &Warning{Code: cache.CodeHelper, Message: h.path + ", which talks to remote caches, is not of the same version as this ptobuild; building without them",
			Hint: "install both from one release: go install ./cmd/..."}
	}
	_ = out.SetReadDeadline(time.Time{})
	h.cmd, h.in, h.out = cmd, in, out
	h.waiting, h.wake, h.ended = map[uint64]chan *Response{}, make(chan struct{}, 1), make(chan struct{})
	h.leaving, h.written = make(chan struct{}), make(chan struct{})
	go h.read(dec, h.ended)
	go h.write(buffered, enc, h.wake, h.ended, h.leaving, h.written)
	return nil
}

func (h *helper) notStarted(err error) *Warning {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return &Warning{Code: cache.CodeHelper, Message: fmt.Sprintf("%s, which talks to remote caches, cannot be started: %v; building without them", h.path, err),
		Hint: "install it beside ptobuild (go install ./cmd/...), or set " + HelperEnv + " to its path"}
}

// read hands out answers and warnings until the helper ends.
func (h *helper) read(dec *gob.Decoder, ended chan struct{}) {
	defer close(ended)
	for {
		resp := new(Response)
		if dec.Decode(resp) != nil {
			return
		}
		for i := range resp.Warnings {
			h.warn(&resp.Warnings[i])
		}
		h.mu.Lock()
		answer := h.waiting[resp.ID]
		delete(h.waiting, resp.ID)
		h.mu.Unlock()
		if answer != nil {
			answer <- resp
		}
	}
}

// leaveTime is how long leave waits for a helper that does not read: it reads all the time.
const leaveTime = time.Second

// leave lets the program end by itself, when it has done what it was sent.
func (h *helper) leave() {
	h.mu.Lock()
	in, running, leaving, written := h.in, h.cmd != nil, h.leaving, h.written
	h.cmd, h.broken = nil, true
	h.mu.Unlock()
	if !running {
		return
	}
	close(leaving)
	select {
	case <-written:
	case <-time.After(leaveTime):
	}
	_ = in.Close() // it ends when its input has
}

// close ends the program; what it has not uploaded is lost.
func (h *helper) close() {
	h.mu.Lock()
	cmd, in, out, ended := h.cmd, h.in, h.out, h.ended
	h.cmd, h.broken = nil, true
	h.mu.Unlock()
	if cmd == nil {
		return
	}
	_ = in.Close() // it ends when its input does; one that does not
	_ = cmd.Process.Kill()
	<-ended
	_ = cmd.Wait() // was killed
	_ = out.Close()
}
