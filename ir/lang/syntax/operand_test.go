package syntax

import (
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
)

func TestOperandAt(t *testing.T) {
	const text = "y = f(g(a, b=[c]), k=d)\n"
	f, ds := Parse("f.py", []byte(text))
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	span := func(part string) diag.Span {
		i := int32(strings.Index(text, part))
		return diag.Span{File: "f.py", Line: 1, Col: i + 1, EndLine: 1, EndCol: i + 1 + int32(len(part))}
	}
	for _, tt := range []struct {
		call string
		o    diag.Operand
		want string
	}{
		{"f(g(a, b=[c]), k=d)", diag.Operand{Index: 0, Name: "x"}, "g(a, b=[c])"},
		{"f(g(a, b=[c]), k=d)", diag.Operand{Index: 1, Name: "k"}, "d"},
		{"g(a, b=[c])", diag.Operand{Index: 0}, "a"},
		{"g(a, b=[c])", diag.Operand{Index: 1, Name: "b"}, "[c]"},
		{"g(a, b=[c])", diag.Operand{Index: 1, Name: "k"}, ""},
		{"g(a", diag.Operand{Index: 0}, ""},
	} {
		at, ok := OperandAt(f, span(tt.call), tt.o)
		if ok != (tt.want != "") || ok && at != span(tt.want) {
			t.Errorf("%s %v: %v %v, want %s", tt.call, tt.o, at, ok, tt.want)
		}
	}
}
