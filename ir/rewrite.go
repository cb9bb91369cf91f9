package ir

// A Rewriter rebuilds expressions, types and statements with replacements. Parts without a change are shared, not copied.
//
// Expr, when not nil, is called for every expression after its children were rewritten and returns its replacement. Var, when not nil, maps
// Vars in use and definition position alike (nil result: unchanged); it is also applied inside types.
type Rewriter struct {
	Expr func(Expr) Expr
	Var  func(*Var) *Var
}

// NewVar maps one Var.
func (r *Rewriter) NewVar(v *Var) *Var {
	if v == nil || r.Var == nil {
		return v
	}
	if n := r.Var(v); n != nil {
		return n
	}
	return v
}

// Rewrite returns e with all replacements made.
func (r *Rewriter) Rewrite(e Expr) Expr {
	if e == nil {
		return nil
	}
	var out Expr = e
	switch e := e.(type) {
	case *Var:
		out = r.NewVar(e)
	case *Binary:
		if x, y := r.Rewrite(e.X), r.Rewrite(e.Y); x != e.X || y != e.Y {
			c := *e
			c.X, c.Y = x, y
			out = &c
		}
	case *Unary:
		if x := r.Rewrite(e.X); x != e.X {
			c := *e
			c.X = x
			out = &c
		}
	case *Cast:
		if x := r.Rewrite(e.X); x != e.X {
			c := *e
			c.X = x
			out = &c
		}
	case *MakeTuple:
		if xs, ok := r.List(e.Elems); ok {
			out = &MakeTuple{Elems: xs, Pos: e.Pos}
		}
	case *TupleGet:
		if x := r.Rewrite(e.X); x != e.X {
			c := *e
			c.X = x
			out = &c
		}
	case *OpCall:
		args, c1 := r.List(e.Args)
		deps, c2 := r.List(e.Deps)
		kw, c3 := r.kwargs(e.Kwargs)
		at, c4 := r.attrs(e.Attrs)
		typ := r.Type(e.Typ)
		if c1 || c2 || c3 || c4 || typ != e.Typ {
			c := *e
			c.Args, c.Deps, c.Kwargs, c.Attrs, c.Typ = args, deps, kw, at, typ
			out = &c
		}
	case *Call:
		args, c1 := r.List(e.Args)
		launch, c2 := r.Launch(e.Launch)
		at, c3 := r.attrs(e.Attrs)
		cd, c4 := r.vars(e.CompilerDeps)
		dev := r.Rewrite(e.Device)
		typ := r.Type(e.Typ)
		if c1 || c2 || c3 || c4 || dev != e.Device || typ != e.Typ {
			c := *e
			c.Args, c.Launch, c.Attrs, c.CompilerDeps, c.Device, c.Typ = args, launch, at, cd, dev, typ
			out = &c
		}
	}
	if r.Expr != nil {
		out = r.Expr(out)
	}
	return out
}

// List rewrites a list and reports whether anything changed.
func (r *Rewriter) List(es []Expr) ([]Expr, bool) {
	for i, e := range es {
		if n := r.Rewrite(e); n != e {
			out := make([]Expr, len(es))
			copy(out, es[:i])
			out[i] = n
			for j := i + 1; j < len(es); j++ {
				out[j] = r.Rewrite(es[j])
			}
			return out, true
		}
	}
	return es, false
}

func (r *Rewriter) vars(vs []*Var) ([]*Var, bool) {
	changed := false
	out := vs
	for i, v := range vs {
		if n := r.NewVar(v); n != v {
			if !changed {
				out, changed = append([]*Var(nil), vs...), true
			}
			out[i] = n
		}
	}
	return out, changed
}

// Launch rewrites the operands of a launch.
func (r *Rewriter) Launch(l Launch) (Launch, bool) {
	deps, c1 := r.List(l.Deps)
	dumps, c2 := r.List(l.Dumps)
	core, pred := r.Rewrite(l.CoreNum), r.Rewrite(l.Predicate)
	if !c1 && !c2 && core == l.CoreNum && pred == l.Predicate {
		return l, false
	}
	l.Deps, l.Dumps, l.CoreNum, l.Predicate = deps, dumps, core, pred
	return l, true
}

func (r *Rewriter) value(v any) (any, bool) {
	switch v := v.(type) {
	case Expr:
		n := r.Rewrite(v)
		return n, n != v
	case []Expr:
		n, ok := r.List(v)
		return n, ok
	}
	return v, false
}

func (r *Rewriter) kwargs(ks Kwargs) (Kwargs, bool) {
	changed := false
	out := ks
	for i, k := range ks {
		if v, ok := r.value(k.Value); ok {
			if !changed {
				out, changed = append(Kwargs(nil), ks...), true
			}
			out[i].Value = v
		}
	}
	return out, changed
}

func (r *Rewriter) attrs(as Attrs) (Attrs, bool) {
	changed := false
	out := as
	for i, a := range as {
		if v, ok := r.value(a.Value); ok {
			if !changed {
				out, changed = append(Attrs(nil), as...), true
			}
			out[i].Value = v
		}
	}
	return out, changed
}

// Type rewrites the expressions inside a type.
func (r *Rewriter) Type(t Type) Type {
	switch t := t.(type) {
	case *TensorType:
		shape, c1 := r.List(t.Shape)
		view := t.View
		if view != nil {
			vs, c2 := r.List(view.ValidShape)
			st, c3 := r.List(view.Stride)
			if c2 || c3 {
				c := *view
				c.ValidShape, c.Stride = vs, st
				view = &c
			}
		}
		if mr := r.memRef(t.MemRef); c1 || view != t.View || mr != t.MemRef {
			c := *t
			c.Shape, c.View, c.MemRef = shape, view, mr
			return &c
		}
	case *TileType:
		shape, c1 := r.List(t.Shape)
		view := t.View
		if view != nil {
			vs, c2 := r.List(view.ValidShape)
			st, c3 := r.List(view.Stride)
			so := r.Rewrite(view.StartOffset)
			if c2 || c3 || so != view.StartOffset {
				c := *view
				c.ValidShape, c.Stride, c.StartOffset = vs, st, so
				view = &c
			}
		}
		if mr := r.memRef(t.MemRef); c1 || view != t.View || mr != t.MemRef {
			c := *t
			c.Shape, c.View, c.MemRef = shape, view, mr
			return &c
		}
	case *TupleType:
		for i, e := range t.Elems {
			if n := r.Type(e); n != e {
				out := append([]Type(nil), t.Elems...)
				out[i] = n
				for j := i + 1; j < len(out); j++ {
					out[j] = r.Type(out[j])
				}
				return &TupleType{out}
			}
		}
	}
	return t
}

func (r *Rewriter) memRef(m *MemRef) *MemRef {
	if m == nil {
		return nil
	}
	base, off, slot := r.NewVar(m.Base), r.Rewrite(m.ByteOffset), r.Rewrite(m.Slot)
	if base == m.Base && off == m.ByteOffset && slot == m.Slot {
		return m
	}
	c := *m
	c.Base, c.ByteOffset, c.Slot = base, off, slot
	return &c
}

// Block rewrites all statements of a block, nested ones included.
func (r *Rewriter) Block(b Block) Block {
	for i, s := range b {
		if n := r.Stmt(s); n != s {
			out := make(Block, len(b))
			copy(out, b[:i])
			out[i] = n
			for j := i + 1; j < len(b); j++ {
				out[j] = r.Stmt(b[j])
			}
			return out
		}
	}
	return b
}

// Carries rewrites the Vars and inits of carries.
func (r *Rewriter) Carries(cs []Carry) ([]Carry, bool) {
	changed := false
	out := cs
	for i, c := range cs {
		n := c
		n.Iter, n.Init, n.Result = r.NewVar(c.Iter), r.Rewrite(c.Init), r.NewVar(c.Result)
		if n != c {
			if !changed {
				out, changed = append([]Carry(nil), cs...), true
			}
			out[i] = n
		}
	}
	return out, changed
}

// Stmt rewrites one statement.
func (r *Rewriter) Stmt(s Stmt) Stmt {
	switch s := s.(type) {
	case *Assign:
		value, v := r.Rewrite(s.Value), r.NewVar(s.Var)
		if value != s.Value || v != s.Var {
			c := *s
			c.Var, c.Value = v, value
			return &c
		}
	case *Eval:
		if x := r.Rewrite(s.X); x != s.X {
			c := *s
			c.X = x
			return &c
		}
	case *If:
		c := *s
		var c1 bool
		c.Cond, c.Then, c.Else = r.Rewrite(s.Cond), r.Block(s.Then), r.Block(s.Else)
		c.Results, c1 = r.vars(s.Results)
		if c1 || c.Cond != s.Cond || !sameBlock(c.Then, s.Then) || !sameBlock(c.Else, s.Else) {
			return &c
		}
	case *For:
		c := *s
		c.Start, c.Stop, c.Step = r.Rewrite(s.Start), r.Rewrite(s.Stop), r.Rewrite(s.Step)
		var c1, c2 bool
		c.Carries, c1 = r.Carries(s.Carries)
		c.Attrs, c2 = r.attrs(s.Attrs)
		c.Var, c.Body = r.NewVar(s.Var), r.Block(s.Body)
		if c1 || c2 || c.Start != s.Start || c.Stop != s.Stop || c.Step != s.Step || c.Var != s.Var || !sameBlock(c.Body, s.Body) {
			return &c
		}
	case *While:
		c := *s
		var c1 bool
		c.Carries, c1 = r.Carries(s.Carries)
		c.Cond, c.Body = r.Rewrite(s.Cond), r.Block(s.Body)
		if c1 || c.Cond != s.Cond || !sameBlock(c.Body, s.Body) {
			return &c
		}
	case *Yield:
		if vs, ok := r.List(s.Values); ok {
			return &Yield{Values: vs, Pos: s.Pos}
		}
	case *Return:
		if vs, ok := r.List(s.Values); ok {
			c := *s
			c.Values = vs
			return &c
		}
	case *Scope:
		c := *s
		var c1, c2, c3 bool
		c.Launch, c1 = r.Launch(s.Launch)
		c.NoDep, c2 = r.List(s.NoDep)
		c.Attrs, c3 = r.attrs(s.Attrs)
		c.TaskID, c.Body = r.NewVar(s.TaskID), r.Block(s.Body)
		if c1 || c2 || c3 || c.TaskID != s.TaskID || !sameBlock(c.Body, s.Body) {
			return &c
		}
	}
	return s
}

func sameBlock(a, b Block) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
