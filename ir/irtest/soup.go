package irtest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// AnyProgram returns a program that uses every kind of node, type, field and attribute value without regard to meaning: required parts are there, but
// types do not fit and Vars may be undefined. It is for what has to work on all trees: encoding, comparing, hashing, printing, rewriting.
func AnyProgram(seed uint64) *ir.Program {
	s := &soup{r: rand.New(rand.NewPCG(seed, 77))}
	for i := range 5 {
		s.vars = append(s.vars, &ir.Var{Hint: fmt.Sprintf("d%d", i), Typ: ir.IndexType, Dyn: i < 2})
	}
	p := &ir.Program{Name: []string{"", "Any"}[s.r.IntN(2)], Pos: s.pos()}
	for i := range 1 + s.r.IntN(3) {
		p.Funcs = append(p.Funcs, s.function(fmt.Sprintf("f%d", i)))
	}
	return p
}

type soup struct {
	r    *rand.Rand
	vars []*ir.Var
	line int32
}

func (s *soup) maybe(percent int) bool { return s.r.IntN(100) < percent }

func (s *soup) word() string {
	words := []string{"", "x", "acc__iter_v3", "tid", "ret__tmp_v0", "M", "for", "with space", "größe", "a\"b'c\\d\n", "x_1", "self", "UP_DOWN"}
	return words[s.r.IntN(len(words))]
}

func (s *soup) words() []string {
	if s.maybe(60) {
		return nil
	}
	return []string{s.word(), "two\nlines"}[:s.r.IntN(3)]
}

func (s *soup) pos() diag.Span {
	if s.maybe(25) {
		return diag.Span{}
	}
	s.line += int32(s.r.IntN(3))
	return diag.Span{File: []string{"a.py", "dir/b.py", ""}[s.r.IntN(3)], Line: s.line, Col: int32(s.r.IntN(80)), EndLine: s.line + int32(s.r.IntN(2)), EndCol: int32(s.r.IntN(90))}
}

func (s *soup) newVar() *ir.Var {
	v := &ir.Var{Hint: s.word(), Typ: s.typ(2), Pos: s.pos()}
	s.vars = append(s.vars, v)
	return v
}

func (s *soup) variable() *ir.Var {
	if s.maybe(20) {
		return s.newVar()
	}
	return s.vars[s.r.IntN(len(s.vars))]
}

func (s *soup) variables(n int) []*ir.Var {
	var vs []*ir.Var
	for range s.r.IntN(n + 1) {
		vs = append(vs, s.newVar())
	}
	return vs
}

func (s *soup) dtype() ir.DType {
	all := ir.DTypeNames()
	d, _ := ir.DTypeNamed(all[s.r.IntN(len(all))])
	return d
}

func (s *soup) int() int64 {
	return []int64{0, 1, -1, 16, 127, -128, 1 << 40, math.MaxInt64, math.MinInt64}[s.r.IntN(9)]
}

func (s *soup) float() float64 {
	return []float64{0, math.Copysign(0, -1), 1.5, -2, 1e-9, 1e300, 0.1, 1e16, math.Inf(1), math.Inf(-1), math.NaN()}[s.r.IntN(11)]
}

func (s *soup) typ(depth int) ir.Type {
	switch k := s.r.IntN(12); {
	case k < 3 || depth == 0:
		return ir.Scalar(s.dtype())
	case k < 6:
		t := &ir.TensorType{Shape: s.exprs(3, 1), DType: s.dtype(), Distributed: s.maybe(20), MemRef: s.memRef()}
		if s.maybe(40) {
			t.View = &ir.TensorView{ValidShape: s.exprs(2, 1), Stride: s.exprs(2, 1), Layout: []string{"", "ND", "DN"}[s.r.IntN(3)], Pad: []string{"", "null", "zero"}[s.r.IntN(3)]}
		}
		return t
	case k < 8:
		t := &ir.TileType{Shape: s.exprs(2, 1), DType: s.dtype(), Mem: []ir.Mem{ir.MemUnset, ir.Vec, ir.Acc, ir.Right}[s.r.IntN(4)], MemRef: s.memRef()}
		if s.maybe(40) {
			t.View = &ir.TileView{ValidShape: s.exprs(2, 1), Stride: s.exprs(2, 1), BLayout: []string{"", "col_major"}[s.r.IntN(2)],
				SLayout: []string{"", "none_box"}[s.r.IntN(2)], Fractal: []int64{0, 512, 1024}[s.r.IntN(3)], Pad: []string{"", "max"}[s.r.IntN(2)], Compact: []string{"", "normal"}[s.r.IntN(2)]}
			if s.maybe(30) {
				t.View.StartOffset = s.expr(1)
			}
		}
		return t
	case k < 9:
		return &ir.ArrayType{Len: s.int(), DType: s.dtype()}
	case k < 10:
		t := &ir.TupleType{}
		for range s.r.IntN(3) {
			t.Elems = append(t.Elems, s.typ(depth-1))
		}
		return t
	case k < 11:
		return &ir.OpaqueType{Name: []string{"Ptr", "CommCtxType", "pld.Other"}[s.r.IntN(3)]}
	}
	return ir.Unknown
}

func (s *soup) memRef() *ir.MemRef {
	switch s.r.IntN(6) {
	case 0:
		return &ir.MemRef{Name: "buf", Slots: int64(s.r.IntN(3)), Slot: s.optional(1)}
	case 1:
		return &ir.MemRef{Base: s.variable(), ByteOffset: s.expr(1), Size: 4096, Slots: int64(s.r.IntN(3)), Slot: s.optional(1)}
	}
	return nil
}

func (s *soup) exprs(n, depth int) []ir.Expr {
	switch s.r.IntN(8) {
	case 0:
		return nil
	case 1:
		return []ir.Expr{}
	}
	es := make([]ir.Expr, 0, n)
	for range 1 + s.r.IntN(n) {
		es = append(es, s.expr(depth))
	}
	return es
}

func (s *soup) optional(depth int) ir.Expr {
	if s.maybe(50) {
		return nil
	}
	return s.expr(depth)
}

func (s *soup) expr(depth int) ir.Expr {
	k := s.r.IntN(14)
	if depth == 0 {
		k = s.r.IntN(6)
	}
	switch {
	case k < 3:
		return s.variable()
	case k < 4:
		return &ir.ConstInt{Value: s.int(), DType: []ir.DType{ir.INDEX, ir.INT32}[s.r.IntN(2)], Pos: s.pos()}
	case k < 5:
		return &ir.ConstFloat{Value: s.float(), DType: []ir.DType{ir.FP32, ir.BF16}[s.r.IntN(2)], Pos: s.pos()}
	case k < 6:
		return &ir.ConstBool{Value: s.maybe(50), Pos: s.pos()}
	case k < 8:
		return &ir.Binary{Op: ir.BinOp(s.r.IntN(int(ir.Shr) + 1)), X: s.expr(depth - 1), Y: s.expr(depth - 1), DType: s.dtype(), Pos: s.pos()}
	case k < 9:
		return &ir.Unary{Op: ir.UnOp(s.r.IntN(int(ir.Abs) + 1)), X: s.expr(depth - 1), DType: s.dtype(), Pos: s.pos()}
	case k < 10:
		return &ir.Cast{X: s.expr(depth - 1), DType: s.dtype(), Pos: s.pos()}
	case k < 11:
		return &ir.MakeTuple{Elems: s.exprs(3, depth-1), Pos: s.pos()}
	case k < 12:
		return &ir.TupleGet{X: s.expr(depth - 1), Index: s.r.IntN(4), Pos: s.pos()}
	case k < 13:
		ops := []string{"tensor.create", "tile.and", "pld.tensor.put", "acme.rope", "system.task_dummy", "tensor.full", "tile.cast", "tile.alloc", "tensor.reinterpret_view"}
		c := &ir.OpCall{Op: ops[s.r.IntN(len(ops))], Args: s.exprs(3, depth-1), Deps: s.exprs(2, 0), Typ: s.typ(1), Attrs: s.attrs(), Pos: s.pos()}
		for range s.r.IntN(3) {
			c.Kwargs = append(c.Kwargs, ir.Kwarg{Name: []string{"dtype", "mode", "memory_space"}[s.r.IntN(3)], Value: s.value()})
		}
		return c
	}
	c := &ir.Call{Callee: "f0", Args: s.exprs(3, depth-1), Submit: s.maybe(50), Launch: s.launch(), Typ: s.typ(2), Device: s.optional(0), Attrs: s.attrs(), Pos: s.pos()}
	if s.maybe(30) {
		c.NoDep = []int{0, 2}[:s.r.IntN(3)]
	}
	if s.maybe(50) {
		c.Dirs = []ir.ArgDir{ir.DirInput, ir.DirOutput, ir.DirInOut, ir.DirOutputExisting, ir.DirNoDep, ir.DirScalar}[:s.r.IntN(7)]
	}
	if s.maybe(20) {
		c.CompilerDeps = []*ir.Var{s.variable(), s.variable()}
	}
	return c
}

func (s *soup) launch() ir.Launch {
	if s.maybe(40) {
		return ir.Launch{}
	}
	l := ir.Launch{Deps: s.exprs(2, 0), CoreNum: s.optional(1), SyncStart: s.maybe(30), EarlyResolve: s.maybe(30), Predicate: s.optional(2), Dumps: s.exprs(2, 0)}
	if s.maybe(30) {
		n := int64(s.r.IntN(16))
		l.TimingSlot = &n
	}
	return l
}

func (s *soup) attrs() ir.Attrs {
	if s.maybe(60) {
		return nil
	}
	as := ir.Attrs{}
	for range s.r.IntN(4) {
		as = append(as, ir.Attr{Key: []string{"windowize", "slot_num", "acme.key", "with \"quote"}[s.r.IntN(4)], Value: s.value()})
	}
	return as
}

func (s *soup) value() any {
	switch s.r.IntN(12) {
	case 0:
		return s.int()
	case 1:
		return s.maybe(50)
	case 2:
		return s.word()
	case 3:
		return s.float()
	case 4:
		return s.dtype()
	case 5:
		return ir.Enum{Kind: "Mem", Name: "Vec"}
	case 6:
		return ir.Enum{Kind: "pld.Op", Name: "Sum"}
	case 7:
		return s.exprs(2, 1)
	case 8:
		return []int64{1, s.int()}[:s.r.IntN(3)]
	case 9:
		return []string{s.word(), "b"}[:s.r.IntN(3)]
	}
	return s.expr(1)
}

func (s *soup) block(depth int) ir.Block {
	b := ir.Block{}
	for range s.r.IntN(4) {
		b = append(b, s.stmt(depth))
	}
	return b
}

func (s *soup) carries() []ir.Carry {
	var cs []ir.Carry
	for range s.r.IntN(3) {
		cs = append(cs, ir.Carry{Iter: s.newVar(), Init: s.expr(1), Result: s.newVar(), Class: ir.CarryClass(s.r.IntN(3)), Slots: int64(s.r.IntN(3))})
	}
	return cs
}

// body is a block that ends in a yield of n values.
func (s *soup) body(depth, n int) ir.Block {
	b := s.block(depth)
	if n == 0 {
		return b
	}
	y := &ir.Yield{Pos: s.pos()}
	for range n {
		y.Values = append(y.Values, s.expr(1))
	}
	if s.maybe(30) {
		return append(b, &ir.Scope{Kind: ir.RuntimeScope, Manual: s.maybe(50), Body: ir.Block{y}})
	}
	return append(b, y)
}

func (s *soup) stmt(depth int) ir.Stmt {
	k := s.r.IntN(16)
	if depth == 0 {
		k = s.r.IntN(7)
	}
	switch {
	case k < 4:
		return &ir.Assign{Var: s.variable(), Value: s.expr(3), Comments: s.words(), Pos: s.pos()}
	case k < 5:
		return &ir.Eval{X: s.expr(2), Comments: s.words(), Pos: s.pos()}
	case k < 6:
		return &ir.Return{Values: s.exprs(2, 1), Comments: s.words(), Pos: s.pos()}
	case k < 7:
		if s.maybe(50) {
			return &ir.Verbatim{Text: "a = 1\n\nif a:\n    b()\n", Pos: s.pos()}
		}
		return &ir.Branch{Continue: s.maybe(50), Pos: s.pos()}
	case k < 9:
		st := &ir.If{Cond: s.expr(2), Comments: s.words(), Pos: s.pos(), Results: s.variables(2)}
		st.Then = s.body(depth-1, len(st.Results))
		if s.maybe(60) || len(st.Results) > 0 {
			st.Else = s.body(depth-1, len(st.Results))
		}
		return st
	case k < 11:
		st := &ir.For{Var: s.newVar(), Start: s.expr(1), Stop: s.expr(1), Step: s.expr(1), Kind: ir.ForKind(s.r.IntN(4)), Stages: int64(s.r.IntN(3)),
			Carries: s.carries(), Attrs: s.attrs(), Comments: s.words(), Pos: s.pos()}
		st.Body = s.body(depth-1, len(st.Carries))
		return st
	case k < 12:
		st := &ir.While{Carries: s.carries(), Cond: s.expr(2), Comments: s.words(), Pos: s.pos()}
		st.Body = s.body(depth-1, len(st.Carries))
		return st
	}
	st := &ir.Scope{Kind: ir.ScopeKind(s.r.IntN(int(ir.CommDomainScope) + 1)), NameHint: []string{"", "stage"}[s.r.IntN(2)], Manual: s.maybe(50),
		Owner: ir.ScopeOwner(s.r.IntN(2)), Level: []string{"", "HOST"}[s.r.IntN(2)], Role: []string{"", "SubWorker"}[s.r.IntN(2)], Split: ir.SplitMode(s.r.IntN(3)),
		Launch: s.launch(), NoDep: s.exprs(2, 0), Attrs: s.attrs(), Comments: s.words(), Pos: s.pos(), Body: s.block(depth - 1)}
	if s.maybe(40) {
		st.TaskID = s.newVar()
	}
	if st.Kind == ir.HierarchyScope {
		st.Level = "HOST"
	}
	if st.Kind == ir.SpmdScope {
		st.Launch.CoreNum = s.expr(1)
	}
	return st
}

func (s *soup) function(name string) *ir.Function {
	f := &ir.Function{Name: name, Type: ir.FuncType(s.r.IntN(int(ir.Graph) + 1)), Level: []string{"", "CHIP"}[s.r.IntN(2)], Role: []string{"", "Orchestrator"}[s.r.IntN(2)],
		AutoScope: s.maybe(50), Split: ir.SplitMode(s.r.IntN(3)), DualAIV: s.maybe(30), Attrs: s.attrs(), Comments: s.words(), Pos: s.pos()}
	for range s.r.IntN(4) {
		f.Params = append(f.Params, ir.Param{Var: s.newVar(), Dir: ir.ParamDir(s.r.IntN(3))})
	}
	for range s.r.IntN(3) {
		f.Returns = append(f.Returns, s.typ(2))
	}
	if s.maybe(20) {
		f.External = &ir.External{Source: "kernels/k.cpp", IncludeDirs: s.words()}
	} else {
		f.Body = s.block(3)
	}
	return f
}
