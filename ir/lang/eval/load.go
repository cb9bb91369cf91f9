package eval

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// Options configure a Loader.
type Options struct {
	// ReadFile reads a file; it is the only access to files. An error makes an import try the next place.
	ReadFile func(path string) ([]byte, error)
	// Parse parses the text of a file, or gives the tree that it parsed of the same text before: trees are only read. nil: syntax.Parse.
	Parse func(path string, text []byte) (*syntax.File, diag.List)
	// Roots are searched for imported modules after the folder of the importing file.
	Roots []string
	// Environ is what os.environ holds.
	Environ map[string]string
	// Argv is what sys.argv holds after the program name.
	Argv []string
	// MaxSteps bounds the work of one module statement, about one step for each node evaluated; 0 means 5 million. All statements of a
	// Loader together may use 20 times as much.
	MaxSteps int
}

// Loader evaluates files and keeps one Module for each.
type Loader struct {
	Options
	modules map[string]*Module // by path; packages without a file by path as well
	libs    map[string]*Module // of the standard library
	infos   map[any]*scopeInfo
	foreign map[string]*Class // stand-ins for classes of packages that are not evaluated
	clock   int               // counts DSL definitions, to tell bindings before them from those after
	entry   string            // the first file loaded, sys.argv[0]
	sysPath *List             // sys.path, which programs extend

	files, missing      []string
	fileSet, missingSet map[string]bool
	envRead             map[string]bool
	absent              map[string]diag.Span // modules that were not found → where they are imported first
	diags               diag.List            // of the Load that runs
	tooMuch             bool                 // the total budget is used up, and that was reported

	node    syntax.Node // the operation that runs, in module
	module  *Module
	steps   int // of the module statement that runs
	total   int // of those before
	depth   int
	frames  int
	nested  int
	imports int
	asOf    int // the time at which names are read, see Env; 0 for now
	guarded int // try statements around that handle a failing import

	lenient *syntax.FunctionDef // the function that Module.Run calls
	skipped *fault              // the first one that did not end it
}

// Module is one evaluated file.
type Module struct {
	Path    string       // as given to Load, or found on the search path
	Name    string       // as imported: "pkg.config"
	Tree    *syntax.File // nil for packages without a file and for the standard library
	loader  *Loader
	scope   *scope
	dsls    []*DSL
	texts   []*Applied
	library bool
	dir     string // of a package: where its modules are
}

// NewLoader returns a Loader.
func NewLoader(o Options) *Loader {
	if o.MaxSteps <= 0 {
		o.MaxSteps = defaultSteps
	}
	if o.Parse == nil {
		o.Parse = syntax.Parse
	}
	return &Loader{Options: o, modules: make(map[string]*Module), libs: make(map[string]*Module), infos: make(map[any]*scopeInfo),
		fileSet: make(map[string]bool), missingSet: make(map[string]bool), envRead: make(map[string]bool), absent: make(map[string]diag.Span)}
}

// Load evaluates a file, and what it imports, unless that is done already. The reports are syntax errors, failing asserts and uncaught
// raises of the file and of the files that it imports; names that could not be computed are no reports, but *Poison values. The Module is
// nil only when the file cannot be read.
func (l *Loader) Load(file string) (*Module, diag.List) {
	l.diags = nil
	file = path.Clean(file)
	if m := l.modules[file]; m != nil {
		return m, nil
	}
	src, err := l.readFile(file)
	if err != nil {
		what := err.Error()
		if errors.Is(err, fs.ErrNotExist) {
			what = "no such file"
		}
		return nil, diag.List{diag.Errorf(CodeImport, diag.Span{File: file}, "cannot read %s: %s", file, what)}
	}
	if l.entry == "" {
		l.entry = file
	}
	m := l.run(file, moduleName(file), "", src)
	return m, l.diags.Sort()
}

// moduleName is the __name__ of a file that is loaded by its path; it is never "__main__".
func moduleName(file string) string {
	name := strings.TrimSuffix(path.Base(file), ".py")
	if name == "__main__" {
		return "main"
	}
	return name
}

// Get finds a name of the module; it gives a *Poison when its value could not be computed.
func (m *Module) Get(name string) (Value, bool) { return m.scope.get(name, 0) }

// Names are the names of the module in the order in which they were bound first.
func (m *Module) Names() []string {
	return slices.DeleteFunc(slices.Clone(m.scope.names), func(n string) bool { _, ok := m.scope.get(n, 0); return !ok })
}

// Env is the environment of module code.
func (m *Module) Env() Env { return Env{m.scope, 0, m.loader} }

// DSLs are the DSL functions and classes that this file defines, in the order in which the definitions ran; those made by factories included.
func (m *Module) DSLs() []*DSL { return m.dsls }

// Texts are the calls of pl.parse, pl.loads and their older names that ran in this file, in order.
func (m *Module) Texts() []*Applied { return m.texts }

// Files are the files read so far, in order.
func (l *Loader) Files() []string { return slices.Clone(l.files) }

// Missing are the files that were looked for and not found: their appearance can change a result.
func (l *Loader) Missing() []string { return slices.Clone(l.missing) }

// EnvRead are the environment variables that were asked for, sorted.
func (l *Loader) EnvRead() []string { return slices.Sorted(maps.Keys(l.envRead)) }

// run parses and executes a file. pkg is the folder of a package, when the file is its __init__.
func (l *Loader) run(file, name, pkg string, src []byte) *Module {
	tree, errs := l.Parse(file, src)
	l.diags.Add(errs...)
	m := &Module{Path: file, Name: name, Tree: tree, loader: l, dir: pkg}
	m.scope = newScope(nil, m)
	l.modules[file] = m
	m.scope.bind("__name__", Str(name))
	m.scope.bind("__file__", Str(file))
	m.scope.bind("__doc__", None)
	m.scope.bind("__package__", Str(packageOf(m)))
	fr := &frame{scope: m.scope, module: m}
	guarded, asOf := l.guarded, l.asOf
	l.guarded, l.asOf = 0, 0
	for _, s := range tree.Body {
		l.statement(fr, s)
	}
	l.guarded, l.asOf = guarded, asOf
	return m
}

// packageOf is the dotted name of the package that m belongs to.
func packageOf(m *Module) string {
	if m.dir != "" {
		return m.Name
	}
	if i := strings.LastIndexByte(m.Name, '.'); i >= 0 {
		return m.Name[:i]
	}
	return ""
}

// statement runs one module statement with a budget of its own. When it fails, the names that it binds are poisoned.
func (l *Loader) statement(fr *frame, s syntax.Stmt) {
	saved, steps, node, module := l.mark(), l.steps, l.node, l.module
	l.total += l.steps // an import runs inside a statement: its own work comes on top
	l.steps = 0
	defer func() {
		f := l.caught(recover())
		l.total += l.steps - steps
		l.steps = steps
		l.reset(saved)
		if f != nil {
			l.failed(fr, s, f)
		}
		l.node, l.module = node, module
	}()
	var result Value
	l.exec(fr, s, &result)
}

// failed poisons what a failed module statement binds or changes, and reports what Python itself would not survive: a failed assert and
// an uncaught raise.
func (l *Loader) failed(fr *frame, s syntax.Stmt, f *fault) {
	at := l.spoilBound(fr, s, f)
	switch {
	case f.exc == nil && f.limit && l.total > l.MaxSteps*totalFactor && !l.tooMuch:
		l.tooMuch = true
		l.diags.Add(f.diagnostic(f.at))
	case f.raised && f.exc.Class == excAssertion:
		msg := exceptionMessage(f.exc)
		if msg != "" {
			msg = ": " + msg
		}
		d := diag.Errorf(CodeAssert, f.at, "assertion fails%s", msg)
		if a, ok := f.node.(*syntax.Assert); ok {
			d.Message = fmt.Sprintf("assertion %s fails%s", l.source(f.at.File, a.Cond), msg)
		}
		if f.at.Line != at.Line || f.at.File != at.File {
			d.WithRelated(at, "while this statement runs")
		}
		l.diags.Add(d.WithHint("the module cannot be used with this configuration; check the constants that the condition reads"))
	case f.raised && f.exc.Class != excSystemExit:
		d := diag.Errorf(CodeRaised, f.at, "module code raises %s", f.reason)
		if f.at.Line != at.Line || f.at.File != at.File {
			d.WithRelated(at, "while this statement runs")
		}
		l.diags.Add(d.WithHint("Python could not import this module either; environment variables and arguments are those of the build configuration"))
	}
}

// spoilBound poisons what a failed statement binds or changes; it returns the place of the statement.
func (l *Loader) spoilBound(fr *frame, s syntax.Stmt, f *fault) diag.Span {
	at := s.At().Span(fr.module.Path)
	at.EndLine, at.EndCol = 0, 0
	b := binder{bind: func(name string) {
		if old, ok := fr.scope.get(name, 0); ok {
			if p, isPoison := old.(*Poison); isPoison && p == f.from {
				return // x = x + 1 of a poisoned x: keep the first reason
			}
		}
		fr.scope.bind(name, f.poison(name, at))
	}}
	b.change = func(x syntax.Expr) { l.spoil(fr, x, f, at) }
	b.mutates = func(fun syntax.Expr) bool { return l.isProgramFunc(fr, fun) }
	b.stmt(s)
	return at
}

// isProgramFunc reports whether a call is of a function that the program defines, under its name or as an attribute of a module.
func (l *Loader) isProgramFunc(fr *frame, fun syntax.Expr) bool {
	var v Value
	switch fun := fun.(type) {
	case *syntax.Name:
		v, _ = fr.scope.get(fun.ID, 0)
	case *syntax.Attribute:
		if n, ok := fun.X.(*syntax.Name); ok {
			if x, _ := fr.scope.get(n.ID, 0); x != nil {
				if m, ok := x.(*Module); ok {
					v, _ = m.scope.get(fun.Name, 0)
				}
			}
		}
	}
	_, ok := v.(*Func)
	return ok
}

// source is the text of a condition, for a message.
func (l *Loader) source(file string, x syntax.Expr) string {
	if m := l.modules[file]; m != nil && m.Tree != nil {
		if t := m.Tree.Text(x.At()); t != "" && len(t) <= 120 && !strings.Contains(t, "\n") {
			return "'" + t + "'"
		}
	}
	return "of this line"
}

// spoil poisons the object that a failed statement would have changed: a container under a plain name, or a name of another module.
func (l *Loader) spoil(fr *frame, x syntax.Expr, f *fault, at diag.Span) {
	switch x := x.(type) {
	case *syntax.Name:
		v, ok := fr.scope.get(x.ID, 0)
		if !ok {
			return
		}
		switch v := v.(type) {
		case *List, *Dict, *Set:
			fr.scope.bind(x.ID, f.poison(x.ID, at))
		case *Instance:
			if v.Class != environClass {
				fr.scope.bind(x.ID, f.poison(x.ID, at))
			}
		}
	case *syntax.Attribute:
		if n, ok := x.X.(*syntax.Name); ok {
			if v, ok := fr.scope.get(n.ID, 0); ok {
				if m, ok := v.(*Module); ok && !m.library {
					m.scope.bind(x.Name, f.poison(n.ID+"."+x.Name, at))
				}
			}
		}
	}
}

// Eval computes an expression for its value. The report is nil when there is a value.
func (l *Loader) Eval(env Env, x syntax.Expr) (v Value, d *diag.Diagnostic) {
	if env.scope == nil {
		env.scope = newScope(nil, &Module{loader: l})
	}
	return l.protected(env.scope.module, x, func() Value {
		l.asOf = env.asOf
		return l.eval(&frame{scope: env.scope, module: env.scope.module}, x)
	})
}

// protected runs f at the API's edge.
func (l *Loader) protected(m *Module, at syntax.Node, f func() Value) (v Value, d *diag.Diagnostic) {
	if l.MaxSteps <= 0 {
		l.MaxSteps = defaultSteps
	}
	use := diag.Span{}
	if at != nil && m != nil {
		use = at.At().Span(m.Path)
	}
	l.total, l.steps, l.guarded = 0, 0, 0
	l.reset(mark{})
	l.node, l.module = at, m
	defer func() {
		if f := l.caught(recover()); f != nil {
			v, d = nil, f.diagnostic(use)
		}
		l.asOf = 0
	}()
	return f(), nil
}

// Call calls a function of a module with keyword arguments that are written as Python expressions; it is how factories get their parameters
// from the command line. Arguments are evaluated in the module.
func (l *Loader) Call(m *Module, function string, args map[string]string) (Value, *diag.Diagnostic) {
	where := diag.Span{File: m.Path}
	fn, ok := m.Get(function)
	if !ok {
		return nil, diag.Errorf(CodeArgument, where, "module %s has no function '%s'", m.Name, function)
	}
	if p, ok := fn.(*Poison); ok {
		return nil, p.Diagnostic(p.Span)
	}
	var kws []NamedValue
	for _, name := range slices.Sorted(maps.Keys(args)) {
		x, errs := syntax.ParseExpr("--arg "+name, []byte(args[name]))
		if errs.HasErrors() {
			return nil, errs[0]
		}
		v, d := l.Eval(m.Env(), x)
		if d != nil {
			d.Span = diag.Span{File: "--arg " + name}
			return nil, d
		}
		kws = append(kws, NamedValue{name, v})
	}
	var at syntax.Node
	if f, ok := fn.(*Func); ok && f.Def != nil {
		at = f.Def
		known := f.Def.Params.KwArg != nil
		for _, k := range kws {
			if !known && !slices.ContainsFunc(slices.Collect(f.Def.Params.All()), func(p *syntax.Param) bool { return p.Name == k.Name }) {
				return nil, diag.Errorf(CodeArgument, f.Def.NamePos.Span(m.Path), "function %s has no parameter '%s'", function, k.Name).
					WithHint("its parameters are: %s", paramNames(f.Def.Params))
			}
		}
	}
	return l.protected(m, at, func() Value { return l.call(fn, nil, kws) })
}

// Run calls a function that the module defines, or, when class is not empty, a method of an object that one of its classes makes of the arguments
// made. They are called as they stand in the file: decorators whose effect is unknown are left out, and statements that cannot be evaluated are skipped. It is how functions
// get called that only a test framework calls. The report is nil when every statement was evaluated.
func (m *Module) Run(class string, made []NamedValue, def *syntax.FunctionDef, args []NamedValue) *diag.Diagnostic {
	l := m.loader
	l.lenient, l.skipped = def, nil
	defer func() { l.lenient, l.skipped = nil, nil }()
	_, d := l.protected(m, def, func() Value {
		if class == "" {
			fn, ok := m.Get(def.Name)
			if !ok {
				l.unknown("no function %s", def.Name)
			}
			return l.call(l.asWritten(fn), nil, args)
		}
		c, ok := m.Get(class)
		if !ok {
			l.unknown("no class %s", class)
		}
		x := l.call(l.asWritten(c), nil, made)
		if i, ok := x.(*Instance); ok {
			if p, _, _ := i.Class.findKnown(def.Name); p != nil {
				if p, ok := p.(*Poison); ok {
					var fn Value = &Bound{i, l.asWritten(p)}
					if d, ok := p.written.(*descriptor); ok {
						fn = l.bindClass(d, i.Class)
					}
					return l.call(fn, nil, args)
				}
			}
		}
		return l.call(l.getattr(x, def.Name), nil, args)
	})
	if d == nil && l.skipped != nil {
		d = l.skipped.diagnostic(def.At().Span(m.Path))
	}
	return d
}

// asWritten is the function or class that unknown decorators were applied to.
func (l *Loader) asWritten(v Value) Value {
	if p, ok := v.(*Poison); ok {
		if p.written == nil {
			l.readPoison(p)
		}
		return p.written
	}
	return v
}

func paramNames(ps *syntax.Params) string {
	var names []string
	for p := range ps.All() {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}
