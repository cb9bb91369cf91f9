package ir

import (
	"errors"
	"fmt"
)

// The wire form: a compact binary encoding of programs for the cache and for plugins.
//
// Layout, all numbers as minimal varints (signed ones zigzag):
//
//	"PTIR" | version | form (0 program, 1 functions with shared Var ids)
//	strings: count, then length and UTF-8 bytes each
//	number of Vars; with shared ids: the next free id, then one id per Var
//	types: count, then their encodings; a type refers only to earlier ones
//	Vars: hint, dynamic or not, type, span each
//	the program or functions
//
// Strings, types and Vars are written once and referred to by index, in the order in which they are first met, so equal input gives equal bytes. Types with
// the same content become one. A list is its length + 1, nil is 0. A span is relative to the one written before it.
//
// Everything is kept: places, comments, names, attributes that the core does not know, nil versus empty. Decoding and encoding again gives the same bytes.
// Decoding accepts nothing else: any deviation is an error wrapping ErrMalformed, and never a panic or an allocation out of proportion to the input.

const (
	wireMagic   = "PTIR"
	wireVersion = 1

	formProgram   = 0
	formFunctions = 1

	// maxWireSize bounds an encoding. A thousand-statement program takes about 50 kB.
	maxWireSize = 64 << 20
	// maxExpansion bounds, per byte of the encoding, the nodes that types have when each reference to one is written out: a few hundred bytes of
	// tuples of tuples of … would otherwise stand for more nodes than any reader can visit. Real programs have about 5.
	maxExpansion = 256

	// maxWireDepth bounds the nesting of nodes: far above anything written by hand, far below what exhausts the stack.
	maxWireDepth = 10000
)

// ErrMalformed is wrapped by every error that Unmarshal and UnmarshalFunctions give for data that Marshal did not write.
var ErrMalformed = errors.New("malformed IR data")

// Marshal encodes a program. It fails on programs that Verify calls malformed, on nesting beyond 10,000 and on results beyond 64 MB.
func Marshal(p *Program) ([]byte, error) {
	e := newEncoder(nil)
	w := &writer{}
	e.str(w, p.Name)
	e.span(w, p.Pos)
	e.functions(w, p.Funcs)
	return e.finish(formProgram, w)
}

// Unmarshal decodes a program. Vars are new ones.
func Unmarshal(data []byte) (*Program, error) {
	d := &decoder{reader: reader{data: data}}
	d.header(formProgram, nil)
	p := &Program{Name: d.str(), Pos: d.span(), Funcs: d.functions()}
	if err := d.finish(); err != nil {
		return nil, err
	}
	return p, nil
}

// A VarTable gives Vars the ids under which both ends of an exchange know them. The host encodes functions with its table; the plugin decodes them with an
// empty one, works, and encodes its answer with the same; when the host decodes the answer with its own table, Vars that it sent are the very pointers they
// were, and Vars that the plugin made are added. Use one table per exchange.
type VarTable struct {
	ids  map[*Var]uint64
	vars map[uint64]*Var
	next uint64
}

// NewVarTable returns an empty table.
func NewVarTable() *VarTable {
	return &VarTable{ids: make(map[*Var]uint64), vars: make(map[uint64]*Var)}
}

// id returns the id of v, a new one if it has none yet.
func (t *VarTable) id(v *Var) uint64 {
	n, ok := t.ids[v]
	if !ok {
		n = t.next
		t.put(v, n)
	}
	return n
}

func (t *VarTable) put(v *Var, id uint64) {
	t.ids[v], t.vars[id] = id, v
	t.next = max(t.next, id+1)
}

// MarshalFunctions encodes functions with the ids of their Vars in t.
func MarshalFunctions(fs []*Function, t *VarTable) ([]byte, error) {
	e := newEncoder(t)
	w := &writer{}
	e.functions(w, fs)
	return e.finish(formFunctions, w)
}

// UnmarshalFunctions decodes functions. A Var whose id t knows is the Var of t; it must come back with the name and type it was sent with. On an
// error t is unchanged.
func UnmarshalFunctions(data []byte, t *VarTable) ([]*Function, error) {
	d := &decoder{reader: reader{data: data}}
	d.header(formFunctions, t)
	fs := d.functions()
	if err := d.finish(); err != nil {
		return nil, err
	}
	d.commit(t)
	return fs, nil
}

// Tags of the wire form. They are part of the format: never renumber.
const (
	wireNil = 0

	wireVar       = 1
	wireInt       = 2
	wireFloat     = 3
	wireBool      = 4
	wireBinary    = 5
	wireUnary     = 6
	wireCast      = 7
	wireMakeTuple = 8
	wireTupleGet  = 9
	wireOpCall    = 10
	wireCall      = 11

	wireScalar  = 1
	wireTensor  = 2
	wireTile    = 3
	wireArray   = 4
	wireTuple   = 5
	wireUnknown = 6
	wireOpaque  = 7

	wireAssign   = 1
	wireEval     = 2
	wireIf       = 3
	wireFor      = 4
	wireWhile    = 5
	wireYield    = 6
	wireReturn   = 7
	wireBranch   = 8
	wireScope    = 9
	wireVerbatim = 10

	wireAttrInt     = 1
	wireAttrBool    = 2
	wireAttrString  = 3
	wireAttrFloat   = 4
	wireAttrDType   = 5
	wireAttrEnum    = 6
	wireAttrExpr    = 7
	wireAttrExprs   = 8
	wireAttrInts    = 9
	wireAttrStrings = 10
)

// expansion counts the nodes of types as if each reference to a type were written out.
type expansion struct {
	types []extent // of the table
	now   extent   // of the stretch being counted
}

type extent struct {
	nodes int64
	depth int // of types in types
}

// refer counts a reference to type n.
func (x *expansion) refer(n int) {
	x.now.nodes = satAdd(x.now.nodes, x.types[n].nodes)
	x.now.depth = max(x.now.depth, x.types[n].depth)
}

// begin starts counting a type; end gives its extent and continues with what was counted before.
func (x *expansion) begin() (outer extent) {
	outer, x.now = x.now, extent{nodes: 1}
	return outer
}

func (x *expansion) end(outer extent) extent {
	e := x.now
	e.depth++
	x.now = outer
	return e
}

// fits reports that an encoding of size bytes does not stand for more nodes than anyone can visit.
func (x *expansion) fits(size int) bool { return x.now.nodes <= maxExpansion*int64(size+256) }

func malformed(at int, format string, args ...any) error {
	return fmt.Errorf("%w at byte %d: %s", ErrMalformed, at, fmt.Sprintf(format, args...))
}
