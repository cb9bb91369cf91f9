// Package lang is the front end: it reads one file of PyPTO DSL code and gives the programs in it as typed IR in frontend form (not SSA).
//
// Load evaluates the module-level Python of the file (package eval), finds the DSL definitions in it, and lowers each root with everything it
// calls (package lower): a @pl.program class, a @pl.jit entry, standalone @pl.function definitions that no other root calls, and texts given to
// pl.parse. A file that starts with "# pypto.program:" is read as printed IR, of any stage.
//
// Files are read through Options.ReadFile alone. All independent mistakes of the file come in one list.
package lang

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang/eval"
	"github.com/ptobuild/ptobuild/ir/lang/lower"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
	"github.com/ptobuild/ptobuild/ops"
)

// Options say how a file is loaded.
type Options struct {
	Ops *ops.Registry
	// ReadFile reads a file; the only access to files.
	ReadFile func(path string) ([]byte, error)
	// Parse parses the text of a file, or gives the tree that it parsed of the same text before: trees are only read. nil: syntax.Parse.
	Parse func(path string, text []byte) (*syntax.File, diag.List)
	// Roots are searched for imported modules after the folder of the importing file.
	Roots []string
	// Args are values for scalar parameters of jit entries and for the parameters of Factory, written as Python literals.
	Args map[string]string
	// Entry selects the root of this name; "" takes all.
	Entry string
	// Skip leaves out the roots and factories of these names: they are loaded with other Args.
	Skip []string
	// Factory is a function of the file that returns a program or DSL function; it is called with Args.
	Factory string
	// Environ and Argv are what the file's Python code sees as os.environ and sys.argv.
	Environ map[string]string
	Argv    []string
	// Exists reports whether a file is there (sources of external kernels); nil: not checked.
	Exists func(path string) bool
}

// Unit is what a file holds.
type Unit struct {
	Programs []*ir.Program
	// Files are all files that were read, the loaded one first; Missing those that imports looked for in vain: their appearance can
	// change the result.
	Files, Missing []string
	// EnvRead are the environment variables that were asked for.
	EnvRead []string
	// Params are the parameters of jit entries that Args can set, in order of declaration.
	Params   []string
	Warnings diag.List // warnings and notes
}

// note remembers the errors of the parser.
func (l *loading) note(ds diag.List) {
	for _, d := range ds {
		if strings.HasPrefix(string(d.Code), "PTO-P") {
			l.parse.Add(d)
		}
	}
}

// damaged reports whether the parser found errors in a part of a file.
func (l *loading) damaged(file string, at syntax.Range) bool {
	return slices.ContainsFunc(l.parse, func(d *diag.Diagnostic) bool {
		return d.Span.File == file && d.Span.Line >= at.Start.Line && d.Span.Line <= at.End.Line
	})
}

// dumpHeader starts printed IR.
const dumpHeader = "# pypto.program:"

// missingImport reports a file that decorates with pl but never imports it: its names mean nothing, so nothing in it is a program.
func missingImport(file string, text []byte) diag.List {
	line, n := 1, 0
	for l := range bytes.Lines(text) {
		if bytes.Contains(l, []byte("pypto")) {
			return nil
		}
		if n == 0 && bytes.HasPrefix(l, []byte("@pl.")) {
			n = line
		}
		line++
	}
	if n == 0 {
		return nil
	}
	at := diag.Span{File: file, Line: int32(n), Col: 2, EndLine: int32(n), EndCol: 4}
	return diag.List{diag.Errorf(CodeImport, at, "name 'pl' is not defined: this file does not import the language").
		WithHint("add `import pypto.language as pl` at the top")}
}

// Load reads one file. The list holds the errors; the unit is never nil and holds the programs that have none.
func Load(file string, opt Options) (*Unit, diag.List) {
	l := &loading{opt: opt, texts: map[string][]byte{}, used: map[*eval.DSL]bool{}}
	// Like Python, modules are found beside the loaded file wherever they are imported.
	roots := append([]string{path.Dir(file)}, opt.Roots...)
	l.loader = eval.NewLoader(eval.Options{ReadFile: l.readFile, Parse: opt.Parse, Roots: roots, Environ: opt.Environ, Argv: opt.Argv})
	l.unit = &Unit{}
	m, ds := l.loader.Load(file)
	l.add(ds)
	l.note(ds)
	if m != nil && m.Tree != nil {
		l.module(m)
	}
	if len(l.unit.Programs) == 0 && !l.errors.HasErrors() {
		l.errors.Add(missingImport(file, l.texts[file])...)
	}
	l.unit.Files, l.unit.Missing, l.unit.EnvRead, l.unit.Params = l.files(), l.loader.Missing(), l.loader.EnvRead(), l.params
	l.unit.Warnings = l.unit.Warnings.Sort()
	return l.unit, onePerCause(l.errors.Sort())
}

// onePerCause keeps the first of the reports about constants that are unknown for the same reason: one failing line or import can spoil every name of a file.
func onePerCause(ds diag.List) diag.List {
	seen := map[diag.Related]bool{}
	return slices.DeleteFunc(ds, func(d *diag.Diagnostic) bool {
		if d.Code != eval.CodePoisoned && d.Code != eval.CodeNoModule || len(d.Related) == 0 {
			return false
		}
		cause := d.Related[len(d.Related)-1]
		again := seen[cause]
		seen[cause] = true
		return again
	})
}

// loading is one call of Load.
type loading struct {
	opt    Options
	loader *eval.Loader
	unit   *Unit
	errors diag.List
	texts  map[string][]byte // what was read, and the texts of pl.parse under names of their own
	used   map[*eval.DSL]bool
	roots  []string  // names of all roots, for suggestions
	params []string  // names of the parameters of all entries
	parse  diag.List // errors of the parser
}

func (l *loading) readFile(name string) ([]byte, error) {
	if text, ok := l.texts[name]; ok {
		return text, nil
	}
	text, err := l.opt.ReadFile(name)
	if err == nil {
		l.texts[name] = text
	}
	return text, err
}

// files lists the real files among those that were read.
func (l *loading) files() []string {
	return slices.DeleteFunc(slices.Clone(l.loader.Files()), isText)
}

func (l *loading) add(ds diag.List) {
	for _, d := range ds {
		if d.Severity == diag.Error {
			l.errors.Add(d)
		} else {
			l.unit.Warnings.Add(d)
		}
	}
}

func (l *loading) options() lower.Options {
	return lower.Options{Ops: l.opt.Ops, Damaged: l.damaged, Args: l.opt.Args, Exists: l.opt.Exists, Source: func(file string) []byte { return l.texts[file] }}
}

// dumpName is the program name in the head of printed IR, "" for all other files.
func (l *loading) dumpName(file string) string {
	text := l.texts[file]
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if line[0] != '#' {
			return ""
		}
		if rest, ok := bytes.CutPrefix(line, []byte(dumpHeader)); ok {
			if name := string(bytes.TrimSpace(rest)); name != "" {
				return name
			}
			return "Program"
		}
	}
	return ""
}

// module lowers the roots of an evaluated file.
func (l *loading) module(m *eval.Module) {
	defs := m.DSLs()
	var found []*eval.DSL // inside of functions that nothing calls
	if l.opt.Factory != "" {
		v, d := l.loader.Call(m, l.opt.Factory, l.opt.Args)
		if d != nil {
			l.errors.Add(d)
			return
		}
		dsl, ok := v.(*eval.DSL)
		if !ok {
			l.errors.Add(diag.Errorf(CodeFactory, diag.Span{File: m.Path}, "the factory '%s' returned no program or DSL function", l.opt.Factory).
				WithHint("it must return a @pl.program class or a decorated function"))
			return
		}
		defs = []*eval.DSL{dsl}
	}
	if l.opt.Factory == "" {
		roots := slices.ContainsFunc(defs, func(d *eval.DSL) bool {
			return d.Kind == eval.Program || d.Kind == eval.Jit || d.Kind == eval.JitHost || d.Kind == eval.Function
		})
		found = l.discover(m, roots)
	}
	dump := l.dumpName(m.Path)
	var loose, alone []*eval.DSL
	for i, dsl := range append(slices.Clone(defs), found...) {
		if d := lower.CheckDecorated(dsl); d != nil {
			l.errors.Add(d)
			continue
		}
		switch dsl.Kind {
		case eval.Program:
			if l.wanted(dsl.Name) {
				l.take(l.class(dsl, m.Path, dump, l.options()))
			}
		case eval.Jit, eval.JitHost:
			if l.wanted(dsl.Name) {
				l.take(lower.Entry(dsl, l.options()))
			}
		case eval.Function:
			if i < len(defs) {
				loose = append(loose, dsl)
			} else {
				alone = append(alone, dsl)
			}
		default:
			if l.opt.Factory != "" {
				l.take(lower.Functions(dsl.Name, []*eval.DSL{dsl}, dump != "", l.options()))
			}
		}
	}
	// Standalone functions that no program took in make one of their own.
	loose = slices.DeleteFunc(loose, func(d *eval.DSL) bool { return l.used[d] })
	if len(loose) > 0 {
		name := stem(m.Path)
		if len(loose) == 1 {
			name = loose[0].Name
		}
		if l.wanted(name) || slices.ContainsFunc(loose, func(d *eval.DSL) bool { return l.wanted(d.Name) }) {
			l.take(lower.Functions(name, loose, dump != "", l.options()))
		}
	}
	l.alone(alone)
	l.parsed(m)
	if l.opt.Factory == "" && len(l.roots) == 0 && len(l.errors) == 0 {
		l.inlines(m, append(defs, found...), dump != "")
	}
	if l.opt.Factory == "" && len(l.params) > 0 {
		l.checkArgs(m.Path)
	}
	if l.opt.Entry != "" && len(l.unit.Programs) == 0 && len(l.errors) == 0 {
		d := diag.Errorf(CodeEntry, diag.Span{File: m.Path}, "no program or entry function '%s'", l.opt.Entry)
		if best := diag.Nearest(l.opt.Entry, l.roots); best != "" {
			d.WithHint("did you mean '%s'?", best)
		} else if len(l.roots) > 0 {
			d.WithHint("the file has %s", strings.Join(l.roots, ", "))
		}
		l.errors.Add(d)
	}
}

// alone makes a program of each standalone function of a test, with those that it calls; what the others call is no program of its own.
func (l *loading) alone(list []*eval.DSL) {
	var results []lower.Result
	called := map[*eval.DSL]bool{}
	for _, dsl := range list {
		r := lower.Functions(dsl.Name, []*eval.DSL{dsl}, false, l.options())
		results = append(results, r)
		for _, d := range r.Used {
			called[d] = called[d] || d != dsl
		}
	}
	for i, dsl := range list {
		if !called[dsl] && !l.used[dsl] && l.wanted(dsl.Name) {
			l.take(results[i])
		}
	}
}

// inlines makes a program of the inline functions of a file that has nothing else. Those that mean something only where they are called, because their
// parameters have no types, stay out; the reports come where they are called.
func (l *loading) inlines(m *eval.Module, defs []*eval.DSL, dump bool) {
	var ok []*eval.DSL
	for _, d := range defs {
		if d.Kind == eval.Inline && !lower.Functions(d.Name, []*eval.DSL{d}, dump, l.options()).Diags.HasErrors() {
			ok = append(ok, d)
		}
	}
	if len(ok) == 0 {
		return
	}
	r := lower.Functions(stem(m.Path), ok, dump, l.options())
	if r.Program != nil {
		for _, f := range r.Program.Funcs {
			if f.Type == ir.Opaque {
				f.Type = ir.Inline
			}
		}
	}
	l.take(r)
}

// class lowers a @pl.program class. dump is its name in printed IR, "" otherwise.
func (l *loading) class(dsl *eval.DSL, file, dump string, opt lower.Options) lower.Result {
	r := lower.Class(dsl, dump, opt)
	if dump != "" && r.Program != nil {
		ir.RestoreHints(r.Program, string(l.texts[file]))
	}
	return r
}

// checkArgs reports values for parameters that no entry of the file has.
func (l *loading) checkArgs(file string) {
	for _, name := range slices.Sorted(maps.Keys(l.opt.Args)) {
		if slices.Contains(l.params, name) {
			continue
		}
		d := diag.Errorf(CodeArgs, diag.Span{File: file}, "no entry has a parameter '%s'", name)
		if best := diag.Nearest(name, l.params); best != "" {
			d.WithHint("did you mean '%s'?", best)
		}
		l.errors.Add(d)
	}
}

// stem is the name of a file without folder and extension.
func stem(file string) string { return strings.TrimSuffix(path.Base(file), path.Ext(file)) }

func (l *loading) wanted(name string) bool {
	l.roots = append(l.roots, name)
	return (l.opt.Entry == "" || l.opt.Entry == name) && !slices.Contains(l.opt.Skip, name)
}

// take keeps a lowered program.
func (l *loading) take(r lower.Result) {
	l.add(r.Diags)
	for _, d := range r.Used {
		l.used[d] = true
	}
	l.params = append(l.params, r.Args...)
	if r.Program == nil || r.Diags.HasErrors() || len(l.parse) > 0 || len(r.Program.Funcs) == 0 {
		return
	}
	l.unit.Programs = append(l.unit.Programs, r.Program)
}

// parsed lowers the texts that the module, or a test in it, gave to pl.parse and pl.loads.
func (l *loading) parsed(m *eval.Module) {
	names := map[*eval.Applied]string{}
	for _, n := range m.Names() {
		v, _ := m.Get(n)
		if a, ok := v.(*eval.Applied); ok && names[a] == "" {
			names[a] = n
		}
	}
	for i, a := range m.Texts() {
		if len(a.Args) == 0 {
			continue
		}
		str, isText := a.Args[0].(eval.Str)
		if !isText {
			continue
		}
		text, name := string(str), names[a]
		if name == "" {
			name = fmt.Sprintf("text %d", i+1)
		}
		what := strings.TrimPrefix(a.Fun.(*eval.Symbol).Path, "pypto.language.")
		file := text
		if strings.HasPrefix(what, "parse") {
			file = textName(m.Path, name)
			l.texts[file] = withImport(text)
		} else if !path.IsAbs(file) {
			file = path.Join(path.Dir(m.Path), file)
		}
		if l.wanted(name) {
			l.text(file, strings.HasSuffix(what, "_program"), a.Span)
		}
	}
}

// withImport makes pl known in a text that does not import it itself.
func withImport(text string) []byte {
	if strings.Contains(text, "import ") {
		return []byte(text)
	}
	// On the first line when that is empty, so that the lines of reports are those of the text.
	const line = "import pypto.language as pl, pypto.language.distributed as pld"
	if strings.HasPrefix(text, "\n") {
		return []byte(line + text)
	}
	return []byte(line + "\n" + text)
}

// textName is the file name under which reports show a text given to pl.parse.
func textName(file, name string) string { return file + "<" + name + ">" }

func isText(file string) bool { return strings.HasSuffix(file, ">") }

// text lowers one text: it holds exactly one program or function.
func (l *loading) text(file string, program bool, at diag.Span) {
	m, ds := l.loader.Load(file)
	l.add(ds)
	l.note(ds)
	if m == nil {
		return
	}
	defs := m.DSLs()
	switch {
	case len(defs) == 0:
		l.errors.Add(diag.Errorf(CodeNothing, at, "No @pl.function or @pl.program found in the text"))
		return
	case len(defs) > 1:
		l.errors.Add(diag.Errorf(CodeSeveral, at, "Multiple functions/programs found in the text: %s and %s", defs[0].Name, defs[1].Name).WithHint("pl.parse takes one"))
		return
	case program && defs[0].Kind != eval.Program:
		l.errors.Add(diag.Errorf(CodeSeveral, at, "Expected @pl.program but found @pl.%s", defs[0].Kind))
		return
	}
	if d := lower.CheckDecorated(defs[0]); d != nil {
		l.errors.Add(d)
		return
	}
	opt := l.options()
	opt.OpenNames = true
	dump := l.dumpName(file)
	if defs[0].Kind == eval.Program {
		l.take(l.class(defs[0], file, dump, opt))
	} else {
		l.take(lower.Functions(defs[0].Name, defs, dump != "", opt))
	}
}
