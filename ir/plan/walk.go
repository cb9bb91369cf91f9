package plan

import "iter"

// Blocks returns the nested statement lists of s.
func Blocks(s Stmt) [][]Stmt {
	switch s := s.(type) {
	case *Scope:
		return [][]Stmt{s.Body}
	case *Braces:
		return [][]Stmt{s.Body}
	case *For:
		return [][]Stmt{s.Body}
	case *While:
		return [][]Stmt{s.Body}
	case *If:
		return [][]Stmt{s.Then, s.Else}
	}
	return nil
}

// Walk calls f for every statement of body in print order, outer first; a false return skips the nested statements.
func Walk(body []Stmt, f func(Stmt) bool) {
	for _, s := range body {
		if f(s) {
			for _, b := range Blocks(s) {
				Walk(b, f)
			}
		}
	}
}

// Tasks yields the kernel tasks of a file in print order.
func (f *File) Tasks() iter.Seq[*Task] {
	return func(yield func(*Task) bool) {
		done := false
		Walk(f.Body, func(s Stmt) bool {
			if t, ok := s.(*Task); ok && !done {
				done = !yield(t)
			}
			return !done
		})
	}
}

// Exprs calls f for each expression that s itself holds (not those of nested statements), in print order.
func Exprs(s Stmt, f func(Expr)) {
	list := func(es []Expr) {
		for _, e := range es {
			f(e)
		}
	}
	one := func(e Expr) {
		if e != nil {
			f(e)
		}
	}
	deps := func(d *Deps) {
		if d != nil {
			for i := range d.Entries {
				f(d.Entries[i].ID)
			}
		}
	}
	switch s := s.(type) {
	case *For:
		f(s.Start)
		f(s.Stop)
		f(s.Step)
	case *While:
		f(s.Cond)
	case *If:
		f(s.Cond)
	case *Decl:
		one(s.Init)
	case *Assign:
		f(s.Value)
	case *DeclArray:
		list(s.Elems)
	case *DeclSlots:
		one(s.Fill)
	case *AppendID:
		f(s.ID)
	case *SetElem:
		f(s.I)
		f(s.Value)
	case *Create:
		list(s.Dims)
		one(s.Init)
	case *Write:
		list(s.Index)
		f(s.Value)
	case *Task:
		list(s.Scalars)
		list(s.Dump)
		deps(s.Deps)
		one(s.BlockNum)
		if s.Pred != nil {
			list(s.Pred.Index)
		}
	case *Dummy:
		deps(s.Deps)
	}
}

// WalkExpr calls f for e and its operands, outer first.
func WalkExpr(e Expr, f func(Expr)) {
	if e == nil {
		return
	}
	f(e)
	switch e := e.(type) {
	case *Binary:
		WalkExpr(e.X, f)
		WalkExpr(e.Y, f)
	case *Unary:
		WalkExpr(e.X, f)
	case *Cast:
		WalkExpr(e.X, f)
	case *Uint32:
		WalkExpr(e.X, f)
	case *Bits:
		WalkExpr(e.X, f)
	case *Elem:
		WalkExpr(e.I, f)
	case *IsValid:
		WalkExpr(e.X, f)
	case *Clamped:
		WalkExpr(e.Size, f)
	}
}

// Declares returns the names that s declares in the block it stands in, in print order. A For's variable and the names local to a Write belong
// to the statement itself.
func Declares(s Stmt) []*Name {
	var ns []*Name
	add := func(n ...*Name) {
		for _, n := range n {
			if n != nil {
				ns = append(ns, n)
			}
		}
	}
	deps := func(d *Deps) {
		if d != nil {
			add(d.Array, d.Count)
		}
	}
	switch s := s.(type) {
	case *Decl:
		add(s.Name)
	case *DeclArray:
		add(s.Name)
	case *DeclSlots:
		add(s.Name)
	case *DeclIDs:
		add(s.Name)
	case *Create:
		add(s.Shapes, s.Info)
	case *Alloc:
		add(s.Outs)
		add(s.Refs...)
	case *Task:
		add(s.Params, s.Mixed)
		deps(s.Deps)
		if s.Pred != nil {
			add(s.Pred.Name)
		}
		add(s.Outs)
	case *Dummy:
		add(s.Params)
		deps(s.Deps)
		add(s.ID, s.Outs)
	}
	return ns
}
