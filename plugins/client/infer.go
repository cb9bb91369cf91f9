package client

import (
	"errors"
	"slices"
	"sync"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/plugins"
)

const inferring = "inferring types"

// inferred is an answer about a canonical call, kept for all calls like it.
type inferred struct {
	typ    ir.Type
	args   []ir.Expr       // as the rule left them: it may give a literal another dtype
	vars   map[*ir.Var]int // the variables of the form that was asked about, by number
	closed bool            // there are none in the type
}

// keyers are reused: a key is written for every call of every program.
var keyers = sync.Pool{New: func() any { return new(keyer) }}

// infer gives the result type of one call. The rules of a plugin are functions of the call, so an answer is kept for all calls of the same canonical form.
func (c *Client) infer(plugin string, s *ops.Site) (ir.Type, *diag.Diagnostic) {
	call := &ir.OpCall{Op: s.Spec.Name, Args: s.Args, Kwargs: s.Kwargs, Typ: ir.Unknown, Pos: s.Pos}
	short := keyers.Get().(*keyer)
	defer keyers.Put(short)
	plain := short.key(call, yesNo(s.Lenient)[0])
	if plain {
		if a := c.knownTypes.get(short.b); a != nil {
			return a.apply(s, short.vars), nil
		}
	}
	k := canonicalOf(call)
	table := ir.NewVarTable()
	data, err := plugins.EncodeCalls([]*ir.OpCall{k.call}, table)
	if err != nil {
		return nil, diag.Errorf(plugins.CodeAnswer, s.Pos, "%s cannot be sent to plugin %s: %v", call.Op, plugin, err)
	}
	key := memoKey{plugin, string(data), s.Lenient}
	kept, ok := c.types.Load(key)
	if !ok {
		a, err := c.inferNew(plugin, k, table, data, s.Lenient)
		if err == nil && a == nil { // the rule has something to report, which it shall do about the call itself
			return c.inferPlaced(plugin, call, s)
		}
		if err == nil {
			err = checkResult(s.Spec, a.typ)
		}
		if err != nil {
			return nil, at(asReport(plugin, inferring, err), s.Pos)
		}
		kept = a
		c.types.Store(key, a)
	}
	a := kept.(*inferred)
	if plain && slices.Equal(short.vars, k.vars) {
		c.knownTypes.put(short.b, a)
	}
	return a.apply(s, k.vars), nil
}

// apply gives the answer for a call with these variables.
func (a *inferred) apply(s *ops.Site, vars []*ir.Var) ir.Type {
	for i, x := range a.args {
		was, isInt := s.Args[i].(*ir.ConstInt)
		if now, ok := x.(*ir.ConstInt); ok && isInt && now.DType != was.DType {
			s.Args[i] = &ir.ConstInt{Value: now.Value, DType: now.DType, Pos: was.Pos}
		}
	}
	if a.closed {
		return a.typ
	}
	return back(a.typ, a.vars, vars)
}

// known finds answers by short keys.
type known[T any] struct {
	mu      sync.RWMutex
	answers map[string]*T
}

func (k *known[T]) get(key []byte) *T {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.answers[string(key)]
}

func (k *known[T]) put(key []byte, a *T) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.answers == nil {
		k.answers = map[string]*T{}
	}
	k.answers[string(key)] = a
}

type memoKey struct {
	plugin, data string
	lenient      bool
}

// asReport is an error as a report; what is none yet is the plugin's fault.
func asReport(plugin, what string, err error) *diag.Diagnostic {
	var d *diag.Diagnostic
	var l diag.List
	if errors.As(err, &d) || errors.As(err, &l) && len(l) > 0 {
		return diag.AsList(err, "")[0]
	}
	return answer(plugin, what, err)
}

// inferNew asks the plugin about a canonical call, or remembers the answer of an earlier command. Without an error and an answer the rule reports something.
func (c *Client) inferNew(plugin string, k *canonical, table *ir.VarTable, data []byte, lenient bool) (*inferred, error) {
	key := keyOf("infer", string(data), yesNo(lenient))
	var resp plugins.InferResponse
	if !c.recall(plugin, key, &resp) {
		r := c.batcher(plugin, lenient).ask(k.call, data)
		if r.err != nil {
			return nil, r.err
		}
		if resp = *r.resp; len(resp.Errors) > 0 {
			return nil, nil
		}
		c.remember(plugin, key, &resp)
	}
	calls, err := plugins.DecodeCalls(resp.Calls, table)
	if err == nil && (len(calls) != 1 || calls[0].Op != k.call.Op || len(calls[0].Args) != len(k.call.Args)) {
		err = errNotAsked
	}
	if err != nil {
		return nil, err
	}
	a := &inferred{typ: calls[0].Typ, args: calls[0].Args, vars: map[*ir.Var]int{}, closed: true}
	for i, v := range k.mine {
		a.vars[v] = i
	}
	ir.WalkType(a.typ, func(e ir.Expr) bool {
		if v, ok := e.(*ir.Var); ok {
			a.closed = false
			if i, ok := a.vars[v]; ok && k.vars[i] == nil {
				err = errors.New("the type holds an operand with storage where a number has to stand")
			}
		}
		return true
	})
	return a, err
}

var errNotAsked = errors.New("they are not the calls that were asked about")

// inferPlaced asks about a call with its places, for the report.
func (c *Client) inferPlaced(plugin string, call *ir.OpCall, s *ops.Site) (ir.Type, *diag.Diagnostic) {
	table := ir.NewVarTable()
	data, err := plugins.EncodeCalls([]*ir.OpCall{call}, table)
	if err != nil {
		return nil, at(asReport(plugin, inferring, err), s.Pos)
	}
	resp, err := c.call(&plugins.Request{Plugin: plugin, Infer: &plugins.InferRequest{Ops: []string{call.Op}, Calls: data, Lenient: s.Lenient}})
	switch {
	case err != nil:
		return nil, at(diag.AsList(err, plugins.CodeHelper)[0], s.Pos)
	case resp.Infer != nil && len(resp.Infer.Errors) > 0 && resp.Infer.Errors[0].Diag != nil:
		return nil, at(resp.Infer.Errors[0].Diag, s.Pos)
	}
	return nil, at(answer(plugin, inferring, errors.New("the same question got two answers")), s.Pos)
}

// checkResult compares a type with what the spec says about the result.
func checkResult(s *ops.Spec, t ir.Type) error {
	_, scalar := t.(*ir.ScalarType)
	if k := s.Result.Kind; scalar && (k == ops.Fresh || k == ops.View || k == ops.InPlace) {
		return errors.New("the result of " + s.Name + " has storage by its spec, but its type is a scalar")
	}
	return nil
}

// maxBatch is how many calls go into one message. Larger batches travel as several messages at once, so that one end writes while the other reads.
const maxBatch = 2000

// InferTypes asks about many calls at once: the result types in order, with nil where the rule reported something.
func (c *Client) InferTypes(plugin string, calls []*ir.OpCall) ([]ir.Type, []plugins.CallError, error) {
	if len(calls) <= maxBatch {
		return c.inferBatch(plugin, calls)
	}
	n := (len(calls) + maxBatch - 1) / maxBatch
	types, reports, errs := make([][]ir.Type, n), make([][]plugins.CallError, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			types[i], reports[i], errs[i] = c.inferBatch(plugin, calls[i*maxBatch:min((i+1)*maxBatch, len(calls))])
		})
	}
	wg.Wait()
	var all []plugins.CallError
	for i := range n {
		for _, e := range reports[i] {
			e.Call += i * maxBatch
			all = append(all, e)
		}
	}
	return slices.Concat(types...), all, errors.Join(errs...)
}

func (c *Client) inferBatch(plugin string, calls []*ir.OpCall) ([]ir.Type, []plugins.CallError, error) {
	table := ir.NewVarTable()
	data, err := plugins.EncodeCalls(calls, table)
	if err != nil {
		return nil, nil, err
	}
	resp, err := c.call(&plugins.Request{Plugin: plugin, Infer: &plugins.InferRequest{Ops: opsOf(calls), Calls: data}})
	if err != nil {
		return nil, nil, err
	}
	if resp.Infer == nil {
		return nil, nil, answer(plugin, inferring, errors.New("parts are missing"))
	}
	typed, err := plugins.DecodeCalls(resp.Infer.Calls, table)
	if err == nil && len(typed) != len(calls) {
		err = errNotAsked
	}
	if err != nil {
		return nil, nil, answer(plugin, inferring, err)
	}
	types := make([]ir.Type, len(typed))
	for i, x := range typed {
		if x.Op != calls[i].Op {
			return nil, nil, answer(plugin, inferring, errNotAsked)
		}
		types[i] = x.Typ
	}
	for _, e := range resp.Infer.Errors {
		if e.Call < 0 || e.Call >= len(types) || e.Diag == nil {
			return nil, nil, answer(plugin, inferring, errNotAsked)
		}
		types[e.Call] = nil
	}
	return types, resp.Infer.Errors, nil
}

func opsOf(calls []*ir.OpCall) []string {
	var names []string
	for _, c := range calls {
		if !slices.Contains(names, c.Op) {
			names = append(names, c.Op)
		}
	}
	return names
}

// batcher sends the questions that come up while one is on its way together: files are read concurrently, and a message costs much more than a call in it.
type batcher struct {
	client  *Client
	plugin  string
	lenient bool

	mu      sync.Mutex
	busy    bool
	waiting []*question
}

type question struct {
	call *ir.OpCall
	data []byte // the call alone, encoded
	done chan struct{}
	resp *plugins.InferResponse // about this call alone
	err  error
}

func (c *Client) batcher(plugin string, lenient bool) *batcher {
	b, _ := c.batchers.LoadOrStore(memoKey{plugin: plugin, lenient: lenient}, &batcher{client: c, plugin: plugin, lenient: lenient})
	return b.(*batcher)
}

// ask returns when the question is answered. The first one to come sends its own and all that gather meanwhile.
func (b *batcher) ask(call *ir.OpCall, data []byte) *question {
	q := &question{call: call, data: data, done: make(chan struct{})}
	b.mu.Lock()
	b.waiting = append(b.waiting, q)
	lead := !b.busy
	b.busy = true
	b.mu.Unlock()
	for lead {
		b.mu.Lock()
		batch := b.waiting
		b.waiting = nil
		b.busy = len(batch) > 0
		lead = b.busy
		b.mu.Unlock()
		if lead {
			b.send(batch)
			for _, q := range batch {
				close(q.done)
			}
		}
	}
	<-q.done
	return q
}

func (b *batcher) send(batch []*question) {
	if len(batch) > 1 {
		b.sendAll(batch)
		return
	}
	q := batch[0]
	resp, err := b.client.call(&plugins.Request{Plugin: b.plugin, Infer: &plugins.InferRequest{Ops: []string{q.call.Op}, Calls: q.data, Lenient: b.lenient}})
	if err == nil && resp.Infer == nil {
		err = errors.New("parts are missing")
	}
	if q.err = err; err == nil {
		q.resp = resp.Infer
	}
}

// sendAll asks several questions in one message and gives each its own part of the answer.
func (b *batcher) sendAll(batch []*question) {
	calls := make([]*ir.OpCall, len(batch))
	for i, q := range batch {
		calls[i] = q.call
	}
	table := ir.NewVarTable()
	fail := func(err error) {
		for _, q := range batch {
			q.err = err
		}
	}
	data, err := plugins.EncodeCalls(calls, table)
	if err != nil {
		fail(err)
		return
	}
	resp, err := b.client.call(&plugins.Request{Plugin: b.plugin, Infer: &plugins.InferRequest{Ops: opsOf(calls), Calls: data, Lenient: b.lenient}})
	if err == nil && resp.Infer == nil {
		err = errors.New("parts are missing")
	}
	if err != nil {
		fail(err)
		return
	}
	typed, err := plugins.DecodeCalls(resp.Infer.Calls, table)
	if err == nil && len(typed) != len(calls) {
		err = errNotAsked
	}
	if err != nil {
		fail(err)
		return
	}
	for i, q := range batch {
		own := ir.NewVarTable()
		if _, q.err = plugins.EncodeCalls([]*ir.OpCall{q.call}, own); q.err != nil { // gives the variables the ids of q.data
			continue
		}
		q.resp = &plugins.InferResponse{}
		q.resp.Calls, q.err = plugins.EncodeCalls(typed[i:i+1], own)
	}
	for _, e := range resp.Infer.Errors {
		if e.Call >= 0 && e.Call < len(batch) && batch[e.Call].resp != nil {
			batch[e.Call].resp.Errors = append(batch[e.Call].resp.Errors, plugins.CallError{Diag: e.Diag})
		}
	}
}

func yesNo(b bool) string {
	if b {
		return "y"
	}
	return "n"
}
