package lower

import (
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
)

// C-NAM-01, C-NAM-02, C-NAM-04: the name that a hint gets after others.
func TestNames(t *testing.T) {
	for _, c := range []struct{ hints, want string }{
		{"x__ssa_v0 x__ssa_v1 x__ssa_v1", "x x__ssa_v1 x__ssa_v1_1"},
		{"ret0__out ret0__out", "ret0__out ret0__out_1"},
		{"out_0 out_1 out", "out_0 out_1 out"},
		{"new__ssa_v0 int class__ssa_v3", "new__ssa_v0 int_1 class__ssa_v3"},
		{"Tensor ChipTensor__ssa_v0 PTO2_SCOPE alloc_tensors", "Tensor_1 ChipTensor__ssa_v0 PTO2_SCOPE_1 alloc_tensors_1"},
		{"alloc_0 alloc_x params_t0 params_total task_1_outs task_1 mixed_2", "alloc_0_1 alloc_x params_t0_1 params_total task_1_outs_1 task_1 mixed_2_1"},
		{"größe 数 0", "gruf6u00dfe u6570 v0"},
		{"std NULL uint32_t", "std_1 NULL_1 uint32_t_1"},
	} {
		n := newNamer()
		n.open()
		var got []string
		for _, h := range strings.Fields(c.hints) {
			m := n.primary(h, diag.Span{})
			n.name(m)
			got = append(got, m.Text)
		}
		if c.hints == "größe 数 0" {
			for _, g := range got {
				if strings.ContainsFunc(g, func(r rune) bool { return r > 127 }) {
					t.Errorf("%s is not ASCII", g)
				}
			}
			continue
		}
		if g := strings.Join(got, " "); g != c.want {
			t.Errorf("%s: got %q, want %q", c.hints, g, c.want)
		}
	}
}

// A variable called like something derived from another variable gives way, wherever the two are declared.
func TestDerivedNames(t *testing.T) {
	n := newNamer()
	ci := n.primary("x_ci", diag.Span{})
	x := n.primary("x__ssa_v0", diag.Span{})
	info := n.derived(x, "", "_ci")
	num := func(m *plan.Name) plan.Stmt {
		return &plan.Decl{Name: m, Type: plan.CType{Kind: plan.Number, DType: ir.INDEX}, Init: &plan.Int{}}
	}
	n.assign(&plan.File{Body: []plan.Stmt{num(ci), num(info), num(x)}})
	if ci.Text != "x_ci_1" || x.Text != "x" || info.Text != "x_ci" {
		t.Errorf("got %s, %s, %s", ci.Text, x.Text, info.Text)
	}
}

// Names are free again after their braces, and never shadow.
func TestNameScopes(t *testing.T) {
	n := newNamer()
	loop := func(body ...plan.Stmt) (*plan.Name, plan.Stmt) {
		v := n.primary("i__idx_v0", diag.Span{})
		return v, &plan.For{Var: v, Start: &plan.Int{}, Stop: &plan.Int{}, Step: &plan.Int{Value: 1}, Body: body}
	}
	inner, s1 := loop()
	outer, s2 := loop(s1)
	after, s3 := loop()
	n.assign(&plan.File{Body: []plan.Stmt{s2, s3}})
	if outer.Text != "i" || inner.Text != "i__idx_v0" || after.Text != "i" {
		t.Errorf("got outer %s, inner %s, after %s", outer.Text, inner.Text, after.Text)
	}
}
