package ir

// Walk calls f for every expression of e, parents first; a false return skips the children. Dimension expressions inside types are not visited.
func Walk(e Expr, f func(Expr) bool) {
	if e == nil || !f(e) {
		return
	}
	switch e := e.(type) {
	case *Binary:
		Walk(e.X, f)
		Walk(e.Y, f)
	case *Unary:
		Walk(e.X, f)
	case *Cast:
		Walk(e.X, f)
	case *MakeTuple:
		walkAll(e.Elems, f)
	case *TupleGet:
		Walk(e.X, f)
	case *OpCall:
		walkAll(e.Args, f)
		for _, k := range e.Kwargs {
			walkValue(k.Value, f)
		}
		walkAll(e.Deps, f)
		for _, a := range e.Attrs {
			walkValue(a.Value, f)
		}
	case *Call:
		walkAll(e.Args, f)
		e.Launch.walk(f)
		for _, v := range e.CompilerDeps {
			Walk(v, f)
		}
		if e.Device != nil {
			Walk(e.Device, f)
		}
		for _, a := range e.Attrs {
			walkValue(a.Value, f)
		}
	}
}

func walkAll(es []Expr, f func(Expr) bool) {
	for _, e := range es {
		Walk(e, f)
	}
}

func walkValue(v any, f func(Expr) bool) {
	switch v := v.(type) {
	case Expr:
		Walk(v, f)
	case []Expr:
		walkAll(v, f)
	}
}

func (l *Launch) walk(f func(Expr) bool) {
	walkAll(l.Deps, f)
	if l.CoreNum != nil {
		Walk(l.CoreNum, f)
	}
	if l.Predicate != nil {
		Walk(l.Predicate, f)
	}
	walkAll(l.Dumps, f)
}

// WalkType calls f, like Walk, for every expression inside t: extents, strides, offsets.
func WalkType(t Type, f func(Expr) bool) {
	switch t := t.(type) {
	case *TensorType:
		walkAll(t.Shape, f)
		if v := t.View; v != nil {
			walkAll(v.ValidShape, f)
			walkAll(v.Stride, f)
		}
		t.MemRef.walk(f)
	case *TileType:
		walkAll(t.Shape, f)
		if v := t.View; v != nil {
			walkAll(v.ValidShape, f)
			walkAll(v.Stride, f)
			Walk(v.StartOffset, f)
		}
		t.MemRef.walk(f)
	case *TupleType:
		for _, e := range t.Elems {
			WalkType(e, f)
		}
	}
}

func (m *MemRef) walk(f func(Expr) bool) {
	if m == nil {
		return
	}
	if m.Base != nil {
		Walk(m.Base, f)
	}
	Walk(m.ByteOffset, f)
	Walk(m.Slot, f)
}

// Exprs calls f for every expression that the statement itself holds (not those of nested blocks): operands of the statement in the order they are
// evaluated, loop bounds, carry inits, conditions, scope arguments.
func Exprs(s Stmt, f func(Expr) bool) {
	switch s := s.(type) {
	case *Assign:
		Walk(s.Value, f)
	case *Eval:
		Walk(s.X, f)
	case *If:
		Walk(s.Cond, f)
	case *For:
		Walk(s.Start, f)
		Walk(s.Stop, f)
		Walk(s.Step, f)
		for _, c := range s.Carries {
			Walk(c.Init, f)
		}
		for _, a := range s.Attrs {
			walkValue(a.Value, f)
		}
	case *While:
		for _, c := range s.Carries {
			Walk(c.Init, f)
		}
		Walk(s.Cond, f)
	case *Yield:
		walkAll(s.Values, f)
	case *Return:
		walkAll(s.Values, f)
	case *Scope:
		s.Launch.walk(f)
		walkAll(s.NoDep, f)
		for _, a := range s.Attrs {
			walkValue(a.Value, f)
		}
	}
}

// Blocks returns the nested blocks of a statement.
func Blocks(s Stmt) []Block {
	switch s := s.(type) {
	case *If:
		if s.Else == nil {
			return []Block{s.Then}
		}
		return []Block{s.Then, s.Else}
	case *For:
		return []Block{s.Body}
	case *While:
		return []Block{s.Body}
	case *Scope:
		return []Block{s.Body}
	}
	return nil
}

// Defs returns the Vars that a statement itself defines (not those of nested blocks). Loop variables and Iter Vars are defined inside the loop.
func Defs(s Stmt) []*Var {
	switch s := s.(type) {
	case *Assign:
		return []*Var{s.Var}
	case *If:
		return s.Results
	case *For:
		return carryResults(s.Carries)
	case *While:
		return carryResults(s.Carries)
	case *Scope:
		if s.TaskID != nil {
			return []*Var{s.TaskID}
		}
	}
	return nil
}

func carryResults(cs []Carry) []*Var {
	vs := make([]*Var, len(cs))
	for i, c := range cs {
		vs[i] = c.Result
	}
	return vs
}

// Inspect calls f for every statement of b and of its nested blocks, outer first; a false return skips the nested blocks.
func Inspect(b Block, f func(Stmt) bool) {
	for _, s := range b {
		if f(s) {
			for _, n := range Blocks(s) {
				Inspect(n, f)
			}
		}
	}
}
