package passes

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

func names(ps []*Pass) string {
	var s []string
	for _, p := range ps {
		s = append(s, p.Name)
	}
	return strings.Join(s, " ")
}

func TestFromUntil(t *testing.T) {
	all := Default()
	for _, c := range []struct{ name, first, err string }{
		{"", "InlineFunctions", ""},
		{"00_frontend", "InlineFunctions", ""},
		{"unrollloops", "ConvertToSSA", ""},
		{"Simplify", "NormalizeStmtStructure", ""},
		{"04_after_Simplify", "NormalizeStmtStructure", ""},
		{"15_after_Simplify", "MaterializeRuntimeScopes", ""},
		{"38_after_DeriveCallDirections", "AutoDeriveTaskDependencies", ""}, // numbered by another pipeline
		{"ConvertToSAS", "", "did you mean 'ConvertToSSA'"},
		{"Fly", "", "the passes are InlineFunctions, "},
	} {
		ps, err := From(all, c.name)
		switch {
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("From(%q): %v, want %q", c.name, err, c.err)
		case c.err == "" && (err != nil || ps[0].Name != c.first):
			t.Errorf("From(%q): %v, first of %s, want %s", c.name, err, names(ps), c.first)
		}
	}
	ps, err := Until(all, "Simplify")
	if err != nil || len(ps) != 4 {
		t.Errorf("Until: %v %s", err, names(ps))
	}
	if rest, err := From(all, "ClassifyIterArgCarry"); err != nil || len(rest) != 0 {
		t.Errorf("nothing follows the last pass: %v %s", err, names(rest))
	}
	if got := DumpName(3, all[3]); got != "04_after_Simplify" {
		t.Error(got)
	}
}

// A program that was dumped after a pass goes on from there.
func TestContinue(t *testing.T) {
	ps := front(t)
	want, ds := Run(&Context{}, smallProgram(), ps, Hooks{})
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	first, _ := Until(ps, "ConvertToSSA")
	rest, _ := From(ps, "ConvertToSSA")
	half, ds := Run(&Context{}, smallProgram(), first, Hooks{})
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	got, ds := Run(&Context{}, half, rest, Hooks{})
	if ds.HasErrors() || !ir.Equal(got, want) {
		t.Error(ds, ir.Diff(got, want))
	}
	whole, ds := Run(&Context{}, want, ps, Hooks{})
	if ds.HasErrors() || whole != want {
		t.Error("a finished program should pass through all passes unchanged", ds)
	}
	_, ds = Run(&Context{}, smallProgram(), rest, Hooks{})
	if !ds.HasErrors() || ds[0].Code != codeMissing || !strings.Contains(ds[0].Message, "Simplify, which requires SSAForm") {
		t.Error("the frontend form is not fit for Simplify:", ds)
	}
}

func TestAfterHook(t *testing.T) {
	var got []string
	ps := front(t)
	_, ds := Run(&Context{}, smallProgram(), ps, Hooks{After: func(i int, p *Pass, _ *ir.Program) { got = append(got, DumpName(i, p)) }})
	want := "01_after_InlineFunctions 02_after_UnrollLoops 03_after_ConvertToSSA 04_after_Simplify 05_after_NormalizeStmtStructure 06_after_FlattenCallExpr"
	if s := strings.Join(got, " "); s != want || ds.HasErrors() {
		t.Error(s, ds)
	}
}

// What a pass does wrong is an internal error that names the pass, and both programs are offered.
func TestBrokenPass(t *testing.T) {
	x, y := tvar("x"), tvar("y")
	good := func() *ir.Program { return program(fn("main", ir.Orchestration, []ir.Param{in(x)}, ret(x))) }
	bad := program(fn("main", ir.Orchestration, []ir.Param{in(x)}, ret(y)))
	twice := program(fn("main", ir.Orchestration, []ir.Param{in(x)}, set(y, x), set(y, x), ret(y)))
	for _, c := range []struct {
		name string
		pass *Pass
		want []string
		dump bool
	}{
		{"use before def", &Pass{Name: "Drop", Run: func(*Context, *ir.Program) (*ir.Program, error) { return bad, nil }},
			[]string{"internal error", "pass Drop", "'y'"}, true},
		{"produces", &Pass{Name: "Twice", Produces: []ir.Property{ir.SSAForm}, Run: func(*Context, *ir.Program) (*ir.Program, error) { return twice, nil }},
			[]string{"internal error", "pass Twice", "assigned more than once"}, true},
		{"panic", &Pass{Name: "Crash", Run: func(*Context, *ir.Program) (*ir.Program, error) { panic("no rule") }},
			[]string{"internal error", "pass Crash", "no rule", "TestBrokenPass"}, true},
		{"no program", &Pass{Name: "Lose", Run: func(*Context, *ir.Program) (*ir.Program, error) { return nil, nil }},
			[]string{"internal error", "pass Lose returned no program"}, true},
		{"error", &Pass{Name: "Fail", Run: func(*Context, *ir.Program) (*ir.Program, error) { return nil, errors.New("cannot go on") }},
			[]string{"cannot go on"}, true},
		{"user", &Pass{Name: "Say", Run: func(ctx *Context, p *ir.Program) (*ir.Program, error) {
			ctx.Report(diag.Errorf("PTO-X999", diag.Span{}, "not like this"))
			return p, nil
		}}, []string{"PTO-X999", "not like this"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dumped, later := false, false
			last := &Pass{Name: "Last", Run: func(_ *Context, p *ir.Program) (*ir.Program, error) { later = true; return p, nil }}
			_, ds := Run(&Context{}, good(), []*Pass{c.pass, last}, Hooks{Broken: func(p *Pass, before, after *ir.Program) []string {
				dumped = p == c.pass && before != nil
				return []string{"dumps/before.py"}
			}})
			text := fmt.Sprint(ds)
			for _, w := range c.want {
				if !strings.Contains(text, w) {
					t.Errorf("%q lacks %q", text, w)
				}
			}
			if told := strings.Contains(ds[0].Hint, "dumps/before.py"); told != c.dump {
				t.Errorf("hint %q, dumped %v", ds[0].Hint, c.dump)
			}
			if dumped != c.dump || later {
				t.Errorf("dumped %v, want %v; later passes ran: %v", dumped, c.dump, later)
			}
		})
	}
}

func TestPropertyOrder(t *testing.T) {
	keep := func(_ *Context, p *ir.Program) (*ir.Program, error) { return p, nil }
	x := tvar("x")
	p := program(fn("main", ir.Orchestration, []ir.Param{in(x)}, ret(x)))
	a := &Pass{Name: "A", Produces: []ir.Property{"acme.Foo"}, Run: keep}
	b := &Pass{Name: "B", Requires: []ir.Property{"acme.Foo"}, Invalidates: []ir.Property{"acme.Foo"}, Run: keep}
	if _, ds := Run(&Context{}, p, []*Pass{a, b}, Hooks{}); ds.HasErrors() {
		t.Error(ds)
	}
	_, ds := Run(&Context{}, p, []*Pass{a, b, b}, Hooks{})
	if !ds.HasErrors() || !strings.Contains(ds.Error(), "pass B requires acme.Foo, which B invalidated") {
		t.Error(ds)
	}
	_, ds = Run(&Context{}, p, []*Pass{b, a}, Hooks{})
	if !ds.HasErrors() || !strings.Contains(ds.Error(), "pass B requires acme.Foo, which A produces only later") {
		t.Error(ds)
	}
}

// A mistake in the program is reported before any pass runs, under its own code.
func TestFaultyInput(t *testing.T) {
	x, y := tvar("x"), tvar("y")
	ran := false
	_, ds := Run(&Context{}, program(fn("main", ir.Orchestration, []ir.Param{in(x)}, ret(y))),
		[]*Pass{{Name: "A", Run: func(_ *Context, p *ir.Program) (*ir.Program, error) { ran = true; return p, nil }}}, Hooks{})
	if !ds.HasErrors() || strings.Contains(ds.Error(), "internal error") || ran {
		t.Error(ds, ran)
	}
}

// No two passes share a name by mistake, and all say what they do.
func TestDefault(t *testing.T) {
	all := Default()
	for i, p := range all {
		if p.Doc == "" || p.Run == nil {
			t.Errorf("%s has no doc or no function", p.Name)
		}
		if j := slices.IndexFunc(all, func(q *Pass) bool { return q.Name == p.Name }); j != i && all[j] != p {
			t.Errorf("two passes are named %s", p.Name)
		}
	}
}
