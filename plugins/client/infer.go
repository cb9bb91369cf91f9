package client

import (
	"errors"
	"fmt"
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
	q, err := c.types.foresee(plugin, k, s.Lenient)
	if err != nil {
		return nil, diag.Errorf(plugins.CodeAnswer, s.Pos, "%s cannot be sent to plugin %s: %v", call.Op, plugin, err)
	}
	c.types.wait(q)
	if q.refused {
		return c.inferPlaced(plugin, call, s)
	}
	if err = q.err; err == nil {
		err = checkResult(s.Spec, k.call.Args, q.answer.typ)
	}
	if err != nil {
		return nil, at(asReport(plugin, inferring, err), s.Pos)
	}
	if plain && slices.Equal(short.vars, k.vars) {
		c.knownTypes.put(short.b, q.answer)
	}
	return q.answer.apply(s, k.vars), nil
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

// asReport is an error as a report; what is none yet is the plugin's fault.
func asReport(plugin, what string, err error) *diag.Diagnostic {
	var d *diag.Diagnostic
	var l diag.List
	if errors.As(err, &d) || errors.As(err, &l) && len(l) > 0 {
		return diag.AsList(err, "")[0]
	}
	return answer(plugin, what, err)
}

// recallType finds the answer of an earlier command.
func (c *Client) recallType(q *question[*inferred]) bool {
	var resp plugins.InferResponse
	if !c.recall(q.plugin, typeKey(q), &resp) {
		return false
	}
	calls, err := plugins.DecodeCalls(resp.Calls, q.table)
	if err == nil && len(calls) != 1 {
		err = errNotAsked
	}
	if err == nil {
		q.answer, err = inferredOf(q, calls[0], nil)
	}
	return err == nil
}

func typeKey(q *question[*inferred]) key { return keyOf("infer", q.data, yesNo(q.flag)) }

// askTypes asks the plugin.
func (c *Client) askTypes(batch []*question[*inferred]) {
	plugin, lenient := batch[0].plugin, batch[0].flag
	m, err := messageOf(batch)
	if err != nil {
		failAll(batch, err)
		return
	}
	resp, err := c.call(&plugins.Request{Plugin: plugin, Infer: &plugins.InferRequest{Ops: opsOf(m.calls), Calls: m.data, Lenient: lenient, Attempt: attemptOf(batch)}})
	if apart(batch, err, c.askTypes) {
		return
	}
	if err == nil && resp.Infer == nil {
		err = errParts
	}
	var typed []*ir.OpCall
	if err == nil {
		typed, err = plugins.DecodeCalls(resp.Infer.Calls, m.table)
	}
	if err == nil && len(typed) != len(batch) {
		err = errNotAsked
	}
	if err == nil {
		err = reported(batch, resp.Infer.Errors)
	}
	if err != nil {
		failAll(batch, err)
		return
	}
	owners := map[*ir.Var]*canonical{}
	for _, q := range batch {
		for _, v := range q.call.mine {
			owners[v] = q.call
		}
	}
	for i, q := range batch {
		if q.refused {
			continue
		}
		if q.answer, q.err = inferredOf(q, typed[i], owners); q.err == nil && c.memories[plugin] != nil {
			if data, err := plugins.EncodeCalls(typed[i:i+1], q.table); err == nil {
				c.remember(plugin, typeKey(q), &plugins.InferResponse{Calls: data})
			}
		}
	}
}

// inferredOf is the answer that a typed call is. owners are those of variables of other calls in the same message, which it may not name.
func inferredOf(q *question[*inferred], typed *ir.OpCall, owners map[*ir.Var]*canonical) (*inferred, error) {
	k := q.call
	if typed.Op != k.call.Op || len(typed.Args) != len(k.call.Args) {
		return nil, errNotAsked
	}
	a := &inferred{typ: typed.Typ, args: typed.Args, vars: map[*ir.Var]int{}, closed: true}
	for i, v := range k.mine {
		a.vars[v] = i
	}
	var err error
	ir.WalkType(a.typ, func(e ir.Expr) bool {
		v, ok := e.(*ir.Var)
		if !ok {
			return true
		}
		a.closed = false
		switch i, ok := a.vars[v]; {
		case ok && k.vars[i] == nil:
			err = errors.New("the type holds an operand with storage where a number has to stand")
		case !ok && owners[v] != nil:
			err = errors.New("the type holds a variable of another call")
		case !ok:
			err = fmt.Errorf("the type of %s holds variable %q, which is none of the call's", k.call.Op, v.Hint)
		}
		return true
	})
	return a, err
}

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
		return nil, nil, answer(plugin, inferring, errParts)
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
	for i, t := range types {
		if spec, ok := c.specs.Load(calls[i].Op); ok && t != nil {
			if err := checkResult(spec.(*ops.Spec), calls[i].Args, t); err != nil {
				return nil, nil, answer(plugin, inferring, err)
			}
		}
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

func yesNo(b bool) string {
	if b {
		return "y"
	}
	return "n"
}
