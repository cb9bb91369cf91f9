package ir

import (
	"cmp"
	"slices"
	"strings"
)

// PrintOptions chooses how much is printed. The zero value is the faithful form: reading it back gives an Equal program.
type PrintOptions struct {
	Concise bool // leave out the types of assigned variables: for people, not for reading back
	// Derived prints as the reference does: with the level and role that follow from the type of a function, all of a tensor view, else: if for elif, and no
	// hints of names.
	Derived bool
}

// Print renders a program in the printed form of the DSL (spec: dsl-ir 3). The result parses as Python and reads back as an Equal program.
// Where the older dump language has no spelling, or one that reads back as something else, these are used:
//
//	Carry.Class, Carry.Slots        attrs={"iter_arg_rebind_0": True, "iter_arg_array_size_0": 4} on the loop
//	Carry.Iter of another type      types=[T, …] on the loop, one per carry (only when one differs from its initial value)
//	If/For/While results            types=[T, …] on a yield of several values (only when one differs from the yielded value)
//	Call.Dirs, NoDep, CompilerDeps  attrs "arg_directions", "arg_direction_overrides", "compiler_manual_dep_edges"
//	Call.Launch of a plain call     attrs "manual_dep_edges", "core_num", "sync_start", "allow_early_resolve", "predicate", "timing_slot", "dump_vars"
//	Launch.TimingSlot               timing_slot=3 on submits and scopes
//	Submit with CoreNum             pl.spmd_submit(…, core_num=n)
//	Scope.Attrs                     slot_num= and windowize= where the DSL has them, the others as attrs={…}
//	CommDomainScope                 with pld.comm_domain(attrs={…}):
//	SplitAivScope without binding   for _ in pl.split_aiv(2, mode=…): the reader makes no get_subblock_idx for _
//	External.IncludeDirs            include_dirs=[…] beside external_source=
//	Xor                             pl.xor(a, b)
//	(a == b) == c                   with its parentheses
//	literals that would fold        pl.const(5, pl.INDEX): all leaves of an expression of literals alone, and INDEX literals beside another dtype
//	literals in attrs               pl.const(5, pl.INDEX) is an expression, 5 a number
//	MANUAL scope of the compiler    attrs={"compiler_owned": True}
//	hints of names                  # pypto.names lines at the end, see print_hints.go
//
// Functions stand callee first, otherwise by name, as the dump language has them (in their own order when calls go round in a circle). Function.AutoScope of kernels and wrappers and the Owner of AUTO
// scopes have no meaning for a reader and are not printed.
func Print(p *Program, opt PrintOptions) string {
	pr := &printer{opt: opt, method: true}
	pr.symbols(p.Funcs)
	pr.indent = 1
	for i, f := range calleesFirst(p) {
		if i > 0 {
			pr.nl()
		}
		pr.function(f)
		if line := pr.hintsLine(f); line != "" {
			pr.hints = append(pr.hints, line)
		}
	}
	if len(p.Funcs) == 0 {
		pr.line("pass")
	}
	body := pr.b.String()

	name := programName(p)
	pr.b.Reset()
	pr.indent = 0
	pr.line("# pypto.program: ", name)
	pr.line("import pypto.language as pl")
	pr.nl()
	pr.declareSymbols()
	pr.line("@pl.program")
	pr.line("class ", identifier(name), ":")
	out := pr.b.String() + body
	if !opt.Concise && !opt.Derived && len(pr.hints) > 0 {
		out += "\n" + strings.Join(pr.hints, "\n") + "\n"
	}
	return out
}

// programName is what a program without a name is called.
func programName(p *Program) string {
	if p.Name == "" {
		return "Program"
	}
	return p.Name
}

// PrintFunction renders one function outside of a class: callees are printed as bare names, and the dynamic symbols it uses are declared first.
func PrintFunction(f *Function, opt PrintOptions) string {
	pr := &printer{opt: opt}
	pr.symbols([]*Function{f})
	pr.function(f)
	body := pr.b.String()
	pr.b.Reset()
	pr.declareSymbols()
	return pr.b.String() + body
}

// PrintStmt renders one statement and what it contains, for messages: Vars defined elsewhere print as their hint.
func PrintStmt(s Stmt) string {
	pr := &printer{loose: true}
	pr.startNames()
	pr.nameDefs(Block{s})
	pr.stmt(s, nil)
	return pr.b.String()
}

// PrintExpr renders one expression, for messages: Vars print as their hint, two different Vars never alike.
func PrintExpr(e Expr) string {
	pr := &printer{loose: true}
	pr.startNames()
	pr.expr(e, precLowest, false)
	return pr.b.String()
}

// PrintType renders one type, for messages, naming Vars like PrintExpr.
func PrintType(t Type) string {
	pr := &printer{loose: true}
	pr.startNames()
	pr.typ(t)
	return pr.b.String()
}

// printer writes text; the files print_*.go hold its parts.
type printer struct {
	b      strings.Builder
	opt    PrintOptions
	indent int
	method bool // inside a class: functions are called as self.f
	loose  bool // a fragment: undefined Vars are no news
	sig    bool // inside a signature: allocations are named by strings

	dyn      map[*Var]string      // dynamic symbols, named once for the whole program
	dynOf    map[*Function][]*Var // the symbols each function mentions
	names    map[*Var]string      // of the function being printed
	taken    map[string]int       // names in use there, with the next suffix to try
	defined  map[*Var]bool        // Vars that the function defines
	assigned *Var                 // that takes the value being printed
	hints    []string             // see print_hints.go
}

func (p *printer) w(parts ...string) {
	for _, s := range parts {
		p.b.WriteString(s)
	}
}

func (p *printer) nl() { p.b.WriteByte('\n') }

// start begins a line.
func (p *printer) start() {
	for range p.indent {
		p.b.WriteString("    ")
	}
}

func (p *printer) line(parts ...string) {
	p.start()
	p.w(parts...)
	p.nl()
}

func (p *printer) comments(cs []string) {
	for _, c := range cs {
		for l := range strings.SplitSeq(c, "\n") {
			p.line(strings.TrimRight("# "+l, " \t\r"))
		}
	}
}

// items writes a comma-separated sequence whose entries are optional.
type items struct {
	p *printer
	n int
}

// next starts an entry.
func (it *items) next(parts ...string) {
	if it.n > 0 {
		it.p.w(", ")
	}
	it.n++
	it.p.w(parts...)
}

func (p *printer) declareSymbols() {
	names := make([]string, 0, len(p.dyn))
	for _, n := range p.dyn {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		p.line(n, ` = pl.dynamic("`, n, `")`)
	}
	if len(names) > 0 {
		p.nl()
	}
}

func (p *printer) function(f *Function) {
	p.startNames()
	p.reserve(f)
	for i := range f.Params {
		p.define(f.Params[i].Var)
	}
	p.nameDefs(f.Body)

	p.comments(f.Comments)
	p.start()
	p.w("@pl.function")
	p.decorator(f)
	p.nl()
	p.start()
	p.w("def ", f.Name, "(")
	it := items{p: p}
	if p.method && !isSubWorker(f) {
		it.next("self")
	}
	p.sig = true
	for _, a := range f.Params {
		it.next(p.name(a.Var), ": ")
		if a.Dir != In {
			p.w("pl.", a.Dir.String(), "[")
			p.typ(a.Var.Typ)
			p.w("]")
		} else {
			p.typ(a.Var.Typ)
		}
	}
	p.w(")")
	switch len(f.Returns) {
	case 0:
	case 1:
		p.w(" -> ")
		p.typ(f.Returns[0])
	default:
		p.w(" -> tuple[")
		p.types(f.Returns)
		p.w("]")
	}
	p.sig = false
	p.w(":")
	p.nl()

	p.indent++
	empty := len(f.Body) == 0
	if attrs := funcAttrs(f); len(attrs) > 0 {
		p.start()
		p.w("pl.func_attr(")
		p.attrs(attrs)
		p.w(")")
		p.nl()
	}
	switch {
	case empty && f.External != nil:
		p.line("...")
	case empty:
		p.line("pass")
	default:
		p.stmts(f.Body, nil)
	}
	p.indent--
}

func (p *printer) decorator(f *Function) {
	var b strings.Builder
	kw := func(parts ...string) {
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		for _, s := range parts {
			b.WriteString(s)
		}
	}
	if f.Type != Opaque {
		kw("type=pl.FunctionType.", f.Type.String())
	}
	level, role := f.Level, f.Role
	if p.opt.Derived {
		l, r := f.Type.Defaults()
		level, role = cmp.Or(level, l), cmp.Or(role, r)
	}
	if level != "" {
		kw("level=pl.Level.", level)
	}
	if role != "" {
		kw("role=pl.Role.", role)
	}
	if !f.AutoScope && hasAutoScope(f) {
		kw("auto_scope=False")
	}
	if f.External != nil {
		kw("external_source=", quote(f.External.Source, '"'))
		if len(f.External.IncludeDirs) > 0 {
			dirs := make([]string, len(f.External.IncludeDirs))
			for i, d := range f.External.IncludeDirs {
				dirs[i] = quote(d, '"')
			}
			kw("include_dirs=[", strings.Join(dirs, ", "), "]")
		}
	}
	if b.Len() > 0 {
		p.w("(", b.String(), ")")
	}
}

// hasAutoScope reports whether AutoScope means anything: kernels and wrappers have no runtime scopes.
func hasAutoScope(f *Function) bool { return !f.Type.IsKernel() && !f.Type.IsWrapper() }

// isSubWorker reports a function whose methods take no self: the role is written, or follows from the type.
func isSubWorker(f *Function) bool {
	return f.Role == "SubWorker" || f.Role == "" && (f.Type.IsKernel() || f.Type == Group)
}

// funcAttrs is the content of pl.func_attr: the typed fields that have no decorator keyword, then the carried attributes.
func funcAttrs(f *Function) Attrs {
	var as Attrs
	if f.Split != SplitNone {
		as = append(as, Attr{"split", Enum{"SplitMode", f.Split.String()}})
	}
	if f.DualAIV {
		as = append(as, Attr{"dual_aiv_dispatch", true})
	}
	return append(as, f.Attrs...)
}
