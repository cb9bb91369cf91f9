// Package syntax reads Python 3.10 source text into a tree. It parses the whole expression and statement grammar, whether or not the
// DSL allows it: what the DSL forbids is reported by ir/lang/lower with a reason, and unrelated Python in the same file just parses.
//
// Layers: scan*.go turn bytes into tokens; parse.go and the files named after parts of the grammar turn tokens into the nodes of this file;
// walk.go visits them. Errors are diag reports with codes PTO-P…; one file yields all its independent errors, and the rest of its tree.
//
// Two things are not done as in Python: names of characters in \N{…} stay as written (Constant.Named tells), and identifiers that
// Unicode calls compatible (ﬁ and fi) are different.
package syntax

import (
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/ptobuild/ptobuild/internal/diag"
)

// Pos is a place in a source file. Lines and columns count from 1, columns count characters.
type Pos struct{ Line, Col int32 }

// Range is the place of a node: Start inclusive, End exclusive.
type Range struct{ Start, End Pos }

// At makes the range of one node available through embedding.
func (r Range) At() Range { return r }

// Span turns a range into a report position in file.
func (r Range) Span(file string) diag.Span {
	return diag.Span{File: file, Line: r.Start.Line, Col: r.Start.Col, EndLine: r.End.Line, EndCol: r.End.Col}
}

// Node is any part of the tree.
type Node interface{ At() Range }

// Expr is an expression node.
type Expr interface {
	Node
	expr()
}

// Stmt is a statement node.
type Stmt interface {
	Node
	stmt()
}

// File is one parsed source file.
type File struct {
	Path     string
	Body     []Stmt
	Comments []Comment // every # comment, in order
	source   string
}

// At is the whole file.
func (f *File) At() Range {
	if len(f.Body) == 0 {
		return Range{}
	}
	return Range{f.Body[0].At().Start, f.Body[len(f.Body)-1].At().End}
}

// Text is the source text of a range of f.
func (f *File) Text(r Range) string {
	lo := f.offset(r.Start)
	return f.source[lo:max(lo, f.offset(r.End))]
}

// offset finds the byte at a position.
func (f *File) offset(at Pos) int {
	i := 0
	for range at.Line - 1 {
		n := strings.IndexByte(f.source[i:], '\n')
		if n < 0 {
			return len(f.source)
		}
		i += n + 1
	}
	for col := at.Col; col > 1 && i < len(f.source); col-- {
		_, n := utf8.DecodeRuneInString(f.source[i:])
		i += n
	}
	return i
}

// Comment is one # comment; Text excludes the '#' and surrounding blanks.
type Comment struct {
	Range
	Text string
	Own  bool // alone on its line
}

// Expressions.
type (
	// Name is an identifier.
	Name struct {
		Range
		ID string
	}
	// Constant is a literal. Kind tells which of the fields holds it; implicit concatenation of strings is already done.
	Constant struct {
		Range
		Kind  ConstKind
		Int   string  // Int: the digits as written, without '_' (0x… 0o… 0b… kept); the evaluator converts
		Float float64 // Float, Imag
		Str   string  // Str, Bytes: the decoded value
		// Named: a Str holds a \N{name} escape, which stays as written: the names of characters are not known here.
		Named bool
	}
	// FString is an f-string: literal pieces (Constant of kind Str) and FValue replacement fields, in order.
	FString struct {
		Range
		Parts []Expr
	}
	// FValue is one {expr!conv:format} field.
	FValue struct {
		Range
		X      Expr
		Conv   byte     // 0, 's', 'r' or 'a'
		Format *FString // nil when there is no ':'
		Debug  bool     // {x=}
	}
	// UnaryOp: Op is one of "-" "+" "~" "not".
	UnaryOp struct {
		Range
		Op string
		X  Expr
	}
	// BinOp: Op is one of + - * / // % ** @ << >> & | ^.
	BinOp struct {
		Range
		Op   string
		X, Y Expr
	}
	// BoolOp is a chain of one operator, "and" or "or".
	BoolOp struct {
		Range
		Op     string
		Values []Expr
	}
	// Compare is x op0 y0 op1 y1 …; Ops are == != < <= > >= in "not in" is "is not".
	Compare struct {
		Range
		X   Expr
		Ops []string
		Ys  []Expr
	}
	// Call is a call. Args holds positional arguments (Starred for *x); Keywords hold name=value (Name "" for **x).
	Call struct {
		Range
		Fun      Expr
		Args     []Expr
		Keywords []Keyword
	}
	// Attribute is x.Name.
	Attribute struct {
		Range
		X       Expr
		Name    string
		NamePos Range
	}
	// Subscript is x[index]; several indices come as a Tuple without parentheses.
	Subscript struct {
		Range
		X, Index Expr
	}
	// Slice is lo:hi:step inside a subscript; absent parts are nil.
	Slice struct {
		Range
		Lo, Hi, Step Expr
	}
	// Tuple is a, b or (a, b).
	Tuple struct {
		Range
		Elems []Expr
		Paren bool
	}
	// List is [a, b].
	List struct {
		Range
		Elems []Expr
	}
	// Set is {a, b}.
	Set struct {
		Range
		Elems []Expr
	}
	// Dict is {k: v}; a nil key stands for **v.
	Dict struct {
		Range
		Keys, Values []Expr
	}
	// Comprehension is a list, set, dict or generator comprehension.
	Comprehension struct {
		Range
		Kind    CompKind
		Key     Expr // dict only
		Elem    Expr
		Clauses []CompClause
	}
	// IfExp is body if cond else orelse.
	IfExp struct {
		Range
		Cond, Body, Else Expr
	}
	// Lambda is lambda params: body.
	Lambda struct {
		Range
		Params *Params
		Body   Expr
	}
	// NamedExpr is name := value.
	NamedExpr struct {
		Range
		Target *Name
		Value  Expr
	}
	// Starred is *x.
	Starred struct {
		Range
		X Expr
	}
	// Await is await x.
	Await struct {
		Range
		X Expr
	}
	// Yield is yield x or, with From, yield from x; X may be nil.
	Yield struct {
		Range
		X    Expr
		From bool
	}
)

// ConstKind tells the kinds of Constant apart.
type ConstKind uint8

const (
	Int ConstKind = iota
	Float
	Imag
	Str
	Bytes
	True
	False
	None
	Ellipsis
)

// CompKind tells the kinds of Comprehension apart.
type CompKind uint8

const (
	ListComp CompKind = iota
	SetComp
	DictComp
	GeneratorExp
)

// CompClause is one "for target in iter if cond…".
type CompClause struct {
	Target, Iter Expr
	Ifs          []Expr
	Async        bool
}

// Keyword is name=value in a call or class header.
type Keyword struct {
	Range
	Name  string // "" for **value
	Value Expr
}

// Param is one parameter.
type Param struct {
	Range
	Name       string
	Annotation Expr // nil when absent
	Default    Expr // nil when absent
}

// Params is a parameter list in Python's five groups.
type Params struct {
	PosOnly, Args []Param
	VarArg        *Param // *args
	KwOnly        []Param
	KwArg         *Param // **kwargs
}

// All yields the parameters in the order in which they are written.
func (ps *Params) All() iter.Seq[*Param] {
	return func(yield func(*Param) bool) {
		for _, group := range [2][]Param{ps.PosOnly, ps.Args} {
			for i := range group {
				if !yield(&group[i]) {
					return
				}
			}
		}
		if ps.VarArg != nil && !yield(ps.VarArg) {
			return
		}
		for i := range ps.KwOnly {
			if !yield(&ps.KwOnly[i]) {
				return
			}
		}
		if ps.KwArg != nil {
			yield(ps.KwArg)
		}
	}
}

// Statements.
type (
	// ExprStmt is an expression on its own.
	ExprStmt struct {
		Range
		X Expr
	}
	// Assign is t1 = t2 = … = value.
	Assign struct {
		Range
		Targets []Expr
		Value   Expr
	}
	// AugAssign is target op= value; Op excludes the '='.
	AugAssign struct {
		Range
		Target Expr
		Op     string
		Value  Expr
	}
	// AnnAssign is target: annotation [= value].
	AnnAssign struct {
		Range
		Target, Annotation Expr
		Value              Expr // nil when absent
	}
	// If is if/elif/else; an elif is an If alone in Else.
	If struct {
		Range
		Cond       Expr
		Body, Else []Stmt
	}
	// For is for target in iter.
	For struct {
		Range
		Target, Iter Expr
		Body, Else   []Stmt
		Async        bool
	}
	// While is while cond.
	While struct {
		Range
		Cond       Expr
		Body, Else []Stmt
	}
	// With is with items: body.
	With struct {
		Range
		Items []WithItem
		Body  []Stmt
		Async bool
	}
	// Return is return [value].
	Return struct {
		Range
		Value Expr // nil when absent
	}
	// FunctionDef is def name(params) -> returns: body.
	FunctionDef struct {
		Range
		Name       string
		NamePos    Range
		Decorators []Expr
		Params     *Params
		Returns    Expr // nil when absent
		Body       []Stmt
		Async      bool
	}
	// ClassDef is class name(bases, keywords): body.
	ClassDef struct {
		Range
		Name       string
		NamePos    Range
		Decorators []Expr
		Bases      []Expr
		Keywords   []Keyword
		Body       []Stmt
	}
	// Import is import a.b as c, ….
	Import struct {
		Range
		Names []Alias
	}
	// ImportFrom is from ..module import a as b, …; Level counts the leading dots; a single Alias named "*" imports all.
	ImportFrom struct {
		Range
		Module string
		Level  int
		Names  []Alias
	}
	// Simple is a statement of one keyword: "pass", "break" or "continue".
	Simple struct {
		Range
		Keyword string
	}
	// Delete is del targets.
	Delete struct {
		Range
		Targets []Expr
	}
	// Assert is assert cond[, msg].
	Assert struct {
		Range
		Cond, Msg Expr
	}
	// Raise is raise [exc [from cause]].
	Raise struct {
		Range
		Exc, Cause Expr
	}
	// Try is try/except/else/finally.
	Try struct {
		Range
		Body     []Stmt
		Handlers []Handler
		Else     []Stmt
		Finally  []Stmt
	}
	// Scoped is "global" or "nonlocal" names.
	Scoped struct {
		Range
		Keyword string
		Names   []string
	}
	// Match is match subject: cases.
	Match struct {
		Range
		Subject Expr
		Cases   []MatchCase
	}
)

// WithItem is one "context as target" of a with statement.
type WithItem struct {
	Range
	Context Expr
	Target  Expr // nil when absent
}

// Alias is "name as asname" of an import; As is "" when absent.
type Alias struct {
	Range
	Name, As string
}

// Handler is one except clause.
type Handler struct {
	Range
	Type Expr // nil for a bare except
	Name string
	Star bool
	Body []Stmt
}

// MatchCase is one case of a match statement. Patterns are kept as the expression they look like: nothing evaluates them.
type MatchCase struct {
	Range
	Pattern Expr
	Guard   Expr
	Body    []Stmt
}

func (*Name) expr()          {}
func (*Constant) expr()      {}
func (*FString) expr()       {}
func (*FValue) expr()        {}
func (*UnaryOp) expr()       {}
func (*BinOp) expr()         {}
func (*BoolOp) expr()        {}
func (*Compare) expr()       {}
func (*Call) expr()          {}
func (*Attribute) expr()     {}
func (*Subscript) expr()     {}
func (*Slice) expr()         {}
func (*Tuple) expr()         {}
func (*List) expr()          {}
func (*Set) expr()           {}
func (*Dict) expr()          {}
func (*Comprehension) expr() {}
func (*IfExp) expr()         {}
func (*Lambda) expr()        {}
func (*NamedExpr) expr()     {}
func (*Starred) expr()       {}
func (*Await) expr()         {}
func (*Yield) expr()         {}

func (*ExprStmt) stmt()    {}
func (*Assign) stmt()      {}
func (*AugAssign) stmt()   {}
func (*AnnAssign) stmt()   {}
func (*If) stmt()          {}
func (*For) stmt()         {}
func (*While) stmt()       {}
func (*With) stmt()        {}
func (*Return) stmt()      {}
func (*FunctionDef) stmt() {}
func (*ClassDef) stmt()    {}
func (*Import) stmt()      {}
func (*ImportFrom) stmt()  {}
func (*Simple) stmt()      {}
func (*Delete) stmt()      {}
func (*Assert) stmt()      {}
func (*Raise) stmt()       {}
func (*Try) stmt()         {}
func (*Scoped) stmt()      {}
func (*Match) stmt()       {}
