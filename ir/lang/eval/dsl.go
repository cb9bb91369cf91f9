package eval

import (
	"maps"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// The DSL package as module code sees it: names are symbols, a few of which have values or effects.

// dslRoot is the package whose names are DSL symbols. It is never read from files.
const dslRoot = "pypto"

// IsDSL reports whether the symbol belongs to the DSL package.
func (s *Symbol) IsDSL() bool { return s.Path == dslRoot || strings.HasPrefix(s.Path, dslRoot+".") }

// Name is the last part of the path.
func (s *Symbol) Name() string { return s.Path[strings.LastIndexByte(s.Path, '.')+1:] }

// dslName strips the DSL package: "jit.incore" for pypto.language.jit.incore and for pypto.jit.incore.
func dslName(path string) (string, bool) {
	for _, p := range []string{dslRoot + ".language.", dslRoot + "."} {
		if rest, ok := strings.CutPrefix(path, p); ok {
			return rest, true
		}
	}
	return "", false
}

var kinds = map[string]Kind{
	"program": Program, "function": Function, "inline": Inline, "jit": Jit, "jit.incore": JitInCore, "jit.inline": JitInline,
	"jit.opaque": JitOpaque, "jit.host": JitHost, "jit.extern": JitExtern,
}

// dslDecorator tells whether a decorator is one of the DSL's. Its arguments are not evaluated: that is done by whoever reads the definition.
func (l *Loader) dslDecorator(fr *frame, x syntax.Expr) (Kind, bool) {
	if c, ok := x.(*syntax.Call); ok {
		x = c.Fun
	}
	path, ok := l.symbolPath(fr, x)
	if !ok {
		return "", false
	}
	name, ok := dslName(path)
	if !ok {
		return "", false
	}
	k, ok := kinds[name]
	return k, ok
}

// symbolPath resolves a dotted name to the path of a symbol without evaluating anything.
func (l *Loader) symbolPath(fr *frame, x syntax.Expr) (string, bool) {
	switch x := x.(type) {
	case *syntax.Name:
		v, _ := fr.scope.lookup(x.ID, l.asOf)
		if s, ok := v.(*Symbol); ok {
			return s.Path, true
		}
	case *syntax.Attribute:
		if base, ok := l.symbolPath(fr, x.X); ok {
			return base + "." + x.Name, true
		}
		// A symbol kept in a module: config.pl.jit.
		if n, ok := x.X.(*syntax.Name); ok {
			if v, _ := fr.scope.lookup(n.ID, l.asOf); v != nil {
				if m, ok := v.(*Module); ok {
					if s, ok := m.scope.vars[x.Name]; ok {
						if sym, ok := s.v.(*Symbol); ok {
							return sym.Path, true
						}
					}
				}
			}
		}
	}
	return "", false
}

// unknownDecorator reports a decorator of the DSL package that does not exist: nothing else would tell the user why the function is no target.
func (l *Loader) unknownDecorator(fr *frame, x syntax.Expr, path string) {
	name, _ := dslName(path)
	d := diag.Errorf(CodeDecorator, x.At().Span(fr.module.Path), "unknown decorator 'pl.%s'", name)
	d.WithHint("the decorators are pl.program, pl.function, pl.inline, pl.jit, and pl.jit.incore, .inline, .opaque, .host and .extern")
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		if syntax.OneEdit(k, name) || strings.HasSuffix(k, "."+name) {
			d.WithHint("did you mean 'pl.%s'?", k)
		}
	}
	l.diags.Add(d)
	l.unknown("the decorator pl.%s does not exist", name)
}

func (l *Loader) newDSL(fr *frame, k Kind, name string, deco syntax.Expr, fn *syntax.FunctionDef, class *syntax.ClassDef) *DSL {
	l.clock++
	env := Env{scope: fr.scope, loader: l}
	switch k {
	case Program, Function, Inline:
		env.asOf = l.clock
	}
	d := &DSL{Kind: k, Name: name, Func: fn, Class: class, Decorator: deco, Env: env, Module: fr.module, File: fr.module.Tree}
	fr.module.dsls = append(fr.module.dsls, d)
	return d
}

// callSymbol is a call of a symbol. fr and x are nil when the call is not written in a program.
func (l *Loader) callSymbol(fr *frame, x *syntax.Call, s *Symbol, args []Value, kws []NamedValue) Value {
	if s.IsDSL() {
		return l.callDSL(fr, x, s, args, kws)
	}
	switch {
	case s.Path == "typing.cast" && len(args) == 2:
		return args[1]
	case benign(s.Path):
		return &Symbol{s.Path + "()"}
	case len(args) > 0 && strings.HasSuffix(s.Path, ".__init__"): // Base.__init__(self, …) of an unknown base
		if i, ok := args[0].(*Instance); ok && i.Class.is(l.foreignClass(strings.TrimSuffix(s.Path, ".__init__"))) {
			return None
		}
	}
	l.unknown("call of %s", s.Path)
	return nil
}

// callDSL gives calls of DSL names at module level a value: a dynamic dimension, a size, a definition, or the call itself.
func (l *Loader) callDSL(fr *frame, x *syntax.Call, s *Symbol, args []Value, kws []NamedValue) Value {
	name, _ := dslName(s.Path)
	if name == "dynamic" {
		if len(args) == 1 && len(kws) == 0 {
			if n, ok := args[0].(Str); ok {
				return &DynVar{string(n), l.span()}
			}
		}
		l.raise(excType, "pl.dynamic() takes the name of the dimension, a string")
	}
	if t, ok := strings.CutSuffix(name, ".get_byte"); ok && len(args)+len(kws) == 0 {
		if bits, ok := dtypeBits[t]; ok {
			return MakeInt(int64(max(1, bits/8)))
		}
	}
	if t, ok := strings.CutSuffix(name, ".get_bit"); ok && len(args)+len(kws) == 0 {
		if bits, ok := dtypeBits[t]; ok {
			return MakeInt(int64(bits))
		}
	}
	if k, ok := kinds[name]; ok && x != nil {
		if len(args) == 1 && len(x.Args) == 1 { // pl.jit(f)
			if f, ok := args[0].(*Func); ok && f.Def != nil {
				at := *fr
				at.scope, at.module = f.scope, f.module
				return l.newDSL(&at, k, f.Name, x, f.Def, nil)
			}
		}
		// A decorator kept in a variable: deco = pl.jit(auto_scope=False).
		return &Builtin{Name: s.Path, fn: func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want(s.Path, args, kws, 1, 1)
			f, ok := args[0].(*Func)
			if !ok || f.Def == nil {
				l.unknown("%s applied to %s", s.Path, typeName(args[0]))
			}
			at := frame{scope: f.scope, module: f.module}
			return l.newDSL(&at, k, f.Name, x, f.Def, nil)
		}}
	}
	a := &Applied{Fun: s, Call: true, Args: args, Keywords: kws, Span: l.span()}
	switch name {
	case "parse", "loads", "parse_program", "loads_program":
		if l.module != nil {
			l.module.texts = append(l.module.texts, a)
		}
	}
	return a
}

// dtypeBits are the widths of the element types, spec section 2.5.
var dtypeBits = map[string]int{
	"BOOL": 1, "INT4": 4, "INT8": 8, "INT16": 16, "INT32": 32, "INT64": 64, "UINT4": 4, "UINT8": 8, "UINT16": 16, "UINT32": 32, "UINT64": 64,
	"FP4": 4, "FP8E4M3FN": 8, "FP8E5M2": 8, "FP8E8M0": 8, "FP16": 16, "FP32": 32, "FP64": 64, "BF16": 16, "HF4": 4, "HF8": 8, "INDEX": 64, "TASK_ID": 64,
}

// dslConstant gives symbols of other packages that have a known value.
func dslConstant(s *Symbol, name string) (Value, bool) {
	if s.Path == "typing" && name == "TYPE_CHECKING" {
		return Bool(false), true
	}
	return nil, false
}

// benign reports whether a symbol belongs to a package whose calls have no effect on values: typing helpers, logging, warnings.
// Their results are symbols again.
func benign(path string) bool {
	root := path
	if i := strings.IndexAny(path, ".("); i >= 0 {
		root = path[:i]
	}
	switch root {
	case "typing", "typing_extensions", "logging", "warnings", "abc", "__future__", "collections_abc":
		return true
	}
	return strings.HasPrefix(path, "collections.abc")
}
