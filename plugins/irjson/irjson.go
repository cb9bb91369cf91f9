// Package irjson is the IR as JSON, for plugins in languages that have no library for its wire form. It says what the wire form says: decoding what was encoded
// gives the same functions, with the very same variables.
//
// A document is {"vars": […], "functions": […]}. A node is an object with its kind in "node" ("OpCall", "Assign", "TileType", …) and the fields of the Go type
// of that name in package ir, in snake_case ("Typ" is "type"). An entry of "vars" is {"id", "hint", "type", "dyn", "pos"}; where a variable stands, there is
// {"var": id}. What is nil or has no place is left away. Enumerations and dtypes are their names: "FP32", "AIV", "+", "input". A value of a keyword argument
// or an attribute is an object with one key that says what it is: {"int": 5}, {"float": 1.5}, {"bool": true}, {"string": "x"}, {"dtype": "FP32"},
// {"enum": ["Mem", "Vec"]}, {"expr": node}, {"exprs": […]}, {"ints": […]}, {"strings": […]}. A place is [file, line, column, end line, end column]. Floats that
// JSON lacks are "inf", "-inf" and "nan".
//
// In an answer, variables that were sent are known by their ids and need no entry; new ones have ids that were not used.
package irjson

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// Vars are the variables of one exchange by their ids.
type Vars struct {
	ids   map[*ir.Var]int
	known []*ir.Var
}

// nodes are the kinds of nodes by name.
var nodes = func() map[string]reflect.Type {
	m := map[string]reflect.Type{}
	for _, x := range []any{ir.ConstInt{}, ir.ConstFloat{}, ir.ConstBool{}, ir.Binary{}, ir.Unary{}, ir.Cast{}, ir.MakeTuple{}, ir.TupleGet{}, ir.OpCall{}, ir.Call{},
		ir.ScalarType{}, ir.TensorType{}, ir.TileType{}, ir.ArrayType{}, ir.TupleType{}, ir.UnknownType{}, ir.OpaqueType{},
		ir.Assign{}, ir.Eval{}, ir.If{}, ir.For{}, ir.While{}, ir.Yield{}, ir.Return{}, ir.Branch{}, ir.Scope{}, ir.Verbatim{}} {
		t := reflect.TypeOf(x)
		m[t.Name()] = t
	}
	return m
}()

// enums are the names of enumerations in the order of their values.
var enums = map[reflect.Type][]string{
	reflect.TypeFor[ir.FuncType]():   names(ir.Graph),
	reflect.TypeFor[ir.ParamDir]():   names(ir.InOut),
	reflect.TypeFor[ir.ArgDir]():     names(ir.DirScalar),
	reflect.TypeFor[ir.BinOp]():      names(ir.Shr),
	reflect.TypeFor[ir.UnOp]():       names(ir.Abs),
	reflect.TypeFor[ir.ForKind]():    names(ir.Pipeline),
	reflect.TypeFor[ir.SplitMode]():  names(ir.SplitLeftRight),
	reflect.TypeFor[ir.ScopeKind]():  {"InCore", "Hierarchy", "Cluster", "Spmd", "SplitAiv", "Runtime", "CommDomain"},
	reflect.TypeFor[ir.ScopeOwner](): {"User", "Compiler"},
	reflect.TypeFor[ir.CarryClass](): {"Unclassified", "Alias", "Rebind"},
}

func names[E interface {
	~uint8
	fmt.Stringer
}](last E) []string {
	var out []string
	for v := range last + 1 {
		out = append(out, v.String())
	}
	return out
}

// fieldName is the JSON name of a field of a struct.
func fieldName(f reflect.StructField) string {
	switch f.Name {
	case "Typ":
		return "type"
	case "DType":
		return "dtype"
	}
	var b strings.Builder
	rs := []rune(f.Name)
	for i, r := range rs {
		if i > 0 && unicode.IsUpper(r) && (unicode.IsLower(rs[i-1]) || i+1 < len(rs) && unicode.IsLower(rs[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

var (
	spanType  = reflect.TypeFor[diag.Span]()
	dtypeType = reflect.TypeFor[ir.DType]()
	varType   = reflect.TypeFor[*ir.Var]()
	typeType  = reflect.TypeFor[ir.Type]()
)
