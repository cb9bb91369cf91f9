package lower

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang/eval"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// decl is what the decorator of a function says (spec: dsl-ir 1.2).
type decl struct {
	typ         ir.FuncType
	level, role string // as stored: "" when derived from typ
	autoScope   bool
	strictSSA   bool
	macro       bool // @pl.inline
	external    *ir.External
	split       ir.SplitMode
	dualAIV     bool
	attrs       ir.Attrs
	stripDirs   bool // @pl.jit.inline: directions have no meaning
	mixed       *mixed
}

// mixed is a hand-written kernel with a part for each core.
type mixed struct{ aic, aiv *function }

var funcTypes = map[string]ir.FuncType{"Opaque": ir.Opaque, "Orchestration": ir.Orchestration, "InCore": ir.InCore, "AIC": ir.AIC, "AIV": ir.AIV,
	"Group": ir.Group, "Spmd": ir.Spmd, "Inline": ir.Inline, "Graph": ir.Graph}

var funcTypeNames = []string{"Opaque", "Orchestration", "InCore", "AIC", "AIV", "Group", "Spmd", "Inline", "Graph"}

// otherLevel reports a level that a function of a type may have beside its own: a kernel can be bound to a core, a chip program can be the host's.
func otherLevel(t ir.FuncType, level string) bool {
	switch t {
	case ir.Orchestration:
		return level == "HOST"
	case ir.InCore:
		return level == "AIC" || level == "AIV" || level == "CORE_GROUP"
	}
	return false
}

// functionDecorator finds the decorator of a method that makes it part of the program: anything called "function".
func (u *Unit) functionDecorator(def *syntax.FunctionDef) syntax.Expr {
	for _, d := range def.Decorators {
		x := d
		if c, ok := d.(*syntax.Call); ok {
			x = c.Fun
		}
		switch x := x.(type) {
		case *syntax.Attribute:
			if x.Name == "function" {
				return d
			}
		case *syntax.Name:
			if x.ID == "function" {
				return d
			}
		}
	}
	return nil
}

// programOptions reads @pl.program(strict_ssa=True).
func (u *Unit) programOptions(dsl *eval.DSL) {
	call, ok := dsl.Decorator.(*syntax.Call)
	if !ok {
		return
	}
	b := &body{u: u, mode: u.mode, file: dsl.File.Path, env: dsl.Env}
	b.names.push()
	for _, k := range call.Keywords {
		if k.Name != "strict_ssa" {
			b.unknownKeyword("pl.program", k, []string{"strict_ssa"})
			continue
		}
		u.strictSSA, _ = b.boolLiteral(k, "pl.program")
	}
}

// functionDecl reads @pl.function(…).
func (u *Unit) functionDecl(f *function, deco syntax.Expr) decl {
	d := decl{autoScope: true}
	b := f.body
	call, ok := deco.(*syntax.Call)
	if !ok {
		return d
	}
	if len(call.Args) > 0 {
		b.errorf(CodeDecorator, call.Args[0], "pl.function() takes keyword arguments only").WithHint("write type=pl.FunctionType.InCore")
	}
	known := []string{"type", "level", "role", "auto_scope", "strict_ssa", "external_source", "attrs"}
	if f.mode == Dump {
		known = append(known, "include_dirs")
	}
	var levelNode, roleNode syntax.Expr
	for _, k := range call.Keywords {
		switch k.Name {
		case "type":
			if name, ok := b.enum(k.Value, "FunctionType", funcTypeNames); ok {
				d.typ = funcTypes[name]
			} else {
				f.broken = true
			}
		case "level":
			levelNode = k.Value
			name, _ := b.enum(k.Value, "Level", levels)
			d.level = canonicalLevel(name)
		case "role":
			roleNode = k.Value
			d.role, _ = b.enum(k.Value, "Role", []string{"Orchestrator", "SubWorker"})
		case "auto_scope":
			d.autoScope, _ = b.boolLiteral(k, "pl.function")
		case "strict_ssa":
			d.strictSSA, _ = b.boolLiteral(k, "pl.function")
		case "external_source":
			d.external = b.externalSource(d.external, k.Value)
		case "include_dirs":
			d.external = b.includeDirs(d.external, k.Value)
		case "attrs":
			if attrs, ok := b.attrsDict(k.Value); ok {
				b.u.warnf(CodeDecorator, b.at(k.Value), "attrs= of pl.function is deprecated").WithHint("write pl.func_attr({…}) as the first statement of the body")
				b.setAttrs(&d, attrs)
			}
		default:
			b.unknownKeyword("pl.function", k, known)
		}
	}
	if level, role := d.typ.Defaults(); level != "" && !f.broken {
		if d.level != "" && d.level != level && !otherLevel(d.typ, d.level) {
			b.errorf(CodeDecorator, levelNode, "level=pl.Level.%s contradicts type=pl.FunctionType.%s, which runs at level %s", d.level, d.typ, level).
				WithHint("leave level= out")
		}
		if d.role != "" && d.role != role {
			b.errorf(CodeDecorator, roleNode, "role=pl.Role.%s contradicts type=pl.FunctionType.%s, which has the role %s", d.role, d.typ, role).
				WithHint("leave role= out")
		}
		if d.level == level {
			d.level = ""
		}
		if d.role == role && (d.level == "" || d.typ.IsKernel()) {
			d.role = ""
		}
	}
	if d.external != nil && d.external.Source != "" && d.typ != ir.AIC && d.typ != ir.AIV && !f.broken {
		b.errorf(CodeDecorator, call, "external_source= needs type=pl.FunctionType.AIC or AIV").WithHint("the source file is a kernel for one kind of core")
	}
	return d
}

// externalSource reads the path of a hand-written kernel, relative to the file that names it.
func (b *body) externalSource(e *ir.External, x syntax.Expr) *ir.External {
	if e == nil {
		e = &ir.External{}
	}
	s, ok := b.staticPath(x)
	if !ok {
		b.errorf(CodeDecorator, x, "the source of an external kernel must be a string or path known at compile time")
		return e
	}
	if b.mode != Dump && !filepath.IsAbs(s) {
		s = filepath.Join(filepath.Dir(b.file), s)
	}
	e.Source = filepath.ToSlash(s)
	if b.mode != Dump && b.u.opt.Exists != nil && !b.u.opt.Exists(e.Source) {
		b.errorf(CodeDecorator, x, "source file not found: %s", e.Source).WithHint("the path is relative to the file that names it")
	}
	return e
}

func (b *body) includeDirs(e *ir.External, x syntax.Expr) *ir.External {
	if e == nil {
		e = &ir.External{}
	}
	elems, ok := listElems(x)
	if !ok {
		b.errorf(CodeDecorator, x, "include_dirs= must be a list of paths")
		return e
	}
	for _, d := range elems {
		s, ok := b.staticPath(d)
		if !ok {
			b.errorf(CodeDecorator, d, "a directory of include_dirs= must be a string or path known at compile time")
			continue
		}
		if b.mode != Dump && !filepath.IsAbs(s) {
			s = filepath.Join(filepath.Dir(b.file), s)
		}
		e.IncludeDirs = append(e.IncludeDirs, filepath.ToSlash(s))
	}
	return e
}

// setAttrs puts function attributes where they belong.
func (b *body) setAttrs(d *decl, attrs ir.Attrs) {
	for _, a := range attrs {
		switch v := a.Value.(type) {
		case ir.Enum:
			if a.Key == "split" && v.Kind == "SplitMode" {
				d.split = splitModes[v.Name]
				continue
			}
		case int64:
			if a.Key == "split" && v >= 0 && v <= 2 {
				d.split = ir.SplitMode(v)
				continue
			}
		case bool:
			if a.Key == "dual_aiv_dispatch" {
				d.dualAIV = v
				continue
			}
		}
		d.attrs = append(d.attrs, a)
	}
}

// funcAttr reads the prologue pl.func_attr({…}) and returns the statements after it.
func (b *body) funcAttr(list []syntax.Stmt) []syntax.Stmt {
	if len(list) == 0 {
		return list
	}
	es, ok := list[0].(*syntax.ExprStmt)
	if !ok {
		return list
	}
	call, path := b.dslCall(es.X)
	if path != "pl.func_attr" {
		return list
	}
	list = list[1:]
	if len(call.Args) != 1 || len(call.Keywords) > 0 {
		b.errorf(CodeDecorator, call, "pl.func_attr() takes exactly one positional dict literal")
		return list
	}
	dict, ok := call.Args[0].(*syntax.Dict)
	if !ok {
		b.errorf(CodeDecorator, call.Args[0], "pl.func_attr() takes exactly one positional dict literal")
		return list
	}
	seen := map[string]bool{}
	for _, a := range b.fn.decl.attrs {
		seen[a.Key] = true
	}
	for i, k := range dict.Keys {
		c, isStr := k.(*syntax.Constant)
		switch {
		case k == nil:
			b.errorf(CodeDecorator, dict.Values[i], "pl.func_attr: ** is not supported")
			continue
		case !isStr || c.Kind != syntax.Str:
			b.errorf(CodeDecorator, k, "pl.func_attr keys must be strings")
			continue
		case c.Str == "auto_scope" || c.Str == "external_source":
			b.errorf(CodeDecorator, k, "'%s' cannot be set with pl.func_attr", c.Str).WithHint("write it in the decorator: @pl.function(%s=…)", c.Str)
			continue
		case seen[c.Str]:
			b.errorf(CodeDecorator, k, "duplicate function attribute '%s'", c.Str)
			continue
		}
		seen[c.Str] = true
		if v, ok := b.attrValue(dict.Values[i]); ok {
			b.setAttrs(&b.fn.decl, ir.Attrs{{Key: c.Str, Value: v}})
		}
	}
	if len(list) > 0 {
		if es, ok := list[0].(*syntax.ExprStmt); ok {
			if _, path := b.dslCall(es.X); path == "pl.func_attr" {
				b.errorf(CodeDecorator, es, "pl.func_attr may appear only once").WithHint("merge the dicts")
				list = list[1:]
			}
		}
	}
	return list
}

// bareDecl reads the decorator of a function that is called by bare name.
func (u *Unit) bareDecl(f *function) decl {
	b := f.body
	deco := f.dsl.Decorator
	call, _ := deco.(*syntax.Call)
	d := decl{autoScope: true}
	allowed := []string{}
	switch f.dsl.Kind {
	case eval.Function:
		return u.functionDecl(f, deco)
	case eval.Inline:
		d.macro = true
	case eval.Jit:
		d.typ = ir.Orchestration
		allowed = []string{"auto_scope"}
	case eval.JitHost:
		d.typ, d.level, d.role = ir.Opaque, "HOST", "Orchestrator"
		allowed = []string{"auto_scope"}
	case eval.JitInCore:
		d.typ = ir.InCore
		allowed = []string{"level"}
	case eval.JitInline:
		d.typ, d.stripDirs = ir.Inline, true
		allowed = []string{"auto_scope"}
	case eval.JitOpaque:
		d.typ = ir.Opaque
	case eval.JitExtern:
		return u.externDecl(f, call)
	}
	if call == nil {
		return d
	}
	name := "pl." + string(f.dsl.Kind)
	if len(call.Args) > 0 {
		b.errorf(CodeJIT, call.Args[0], "%s() takes keyword arguments only", name)
	}
	for _, k := range call.Keywords {
		switch {
		case !slices.Contains(allowed, k.Name):
			dg := b.u.errorf(CodeJIT, k.Span(b.file), "%s does not accept a %s= argument", name, k.Name)
			switch {
			case k.Name == "level":
				dg.WithHint("level= is for @pl.jit.incore")
			case k.Name == "auto_scope":
				dg.WithHint("auto_scope= is for @pl.jit, @pl.jit.host and @pl.jit.inline")
			default:
				if best := diag.Nearest(k.Name, allowed); best != "" {
					dg.WithHint("did you mean '%s'?", best)
				}
			}
		case k.Name == "auto_scope":
			d.autoScope, _ = b.boolLiteral(k, name)
		case k.Name == "level":
			if level, ok := b.enum(k.Value, "Level", levels); ok {
				if level = canonicalLevel(level); level != "CHIP_DIE" {
					d.level = level
				}
			}
		}
	}
	return d
}

// staticPath is the value of a string or path expression of the module.
func (b *body) staticPath(x syntax.Expr) (string, bool) {
	if s, ok := b.staticString(x); ok {
		return s, true
	}
	v, ok := b.tryEval(x)
	if !ok {
		return "", false
	}
	if p, ok := v.(interface{ String() string }); ok {
		if _, isPath := v.(*eval.Path); isPath {
			return p.String(), true
		}
	}
	return "", false
}

// externDecl reads @pl.jit.extern(core_type=…, source=…).
func (u *Unit) externDecl(f *function, call *syntax.Call) decl {
	b := f.body
	d := decl{autoScope: true}
	if call == nil {
		u.errorf(CodeJIT, f.span(), "pl.jit.extern needs core_type= and source=").WithHint(`write @pl.jit.extern(core_type="aiv", source="kernel.cpp")`)
		f.broken = true
		return d
	}
	var source, aic, aiv *ir.External
	var dirs *ir.External
	core := ""
	for _, k := range call.Keywords {
		switch k.Name {
		case "core_type":
			s, ok := b.staticString(k.Value)
			if !ok || s != "aic" && s != "aiv" && s != "mixed" {
				b.errorf(CodeJIT, k.Value, `core_type= must be "aic", "aiv" or "mixed"`)
				f.broken = true
			}
			core = s
		case "source":
			source = b.externalSource(nil, k.Value)
		case "aic_source":
			aic = b.externalSource(nil, k.Value)
		case "aiv_source":
			aiv = b.externalSource(nil, k.Value)
		case "include_dirs":
			dirs = b.includeDirs(nil, k.Value)
		case "dual_aiv_dispatch":
			d.dualAIV, _ = b.boolLiteral(k, "pl.jit.extern")
		default:
			b.unknownKeyword("pl.jit.extern", k, []string{"core_type", "source", "aic_source", "aiv_source", "include_dirs", "dual_aiv_dispatch"})
		}
	}
	fail := func(format string, args ...any) decl {
		b.errorf(CodeJIT, call, format, args...)
		f.broken = true
		return d
	}
	withDirs := func(e *ir.External) *ir.External {
		if dirs != nil {
			e.IncludeDirs = dirs.IncludeDirs
		}
		return e
	}
	switch {
	case f.broken:
	case core == "":
		return fail("pl.jit.extern requires core_type=")
	case core == "mixed":
		if aic == nil || aiv == nil || source != nil {
			return fail(`core_type="mixed" requires both aic_source= and aiv_source=`)
		}
		d.typ = ir.Group
		part := func(suffix string, t ir.FuncType, e *ir.External) *function {
			p := &function{name: f.name + suffix, dsl: f.dsl, def: f.def, file: f.file, env: f.env, mode: f.mode}
			p.decl = decl{typ: t, autoScope: true, external: withDirs(e), dualAIV: d.dualAIV && t == ir.AIV}
			u.byFunc[p.name] = p
			p.body = newBody(u, p)
			return p
		}
		d.mixed = &mixed{part("_aic", ir.AIC, aic), part("_aiv", ir.AIV, aiv)}
	case source == nil || aic != nil || aiv != nil:
		return fail(`core_type="%s" requires source= and no other source`, core)
	case d.dualAIV:
		return fail(`dual_aiv_dispatch= is only for core_type="mixed"`)
	default:
		d.typ = ir.AIC
		if core == "aiv" {
			d.typ = ir.AIV
		}
		d.external = withDirs(source)
	}
	return d
}

func isEmptyBody(list []syntax.Stmt) bool {
	for _, s := range list {
		switch s := s.(type) {
		case *syntax.ExprStmt:
			if c, ok := s.X.(*syntax.Constant); !ok || c.Kind != syntax.Str && c.Kind != syntax.Ellipsis {
				return false
			}
		case *syntax.Simple:
			if s.Keyword != "pass" {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// docstring splits the docstring off a body.
func docstring(list []syntax.Stmt) ([]string, []syntax.Stmt) {
	if len(list) == 0 {
		return nil, list
	}
	if es, ok := list[0].(*syntax.ExprStmt); ok {
		if c, ok := es.X.(*syntax.Constant); ok && c.Kind == syntax.Str {
			return stringLines(c.Str), list[1:]
		}
	}
	return nil, list
}

// stringLines are the comment lines that a string on its own stands for.
func stringLines(text string) []string {
	var lines []string
	for l := range strings.SplitSeq(strings.Trim(text, "\n "), "\n") {
		lines = append(lines, strings.TrimSpace(l))
	}
	return lines
}
