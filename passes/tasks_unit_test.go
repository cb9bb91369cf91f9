package passes

import (
	"slices"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
)

// Programs that no DSL text gives: hand-written wrappers, external kernels, dumps.

// forward makes a function that only calls others, given as callee name and indices of its own parameters.
func forward(name string, typ ir.FuncType, params int, calls ...forwardCall) *ir.Function {
	f := &ir.Function{Name: name, Type: typ}
	for range params {
		f.Params = append(f.Params, ir.Param{Var: tvar("p")})
	}
	for _, c := range calls {
		x := call(c.callee)
		for _, i := range c.args {
			x.Args = append(x.Args, f.Params[i].Var)
		}
		f.Body = append(f.Body, &ir.Eval{X: x})
	}
	return f
}

type forwardCall struct {
	callee string
	args   []int
}

func runPass(t *testing.T, p *ir.Program, pass *Pass) (*ir.Program, diag.List) {
	t.Helper()
	ctx := &Context{Ops: ops.Builtin()}
	q, err := pass.Run(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	return q, ctx.diags
}

func dirsOf(f *ir.Function) string {
	var s []string
	for _, p := range f.Params {
		s = append(s, p.Dir.String())
	}
	return strings.Join(s, " ")
}

// P-DIR-12: wrappers of wrappers, and wrappers that call each other.
func TestWrapperDirections(t *testing.T) {
	upd := plainKernel("upd", 0)
	upd.Params[0].Dir = ir.InOut
	upd.Body = ir.Block{ret(upd.Params[0].Var)}
	k := plainKernel("k", 1)
	p := &ir.Program{Funcs: []*ir.Function{k, upd,
		forward("outer", ir.Spmd, 2, forwardCall{"inner", []int{1, 0}}),
		forward("inner", ir.Group, 2, forwardCall{"k", []int{0, 1}}),
		forward("even", ir.Group, 3, forwardCall{"odd", []int{0, 1, 2}}),
		forward("odd", ir.Group, 3, forwardCall{"even", []int{0, 1, 2}}, forwardCall{"upd", []int{1}}, forwardCall{"k", []int{0, 2}}),
		forward("writes_first", ir.Group, 3, forwardCall{"k", []int{0, 1}}, forwardCall{"k", []int{1, 2}}),
		forward("reads_first", ir.Group, 3, forwardCall{"k", []int{1, 2}}, forwardCall{"k", []int{0, 1}}),
		forward("same_twice", ir.Spmd, 1, forwardCall{"k", []int{0, 0}}),
	}}
	q, ds := runPass(t, p, callDirections)
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	for name, want := range map[string]string{"outer": "Out In", "inner": "In Out", "even": "In InOut InOut", "odd": "In InOut InOut",
		"writes_first": "In Out Out", "reads_first": "In InOut Out", "same_twice": "InOut"} {
		if got := dirsOf(q.Lookup(name)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// P-DIR-11: explicit directions stay; a list of the wrong length is the user's mistake.
func TestExplicitDirections(t *testing.T) {
	x, y, y1, y2 := tvar("x"), tvar("y"), tvar("y"), tvar("y")
	explicit := call("k", x, y)
	explicit.Dirs = []ir.ArgDir{ir.DirNoDep, ir.DirInOut}
	short := call("k", x, y1)
	short.Dirs = []ir.ArgDir{ir.DirInput}
	main := &ir.Function{Name: "main", Type: ir.Orchestration, Params: []ir.Param{{Var: x}, {Var: y, Dir: ir.Out}}, Body: ir.Block{set(y1, explicit), set(y2, short), ret(y2)}}
	q, ds := runPass(t, &ir.Program{Funcs: []*ir.Function{plainKernel("k", 1), main}}, callDirections)
	if got := callOf(q.Lookup("main").Body[0]).Dirs; !slices.Equal(got, explicit.Dirs) {
		t.Errorf("explicit directions became %v", got)
	}
	if len(ds) != 1 || ds[0].Code != codeDirsLength {
		t.Errorf("reports: %v", ds)
	}
}

// P-RET-06: a group that forwards two results as its one declared result is left alone, and its map is not poisoned.
func TestForwardedTuple(t *testing.T) {
	two := plainKernel("two", 1)
	q := tvar("q")
	two.Params = append(two.Params, ir.Param{Var: q, Dir: ir.Out})
	two.Returns = []ir.Type{tensorT, tensorT}
	two.Body = ir.Block{ret(two.Params[1].Var, q)}
	pair := &ir.TupleType{Elems: []ir.Type{tensorT, tensorT}}
	group := func(returns ...ir.Type) *ir.Function {
		g := forward("g", ir.Group, 3)
		tup := &ir.Var{Hint: "t", Typ: pair}
		g.Returns = returns
		g.Body = ir.Block{set(tup, &ir.Call{Callee: "two", Args: []ir.Expr{g.Params[0].Var, g.Params[2].Var, g.Params[1].Var}, Typ: pair}), ret(tup)}
		return g
	}
	p, _ := runPass(t, &ir.Program{Funcs: []*ir.Function{two, group(tensorT)}}, returnOrder)
	if r := trailingReturn(p.Lookup("g").Body); len(r.Values) != 1 {
		t.Errorf("one declared result became %d", len(r.Values))
	}
	if m := newCallTable(&Context{Ops: ops.Builtin()}, p).returned("g"); slices.ContainsFunc(m, func(i int) bool { return i >= 0 }) {
		t.Errorf("return map %v", m)
	}
	p, _ = runPass(t, &ir.Program{Funcs: []*ir.Function{two, group(tensorT, tensorT)}}, returnOrder)
	g := p.Lookup("g")
	if r := trailingReturn(g.Body); len(r.Values) != 2 || r.Values[0] != ir.Expr(g.Params[2].Var) || r.Values[1] != ir.Expr(g.Params[1].Var) {
		t.Errorf("two declared results: %v", ir.PrintFunction(g, ir.PrintOptions{}))
	}
}

// C-RES-07: the results of a hand-written kernel are its outputs, never a guess.
func TestExternalReturns(t *testing.T) {
	ext := func(returns int) *ir.Function {
		f := &ir.Function{Name: "ext", Type: ir.AIV, External: &ir.External{Source: "ext.cpp"},
			Params: []ir.Param{{Var: tvar("a")}, {Var: tvar("p"), Dir: ir.Out}, {Var: tvar("q"), Dir: ir.InOut}}}
		for range returns {
			f.Returns = append(f.Returns, tensorT)
		}
		return f
	}
	for returns, bad := range []bool{false, true, false} {
		p, ds := runPass(t, &ir.Program{Funcs: []*ir.Function{ext(returns)}}, returnOrder)
		if got := len(ds) == 1 && ds[0].Code == codeReturnExternal && strings.Contains(ds[0].Message, "cannot map return of callee"); got != bad {
			t.Errorf("%d results: %v", returns, ds)
		}
		if m := newCallTable(&Context{Ops: ops.Builtin()}, p).returned("ext"); returns == 2 && !slices.Equal(m, []int{1, 2}) {
			t.Errorf("return map %v", m)
		}
	}
}

// P-OUT-12 P-OUT-14: what the front end does not let through.
func TestOutlineBrokenScopes(t *testing.T) {
	x, w, y, y1 := tvar("x"), tvar("w"), tvar("y"), tvar("y")
	tile := &ir.Var{Hint: "v", Typ: tileT}
	load := set(tile, op("tile.load", tileT, x, pair(0, 0), pair(16, 16)))
	store := set(y1, op("tile.store", tensorT, tile, pair(0, 0), y))
	main := func(sc *ir.Scope) *ir.Program {
		sc.Kind = ir.InCoreScope
		return &ir.Program{Funcs: []*ir.Function{{Name: "main", Type: ir.Orchestration, Params: []ir.Param{{Var: x}, {Var: w}, {Var: y, Dir: ir.Out}}, Body: ir.Block{sc, ret(y1)}}}}
	}
	_, ds := runPass(t, main(&ir.Scope{Body: ir.Block{load, store}, NoDep: []ir.Expr{w}}), outlineIncore)
	if len(ds) != 1 || ds[0].Code != codeNotCaptured || !strings.Contains(ds[0].Message, "'w', which is not captured by the scope body") {
		t.Errorf("no_dep_args: %v", ds)
	}
	_, ds = runPass(t, main(&ir.Scope{Body: ir.Block{store, load}}), outlineIncore)
	if len(ds) != 1 || ds[0].Code != codeRebound {
		t.Errorf("rebound: %v", ds)
	}
}

// P-OUT-16: the reference's directions on request.
func TestStoreTargetInOut(t *testing.T) {
	src := `import pypto.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: pl.Tensor[[16, 16], pl.FP32], y: pl.Out[pl.Tensor[[16, 16], pl.FP32]]) -> pl.Tensor[[16, 16], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP):
            y = pl.store(pl.load(x, [0, 0], [16, 16]), [0, 0], y)
        for i in pl.range(2):
            with pl.at(level=pl.Level.CORE_GROUP):
                y = pl.store(pl.load(x, [i, 0], [1, 16]), [i, 0], y)
        return y
`
	for on, want := range map[bool][2]string{false: {"In Out", "In In Out"}, true: {"In InOut", "In In Out"}} {
		p, ds := pipeline(t, src, Options{StoreTargetInOut: on}, "OutlineIncoreScopes", nil, nil)
		if ds.HasErrors() {
			t.Fatal(ds)
		}
		if got := [2]string{dirsOf(p.Lookup("main_incore_0")), dirsOf(p.Lookup("main_incore_1"))}; got != want {
			t.Errorf("%v: %q, want %q", on, got, want)
		}
	}
}
