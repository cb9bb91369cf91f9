package lower

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
)

// A block is one pair of braces of the C++ to be.
type block struct {
	parent  *block
	depth   int
	kind    blockKind
	stmt    ir.Stmt // the statement whose body it is, nil for the function
	out     []plan.Stmt
	batches []*batch // allocations at its head, in order
}

type blockKind uint8

const (
	funcBlock blockKind = iota
	autoBlock
	manualBlock
	loopBlock
	branchBlock
)

func (b *block) nested(kind blockKind, stmt ir.Stmt) *block {
	return &block{parent: b, depth: b.depth + 1, kind: kind, stmt: stmt}
}

// encloses reports that a name declared in b is visible in c.
func (b *block) encloses(c *block) bool {
	for ; c.depth > b.depth; c = c.parent {
	}
	return b == c
}

// common is the innermost block that encloses both.
func common(b, c *block) *block {
	for ; b.depth > c.depth; b = b.parent {
	}
	for ; c.depth > b.depth; c = c.parent {
	}
	for b != c {
		b, c = b.parent, c.parent
	}
	return b
}

// inManual reports a place where the runtime tracks nothing.
func (b *block) inManual() bool {
	for ; b != nil; b = b.parent {
		if b.kind == manualBlock {
			return true
		}
	}
	return false
}

// storage is what Vars are in the C++ program: a variable, or a literal. Vars that name the same thing share one storage.
type storage struct {
	kind storageKind
	name *plan.Name
	lit  plan.Expr // literal
	typ  plan.CType

	block *block     // where the name is declared; nil: everywhere
	home  *block     // where its value is made
	root  *storage   // tensors: the buffer itself; nil when it may be one of several
	from  []*storage // tensors without root: what the handle may be a copy or a window of

	ordinal int    // entry tensors
	slots   int64  // arrays: their length; task ids: how many are kept (0: one)
	valid   bool   // task ids: never invalid
	what    string // what the user calls it

	pitch    *ir.Var    // windows: the tensor of unknown row length that they take columns of
	gathered *plan.Name // task ids of a gathering carry: the list that the loop fills
	alloc    *plan.Name // buffers: the alloc result, once planned
	maker    *storage   // carries and merges: the TaskId of the allocation behind the current value, where a MANUAL scope needs it
	batched  bool       // buffers: allocated at the head of a sequence
	manualBy diag.Span  // buffers and entry tensors: a task of a MANUAL scope that writes it
	declared bool       // its declaration is out
}

type storageKind uint8

const (
	literal    storageKind = iota
	entryStore             // an entry tensor or scalar
	localStore             // a scalar, view or id computed by one statement
	bufferStore
	outputStore // a tensor that the runtime allocates at a submit
	mutableStore
	arrayStore
)

// ref is the storage as an operand.
func (s *storage) ref() plan.Expr {
	if s.kind == literal {
		return s.lit
	}
	return &plan.Ref{Name: s.name}
}

// buffers calls f for each buffer that a tensor may lie in.
func (s *storage) buffers(f func(*storage)) {
	if s.root != nil {
		f(s.root)
		return
	}
	seen, told := map[*storage]bool{}, map[*storage]bool{}
	var visit func(*storage)
	visit = func(s *storage) {
		switch {
		case seen[s]:
		case s.root != nil:
			if !told[s.root] {
				told[s.root] = true
				f(s.root)
			}
		default:
			seen[s] = true
			for _, t := range s.from {
				visit(t)
			}
		}
	}
	visit(s)
}

// lifted reports a declaration in front of the scope that makes the value.
func (s *storage) lifted() bool { return s.block != s.home }

// ctype is the C++ type of a variable of an IR type.
func ctype(t ir.Type) plan.CType {
	switch t := t.(type) {
	case *ir.TensorType:
		return plan.CType{Kind: plan.TensorT}
	case *ir.ScalarType:
		if t.DType == ir.TASK_ID {
			return plan.CType{Kind: plan.TaskT}
		}
		return plan.CType{Kind: plan.Number, DType: t.DType}
	case *ir.ArrayType:
		return ctype(ir.Scalar(t.DType))
	}
	return plan.CType{Kind: plan.Number, DType: ir.NoDType}
}
