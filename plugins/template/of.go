package template

import (
	"fmt"
	"strconv"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/ops"
)

// Of is the template of plan statements that an op emitted for a site. locals are the names that its Local gave, by affix.
func Of(stmts []plan.Stmt, site *ops.EmitSite, locals map[*plan.Name]string) (t *Template, err error) {
	defer func() {
		switch x := recover().(type) {
		case nil:
		case fault:
			t, err = nil, x.err
		default:
			panic(x)
		}
	}()
	w := &writer{site: site, affixes: locals, t: &Template{}, known: map[plan.Expr]Token{}, names: map[*plan.Name]Token{}}
	for i, a := range site.Args {
		if a == nil {
			for k, e := range site.Lists[i] {
				w.known[e] = Token{Kind: Element, N: i, K: k}
			}
			continue
		}
		w.known[a] = Token{Kind: Operand, N: i}
		if r, ok := a.(*plan.Ref); ok {
			w.names[r.Name] = Token{Kind: Operand, N: i}
		}
	}
	if site.Result != nil {
		w.names[site.Result] = Token{Kind: Result}
	}
	for _, s := range stmts {
		w.stmt(s)
		w.t.Lines = append(w.t.Lines, w.line)
		w.line = nil
	}
	return w.t, nil
}

type writer struct {
	site    *ops.EmitSite
	affixes map[*plan.Name]string
	t       *Template
	line    Line
	known   map[plan.Expr]Token
	names   map[*plan.Name]Token
}

func (w *writer) failf(format string, args ...any) { panic(fault{fmt.Errorf(format, args...)}) }

func (w *writer) s(texts ...string) *writer {
	for _, t := range texts {
		if n := len(w.line) - 1; n >= 0 && w.line[n].Kind == Text {
			w.line[n].Text += t
		} else {
			w.line = append(w.line, Token{Text: t})
		}
	}
	return w
}

func (w *writer) name(n *plan.Name) *writer {
	t, ok := w.names[n]
	if !ok {
		affix, local := w.affixes[n]
		if !local {
			w.failf("a name that is neither an operand, the result nor a local")
		}
		t = Token{Kind: Local, N: len(w.t.Locals)}
		w.t.Locals = append(w.t.Locals, affix)
		w.names[n] = t
	}
	w.line = append(w.line, t)
	return w
}

// CType is the type T by which a template accesses elements of a dtype, "" when there is none.
func CType(d ir.DType) string {
	switch d {
	case ir.INDEX:
		d = ir.INT64
	case ir.INT4:
		d = ir.INT8
	case ir.UINT4:
		d = ir.UINT8
	}
	for name, v := range cTypes {
		if v.shape == number && v.dtype == d {
			return name
		}
	}
	return ""
}

func cTypeName(d ir.DType) string {
	if name := CType(d); name != "" {
		return name
	}
	panic(fault{fmt.Errorf("templates have no type for %s", d)})
}

func (w *writer) ctype(t plan.CType) *writer {
	switch t.Kind {
	case plan.TensorT:
		return w.s("Tensor")
	case plan.TaskT:
		return w.s("TaskId")
	case plan.Uint32T:
		return w.s("uint32_t")
	case plan.Int32T:
		return w.s("int32_t")
	case plan.Number:
		return w.s(cTypeName(t.DType))
	}
	w.failf("templates have no such type")
	return w
}

func (w *writer) stmt(s plan.Stmt) {
	switch s := s.(type) {
	case *plan.Decl:
		w.ctype(s.Type).s(" ").name(s.Name).s(" = ").expr(s.Init).s(";")
	case *plan.Assign:
		w.name(s.Dst).s(" = ").expr(s.Value).s(";")
	case *plan.DeclArray:
		w.ctype(s.Type).s(" ").name(s.Name).s("[] = ").list(s.Elems).s(";")
	case *plan.DeclSlots:
		w.ctype(s.Type).s(" ").name(s.Name).s("[", strconv.FormatInt(s.N, 10), "]")
		if s.Fill != nil {
			w.s(" = fill(").expr(s.Fill).s(")")
		}
		w.s(";")
	case *plan.SetElem:
		w.name(s.Array).s("[").expr(s.I).s("] = ").expr(s.Value).s(";")
	case *plan.Write:
		w.s("set_tensor_data<", cTypeName(s.DType), ">(").name(s.Tensor).s(", ").list(s.Index).s(", ").expr(s.Value).s(");")
	default:
		w.failf("templates have no statement for %T", s)
	}
}

func (w *writer) list(es []plan.Expr) *writer {
	w.s("{")
	for i, e := range es {
		if i > 0 {
			w.s(", ")
		}
		w.expr(e)
	}
	return w.s("}")
}

func (w *writer) int(n int) *writer { return w.s(strconv.Itoa(n)) }

func (w *writer) expr(e plan.Expr) *writer {
	if t, ok := w.known[e]; ok {
		w.line = append(w.line, t)
		return w
	}
	switch e := e.(type) {
	case *plan.Ref:
		return w.name(e.Name)
	case *plan.Int:
		return w.s(strconv.FormatInt(e.Value, 10))
	case *plan.Bool:
		return w.s(strconv.FormatBool(e.Value))
	case *plan.Binary:
		return w.binary(e)
	case *plan.Cast:
		return w.s("static_cast<", cTypeName(e.DType), ">(").expr(e.X).s(")")
	case *plan.Uint32:
		return w.s("static_cast<uint32_t>(").expr(e.X).s(")")
	case *plan.Elem:
		return w.name(e.Array).s("[").expr(e.I).s("]")
	case *plan.Extent:
		if t := w.names[e.Tensor]; t.Kind == Operand {
			w.line = append(w.line, Token{Kind: Dim, N: t.N, K: e.Axis})
			return w
		}
		return w.name(e.Tensor).s(".shapes[").int(e.Axis).s("]")
	case *plan.InvalidTask:
		return w.s("TaskId::invalid()")
	case *plan.IsValid:
		return w.expr(e.X).s(".is_valid()")
	case *plan.Clamped:
		return w.s("clamp_extent(").expr(e.Size).s(", ").name(e.Tensor).s(", ").name(e.Offsets).s(", ").int(e.Axis).s(")")
	case *plan.View:
		return w.name(e.Tensor).s(".view(").name(e.Shapes).s(", ").name(e.Offsets).s(")")
	case *plan.Reshape:
		return w.name(e.Tensor).s(".reshape(").name(e.Shapes).s(", ").int(e.N).s(")")
	case *plan.Transpose:
		return w.name(e.Tensor).s(".transpose(").int(e.A).s(", ").int(e.B).s(")")
	case *plan.Read:
		w.s("get_tensor_data<", cTypeName(e.DType), ">(").name(e.Tensor).s(", ").int(e.N).s(", ")
		if e.N == 0 {
			return w.s("nullptr)")
		}
		return w.name(e.Indices).s(")")
	case *plan.Query:
		if e.AIV {
			return w.s("rt_available_aiv_count()")
		}
		return w.s("rt_available_cluster_count()")
	}
	w.failf("templates have no expression for %T", e)
	return w
}

func (w *writer) binary(e *plan.Binary) *writer {
	if e.Floored {
		name := "floor_div("
		if e.Op == ir.FloorMod {
			name = "floor_mod("
		}
		return w.s(name).expr(e.X).s(", ").expr(e.Y).s(")")
	}
	for _, level := range levels {
		for _, l := range level {
			if l.op == e.Op {
				return w.s("(").expr(e.X).s(" " + l.sign + " ").expr(e.Y).s(")")
			}
		}
	}
	w.failf("templates have no operator %s", e.Op)
	return w
}
