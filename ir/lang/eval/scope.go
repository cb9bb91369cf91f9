package eval

import "github.com/ptobuild/ptobuild/ir/lang/syntax"

// scopeInfo tells which names of a function live in it. A name that the function binds anywhere is local everywhere in it.
type scopeInfo struct {
	locals    map[string]bool
	globals   map[string]bool
	nonlocals map[string]bool
	generator bool
}

// infoOf computes the scope of a function once.
func (l *Loader) infoOf(def *syntax.FunctionDef, lambda *syntax.Lambda) *scopeInfo {
	var key any = def
	if def == nil {
		key = lambda
	}
	if info := l.infos[key]; info != nil {
		return info
	}
	info := &scopeInfo{locals: make(map[string]bool)}
	var params *syntax.Params
	if def != nil {
		params = def.Params
		b := binder{info: info, bind: func(n string) { info.locals[n] = true }}
		b.stmts(def.Body)
	} else {
		params = lambda.Params
		b := binder{info: info, bind: func(n string) { info.locals[n] = true }}
		b.expr(lambda.Body)
	}
	for p := range params.All() {
		info.locals[p.Name] = true
	}
	for n := range info.globals {
		delete(info.locals, n)
	}
	for n := range info.nonlocals {
		delete(info.locals, n)
	}
	l.infos[key] = info
	return info
}

// binder finds the names that statements bind, without entering nested functions and classes.
type binder struct {
	info *scopeInfo
	bind func(name string)
	// change, if not nil, is told the objects whose parts the statements may change: x of x.a = v, x[i] = v, x.append(v), and of f(x) when
	// mutates says so of f.
	change  func(x syntax.Expr)
	mutates func(fun syntax.Expr) bool
}

func (b binder) stmts(list []syntax.Stmt) {
	for _, s := range list {
		b.stmt(s)
	}
}

func (b binder) stmt(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.ExprStmt:
		b.expr(s.X)
		if c, ok := s.X.(*syntax.Call); ok && b.change != nil {
			if a, ok := c.Fun.(*syntax.Attribute); ok {
				b.change(a.X)
			}
			if b.mutates(c.Fun) {
				for _, x := range c.Args {
					b.change(x)
				}
			}
		}
	case *syntax.Assign:
		for _, t := range s.Targets {
			b.target(t)
		}
		b.expr(s.Value)
	case *syntax.AugAssign:
		b.target(s.Target)
		b.expr(s.Value)
	case *syntax.AnnAssign:
		b.target(s.Target)
		b.expr(s.Value)
	case *syntax.If:
		for {
			b.expr(s.Cond)
			b.stmts(s.Body)
			if len(s.Else) == 1 {
				if elif, ok := s.Else[0].(*syntax.If); ok {
					s = elif
					continue
				}
			}
			break
		}
		b.stmts(s.Else)
	case *syntax.For:
		b.target(s.Target)
		b.expr(s.Iter)
		b.stmts(s.Body)
		b.stmts(s.Else)
	case *syntax.While:
		b.expr(s.Cond)
		b.stmts(s.Body)
		b.stmts(s.Else)
	case *syntax.With:
		for _, it := range s.Items {
			b.expr(it.Context)
			if it.Target != nil {
				b.target(it.Target)
			}
		}
		b.stmts(s.Body)
	case *syntax.FunctionDef:
		b.bind(s.Name)
	case *syntax.ClassDef:
		b.bind(s.Name)
	case *syntax.Import:
		for _, a := range s.Names {
			b.bind(boundName(a))
		}
	case *syntax.ImportFrom:
		for _, a := range s.Names {
			if a.Name != "*" {
				b.bind(boundName(a))
			}
		}
	case *syntax.Return:
		b.expr(s.Value)
	case *syntax.Delete:
		for _, t := range s.Targets {
			b.target(t)
		}
	case *syntax.Assert:
		b.expr(s.Cond)
		b.expr(s.Msg)
	case *syntax.Raise:
		b.expr(s.Exc)
		b.expr(s.Cause)
	case *syntax.Try:
		b.stmts(s.Body)
		for _, h := range s.Handlers {
			if h.Name != "" {
				b.bind(h.Name)
			}
			b.stmts(h.Body)
		}
		b.stmts(s.Else)
		b.stmts(s.Finally)
	case *syntax.Scoped:
		if b.info == nil {
			return
		}
		m := &b.info.globals
		if s.Keyword == "nonlocal" {
			m = &b.info.nonlocals
		}
		if *m == nil {
			*m = make(map[string]bool)
		}
		for _, n := range s.Names {
			(*m)[n] = true
		}
	case *syntax.Match:
		b.expr(s.Subject)
		for _, c := range s.Cases {
			captures(c.Pattern, b.bind)
			b.expr(c.Guard)
			b.stmts(c.Body)
		}
	}
}

// boundName is the name that an import binds.
func boundName(a syntax.Alias) string {
	if a.As != "" {
		return a.As
	}
	return firstPart(a.Name)
}

func (b binder) target(t syntax.Expr) {
	switch t := t.(type) {
	case *syntax.Name:
		b.bind(t.ID)
	case *syntax.Tuple:
		for _, e := range t.Elems {
			b.target(e)
		}
	case *syntax.List:
		for _, e := range t.Elems {
			b.target(e)
		}
	case *syntax.Starred:
		b.target(t.X)
	case *syntax.Attribute:
		if b.change != nil {
			b.change(t)
			b.change(t.X)
		}
	case *syntax.Subscript:
		if b.change != nil {
			b.change(t.X)
		}
	}
}

// expr finds walruses and yields.
func (b binder) expr(x syntax.Expr) {
	switch x.(type) {
	case nil, *syntax.Name, *syntax.Constant:
		return
	}
	syntax.Walk(x, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lambda:
			return false
		case *syntax.NamedExpr:
			b.bind(n.Target.ID)
		case *syntax.Yield:
			if b.info != nil {
				b.info.generator = true
			}
		}
		return true
	})
}
