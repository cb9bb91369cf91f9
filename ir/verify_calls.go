package ir

import (
	"fmt"
	"slices"
	"strings"
)

// Checks of calls, parameters and results.

// references: every callee exists.
func (v *verifier) references() {
	v.each(nil, func(f *Function) {
		callsIn(f, func(c *Call, s Stmt) {
			if v.funcs[c.Callee] != nil {
				return
			}
			verb := "call"
			if c.Submit {
				verb = "submit"
			}
			d := v.report(codeNoCallee, place(c, s), "%s of '%s', which is not a function of program %s", verb, c.Callee, programName(v.p))
			names := make([]string, 0, len(v.p.Funcs))
			for _, f := range v.p.Funcs {
				names = append(names, f.Name)
			}
			slices.Sort(names)
			d.WithHint("the program defines %s", strings.Join(names, ", "))
		})
	})
}

// manualDeps: user dependencies stand in the typed field of a submit, or on system.task_dummy.
func (v *verifier) manualDeps() {
	const key = "manual_dep_edges"
	v.each(nil, func(f *Function) {
		Inspect(f.Body, func(s Stmt) bool {
			Exprs(s, func(e Expr) bool {
				switch c := e.(type) {
				case *Call:
					_, attr := c.Attrs.Get(key)
					switch {
					case !c.Submit && (attr || len(c.Launch.Deps) > 0):
						v.report(codeManualDeps, place(c, s), "the plain call of %s has dependencies", c.Callee).
							WithHint("only pl.submit takes deps=; a plain call is fire-and-forget")
					case c.Submit && attr:
						v.report(codeSubmitAttr, place(c, s), "the submit of %s has its dependencies in an attribute instead of deps", c.Callee)
					}
				case *OpCall:
					if _, attr := c.Attrs.Get(key); (attr || len(c.Deps) > 0) && c.Op != "system.task_dummy" {
						v.report(codeManualDeps, place(c, s), "%s has dependencies; only system.task_dummy takes them", c.Op)
					}
				}
				return true
			})
			return true
		})
	})
}

// arrayNotEscaped: arrays live on the stack of one function. Inline functions become part of it and may take them.
func (v *verifier) arrayNotEscaped() {
	isArray := func(t Type) bool { _, ok := t.(*ArrayType); return ok }
	v.each(func(f *Function) bool { return f.Type != Inline }, func(f *Function) {
		const hint = "arrays live on the stack of one function: pass single elements, or a tensor"
		for _, p := range f.Params {
			if isArray(p.Var.Typ) {
				v.report(codeArrayEscape, p.Var.Pos, "parameter %s of %s is an array", varText(p.Var), f.Name).WithHint(hint)
			}
		}
		Inspect(f.Body, func(s Stmt) bool {
			if r, ok := s.(*Return); ok {
				for _, x := range r.Values {
					if isArray(x.Type()) {
						v.report(codeArrayEscape, place(x, s), "%s returns an array", f.Name).WithHint(hint)
					}
				}
			}
			Exprs(s, func(e Expr) bool {
				c, ok := e.(*Call)
				if !ok || v.funcs[c.Callee] != nil && v.funcs[c.Callee].Type == Inline {
					return true
				}
				for i, a := range c.Args {
					if isArray(a.Type()) {
						v.report(codeArrayEscape, place(a, s), "argument %d of %s is an array, kernels take tensors and scalars", i+1, c.Callee).WithHint(hint)
					}
				}
				return true
			})
			return true
		})
	})
}

// outParamNotShadowed: an output parameter is not assigned a fresh tensor, which nobody would ever copy out. In SSA form it is not assigned at all: the
// mistake shows before.
func (v *verifier) outParamNotShadowed() {
	v.each(nil, func(f *Function) {
		outs := make(map[*Var]bool)
		for _, p := range f.Params {
			if p.Dir != In {
				outs[p.Var] = true
			}
		}
		if len(outs) == 0 {
			return
		}
		Inspect(f.Body, func(s Stmt) bool {
			a, ok := s.(*Assign)
			if !ok || !outs[a.Var] {
				return true
			}
			if c, ok := a.Value.(*OpCall); ok && v.ops.Allocates(c.Op) {
				name := BaseName(a.Var.Hint)
				v.report(codeOutShadowed, a.Pos, "the output parameter '%s' is rebound to a fresh tensor by %s: the output would never be written", name, c.Op).
					WithHint("write into it ('%s[:] = …'), or give the new tensor another name", name)
			}
			return true
		})
	})
}

// inOutUse: what was passed to be written is read through the result of the call afterwards.
func (v *verifier) inOutUse() {
	v.each(nil, func(f *Function) {
		stale := make(map[*Var]*Call)
		// log remembers what stale held before each change, so that a branch can be left as it was entered without a copy of the map.
		type change struct {
			x   *Var
			was *Call
		}
		var log []change
		set := func(x *Var, c *Call) {
			if was := stale[x]; was != c {
				log = append(log, change{x, was})
				if c == nil {
					delete(stale, x)
				} else {
					stale[x] = c
				}
			}
		}
		var stmt Stmt
		read := func(e Expr) {
			x, ok := e.(*Var)
			if !ok || stale[x] == nil {
				return
			}
			c := stale[x]
			v.report(codeStaleRead, stmt.Span(), "%s is read after %s was given it to write", varText(x), c.Callee).
				WithRelated(c.Pos, "%s writes it here", c.Callee).
				WithHint("read the value that the call returned, or assign the result to '%s'", BaseName(x.Hint))
			set(x, nil) // one report per write
		}
		use := func(e Expr) bool {
			c, ok := e.(*Call)
			if !ok {
				read(e)
				return true
			}
			callee := v.funcs[c.Callee]
			for i, a := range c.Args {
				// To be overwritten is not to be read.
				if k := paramOf(callee, c, i); k >= 0 && callee.Params[k].Dir == Out {
					if _, ok := a.(*Var); ok {
						continue
					}
				}
				Walk(a, func(e Expr) bool { read(e); return true })
			}
			c2 := *c
			c2.Args, c2.CompilerDeps = nil, nil
			walkChildren(&c2, func(e Expr) bool { read(e); return true })
			return false
		}
		var block func(Block)
		block = func(b Block) {
			for _, s := range b {
				stmt = s
				if _, ok := s.(*Return); !ok || !f.Type.IsWrapper() { // a wrapper returns its parameters (ReturnParamsExplicit)
					Exprs(s, use)
				}
				if a, ok := s.(*Assign); ok {
					if c, ok := a.Value.(*Call); ok {
						if callee := v.funcs[c.Callee]; callee != nil && !callee.Type.IsWrapper() && callee.Type != Inline {
							for i, arg := range c.Args {
								x, ok := arg.(*Var)
								k := paramOf(callee, c, i)
								if ok && k >= 0 && callee.Params[k].Dir != In && slices.Contains(v.returned(callee), k) {
									set(x, c)
								}
							}
						}
					}
				}
				nested := Blocks(s)
				if _, ok := s.(*If); ok { // a branch does not see what the other one passed
					// What a branch changed, in order; a Var is stale afterwards when it is at the end of any branch.
					ends := make([]map[*Var]*Call, len(nested))
					var touched []*Var
					for i, n := range nested {
						mark := len(log)
						block(n)
						ends[i] = make(map[*Var]*Call)
						for _, c := range log[mark:] {
							if _, seen := ends[i][c.x]; !seen {
								ends[i][c.x] = stale[c.x]
								touched = append(touched, c.x)
							}
						}
						for j := len(log) - 1; j >= mark; j-- {
							if c := log[j]; c.was == nil {
								delete(stale, c.x)
							} else {
								stale[c.x] = c.was
							}
						}
						log = log[:mark]
					}
					for _, x := range touched {
						var after *Call
						if len(nested) == 1 {
							after = stale[x]
						}
						for _, end := range ends {
							c, changed := end[x]
							if !changed {
								c = stale[x]
							}
							if c != nil {
								after = c
							}
						}
						set(x, after)
					}
				} else {
					for _, n := range nested {
						block(n)
					}
				}
				for _, x := range Defs(s) {
					set(x, nil)
				}
			}
		}
		block(f.Body)
	})
}

// returned is ReturnedParams, computed once per function.
func (v *verifier) returned(f *Function) []int {
	r, ok := v.returns[f]
	if !ok {
		if v.returns == nil {
			v.returns = make(map[*Function][]int)
		}
		r = f.ReturnedParams()
		v.returns[f] = r
	}
	return r
}

// paramOf is ParamOfArg for a callee that may be unknown.
func paramOf(callee *Function, c *Call, i int) int {
	if callee == nil {
		return -1
	}
	return callee.ParamOfArg(len(c.Args), i)
}

// returnParams: kernels and wrappers return the very parameters that they write.
func (v *verifier) returnParams() {
	v.each(func(f *Function) bool { return (f.Type.IsKernel() || f.Type.IsWrapper()) && f.External == nil }, func(f *Function) {
		tensors := slices.ContainsFunc(f.Returns, IsTensor)
		r := f.FinalReturn()
		if r == nil {
			if tensors {
				v.report(codeNoReturn, f.Pos, "%s has no ReturnStmt although it has tensor results", f.Name)
			}
			return
		}
		roots := v.bufferRoots(f)
		for i, e := range r.Values {
			x, ok := e.(*Var)
			if !ok || !IsTensor(x.Typ) || f.Param(x) >= 0 {
				continue
			}
			if p := roots[x]; p != nil {
				v.report(codeReturnAlias, r.Pos, "return position %d of %s aliases parameter %d ('%s'), must reference the param directly", i, f.Name, f.Param(p), p.Hint)
			}
		}
	})
}

// bufferRoots maps Vars to the parameter whose buffer they are, where that is certain: through copies, ops that write through, loops, merges that agree,
// and calls that return a parameter.
func (v *verifier) bufferRoots(f *Function) map[*Var]*Var {
	roots := make(map[*Var]*Var)
	for _, p := range f.Params {
		if IsTensor(p.Var.Typ) {
			roots[p.Var] = p.Var
		}
	}
	tuples := make(map[*Var][]*Var) // per element of a call's result
	rootOf := func(e Expr) *Var {
		if x, ok := e.(*Var); ok {
			return roots[x]
		}
		return nil
	}
	results := func(c *Call) []*Var {
		callee := v.funcs[c.Callee]
		if callee == nil {
			return nil
		}
		byParam := make(map[int]Expr)
		for i, a := range c.Args {
			byParam[callee.ParamOfArg(len(c.Args), i)] = a
		}
		var out []*Var
		for _, k := range v.returned(callee) {
			var root *Var
			if k >= 0 {
				root = rootOf(byParam[k])
			}
			out = append(out, root)
		}
		return out
	}
	set := func(x, root *Var) {
		if root != nil && roots[x] == nil {
			roots[x] = root
		}
	}
	var block func(Block)
	block = func(b Block) {
		for _, s := range b {
			switch s := s.(type) {
			case *Assign:
				switch e := s.Value.(type) {
				case *Var:
					set(s.Var, roots[e])
				case *OpCall:
					if k := v.ops.WritesThrough(e.Op); k >= 0 && k < len(e.Args) {
						set(s.Var, rootOf(e.Args[k]))
					}
				case *Call:
					rs := results(e)
					if len(rs) == 1 && !e.Submit {
						set(s.Var, rs[0])
					} else {
						tuples[s.Var] = rs
					}
				case *TupleGet:
					if x, ok := e.X.(*Var); ok && e.Index >= 0 && e.Index < len(tuples[x]) {
						set(s.Var, tuples[x][e.Index])
					}
				}
			case *For, *While:
				cs := carriesOf(s)
				for _, c := range cs {
					set(c.Iter, rootOf(c.Init))
				}
				for _, n := range Blocks(s) {
					block(n)
				}
				y := ClosingYield(Blocks(s)[0])
				for i, c := range cs {
					if y != nil && i < len(y.Values) && rootOf(y.Values[i]) == rootOf(c.Init) {
						set(c.Result, rootOf(c.Init))
					}
				}
			case *If:
				block(s.Then)
				block(s.Else)
				y, z := ClosingYield(s.Then), ClosingYield(s.Else)
				for i, x := range s.Results {
					if y != nil && z != nil && i < len(y.Values) && i < len(z.Values) && rootOf(y.Values[i]) == rootOf(z.Values[i]) {
						set(x, rootOf(y.Values[i]))
					}
				}
			default:
				for _, n := range Blocks(s) {
					block(n)
				}
			}
		}
	}
	block(f.Body)
	return roots
}

// callDirections: every call has a direction per argument that its callee's parameter allows.
func (v *verifier) callDirections() {
	effective := v.wrapperDirections()
	v.each(func(f *Function) bool { return f.Type != Inline }, func(f *Function) {
		for k, d := range effective[f] {
			if p := f.Params[k]; d > p.Dir {
				v.report(codeWrapperDirs, f.Pos, "%s declares parameter %s as %s, but the kernels it forwards to make it %s", f.Name, varText(p.Var), p.Dir, d)
			}
		}
		callsIn(f, func(c *Call, s Stmt) {
			callee := v.funcs[c.Callee]
			if callee == nil || callee.Type == Inline || len(c.Args) == 0 {
				return
			}
			if len(c.Dirs) != len(c.Args) {
				what := fmt.Sprintf("%d argument directions for %d arguments", len(c.Dirs), len(c.Args))
				if c.Dirs == nil {
					what = "no argument directions"
				}
				v.report(codeDirections, place(c, s), "the call of %s has %s", c.Callee, what)
				return
			}
			for i, a := range c.Args {
				k := callee.ParamOfArg(len(c.Args), i)
				if k < 0 {
					continue
				}
				dir := callee.Params[k].Dir
				if e := effective[callee]; e != nil {
					dir = max(dir, e[k])
				}
				v.argDirection(c, i, a, callee.Params[k], dir, s)
			}
		})
	})
}

func (v *verifier) argDirection(c *Call, i int, a Expr, p Param, dir ParamDir, s Stmt) {
	got := c.Dirs[i]
	if t := a.Type(); !isUnknown(t) && IsTensor(t) == (got == DirScalar) {
		v.report(codeDirections, place(a, s), "argument %d of %s is a %s, its direction is %s", i+1, c.Callee, kindText(t), got)
		return
	}
	if got == DirScalar || got == DirNoDep || slices.Contains(allowedDirs[dir], got) {
		return
	}
	v.report(codeDirections, place(a, s), "argument %d of %s has direction %s, but parameter '%s' is %s", i+1, c.Callee, got, p.Var.Hint, dir)
}

// allowedDirs are the call-site directions that a parameter direction admits, besides NoDep.
var allowedDirs = [...][]ArgDir{
	In:    {DirInput},
	Out:   {DirOutput, DirOutputExisting, DirInOut},
	InOut: {DirInOut, DirOutputExisting},
}

// wrapperDirections computes what the parameters of Group and Spmd functions are used for: the least fixpoint over the calls in their bodies, with
// In < Out < InOut.
func (v *verifier) wrapperDirections() map[*Function][]ParamDir {
	effective := make(map[*Function][]ParamDir)
	var wrappers []*Function
	for _, f := range v.p.Funcs {
		if f.Type.IsWrapper() {
			wrappers = append(wrappers, f)
			effective[f] = make([]ParamDir, len(f.Params))
		}
	}
	for changed := true; changed; {
		changed = false
		for _, f := range wrappers {
			dirs := effective[f]
			callsIn(f, func(c *Call, _ Stmt) {
				callee := v.funcs[c.Callee]
				if callee == nil {
					return
				}
				for i, a := range c.Args {
					x, ok := a.(*Var)
					k := callee.ParamOfArg(len(c.Args), i)
					if !ok || k < 0 {
						continue
					}
					d := callee.Params[k].Dir
					if e := effective[callee]; e != nil {
						d = e[k]
					}
					if n := f.Param(x); n >= 0 && d > dirs[n] {
						dirs[n], changed = d, true
					}
				}
			})
		}
	}
	return effective
}
