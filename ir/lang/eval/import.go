package eval

import (
	"path"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// Imports. A module is looked for in the folder of the importing file, in the roots, and in what the program adds to sys.path. What is not
// found there, and is not of the standard library, becomes a symbol.

func firstPart(name string) string {
	first, _, _ := strings.Cut(name, ".")
	return first
}

func (l *Loader) importStmt(fr *frame, s *syntax.Import) {
	for _, a := range s.Names {
		l.at(fr, a)
		v := l.importModule(fr.module, a.Name)
		if a.As == "" && strings.Contains(a.Name, ".") {
			v = l.importModule(fr.module, firstPart(a.Name))
		}
		l.assignName(fr, boundName(a), v)
	}
}

func (l *Loader) importFrom(fr *frame, s *syntax.ImportFrom) {
	l.at(fr, s)
	if s.Level == 0 && s.Module == "__future__" {
		return
	}
	from := l.fromModule(fr.module, s)
	for _, a := range s.Names {
		if a.Name == "*" {
			l.importAll(fr, from)
			return
		}
		l.at(fr, a)
		v, ok := l.importedName(from, a.Name)
		if !ok {
			m := from.(*Module)
			l.raise(excImport, "cannot import name '%s' from '%s' (%s)", a.Name, m.Name, m.Path)
		}
		l.assignName(fr, boundName(a), v)
	}
}

// importedName reads a name of a module for "from m import name"; a poisoned one is passed on as it is, so that it fails where it is used.
func (l *Loader) importedName(from Value, name string) (Value, bool) {
	m, ok := from.(*Module)
	if !ok {
		return l.attribute(from, name)
	}
	if v, ok := m.scope.get(name, 0); ok {
		return v, true
	}
	if m.dir != "" {
		if sub := l.find([]string{m.dir}, m.Name+".", name); sub != nil {
			return sub, true
		}
	}
	if m.library {
		return &Symbol{m.Name + "." + name}, true
	}
	return nil, false
}

func (l *Loader) importAll(fr *frame, from Value) {
	m, ok := from.(*Module)
	if !ok {
		l.unknown("the names of %s", shortRepr(from))
	}
	if all, ok := m.scope.get("__all__", 0); ok {
		for _, n := range l.elems(all) {
			name := l.argStr(n, "__all__")
			v, ok := l.importedName(m, name)
			if !ok {
				l.raise(excAttribute, "module '%s' has no attribute '%s'", m.Name, name)
			}
			l.assignName(fr, name, v)
		}
		return
	}
	for _, n := range m.Names() {
		if v, ok := m.scope.get(n, 0); ok && !strings.HasPrefix(n, "_") {
			l.assignName(fr, n, v)
		}
	}
}

// fromModule finds the module of a from statement.
func (l *Loader) fromModule(in *Module, s *syntax.ImportFrom) Value {
	if s.Level == 0 {
		return l.importModule(in, s.Module)
	}
	dir := path.Dir(in.Path)
	if in.dir != "" {
		dir = in.dir
	}
	pkg := packageOf(in)
	for range s.Level - 1 {
		dir = path.Join(dir, "..")
		if i := strings.LastIndexByte(pkg, '.'); i >= 0 {
			pkg = pkg[:i]
		} else {
			pkg = ""
		}
	}
	prefix := pkg
	if prefix != "" {
		prefix += "."
	}
	if s.Module == "" {
		return l.pkg(dir, pkg)
	}
	if m := l.find([]string{dir}, prefix, s.Module); m != nil {
		return m
	}
	l.raise(excNotFound, "No module named '%s' (looked for %s)", strings.Repeat(".", s.Level)+s.Module, path.Join(dir, strings.ReplaceAll(s.Module, ".", "/"))+".py")
	return nil
}

// importModule is the value of "import name".
func (l *Loader) importModule(in *Module, name string) Value {
	if firstPart(name) == dslRoot {
		return &Symbol{name}
	}
	if m := l.find(l.searchPath(in), "", name); m != nil {
		return m
	}
	if m := l.library(name); m != nil {
		return m
	}
	if l.guarded > 0 && !strings.Contains(standardLibrary, " "+firstPart(name)+" ") {
		l.unknown("whether the package %s is installed", name)
	}
	if _, again := l.absent[name]; !again && l.node != nil {
		l.absent[name] = l.node.At().Span(l.module.Path)
	}
	return &Symbol{name}
}

// Absent reports a value that comes from a module which was looked for and not found: "shapes.N" of the module "shapes". At is where it is imported first.
func (e Env) Absent(s *Symbol) (module string, at diag.Span, ok bool) {
	for module = s.Path; e.loader != nil; {
		if at, ok = e.loader.absent[module]; ok {
			return module, at, true
		}
		i := strings.LastIndexByte(module, '.')
		if i < 0 {
			break
		}
		module = module[:i]
	}
	return "", diag.Span{}, false
}

// standardLibrary lists the modules that every Python has.
const standardLibrary = " abc argparse array ast asyncio base64 bisect builtins calendar cmath collections concurrent configparser contextlib copy csv ctypes " +
	"dataclasses datetime decimal difflib enum errno fnmatch fractions functools gc glob gzip hashlib heapq hmac html http importlib inspect io ipaddress " +
	"itertools json keyword linecache locale logging math mimetypes multiprocessing numbers operator os pathlib pickle pkgutil platform pprint queue random re " +
	"secrets shlex shutil signal socket sqlite3 stat statistics string struct subprocess sys sysconfig tempfile textwrap threading time timeit traceback types " +
	"typing unicodedata unittest urllib uuid warnings weakref xml zipfile zlib "

func (l *Loader) searchPath(in *Module) []string {
	var dirs []string
	add := func(d string) {
		for _, have := range dirs {
			if have == d {
				return
			}
		}
		dirs = append(dirs, d)
	}
	if in != nil {
		add(path.Dir(in.Path))
	}
	for _, r := range l.Roots {
		add(r)
	}
	if l.sysPath != nil {
		for _, v := range l.sysPath.Elems {
			switch v := v.(type) {
			case Str:
				add(path.Clean(string(v)))
			case *Path:
				add(v.s)
			}
		}
	}
	return dirs
}

// find loads the module "a.b.c" from the first folder that has it, and binds each part in the one before. It returns nil when there is none.
func (l *Loader) find(dirs []string, prefix, name string) *Module {
	for _, dir := range dirs {
		at, full := dir, prefix
		var outer, m *Module
		parts := strings.Split(name, ".")
		for i, part := range parts {
			full += part
			m = l.findIn(at, part, full)
			if m == nil && i < len(parts)-1 {
				// A folder without __init__.py is a package if it has the module that is asked for.
				if !l.hasModule(path.Join(at, part), parts[i+1:]) {
					break
				}
				m = l.pkg(path.Join(at, part), full)
			}
			if m == nil {
				break
			}
			if outer != nil {
				if _, ok := outer.scope.get(part, 0); !ok {
					outer.scope.bind(part, m)
				}
			}
			outer, at = m, path.Join(at, part)
			full += "."
		}
		if m != nil {
			return m
		}
	}
	return nil
}

// hasModule reports whether a folder holds the module.
func (l *Loader) hasModule(dir string, parts []string) bool {
	for i, p := range parts {
		if i == len(parts)-1 {
			if f, _ := l.exists(path.Join(dir, p+".py")); f {
				return true
			}
		}
		dir = path.Join(dir, p)
		if f, _ := l.exists(path.Join(dir, "__init__.py")); f {
			return true
		}
	}
	return false
}

// findIn loads one module or package from a folder.
func (l *Loader) findIn(dir, part, full string) *Module {
	for _, c := range [2]struct{ file, pkg string }{{path.Join(dir, part, "__init__.py"), path.Join(dir, part)}, {path.Join(dir, part+".py"), ""}} {
		if m := l.modules[c.file]; m != nil {
			return m
		}
		if src, err := l.readFile(c.file); err == nil {
			if l.imports >= maxImports {
				l.over("imports nested more than %d deep", maxImports)
			}
			l.imports++
			m := l.run(c.file, full, c.pkg, src)
			l.imports--
			return m
		}
	}
	return nil
}

// maxImports bounds the recursion of imports.
const maxImports = 200

// pkg is the module of a folder without __init__.py.
func (l *Loader) pkg(dir, name string) *Module {
	if m := l.findIn(path.Dir(dir), path.Base(dir), name); m != nil && m.dir != "" {
		return m
	}
	key := dir + "/"
	if m := l.modules[key]; m != nil {
		return m
	}
	m := &Module{Path: dir, Name: name, loader: l, dir: dir}
	m.scope = newScope(nil, m)
	l.modules[key] = m
	return m
}
