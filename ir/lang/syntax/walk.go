package syntax

// Walk calls f for n and, when f returns true, for the parts of n in source order. Nil parts are passed over.
func Walk(n Node, f func(Node) bool) {
	if n == nil || !f(n) {
		return
	}
	w := walker(f)
	switch n := n.(type) {
	case *File:
		w.stmts(n.Body)

	case *FString:
		w.exprs(n.Parts)
	case *FValue:
		w.expr(n.X)
		if n.Format != nil {
			Walk(n.Format, f)
		}
	case *UnaryOp:
		w.expr(n.X)
	case *BinOp:
		w.expr(n.X)
		w.expr(n.Y)
	case *BoolOp:
		w.exprs(n.Values)
	case *Compare:
		w.expr(n.X)
		w.exprs(n.Ys)
	case *Call:
		w.expr(n.Fun)
		w.exprs(n.Args)
		w.keywords(n.Keywords)
	case *Attribute:
		w.expr(n.X)
	case *Subscript:
		w.expr(n.X)
		w.expr(n.Index)
	case *Slice:
		w.expr(n.Lo)
		w.expr(n.Hi)
		w.expr(n.Step)
	case *Tuple:
		w.exprs(n.Elems)
	case *List:
		w.exprs(n.Elems)
	case *Set:
		w.exprs(n.Elems)
	case *Dict:
		for i := range n.Keys {
			w.expr(n.Keys[i])
			w.expr(n.Values[i])
		}
	case *Comprehension:
		w.expr(n.Key)
		w.expr(n.Elem)
		for _, c := range n.Clauses {
			w.expr(c.Target)
			w.expr(c.Iter)
			w.exprs(c.Ifs)
		}
	case *IfExp:
		w.expr(n.Body)
		w.expr(n.Cond)
		w.expr(n.Else)
	case *Lambda:
		w.params(n.Params)
		w.expr(n.Body)
	case *NamedExpr:
		w.expr(n.Target)
		w.expr(n.Value)
	case *Starred:
		w.expr(n.X)
	case *Await:
		w.expr(n.X)
	case *Yield:
		w.expr(n.X)

	case *ExprStmt:
		w.expr(n.X)
	case *Assign:
		w.exprs(n.Targets)
		w.expr(n.Value)
	case *AugAssign:
		w.expr(n.Target)
		w.expr(n.Value)
	case *AnnAssign:
		w.expr(n.Target)
		w.expr(n.Annotation)
		w.expr(n.Value)
	case *If:
		w.expr(n.Cond)
		w.stmts(n.Body)
		w.stmts(n.Else)
	case *For:
		w.expr(n.Target)
		w.expr(n.Iter)
		w.stmts(n.Body)
		w.stmts(n.Else)
	case *While:
		w.expr(n.Cond)
		w.stmts(n.Body)
		w.stmts(n.Else)
	case *With:
		for _, it := range n.Items {
			w.expr(it.Context)
			w.expr(it.Target)
		}
		w.stmts(n.Body)
	case *Return:
		w.expr(n.Value)
	case *FunctionDef:
		w.exprs(n.Decorators)
		w.params(n.Params)
		w.expr(n.Returns)
		w.stmts(n.Body)
	case *ClassDef:
		w.exprs(n.Decorators)
		w.exprs(n.Bases)
		w.keywords(n.Keywords)
		w.stmts(n.Body)
	case *Delete:
		w.exprs(n.Targets)
	case *Assert:
		w.expr(n.Cond)
		w.expr(n.Msg)
	case *Raise:
		w.expr(n.Exc)
		w.expr(n.Cause)
	case *Try:
		w.stmts(n.Body)
		for _, h := range n.Handlers {
			w.expr(h.Type)
			w.stmts(h.Body)
		}
		w.stmts(n.Else)
		w.stmts(n.Finally)
	case *Match:
		w.expr(n.Subject)
		for _, c := range n.Cases {
			w.expr(c.Pattern)
			w.expr(c.Guard)
			w.stmts(c.Body)
		}
	}
}

type walker func(Node) bool

func (w walker) expr(x Expr) {
	if x != nil {
		Walk(x, w)
	}
}

func (w walker) exprs(xs []Expr) {
	for _, x := range xs {
		w.expr(x)
	}
}

func (w walker) stmts(ss []Stmt) {
	for _, s := range ss {
		Walk(s, w)
	}
}

func (w walker) keywords(ks []Keyword) {
	for _, k := range ks {
		w.expr(k.Value)
	}
}

func (w walker) params(ps *Params) {
	if ps == nil {
		return
	}
	for p := range ps.All() {
		w.expr(p.Annotation)
		w.expr(p.Default)
	}
}
