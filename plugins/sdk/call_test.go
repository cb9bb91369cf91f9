package sdk

import (
	"testing"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
)

// TestErrorfPlace: a report stands at the operand, also where that is a variable with the place of its definition: ptobuild knows where the operand stands.
func TestErrorfPlace(t *testing.T) {
	line := func(n, from, to int32) Span { return Span{File: "a.py", Line: n, Col: from, EndLine: n, EndCol: to} }
	call := line(5, 9, 20)
	for _, c := range []struct {
		typ      ir.Type
		at, want Span
	}{
		{ir.IndexType, line(1, 1, 2), line(1, 1, 2)},
		{ir.IndexType, line(5, 12, 13), line(5, 12, 13)},
		{ir.IndexType, Span{}, call},
		{nil, line(1, 1, 2), line(1, 1, 2)},
	} {
		x := &Call{Args: []ir.Expr{&ir.Var{Hint: "x", Pos: c.at}}, Type: c.typ, Pos: call, spec: &ops.Spec{Name: "acme.op"}}
		if got := x.Errorf(0, "ACME-001", "no").Span; got != c.want {
			t.Errorf("operand at %v: report at %v, want %v", c.at, got, c.want)
		}
	}
}
