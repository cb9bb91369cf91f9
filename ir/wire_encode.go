package ir

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/ptobuild/ptobuild/internal/diag"
)

// writer is one stretch of bytes with its own span context.
type writer struct {
	b    []byte
	line int32 // of the span before
}

func (w *writer) byte(b byte)     { w.b = append(w.b, b) }
func (w *writer) uint(n uint64)   { w.b = binary.AppendUvarint(w.b, n) }
func (w *writer) int(n int64)     { w.b = binary.AppendVarint(w.b, n) }
func (w *writer) length(n int)    { w.uint(uint64(n) + 1) }
func (w *writer) float(f float64) { w.b = binary.LittleEndian.AppendUint64(w.b, math.Float64bits(f)) }

func (w *writer) bool(b bool) {
	if b {
		w.byte(1)
	} else {
		w.byte(0)
	}
}

type encoder struct {
	table    *VarTable // nil: ids are not shared
	strings  []string
	stringAt map[string]int
	vars     []*Var
	varAt    map[*Var]int
	types    writer
	typeAt   map[Type]int   // by pointer
	typeText map[string]int // by content
	expand   expansion
	depth    int
	err      error

	abstract bool        // leave out places and comments (Fingerprint)
	places   []diag.Span // met so, in order
}

func newEncoder(t *VarTable) *encoder {
	return &encoder{table: t, stringAt: map[string]int{}, varAt: map[*Var]int{}, typeAt: map[Type]int{}, typeText: map[string]int{}}
}

func (e *encoder) fail(format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf("encoding IR: "+format, args...)
	}
}

// enter counts nesting; it reports false when encoding has to stop.
func (e *encoder) enter(w *writer) bool {
	e.depth++
	if e.depth > maxWireDepth {
		e.fail("nodes are nested more than %d deep", maxWireDepth)
	}
	if len(w.b) > maxWireSize {
		e.fail("the result is larger than %d MB", maxWireSize>>20)
	}
	return e.err == nil
}

func (e *encoder) leave() { e.depth-- }

// finish writes the tables before the body. Vars are written last of all: their types may still meet new Vars.
func (e *encoder) finish(form byte, body *writer) ([]byte, error) {
	vars, ids := &writer{}, &writer{}
	for i := 0; i < len(e.vars) && e.err == nil; i++ {
		v := e.vars[i]
		if e.table != nil {
			ids.uint(e.table.id(v))
		}
		e.str(vars, v.Hint)
		vars.bool(v.Dyn)
		e.typ(vars, v.Typ)
		e.span(vars, v.Pos)
	}
	if e.err != nil {
		return nil, e.err
	}
	out := &writer{b: make([]byte, 0, 64+len(body.b)+len(vars.b)+len(e.types.b)+16*len(e.strings))}
	out.b = append(out.b, wireMagic...)
	out.uint(wireVersion)
	out.byte(form)
	out.uint(uint64(len(e.strings)))
	for _, s := range e.strings {
		out.uint(uint64(len(s)))
		out.b = append(out.b, s...)
	}
	out.uint(uint64(len(e.vars)))
	if e.table != nil {
		out.uint(e.table.next)
		out.b = append(out.b, ids.b...)
	}
	out.uint(uint64(len(e.expand.types)))
	out.b = append(out.b, e.types.b...)
	out.b = append(out.b, vars.b...)
	out.b = append(out.b, body.b...)
	switch {
	case len(out.b) > maxWireSize:
		return nil, errors.New("encoding IR: the result is too large")
	case !e.expand.fits(len(out.b)):
		return nil, errors.New("encoding IR: types hold types that hold types … without end")
	}
	return out.b, nil
}

func (e *encoder) str(w *writer, s string) {
	n, ok := e.stringAt[s]
	if !ok {
		if !utf8.ValidString(s) {
			e.fail("the text %q is not UTF-8", s)
		}
		n = len(e.strings)
		e.stringAt[s] = n
		e.strings = append(e.strings, s)
	}
	w.uint(uint64(n))
}

func (e *encoder) strs(w *writer, ss []string) {
	if ss == nil {
		w.byte(0)
		return
	}
	w.length(len(ss))
	for _, s := range ss {
		e.str(w, s)
	}
}

func (e *encoder) comments(w *writer, cs []string) {
	if !e.abstract {
		e.strs(w, cs)
	}
}

func (e *encoder) span(w *writer, s diag.Span) {
	if e.abstract {
		e.places = append(e.places, s)
		return
	}
	if s == (diag.Span{}) {
		w.byte(0)
		return
	}
	n := uint64(0)
	if i, ok := e.stringAt[s.File]; ok {
		n = uint64(i)
	} else {
		var scratch writer
		e.str(&scratch, s.File)
		n = uint64(e.stringAt[s.File])
	}
	w.uint(n + 1)
	w.int(int64(s.Line) - int64(w.line))
	w.int(int64(s.Col))
	w.int(int64(s.EndLine) - int64(s.Line))
	w.int(int64(s.EndCol) - int64(s.Col))
	w.line = s.Line
}

// variable writes a reference, 0 for none.
func (e *encoder) variable(w *writer, v *Var) {
	if v == nil {
		w.byte(0)
		return
	}
	n, ok := e.varAt[v]
	if !ok {
		n = len(e.vars)
		e.varAt[v] = n
		e.vars = append(e.vars, v)
	}
	w.uint(uint64(n) + 1)
}

func (e *encoder) definition(w *writer, v *Var) {
	if v == nil {
		e.fail("a definition without variable")
		return
	}
	e.variable(w, v)
}

func (e *encoder) variables(w *writer, vs []*Var) {
	if vs == nil {
		w.byte(0)
		return
	}
	w.length(len(vs))
	for _, v := range vs {
		e.definition(w, v)
	}
}

// typ writes a reference to a type, 0 for none. The content goes into the table of types, after all types that it refers to.
func (e *encoder) typ(w *writer, t Type) {
	if t == nil {
		w.byte(0)
		return
	}
	n, ok := e.typeAt[t]
	if !ok {
		if !e.enter(w) {
			return
		}
		outer := e.expand.begin()
		var content writer
		e.typeContent(&content, t)
		ext := e.expand.end(outer)
		e.leave()
		if n, ok = e.typeText[string(content.b)]; !ok {
			n = len(e.expand.types)
			e.expand.types = append(e.expand.types, ext)
			e.typeText[string(content.b)] = n
			e.types.b = append(e.types.b, content.b...)
		}
		e.typeAt[t] = n
	}
	e.expand.refer(n)
	w.uint(uint64(n) + 1)
}

func (e *encoder) typs(w *writer, ts []Type) {
	if ts == nil {
		w.byte(0)
		return
	}
	w.length(len(ts))
	for _, t := range ts {
		e.typ(w, t)
	}
}

func (e *encoder) typeContent(w *writer, t Type) {
	switch t := t.(type) {
	case *ScalarType:
		w.byte(wireScalar)
		w.byte(byte(t.DType))
	case *TensorType:
		w.byte(wireTensor)
		w.byte(byte(t.DType))
		w.bool(t.Distributed)
		e.exprs(w, t.Shape)
		w.bool(t.View != nil)
		if v := t.View; v != nil {
			e.exprs(w, v.ValidShape)
			e.exprs(w, v.Stride)
			e.str(w, v.Layout)
			e.str(w, v.Pad)
		}
		e.memRef(w, t.MemRef)
	case *TileType:
		w.byte(wireTile)
		w.byte(byte(t.DType))
		e.exprs(w, t.Shape)
		e.str(w, string(t.Mem))
		w.bool(t.View != nil)
		if v := t.View; v != nil {
			e.exprs(w, v.ValidShape)
			e.exprs(w, v.Stride)
			e.optional(w, v.StartOffset)
			e.str(w, v.BLayout)
			e.str(w, v.SLayout)
			w.int(v.Fractal)
			e.str(w, v.Pad)
			e.str(w, v.Compact)
		}
		e.memRef(w, t.MemRef)
	case *ArrayType:
		w.byte(wireArray)
		w.byte(byte(t.DType))
		w.int(t.Len)
	case *TupleType:
		w.byte(wireTuple)
		e.typs(w, t.Elems)
	case *UnknownType:
		w.byte(wireUnknown)
	case *OpaqueType:
		w.byte(wireOpaque)
		e.str(w, t.Name)
	default:
		e.fail("a type of Go type %T", t)
	}
}

func (e *encoder) memRef(w *writer, m *MemRef) {
	w.bool(m != nil)
	if m == nil {
		return
	}
	e.str(w, m.Name)
	e.variable(w, m.Base)
	e.optional(w, m.ByteOffset)
	w.int(m.Size)
	w.int(m.Slots)
	e.optional(w, m.Slot)
}

func (e *encoder) exprs(w *writer, es []Expr) {
	if es == nil {
		w.byte(0)
		return
	}
	w.length(len(es))
	for _, x := range es {
		e.expr(w, x)
	}
}

// optional writes an expression that may be absent.
func (e *encoder) optional(w *writer, x Expr) {
	if x == nil {
		w.byte(wireNil)
		return
	}
	e.expr(w, x)
}

func (e *encoder) expr(w *writer, x Expr) {
	if !e.enter(w) {
		return
	}
	defer e.leave()
	e.expand.now.nodes++
	switch x := x.(type) {
	case *Var:
		w.byte(wireVar)
		e.definition(w, x)
	case *ConstInt:
		w.byte(wireInt)
		w.int(x.Value)
		w.byte(byte(x.DType))
		e.span(w, x.Pos)
	case *ConstFloat:
		w.byte(wireFloat)
		w.float(x.Value)
		w.byte(byte(x.DType))
		e.span(w, x.Pos)
	case *ConstBool:
		w.byte(wireBool)
		w.bool(x.Value)
		e.span(w, x.Pos)
	case *Binary:
		w.byte(wireBinary)
		w.byte(byte(x.Op))
		w.byte(byte(x.DType))
		e.expr(w, x.X)
		e.expr(w, x.Y)
		e.span(w, x.Pos)
	case *Unary:
		w.byte(wireUnary)
		w.byte(byte(x.Op))
		w.byte(byte(x.DType))
		e.expr(w, x.X)
		e.span(w, x.Pos)
	case *Cast:
		w.byte(wireCast)
		w.byte(byte(x.DType))
		e.expr(w, x.X)
		e.span(w, x.Pos)
	case *MakeTuple:
		w.byte(wireMakeTuple)
		e.exprs(w, x.Elems)
		e.span(w, x.Pos)
	case *TupleGet:
		w.byte(wireTupleGet)
		w.int(int64(x.Index))
		e.expr(w, x.X)
		e.span(w, x.Pos)
	case *OpCall:
		w.byte(wireOpCall)
		e.str(w, x.Op)
		e.exprs(w, x.Args)
		e.kwargs(w, x.Kwargs)
		e.exprs(w, x.Deps)
		e.typ(w, x.Typ)
		e.attrs(w, x.Attrs)
		e.span(w, x.Pos)
	case *Call:
		w.byte(wireCall)
		e.call(w, x)
	case nil:
		e.fail("an expression is missing")
	default:
		e.fail("an expression of Go type %T", x)
	}
}

func (e *encoder) call(w *writer, x *Call) {
	e.str(w, x.Callee)
	e.exprs(w, x.Args)
	w.bool(x.Submit)
	e.launch(w, &x.Launch)
	if x.NoDep == nil {
		w.byte(0)
	} else {
		w.length(len(x.NoDep))
		for _, n := range x.NoDep {
			w.int(int64(n))
		}
	}
	if x.Dirs == nil {
		w.byte(0)
	} else {
		w.length(len(x.Dirs))
		for _, d := range x.Dirs {
			w.byte(byte(d))
		}
	}
	e.variables(w, x.CompilerDeps)
	e.optional(w, x.Device)
	e.typ(w, x.Typ)
	e.attrs(w, x.Attrs)
	e.span(w, x.Pos)
}

// launch writes a byte of flags, then what is there.
func (e *encoder) launch(w *writer, l *Launch) {
	var flags byte
	for i, set := range [...]bool{l.Deps != nil, l.CoreNum != nil, l.SyncStart, l.EarlyResolve, l.Predicate != nil, l.TimingSlot != nil, l.Dumps != nil} {
		if set {
			flags |= 1 << i
		}
	}
	w.byte(flags)
	if l.Deps != nil {
		e.exprs(w, l.Deps)
	}
	if l.CoreNum != nil {
		e.expr(w, l.CoreNum)
	}
	if l.Predicate != nil {
		e.expr(w, l.Predicate)
	}
	if l.TimingSlot != nil {
		w.int(*l.TimingSlot)
	}
	if l.Dumps != nil {
		e.exprs(w, l.Dumps)
	}
}

func (e *encoder) kwargs(w *writer, ks Kwargs) {
	if ks == nil {
		w.byte(0)
		return
	}
	w.length(len(ks))
	for _, k := range ks {
		e.str(w, k.Name)
		e.value(w, k.Name, k.Value)
	}
}

func (e *encoder) attrs(w *writer, as Attrs) {
	if as == nil {
		w.byte(0)
		return
	}
	w.length(len(as))
	for _, a := range as {
		e.str(w, a.Key)
		e.value(w, a.Key, a.Value)
	}
}

func (e *encoder) value(w *writer, key string, v any) {
	switch v := v.(type) {
	case int64:
		w.byte(wireAttrInt)
		w.int(v)
	case bool:
		w.byte(wireAttrBool)
		w.bool(v)
	case string:
		w.byte(wireAttrString)
		e.str(w, v)
	case float64:
		w.byte(wireAttrFloat)
		w.float(v)
	case DType:
		w.byte(wireAttrDType)
		w.byte(byte(v))
	case Enum:
		w.byte(wireAttrEnum)
		e.str(w, v.Kind)
		e.str(w, v.Name)
	case Expr:
		w.byte(wireAttrExpr)
		e.expr(w, v)
	case []Expr:
		w.byte(wireAttrExprs)
		e.exprs(w, v)
	case []int64:
		w.byte(wireAttrInts)
		if v == nil {
			w.byte(0)
			return
		}
		w.length(len(v))
		for _, n := range v {
			w.int(n)
		}
	case []string:
		w.byte(wireAttrStrings)
		e.strs(w, v)
	default:
		e.fail("%q has a value of Go type %T", key, v)
	}
}

func (e *encoder) block(w *writer, b Block) {
	if b == nil {
		w.byte(0)
		return
	}
	w.length(len(b))
	for _, s := range b {
		e.stmt(w, s)
	}
}

func (e *encoder) stmt(w *writer, s Stmt) {
	if !e.enter(w) {
		return
	}
	defer e.leave()
	switch s := s.(type) {
	case *Assign:
		w.byte(wireAssign)
		e.expr(w, s.Value)
		e.definition(w, s.Var)
		e.comments(w, s.Comments)
		e.span(w, s.Pos)
	case *Eval:
		w.byte(wireEval)
		e.expr(w, s.X)
		e.comments(w, s.Comments)
		e.span(w, s.Pos)
	case *If:
		w.byte(wireIf)
		e.span(w, s.Pos)
		e.comments(w, s.Comments)
		e.expr(w, s.Cond)
		e.block(w, s.Then)
		e.block(w, s.Else)
		e.variables(w, s.Results)
	case *For:
		w.byte(wireFor)
		e.span(w, s.Pos)
		e.comments(w, s.Comments)
		e.definition(w, s.Var)
		e.expr(w, s.Start)
		e.expr(w, s.Stop)
		e.expr(w, s.Step)
		w.byte(byte(s.Kind))
		w.int(s.Stages)
		e.carries(w, s.Carries)
		e.attrs(w, s.Attrs)
		e.block(w, s.Body)
	case *While:
		w.byte(wireWhile)
		e.span(w, s.Pos)
		e.comments(w, s.Comments)
		e.carries(w, s.Carries)
		e.expr(w, s.Cond)
		e.block(w, s.Body)
	case *Yield:
		w.byte(wireYield)
		e.exprs(w, s.Values)
		e.span(w, s.Pos)
	case *Return:
		w.byte(wireReturn)
		e.exprs(w, s.Values)
		e.comments(w, s.Comments)
		e.span(w, s.Pos)
	case *Branch:
		w.byte(wireBranch)
		w.bool(s.Continue)
		e.span(w, s.Pos)
	case *Scope:
		w.byte(wireScope)
		e.span(w, s.Pos)
		e.comments(w, s.Comments)
		w.byte(byte(s.Kind))
		e.str(w, s.NameHint)
		w.bool(s.Manual)
		w.byte(byte(s.Owner))
		e.str(w, s.Level)
		e.str(w, s.Role)
		w.byte(byte(s.Split))
		e.variable(w, s.TaskID)
		e.launch(w, &s.Launch)
		e.exprs(w, s.NoDep)
		e.attrs(w, s.Attrs)
		e.block(w, s.Body)
	case *Verbatim:
		w.byte(wireVerbatim)
		e.str(w, s.Text)
		e.span(w, s.Pos)
	case nil:
		e.fail("a statement is missing")
	default:
		e.fail("a statement of Go type %T", s)
	}
}

func (e *encoder) carries(w *writer, cs []Carry) {
	if cs == nil {
		w.byte(0)
		return
	}
	w.length(len(cs))
	for _, c := range cs {
		e.definition(w, c.Iter)
		e.expr(w, c.Init)
		e.definition(w, c.Result)
		w.byte(byte(c.Class))
		w.int(c.Slots)
	}
}

func (e *encoder) functions(w *writer, fs []*Function) {
	if fs == nil {
		w.byte(0)
		return
	}
	w.length(len(fs))
	for _, f := range fs {
		e.function(w, f)
	}
}

func (e *encoder) function(w *writer, f *Function) {
	if f == nil {
		e.fail("a function is missing")
		return
	}
	e.span(w, f.Pos)
	e.str(w, f.Name)
	w.byte(byte(f.Type))
	if f.Params == nil {
		w.byte(0)
	} else {
		w.length(len(f.Params))
		for _, p := range f.Params {
			e.definition(w, p.Var)
			w.byte(byte(p.Dir))
		}
	}
	e.typs(w, f.Returns)
	e.str(w, f.Level)
	e.str(w, f.Role)
	w.bool(f.AutoScope)
	w.bool(f.External != nil)
	if x := f.External; x != nil {
		e.str(w, x.Source)
		e.strs(w, x.IncludeDirs)
	}
	w.byte(byte(f.Split))
	w.bool(f.DualAIV)
	e.attrs(w, f.Attrs)
	e.comments(w, f.Comments)
	e.block(w, f.Body)
}
