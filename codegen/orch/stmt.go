package orch

import (
	"strconv"

	"github.com/ptobuild/ptobuild/ir/plan"
)

func (p *printer) block(b []plan.Stmt) {
	for _, s := range b {
		p.stmt(s)
	}
}

// body prints " {", the statements and the closing brace; at is where the opening statement comes from.
func (p *printer) body(first int, s plan.Stmt, b []plan.Stmt) {
	p.s(" {").end()
	p.mark(first, s.Span())
	p.depth++
	p.block(b)
	p.depth--
	p.begin().s("}")
}

// stmt prints one statement.
func (p *printer) stmt(s plan.Stmt) {
	first := p.line
	switch s := s.(type) {
	case *plan.Scope:
		p.begin().s(pick(s.Manual, p.prof.ScopeManual, p.prof.ScopeAuto)).body(first, s, s.Body)
		p.end()
		return
	case *plan.Braces:
		p.begin().s("{").end()
		p.depth++
		p.block(s.Body)
		p.depth--
		p.ln("}")
		return
	case *plan.For:
		p.forHead(s)
		p.body(first, s, s.Body)
		p.end()
		return
	case *plan.While:
		p.begin().s("while (").expr(s.Cond).s(")").body(first, s, s.Body)
		p.end()
		return
	case *plan.If:
		p.begin().s("if (").expr(s.Cond).s(")").body(first, s, s.Then)
		if s.Else != nil {
			p.s(" else {").end()
			p.depth++
			p.block(s.Else)
			p.depth--
			p.begin().s("}")
		}
		p.end()
		return
	case *plan.Decl:
		p.begin().ctype(s.Type).s(" ", s.Name.Text, " = ").expr(s.Init).s(";").end()
	case *plan.Assign:
		p.begin().s(s.Dst.Text, " = ").expr(s.Value).s(";").end()
	case *plan.DeclArray:
		p.begin().ctype(s.Type).s(" ", s.Name.Text, "[").int(int64(len(s.Elems))).s("] = {").list(s.Elems).s("};").end()
	case *plan.DeclSlots:
		p.declSlots(s)
	case *plan.CopySlots:
		p.fill("__yield_i", s.Dst.Text, s.N).s(s.Src.Text, "[__yield_i];").end()
	case *plan.DeclIDs:
		p.ln("std::vector<", p.prof.TaskID, "> ", s.Name.Text, ";")
	case *plan.AppendID:
		p.begin()
		if s.Guarded {
			p.s("if (").expr(s.ID).s(".", p.prof.IsValid, ") ")
		}
		p.s(s.IDs.Text, ".push_back(").expr(s.ID).s(");").end()
	case *plan.SetElem:
		p.begin().s(s.Array.Text, "[").expr(s.I).s("] = ").expr(s.Value).s(";").end()
	case *plan.Create:
		p.create(s)
	case *plan.Alloc:
		p.alloc(s)
	case *plan.Write:
		p.write(s)
	case *plan.Task:
		p.task(s)
	case *plan.Dummy:
		p.dummy(s)
	}
	p.mark(first, s.Span())
}

// forHead prints the header of a loop. A step whose sign is only known at run time tests both ways.
func (p *printer) forHead(s *plan.For) {
	v := s.Var.Text
	p.begin().s("for (int64_t ", v, " = ").expr(s.Start).s("; ")
	switch {
	case s.Never:
		p.s("false")
	case s.Signed:
		p.s("((").expr(s.Step).s(") > 0 && ", v, " < ").expr(s.Stop).s(") || ((").expr(s.Step).s(") < 0 && ", v, " > ").expr(s.Stop).s(")")
	default:
		p.s(v, pick(s.Down, " > ", " < ")).expr(s.Stop)
	}
	p.s("; ", v, " += ").expr(s.Step).s(")")
}

// fill starts a one-line loop over the slots of an array, up to the value.
func (p *printer) fill(i, array string, n int64) *printer {
	return p.begin().s("for (int64_t ", i, " = 0; ", i, " < ").int(n).s("; ++", i, ") ", array, "[", i, "] = ")
}

func (p *printer) declSlots(s *plan.DeclSlots) {
	p.begin().ctype(s.Type).s(" ", s.Name.Text, "[").int(s.N).s("]")
	switch {
	case s.Fill != nil:
		p.s("; for (int64_t __init_i = 0; __init_i < ").int(s.N).s("; ++__init_i) ", s.Name.Text, "[__init_i] = ").expr(s.Fill)
	case s.Type.Kind == plan.Number:
		p.s(" = {0}")
	}
	p.s(";").end()
}

func (p *printer) create(s *plan.Create) {
	prof, info := p.prof, s.Info.Text
	switch {
	case s.First && s.Outlives:
		p.ln("// Internal tensor — outlives the scope that makes it, so it is allocated outside")
	case s.First && prof.BatchAbove != "":
		p.ln(prof.BatchAbove)
	}
	n := strconv.Itoa(len(s.Dims))
	shapes := "nullptr"
	if len(s.Dims) > 0 {
		shapes = s.Shapes.Text
		p.begin().s("uint32_t ", shapes, "[", n, "] = {").list(s.Dims).s("};").end()
	}
	p.ln(prof.CreateInfo, " ", info, "(", shapes, ", ", n, ", ", prof.DataType, "::", prof.DataTypes[s.DType], pick(s.ManualDep, ", /*manual_dep=*/true", ""), ");")
	if s.Init != nil {
		p.begin().s(info, ".", prof.InitValue, "(").expr(s.Init).s(");").end()
	}
}

func (p *printer) alloc(s *plan.Alloc) {
	prof := p.prof
	p.begin().s(prof.Outputs, " ", s.Outs.Text, " = ", prof.Alloc, "(")
	for i, n := range s.Infos {
		p.sep(i).s(n.Text)
	}
	p.s(");").end()
	for i, n := range s.Refs {
		p.begin().s("const ", prof.Tensor, "& ", n.Text, " = ", s.Outs.Text, ".", prof.GetRef, "(").int(int64(i)).s(");").end()
	}
}

func (p *printer) write(s *plan.Write) {
	call := func(n int, indices string) {
		p.begin().s(p.prof.Write, "<", CTypes[s.DType], ">(", s.Tensor.Text, ", ").int(int64(n)).s(", ", indices, ", ").expr(s.Value).s(");").end()
	}
	if len(s.Index) == 0 {
		call(0, "nullptr")
		return
	}
	p.ln("{")
	p.depth++
	p.begin().s("uint32_t ", s.Indices.Text, "[").int(int64(len(s.Index))).s("] = {").list(s.Index).s("};").end()
	call(len(s.Index), s.Indices.Text)
	p.depth--
	p.ln("}")
}
