package ir

import (
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/ptobuild/ptobuild/internal/diag"
)

// reader takes bytes apart. After the first error everything reads as zero, so callers need not check one by one.
type reader struct {
	data []byte
	pos  int
	line int32
	err  error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = malformed(r.pos, format, args...)
		r.pos = len(r.data)
	}
}

func (r *reader) rest() int { return len(r.data) - r.pos }

func (r *reader) byte() byte {
	if r.rest() == 0 {
		r.fail("it ends too early")
		return 0
	}
	b := r.data[r.pos]
	r.pos++
	return b
}

func (r *reader) bool() bool { return r.enum("flag", 1) == 1 }

// enum reads a byte that is at most max.
func (r *reader) enum(what string, max byte) byte {
	b := r.byte()
	if b > max {
		r.fail("%s %d", what, b)
		return 0
	}
	return b
}

func (r *reader) uint() uint64 {
	n, k := binary.Uvarint(r.data[r.pos:])
	switch {
	case k <= 0:
		r.fail("a number is cut off or too large")
		return 0
	case k > 1 && r.data[r.pos+k-1] == 0:
		r.fail("a number is longer than it needs to be")
		return 0
	}
	r.pos += k
	return n
}

func (r *reader) int() int64 {
	n := r.uint()
	return int64(n>>1) ^ -int64(n&1)
}

func (r *reader) int32(base int64) int32 {
	n := r.int()
	if n > math.MaxUint32 || n < -math.MaxUint32 {
		r.fail("a position out of range")
		return 0
	}
	if n += base; n != int64(int32(n)) {
		r.fail("a position out of range")
		return 0
	}
	return int32(n)
}

func (r *reader) float() float64 {
	if r.rest() < 8 {
		r.fail("it ends too early")
		return 0
	}
	f := math.Float64frombits(binary.LittleEndian.Uint64(r.data[r.pos:]))
	r.pos += 8
	return f
}

// count reads a number of entries that take at least size bytes each.
func (r *reader) count(size int) int {
	n := r.uint()
	if n > uint64(r.rest()/size) {
		r.fail("%d entries do not fit into the rest", n)
		return 0
	}
	return int(n)
}

// length reads the length of a list; -1 is nil. Every entry takes at least one byte.
func (r *reader) length() int {
	n := r.uint()
	if n > uint64(r.rest())+1 {
		r.fail("%d entries do not fit into the rest", n-1)
		return -1
	}
	return int(n) - 1
}

type decoder struct {
	reader
	strings []string
	types   []Type
	vars    []*Var
	ids     []uint64 // with a table: of vars
	next    uint64   // with a table: the sender's next free id
	expand  expansion
	depth   int
}

func (d *decoder) enter() bool {
	d.depth++
	if d.depth > maxWireDepth {
		d.fail("nodes are nested more than %d deep", maxWireDepth)
	}
	return d.err == nil
}

func (d *decoder) leave() { d.depth-- }

// list reads a list whose entries read themselves. It grows with what is really there, not with what the length promises.
func list[T any](d *decoder, read func() T) []T {
	n := d.length()
	if n < 0 {
		return nil
	}
	out := make([]T, 0, min(n, 32))
	for i := 0; i < n && d.err == nil; i++ {
		out = append(out, read())
	}
	return out
}

// header reads everything before the program or functions.
func (d *decoder) header(form byte, t *VarTable) {
	if len(d.data) > maxWireSize {
		d.fail("larger than %d MB", maxWireSize>>20)
		return
	}
	if len(d.data) < len(wireMagic) || string(d.data[:len(wireMagic)]) != wireMagic {
		d.fail("it does not begin with %q", wireMagic)
		return
	}
	d.pos = len(wireMagic)
	if v := d.uint(); d.err == nil && v != wireVersion {
		d.fail("format version %d, this program reads version %d", v, wireVersion)
	}
	if f := d.byte(); d.err == nil && f != form {
		d.fail("form %d instead of %d", f, form)
	}
	n := d.count(1)
	d.strings = make([]string, 0, n)
	for range n {
		d.strings = append(d.strings, d.text())
	}
	n = d.count(4) // a Var takes at least a byte each for hint, flag, type and span
	fresh := make([]Var, n)
	d.vars = make([]*Var, n)
	for i := range fresh {
		d.vars[i] = &fresh[i]
	}
	if t != nil {
		d.shared(t)
	}
	n = d.count(1)
	d.types = make([]Type, 0, n)
	for i := 0; i < n && d.err == nil; i++ {
		d.line = 0
		outer := d.expand.begin()
		t := d.typeContent()
		ext := d.expand.end(outer)
		if ext.depth > maxWireDepth {
			d.fail("types are nested more than %d deep", maxWireDepth)
		}
		d.types, d.expand.types = append(d.types, t), append(d.expand.types, ext)
	}
	d.line = 0
	for i := 0; i < len(fresh) && d.err == nil; i++ {
		v := &fresh[i]
		v.Hint, v.Dyn, v.Typ, v.Pos = d.str(), d.bool(), d.typ(), d.span()
	}
	d.line = 0
	d.unchanged(fresh)
}

// shared reads the ids of the Vars and replaces those that t knows by the Vars of t.
func (d *decoder) shared(t *VarTable) {
	d.next = d.uint()
	d.ids = make([]uint64, len(d.vars))
	seen := make(map[uint64]bool)
	for i := range d.vars {
		id := d.uint()
		if d.err != nil {
			return
		}
		v, known := t.vars[id]
		switch {
		case seen[id]:
			d.fail("two variables have the id %d", id)
		case id >= d.next:
			d.fail("the id %d is not below the next free id %d", id, d.next)
		case known:
			d.vars[i] = v
		case id < t.next:
			d.fail("the id %d was never given to a variable", id)
		}
		seen[id] = true
		d.ids[i] = id
	}
}

// unchanged checks that Vars which the receiver knows came back as they were.
func (d *decoder) unchanged(records []Var) {
	for i := range records {
		v, r := d.vars[i], &records[i]
		if d.err == nil && v != r && (v.Hint != r.Hint || v.Dyn != r.Dyn || !EqualTypes(v.Typ, r.Typ)) {
			d.fail("the variable %q (id %d) came back changed: a new type or name needs a new variable", v.Hint, d.ids[i])
		}
	}
}

// commit adds the new Vars to the table.
func (d *decoder) commit(t *VarTable) {
	for i, v := range d.vars {
		t.put(v, d.ids[i])
	}
	t.next = max(t.next, d.next)
}

func (d *decoder) finish() error {
	if d.err == nil && d.rest() > 0 {
		d.fail("%d bytes too many", d.rest())
	}
	return d.err
}

// text reads an entry of the string table.
func (d *decoder) text() string {
	n := d.count(1)
	b := d.data[d.pos : d.pos+n]
	if !utf8.Valid(b) {
		d.fail("a text is not UTF-8")
		return ""
	}
	d.pos += n
	return string(b)
}

func (d *decoder) stringAt(n uint64) string {
	if n >= uint64(len(d.strings)) {
		d.fail("there is no text %d", n)
		return ""
	}
	return d.strings[n]
}

func (d *decoder) str() string    { return d.stringAt(d.uint()) }
func (d *decoder) strs() []string { return list(d, d.str) }

func (d *decoder) span() diag.Span {
	n := d.uint()
	if n == 0 || d.err != nil {
		return diag.Span{}
	}
	var s diag.Span
	s.File = d.stringAt(n - 1)
	s.Line = d.int32(int64(d.line))
	s.Col = d.int32(0)
	s.EndLine = d.int32(int64(s.Line))
	s.EndCol = d.int32(int64(s.Col))
	d.line = s.Line
	if s == (diag.Span{}) {
		d.fail("an empty place is written out")
	}
	return s
}

func (d *decoder) dtype() DType {
	t := DType(d.byte())
	if !t.IsValid() && t != NoDType {
		d.fail("there is no dtype %d", byte(t))
	}
	return t
}

// variable reads a reference that may be none.
func (d *decoder) variable() *Var {
	n := d.uint()
	if n == 0 || d.err != nil {
		return nil
	}
	if n > uint64(len(d.vars)) {
		d.fail("there is no variable %d", n-1)
		return nil
	}
	return d.vars[n-1]
}

// definition reads a reference that has to be one.
func (d *decoder) definition() *Var {
	v := d.variable()
	if v == nil {
		d.fail("a variable is missing")
	}
	return v
}

// typ reads a reference to an earlier type, nil for none.
func (d *decoder) typ() Type {
	n := d.uint()
	if n == 0 || d.err != nil {
		return nil
	}
	if n > uint64(len(d.types)) {
		d.fail("there is no type %d yet", n-1)
		return nil
	}
	d.expand.refer(int(n - 1))
	if !d.expand.fits(len(d.data)) {
		d.fail("types hold types that hold types … without end")
		return nil
	}
	return d.types[n-1]
}

func (d *decoder) typeContent() Type {
	switch tag := d.byte(); tag {
	case wireScalar:
		return Scalar(d.dtype())
	case wireTensor:
		t := &TensorType{DType: d.dtype(), Distributed: d.bool(), Shape: d.exprs()}
		if d.bool() {
			t.View = &TensorView{ValidShape: d.exprs(), Stride: d.exprs(), Layout: d.str(), Pad: d.str()}
		}
		t.MemRef = d.memRef()
		return t
	case wireTile:
		t := &TileType{DType: d.dtype(), Shape: d.exprs(), Mem: Mem(d.str())}
		if d.bool() {
			t.View = &TileView{ValidShape: d.exprs(), Stride: d.exprs(), StartOffset: d.optional(), BLayout: d.str(), SLayout: d.str(),
				Fractal: d.int(), Pad: d.str(), Compact: d.str()}
		}
		t.MemRef = d.memRef()
		return t
	case wireArray:
		return &ArrayType{DType: d.dtype(), Len: d.int()}
	case wireTuple:
		return &TupleType{Elems: list(d, d.typ)}
	case wireUnknown:
		return Unknown
	case wireOpaque:
		return &OpaqueType{Name: d.str()}
	default:
		d.fail("there is no kind %d of types", tag)
		return Unknown
	}
}

func (d *decoder) memRef() *MemRef {
	if !d.bool() {
		return nil
	}
	return &MemRef{Name: d.str(), Base: d.variable(), ByteOffset: d.optional(), Size: d.int(), Slots: d.int(), Slot: d.optional()}
}

func (d *decoder) exprs() []Expr { return list(d, d.expr) }

// expr reads an expression that has to be there.
func (d *decoder) expr() Expr {
	x := d.optional()
	if x == nil {
		d.fail("an expression is missing")
	}
	return x
}

// optional reads an expression, nil for none.
func (d *decoder) optional() Expr {
	if !d.enter() {
		return nil
	}
	defer d.leave()
	d.expand.now.nodes++
	switch tag := d.byte(); tag {
	case wireNil:
		return nil
	case wireVar:
		if v := d.definition(); v != nil {
			return v
		}
		return nil
	case wireInt:
		return &ConstInt{Value: d.int(), DType: d.dtype(), Pos: d.span()}
	case wireFloat:
		return &ConstFloat{Value: d.float(), DType: d.dtype(), Pos: d.span()}
	case wireBool:
		return &ConstBool{Value: d.bool(), Pos: d.span()}
	case wireBinary:
		return &Binary{Op: BinOp(d.enum("operator", byte(Shr))), DType: d.dtype(), X: d.expr(), Y: d.expr(), Pos: d.span()}
	case wireUnary:
		return &Unary{Op: UnOp(d.enum("operator", byte(Abs))), DType: d.dtype(), X: d.expr(), Pos: d.span()}
	case wireCast:
		return &Cast{DType: d.dtype(), X: d.expr(), Pos: d.span()}
	case wireMakeTuple:
		return &MakeTuple{Elems: d.exprs(), Pos: d.span()}
	case wireTupleGet:
		return &TupleGet{Index: d.index(), X: d.expr(), Pos: d.span()}
	case wireOpCall:
		return &OpCall{Op: d.str(), Args: d.exprs(), Kwargs: list(d, d.kwarg), Deps: d.exprs(), Typ: d.typ(), Attrs: d.attrs(), Pos: d.span()}
	case wireCall:
		return &Call{Callee: d.str(), Args: d.exprs(), Submit: d.bool(), Launch: d.launch(), NoDep: list(d, d.index), Dirs: list(d, d.direction),
			CompilerDeps: d.variables(), Device: d.optional(), Typ: d.typ(), Attrs: d.attrs(), Pos: d.span()}
	default:
		d.fail("there is no kind %d of expressions", tag)
		return nil
	}
}

func (d *decoder) index() int {
	n := d.int()
	if n < math.MinInt32 || n > math.MaxInt32 {
		d.fail("the index %d", n)
		return 0
	}
	return int(n)
}

func (d *decoder) direction() ArgDir { return ArgDir(d.enum("argument direction", byte(DirScalar))) }
func (d *decoder) variables() []*Var { return list(d, d.definition) }
func (d *decoder) kwarg() Kwarg      { return Kwarg{Name: d.str(), Value: d.value()} }
func (d *decoder) attrs() Attrs {
	return list(d, func() Attr { return Attr{Key: d.str(), Value: d.value()} })
}

func (d *decoder) launch() Launch {
	flags := d.enum("launch option", 127)
	has := func(i int) bool { return flags&(1<<i) != 0 && d.err == nil }
	l := Launch{SyncStart: has(2), EarlyResolve: has(3)}
	if has(0) {
		l.Deps = d.present(d.exprs())
	}
	if has(1) {
		l.CoreNum = d.expr()
	}
	if has(4) {
		l.Predicate = d.expr()
	}
	if has(5) {
		slot := d.int()
		l.TimingSlot = &slot
	}
	if has(6) {
		l.Dumps = d.present(d.exprs())
	}
	return l
}

// present rejects a list that is announced and then absent.
func (d *decoder) present(es []Expr) []Expr {
	if es == nil {
		d.fail("a list is announced but absent")
	}
	return es
}

func (d *decoder) value() any {
	switch tag := d.byte(); tag {
	case wireAttrInt:
		return d.int()
	case wireAttrBool:
		return d.bool()
	case wireAttrString:
		return d.str()
	case wireAttrFloat:
		return d.float()
	case wireAttrDType:
		return d.dtype()
	case wireAttrEnum:
		return Enum{Kind: d.str(), Name: d.str()}
	case wireAttrExpr:
		return d.expr()
	case wireAttrExprs:
		return d.exprs()
	case wireAttrInts:
		return list(d, d.int)
	case wireAttrStrings:
		return d.strs()
	default:
		d.fail("there is no kind %d of attribute values", tag)
		return nil
	}
}

func (d *decoder) block() Block { return list(d, d.stmt) }

func (d *decoder) stmt() Stmt {
	if !d.enter() {
		return nil
	}
	defer d.leave()
	switch tag := d.byte(); tag {
	case wireAssign:
		return &Assign{Value: d.expr(), Var: d.definition(), Comments: d.strs(), Pos: d.span()}
	case wireEval:
		return &Eval{X: d.expr(), Comments: d.strs(), Pos: d.span()}
	case wireIf:
		return &If{Pos: d.span(), Comments: d.strs(), Cond: d.expr(), Then: d.block(), Else: d.block(), Results: d.variables()}
	case wireFor:
		return &For{Pos: d.span(), Comments: d.strs(), Var: d.definition(), Start: d.expr(), Stop: d.expr(), Step: d.expr(),
			Kind: ForKind(d.enum("kind of loops", byte(Pipeline))), Stages: d.int(), Carries: d.carries(), Attrs: d.attrs(), Body: d.block()}
	case wireWhile:
		return &While{Pos: d.span(), Comments: d.strs(), Carries: d.carries(), Cond: d.expr(), Body: d.block()}
	case wireYield:
		return &Yield{Values: d.exprs(), Pos: d.span()}
	case wireReturn:
		return &Return{Values: d.exprs(), Comments: d.strs(), Pos: d.span()}
	case wireBranch:
		return &Branch{Continue: d.bool(), Pos: d.span()}
	case wireScope:
		return &Scope{Pos: d.span(), Comments: d.strs(), Kind: ScopeKind(d.enum("kind of scopes", byte(CommDomainScope))), NameHint: d.str(),
			Manual: d.bool(), Owner: ScopeOwner(d.enum("scope owner", byte(CompilerScope))), Level: d.str(), Role: d.str(), Split: d.split(),
			TaskID: d.variable(), Launch: d.launch(), NoDep: d.exprs(), Attrs: d.attrs(), Body: d.block()}
	case wireVerbatim:
		return &Verbatim{Text: d.str(), Pos: d.span()}
	default:
		d.fail("there is no kind %d of statements", tag)
		return nil
	}
}

func (d *decoder) split() SplitMode { return SplitMode(d.enum("split mode", byte(SplitLeftRight))) }

func (d *decoder) carries() []Carry {
	return list(d, func() Carry {
		return Carry{Iter: d.definition(), Init: d.expr(), Result: d.definition(), Class: CarryClass(d.enum("carry class", byte(CarryRebind))), Slots: d.int()}
	})
}

func (d *decoder) functions() []*Function { return list(d, d.function) }

func (d *decoder) function() *Function {
	f := &Function{Pos: d.span(), Name: d.str(), Type: FuncType(d.enum("type of functions", byte(Graph)))}
	f.Params = list(d, func() Param {
		return Param{Var: d.definition(), Dir: ParamDir(d.enum("parameter direction", byte(InOut)))}
	})
	f.Returns = list(d, d.typ)
	f.Level, f.Role, f.AutoScope = d.str(), d.str(), d.bool()
	if d.bool() {
		f.External = &External{Source: d.str(), IncludeDirs: d.strs()}
	}
	f.Split, f.DualAIV = d.split(), d.bool()
	f.Attrs, f.Comments, f.Body = d.attrs(), d.strs(), d.block()
	return f
}
