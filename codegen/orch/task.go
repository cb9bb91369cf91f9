package orch

import (
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
)

// task prints a blank line, the comment, and the statements in their fixed order (spec: passes-codegen 2.7).
func (p *printer) task(t *plan.Task) {
	prof, args := p.prof, t.Params.Text
	p.ln()
	p.ln("// ", t.Comment)
	p.ln(prof.TaskArgs, " ", args, ";")
	for _, a := range t.Args {
		p.ln(args, ".", prof.AddArg[a.Tag], "(", argName(a), ");")
	}
	for _, s := range t.Scalars {
		p.begin().s(args, ".", prof.AddScalar, "(").scalarArg(s).s(");").end()
	}
	if t.Dump != nil {
		p.begin().s(args, ".", prof.Dump, "(").list(t.Dump).s(");").end()
	}
	if t.Mixed != nil {
		p.begin().s(prof.MixedKernels, " ", t.Mixed.Text, " = {")
		for i, k := range t.Kernels {
			p.sep(i).kernelID(k)
		}
		p.s("};").end()
	}
	if !t.DepsLast {
		p.deps(args, t.Deps)
	}
	if t.BlockNum != nil {
		p.begin().s(args, ".", prof.LaunchSpec, ".", prof.BlockNum, "(").expr(t.BlockNum).s(");").end()
	}
	if t.SyncStart {
		p.ln(args, ".", prof.LaunchSpec, ".", prof.SyncStart, "(true);")
	}
	if t.EarlyResolve {
		p.ln(args, ".", prof.EarlyResolve, "(true);")
	}
	if t.TimingSlot != nil {
		p.begin().s(args, ".", prof.TimingSlot, "(").int(*t.TimingSlot).s(");").end()
	}
	if t.Pred != nil {
		p.predicate(args, t.Pred)
	}
	if t.DepsLast {
		p.deps(args, t.Deps)
	}
	p.begin()
	if t.Outs != nil {
		p.s(prof.Outputs, " ", t.Outs.Text, " = ")
	}
	p.s(prof.Submit[t.Kind], "(")
	if t.Mixed != nil {
		p.s(t.Mixed.Text)
	} else {
		p.int(int64(t.Kernels[0]))
	}
	p.s(", ", args, ");").end()
}

func argName(a plan.Arg) string {
	if a.Info != nil {
		return a.Info.Text
	}
	return a.Tensor.Text
}

func (p *printer) kernelID(id int) *printer {
	if id < 0 {
		return p.s(p.prof.NoKernel)
	}
	return p.int(int64(id))
}

// scalarArg prints a scalar argument: literals become the 64 bits that the runtime keeps, variables convert by their own type.
func (p *printer) scalarArg(e plan.Expr) *printer {
	switch e := e.(type) {
	case *plan.Int:
		if e.DType == ir.INT64 || e.DType == ir.INDEX {
			return p.s("(uint64_t)").expr(e)
		}
		return p.s("(uint64_t)static_cast<", CTypes[e.DType], ">(").expr(e).s(")")
	case *plan.Bool:
		return p.s("(uint64_t)").expr(e)
	}
	return p.expr(e)
}

// deps prints the dependency array: one slot per entry, guarded entries only when valid, one call.
func (p *printer) deps(args string, d *plan.Deps) {
	if d == nil {
		return
	}
	array, count := d.Array.Text, d.Count.Text
	p.begin().s(p.prof.TaskID, " ", array, "[").int(int64(len(d.Entries))).s("];").end()
	p.ln("uint32_t ", count, " = 0;")
	for i := range d.Entries {
		e := &d.Entries[i]
		p.begin()
		if e.Guarded {
			p.s("if (").expr(e.ID).s(".", p.prof.IsValid, ") ")
		}
		p.s(array, "[", count, "++] = ").expr(e.ID).s(";")
		switch {
		case e.Keeps != nil:
			p.s("  // keeps ", e.Keeps.Text, " alive")
		case e.Compiler:
			p.s("  // derived")
		}
		p.end()
	}
	p.ln(args, ".", p.prof.SetDeps, "(", array, ", ", count, ");")
}

func (p *printer) predicate(args string, c *plan.Predicate) {
	prof, v := p.prof, c.Name.Text
	p.ln(prof.Predicate, " ", v, ";")
	p.ln(v, ".operand.tensor = &", c.Tensor.Text, ";")
	p.begin().s(v, ".operand.ndims = ").int(int64(len(c.Index))).s(";").end()
	for i, e := range c.Index {
		p.begin().s(v, ".operand.indices[").int(int64(i)).s("] = ").expr(e).s(";").end()
	}
	p.ln(v, ".op = ", prof.PredicateOp, "::", prof.PredicateOps[c.Op], ";")
	p.begin().s(v, ".target = ").intLit(c.Target, ir.INT64).s(";").end()
	p.ln(args, ".", prof.SetPredicate, "(", v, ");")
}

// dummy prints a dependency-only task.
func (p *printer) dummy(d *plan.Dummy) {
	prof, args := p.prof, d.Params.Text
	p.ln()
	if d.Gathered != nil {
		p.gathered(d)
		return
	}
	p.begin().s("// Phase-fence barrier ").int(int64(d.Ordinal)).s(": dependency-only dummy task").end()
	p.ln(prof.TaskArgs, " ", args, ";")
	p.deps(args, d.Deps)
	submit := func() {
		p.ln(prof.Outputs, " ", d.Outs.Text, " = ", prof.SubmitDummy, "(", args, ");")
	}
	if !d.Guarded {
		submit()
		p.ln(prof.TaskID, " ", d.ID.Text, " = ", d.Outs.Text, ".", prof.GetID, ";")
		return
	}
	p.ln(prof.TaskID, " ", d.ID.Text, " = ", prof.TaskID, "::", prof.InvalidID, ";")
	p.ln("if (", d.Deps.Count.Text, " > 0) {")
	p.depth++
	submit()
	p.ln(d.ID.Text, " = ", d.Outs.Text, ".", prof.GetID, ";")
	p.depth--
	p.ln("}")
}

// gathered prints a dependency-only task that waits for a list of ids, unless that is empty.
func (p *printer) gathered(d *plan.Dummy) {
	prof, args, ids := p.prof, d.Params.Text, d.Gathered.Text
	p.begin().s("// Dynamic compiler-dependency barrier ").int(int64(d.Ordinal)).s(": dependency-only dummy task for all trips of the loop above").end()
	p.ln(prof.TaskID, " ", d.ID.Text, " = ", prof.TaskID, "::", prof.InvalidID, ";")
	p.ln("if (!", ids, ".empty()) {")
	p.depth++
	p.ln(prof.TaskArgs, " ", args, ";")
	p.ln(args, ".", prof.SetDeps, "(", ids, ".data(), static_cast<uint32_t>(", ids, ".size()));")
	p.ln(prof.Outputs, " ", d.Outs.Text, " = ", prof.SubmitDummy, "(", args, ");")
	p.ln(d.ID.Text, " = ", d.Outs.Text, ".", prof.GetID, ";")
	p.depth--
	p.ln("}")
}
