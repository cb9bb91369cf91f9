package edit

import (
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// Direction declares a parameter of the function as pl.Out or pl.InOut; dir is "Out" or "InOut". at is a place in the function, its definition for one.
func Direction(f *syntax.File, at diag.Span, param, dir string) Edits {
	var out Edits
	syntax.Walk(f, func(n syntax.Node) bool {
		fn, ok := n.(*syntax.FunctionDef)
		if !ok {
			return true
		}
		if r := fn.At(); at.Line > r.End.Line || at.Line < first(fn) {
			return true
		}
		for p := range fn.Params.All() {
			if p.Name != param || p.Annotation == nil {
				continue
			}
			w := &rewrite{file: f}
			inner := p.Annotation
			if s, ok := inner.(*syntax.Subscript); ok && (dslAttr(s.X, "Out") || dslAttr(s.X, "InOut")) {
				out = Edits{w.replace(s.X.At(), "pl."+dir)}
				return false
			}
			out = Edits{w.replace(inner.At(), "pl."+dir+"["+f.Text(inner.At())+"]")}
		}
		return false
	})
	return out
}

// first is the line on which a function begins, with its decorators.
func first(fn *syntax.FunctionDef) int32 {
	line := fn.At().Start.Line
	for _, d := range fn.Decorators {
		line = min(line, d.At().Start.Line)
	}
	return line
}

func dslAttr(x syntax.Expr, name string) bool {
	a, ok := x.(*syntax.Attribute)
	if !ok || a.Name != name {
		return false
	}
	m, ok := a.X.(*syntax.Name)
	return ok && m.ID == "pl"
}

// Track takes pl.no_dep(…) and no_dep_args= away from the launch at a place, so that the runtime follows its arguments.
func Track(f *syntax.File, at diag.Span) Edits {
	l := findLaunch(f, at)
	if l == nil {
		return nil
	}
	w := &rewrite{file: f, l: l}
	var out Edits
	for _, a := range l.call.Args {
		if c, ok := a.(*syntax.Call); ok && len(c.Args) == 1 {
			if name, dsl := dslName(c); dsl && name == "no_dep" {
				out = append(out, w.replace(c.At(), f.Text(c.Args[0].At())))
			}
		}
	}
	for _, k := range l.call.Keywords {
		if k.Name == "no_dep_args" {
			r := k.At()
			// With the comma before it: no_dep_args= never comes first.
			text := f.Text(syntax.Range{Start: l.call.At().Start, End: r.Start})
			if i := strings.LastIndexByte(text, ','); i >= 0 && !strings.Contains(text[i:], "\n") {
				r.Start.Col -= int32(len([]rune(text[i:])))
			}
			out = append(out, w.replace(r, ""))
		}
	}
	return out
}

// Untrack passes an argument of the launch at a place as pl.no_dep; param is the parameter of the kernel.
func Untrack(f *syntax.File, at diag.Span, param string) Edits {
	l := findLaunch(f, at)
	if l == nil || l.form != plain && l.form != submit {
		return nil
	}
	w := &rewrite{file: f, l: l}
	args := l.call.Args
	if l.form == submit && len(args) > 0 {
		args = args[1:]
	}
	callee := w.function(w.kernel())
	if callee == nil {
		return nil
	}
	i := 0
	for p := range callee.Params.All() {
		switch {
		case p.Name == "self":
		case p.Name == param && i < len(args):
			if c, ok := args[i].(*syntax.Call); ok {
				if _, dsl := dslName(c); dsl {
					return nil
				}
			}
			return Edits{w.replace(args[i].At(), "pl.no_dep("+f.Text(args[i].At())+")")}
		default:
			i++
		}
	}
	return nil
}

// Managed takes manual_dep=True away from the pl.create_tensor at a place.
func Managed(f *syntax.File, at diag.Span) Edits {
	var out Edits
	syntax.Walk(f, func(n syntax.Node) bool {
		c, ok := n.(*syntax.Call)
		if !ok || c.At().Start.Line != at.Line {
			return true
		}
		for _, k := range c.Keywords {
			if k.Name == "manual_dep" {
				w := &rewrite{file: f}
				out = Edits{w.replace(k.Value.At(), "False")}
			}
		}
		return true
	})
	return out
}
