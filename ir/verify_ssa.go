package ir

import "github.com/ptobuild/ptobuild/internal/diag"

// Definitions and uses. With-scopes are transparent: what they define lives on after them. Branches and loop bodies keep their definitions to
// themselves in SSA form; before that (leaky form) a variable assigned anywhere above counts as defined.

// useAfterDef: every read of a Var follows a definition in the text.
func (v *verifier) useAfterDef() {
	v.each(nil, func(f *Function) {
		defined := make(map[*Var]bool)
		for _, p := range f.Params {
			defined[p.Var] = true
		}
		var stmt Stmt
		reported := make(map[*Var]bool)
		use := func(e Expr) bool {
			if x, ok := e.(*Var); ok && !x.Dyn && !defined[x] && !reported[x] {
				reported[x] = true
				v.report(codeUseBeforeDef, stmt.Span(), "%s is read here, but nothing above defines it", varText(x)).
					WithHint("assign '%s' first, on every way that leads here", BaseName(x.Hint))
			}
			return true
		}
		define := func(vs ...*Var) {
			for _, x := range vs {
				defined[x] = true
			}
		}
		var block func(Block)
		block = func(b Block) {
			for _, s := range b {
				stmt = s
				switch s := s.(type) {
				case *For:
					Exprs(s, use)
					define(s.Var)
					for _, c := range s.Carries {
						define(c.Iter)
					}
					block(s.Body)
				case *While:
					for _, c := range s.Carries {
						Walk(c.Init, use)
					}
					for _, c := range s.Carries {
						define(c.Iter)
					}
					// The condition of a loop without carried values may read what the body assigns only after a first definition above.
					Walk(s.Cond, use)
					block(s.Body)
				default:
					Exprs(s, use)
					for _, n := range Blocks(s) {
						block(n)
					}
				}
				define(Defs(s)...)
			}
		}
		block(f.Body)
	})
}

// ssaForm: one definition per Var, uses inside the defining branch or loop body, yields where results need them.
func (v *verifier) ssaForm() {
	v.each(nil, func(f *Function) {
		w := &ssaWalker{v: v, blocks: make(map[*Var]int), first: make(map[*Var]diag.Span), live: make(map[*Var]bool), parents: []int{-1}}
		for _, p := range f.Params {
			w.collect(p.Var, 0, p.Var.Pos)
		}
		w.collectBlock(f.Body, 0)
		w.next = 1
		for _, p := range f.Params {
			w.live[p.Var] = true
		}
		w.block(f.Body, 0)
		v.yields(f.Body, false)
	})
}

type ssaWalker struct {
	v       *verifier
	parents []int              // of each block; 0 is the function body
	blocks  map[*Var]int       // the block that defines a Var
	first   map[*Var]diag.Span // where
	live    map[*Var]bool      // visible at this point
	trail   []*Var             // Vars made visible, in order
	next    int                // number of the next block, in the order of collectBlock
	stmt    Stmt
}

func (w *ssaWalker) newBlock(parent int) int {
	w.parents = append(w.parents, parent)
	return len(w.parents) - 1
}

// collect notes the definition of x and reports a second one.
func (w *ssaWalker) collect(x *Var, block int, at diag.Span) {
	if _, ok := w.blocks[x]; ok {
		w.v.report(codeAssignedTwice, at, "%s is assigned more than once", varText(x)).WithRelated(w.first[x], "first assigned here")
		return
	}
	w.blocks[x], w.first[x] = block, at
}

func (w *ssaWalker) collectBlock(b Block, id int) {
	for _, s := range b {
		switch s := s.(type) {
		case *If:
			w.collectBlock(s.Then, w.newBlock(id))
			w.collectBlock(s.Else, w.newBlock(id))
		case *For:
			body := w.newBlock(id)
			w.collect(s.Var, body, s.Pos)
			w.collectCarried(s.Carries, s.Body, body, s.Pos)
		case *While:
			w.collectCarried(s.Carries, s.Body, w.newBlock(id), s.Pos)
		case *Scope:
			w.collectBlock(s.Body, id)
		}
		for _, x := range Defs(s) {
			w.collect(x, id, s.Span())
		}
	}
}

func (w *ssaWalker) collectCarried(cs []Carry, b Block, body int, at diag.Span) {
	for _, c := range cs {
		w.collect(c.Iter, body, at)
	}
	w.collectBlock(b, body)
}

// block walks in the order of collectBlock.
func (w *ssaWalker) block(b Block, id int) {
	for _, s := range b {
		w.stmt = s
		switch s := s.(type) {
		case *If:
			w.uses(s.Cond, id)
			w.inner(s.Then, nil, nil)
			w.inner(s.Else, nil, nil)
		case *For:
			Exprs(s, w.use(id))
			w.inner(s.Body, append([]*Var{s.Var}, iters(s.Carries)...), nil)
		case *While:
			for _, c := range s.Carries {
				w.uses(c.Init, id)
			}
			w.inner(s.Body, iters(s.Carries), s.Cond)
		case *Scope:
			Exprs(s, w.use(id))
			w.block(s.Body, id)
		default:
			Exprs(s, w.use(id))
		}
		for _, x := range Defs(s) {
			w.show(x)
		}
	}
}

func iters(cs []Carry) []*Var {
	vs := make([]*Var, len(cs))
	for i, c := range cs {
		vs[i] = c.Iter
	}
	return vs
}

func (w *ssaWalker) show(x *Var) {
	if !w.live[x] {
		w.live[x] = true
		w.trail = append(w.trail, x)
	}
}

// inner walks a branch or loop body and forgets its definitions afterwards.
func (w *ssaWalker) inner(b Block, vars []*Var, cond Expr) {
	id, mark := w.next, len(w.trail)
	w.next++
	for _, x := range vars {
		w.show(x)
	}
	w.uses(cond, id)
	w.block(b, id)
	for _, x := range w.trail[mark:] {
		delete(w.live, x)
	}
	w.trail = w.trail[:mark]
}

func (w *ssaWalker) uses(e Expr, id int) { Walk(e, w.use(id)) }

// use checks the Vars of an expression. Edges that the compiler derived may point into finished scopes: lowering hoists or drops them.
func (w *ssaWalker) use(id int) func(Expr) bool {
	var check func(Expr) bool
	check = func(e Expr) bool {
		switch e := e.(type) {
		case *Call:
			c := *e
			c.CompilerDeps = nil
			walkChildren(&c, check)
			return false
		case *Var:
			at, known := w.blocks[e]
			if e.Dyn || w.live[e] || !known || w.encloses(at, id) {
				return true // what is only read too early is UseAfterDef's
			}
			d := w.v.report(codeOutsideScope, w.stmt.Span(), "%s is used outside its defining scope", varText(e)).
				WithRelated(w.first[e], "it is only assigned here, inside a branch or loop")
			if IsTaskID(e.Typ) {
				d.WithHint("seed '%s' with None before the loop, or collect the ids in pl.array.create(n, pl.TASK_ID)", BaseName(e.Hint))
			} else {
				d.WithHint("assign '%s' before the branch or loop as well, so that it has a value in every case", BaseName(e.Hint))
			}
		}
		return true
	}
	return check
}

// walkChildren walks the parts of a node but not the node itself.
func walkChildren(e Expr, f func(Expr) bool) {
	root := true
	Walk(e, func(x Expr) bool {
		if root {
			root = false
			return true
		}
		return f(x)
	})
}

func (w *ssaWalker) encloses(outer, inner int) bool {
	for inner >= 0 && inner != outer {
		inner = w.parents[inner]
	}
	return inner == outer
}

// yields checks that yields stand last and give what their if or loop expects. tail: a yield may end b.
func (v *verifier) yields(b Block, tail bool) {
	for i, s := range b {
		last := tail && i == len(b)-1
		switch s := s.(type) {
		case *Yield:
			if !last {
				v.report(codeYieldPosition, s.Pos, "YieldStmt at position %d is not the last statement of a branch or loop body", i+1).
					WithHint("move pl.yield_ to the end; statements after it would never run")
			}
		case *If:
			v.yields(s.Then, true)
			v.yields(s.Else, true)
			v.yieldCount(s, "then branch", s.Then, len(s.Results))
			if s.Else != nil || len(s.Results) > 0 {
				v.yieldCount(s, "else branch", s.Else, len(s.Results))
			}
		case *For:
			v.yields(s.Body, true)
			v.yieldCount(s, "loop body", s.Body, len(s.Carries))
		case *While:
			v.yields(s.Body, true)
			v.yieldCount(s, "loop body", s.Body, len(s.Carries))
		case *Scope:
			v.yields(s.Body, last && isTransparent(s))
		}
	}
}

func (v *verifier) yieldCount(s Stmt, what string, b Block, want int) {
	y := ClosingYield(b)
	switch {
	case y == nil && want > 0:
		v.report(codeYieldMissing, s.Span(), "the %s does not end in a yield, but %d results are expected of it", what, want).
			WithHint("end it with pl.yield_ of the values that continue after it")
	case y != nil && len(y.Values) != want:
		v.report(codeYieldCount, y.Pos, "the %s yields %d values, %d are expected", what, len(y.Values), want)
	}
}

// ClosingYield returns the yield that ends a block, looking into the runtime and split_aiv scopes that may enclose it; nil when there is none.
func ClosingYield(b Block) *Yield {
	for len(b) > 0 {
		switch s := b[len(b)-1].(type) {
		case *Yield:
			return s
		case *Scope:
			if !isTransparent(s) {
				return nil
			}
			b = s.Body
		default:
			return nil
		}
	}
	return nil
}
