package lower

import (
	"sort"
	"strings"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
	"github.com/ptobuild/ptobuild/ops"
)

// The body of a function as a whole: what comes before and after its statements.

// lower reads the statements of the function.
func (b *body) lower() {
	f := b.fn
	def, out := f.def, f.out
	b.sites = assigned(def.Body)
	b.host = !f.decl.typ.IsKernel()
	if b.mode == Dump { // of an outlined scope; other functions have no comments of their own
		out.Comments = b.commentsOver(def)
	}
	b.skipComments(def.At().Start.Line)
	doc, list := docstring(def.Body)
	b.strings = doc
	b.skipComments(headEnd(def, len(def.Body)-len(list)))
	list = b.funcAttr(list)
	out.Attrs, out.Split, out.DualAIV = f.decl.attrs, f.decl.split, f.decl.dualAIV
	switch {
	case f.decl.mixed != nil:
		b.mixedBody(f.decl.mixed)
	case f.decl.external != nil:
		if !isEmptyBody(list) {
			b.errorf(CodeFunction, list[0], "the body of an external kernel must be `...`").WithHint("its code is in %s", f.decl.external.Source)
		}
	case b.isHostWorker():
		b.verbatim(list)
	default:
		for _, p := range f.fixed {
			b.rebindFixed(p)
		}
		b.stmts(list)
	}
	out.Body = b.out
	b.dropTrailingComments(def)
	if !f.annotated {
		out.Returns = []ir.Type{}
		switch {
		case b.returned != nil:
			for _, v := range b.returned.Values {
				out.Returns = append(out.Returns, v.Type())
			}
		case f.decl.external != nil || f.decl.mixed != nil:
			for _, p := range out.Params {
				if p.Dir != ir.In {
					out.Returns = append(out.Returns, p.Var.Typ)
				}
			}
		}
	}
	b.warnParams()
}

// headEnd is the last line of what comes before the statements of a function: its signature, and its docstring when it has one.
func headEnd(def *syntax.FunctionDef, docs int) int32 {
	if docs > 0 {
		return def.Body[docs-1].At().End.Line
	}
	line := def.NamePos.End.Line
	for p := range def.Params.All() {
		line = max(line, p.Range.End.Line)
	}
	if def.Returns != nil {
		line = max(line, def.Returns.At().End.Line)
	}
	return line
}

// rebindFixed makes a variable of a parameter with a fixed value that the body assigns.
func (b *body) rebindFixed(index int) {
	p := params(b.fn.def, b.fn.dsl == nil)[index]
	if b.sites[p.Name] == 0 {
		return
	}
	old := b.names.lookup(p.Name)
	if old == nil || old.expr == nil {
		return
	}
	v := b.variable(p.Name, old.expr.Type(), old.at)
	b.emit(&ir.Assign{Var: v, Value: old.expr, Pos: old.at})
}

// commentsOver gives the comment lines that stand directly above the decorators of a function.
func (b *body) commentsOver(def *syntax.FunctionDef) []string {
	line := def.At().Start.Line
	for _, d := range def.Decorators {
		line = min(line, d.At().Start.Line)
	}
	i := sort.Search(len(b.comments), func(i int) bool { return b.comments[i].Start.Line >= line })
	first := i
	for first > 0 && b.comments[first-1].Own && b.comments[first-1].Start.Line == line-1 {
		first--
		line--
	}
	var text []string
	for _, c := range b.comments[first:i] {
		text = append(text, c.Text)
	}
	return text
}

// skipComments drops the comments up to and including a line.
func (b *body) skipComments(line int32) {
	i := sort.Search(len(b.comments), func(i int) bool { return b.comments[i].Start.Line > line })
	b.comments = b.comments[i:]
}

// dropTrailingComments warns of comments at the end of the body, which have no statement to go with.
func (b *body) dropTrailingComments(def *syntax.FunctionDef) {
	for _, c := range b.comments {
		if c.Start.Line > def.At().End.Line {
			return
		}
		if c.Own && b.mode != Dump {
			b.u.warnf(CodeComment, c.Range.Span(b.file), "a comment at the end of a block has no statement to go with and is not kept in the IR")
			return
		}
	}
}

// isHostWorker reports a HOST SubWorker function: its body is Python and kept as text.
func (b *body) isHostWorker() bool {
	switch b.fn.decl.level {
	case "HOST", "CLUSTER_0", "CLUSTER_1", "CLUSTER_2", "GLOBAL":
		return b.fn.decl.role == "SubWorker"
	}
	return false
}

func (b *body) verbatim(list []syntax.Stmt) {
	if isEmptyBody(list) || b.u.opt.Source == nil {
		return
	}
	src := string(b.u.opt.Source(b.file))
	lines := strings.Split(src, "\n")
	first, last := int(list[0].At().Start.Line), int(list[len(list)-1].At().End.Line)
	if first < 1 || last > len(lines) {
		return
	}
	indent := int(list[0].At().Start.Col) - 1
	var text strings.Builder
	for _, l := range lines[first-1 : last] {
		cut := 0
		for cut < indent && cut < len(l) && (l[cut] == ' ' || l[cut] == '\t') {
			cut++
		}
		text.WriteString(l[cut:])
		text.WriteByte('\n')
	}
	b.emit(&ir.Verbatim{Text: text.String(), Pos: b.spanOf(list[0], list[len(list)-1])})
}

// mixedBody makes the wrapper of a hand-written kernel with two parts.
func (b *body) mixedBody(m *mixed) {
	out := b.fn.out
	at := out.Pos
	var args []ir.Expr
	ret := &ir.Return{Pos: at}
	var types []ir.Type
	for _, p := range out.Params {
		args = append(args, p.Var)
		if p.Dir != ir.In {
			ret.Values = append(ret.Values, p.Var)
			types = append(types, p.Var.Typ)
		}
	}
	var t ir.Type = &ir.TupleType{Elems: types}
	if len(types) == 1 {
		t = types[0]
	}
	for _, part := range []*function{m.aic, m.aiv} {
		b.u.signature(part)
		b.u.lower(part)
		b.emit(&ir.Eval{X: &ir.Call{Callee: part.name, Args: args, Typ: t, Pos: at}, Pos: at})
	}
	if len(ret.Values) > 0 {
		b.emit(ret)
		b.returned = ret
	}
}

// warnParams warns of results that the host would never see: in an entry, a plain tensor parameter that is assigned is not copied back.
func (b *body) warnParams() {
	f := b.fn
	if b.mode != Dump && f.decl.typ.IsKernel() {
		b.warnWrittenInputs()
	}
	if b.mode == Dump || f.decl.typ != ir.Orchestration {
		return
	}
	written := map[*ir.Var]ir.Stmt{}
	ir.Inspect(b.out, func(s ir.Stmt) bool {
		if a, ok := s.(*ir.Assign); ok && written[a.Var] == nil {
			written[a.Var] = a
		}
		return true
	})
	if f.entry {
		b.warnDropped()
	}
	for _, p := range f.out.Params {
		if s := written[p.Var]; s != nil && p.Dir == ir.In && ir.IsTensor(p.Var.Typ) {
			b.u.warnf(CodeNotWritten, s.Span(), "'%s' is assigned, but the parameter is not pl.Out or pl.InOut: the caller will not see the new contents", p.Var.Hint).
				WithRelated(p.Var.Pos, "the parameter").WithHint("write %s: pl.Out[…] or pl.InOut[…]", p.Var.Hint)
		}
	}
}

// warnWrittenInputs warns of plain parameters that a kernel writes: they become outputs, which their caller cannot see in the signature.
func (b *body) warnWrittenInputs() {
	done := map[int]bool{}
	ir.Inspect(b.out, func(s ir.Stmt) bool {
		ir.Exprs(s, func(e ir.Expr) bool {
			c, ok := e.(*ir.OpCall)
			if !ok {
				return true
			}
			spec := b.u.opt.Ops.Lookup(c.Op)
			if spec == nil {
				return true
			}
			for i, a := range c.Args {
				if i >= len(spec.Effects) || spec.Effects[i] != ops.Write && spec.Effects[i] != ops.ReadWrite {
					continue
				}
				v, _ := a.(*ir.Var)
				k := b.fn.out.Param(v)
				if k < 0 || b.fn.out.Params[k].Dir != ir.In || !ir.IsTensor(v.Typ) || done[k] {
					continue
				}
				done[k] = true
				b.u.warnf(CodeNotWritten, c.Pos, "'%s' is written, but the parameter is not pl.Out or pl.InOut: it is taken as an output", v.Hint).
					WithRelated(v.Pos, "the parameter").WithHint("write %s: pl.Out[…], or pl.InOut[…] if its old contents matter", v.Hint)
			}
			return true
		})
		return true
	})
}

// warnDropped warns of assignments that only give an output of a jit entry another meaning: the caller's tensor is not written.
func (b *body) warnDropped() {
	ir.Inspect(b.out, func(s ir.Stmt) bool {
		a, ok := s.(*ir.Assign)
		if !ok {
			return true
		}
		i := b.fn.out.Param(a.Var)
		if i < 0 || b.fn.out.Params[i].Dir == ir.In {
			return true
		}
		c, ok := a.Value.(*ir.OpCall)
		if !ok {
			return true
		}
		if spec := b.u.opt.Ops.Lookup(c.Op); spec != nil && spec.Result.Kind == ops.Fresh {
			b.u.warnf(CodeNotWritten, a.Pos, "the new value of '%s' is dropped: the name now means another tensor, and the output of the caller is not written", a.Var.Hint).
				WithHint("write %s[:] = …", a.Var.Hint)
		}
		return true
	})
}

// Bound are the names that a function binds: its parameters, and what its body assigns.
func Bound(def *syntax.FunctionDef) map[string]bool {
	names := map[string]bool{}
	for p := range def.Params.All() {
		names[p.Name] = true
	}
	for n := range assigned(def.Body) {
		names[n] = true
	}
	return names
}

// assigned counts the assignments of each name in a list of statements, nested ones included.
func assigned(list []syntax.Stmt) map[string]int {
	sites := map[string]int{}
	count := func(x syntax.Expr) {
		for _, n := range targetNames(x) {
			sites[n]++
		}
		if s, ok := x.(*syntax.Subscript); ok {
			if n, ok := s.X.(*syntax.Name); ok {
				sites[n.ID]++
			}
		}
	}
	for _, s := range list {
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Assign:
				for _, t := range n.Targets {
					count(t)
				}
			case *syntax.AnnAssign:
				count(n.Target)
			case *syntax.AugAssign:
				count(n.Target)
			case *syntax.For:
				count(n.Target)
			case *syntax.With:
				for _, i := range n.Items {
					if i.Target != nil {
						count(i.Target)
					}
				}
			}
			return true
		})
	}
	return sites
}
