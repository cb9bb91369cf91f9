package client

import (
	"errors"
	"sync"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/plugins"
)

// A desk takes the questions of one kind about calls, keeps the answers, and sends questions together: those that come up while others are on their way, for files are
// compiled concurrently, and those that somebody foresaw. A message costs much more than a call in it.
type desk[A any] struct {
	recall func(*question[A]) bool // finds what an earlier command was answered
	send   func([]*question[A])    // asks the plugin, and fills in what it answers
	mixes  bool                    // questions with the flag and without may travel together

	mu    sync.Mutex
	asked map[memoKey]*question[A]
	lines map[line]*queue[A]
}

// question is one about a canonical call. All who have it share it, and its answer.
type question[A any] struct {
	memoKey
	call  *canonical
	table *ir.VarTable  // with the ids that data has
	done  chan struct{} // closed when one of the following is set

	err     error
	apart   bool // the plugin ended or hung when it was asked among others
	refused bool // the rule has something to report, which it shall do about the call itself, with its places
	answer  A
}

// memoKey tells the questions of a kind apart.
type memoKey struct {
	plugin string
	flag   bool   // of a question about a type: lenient; about C++: the result has a name
	data   string // the call, encoded
}

// line is what may travel in one message, queue what waits for one.
type line struct {
	plugin string
	flag   bool
}

type queue[A any] struct {
	waiting []*question[A]
	busy    bool // a message is on its way
}

// foresee is the question about a call. It travels with the next one that somebody waits for.
func (d *desk[A]) foresee(plugin string, call *canonical, flag bool) (*question[A], error) {
	q := &question[A]{memoKey: memoKey{plugin: plugin, flag: flag}, call: call, table: ir.NewVarTable(), done: make(chan struct{})}
	data, err := plugins.EncodeCalls([]*ir.OpCall{call.call}, q.table)
	if err != nil {
		return nil, err
	}
	q.data = string(data)
	d.mu.Lock()
	known := d.asked[q.memoKey]
	d.mu.Unlock()
	if known != nil {
		return known, nil
	}
	if d.recall(q) {
		close(q.done)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if known = d.asked[q.memoKey]; known != nil {
		return known, nil
	}
	if d.asked == nil {
		d.asked, d.lines = map[memoKey]*question[A]{}, map[line]*queue[A]{}
	}
	d.asked[q.memoKey] = q
	if !q.isDone() {
		l := d.line(q)
		l.waiting = append(l.waiting, q)
	}
	return q, nil
}

// line is where a question waits; the lock is held.
func (d *desk[A]) line(q *question[A]) *queue[A] {
	at := line{q.plugin, q.flag && !d.mixes}
	l := d.lines[at]
	if l == nil {
		l = &queue[A]{}
		d.lines[at] = l
	}
	return l
}

func (q *question[A]) isDone() bool {
	select {
	case <-q.done:
		return true
	default:
		return false
	}
}

// wait returns when a question is answered. Unless a message is on its way already, it sends what waits.
func (d *desk[A]) wait(q *question[A]) {
	if q.isDone() {
		return
	}
	d.mu.Lock()
	l := d.line(q)
	lead := !l.busy
	l.busy = true
	d.mu.Unlock()
	for lead && !q.isDone() && d.sendSome(l) {
	}
	if lead {
		go func() { // for those who came meanwhile
			for d.sendSome(l) {
			}
		}()
	}
	<-q.done
}

// sendSome sends a message of what waits, if anything does; else the line is not busy any more.
func (d *desk[A]) sendSome(l *queue[A]) bool {
	d.mu.Lock()
	batch := l.waiting[:min(len(l.waiting), maxBatch)]
	l.waiting = l.waiting[len(batch):]
	l.busy = len(batch) > 0
	d.mu.Unlock()
	if len(batch) == 0 {
		return false
	}
	d.send(batch)
	for _, q := range batch {
		close(q.done)
	}
	return true
}

// message is what questions ask, as one message has it.
type message struct {
	calls []*ir.OpCall
	data  []byte
	table *ir.VarTable
}

func messageOf[A any](batch []*question[A]) (*message, error) {
	m := &message{}
	for _, q := range batch {
		m.calls = append(m.calls, q.call.call)
	}
	if len(batch) == 1 {
		m.data, m.table = []byte(batch[0].data), batch[0].table
		return m, nil
	}
	m.table = ir.NewVarTable()
	var err error
	m.data, err = plugins.EncodeCalls(m.calls, m.table)
	return m, err
}

// apart sends questions one by one when they failed together because the plugin failed at one of them, so that the others get their answers.
func apart[A any](batch []*question[A], err error, send func([]*question[A])) bool {
	var ds diag.List
	if len(batch) == 1 || !errors.As(err, &ds) || len(ds) == 0 {
		return false
	}
	ended := false
	switch ds[0].Code {
	case plugins.CodeCrash, plugins.CodeHang, plugins.CodeMemory:
		ended = true
	case plugins.CodeFailed, plugins.CodeAnswer:
	default:
		return false
	}
	for i, q := range batch {
		q.apart = ended
		send(batch[i : i+1])
	}
	return true
}

// attemptOf says to the host what it shall do when the plugin fails at a message of these questions.
func attemptOf[A any](batch []*question[A]) plugins.Attempt {
	switch {
	case len(batch) > 1:
		return plugins.Together
	case batch[0].apart:
		return plugins.Apart
	}
	return plugins.Single
}

func failAll[A any](batch []*question[A], err error) {
	for _, q := range batch {
		q.err = err
	}
}

// reported marks the questions that reports are about.
func reported[A any](batch []*question[A], reports []plugins.CallError) error {
	for _, e := range reports {
		if e.Call < 0 || e.Call >= len(batch) || e.Diag == nil {
			return errNotAsked
		}
		batch[e.Call].refused = true
	}
	return nil
}

var (
	errNotAsked = errors.New("they are not the calls that were asked about")
	errParts    = errors.New("parts are missing")
)
