package ir

import "github.com/ptobuild/ptobuild/internal/diag"

// Checks of the shape of statements.

// breakContinue: break and continue stand in a pl.range or while loop of the same function.
func (v *verifier) breakContinue() {
	v.each(nil, func(f *Function) {
		const none, allowed, forbidden = 0, 1, 2
		var kind ForKind // of the innermost loop when it is forbidden
		var block func(Block, int)
		block = func(b Block, loop int) {
			for _, s := range b {
				switch s := s.(type) {
				case *Branch:
					word := "break"
					if s.Continue {
						word = "continue"
					}
					switch loop {
					case none:
						v.report(codeBranch, s.Pos, "'%s' outside of a loop", word).
							WithHint("a scope that becomes a kernel cannot leave a loop around it")
					case forbidden:
						v.report(codeBranch, s.Pos, "'%s' not supported inside pl.%s loops (parallel/unrolled loops have no order to leave)", word, kind).
							WithHint("use pl.range, or guard the rest of the body with an if")
					}
				case *For:
					outer := kind
					kind = s.Kind
					if s.Kind == Sequential {
						block(s.Body, allowed)
					} else {
						block(s.Body, forbidden)
					}
					kind = outer
				case *While:
					block(s.Body, allowed)
				case *Scope:
					if isTransparent(s) {
						block(s.Body, loop)
					} else {
						block(s.Body, none)
					}
				default:
					for _, n := range Blocks(s) {
						block(n, loop)
					}
				}
			}
		}
		block(f.Body, none)
	})
}

// noRedundantBlocks: no empty else, nothing after a statement that ends its block.
func (v *verifier) noRedundantBlocks() {
	v.each(nil, func(f *Function) {
		var block func(Block)
		block = func(b Block) {
			for i, s := range b {
				switch s := s.(type) {
				case *If:
					if s.Else != nil && len(s.Else) == 0 {
						v.report(codeRedundant, s.Pos, "an if with an empty else block")
					}
				case *Return, *Branch:
					if i < len(b)-1 {
						v.report(codeRedundant, b[i+1].Span(), "statements after the %s never run", stmtKind(s))
					}
				}
				for _, n := range Blocks(s) {
					block(n)
				}
			}
		}
		block(f.Body)
	})
}

// noNestedInCore: no kernel scope inside a kernel scope.
func (v *verifier) noNestedInCore() {
	v.each(nil, func(f *Function) {
		var block func(Block, bool)
		block = func(b Block, inside bool) {
			for _, s := range b {
				in := inside
				if sc, ok := s.(*Scope); ok && sc.Kind == InCoreScope {
					if inside {
						v.report(codeNestedInCore, sc.Pos, "a pl.at(level=CORE_GROUP) scope inside another one").
							WithHint("a kernel cannot launch a kernel; end the outer scope first")
					}
					in = true
				}
				for _, n := range Blocks(s) {
					block(n, in)
				}
			}
		}
		block(f.Body, f.Type.IsKernel())
	})
}

// pipelineLoop: stages belong to pipeline loops, and are at least 1 there.
func (v *verifier) pipelineLoop() {
	v.each(nil, func(f *Function) {
		Inspect(f.Body, func(s Stmt) bool {
			switch l, ok := s.(*For); {
			case !ok:
			case l.Kind == Pipeline && l.Stages < 1:
				v.report(codePipelineLoop, l.Pos, "stage must be >= 1, got %d", l.Stages)
			case l.Kind != Pipeline && l.Stages != 0:
				v.report(codePipelineLoop, l.Pos, "stage= is only supported on pl.pipeline, this is pl.%s", l.Kind)
			}
			return true
		})
	})
}

// noNestedCalls: calls are whole right sides or whole expression statements. Dependencies, predicates and launch sizes are not operands.
func (v *verifier) noNestedCalls() {
	v.each(nil, func(f *Function) {
		Inspect(f.Body, func(s Stmt) bool {
			switch s := s.(type) {
			case *Assign:
				v.nestedIn(s.Value, s)
			case *Eval:
				v.nestedIn(s.X, s)
			case *Scope:
			default:
				Exprs(s, v.noCall(s, "the operands of the "+stmtKind(s)))
			}
			return true
		})
	})
}

// nestedIn checks below the root of e.
func (v *verifier) nestedIn(e Expr, s Stmt) {
	switch e := e.(type) {
	case *OpCall:
		check := v.noCall(s, "the operands of "+e.Op)
		walkAll(e.Args, check)
		for _, k := range e.Kwargs {
			walkValue(k.Value, check)
		}
	case *Call:
		walkAll(e.Args, v.noCall(s, "the arguments of "+e.Callee))
	default:
		Walk(e, v.noCall(s, "an expression"))
	}
}

func (v *verifier) noCall(s Stmt, where string) func(Expr) bool {
	return func(e Expr) bool {
		name := ""
		switch e := e.(type) {
		case *OpCall:
			name = e.Op
		case *Call:
			name = e.Callee
		default:
			return true
		}
		v.report(codeNestedCall, place(e, s), "the call of %s is nested in %s", name, where)
		return false
	}
}

func (v *verifier) inlineEliminated() {
	v.each(nil, func(f *Function) {
		if f.Type == Inline {
			v.report(codeInlineLeft, f.Pos, "the inline function %s is left", f.Name)
			return
		}
		callsIn(f, func(c *Call, s Stmt) {
			if callee := v.funcs[c.Callee]; callee != nil && callee.Type == Inline {
				v.report(codeInlineLeft, place(c, s), "the call of the inline function %s is left", c.Callee).
					WithHint("inline functions can be called as a statement, as the right side of an assignment or in a return: assign the result to a variable first")
			}
		})
	})
}

func (v *verifier) unrollResolved() {
	v.each(nil, func(f *Function) {
		Inspect(f.Body, func(s Stmt) bool {
			if l, ok := s.(*For); ok && l.Kind == Unroll {
				v.report(codeUnrollLeft, l.Pos, "a pl.unroll loop is left")
			}
			return true
		})
	})
}

func (v *verifier) noScope(kinds ...ScopeKind) {
	v.each(func(f *Function) bool { return !f.Type.IsKernel() }, func(f *Function) {
		Inspect(f.Body, func(s Stmt) bool {
			if sc, ok := s.(*Scope); ok {
				for _, k := range kinds {
					if sc.Kind == k {
						v.report(codeScopeLeft, sc.Pos, "a %s scope is left in %s", scopeText[k], f.Name)
					}
				}
			}
			return true
		})
	})
}

var scopeText = [...]string{
	InCoreScope: "pl.at(level=CORE_GROUP)", HierarchyScope: "pl.at", ClusterScope: "pl.cluster", SpmdScope: "pl.spmd", SplitAivScope: "pl.split_aiv",
	RuntimeScope: "pl.scope", CommDomainScope: "communication domain",
}

func (v *verifier) runtimeScopes() {
	v.each(func(f *Function) bool { return f.Type == Orchestration }, func(f *Function) {
		if f.AutoScope {
			v.report(codeAutoScope, f.Pos, "runtime scopes of %s are not materialized (auto_scope is still on)", f.Name)
		}
	})
}

// carryClassified: every carried value of a for loop in an orchestration has a class; one that is kept as an array has storage of its own.
func (v *verifier) carryClassified() {
	v.each(isOrchestration, func(f *Function) {
		Inspect(f.Body, func(s Stmt) bool {
			_, isFor := s.(*For)
			for i, c := range carriesOf(s) {
				switch {
				case isFor && c.Class == CarryUnclassified:
					v.report(codeCarryClass, s.Span(), "iter_arg %d %s has no iter_arg_rebind_%d", i, varText(c.Iter), i)
				case c.Slots == GatherSlots && isParallel(s) && IsTaskID(c.Result.Typ) && c.Class == CarryRebind:
				case c.Slots < 0 || c.Slots > 0 && c.Class != CarryRebind:
					v.report(codeCarryClass, s.Span(), "iter_arg %d %s has %d slots, but is not a rebind", i, varText(c.Iter), c.Slots)
				}
			}
			return true
		})
	})
}

func isParallel(s Stmt) bool {
	f, ok := s.(*For)
	return ok && f.Kind == Parallel
}

// splitIncoreOrch: orchestrations hold host ops and kernel launches only.
func (v *verifier) splitIncoreOrch() {
	v.each(isOrchestration, func(f *Function) {
		Inspect(f.Body, func(s Stmt) bool {
			if sc, ok := s.(*Scope); ok && sc.Kind == InCoreScope {
				v.report(codeInCoreLeft, sc.Pos, "a kernel scope is left in the Orchestration function %s", f.Name)
				return false
			}
			Exprs(s, func(e Expr) bool {
				if c, ok := e.(*OpCall); ok && !v.ops.IsHostOp(c.Op) {
					// A warning: the generator rejects the op when it really has to print it.
					v.report(codeComputeOp, place(c, s), "Misplaced tensor op '%s' in Orchestration function %s (should be inside InCore block)", c.Op, f.Name).
						WithHint("put it inside 'with pl.at(level=pl.Level.CORE_GROUP):' or into a kernel function").
						Severity = diag.Warning
				}
				return true
			})
			return true
		})
	})
}
