package ir

import (
	"maps"
	"slices"
	"strings"
)

// How calls bind to the functions they call.

// ParamOfArg returns the index of the parameter that argument i of nargs arguments binds to, -1 when there is none. Arguments bind in order; a submit
// may leave out trailing parameters that the runtime allocates, but communication contexts at the very end keep their place at the end.
func (f *Function) ParamOfArg(nargs, i int) int {
	gap := len(f.Params) - nargs
	if gap < 0 || i < 0 || i >= nargs {
		return -1
	}
	if gap == 0 {
		return i
	}
	ctx := 0
	for ctx < nargs && isCommCtx(f.Params[len(f.Params)-1-ctx].Var.Typ) {
		ctx++
	}
	if i < nargs-ctx {
		return i
	}
	return i + gap
}

// Bind maps the parameters of f, and the dimension symbols of their types, to what a call passes for them.
func (f *Function) Bind(args []Expr) map[*Var]Expr {
	m := make(map[*Var]Expr, len(args))
	for i, a := range args {
		k := f.ParamOfArg(len(args), i)
		if k < 0 {
			continue
		}
		p := f.Params[k].Var
		m[p] = a
		shape := ShapeOf(a.Type())
		for j, d := range ShapeOf(p.Typ) {
			if v, ok := d.(*Var); ok && v.Dyn && m[v] == nil && j < len(shape) {
				m[v] = shape[j]
			}
		}
	}
	return m
}

// ResultTypes are the types of the results of a call in the caller's terms: those of f, with what the call passes in place of parameters and
// dimension symbols.
func (f *Function) ResultTypes(args []Expr) []Type {
	if len(f.Returns) == 0 {
		return nil
	}
	bound := f.Bind(args)
	r := &Rewriter{Expr: func(e Expr) Expr {
		switch x := e.(type) {
		case *Var:
			if a := bound[x]; a != nil {
				return a
			}
		case *OpCall: // an extent of a parameter is that of the argument
			if x.Op == "tensor.dim" && len(x.Args) == 2 {
				shape := ShapeOf(x.Args[0].Type())
				if axis, known := IntValue(x.Args[1]); known && axis >= 0 && axis < int64(len(shape)) {
					return shape[axis]
				}
			}
		}
		return e
	}}
	out := make([]Type, len(f.Returns))
	for i, t := range f.Returns {
		out[i] = r.Type(t)
	}
	return out
}

func isCommCtx(t Type) bool {
	o, ok := t.(*OpaqueType)
	return ok && opaqueText(o.Name) == "pld.CommCtxType"
}

// FinalReturn returns the return statement of a function, nil when it has none. It may stand inside runtime scopes.
func (f *Function) FinalReturn() *Return {
	var found *Return
	Inspect(f.Body, func(s Stmt) bool {
		if r, ok := s.(*Return); ok {
			found = r
		}
		return true
	})
	return found
}

// ReturnedParams returns, for each result, the index of the parameter that the function returns there, -1 for a value that is no parameter. For a
// hand-written kernel the tensor results are its Out and InOut parameters in order. Before NormalizeReturnOrder a -1 may still be a parameter's buffer.
func (f *Function) ReturnedParams() []int {
	if f.External != nil {
		var written []int
		for i, p := range f.Params {
			if p.Dir != In {
				written = append(written, i)
			}
		}
		out := make([]int, len(f.Returns))
		for i, t := range f.Returns {
			out[i] = -1
			if IsTensor(t) && len(written) > 0 {
				out[i], written = written[0], written[1:]
			}
		}
		return out
	}
	r := f.FinalReturn()
	if r == nil {
		return nil
	}
	out := make([]int, len(r.Values))
	for i, v := range r.Values {
		out[i] = -1
		if v, ok := v.(*Var); ok {
			out[i] = f.Param(v)
		}
	}
	return out
}

// calleesFirst returns the functions of a program in the order in which they are printed: by name, every function after those it calls. When calls go
// round in a circle there is no such order, and the program's own is kept.
func calleesFirst(p *Program) []*Function {
	byName := make(map[string]*Function, len(p.Funcs))
	for _, f := range p.Funcs {
		byName[f.Name] = f
	}
	callees := func(f *Function) []string {
		seen := map[string]bool{}
		Inspect(f.Body, func(s Stmt) bool {
			Exprs(s, func(e Expr) bool {
				if c, ok := e.(*Call); ok && byName[c.Callee] != nil {
					seen[c.Callee] = true
				}
				return true
			})
			return true
		})
		return slices.Sorted(maps.Keys(seen))
	}
	const open, done = 1, 2
	state := make(map[*Function]int, len(p.Funcs))
	order := make([]*Function, 0, len(p.Funcs))
	var visit func(f *Function) bool
	visit = func(f *Function) bool {
		if state[f] != 0 {
			return state[f] == done
		}
		state[f] = open
		for _, name := range callees(f) {
			if !visit(byName[name]) {
				return false
			}
		}
		state[f] = done
		order = append(order, f)
		return true
	}
	for _, f := range slices.SortedStableFunc(slices.Values(p.Funcs), func(a, b *Function) int { return strings.Compare(a.Name, b.Name) }) {
		if !visit(f) {
			return p.Funcs
		}
	}
	if len(order) != len(p.Funcs) {
		return p.Funcs // two functions of one name: not a valid program, but printable
	}
	return order
}
