package eval

import (
	"slices"

	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// flow tells how a block ended.
type flow uint8

const (
	next flow = iota
	breaks
	continues
	returns
)

// block runs statements of a function body, a class body or a nested block.
func (l *Loader) block(fr *frame, body []syntax.Stmt, result *Value) flow {
	for _, s := range body {
		run := l.exec
		if fr.lenient {
			run = l.step
		}
		if f := run(fr, s, result); f != next {
			return f
		}
	}
	return next
}

// step runs one statement of a lenient function. When it fails, the names that it binds are poisoned, as at module level, and the function goes
// on; only raise and a failed assert end it.
func (l *Loader) step(fr *frame, s syntax.Stmt, result *Value) flow {
	node, module := l.node, l.module
	f := next
	flt := l.attempt(func() { f = l.exec(fr, s, result) })
	switch {
	case flt == nil:
		return f
	case flt.raised || flt.limit:
		panic(flt)
	}
	if l.skipped == nil {
		l.skipped = flt
	}
	l.spoilBound(fr, s, flt)
	l.node, l.module = node, module
	return next
}

// exec runs one statement.
func (l *Loader) exec(fr *frame, s syntax.Stmt, result *Value) flow {
	if l.depth++; l.depth > maxDepth {
		l.over("statements and calls nested more than %d deep", maxDepth)
	}
	l.charge(1)
	f := l.exec1(fr, s, result)
	l.depth--
	return f
}

func (l *Loader) exec1(fr *frame, s syntax.Stmt, result *Value) flow {
	switch s := s.(type) {
	case *syntax.ExprStmt:
		l.eval(fr, s.X)
	case *syntax.Assign:
		v := l.eval(fr, s.Value)
		for _, t := range s.Targets {
			l.assign(fr, t, v)
		}
	case *syntax.AugAssign:
		l.augAssign(fr, s)
	case *syntax.AnnAssign:
		if n, ok := s.Target.(*syntax.Name); ok && fr.class != nil {
			fr.annots = append(fr.annots, annotation{n.ID, s.Annotation})
		}
		if s.Value != nil {
			l.assign(fr, s.Target, l.eval(fr, s.Value))
		}
	case *syntax.If:
		for {
			c := l.eval(fr, s.Cond)
			l.at(fr, s.Cond)
			if l.truth(c) {
				return l.block(fr, s.Body, result)
			}
			if len(s.Else) == 1 { // an elif chain is a loop here, not a recursion
				if elif, ok := s.Else[0].(*syntax.If); ok {
					s = elif
					continue
				}
			}
			return l.block(fr, s.Else, result)
		}
	case *syntax.For:
		return l.forStmt(fr, s, result)
	case *syntax.While:
		for {
			c := l.eval(fr, s.Cond)
			l.at(fr, s.Cond)
			if !l.truth(c) {
				return l.block(fr, s.Else, result)
			}
			l.charge(1)
			switch f := l.block(fr, s.Body, result); f {
			case breaks:
				return next
			case returns:
				return f
			}
		}
	case *syntax.With:
		return l.with(fr, s, result)
	case *syntax.Return:
		*result = None
		if s.Value != nil {
			*result = l.eval(fr, s.Value)
		}
		return returns
	case *syntax.FunctionDef:
		l.define(fr, s)
	case *syntax.ClassDef:
		l.defineClass(fr, s)
	case *syntax.Import:
		l.importStmt(fr, s)
	case *syntax.ImportFrom:
		l.importFrom(fr, s)
	case *syntax.Simple:
		switch s.Keyword {
		case "break":
			return breaks
		case "continue":
			return continues
		}
	case *syntax.Delete:
		for _, t := range s.Targets {
			l.delete(fr, t)
		}
	case *syntax.Assert:
		l.assert(fr, s)
	case *syntax.Raise:
		l.raiseStmt(fr, s)
	case *syntax.Try:
		return l.try(fr, s, result)
	case *syntax.Scoped: // its names are in the scope's info
	case *syntax.Match:
		return l.match(fr, s, result)
	}
	return next
}

func (l *Loader) forStmt(fr *frame, s *syntax.For, result *Value) flow {
	v := l.eval(fr, s.Iter)
	l.at(fr, s.Iter)
	if s.Async {
		l.unknown("async for")
	}
	for it := l.iter(v); ; {
		l.at(fr, s.Iter)
		x, ok := it.next()
		if !ok {
			return l.block(fr, s.Else, result)
		}
		l.assign(fr, s.Target, x)
		switch f := l.block(fr, s.Body, result); f {
		case breaks:
			return next
		case returns:
			return f
		}
	}
}

// with calls __enter__ and __exit__ of objects of the program's own classes; other context managers are unknown. A lenient function runs their blocks as
// they stand, but for those that must fail.
func (l *Loader) with(fr *frame, s *syntax.With, result *Value) flow {
	type entered struct {
		self *Instance
		exit Value
	}
	var open []entered
	for _, it := range s.Items {
		var v Value
		if fr.lenient {
			if ExpectsFailure(it.Context) {
				return next
			}
			flt := l.attempt(func() { v = l.eval(fr, it.Context) })
			if _, ok := v.(*Instance); !ok {
				if flt == nil {
					flt = &fault{reason: "a context manager of another package", at: it.Context.At().Span(fr.module.Path)}
				}
				if n, ok := it.Target.(*syntax.Name); ok {
					l.assignName(fr, n.ID, flt.poison(n.ID, it.Context.At().Span(fr.module.Path)))
				}
				continue
			}
		} else {
			v = l.eval(fr, it.Context)
		}
		l.at(fr, it.Context)
		i, ok := v.(*Instance)
		if !ok {
			l.notValue(v)
			l.unknown("a with statement over %s", typeName(v))
		}
		enter, _, ok1 := i.Class.find("__enter__")
		exit, _, ok2 := i.Class.find("__exit__")
		if !ok1 || !ok2 {
			l.raise(excType, "'%s' object does not support the context manager protocol", typeName(v))
		}
		r := l.call(&Bound{i, enter}, nil, nil)
		if it.Target != nil {
			l.assign(fr, it.Target, r)
		}
		open = append(open, entered{i, exit})
	}
	f, flt := l.protect(fr, s.Body, result)
	for k := len(open) - 1; k >= 0; k-- {
		args := []Value{None, None, None}
		if flt != nil {
			if flt.exc == nil {
				continue
			}
			args = []Value{flt.exc.Class, flt.exc, None}
		}
		if r := l.call(&Bound{open[k].self, open[k].exit}, args, nil); flt != nil && l.truth(r) {
			flt = nil
		}
	}
	if flt != nil {
		panic(flt)
	}
	return f
}

// ExpectsFailure reports a context such as pytest.raises(…): what stands in its block does not work.
func ExpectsFailure(x syntax.Expr) bool {
	c, ok := x.(*syntax.Call)
	if !ok {
		return false
	}
	switch f := c.Fun.(type) {
	case *syntax.Attribute:
		return f.Name == "raises" || f.Name == "assertRaises" || f.Name == "assertRaisesRegex"
	case *syntax.Name:
		return f.ID == "raises"
	}
	return false
}

// protect runs a block and catches its fault.
func (l *Loader) protect(fr *frame, body []syntax.Stmt, result *Value) (f flow, flt *fault) {
	saved, handling := l.mark(), len(fr.handling)
	defer func() {
		if flt = l.caught(recover()); flt != nil {
			l.reset(saved)
			fr.handling = fr.handling[:handling]
		}
	}()
	return l.block(fr, body, result), nil
}

// attempt runs f and catches its fault.
func (l *Loader) attempt(f func()) (flt *fault) {
	saved := l.mark()
	defer func() {
		if flt = l.caught(recover()); flt != nil {
			l.reset(saved)
		}
	}()
	f()
	return nil
}

// mark and reset save and restore the counters that a fault leaves behind.
type mark struct{ depth, frames, nested int }

func (l *Loader) mark() mark   { return mark{l.depth, l.frames, l.nested} }
func (l *Loader) reset(m mark) { l.depth, l.frames, l.nested = m.depth, m.frames, m.nested }

// try runs a try statement. Exceptions go to the first handler that matches. What cannot be known is not an exception: nobody can tell which way the
// program would go, so it passes through, and all that the statement binds is unknown.
func (l *Loader) try(fr *frame, s *syntax.Try, result *Value) flow {
	guards := 0
	if handlesImport(s) {
		guards = 1
	}
	l.guarded += guards
	lenient := fr.lenient
	fr.lenient = lenient && len(s.Handlers) == 0
	f, flt := l.protect(fr, s.Body, result)
	fr.lenient = lenient
	l.guarded -= guards
	if flt == nil && f == next {
		f, flt = l.protect(fr, s.Else, result)
	} else if flt != nil && flt.exc != nil {
		if h := l.handler(fr, s, flt); h != nil {
			exc := flt
			fr.handling = append(fr.handling, exc)
			if h.Name != "" {
				l.assignName(fr, h.Name, exc.exc)
			}
			f, flt = l.protect(fr, h.Body, result)
			fr.handling = fr.handling[:len(fr.handling)-1]
			if h.Name != "" { // Python unbinds it, to break a reference cycle
				l.assignName(fr, h.Name, nil)
			}
		}
	}
	if len(s.Finally) > 0 {
		var r Value
		if g := l.block(fr, s.Finally, &r); g != next {
			if g == returns {
				*result = r
			}
			return g // a jump out of finally drops the exception
		}
	}
	if flt != nil {
		panic(flt)
	}
	return f
}

// handlesImport reports whether a try statement is written for imports that fail. Then nobody can tell here which way it goes when the package is
// not in the search path.
func handlesImport(s *syntax.Try) bool {
	names := func(x syntax.Expr) bool {
		n, ok := x.(*syntax.Name)
		return ok && (n.ID == "ImportError" || n.ID == "ModuleNotFoundError" || n.ID == "Exception" || n.ID == "BaseException")
	}
	for _, h := range s.Handlers {
		if h.Type == nil || names(h.Type) {
			return true
		}
		if t, ok := h.Type.(*syntax.Tuple); ok && slices.ContainsFunc(t.Elems, names) {
			return true
		}
	}
	return false
}

func (l *Loader) handler(fr *frame, s *syntax.Try, flt *fault) *syntax.Handler {
	for i := range s.Handlers {
		h := &s.Handlers[i]
		if h.Type == nil {
			return h
		}
		v := l.eval(fr, h.Type)
		l.at(fr, h.Type)
		if l.catches(v, flt.exc) {
			return h
		}
	}
	return nil
}

// catches reports whether an except clause of type v takes exc. Exceptions of unknown packages are none of ours.
func (l *Loader) catches(v Value, exc *Instance) bool {
	switch v := v.(type) {
	case *Class:
		return exc.Class.is(v)
	case *Tuple:
		for _, e := range v.Elems {
			if l.catches(e, exc) {
				return true
			}
		}
		return false
	case *Symbol:
		return false
	}
	l.raise(excType, "catching classes that do not inherit from BaseException is not allowed")
	return false
}

func (l *Loader) assert(fr *frame, s *syntax.Assert) {
	c := l.eval(fr, s.Cond)
	l.at(fr, s.Cond)
	if l.truth(c) {
		return
	}
	e := newException(excAssertion)
	if s.Msg != nil {
		e = newException(excAssertion, l.eval(fr, s.Msg))
	}
	l.at(fr, s)
	l.throwStmt(e)
}

// throwStmt throws for raise and assert.
func (l *Loader) throwStmt(e *Instance) {
	panic(&fault{exc: e, reason: exceptionText(e), at: l.span(), raised: true, node: l.node})
}

func (l *Loader) raiseStmt(fr *frame, s *syntax.Raise) {
	if s.Exc == nil {
		if n := len(fr.handling); n > 0 {
			panic(fr.handling[n-1])
		}
		l.at(fr, s)
		l.raise(excRuntime, "No active exception to reraise")
	}
	v := l.eval(fr, s.Exc)
	l.at(fr, s)
	if c, ok := v.(*Class); ok {
		v = l.call(c, nil, nil)
	}
	e, ok := v.(*Instance)
	if !ok || !e.Class.is(excBase) {
		l.notValue(v)
		l.raise(excType, "exceptions must derive from BaseException")
	}
	l.throwStmt(e)
}

// assign binds a target to a value.
func (l *Loader) assign(fr *frame, t syntax.Expr, v Value) {
	switch t := t.(type) {
	case *syntax.Name:
		if v == Value(autoValue) && fr.class != nil { // members below may compute with it
			v = l.nextAuto(fr, t.ID)
		}
		l.assignName(fr, t.ID, v)
	case *syntax.Tuple:
		l.unpack(fr, t, t.Elems, v)
	case *syntax.List:
		l.unpack(fr, t, t.Elems, v)
	case *syntax.Attribute:
		x := l.eval(fr, t.X)
		l.at(fr, t)
		l.setattr(x, t.Name, v)
	case *syntax.Subscript:
		x := l.eval(fr, t.X)
		i := l.eval(fr, t.Index)
		l.at(fr, t)
		l.setSubscript(x, i, v)
	default:
		l.at(fr, t)
		l.raise(excType, "cannot assign to this expression")
	}
}

// assignName binds a name where the scope says it lives.
func (l *Loader) assignName(fr *frame, id string, v Value) {
	s := fr.scope
	if s.info != nil {
		if s.info.globals[id] {
			s = s.module.scope
		} else if s.info.nonlocals[id] {
			for s = s.outer; s != nil && s.info != nil && !s.info.locals[id]; {
				s = s.outer
			}
			if s == nil || s.info == nil {
				l.raise(excName, "no binding for nonlocal '%s' found", id)
			}
		}
	}
	s.bind(id, v)
}

func (l *Loader) unpack(fr *frame, at syntax.Node, targets []syntax.Expr, v Value) {
	l.at(fr, at)
	star := -1
	for i, t := range targets {
		if _, ok := t.(*syntax.Starred); ok {
			star = i
		}
	}
	var elems []Value
	if star < 0 { // take no more than needed: the iterable may be long
		it := l.iter(v)
		for len(elems) <= len(targets) {
			x, ok := it.next()
			if !ok {
				break
			}
			elems = append(elems, x)
		}
	} else {
		elems = l.elems(v)
	}
	switch {
	case star < 0 && len(elems) > len(targets):
		l.raise(excValue, "too many values to unpack (expected %d)", len(targets))
	case star < 0 && len(elems) < len(targets):
		l.raise(excValue, "not enough values to unpack (expected %d, got %d)", len(targets), len(elems))
	case star >= 0 && len(elems) < len(targets)-1:
		l.raise(excValue, "not enough values to unpack (expected at least %d, got %d)", len(targets)-1, len(elems))
	}
	for i, t := range targets {
		switch {
		case star < 0 || i < star:
			l.assign(fr, t, elems[i])
		case i == star:
			n := len(elems) - (len(targets) - 1)
			l.assign(fr, t.(*syntax.Starred).X, &List{append([]Value(nil), elems[star:star+n]...)})
		default:
			l.assign(fr, t, elems[len(elems)-len(targets)+i])
		}
	}
}

// augAssign changes lists, sets and dicts in place, as Python does.
func (l *Loader) augAssign(fr *frame, s *syntax.AugAssign) {
	var obj, index Value
	var old Value
	switch t := s.Target.(type) {
	case *syntax.Name:
		old = l.name(fr, t)
	case *syntax.Attribute:
		obj = l.eval(fr, t.X)
		l.at(fr, t)
		old = l.getattr(obj, t.Name)
	case *syntax.Subscript:
		obj = l.eval(fr, t.X)
		index = l.eval(fr, t.Index)
		l.at(fr, t)
		old = l.subscript(obj, index)
	}
	y := l.eval(fr, s.Value)
	l.at(fr, s)
	v := l.inPlace(s.Op, old, y)
	switch t := s.Target.(type) {
	case *syntax.Name:
		l.assignName(fr, t.ID, v)
	case *syntax.Attribute:
		l.setattr(obj, t.Name, v)
	case *syntax.Subscript:
		l.setSubscript(obj, index, v)
	}
}

func (l *Loader) inPlace(op string, x, y Value) Value {
	switch a := x.(type) {
	case *List:
		switch op {
		case "+":
			add := l.elems(y)
			l.size(len(a.Elems) + len(add))
			a.Elems = append(a.Elems, add...)
			return a
		case "*":
			if r, ok := l.binary(op, x, y).(*List); ok {
				a.Elems = r.Elems
				return a
			}
		}
	case *Dict:
		if op == "|" {
			l.update(a, y)
			return a
		}
	case *Set:
		if b, ok := y.(*Set); ok && !a.Frozen {
			if r, ok := l.setOp(op, a, b).(*Set); ok {
				a.table = r.table
				return a
			}
		}
	case *Instance:
		if m, ok := opMethods[op]; ok {
			if f, _, ok := a.Class.find("__i" + m[0][2:]); ok {
				return l.call(&Bound{a, f}, []Value{y}, nil)
			}
		}
	}
	return l.binary(op, x, y)
}

func (l *Loader) delete(fr *frame, t syntax.Expr) {
	switch t := t.(type) {
	case *syntax.Name:
		s := fr.scope
		if s.info != nil && s.info.globals[t.ID] {
			s = s.module.scope
		}
		if _, ok := s.get(t.ID, 0); !ok {
			l.at(fr, t)
			l.raise(excName, "name '%s' is not defined", t.ID)
		}
		s.bind(t.ID, nil)
	case *syntax.Attribute:
		x := l.eval(fr, t.X)
		l.at(fr, t)
		l.delattr(x, t.Name)
	case *syntax.Subscript:
		x := l.eval(fr, t.X)
		i := l.eval(fr, t.Index)
		l.at(fr, t)
		l.delSubscript(x, i)
	case *syntax.Tuple:
		for _, e := range t.Elems {
			l.delete(fr, e)
		}
	case *syntax.List:
		for _, e := range t.Elems {
			l.delete(fr, e)
		}
	}
}
