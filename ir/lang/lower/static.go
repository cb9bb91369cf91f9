package lower

import (
	"fmt"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang/eval"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// pl.static_assert and pl.static_print are done while reading; they leave nothing in the IR.

func (b *body) staticAssert(call *syntax.Call) {
	if len(call.Args) < 1 || len(call.Args) > 2 || len(call.Keywords) > 0 {
		b.errorf(CodeStatic, call, "pl.static_assert() takes a condition and a message")
		return
	}
	message := ""
	if len(call.Args) == 2 {
		c, ok := call.Args[1].(*syntax.Constant)
		if !ok || c.Kind != syntax.Str {
			b.errorf(CodeStatic, call.Args[1], "the message of pl.static_assert must be a string literal")
			return
		}
		message = c.Str
	}
	holds, known := false, false
	if b.closed(call.Args[0]) {
		v, ok := b.eval(call.Args[0])
		if !ok {
			return
		}
		holds, known = truth(v)
	} else {
		e, ok := b.expr(call.Args[0])
		if !ok {
			return
		}
		switch c := ir.Simplify(e).(type) {
		case *ir.ConstBool:
			holds, known = c.Value, true
		case *ir.ConstInt:
			holds, known = c.Value != 0, true
		}
	}
	switch {
	case !known:
		b.errorf(CodeStatic, call.Args[0], "the condition of pl.static_assert must be compile-time evaluable")
	case !holds && message != "":
		b.errorf(CodeStatic, call, "static_assert failed: %s", message)
	case !holds:
		b.errorf(CodeStatic, call, "static_assert failed")
	}
}

func truth(v eval.Value) (holds, known bool) {
	switch v := v.(type) {
	case eval.Bool:
		return bool(v), true
	case eval.Int:
		n, small := v.Int64()
		return !small || n != 0, true
	case eval.Float:
		return v != 0, true
	case eval.Str:
		return v != "", true
	case eval.NoneType:
		return false, true
	case *eval.List:
		return len(v.Elems) > 0, true
	case *eval.Tuple:
		return len(v.Elems) > 0, true
	}
	return false, false
}

// staticPrint reports its arguments as a note.
func (b *body) staticPrint(call *syntax.Call) {
	if len(call.Keywords) > 0 {
		b.errorf(CodeStatic, call, "pl.static_print() takes positional arguments only")
		return
	}
	var parts []string
	for _, a := range call.Args {
		t, ok := b.staticText(a)
		if !ok {
			return
		}
		parts = append(parts, t)
	}
	b.u.report(&diag.Diagnostic{Severity: diag.Note, Code: CodeStatic, Span: b.at(call), Message: strings.Join(parts, " ")})
}

func (b *body) staticText(x syntax.Expr) (string, bool) {
	if c, ok := x.(*syntax.Constant); ok && c.Kind == syntax.Str {
		return c.Str, true
	}
	if f, ok := x.(*syntax.FString); ok {
		var out strings.Builder
		for _, p := range f.Parts {
			v, isValue := p.(*syntax.FValue)
			if !isValue {
				t, ok := b.staticText(p)
				if !ok {
					return "", false
				}
				out.WriteString(t)
				continue
			}
			if v.Format != nil || v.Conv != 0 {
				b.errorf(CodeStatic, v, "format specs are not supported in pl.static_print")
				return "", false
			}
			t, ok := b.staticText(v.X)
			if !ok {
				return "", false
			}
			out.WriteString(t)
		}
		return out.String(), true
	}
	if b.closed(x) {
		v, ok := b.eval(x)
		if !ok {
			return "", false
		}
		switch v := v.(type) {
		case eval.Str:
			return string(v), true
		case eval.Bool:
			return map[bool]string{true: "True", false: "False"}[bool(v)], true
		case eval.Float:
			return fmt.Sprint(float64(v)), true
		}
		if text, ok := b.eval(&syntax.Call{Range: x.At(), Fun: &syntax.Name{Range: x.At(), ID: "repr"}, Args: []syntax.Expr{x}}); ok {
			if s, isText := text.(eval.Str); isText {
				return string(s), true
			}
		}
		return "", false
	}
	e, ok := b.expr(x)
	if !ok {
		return "", false
	}
	if v, isVar := e.(*ir.Var); isVar {
		return fmt.Sprintf("%s: %s", v.Hint, typeText(v.Typ)), true
	}
	return ir.PrintExpr(ir.Simplify(e)), true
}
