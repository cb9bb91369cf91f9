package lower_test

import (
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes/lower"
)

var place = diag.Span{File: "p.py", Line: 7, Col: 9}

// at gives a statement a place.
func at(s ir.Stmt) ir.Stmt {
	switch s := s.(type) {
	case *ir.Assign:
		s.Pos = place
	case *ir.Eval:
		s.Pos = place
	case *ir.Scope:
		s.Pos = place
	case *ir.For:
		s.Pos = place
	case *ir.If:
		s.Pos = place
	}
	return s
}

// Each condition that a program can reach gives its code, a place, and the words of the acceptance list.
func TestErrors(t *testing.T) {
	x, y := tensor("x__ssa_v0"), tensor("y__ssa_v0")
	rc := &ir.Var{Hint: "rc__ssa_v0", Typ: &ir.TensorType{Shape: []ir.Expr{ir.Int(8), ir.Int(1)}, DType: ir.INT32}}
	n := index("n__ssa_v0")
	params := []ir.Param{param(x, ir.In), param(y, ir.Out), param(rc, ir.In), param(n, ir.In)}
	fk := k()
	ks := kernel("ks", ir.AIV, param(tensor("a"), ir.In), param(tensor("o"), ir.Out), param(index("n"), ir.In))
	two := kernel("two", ir.AIV, param(tensor("a"), ir.In), param(tensor("p"), ir.Out), param(tensor("q"), ir.Out))
	odd := kernel("odd", ir.AIV, param(tensor("a"), ir.In), param(tensor("p"), ir.Out), param(tensor("q"), ir.Out))
	odd.Body = ir.Block{&ir.Return{Values: []ir.Expr{tensor("other")}}}
	odd.Returns = odd.Returns[:1]
	raw := kernel("raw", ir.InCore, param(tensor("a"), ir.In), param(tensor("o"), ir.Out))
	aic := kernel("kc", ir.AIC, param(tensor("a"), ir.In), param(tensor("o"), ir.Out))
	ext := kernel("ke", ir.AIC, param(tensor("a"), ir.In), param(tensor("o"), ir.Out))
	ext.External = &ir.External{Source: "ke.cpp"}
	wrapper := func(name string, ft ir.FuncType, calls ...*ir.Call) *ir.Function {
		f := kernel(name, ft, param(tensor("a"), ir.In), param(tensor("o"), ir.Out))
		ret := f.Body[0]
		f.Body = nil
		for _, c := range calls {
			c.Args = []ir.Expr{f.Params[0].Var, f.Params[1].Var}
			f.Body = append(f.Body, &ir.Eval{X: c, Pos: place})
		}
		f.Body = append(f.Body, ret)
		return f
	}
	launched := callOf(fk, nil, nil)
	launched.Submit, launched.Launch.EarlyResolve, launched.Pos = true, true, place
	groups := []*ir.Function{
		wrapper("g_two", ir.Group, callOf(fk, nil, nil), callOf(ks, nil, nil)),
		wrapper("g_mixed", ir.Group, callOf(ext, nil, nil), callOf(fk, nil, nil)),
		wrapper("g_launch", ir.Group, launched),
		wrapper("g_none", ir.Group),
		wrapper("s_two", ir.Spmd, callOf(fk, nil, nil), callOf(fk, nil, nil)),
	}
	kernels := append([]*ir.Function{fk, ks, two, odd, raw, aic, ext}, groups...)
	call := func(f *ir.Function, args ...ir.Expr) ir.Stmt { return at(set(tensor("r__ssa_v0"), callOf(f, args...))) }
	eval := func(e ir.Expr) ir.Stmt { return at(&ir.Eval{X: e}) }
	op := func(name string, args ...ir.Expr) *ir.OpCall { return &ir.OpCall{Op: name, Args: args, Typ: T} }
	submit := func(c *ir.Call, id *ir.Var) ir.Block {
		r := &ir.Var{Hint: "ret__tmp_v0", Typ: c.Typ}
		return ir.Block{at(set(r, c)), at(get(id, r, len(c.Typ.(*ir.TupleType).Elems)-1))}
	}
	pred := func(p ir.Expr) ir.Stmt {
		c := submitOf(fk, nil, x, y)
		c.Launch.Predicate = p
		return eval(c)
	}
	read := func(v *ir.Var, idx ...ir.Expr) ir.Expr {
		return &ir.OpCall{Op: "tensor.read", Args: []ir.Expr{v, &ir.MakeTuple{Elems: idx}}, Typ: ir.Scalar(ir.ElemDType(v.Typ))}
	}
	cmp := func(o ir.BinOp, a, b ir.Expr) ir.Expr {
		return &ir.Binary{Op: o, X: a, Y: b, DType: ir.BOOL, Pos: place}
	}
	zero := ir.Int(0)
	wide := &ir.Var{Hint: "wide", Typ: &ir.TensorType{Shape: []ir.Expr{zero, zero, zero, zero, zero, zero}, DType: ir.INT32}}
	id := taskID("t__ssa_v0")
	late := func(c *ir.Call) *ir.Call { c.Launch.Deps = []ir.Expr{id}; return c }
	local, rows := tensor("t__ssa_v0"), index("rows")
	local.Typ = &ir.TensorType{Shape: []ir.Expr{rows, ir.Int(16)}, DType: ir.FP32}
	scoped := &ir.Scope{Kind: ir.RuntimeScope, Body: ir.Block{
		at(set(rows, &ir.Binary{Op: ir.Add, X: n, Y: ir.Int(1), DType: ir.INDEX})), create(local), call(fk, x, local)}}

	for _, c := range []struct {
		name, code, want string
		body             []ir.Stmt
	}{
		{"E-03", "PTO-G005", "Misplaced tensor op 'tensor.add' in Orchestration function", []ir.Stmt{at(set(tensor("z"), op("tensor.add", x, y)))}},
		{"E-04", "PTO-G005", "Misplaced builtin op 'tile.load'", []ir.Stmt{at(set(tensor("z"), op("tile.load", x)))}},
		{"E-05 missing", "PTO-G010", "DeriveCallDirections must run before orchestration codegen", []ir.Stmt{eval(&ir.Call{Callee: "k", Args: []ir.Expr{x, y}, Typ: T})}},
		{"E-05 arity", "PTO-G010", "takes 2 arguments, 1 were given", []ir.Stmt{eval(&ir.Call{Callee: "k", Args: []ir.Expr{x}, Dirs: []ir.ArgDir{ir.DirInput}, Typ: T})}},
		{"E-06", "PTO-G011", "neither a variable nor a recognized constant", []ir.Stmt{call(ks, x, y, &ir.OpCall{Op: "system.available_aiv_count", Typ: ir.IndexType})}},
		{"E-07", "PTO-G012", "only Out params may be runtime-allocated", []ir.Stmt{eval(submitOf(fk, nil))}},
		{"E-08", "PTO-G020", "deps=[t] cannot be honored", append([]ir.Stmt{at(&ir.Scope{Kind: ir.RuntimeScope, Body: submit(submitOf(fk, nil, x, y), id)})}, eval(late(submitOf(fk, nil, x, y))))},
		{"E-10 comparison", "PTO-G018", "single comparison", []ir.Stmt{pred(cmp(ir.And, zero, zero))}},
		{"E-10 literal", "PTO-G018", "integer literal", []ir.Stmt{pred(cmp(ir.Gt, read(rc, zero, zero), n))}},
		{"E-10 dtype", "PTO-G018", "signed 8/16/32/64-bit", []ir.Stmt{pred(cmp(ir.Gt, read(x, zero, zero), zero))}},
		{"E-10 rank", "PTO-G018", "maximum of 5", []ir.Stmt{create(wide), pred(cmp(ir.Gt, read(wide, zero, zero, zero, zero, zero, zero), zero))}},
		{"E-10 operand", "PTO-G018", "single comparison", []ir.Stmt{pred(cmp(ir.Gt, n, zero))}},
		{"E-10 negative", "PTO-G018", "is negative", []ir.Stmt{pred(cmp(ir.Gt, read(rc, ir.Int(-1), zero), zero))}},
		{"E-14 axes", "PTO-", "axis", []ir.Stmt{at(set(local, op("tensor.transpose", x, ir.Int(0), ir.Int(5)))), call(fk, local, y)}},
		{"E-17", "PTO-", "cannot change the element dtype", []ir.Stmt{at(set(local, op("tensor.reinterpret_view", x))), call(fk, local, y)}},
		{"E-19", "PTO-G017", "Unsupported core_num expression kind", []ir.Stmt{func() ir.Stmt {
			c := submitOf(fk, nil, x, y)
			c.Launch.CoreNum = &ir.ConstFloat{Value: 1.5, DType: ir.FP32}
			return eval(c)
		}()}},
		{"E-21", "PTO-G015", "ExpandMixedKernel", []ir.Stmt{call(raw, x, y)}},
		{"E-22", "PTO-G026", "reached codegen", []ir.Stmt{at(&ir.For{Var: index("i"), Start: zero, Stop: zero, Step: ir.Int(1), Kind: ir.Unroll})}},
		{"E-27", "PTO-G005", "break cannot stand", []ir.Stmt{at(&ir.For{Var: index("i"), Start: zero, Stop: zero, Step: ir.Int(1), Body: ir.Block{&ir.Branch{Pos: place}}})}},
		{"C-RES-07", "PTO-G013", "cannot map return of callee", []ir.Stmt{call(odd, x, y, y)}},
		{"C-GRP-05", "PTO-G016", "launch specification of its own", []ir.Stmt{call(groups[2], x, y)}},
		{"C-PKG-06", "PTO-G016", "mixes external and DSL", []ir.Stmt{call(groups[1], x, y)}},
		{"group of two vector kernels", "PTO-G016", "fits no free core", []ir.Stmt{call(groups[0], x, y)}},
		{"empty group", "PTO-G016", "launches no kernel", []ir.Stmt{call(groups[3], x, y)}},
		{"spmd of two", "PTO-G016", "exactly one", []ir.Stmt{call(groups[4], x, y)}},
		{"unknown callee", "PTO-G015", "OrchestrationReferencesResolved", []ir.Stmt{eval(&ir.Call{Callee: "nobody", Typ: T})}},
		{"in-core scope left", "PTO-G002", "SplitIncoreOrch", []ir.Stmt{at(&ir.Scope{Kind: ir.InCoreScope})}},
		{"unclassified carry", "PTO-G002", "IterArgCarryClassified", []ir.Stmt{at(&ir.For{Var: index("i"), Start: zero, Stop: zero, Step: ir.Int(1),
			Carries: []ir.Carry{{Iter: tensor("a"), Init: x, Result: tensor("b")}}, Body: ir.Block{&ir.Yield{Values: []ir.Expr{x}}}})}},
		{"AUTO in MANUAL", "PTO-G005", "inside a manual scope", []ir.Stmt{manual(at(auto()))}},
		{"tensor outlives its scope", "PTO-G021", "scope that has already closed", []ir.Stmt{scoped, call(fk, local, y)}},
		{"scalar result", "PTO-G014", "returns a scalar", func() []ir.Stmt {
			c := callOf(fk, x, y)
			c.Typ = &ir.TupleType{Elems: []ir.Type{T, ir.IndexType}}
			r, m := &ir.Var{Hint: "ret", Typ: c.Typ}, index("m")
			return []ir.Stmt{at(set(r, c)), at(get(m, r, 1)), call(ks, x, y, m)}
		}()},
		{"dtype", "PTO-G025", "cannot store tensors of type fp64", []ir.Stmt{at(create(&ir.Var{Hint: "d", Typ: &ir.TensorType{Shape: []ir.Expr{ir.Int(4)}, DType: ir.FP64}}))}},
		{"unknown dim", "PTO-G007", "not the extent of any tensor parameter", []ir.Stmt{at(&ir.For{Var: index("i"), Start: zero, Step: ir.Int(1),
			Stop: &ir.Var{Hint: "M", Typ: ir.IndexType, Dyn: true, Pos: place}})}},
		{"undefined", "PTO-G006", "nothing defines it", []ir.Stmt{call(fk, tensor("ghost"), y)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, ds := lower.Lower(progOf(kernels, params, c.body), progMain, ops.Builtin(), lower.Options{})
			if f != nil || !ds.HasErrors() {
				t.Fatalf("no error: %v", ds)
			}
			d := ds[0]
			if !strings.HasPrefix(string(d.Code), c.code) || !strings.Contains(d.Message, c.want) {
				t.Errorf("got %s", ds)
			}
			if !d.Span.IsValid() {
				t.Errorf("no place: %s", d)
			}
		})
	}
}

var progMain *ir.Function

func progOf(kernels []*ir.Function, params []ir.Param, body []ir.Stmt) *ir.Program {
	p := orchestration(kernels, params, body...)
	progMain = p.Lookup("main")
	return p
}

// E-23: a merged tensor in a function without any tensor.
func TestMergeWithoutTensor(t *testing.T) {
	n := index("n")
	a, b, m := tensor("a"), tensor("b"), tensor("m")
	s := &ir.If{Cond: &ir.Binary{Op: ir.Lt, X: n, Y: ir.Int(3), DType: ir.BOOL}, Results: []*ir.Var{m}, Pos: place,
		Then: ir.Block{create(a), &ir.Yield{Values: []ir.Expr{a}}}, Else: ir.Block{create(b), &ir.Yield{Values: []ir.Expr{b}}}}
	fk := kernel("k", ir.AIV, param(tensor("x"), ir.InOut))
	_, ds := lowered(t, orchestration([]*ir.Function{fk}, []ir.Param{param(n, ir.In)}, s, at(&ir.Eval{X: callOf(fk, m)})), lower.Options{})
	if !ds.HasErrors() || !strings.Contains(ds[0].Message, "no in-scope Tensor was found") {
		t.Errorf("got %v", ds)
	}
}

// E-01, E-02, E-24, E-25: what is wrong with the function itself.
func TestEntryErrors(t *testing.T) {
	main := func() *ir.Function { return &ir.Function{Name: "main", Type: ir.Orchestration, Pos: place} }
	f := main()
	graph, open := main(), main()
	graph.Type, open.AutoScope = ir.Graph, true
	tuple := main()
	tuple.Params = []ir.Param{param(&ir.Var{Hint: "p", Typ: &ir.TupleType{}, Pos: place}, ir.In)}
	for _, c := range []struct {
		name, want string
		p          *ir.Program
		f          *ir.Function
	}{
		{"nil", "no orchestration function", &ir.Program{}, nil},
		{"missing", "not present in the supplied program", &ir.Program{}, f},
		{"stale", "stale handle", &ir.Program{Funcs: []*ir.Function{main()}}, f},
		{"graph", "Graph function", &ir.Program{Funcs: []*ir.Function{graph}}, graph},
		{"scopes", "RuntimeScopesMaterialized", &ir.Program{Funcs: []*ir.Function{open}}, open},
		{"tuple", "cannot take a tuple", &ir.Program{Funcs: []*ir.Function{tuple}}, tuple},
	} {
		_, ds := lower.Lower(c.p, c.f, ops.Builtin(), lower.Options{})
		if !ds.HasErrors() || !strings.Contains(ds[0].Message, c.want) {
			t.Errorf("%s: got %v", c.name, ds)
		}
	}
}
