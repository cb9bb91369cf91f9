package lower

import (
	"strconv"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang/eval"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// Symbols of pl and the values that are written with them: enums, dtypes, attributes.

const (
	langPath = "pypto.language"
	distPath = "pypto.language.distributed"
)

// canonical is the path of a symbol as the DSL documents write it: "pl.X" or "pld.X", whatever the file calls the modules.
func canonical(path string) string {
	if path == distPath {
		return "pld"
	}
	if rest, ok := strings.CutPrefix(path, distPath+"."); ok {
		return "pld." + rest
	}
	if path == langPath {
		return "pl"
	}
	if rest, ok := strings.CutPrefix(path, langPath+"."); ok {
		return secondName("pl." + rest)
	}
	if strings.HasPrefix(path, "pypto.") { // pypto.DataType, pypto.pypto_core.ir.MemorySpace: types of the package, which pl has as well
		for i := range len(path) - 1 {
			if path[i] == '.' && path[i+1] >= 'A' && path[i+1] <= 'Z' {
				return secondName("pl" + path[i:])
			}
		}
	}
	return path
}

// secondName resolves the second names of enums: pl.MemorySpace, pl.DataType.FP32, pl.tile.MaskPattern.
func secondName(path string) string {
	rest, _ := strings.CutPrefix(path, "pl.")
	kind, name, _ := strings.Cut(rest, ".")
	switch kind {
	case "MemorySpace":
		if name == "" {
			return "pl.Mem"
		}
		return "pl.Mem." + name
	case "DataType":
		if name != "" {
			return "pl." + name
		}
	case "tile", "tensor":
		if name == "MaskPattern" || strings.HasPrefix(name, "MaskPattern.") {
			return "pl." + name
		}
	}
	return path
}

// symbol gives the path "pl.X.Y" of a DSL symbol, "" for everything else.
func (b *body) symbol(x syntax.Expr) string {
	switch x := x.(type) {
	case *valueExpr:
		if s, ok := x.v.(*eval.Symbol); ok {
			return dslPath(canonical(s.Path))
		}
	case *syntax.Name:
		if b.names.lookup(x.ID) != nil {
			return ""
		}
		v, found := b.env.Lookup(x.ID)
		if !found {
			if (b.mode == Dump || b.u.opt.OpenNames) && (x.ID == "pl" || x.ID == "pld") {
				return x.ID
			}
			return ""
		}
		if s, ok := v.(*eval.Symbol); ok {
			return dslPath(canonical(s.Path))
		}
		switch v.(type) {
		case *eval.Builtin, *eval.Class:
			if x.ID == "tuple" {
				return "tuple"
			}
		}
	case *syntax.Attribute:
		if base := b.symbol(x.X); base != "" {
			if base == "pl" && x.Name == "distributed" {
				return "pld"
			}
			return secondName(base + "." + x.Name)
		}
		if n, ok := root(x); ok && b.names.lookup(n.ID) == nil {
			if v, ok := b.tryEval(x); ok {
				if s, ok := v.(*eval.Symbol); ok {
					return dslPath(canonical(s.Path))
				}
			}
		}
	}
	return ""
}

func dslPath(path string) string {
	if path == "pl" || path == "pld" || strings.HasPrefix(path, "pl.") || strings.HasPrefix(path, "pld.") {
		return path
	}
	return ""
}

// root is the name at the start of a.b.c.
func root(x syntax.Expr) (*syntax.Name, bool) {
	for {
		switch y := x.(type) {
		case *syntax.Name:
			return y, true
		case *syntax.Attribute:
			x = y.X
		default:
			return nil, false
		}
	}
}

// dotted is the text of a.b.c; what else an expression may be is shown as "…".
func dotted(x syntax.Expr) string {
	switch x := x.(type) {
	case *syntax.Name:
		return x.ID
	case *syntax.Attribute:
		return dotted(x.X) + "." + x.Name
	case *syntax.Call:
		return dotted(x.Fun)
	case *syntax.Subscript:
		return dotted(x.X) + "[…]"
	case *syntax.Constant:
		switch x.Kind {
		case syntax.Int:
			return x.Int
		case syntax.Str:
			return strconv.Quote(x.Str)
		}
	case *valueExpr:
		switch v := x.v.(type) {
		case *eval.Symbol:
			return canonical(v.Path)
		case eval.Str:
			return string(v)
		}
	}
	return "…"
}

// dslCall recognises a call of a DSL symbol: pl.f(…) gives the call and "pl.f".
func (b *body) dslCall(x syntax.Expr) (*syntax.Call, string) {
	c, ok := x.(*syntax.Call)
	if !ok {
		return nil, ""
	}
	switch c.Fun.(type) {
	case *syntax.Name, *syntax.Attribute, *valueExpr:
		return c, b.symbol(c.Fun)
	}
	return c, ""
}

// enum reads pl.KIND.NAME and checks the name.
func (b *body) enum(x syntax.Expr, kind string, names []string) (string, bool) {
	path := b.symbol(x)
	if path == "" {
		n, isName := root(x)
		if v, ok := b.tryEval(x); ok && (!isName || b.names.lookup(n.ID) == nil) {
			if s, ok := v.(*eval.Symbol); ok {
				path = canonical(s.Path)
			}
		}
	}
	name, ok := strings.CutPrefix(path, "pl."+kind+".")
	if !ok && b.unbound(x) {
		return "", false
	}
	if !ok {
		example := names[0]
		if s, isText := b.staticString(x); isText {
			if contains(names, s) {
				example = s
			} else if best := diag.Nearest(s, names); best != "" {
				example = best
			}
		}
		b.errorf(CodeKeyword, x, "expected a pl.%s", kind).WithHint("write pl.%s.%s", kind, example)
		return "", false
	}
	if !contains(names, name) {
		b.unknownEnum(x, kind, name, names)
		return "", false
	}
	return name, true
}

func (b *body) unknownEnum(x syntax.Node, kind, name string, names []string) {
	d := b.errorf(CodeKeyword, x, "Unknown pl.%s '%s'", kind, name)
	if best := diag.Nearest(name, names); best != "" {
		d.WithHint("did you mean 'pl.%s.%s'?", kind, best)
	} else {
		d.WithHint("it is one of %s", listText(names))
	}
}

var levels = []string{"AIV", "AIC", "CORE_GROUP", "CHIP_DIE", "L2CACHE", "CHIP", "PROCESSOR", "UMA", "HOST", "NODE", "CLUSTER_0", "POD", "CLUSTER_1", "CLOS1", "CLUSTER_2", "CLOS2", "GLOBAL"}

// canonicalLevel resolves the second names of levels.
func canonicalLevel(name string) string {
	switch name {
	case "L2CACHE":
		return "CHIP_DIE"
	case "PROCESSOR", "UMA":
		return "CHIP"
	case "NODE":
		return "HOST"
	case "POD":
		return "CLUSTER_0"
	case "CLOS1":
		return "CLUSTER_1"
	case "CLOS2":
		return "CLUSTER_2"
	}
	return name
}

// symbolValue reads a dtype, an enum value or a string: what ops take as keyword values.
func (b *body) symbolValue(x syntax.Expr) (any, bool) {
	switch y := x.(type) {
	case *syntax.Constant:
		if y.Kind == syntax.Str {
			return y.Str, true
		}
		return nil, false
	case *syntax.Attribute:
		if y.Name == "dtype" {
			if n, ok := y.X.(*syntax.Name); ok && b.names.lookup(n.ID) != nil {
				d, ok := b.dtypeOf(x)
				return d, ok
			}
		}
	case *syntax.Name, *valueExpr:
	default:
		return nil, false
	}
	path := b.symbol(x)
	if path == "" {
		n, ok := root(x)
		if _, isValue := x.(*valueExpr); !isValue && (!ok || b.names.lookup(n.ID) != nil) {
			return nil, false
		}
		v, ok := b.tryEval(x)
		if !ok {
			return nil, false
		}
		switch v := v.(type) {
		case eval.Str:
			return string(v), true
		case *eval.Symbol:
			path = canonical(v.Path)
		default:
			return nil, false
		}
	}
	rest, ok := strings.CutPrefix(path, "pl.")
	if !ok {
		if rest, ok = strings.CutPrefix(path, "pld."); !ok {
			return nil, false
		}
	}
	if d, ok := ir.DTypeNamed(rest); ok {
		return d, true
	}
	if kind, name, ok := strings.Cut(rest, "."); ok && !strings.Contains(name, ".") && kind != "" && kind[0] >= 'A' && kind[0] <= 'Z' {
		return ir.Enum{Kind: kind, Name: name}, true
	}
	if kind, name, ok := strings.Cut(rest, "."); ok && kind == "adir" {
		return ir.Enum{Kind: kind, Name: name}, true
	}
	switch rest {
	case "ND", "DN", "NZ", "MX_A_ZZ", "MX_B_NN":
		return ir.Enum{Kind: "TensorLayout", Name: rest}, true
	}
	return nil, false
}

// attrsDict reads attrs={"key": value, …}.
func (b *body) attrsDict(x syntax.Expr) (ir.Attrs, bool) {
	d, ok := x.(*syntax.Dict)
	if !ok {
		b.errorf(CodeKeyword, x, "attrs= must be a dict literal with string keys")
		return nil, false
	}
	var out ir.Attrs
	for i, k := range d.Keys {
		c, isStr := k.(*syntax.Constant)
		if !isStr || c.Kind != syntax.Str {
			at := d.Values[i]
			if k != nil {
				at = k
			}
			b.errorf(CodeKeyword, at, "attrs= keys must be strings")
			ok = false
			continue
		}
		v, good := b.attrValue(d.Values[i])
		if !good {
			ok = false
			continue
		}
		if c.Str == "manual_dep_edges" && b.mode != Dump {
			b.errorf(CodeKeyword, k, "attrs= cannot hold 'manual_dep_edges'").WithHint("use deps= of pl.submit")
			ok = false
			continue
		}
		if _, enums := v.([]ir.Enum); enums && c.Str != "arg_directions" {
			b.errorf(CodeKeyword, d.Values[i], "attribute '%s' cannot hold a list of symbols", c.Str)
			ok = false
			continue
		}
		out = append(out, ir.Attr{Key: c.Str, Value: v})
	}
	return out, ok
}

// attrValue reads the value of an attribute: a number, bool or string as itself, pl.const(…) and names as expressions, and lists of one kind.
func (b *body) attrValue(x syntax.Expr) (any, bool) {
	if v, ok := b.symbolValue(x); ok {
		return v, true
	}
	if elems, ok := listElems(x); ok {
		return b.attrList(elems, x)
	}
	e, ok := b.expr(x)
	if !ok {
		return nil, false
	}
	if _, call := x.(*syntax.Call); !call {
		switch c := e.(type) {
		case *ir.ConstInt:
			return c.Value, true
		case *ir.ConstBool:
			return c.Value, true
		case *ir.ConstFloat:
			return c.Value, true
		case *ir.MakeTuple:
			return c.Elems, true
		}
	}
	return e, true
}

func (b *body) attrList(elems []syntax.Expr, x syntax.Expr) (any, bool) {
	var ints []int64
	var strs []string
	var enums []ir.Enum
	var exprs []ir.Expr
	for _, e := range elems {
		v, ok := b.attrValue(e)
		if !ok {
			return nil, false
		}
		switch v := v.(type) {
		case int64:
			ints = append(ints, v)
		case string:
			strs = append(strs, v)
		case ir.Enum:
			enums = append(enums, v)
		case ir.Expr:
			exprs = append(exprs, v)
		default:
			b.errorf(CodeKeyword, e, "this value cannot stand in a list attribute")
			return nil, false
		}
	}
	switch n := len(elems); {
	case len(ints) == n:
		return ints, true
	case len(strs) == n:
		return strs, true
	case len(enums) == n:
		return enums, true
	case len(exprs) == n:
		return exprs, true
	}
	b.errorf(CodeKeyword, x, "the entries of a list attribute must be of one kind")
	return nil, false
}
