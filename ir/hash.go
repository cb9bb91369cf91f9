package ir

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math"
	"strings"
)

// Structural digests. They see what Equal sees, plus names that reach the generated C++: equal functions whose parameters and dynamic symbols are
// named alike have equal hashes, and different ones practically never. Spans, comments and everything else that Equal ignores do not count.

// Hash digests a function. Names of local variables do not count.
func Hash(f *Function) [32]byte {
	h := newHasher(false)
	h.function(f)
	return h.sum()
}

// HashWithNames digests a function with the names of its local variables: what a stage depends on that derives names from them.
func HashWithNames(f *Function) [32]byte {
	h := newHasher(true)
	h.function(f)
	return h.sum()
}

// HashProgram digests a program, whatever the order of its functions. Names of local variables do not count.
func HashProgram(p *Program) [32]byte { return hashProgram(p, false) }

// HashProgramWithNames digests a program with the names of local variables.
func HashProgramWithNames(p *Program) [32]byte { return hashProgram(p, true) }

func hashProgram(p *Program, names bool) [32]byte {
	h := newHasher(names)
	h.str(programName(p))
	h.num(len(p.Funcs))
	for _, f := range byName(p.Funcs) {
		h.function(f)
	}
	return h.sum()
}

// hasher feeds an unambiguous encoding to SHA-256: every node starts with a tag, every list with its length.
type hasher struct {
	h     hash.Hash
	buf   []byte
	vars  map[*Var]int // in the order met
	todo  []*Var       // whose types are still to come: types hold Vars, so recursion would go as deep as Vars lead to Vars
	named bool
}

// Tags keep node kinds apart; the numbers only have to differ.
const (
	tagNil = iota
	tagVar
	tagInt
	tagFloat
	tagBool
	tagBinary
	tagUnary
	tagCast
	tagTuple
	tagGet
	tagOp
	tagCall
	tagScalar
	tagTensor
	tagTile
	tagArray
	tagTupleType
	tagOpaque
	tagAssign
	tagEval
	tagIf
	tagFor
	tagWhile
	tagYield
	tagReturn
	tagBranch
	tagScope
	tagVerbatim
	tagString
	tagDType
	tagEnum
	tagList
	tagInts
	tagStrings
	tagExpr
	tagBad
)

func newHasher(names bool) *hasher {
	return &hasher{h: sha256.New(), buf: make([]byte, 0, 4096), vars: make(map[*Var]int), named: names}
}

func (h *hasher) sum() (out [32]byte) {
	h.h.Write(h.buf)
	h.h.Sum(out[:0])
	return out
}

func (h *hasher) num(n int) { h.int64(int64(n)) }

func (h *hasher) int64(n int64) {
	if len(h.buf) > 4000 {
		h.h.Write(h.buf)
		h.buf = h.buf[:0]
	}
	h.buf = binary.AppendVarint(h.buf, n)
}

func (h *hasher) bool(b bool) {
	if b {
		h.num(1)
	} else {
		h.num(0)
	}
}

func (h *hasher) str(s string) {
	h.num(len(s))
	if len(s) > 64 {
		h.h.Write(h.buf)
		h.buf = h.buf[:0]
		h.h.Write([]byte(s))
		return
	}
	h.buf = append(h.buf, s...)
}

func (h *hasher) strs(ss []string) {
	h.num(len(ss))
	for _, s := range ss {
		h.str(s)
	}
}

func (h *hasher) function(f *Function) {
	h.str(f.Name)
	h.num(int(f.Type))
	h.num(len(f.Params))
	for _, p := range f.Params {
		h.num(int(p.Dir))
		h.variable(p.Var)
		if p.Var != nil {
			h.str(p.Var.Hint)
		}
	}
	h.num(len(f.Returns))
	for _, t := range f.Returns {
		h.typ(t)
	}
	h.str(f.Level)
	h.str(f.Role)
	h.num(int(f.Split))
	h.bool(f.DualAIV)
	h.bool(f.AutoScope || !hasAutoScope(f))
	h.bool(f.External != nil)
	if f.External != nil {
		h.str(f.External.Source)
		h.strs(f.External.IncludeDirs)
	}
	h.attrs(f.Attrs)
	h.block(f.Body)
	h.types()
}

func (h *hasher) variable(v *Var) {
	if v == nil {
		h.num(tagNil)
		return
	}
	h.num(tagVar)
	if n, ok := h.vars[v]; ok {
		h.num(n)
		return
	}
	n := len(h.vars)
	h.vars[v] = n
	h.num(n)
	h.bool(v.Dyn)
	if v.Dyn || h.named {
		h.str(v.Hint)
	}
	h.todo = append(h.todo, v)
}

// types writes the types of the Vars met since the last time.
func (h *hasher) types() {
	for i := 0; i < len(h.todo); i++ {
		h.typ(h.todo[i].Typ)
	}
	h.todo = h.todo[:0]
}

func (h *hasher) variables(vs []*Var) {
	h.num(len(vs))
	for _, v := range vs {
		h.variable(v)
	}
}

func (h *hasher) block(b Block) {
	h.num(len(b))
	for _, s := range b {
		h.stmt(s)
	}
}

func (h *hasher) stmt(s Stmt) {
	switch s := s.(type) {
	case *Assign:
		h.num(tagAssign)
		h.expr(s.Value)
		h.variable(s.Var)
	case *Eval:
		h.num(tagEval)
		h.expr(s.X)
	case *If:
		h.num(tagIf)
		h.expr(s.Cond)
		h.block(s.Then)
		h.block(s.Else)
		h.variables(s.Results)
	case *For:
		h.num(tagFor)
		h.expr(s.Start)
		h.expr(s.Stop)
		h.expr(s.Step)
		h.num(int(s.Kind))
		h.int64(s.Stages)
		h.inits(s.Carries)
		h.variable(s.Var)
		h.iters(s.Carries)
		h.block(s.Body)
		h.variables(carryResults(s.Carries))
		h.attrs(s.Attrs)
	case *While:
		h.num(tagWhile)
		h.inits(s.Carries)
		h.iters(s.Carries)
		h.expr(s.Cond)
		h.block(s.Body)
		h.variables(carryResults(s.Carries))
	case *Yield:
		h.num(tagYield)
		h.exprs(s.Values)
	case *Return:
		h.num(tagReturn)
		h.exprs(s.Values)
	case *Branch:
		h.num(tagBranch)
		h.bool(s.Continue)
	case *Scope:
		h.num(tagScope)
		h.num(int(s.Kind))
		h.str(s.NameHint)
		h.bool(s.Manual)
		h.str(s.Level)
		h.str(s.Role)
		h.num(int(s.Split))
		h.launch(&s.Launch)
		h.exprs(s.NoDep)
		h.attrs(s.Attrs)
		h.variable(s.TaskID)
		h.block(s.Body)
	case *Verbatim:
		h.num(tagVerbatim)
		h.str(strings.TrimSuffix(s.Text, "\n"))
	default:
		h.num(tagNil)
	}
}

func (h *hasher) inits(cs []Carry) {
	h.num(len(cs))
	for _, c := range cs {
		h.expr(c.Init)
	}
}

func (h *hasher) iters(cs []Carry) {
	for _, c := range cs {
		h.variable(c.Iter)
		h.num(int(c.Class))
		h.int64(c.Slots)
	}
}

func (h *hasher) launch(l *Launch) {
	h.exprs(l.Deps)
	h.expr(l.CoreNum)
	h.bool(l.SyncStart)
	h.bool(l.EarlyResolve)
	h.expr(l.Predicate)
	h.int64(timingSlot(l))
	h.exprs(l.Dumps)
}

func (h *hasher) exprs(es []Expr) {
	h.num(len(es))
	for _, e := range es {
		h.expr(e)
	}
}

func (h *hasher) expr(e Expr) {
	switch e := e.(type) {
	case *Var:
		h.variable(e)
	case *ConstInt:
		h.num(tagInt)
		h.num(int(e.DType))
		h.int64(e.Value)
	case *ConstFloat:
		h.num(tagFloat)
		h.num(int(e.DType))
		h.int64(int64(math.Float64bits(e.Value)))
	case *ConstBool:
		h.num(tagBool)
		h.bool(e.Value)
	case *Binary:
		h.num(tagBinary)
		h.num(int(e.Op))
		h.num(int(e.DType))
		h.expr(e.X)
		h.expr(e.Y)
	case *Unary:
		h.num(tagUnary)
		h.num(int(e.Op))
		h.num(int(e.DType))
		h.expr(e.X)
	case *Cast:
		h.num(tagCast)
		h.num(int(e.DType))
		h.expr(e.X)
	case *MakeTuple:
		h.num(tagTuple)
		h.exprs(e.Elems)
	case *TupleGet:
		h.num(tagGet)
		h.num(e.Index)
		h.expr(e.X)
	case *OpCall:
		h.num(tagOp)
		h.str(e.Op)
		h.exprs(e.Args)
		h.num(len(e.Kwargs))
		for _, k := range e.Kwargs {
			h.str(k.Name)
			h.value(k.Value)
		}
		h.exprs(e.Deps)
		h.attrs(e.Attrs)
		h.typ(e.Typ)
	case *Call:
		h.num(tagCall)
		h.str(e.Callee)
		h.bool(e.Submit)
		h.exprs(e.Args)
		h.launch(&e.Launch)
		h.num(len(e.NoDep))
		for _, n := range e.NoDep {
			h.num(n)
		}
		h.num(len(e.Dirs))
		for _, d := range e.Dirs {
			h.num(int(d))
		}
		h.variables(e.CompilerDeps)
		h.expr(e.Device)
		h.attrs(e.Attrs)
		h.typ(e.Typ)
	default:
		h.num(tagNil)
	}
}

func (h *hasher) attrs(as Attrs) {
	h.num(len(as))
	for _, a := range as {
		h.str(a.Key)
		h.value(a.Value)
	}
}

func (h *hasher) value(v any) {
	if isEmptyList(v) {
		h.num(tagList)
		h.num(0)
		return
	}
	switch v := v.(type) {
	case nil:
		h.num(tagNil)
	case int64:
		h.num(tagInt)
		h.int64(v)
	case bool:
		h.num(tagBool)
		h.bool(v)
	case string:
		h.num(tagString)
		h.str(v)
	case float64:
		h.num(tagFloat)
		h.int64(int64(math.Float64bits(v)))
	case DType:
		h.num(tagDType)
		h.num(int(v))
	case Enum:
		h.num(tagEnum)
		h.str(v.Kind)
		h.str(v.Name)
	case Expr:
		h.num(tagExpr)
		h.expr(v)
	case []Expr:
		h.num(tagList)
		h.exprs(v)
	case []int64:
		h.num(tagInts)
		h.num(len(v))
		for _, n := range v {
			h.int64(n)
		}
	case []string:
		h.num(tagStrings)
		h.strs(v)
	default:
		h.num(tagBad)
	}
}

func (h *hasher) typ(t Type) {
	switch t := t.(type) {
	case *ScalarType:
		h.num(tagScalar)
		h.num(int(t.DType))
	case *TensorType:
		h.num(tagTensor)
		h.num(int(t.DType))
		h.bool(t.Distributed)
		h.dims(t.Shape)
		v := EffectiveTensorView(t)
		h.dims(v.ValidShape)
		h.dims(v.Stride)
		h.str(v.Layout)
		h.str(v.Pad)
		h.memRef(t.MemRef)
	case *TileType:
		h.num(tagTile)
		h.num(int(t.DType))
		h.dims(t.Shape)
		h.str(string(t.Mem))
		v := EffectiveTileView(t)
		h.dims(v.ValidShape)
		h.dims(v.Stride)
		h.dim(v.StartOffset)
		h.str(v.BLayout)
		h.str(v.SLayout)
		h.int64(v.Fractal)
		h.str(v.Pad)
		h.str(v.Compact)
		h.memRef(t.MemRef)
	case *ArrayType:
		h.num(tagArray)
		h.int64(t.Len)
		h.num(int(t.DType))
	case *TupleType:
		h.num(tagTupleType)
		h.num(len(t.Elems))
		for _, e := range t.Elems {
			h.typ(e)
		}
	case *OpaqueType:
		h.num(tagOpaque)
		h.str(t.Name)
	default:
		h.num(tagNil)
	}
}

func (h *hasher) dims(es []Expr) {
	h.num(len(es))
	for _, e := range es {
		h.dim(e)
	}
}

// dim counts a literal by its value only.
func (h *hasher) dim(e Expr) {
	if v, ok := IntValue(e); ok {
		h.num(tagInt)
		h.int64(v)
		return
	}
	h.expr(e)
}

func (h *hasher) memRef(m *MemRef) {
	h.bool(m != nil)
	if m == nil {
		return
	}
	h.str(m.Name)
	h.variable(m.Base)
	h.dim(offset(m.ByteOffset))
	h.int64(m.Size)
	h.int64(max(m.Slots, 1))
	h.dim(m.Slot)
}
