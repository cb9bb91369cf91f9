package template

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/ops"
)

// shape is what a name or value is.
type shape uint8

const (
	number shape = iota
	tensor
	task
	numbers // an array
	extents // an array of uint32_t, for view and reshape
	tasks
)

func (s shape) String() string {
	return [...]string{"a number", "a tensor", "a task id", "an array of numbers", "an array of extents", "an array of task ids"}[s]
}

// variable is a name that may be used.
type variable struct {
	shape shape
	dtype ir.DType
	root  int // of a tensor: the operand whose storage it shows, -1 for none
	// dims are the extents of a tensor, the elements of an array of extents; nil when they are not known.
	dims []plan.Expr
}

// value is a compiled expression.
type value struct {
	e plan.Expr
	variable
	name *plan.Name // of a variable
}

// parser reads the statements of one call. Errors are panics of type fault, recovered by Plan.
type parser struct {
	spec   *ops.Spec
	site   *ops.EmitSite
	text   *Scanned
	in     []lexeme
	at     int
	locals []*plan.Name
	vars   map[*plan.Name]variable
	scopes [][]*plan.Name // what each open block declared
	bound  bool           // the result is declared
	depth  int            // of nested expressions
}

type fault struct{ err error }

// Plan gives the statements of a template for one call. The error says what the core cannot accept; it is the plugin's fault.
func (t *Template) Plan(spec *ops.Spec, site *ops.EmitSite) ([]plan.Stmt, error) {
	s, err := Scan(t)
	if err != nil {
		return nil, err
	}
	return s.Plan(spec, site)
}

// Plan gives the statements for one call.
func (s *Scanned) Plan(spec *ops.Spec, site *ops.EmitSite) (out []plan.Stmt, err error) {
	defer func() {
		switch x := recover().(type) {
		case nil:
		case fault:
			out, err = nil, x.err
		default:
			panic(x)
		}
	}()
	p := &parser{spec: spec, site: site, text: s, in: s.in, vars: map[*plan.Name]variable{}, scopes: [][]*plan.Name{nil}}
	for _, affix := range s.locals {
		if !isAffix(affix) {
			return nil, fmt.Errorf("%q cannot tell a local from the result: it is a name that starts or ends with '_'", affix)
		}
		p.locals = append(p.locals, site.Local(affix))
	}
	for i, a := range site.Args {
		if r, ok := a.(*plan.Ref); ok {
			p.vars[r.Name] = p.operandVar(i)
		}
	}
	out = p.statements("")
	if !p.bound && site.Result != nil && p.declares() {
		p.failf("it does not declare $result")
	}
	return out, nil
}

func isAffix(s string) bool {
	return len(s) > 1 && identifier(s) == s && (s[0] == '_') != strings.HasSuffix(s, "_")
}

// declares reports that the statements have to declare the result.
func (p *parser) declares() bool {
	k := p.spec.Result.Kind
	return k != ops.InPlace && k != ops.None
}

func (p *parser) operandVar(i int) variable {
	v := variable{root: -1}
	switch t := p.site.Call.Args[i].Type().(type) {
	case *ir.TensorType:
		v.shape, v.dtype, v.root, v.dims = tensor, t.DType, i, literals(t.Shape)
	case *ir.ArrayType:
		v.shape, v.dtype, v.root = numbers, t.DType, i
		if t.DType == ir.TASK_ID {
			v.shape = tasks
		}
	case *ir.ScalarType:
		v.dtype = t.DType
		if t.DType == ir.TASK_ID {
			v.shape = task
		}
	}
	return v
}

func (p *parser) failf(format string, args ...any) {
	for i, a := range args {
		if l, ok := a.(lexeme); ok && l.slot != nil {
			args[i] = p.nameOf(l.slot)
		}
	}
	why := fmt.Sprintf(format, args...)
	if len(p.in) == 0 {
		panic(fault{fmt.Errorf("the template is empty: %s", why)})
	}
	line := p.in[min(p.at, len(p.in)-1)].line
	panic(fault{fmt.Errorf("line %d of the template, `%.200s`: %s", line, p.lineText(line), why)})
}

// nameOf is a slot as the author of the template wrote it.
func (p *parser) nameOf(t *Token) string {
	switch {
	case t.Kind == Local && t.N >= 0 && t.N < len(p.text.locals):
		return "$" + strings.Trim(p.text.locals[t.N], "_")
	case t.Kind == Element && t.N >= 0:
		return fmt.Sprintf("$%s[%d]", p.paramName(t.N), t.K)
	case t.Kind == Dim && t.N >= 0:
		return fmt.Sprintf("$%s.dim(%d)", p.paramName(t.N), t.K)
	case t.Kind == Operand && t.N >= 0:
		return "$" + p.paramName(t.N)
	}
	return t.String()
}

// lineText is a line as its author wrote it.
func (p *parser) lineText(line int) string {
	var b strings.Builder
	for i := range p.text.lines[line-1] {
		if t := &p.text.lines[line-1][i]; t.Kind == Text {
			b.WriteString(t.Text)
		} else {
			b.WriteString(p.nameOf(t))
		}
	}
	return strings.TrimSpace(b.String())
}

func (p *parser) peek() lexeme {
	if p.at < len(p.in) {
		return p.in[p.at]
	}
	return lexeme{}
}

func (p *parser) next() lexeme {
	l := p.peek()
	p.at++
	return l
}

// got takes a sign or word when it is next.
func (p *parser) got(text string) bool {
	if l := p.peek(); l.slot == nil && l.text == text && text != "" {
		p.at++
		return true
	}
	return false
}

func (p *parser) want(texts ...string) {
	for _, text := range texts {
		if !p.got(text) {
			p.failf("got %v, want %q", p.peek(), text)
		}
	}
}

// statements reads up to the end, which is a brace or the end of the template.
func (p *parser) statements(end string) []plan.Stmt {
	var out []plan.Stmt
	for {
		switch l := p.peek(); {
		case p.at >= len(p.in):
			if end != "" {
				p.failf("a block is not closed: %q is missing", end)
			}
			return out
		case l.text == "}" && l.slot == nil:
			if end == "" {
				p.failf("'}' closes no block")
			}
			p.at++
			return out
		}
		out = append(out, p.statement())
	}
}

// block reads { … }; what it declares ends with it.
func (p *parser) block() []plan.Stmt {
	p.want("{")
	p.scopes = append(p.scopes, nil)
	if len(p.scopes) > maxDepth {
		p.failf("blocks nest too deeply")
	}
	out := p.statements("}")
	for _, n := range p.scopes[len(p.scopes)-1] {
		delete(p.vars, n)
	}
	p.scopes = p.scopes[:len(p.scopes)-1]
	return out
}

// maxDepth bounds nesting: a template is written by hand, and what is read recursively must not exhaust the stack.
const maxDepth = 100

func (p *parser) statement() plan.Stmt {
	l := p.peek()
	if l.slot != nil {
		return p.assignment()
	}
	switch l.text {
	case "if":
		p.at++
		p.want("(")
		s := &plan.If{Cond: p.num().e}
		p.want(")")
		s.Then = p.block()
		if p.got("else") {
			s.Else = p.block()
		}
		return s
	case "for":
		return p.loop()
	case "set_tensor_data":
		return p.write()
	}
	if _, ok := cTypes[l.text]; !ok {
		p.failf("no statement starts with %s", l)
	}
	return p.declaration()
}

// cTypes are the types that a template may name.
var cTypes = map[string]variable{
	"bool": {dtype: ir.BOOL}, "int8_t": {dtype: ir.INT8}, "int16_t": {dtype: ir.INT16}, "int32_t": {dtype: ir.INT32}, "int64_t": {dtype: ir.INT64},
	"uint8_t": {dtype: ir.UINT8}, "uint16_t": {dtype: ir.UINT16}, "uint32_t": {dtype: ir.UINT32}, "uint64_t": {dtype: ir.UINT64},
	"float": {dtype: ir.FP32}, "double": {dtype: ir.FP64}, "half": {dtype: ir.FP16}, "bfloat16_t": {dtype: ir.BF16},
	"Tensor": {shape: tensor, dtype: ir.NoDType}, "TaskId": {shape: task, dtype: ir.TASK_ID},
}

func (p *parser) typ() variable {
	l := p.next()
	t, ok := cTypes[l.text]
	if !ok || l.slot != nil {
		p.failf("%s is no type that a template may name", l)
	}
	t.root = -1
	return t
}

func (v variable) ctype() plan.CType {
	switch v.shape {
	case tensor:
		return plan.CType{Kind: plan.TensorT}
	case task:
		return plan.CType{Kind: plan.TaskT}
	}
	return plan.CType{Kind: plan.Number, DType: v.dtype}
}

// fresh reads the slot of a name that is declared here.
func (p *parser) fresh() *plan.Name {
	l := p.next()
	var n *plan.Name
	switch {
	case l.slot != nil && l.slot.Kind == Local:
		n = p.local(l.slot.N)
	case l.slot != nil && l.slot.Kind == Result:
		n = p.result()
		if len(p.scopes) > 1 {
			p.failf("$result must be declared outside of blocks")
		}
		if !p.declares() {
			p.failf("the result of %s is not declared by it", p.spec.Name)
		}
		p.bound = true
	default:
		p.failf("only $result and locals can be declared, not %s", l)
	}
	if _, dup := p.vars[n]; dup {
		p.failf("%s is declared twice", l)
	}
	return n
}

func (p *parser) local(i int) *plan.Name {
	if i < 0 || i >= len(p.locals) {
		p.failf("it has no local %d", i)
	}
	return p.locals[i]
}

func (p *parser) result() *plan.Name {
	if p.site.Result == nil {
		p.failf("the result of this call is not bound to a name")
	}
	return p.site.Result
}

func (p *parser) declare(n *plan.Name, v variable) {
	p.vars[n] = v
	p.scopes[len(p.scopes)-1] = append(p.scopes[len(p.scopes)-1], n)
}

func (p *parser) declaration() plan.Stmt {
	t := p.typ()
	n := p.fresh()
	isResult := n == p.site.Result
	if p.got("[") {
		return p.array(t, n, isResult)
	}
	p.want("=")
	if isResult && p.spec.Result.Kind == ops.Fresh && t.shape == tensor {
		return p.create(n)
	}
	v := p.expr()
	p.want(";")
	p.same(v, t)
	if t.shape != tensor { // a tensor keeps its dtype
		v.variable = variable{shape: t.shape, dtype: t.dtype, root: v.root}
	} else {
		if _, copied := v.e.(*plan.Ref); copied && isResult {
			// A second handle of the same tensor: what pl.tensor.view of the same layout emits too.
			v.name = nil
		}
	}
	if isResult {
		p.checkResult(v)
	}
	p.declare(n, v.variable)
	return &plan.Decl{Name: n, Type: t.ctype(), Init: v.e}
}

// same checks that a value can be stored in a variable.
func (p *parser) same(v value, t variable) {
	if v.shape != t.shape {
		p.failf("%s is stored where %s is expected", v.shape, t.shape)
	}
}

// checkResult holds the declaration of the result against the spec: what it is, and whose storage it shows.
func (p *parser) checkResult(v value) {
	switch p.spec.Result.Kind {
	case ops.View:
		if v.shape != tensor || v.root != p.spec.Result.Arg {
			p.failf("the result of %s is a view of operand %q by its spec; declare it with a view of that operand", p.spec.Name, p.paramName(p.spec.Result.Arg))
		}
		t, ok := p.site.Call.Typ.(*ir.TensorType)
		if !ok {
			return
		}
		if v.dtype.IsValid() && t.DType.IsValid() && v.dtype != t.DType {
			p.failf("$result has elements of %s by its type, and a view of operand %q those of %s", t.DType, p.paramName(v.root), v.dtype)
		}
		p.sameExtents(v.dims, t)
	case ops.Value:
		d := ir.ElemDType(p.site.Call.Typ)
		if v.shape == tensor || (v.shape == task) != (d == ir.TASK_ID) || v.shape == number && v.dtype.IsFloat() != d.IsFloat() {
			p.failf("$result is declared as another type than that of the result, %s", d)
		}
	case ops.Fresh:
		if _, array := p.site.Call.Typ.(*ir.ArrayType); !array {
			p.failf("a new tensor is declared with Tensor $result = create({…});")
		}
	}
}

func (p *parser) paramName(i int) string {
	if i < len(p.spec.Params) {
		return p.spec.Params[i].Name
	}
	return strconv.Itoa(i)
}

// sameExtents holds the extents that the template gives the result against those of its type, as far as both are known.
func (p *parser) sameExtents(dims []plan.Expr, t *ir.TensorType) {
	if dims == nil || t.DType.Bits() == 4 { // of which two share a byte
		return
	}
	if len(dims) != len(t.Shape) {
		p.failf("$result has %d axes, and its type %d", len(dims), len(t.Shape))
	}
	for i, d := range dims {
		got, known := d.(*plan.Int)
		if want, ok := ir.IntValue(t.Shape[i]); ok && known && got.Value != want {
			p.failf("axis %d of $result has extent %d, and by its type %d", i, got.Value, want)
		}
	}
}

// literals are extents as far as they are known; others are nil.
func literals(shape []ir.Expr) []plan.Expr {
	out := make([]plan.Expr, len(shape))
	for i, e := range shape {
		if n, ok := ir.IntValue(e); ok {
			out[i] = &plan.Int{Value: n, DType: ir.INT64}
		}
	}
	return out
}

// elementType checks the type by which elements of a tensor are accessed.
func (p *parser) elementType(t variable, x value) {
	if want := CType(x.dtype); x.dtype.IsValid() && want != "" && (t.shape != number || CType(t.dtype) != want) {
		p.failf("elements of %s are accessed as %s, not as %s", x.dtype, want, typeText(t))
	}
}

func typeText(t variable) string {
	switch t.shape {
	case tensor:
		return "Tensor"
	case task:
		return "TaskId"
	}
	return CType(t.dtype)
}

// create reads create({e, e}): a new tensor of these extents, whose dtype is that of the result.
func (p *parser) create(n *plan.Name) plan.Stmt {
	p.want("create", "(")
	dims := p.list()
	p.want(")", ";")
	t, ok := p.site.Call.Typ.(*ir.TensorType)
	if !ok || len(dims) != len(t.Shape) {
		p.failf("create needs one extent per axis of the result")
	}
	p.sameExtents(exprs(dims), t)
	p.declare(n, variable{shape: tensor, dtype: t.DType, root: -1, dims: exprs(dims)})
	return &plan.Create{Info: p.site.Local("_ci"), Shapes: p.site.Local("_ci_shapes"), Dims: asUint32s(dims), DType: t.DType}
}

// array reads what follows T $name[.
func (p *parser) array(t variable, n *plan.Name, isResult bool) plan.Stmt {
	if t.shape == tensor {
		p.failf("there are no arrays of tensors")
	}
	v := variable{shape: numbers, dtype: t.dtype, root: -1}
	if t.shape == task {
		v.shape = tasks
	}
	if p.got("]") {
		p.want("=")
		elems := p.list()
		p.want(";")
		for _, e := range elems {
			p.same(e, t)
		}
		typ := t.ctype()
		list := exprs(elems)
		if t.dtype == ir.UINT32 {
			v.shape, typ, list = extents, plan.CType{Kind: plan.Uint32T}, asUint32s(elems)
			v.dims = list
		}
		if isResult {
			p.failf("$result cannot be a list of elements")
		}
		p.declare(n, v)
		return &plan.DeclArray{Name: n, Type: typ, Elems: list}
	}
	count := p.next()
	size, err := strconv.ParseInt(count.text, 0, 64)
	if err != nil || size < 1 || size > maxSlots {
		p.failf("the length of an array is a number between 1 and %d, not %v", maxSlots, count)
	}
	p.want("]")
	s := &plan.DeclSlots{Name: n, Type: t.ctype(), N: size}
	if p.got("=") {
		p.want("fill", "(")
		fill := p.expr()
		p.same(fill, t)
		s.Fill = fill.e
		p.want(")")
	} else if t.shape == task {
		s.Fill = &plan.InvalidTask{}
	}
	p.want(";")
	if isResult {
		if a, ok := p.site.Call.Typ.(*ir.ArrayType); !ok || a.Len != size {
			p.failf("$result is declared as another type than that of the result")
		}
	}
	p.declare(n, v)
	return s
}

const maxSlots = 1 << 20

// list reads {e, e}.
func (p *parser) list() []value {
	p.want("{")
	var out []value
	for !p.got("}") {
		if len(out) > 0 {
			p.want(",")
		}
		out = append(out, p.expr())
	}
	return out
}

func exprs(vs []value) []plan.Expr {
	out := make([]plan.Expr, len(vs))
	for i, v := range vs {
		out[i] = v.e
	}
	return out
}

// asUint32s are extents, offsets or indices: literals and what is one already as they are, anything else converted.
func asUint32s(vs []value) []plan.Expr {
	out := exprs(vs)
	for i, e := range out {
		switch e := e.(type) {
		case *plan.Int:
			if e.Value >= 0 {
				continue
			}
		case *plan.Uint32, *plan.Clamped:
			continue
		}
		out[i] = &plan.Uint32{X: e}
	}
	return out
}

func (p *parser) assignment() plan.Stmt {
	v := p.primary()
	if el, ok := v.e.(*plan.Elem); ok {
		p.want("=")
		x := p.expr()
		p.want(";")
		if (v.shape == task) != (x.shape == task) || x.shape == tensor {
			p.failf("%s is stored where %s is expected", x.shape, v.shape)
		}
		if a, ok := p.vars[el.Array]; ok && a.dims != nil {
			a.dims = nil // not known any more
			p.vars[el.Array] = a
		}
		if root := p.vars[el.Array].root; root >= 0 {
			p.mayWrite(root)
		}
		return &plan.SetElem{Array: el.Array, I: el.I, Value: x.e}
	}
	if v.name == nil || v.shape > task {
		p.failf("this cannot be assigned to")
	}
	if i := p.operandOf(v.name); i >= 0 {
		p.failf("operand %q cannot be assigned to", p.paramName(i))
	}
	p.want("=")
	x := p.expr()
	p.want(";")
	p.same(x, v.variable)
	if v.shape == tensor && x.root != v.root {
		p.failf("a tensor variable cannot go over to another operand's storage")
	}
	return &plan.Assign{Dst: v.name, Value: x.e}
}

func (p *parser) operandOf(n *plan.Name) int {
	return slices.IndexFunc(p.site.Args, func(e plan.Expr) bool { r, ok := e.(*plan.Ref); return ok && r.Name == n })
}

func (p *parser) mayWrite(root int) {
	if e := p.spec.EffectIn(p.site.Call, root); e != ops.Write && e != ops.ReadWrite {
		p.failf("it writes operand %q, which the spec does not say", p.paramName(root))
	}
}

func (p *parser) loop() plan.Stmt {
	p.want("for", "(", "int64_t")
	p.scopes = append(p.scopes, nil)
	n := p.fresh()
	p.want("=")
	s := &plan.For{Var: n, Start: p.num().e}
	p.want(";")
	p.declare(n, variable{dtype: ir.INT64, root: -1})
	same := func() {
		if l := p.next(); l.slot == nil || l.slot.Kind != Local || p.local(l.slot.N) != n {
			p.failf("the head of a loop is about its own variable, not %s", l)
		}
	}
	same()
	if !p.got(">") {
		p.want("<")
	} else {
		s.Down = true
	}
	s.Stop = p.num().e
	p.want(";")
	same()
	p.want("+=")
	s.Step = p.num().e
	step, literal := s.Step.(*plan.Int)
	if !literal || step.Value == 0 || (step.Value < 0) != s.Down {
		p.failf("the step of a loop is a number that leads towards its end")
	}
	p.want(")")
	s.Body = p.block()
	for _, d := range p.scopes[len(p.scopes)-1] {
		delete(p.vars, d)
	}
	p.scopes = p.scopes[:len(p.scopes)-1]
	return s
}

func (p *parser) write() plan.Stmt {
	p.want("set_tensor_data", "<")
	t := p.typ()
	p.want(">", "(")
	x := p.tensorValue()
	p.want(",")
	index := p.list()
	p.want(",")
	v := p.num()
	p.want(")", ";")
	if x.root < 0 {
		p.failf("set_tensor_data writes an operand or a view of one")
	}
	p.mayWrite(x.root)
	p.elementType(t, x)
	w := &plan.Write{Tensor: x.name, DType: t.dtype, Index: asUint32s(index), Value: v.e}
	if len(index) > 0 {
		w.Indices = p.site.Local("indices_")
	}
	return w
}
