package lower

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
)

// C-FOR-04: whatever the order in which copies are printed, every variable gets the value that its source had before the first copy.
func TestParallelCopyProperty(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 3000 {
		n := 1 + rng.IntN(6)
		l := &lowerer{names: newNamer()}
		vars := make([]*storage, n)
		state := map[*plan.Name]int{}
		for i := range vars {
			vars[i] = &storage{kind: mutableStore, name: &plan.Name{Text: fmt.Sprint("v", i)}, typ: plan.CType{Kind: plan.Number, DType: ir.INDEX}}
			state[vars[i].name] = 100 + i
		}
		var moves []move
		want := maps.Clone(state)
		for i := range vars {
			var value plan.Expr
			src := vars[rng.IntN(n)]
			switch rng.IntN(4) {
			case 0: // reads two variables
				other := vars[rng.IntN(n)]
				value = &plan.Binary{Op: ir.Add, X: src.ref(), Y: other.ref(), DType: ir.INDEX}
			case 1:
				value = &plan.Int{Value: 7, DType: ir.INDEX}
			default:
				value = src.ref()
			}
			if rng.IntN(5) == 0 {
				continue // a variable that is not assigned
			}
			moves = append(moves, move{dst: vars[i], value: value})
			want[vars[i].name] = evaluate(value, state)
		}
		blk := &block{}
		l.parallelCopy(moves, blk, diag.Span{})
		got := maps.Clone(state)
		for _, s := range blk.out {
			switch s := s.(type) {
			case *plan.Assign:
				got[s.Dst] = evaluate(s.Value, got)
			case *plan.Decl:
				got[s.Name] = evaluate(s.Init, got)
			default:
				t.Fatalf("round %d: unexpected %T", round, s)
			}
		}
		for name, w := range want {
			if got[name] != w {
				t.Fatalf("round %d: %s = %d, want %d", round, name.Text, got[name], w)
			}
		}
	}
}

func evaluate(e plan.Expr, vars map[*plan.Name]int) int {
	switch e := e.(type) {
	case *plan.Ref:
		return vars[e.Name]
	case *plan.Int:
		return int(e.Value)
	case *plan.Binary:
		return 3*evaluate(e.X, vars) + evaluate(e.Y, vars)
	}
	panic("unexpected expression")
}

// Arrays of task ids swap through a third array.
func TestParallelCopyOfArrays(t *testing.T) {
	l := &lowerer{names: newNamer()}
	array := func(n string) *storage {
		return &storage{kind: mutableStore, name: &plan.Name{Text: n}, typ: plan.CType{Kind: plan.TaskT}, slots: 3}
	}
	a, b := array("a"), array("b")
	blk := &block{}
	l.parallelCopy([]move{{dst: a, src: b}, {dst: b, src: a}}, blk, diag.Span{})
	var kept *plan.Name
	var got string
	for _, s := range blk.out {
		switch s := s.(type) {
		case *plan.DeclSlots:
			kept = s.Name
			kept.Text = "kept"
		case *plan.CopySlots:
			got += s.Dst.Text + "=" + s.Src.Text + " "
		}
	}
	if want := "kept=a a=b b=kept "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
