package edit

import (
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// Launches inside of inline functions. A TaskId leaves such a function as one more result and enters it as one more argument; all calls of the function
// change with it.

// maxCalls bounds the calls of one function that are tried.
const maxCalls = 4

// Through gives edits like Order for launches that stand in different functions, or in different calls of one: a function calls what holds one of them, or both.
func Through(f *syntax.File, first, second diag.Span, carried bool) (out []Edits) {
	a, b := findLaunch(f, first), findLaunch(f, second)
	if a == nil || b == nil {
		return nil
	}
	for _, caller := range functions(f) {
		for _, la := range calledFrom(f, caller, a) {
			for _, lb := range calledFrom(f, caller, b) {
				if la == a && lb == b {
					continue // Order has that
				}
				if lb.stmt == la.stmt && !carried {
					continue
				}
				for _, chain := range []bool{false, true} {
					if es, ok := order(f, la, lb, carried, chain); ok {
						out = append(out, es)
					}
				}
			}
		}
	}
	return out
}

func functions(f *syntax.File) (fs []*syntax.FunctionDef) {
	syntax.Walk(f, func(n syntax.Node) bool {
		if d, ok := n.(*syntax.FunctionDef); ok {
			fs = append(fs, d)
		}
		return true
	})
	return fs
}

// calledFrom gives the statements of a function that launch l: l itself, or calls of the function that holds it.
func calledFrom(f *syntax.File, caller *syntax.FunctionDef, l *launch) (out []*launch) {
	holder := l.around[0].(*syntax.FunctionDef)
	if holder == caller {
		return []*launch{l}
	}
	for _, c := range callsOf(f, holder) {
		if c != nil && c.around[0] == syntax.Stmt(caller) && len(out) < maxCalls {
			x := *c
			x.form, x.inner = inlined, l
			out = append(out, &x)
		}
	}
	return out
}

// callsOf lists the statements that call a function of the file.
func callsOf(f *syntax.File, callee *syntax.FunctionDef) (out []*launch) {
	syntax.Walk(f, func(n syntax.Node) bool {
		c, ok := n.(*syntax.Call)
		if !ok {
			return true
		}
		name := ""
		switch fun := c.Fun.(type) {
		case *syntax.Name:
			name = fun.ID
		case *syntax.Attribute:
			if m, ok := fun.X.(*syntax.Name); ok && m.ID == "self" {
				name = fun.Name
			}
		}
		if name == callee.Name {
			if l := findLaunch(f, c.At().Span(f.Path)); l != nil && l.call == c {
				out = append(out, l)
			} else {
				out = append(out, nil) // part of another expression
			}
		}
		return true
	})
	return out
}

// thread is what of TaskIds goes through the calls of one function.
type thread struct {
	callee   *syntax.FunctionDef
	exported *rewrite // its TaskId becomes a result
	imported *rewrite // waits for a TaskId that becomes an argument
	param    string
	calls    map[syntax.Stmt]*rewrite // those that use it
}

// threads writes the changes of the functions that the launches of an order are called through, and of all their calls.
func threads(f *syntax.File, wa, wb *rewrite, taken map[string]bool) (es Edits, ok bool) {
	var ts []*thread
	of := func(l *launch) *thread {
		callee := l.inner.around[0].(*syntax.FunctionDef)
		for _, t := range ts {
			if t.callee == callee {
				return t
			}
		}
		t := &thread{callee: callee, calls: map[syntax.Stmt]*rewrite{}}
		ts = append(ts, t)
		return t
	}
	if wa.l.form == inlined {
		t := of(wa.l)
		t.exported, t.calls[wa.l.stmt] = &rewrite{file: f, l: wa.l.inner, taken: taken}, wa
	}
	if target := wb.target(); target != nil && len(wb.deps) > 0 {
		t := of(wb.l)
		if t.imported, t.calls[wb.l.stmt] = (&rewrite{file: f, l: target, taken: taken}), wb; t.exported != nil && t.exported.l.stmt == target.stmt {
			t.imported = t.exported
		}
		t.param = unused("after", taken)
		if dep := t.param; t.imported == t.exported && t.looped() {
			if !t.exported.name() { // from trip to trip, from what came before on
				return nil, false
			}
			t.imported.deps = append(t.imported.deps, t.exported.id)
		} else {
			t.imported.deps = append(t.imported.deps, dep)
		}
	}
	for _, t := range ts {
		more, ok := t.edits(f)
		if !ok {
			return nil, false
		}
		es = append(es, more...)
	}
	return es, true
}

// looped reports that the launch whose TaskId leaves the function stands in a loop there.
func (t *thread) looped() bool { return slices.ContainsFunc(t.exported.l.around[1:], isLoop) }

// target is the launch inside of the callee that waits.
func (w *rewrite) target() *launch {
	if w.l.form != inlined {
		return nil
	}
	if w.waits != nil {
		return w.waits
	}
	return w.l.inner
}

func (t *thread) edits(f *syntax.File) (es Edits, ok bool) {
	w := &rewrite{file: f}
	if t.exported != nil {
		if !t.exported.name() {
			return nil, false
		}
		if len(t.callee.Body) == 0 {
			return nil, false
		}
		ret, ok := t.callee.Body[len(t.callee.Body)-1].(*syntax.Return)
		if !ok || ret.Value == nil {
			return nil, false
		}
		if v, ok := ret.Value.(*syntax.Tuple); ok && v.Paren {
			return nil, false
		}
		es = append(es, w.insert(ret.Value.At().End, ", "+t.exported.id))
		if r := t.callee.Returns; r != nil {
			if s, ok := r.(*syntax.Subscript); ok && (f.Text(s.X.At()) == "tuple" || f.Text(s.X.At()) == "Tuple") {
				end := s.At().End
				end.Col--
				es = append(es, w.insert(end, ", pl.TaskId"))
			} else {
				es = append(es, w.replace(r.At(), "tuple["+f.Text(r.At())+", pl.TaskId]"))
			}
		}
		more, ok := t.exported.edits()
		if !ok {
			return nil, false
		}
		es = append(es, more...)
		for _, s := range t.exported.l.around[1:] { // it has a value on every way to the return
			if conditional(s) {
				value := "None"
				if t.imported == t.exported && t.looped() {
					value = t.param
				}
				if at := s.At().Start; t.exported.fresh || !boundBefore(t.callee, t.exported.id, at) {
					es = append(es, w.insert(at, t.exported.id+" = "+value+"\n"+strings.Repeat(" ", int(at.Col)-1)))
				}
				break
			}
		}
	}
	if t.imported != nil {
		var last syntax.Pos
		for p := range t.callee.Params.All() {
			last = p.At().End
		}
		if t.callee.Params.VarArg != nil || t.callee.Params.KwArg != nil || last == (syntax.Pos{}) {
			return nil, false
		}
		es = append(es, w.insert(last, ", "+t.param+": pl.TaskId"))
		if t.imported != t.exported {
			more, ok := t.imported.edits()
			if !ok {
				return nil, false
			}
			es = append(es, more...)
		}
	}
	for _, c := range callsOf(f, t.callee) {
		if c == nil || c.form != plain {
			return nil, false
		}
		id, dep := "_", "None"
		if u := t.calls[c.stmt]; u != nil {
			if u.id != "" {
				id = u.id
			}
			if len(u.deps) == 1 {
				dep = u.deps[0]
			} else if len(u.deps) > 1 {
				return nil, false
			}
		}
		if t.exported != nil {
			target := targetOf(c.stmt)
			switch x := target.(type) {
			case *syntax.Name:
			case *syntax.Tuple:
				if x.Paren {
					return nil, false
				}
			default:
				return nil, false
			}
			es = append(es, w.insert(target.At().End, ", "+id))
		}
		if t.imported != nil {
			var end syntax.Pos
			for _, a := range c.call.Args {
				end = a.At().End
			}
			if end == (syntax.Pos{}) || len(c.call.Keywords) > 0 {
				return nil, false
			}
			es = append(es, w.insert(end, ", "+dep))
		}
	}
	return es, true
}
