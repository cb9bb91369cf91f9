package ir

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Precedence levels of Python, loosest first.
const (
	precLowest = iota
	precOr
	precAnd
	precNot
	precCompare
	precBitOr
	precBitXor
	precBitAnd
	precShift
	precAdd
	precMul
	precUnary
	precPow
	precAtom
)

var binPrec = [...]int{
	Add: precAdd, Sub: precAdd, Mul: precMul, FloorDiv: precMul, FloorMod: precMul, FloatDiv: precMul, Min: precAtom, Max: precAtom, Pow: precPow,
	Eq: precCompare, Ne: precCompare, Lt: precCompare, Le: precCompare, Gt: precCompare, Ge: precCompare,
	And: precAnd, Or: precOr, Xor: precAtom, BitAnd: precBitAnd, BitOr: precBitOr, BitXor: precBitXor, Shl: precShift, Shr: precShift,
}

// expr writes e where operators looser than min need parentheses. typed makes literals spell their dtype, so that a reader does not fold them.
func (p *printer) expr(e Expr, min int, typed bool) {
	switch e := e.(type) {
	case *Var:
		p.w(p.name(e))
	case *ConstInt:
		p.constInt(e, min, typed)
	case *ConstFloat:
		p.constFloat(e, min, typed)
	case *ConstBool:
		switch {
		case typed:
			p.w("pl.const(", boolText(e.Value), ", pl.BOOL)")
		default:
			p.w(boolText(e.Value))
		}
	case *Binary:
		p.binary(e, min, typed)
	case *Unary:
		typed = typed || isLiteral(e)
		if e.Op == Abs {
			p.w("abs(")
			p.expr(e.X, precLowest, typed)
			p.w(")")
			return
		}
		prec, op := precUnary, e.Op.String()
		if e.Op == Not {
			prec, op = precNot, "not "
		}
		p.paren(prec < min, func() {
			p.w(op)
			p.expr(e.X, prec, typed)
		})
	case *Cast:
		p.w("pl.cast(")
		p.expr(e.X, precLowest, false)
		p.w(", ", dtypeText(e.DType), ")")
	case *MakeTuple:
		p.exprList(e.Elems)
	case *TupleGet:
		p.expr(e.X, precAtom, false)
		p.w("[", strconv.Itoa(e.Index), "]")
	case *OpCall:
		p.opCall(e)
	case *Call:
		p.call(e)
	default:
		p.w("None")
	}
}

func (p *printer) paren(need bool, body func()) {
	if need {
		p.w("(")
	}
	body()
	if need {
		p.w(")")
	}
}

func (p *printer) binary(e *Binary, min int, typed bool) {
	typed = typed || isLiteral(e)
	tx, ty := typed || takesDType(e.Op, e.X, e.Y), typed || takesDType(e.Op, e.Y, e.X)
	switch e.Op {
	case Min, Max, Xor:
		p.w("pl.", e.Op.String(), "(")
		p.expr(e.X, precLowest, tx)
		p.w(", ")
		p.expr(e.Y, precLowest, ty)
		p.w(")")
		return
	}
	prec := binPrec[e.Op]
	left, right := prec, prec+1
	switch {
	case e.Op.IsCompare(): // a == b == c would be one chained comparison
		left = prec + 1
	case e.Op == Pow: // binds to the right, and its exponent may carry a sign
		left, right = precAtom, precUnary
	}
	p.paren(prec < min, func() {
		p.expr(e.X, left, tx)
		p.w(" ", e.Op.String(), " ")
		p.expr(e.Y, right, ty)
	})
}

// isLiteral reports an expression without any Var or call: a reader would fold it into one literal.
func isLiteral(e Expr) bool {
	switch e := e.(type) {
	case *ConstInt, *ConstFloat, *ConstBool:
		return true
	case *Binary:
		return isLiteral(e.X) && isLiteral(e.Y)
	case *Unary:
		return isLiteral(e.X)
	}
	return false
}

// takesDType reports an INDEX literal e that would take the dtype of the other operand when read back. In a comparison with an INT64 it does not.
func takesDType(op BinOp, e, other Expr) bool {
	c, ok := e.(*ConstInt)
	if !ok || c.DType != INDEX || other == nil {
		return false
	}
	d := ElemDType(other.Type())
	return d.IsInt() && d != INDEX && !(d == INT64 && op.IsCompare())
}

func (p *printer) constInt(c *ConstInt, min int, typed bool) {
	text := strconv.FormatInt(c.Value, 10)
	if typed || c.DType != INDEX {
		p.w("pl.const(", text, ", ", dtypeText(c.DType), ")")
		return
	}
	p.paren(c.Value < 0 && min > precUnary, func() { p.w(text) })
}

func (p *printer) constFloat(c *ConstFloat, min int, typed bool) {
	text := floatText(c.Value)
	if typed || c.DType != FP32 {
		p.w("pl.const(", text, ", ", dtypeText(c.DType), ")")
		return
	}
	p.paren(text[0] == '-' && min > precUnary, func() { p.w(text) })
}

// floatText is the shortest Python literal that reads back as v; infinities and NaN are bare words.
func floatText(v float64) string {
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	}
	if a := math.Abs(v); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	s := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

func boolText(v bool) string {
	if v {
		return "True"
	}
	return "False"
}

func (p *printer) exprList(es []Expr) {
	p.w("[")
	for i, e := range es {
		if i > 0 {
			p.w(", ")
		}
		p.expr(e, precLowest, false)
	}
	p.w("]")
}

// keywordArgs are the ops whose trailing positional operands are written as keywords after the others, from the given operand on (spec: dsl-ir 3.4).
var keywordArgs = map[string]struct {
	from  int
	names []string
}{
	"tensor.full":             {1, []string{"value"}},
	"tile.full":               {1, []string{"value"}},
	"tensor.reinterpret_view": {1, []string{"shape"}},
	"tile.reinterpret_view":   {1, []string{"shape"}},
	"tensor.gather_row":       {5, []string{"valid_shape"}},
	"tile.gather_row":         {5, []string{"valid_shape"}},
	"tile.mgather":            {2, []string{"scratch", "valid_shape"}},
}

// castModes are the rounding modes of tensor.cast and tile.cast by number.
var castModes = [...]string{"none", "rint", "round", "floor", "ceil", "trunc", "odd"}

// opCall writes pl.<op>(operands, keywords, attrs={…}).
func (p *printer) opCall(e *OpCall) {
	if !strings.HasPrefix(e.Op, "pld.") {
		p.w("pl.")
	}
	p.w(e.Op)
	if leaf := e.Op[strings.LastIndexByte(e.Op, '.')+1:]; keywords[leaf] {
		p.w("_") // pl.tile.and_
	}
	p.w("(")
	it := items{p: p}
	// The memory space of an allocation is its first operand.
	kwargs := e.Kwargs
	if isAlloc(e.Op) && len(kwargs) > 0 && kwargs[0].Name == "memory_space" {
		it.next()
		p.value(kwargs[0].Value, '\'', false)
		kwargs = kwargs[1:]
	}
	// A window buffer is named after the variable that takes it.
	if name, ok := kwargs.Get("name"); ok && e.Op == "pld.tensor.alloc_window_buffer" && p.assigned != nil && name == p.name(p.assigned) {
		kwargs = slices.DeleteFunc(slices.Clone(kwargs), func(k Kwarg) bool { return k.Name == "name" })
	}
	if e.Op == "system.syncall" && len(e.Args) > 0 {
		p.softSync(e)
		return
	}
	kw, special := keywordArgs[e.Op]
	positional := len(e.Args)
	if special && kw.from < positional && positional <= kw.from+len(kw.names) {
		positional = kw.from
	}
	for _, a := range e.Args[:positional] {
		it.next()
		p.expr(a, precLowest, false)
	}
	for _, k := range kwargs {
		it.next(k.Name, "=")
		if v, ok := k.Value.(int64); ok && k.Name == "mode" && v >= 0 && v < int64(len(castModes)) && strings.HasSuffix(e.Op, ".cast") {
			p.w("'", castModes[v], "'")
			continue
		}
		p.value(k.Value, '\'', false)
	}
	for i, a := range e.Args[positional:] {
		it.next(kw.names[i], "=")
		p.expr(a, precLowest, false)
	}
	if e.Op == "system.task_dummy" || len(e.Deps) > 0 {
		it.next("deps=")
		p.exprList(e.Deps)
	}
	if len(e.Attrs) > 0 {
		it.next("attrs=")
		p.attrs(e.Attrs)
	}
	p.w(")")
}

// softSync writes the operands of a barrier in memory in the order of the dump language; those left out are empty lists.
func (p *printer) softSync(e *OpCall) {
	it := items{p: p}
	for _, name := range [...]string{"mode", "core_type"} {
		if v, ok := e.Kwargs.Get(name); ok {
			it.next(name, "=")
			p.value(v, '"', false)
		}
	}
	for _, i := range [...]int{0, 2, 1} {
		if i >= len(e.Args) {
			continue
		}
		if t, ok := e.Args[i].(*MakeTuple); ok && len(t.Elems) == 0 {
			continue
		}
		it.next([...]string{"gm_workspace", "scratch", "used_cores"}[i], "=")
		p.expr(e.Args[i], precLowest, false)
	}
	p.w(")")
}

func isAlloc(op string) bool { return op == "tile.alloc" || op == "tensor.alloc" }

// call writes self.f(…), pl.submit(self.f, …) or pl.spmd_submit(self.f, …).
func (p *printer) call(e *Call) {
	callee := e.Callee
	if p.method {
		callee = "self." + callee
	}
	it := items{p: p}
	attrs := callAttrs(e)
	if !e.Submit {
		p.w(callee, "(")
		p.args(&it, e.Args)
		attrs = append(launchAttrs(&e.Launch), attrs...)
	} else {
		if e.Launch.CoreNum != nil {
			p.w("pl.spmd_submit(")
		} else {
			p.w("pl.submit(")
		}
		it.next(callee)
		p.args(&it, e.Args)
		if len(e.Launch.Deps) > 0 {
			it.next("deps=")
			p.exprList(e.Launch.Deps)
		}
		if len(e.Launch.Dumps) > 0 {
			it.next("dumps=")
			p.exprList(e.Launch.Dumps)
		}
		if e.Launch.CoreNum != nil {
			it.next("core_num=")
			p.expr(e.Launch.CoreNum, precLowest, false)
		}
		p.launch(&it, &e.Launch)
	}
	if e.Device != nil {
		it.next("device=")
		p.expr(e.Device, precLowest, false)
	}
	if len(attrs) > 0 {
		it.next("attrs=")
		p.attrs(attrs)
	}
	p.w(")")
}

func (p *printer) args(it *items, es []Expr) {
	for _, a := range es {
		it.next()
		p.expr(a, precLowest, false)
	}
}

// launch writes the options that submits and scopes spell alike.
func (p *printer) launch(it *items, l *Launch) {
	if l.SyncStart {
		it.next("sync_start=True")
	}
	if l.EarlyResolve {
		it.next("allow_early_resolve=True")
	}
	if l.Predicate != nil {
		it.next("predicate=(")
		p.expr(l.Predicate, precLowest, false)
		p.w(")")
	}
	if l.TimingSlot != nil {
		it.next("timing_slot=", strconv.FormatInt(*l.TimingSlot, 10))
	}
}

// callAttrs gives the typed fields of a call that are spelled as attributes, then the carried ones.
func callAttrs(e *Call) Attrs {
	var as Attrs
	if e.Dirs != nil {
		as = append(as, Attr{"arg_directions", e.Dirs})
	}
	if len(e.NoDep) > 0 {
		xs := make([]int64, len(e.NoDep))
		for i, n := range e.NoDep {
			xs[i] = int64(n)
		}
		as = append(as, Attr{"arg_direction_overrides", xs})
	}
	if len(e.CompilerDeps) > 0 {
		xs := make([]Expr, len(e.CompilerDeps))
		for i, v := range e.CompilerDeps {
			xs[i] = v
		}
		as = append(as, Attr{"compiler_manual_dep_edges", xs})
	}
	return append(as, e.Attrs...)
}

// launchAttrs spells the launch options of a plain call, which has no keywords for them.
func launchAttrs(l *Launch) Attrs {
	var as Attrs
	if len(l.Deps) > 0 {
		as = append(as, Attr{"manual_dep_edges", l.Deps})
	}
	if len(l.Dumps) > 0 {
		as = append(as, Attr{"dump_vars", l.Dumps})
	}
	if l.CoreNum != nil {
		as = append(as, Attr{"core_num", l.CoreNum})
	}
	if l.SyncStart {
		as = append(as, Attr{"sync_start", true})
	}
	if l.EarlyResolve {
		as = append(as, Attr{"allow_early_resolve", true})
	}
	if l.Predicate != nil {
		as = append(as, Attr{"predicate", l.Predicate})
	}
	if l.TimingSlot != nil {
		as = append(as, Attr{"timing_slot", *l.TimingSlot})
	}
	return as
}

// attrs writes a dict of attributes.
func (p *printer) attrs(as Attrs) {
	p.w("{")
	for i, a := range as {
		if i > 0 {
			p.w(", ")
		}
		p.w(quote(a.Key, '"'), ": ")
		p.value(a.Value, '"', true)
	}
	p.w("}")
}

// value writes the value of a keyword or attribute. With literal, expressions that are literals spell their dtype, which tells them from numbers.
func (p *printer) value(v any, q byte, literal bool) {
	switch v := v.(type) {
	case nil:
		p.w("None")
	case int64:
		p.w(strconv.FormatInt(v, 10))
	case bool:
		p.w(boolText(v))
	case string:
		p.w(quote(v, q))
	case float64:
		p.w(floatText(v))
	case DType:
		p.w(dtypeText(v))
	case Enum:
		if !strings.Contains(v.Kind, ".") {
			p.w("pl.")
		}
		p.w(v.Kind, ".", v.Name)
	case Expr:
		p.expr(v, precLowest, literal && isLiteral(v))
	case []Expr:
		writeList(p, v, func(e Expr) { p.expr(e, precLowest, literal && isLiteral(e)) })
	case []int64:
		writeList(p, v, func(n int64) { p.w(strconv.FormatInt(n, 10)) })
	case []string:
		writeList(p, v, func(s string) { p.w(quote(s, q)) })
	case []ArgDir:
		writeList(p, v, func(d ArgDir) { p.w("pl.adir.", d.String()) })
	default:
		p.w("None") // not a value that the IR carries; Marshal and Verify report it
	}
}

func writeList[T any](p *printer, xs []T, f func(T)) {
	p.w("[")
	for i, x := range xs {
		if i > 0 {
			p.w(", ")
		}
		f(x)
	}
	p.w("]")
}

// quote writes s as a Python string literal.
func quote(s string, q byte) string {
	b := make([]byte, 0, len(s)+2)
	b = append(b, q)
	for _, r := range s {
		switch {
		case r == rune(q) || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r < 0x20 || r == 0x7f:
			b = append(b, '\\', 'x', hexDigits[r>>4], hexDigits[r&15])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return string(append(b, q))
}

const hexDigits = "0123456789abcdef"
