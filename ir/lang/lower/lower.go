// Package lower turns DSL functions into IR: the frontend form of a program, typed, with spans, not yet SSA (assigning a name again assigns
// the same *ir.Var).
//
// One body parser serves the three dialects: methods of a @pl.program class, @pl.jit functions, and printed IR (dumps). A Unit collects the
// functions of one program; functions that are called by bare name (jit dependencies, standalone @pl.function) are lowered on demand, with their own
// closure and file, and stand before their first caller.
//
// A mistake becomes a diag report and poisons only the names that its statement would have defined: whatever depends on them stays
// silent, everything else is still checked.
package lower

import (
	"fmt"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang/eval"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
	"github.com/ptobuild/ptobuild/ops"
)

// Mode is the dialect of a function.
type Mode uint8

const (
	Program Mode = iota // a method of a @pl.program class, or a standalone @pl.function
	JIT                 // a @pl.jit function
	Dump                // the printed form of IR, of any stage
)

// Options are what all programs of a file share.
type Options struct {
	Ops *ops.Registry
	// Args gives values to scalar parameters of a jit entry, written as Python literals.
	Args map[string]string
	// Source returns the text of a file; HOST SubWorker bodies are kept verbatim.
	Source func(file string) []byte
	// Exists reports whether the source file of an external kernel is there; nil: not checked.
	Exists func(path string) bool
	// OpenNames makes unknown names in shapes dynamic symbols: texts given to pl.parse have no module around them.
	OpenNames bool
	// Damaged reports a part of a file in which the parser found errors. Functions with such a part are left out.
	Damaged func(file string, at syntax.Range) bool
}

// Result is a lowered program.
type Result struct {
	Program *ir.Program
	Diags   diag.List
	Used    []*eval.DSL // the functions called by bare name that the program took in
	Args    []string    // the parameters of a jit entry that could have been given a value
}

// Unit lowers the functions of one program.
type Unit struct {
	opt   Options
	prog  *ir.Program
	diags diag.List
	mode  Mode

	methods   map[string]*function // by the name after "self."
	order     []*function          // methods in source order
	bare      map[bareKey]*function
	byFunc    map[string]*function // every function of the program by its final name
	dyn       map[string]*ir.Var   // pl.dynamic symbols
	strictSSA bool
	reported  map[string]bool
	used      []*eval.DSL
	args      []string
}

// bareKey identifies an instance of a function that is called by bare name.
type bareKey struct {
	dsl  *eval.DSL
	inst string // the argument types its bare annotations were bound to
}

// function is one function of the program.
type function struct {
	name  string
	dsl   *eval.DSL // nil for methods found in a class tree
	def   *syntax.FunctionDef
	file  *syntax.File
	env   eval.Env
	mode  Mode
	decl  decl
	out   *ir.Function
	body  *body
	state state
	// broken: its signature has errors that were reported; calls of it are not checked.
	broken bool
	// damaged: the parser found errors in it, so its body is not read.
	damaged bool
	// annotated: the result types are written, not derived.
	annotated bool
	bind      []bound // jit: what the call gives to parameters that their annotation leaves open
	fixed     []int   // positions of parameters with a fixed value: they are none in the IR
	entry     bool
}

type state uint8

const (
	found   state = iota
	signing       // its signature is being read
	signed        // the signature is known
	lowering
	lowered
)

func newUnit(name string, mode Mode, at diag.Span, opt Options) *Unit {
	return &Unit{
		opt: opt, mode: mode, prog: &ir.Program{Name: name, Pos: at},
		methods: map[string]*function{}, bare: map[bareKey]*function{}, byFunc: map[string]*function{},
		dyn: map[string]*ir.Var{}, reported: map[string]bool{},
	}
}

// report adds a report, once for each place and message.
func (u *Unit) report(d *diag.Diagnostic) {
	key := fmt.Sprintf("%s:%s:%s", d.Span, d.Code, d.Message)
	if !u.reported[key] {
		u.reported[key] = true
		u.diags.Add(d)
	}
}

func (u *Unit) errorf(code diag.Code, at diag.Span, format string, args ...any) *diag.Diagnostic {
	d := diag.Errorf(code, at, format, args...)
	u.report(d)
	return d
}

func (u *Unit) warnf(code diag.Code, at diag.Span, format string, args ...any) *diag.Diagnostic {
	d := diag.Warningf(code, at, format, args...)
	u.report(d)
	return d
}

// CheckDecorated reports a class or function with the decorator of the other.
func CheckDecorated(dsl *eval.DSL) *diag.Diagnostic {
	switch {
	case dsl.Kind == eval.Program && dsl.Class == nil:
		return diag.Errorf(CodeDecorator, dsl.Decorator.At().Span(dsl.File.Path), "pl.program decorates a class, and '%s' is a function", dsl.Name).
			WithHint("use @pl.function")
	case dsl.Kind != eval.Program && dsl.Func == nil:
		return diag.Errorf(CodeDecorator, dsl.Decorator.At().Span(dsl.File.Path), "pl.%s decorates a function, and '%s' is a class", dsl.Kind, dsl.Name).
			WithHint("use @pl.program")
	}
	return nil
}

// Class lowers a @pl.program class. With a name, that of the head of a dump, its methods are read as printed IR.
func Class(dsl *eval.DSL, dumpName string, opt Options) Result {
	mode, cls := Program, dsl.Class
	dump := dumpName != ""
	name := cls.Name
	if dump {
		mode, name = Dump, dumpName
	}
	u := newUnit(name, mode, cls.NamePos.Span(dsl.File.Path), opt)
	u.programOptions(dsl)
	for _, s := range cls.Body {
		def, ok := s.(*syntax.FunctionDef)
		if !ok {
			continue
		}
		deco := u.functionDecorator(def)
		if deco == nil {
			continue
		}
		at := def.NamePos.Span(dsl.File.Path)
		if prev := u.methods[def.Name]; prev != nil {
			u.errorf(CodeFunction, at, "Duplicate function name '%s'", def.Name).
				WithRelated(prev.span(), "first defined here").WithHint("function names are unique in a program; rename one of them")
			continue
		}
		f := &function{name: def.Name, def: def, file: dsl.File, env: dsl.Env, mode: mode}
		f.body = newBody(u, f)
		f.decl = u.functionDecl(f, deco)
		u.methods[def.Name] = f
		u.byFunc[def.Name] = f
		u.order = append(u.order, f)
	}
	if len(u.order) == 0 && !dump {
		u.errorf(CodeFunction, u.prog.Pos, "Class '%s' contains no @pl.function decorated methods", cls.Name).
			WithHint("decorate the functions of the program with @pl.function(type=…)")
	}
	for _, f := range u.order {
		u.signature(f)
	}
	for _, f := range u.order {
		u.lower(f)
	}
	return u.finish()
}

// Entry lowers a jit entry with everything it calls.
func Entry(dsl *eval.DSL, opt Options) Result {
	u := newUnit(dsl.Func.Name, JIT, dsl.Func.NamePos.Span(dsl.File.Path), opt)
	f := u.require(dsl, nil)
	f.entry = true
	u.lower(f)
	return u.finish()
}

// Functions lowers standalone functions into a program of their own.
func Functions(name string, list []*eval.DSL, dump bool, opt Options) Result {
	mode := Program
	if dump {
		mode = Dump
	}
	u := newUnit(name, mode, list[0].Func.NamePos.Span(list[0].File.Path), opt)
	for _, dsl := range list {
		u.order = append(u.order, u.require(dsl, nil))
	}
	for _, f := range u.order {
		u.lower(f)
	}
	return u.finish()
}

func (u *Unit) finish() Result {
	u.pipeBuffers()
	return Result{Program: u.prog, Diags: u.diags.Sort(), Used: u.used, Args: u.args}
}

func (f *function) kind() eval.Kind {
	if f.dsl == nil {
		return eval.Function
	}
	return f.dsl.Kind
}

func (f *function) span() diag.Span { return f.def.NamePos.Span(f.file.Path) }

// lower reads the body of a function, once.
func (u *Unit) lower(f *function) {
	if f.state >= lowering {
		return
	}
	u.signature(f)
	f.state = lowering
	if f.damaged {
		f.broken = true
		f.state = lowered
		return
	}
	f.body.lower()
	f.state = lowered
	u.prog.Funcs = append(u.prog.Funcs, f.out)
}

// require finds or makes the function for a DSL function that is used by bare name.
func (u *Unit) require(dsl *eval.DSL, bind []bound) *function {
	key := bareKey{dsl: dsl, inst: instanceKey(bind)}
	if f := u.bare[key]; f != nil {
		return f
	}
	mode := Program
	switch {
	case u.mode == Dump:
		mode = Dump
	case isJIT(dsl.Kind):
		mode = JIT
	}
	name := dsl.Func.Name
	for i := 2; u.byFunc[name] != nil; i++ {
		name = fmt.Sprintf("%s__%d", dsl.Func.Name, i)
	}
	f := &function{name: name, dsl: dsl, def: dsl.Func, file: dsl.File, env: dsl.Env, mode: mode, bind: bind}
	f.body = newBody(u, f)
	f.decl = u.bareDecl(f)
	u.bare[key] = f
	u.used = append(u.used, dsl)
	u.byFunc[name] = f
	return f
}

// functionNames lists what can be called as self.NAME.
func (u *Unit) functionNames() []string {
	names := make([]string, 0, len(u.order))
	for _, f := range u.order {
		names = append(names, f.name)
	}
	slices.Sort(names)
	return names
}
