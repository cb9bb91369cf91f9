package plan

import (
	"math"
	"strconv"
	"strings"

	"github.com/ptobuild/ptobuild/ir"
)

// Print gives the text of a plan for people and tests (ptobuild ir --stage plan). It is one line per statement, names no runtime API, and is not
// meant to be read back.
func Print(f *File) string {
	p := &printer{}
	p.line("plan ", f.Func)
	for i, t := range f.Tensors {
		p.line("tensor ", t.Name.Text, " = entry ", strconv.Itoa(i), ": ", t.Dir.String(), " ", t.DType.Name(), " (", t.Param, ")")
	}
	for i, s := range f.Scalars {
		p.line("scalar ", s.Name.Text, " = entry ", strconv.Itoa(i), ": ", number(s.DType), " (", s.Param, ")")
	}
	for _, d := range f.Dims {
		p.line("dim ", d.Name.Text, " = ", f.Tensors[d.Tensor].Name.Text, ".shape[", strconv.Itoa(d.Axis), "]")
	}
	for _, k := range f.Kernels {
		p.indent().put("kernel ", strconv.Itoa(k.ID), " = ", k.Name, ": ", k.Core.String(), " (")
		for i, t := range k.Signature {
			p.sep(i).put(t.String())
		}
		p.put(")")
		if k.Func != k.Name {
			p.put(" of ", k.Func)
		}
		if k.External != nil {
			p.put(" from ", strconv.Quote(k.External.Source))
		}
		p.put("\n")
	}
	p.block(f.Body)
	return p.b.String()
}

// String is the short form in dumps and reports.
func (t ArgTag) String() string { return [...]string{"in", "out", "inout", "no_dep", "new"}[t] }

// String is the dump spelling.
func (k TaskKind) String() string { return [...]string{"aic", "aiv", "mixed"}[k] }

type printer struct {
	b     strings.Builder
	depth int
}

func (p *printer) put(ss ...string) *printer {
	for _, s := range ss {
		p.b.WriteString(s)
	}
	return p
}

// ExprText is one expression as Print renders it.
func ExprText(e Expr) string {
	p := &printer{}
	p.expr(e)
	return p.b.String()
}

func (p *printer) indent() *printer {
	for range p.depth {
		p.b.WriteString("  ")
	}
	return p
}

func (p *printer) line(ss ...string) { p.indent().put(ss...).put("\n") }

func (p *printer) sep(i int) *printer {
	if i > 0 {
		p.put(", ")
	}
	return p
}

func (p *printer) body(b []Stmt) {
	p.put(" {\n")
	p.depth++
	p.block(b)
	p.depth--
	p.indent().put("}")
}

func (p *printer) block(b []Stmt) {
	for _, s := range b {
		p.stmt(s)
	}
}

func (p *printer) stmt(s Stmt) {
	p.indent()
	switch s := s.(type) {
	case *Scope:
		p.put("scope ", pick(s.Manual, "manual", "auto"))
		p.body(s.Body)
	case *Braces:
		p.put("block")
		p.body(s.Body)
	case *For:
		p.put("for ", s.Var.Text, " = ").expr(s.Start).put(pick(s.Down, " down to ", " to ")).expr(s.Stop).put(" by ").expr(s.Step)
		p.put(pick(s.Signed, " either way", ""), pick(s.Never, " never", ""), pick(s.Parallel, " parallel", ""))
		p.body(s.Body)
	case *While:
		p.put("while ").expr(s.Cond)
		p.body(s.Body)
	case *If:
		p.put("if ").expr(s.Cond)
		p.body(s.Then)
		if s.Else != nil {
			p.put(" else")
			p.body(s.Else)
		}
	case *Decl:
		p.put(s.Type.String(), " ", s.Name.Text, " = ").expr(s.Init)
	case *Assign:
		p.put(s.Dst.Text, " = ").expr(s.Value)
	case *DeclArray:
		p.put(s.Type.String(), " ", s.Name.Text, "[", strconv.Itoa(len(s.Elems)), "] = ").list(s.Elems)
	case *DeclSlots:
		p.put(s.Type.String(), " ", s.Name.Text, "[", strconv.FormatInt(s.N, 10), "]")
		if s.Fill != nil {
			p.put(" all ").expr(s.Fill)
		}
	case *CopySlots:
		p.put(s.Dst.Text, "[0..", strconv.FormatInt(s.N, 10), ") = ", s.Src.Text)
	case *DeclIDs:
		p.put("ids ", s.Name.Text)
	case *AppendID:
		p.put(s.IDs.Text, " += ").expr(s.ID).put(pick(s.Guarded, "?", ""))
	case *SetElem:
		p.put(s.Array.Text, "[").expr(s.I).put("] = ").expr(s.Value)
	case *Create:
		p.put("create ", s.Info.Text, " = ", s.DType.Name(), " ").list(s.Dims)
		p.put(pick(s.ManualDep, " manual_dep", ""))
		if s.Init != nil {
			p.put(" init ").expr(s.Init)
		}
	case *Alloc:
		p.put("alloc ", s.Outs.Text, " =")
		for i, n := range s.Infos {
			p.put(pick(i > 0, ", ", " "), s.Refs[i].Text, ": ", n.Text)
		}
	case *Write:
		p.put(s.Tensor.Text).list(s.Index).put(" := ").expr(s.Value)
	case *Task:
		p.task(s)
	case *Dummy:
		p.put("dummy ", s.Params.Text, " -> ", s.ID.Text, pick(s.Guarded, " if any", ""))
		if s.Gathered != nil {
			p.put(" after all of ", s.Gathered.Text)
		}
		p.deps(s.Deps)
	}
	p.put("\n")
}

func (p *printer) task(t *Task) {
	p.put("task ", t.Params.Text, " = ", t.Kind.String(), " ", t.Label, " [", strconv.Itoa(t.Kernels[0]))
	if t.Kind == SubmitMixed {
		p.put(" ", strconv.Itoa(t.Kernels[1]), " ", strconv.Itoa(t.Kernels[2]))
	}
	p.put("] (")
	for i, a := range t.Args {
		p.sep(i).put(a.Tag.String(), " ")
		if a.Info != nil {
			p.put(a.Info.Text)
		} else {
			p.put(a.Tensor.Text)
		}
	}
	for i, s := range t.Scalars {
		p.sep(len(t.Args) + i).expr(s)
	}
	p.put(")")
	if t.Outs != nil {
		p.put(" -> ", t.Outs.Text)
	}
	if t.Dump != nil {
		p.put(" dump ").list(t.Dump)
	}
	if t.BlockNum != nil {
		p.put(" blocks ").expr(t.BlockNum)
	}
	p.put(pick(t.SyncStart, " sync_start", ""), pick(t.EarlyResolve, " early", ""))
	if t.TimingSlot != nil {
		p.put(" slot ", strconv.FormatInt(*t.TimingSlot, 10))
	}
	if c := t.Pred; c != nil {
		p.put(" when ", c.Tensor.Text).list(c.Index).put(" ", c.Op.String(), " ", strconv.FormatInt(c.Target, 10))
	}
	p.deps(t.Deps)
}

func (p *printer) deps(d *Deps) {
	if d == nil {
		return
	}
	p.put(" after [")
	for i := range d.Entries {
		e := &d.Entries[i]
		p.sep(i).expr(e.ID)
		p.put(pick(e.Guarded, "?", ""), pick(e.Compiler, " (derived)", ""), pick(e.Alloc, " (buffer)", ""))
	}
	p.put("]")
}

func (p *printer) list(es []Expr) *printer {
	p.put("[")
	for i, e := range es {
		p.sep(i).expr(e)
	}
	return p.put("]")
}

func (p *printer) expr(e Expr) *printer {
	switch e := e.(type) {
	case *Ref:
		p.put(e.Name.Text)
	case *Int:
		p.put(strconv.FormatInt(e.Value, 10))
	case *Float:
		p.put(FloatText(e.Value, e.DType))
	case *Bool:
		p.put(strconv.FormatBool(e.Value))
	case *Binary:
		switch e.Op {
		case ir.Min, ir.Max:
			p.put(e.Op.String(), "(").expr(e.X).put(", ").expr(e.Y).put(")")
		default:
			p.put("(").expr(e.X).put(" ", e.Op.String(), " ").expr(e.Y).put(")")
		}
		p.put(pick(e.Floored, "'", ""))
	case *Unary:
		p.put("(", e.Op.String(), " ").expr(e.X).put(")")
	case *Cast:
		p.put(e.DType.Name(), "(").expr(e.X).put(")")
	case *Uint32:
		p.put("u32(").expr(e.X).put(")")
	case *Bits:
		p.put("bits(").expr(e.X).put(")")
	case *Elem:
		p.put(e.Array.Text, "[").expr(e.I).put("]")
	case *Extent:
		p.put(e.Tensor.Text, ".shape[", strconv.Itoa(e.Axis), "]")
	case *EntryExtent:
		p.put("entry(", strconv.Itoa(e.Ordinal), ").shape[", strconv.Itoa(e.Axis), "]")
	case *InvalidTask:
		p.put("none")
	case *IsValid:
		p.put("valid(").expr(e.X).put(")")
	case *TaskIDOf:
		p.put("id(", e.Outs.Text, ")")
	case *OutRef:
		p.put(e.Outs.Text, ".out[", strconv.Itoa(e.I), "]")
	case *Clamped:
		p.put("clamp(").expr(e.Size).put(", ", e.Tensor.Text, ", ", e.Offsets.Text, ", ", strconv.Itoa(e.Axis), ")")
	case *View:
		p.put("view(", e.Tensor.Text, ", ", e.Shapes.Text, ", ", e.Offsets.Text, ")")
	case *Reshape:
		p.put("reshape(", e.Tensor.Text, ", ", e.Shapes.Text, ")")
	case *Transpose:
		p.put("transpose(", e.Tensor.Text, ", ", strconv.Itoa(e.A), ", ", strconv.Itoa(e.B), ")")
	case *Read:
		p.put("read(", e.Tensor.Text)
		if e.Indices != nil {
			p.put(", ", e.Indices.Text)
		}
		p.put(")")
	case *Query:
		p.put(pick(e.AIV, "available_aiv()", "available_clusters()"))
	}
	return p
}

// String is the dump spelling.
func (t CType) String() string {
	switch t.Kind {
	case Number:
		return number(t.DType)
	case TensorT:
		return pick(t.Ref, "ref", "tensor")
	}
	return [...]string{TaskT: "task", Uint32T: "u32", Int32T: "i32", OutputsT: "outputs"}[t.Kind]
}

func number(d ir.DType) string {
	if d == ir.NoDType {
		return "bits"
	}
	return d.String()
}

// FloatText is the shortest decimal text that reads back to v in the precision of d, always with a point or an exponent, without suffix.
func FloatText(v float64, d ir.DType) string {
	bits := 32
	if d == ir.FP64 {
		bits = 64
	}
	s := strconv.FormatFloat(v, 'g', -1, bits)
	if !strings.ContainsAny(s, ".e") && !math.IsInf(v, 0) && !math.IsNaN(v) {
		s += ".0"
	}
	return s
}

func pick(c bool, yes, no string) string {
	if c {
		return yes
	}
	return no
}
