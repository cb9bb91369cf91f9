package eval

import (
	"errors"
	"path"
	"slices"
	"strings"
	"syscall"
)

// Paths and the environment: pathlib.Path, os and os.path. Nothing here touches a file except through Options.ReadFile, and paths stay as they are
// given: none is made absolute.

// Path is a pathlib.Path.
type Path struct{ s string }

func (p *Path) String() string { return p.s }

// clean normalises a path as pathlib does: no repeated or trailing slashes, no "." parts; ".." stays.
func clean(s string) string {
	if s == "" {
		return "."
	}
	root := ""
	if s[0] == '/' {
		root = "/"
	}
	parts := slices.DeleteFunc(strings.Split(s, "/"), func(p string) bool { return p == "" || p == "." })
	if len(parts) == 0 && root == "" {
		return "."
	}
	return root + strings.Join(parts, "/")
}

func join(a, b string) string {
	if strings.HasPrefix(b, "/") || a == "" {
		return b
	}
	if b == "" {
		return strings.TrimSuffix(a, "/") + "/"
	}
	return strings.TrimSuffix(a, "/") + "/" + b
}

// pathText is a str or a Path as text.
func (l *Loader) pathText(v Value) string {
	switch v := v.(type) {
	case Str:
		return string(v)
	case *Path:
		return v.s
	}
	l.notValue(v)
	l.raise(excType, "expected str, bytes or os.PathLike object, not %s", typeName(v))
	return ""
}

func (l *Loader) makePath(args []Value, kws []NamedValue) Value {
	l.want("Path", args, kws, 0, -1)
	s := ""
	for _, a := range args {
		s = join(s, l.pathText(a))
	}
	return &Path{clean(s)}
}

// pathJoin is x / y when one of them is a Path; else nil.
func (l *Loader) pathJoin(x, y Value) Value {
	_, a := x.(*Path)
	_, b := y.(*Path)
	_, aStr := x.(Str)
	_, bStr := y.(Str)
	if !a && !b || !a && !aStr || !b && !bStr {
		return nil
	}
	return &Path{clean(join(l.pathText(x), l.pathText(y)))}
}

func parentOf(s string) string {
	if s == "/" || s == "." {
		return s
	}
	return clean(path.Dir(s) + "/")
}

func (l *Loader) exists(p string) (file, dir bool) {
	_, err := l.readFile(p)
	switch {
	case err == nil:
		return true, false
	case errors.Is(err, syscall.EISDIR):
		return false, true
	}
	return false, false
}

func (l *Loader) readFile(p string) ([]byte, error) {
	if l.ReadFile == nil {
		return nil, errors.New("no files")
	}
	src, err := l.ReadFile(p)
	if err != nil {
		if !l.missingSet[p] {
			l.missingSet[p] = true
			l.missing = append(l.missing, p)
		}
		return nil, err
	}
	if !l.fileSet[p] {
		l.fileSet[p] = true
		l.files = append(l.files, p)
	}
	return src, nil
}

// pathAttr is the attributes and methods of a Path.
func (l *Loader) pathAttr(x *Path, name string) (Value, bool) {
	name0 := path.Base(x.s)
	if x.s == "." {
		name0 = ""
	}
	suffix := func() string {
		if i := strings.LastIndexByte(name0, '.'); i > 0 && i < len(name0)-1 {
			return name0[i:]
		}
		return ""
	}
	method := func(f func(args []Value) Value) (Value, bool) {
		return builtinFunc(name, func(l *Loader, args []Value, kws []NamedValue) Value { return f(args) }), true
	}
	arg := func(args []Value) string {
		l.want(name, args, nil, 1, 1)
		return l.pathText(args[0])
	}
	switch name {
	case "name":
		return Str(name0), true
	case "suffix":
		return Str(suffix()), true
	case "stem":
		return Str(strings.TrimSuffix(name0, suffix())), true
	case "parent":
		return &Path{parentOf(x.s)}, true
	case "parents":
		t := &Tuple{}
		for at := x.s; parentOf(at) != at && len(t.Elems) < 1000; {
			at = parentOf(at)
			t.Elems = append(t.Elems, &Path{at})
		}
		return t, true
	case "parts":
		t := &Tuple{}
		s := x.s
		if strings.HasPrefix(s, "/") {
			t.Elems = append(t.Elems, Str("/"))
			s = s[1:]
		}
		for _, p := range strings.Split(s, "/") {
			if p != "" && p != "." {
				t.Elems = append(t.Elems, Str(p))
			}
		}
		return t, true
	case "resolve", "absolute", "expanduser":
		return method(func([]Value) Value { return x })
	case "as_posix", "__str__", "__fspath__":
		return method(func([]Value) Value { return Str(x.s) })
	case "joinpath":
		return method(func(args []Value) Value { return l.makePath(append([]Value{x}, args...), nil) })
	case "with_name":
		return method(func(args []Value) Value { return &Path{clean(join(parentOf(x.s), arg(args)))} })
	case "with_suffix":
		return method(func(args []Value) Value { return &Path{strings.TrimSuffix(x.s, suffix()) + arg(args)} })
	case "with_stem":
		return method(func(args []Value) Value { return &Path{clean(join(parentOf(x.s), arg(args)+suffix()))} })
	case "is_absolute":
		return method(func([]Value) Value { return Bool(strings.HasPrefix(x.s, "/")) })
	case "exists":
		return method(func([]Value) Value { f, d := l.exists(x.s); return Bool(f || d) })
	case "is_file":
		return method(func([]Value) Value { f, _ := l.exists(x.s); return Bool(f) })
	case "is_dir":
		return method(func([]Value) Value { _, d := l.exists(x.s); return Bool(d) })
	case "read_text":
		return builtinFunc(name, func(l *Loader, args []Value, kws []NamedValue) Value {
			encoding := ""
			if a := l.named(name, args, kws, "encoding", "errors", "newline"); a[0] != nil && a[0] != None {
				encoding = l.argStr(a[0], name)
			}
			return Str(l.fileText(x.s, encoding))
		}), true
	case "read_bytes":
		return method(func([]Value) Value { return Bytes(l.contents(x.s)) })
	case "open":
		return builtinFunc(name, func(l *Loader, args []Value, kws []NamedValue) Value {
			return l.open(append([]Value{x}, args...), kws)
		}), true
	case "relative_to":
		return method(func(args []Value) Value {
			b := clean(arg(args))
			if b == "." && !strings.HasPrefix(x.s, "/") || b == x.s {
				if b == x.s {
					return &Path{"."}
				}
				return x
			}
			rest, ok := strings.CutPrefix(x.s, strings.TrimSuffix(b, "/")+"/")
			if !ok {
				l.raise(excValue, "'%s' is not in the subpath of '%s'", x.s, b)
			}
			return &Path{clean(rest)}
		})
	case "mkdir", "write_text", "unlink", "iterdir", "glob", "rglob", "stat", "touch", "rename":
		return method(func([]Value) Value {
			l.unknown("Path.%s", name)
			return nil
		})
	}
	return nil, false
}

// osModule is the module os with the configured environment.
func (l *Loader) osModule() map[string]Value {
	env := &Dict{}
	names := make([]string, 0, len(l.Environ))
	for n := range l.Environ {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		env.set(n, Str(n), Str(l.Environ[n]))
	}
	environ := &Instance{Class: environClass}
	environ.attrs.set("vars", env)
	return map[string]Value{
		"environ": environ,
		"getenv": builtinFunc("getenv", func(l *Loader, args []Value, kws []NamedValue) Value {
			a := l.named("getenv", args, kws, "key", "default")
			return l.envGet(env, a[0], a[1])
		}),
		"path": l.library("os.path"),
		"sep":  Str("/"), "linesep": Str("\n"), "name": Str("posix"), "pathsep": Str(":"), "curdir": Str("."), "pardir": Str(".."),
		"fspath": builtinFunc("fspath", func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want("fspath", args, kws, 1, 1)
			return Str(l.pathText(args[0]))
		}),
	}
}

// environClass is the type of os.environ: a dict that notes which variables are asked for.
var environClass = builtinClass("_Environ", objectClass, nil)

func init() {
	c := environClass
	vars := func(args []Value) *Dict {
		v, _ := args[0].(*Instance).attrs.get("vars")
		return v.(*Dict)
	}
	c.attrs.set("get", builtinFunc("get", func(l *Loader, args []Value, kws []NamedValue) Value {
		a := l.named("get", args[1:], kws, "key", "default")
		return l.envGet(vars(args), a[0], a[1])
	}))
	c.attrs.set("__getitem__", builtinFunc("__getitem__", func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("__getitem__", args, kws, 2, 2)
		v := l.envGet(vars(args), args[1], nil)
		if v == None {
			l.throw(newException(excKey, args[1]))
		}
		return v
	}))
	c.attrs.set("__contains__", builtinFunc("__contains__", func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("__contains__", args, kws, 2, 2)
		return Bool(l.envGet(vars(args), args[1], nil) != None)
	}))
	set := func(name string, always bool) {
		c.attrs.set(name, builtinFunc(name, func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want(name, args, kws, 3, 3)
			l.argStr(args[1], name)
			l.argStr(args[2], name)
			d := vars(args)
			if _, ok := d.Get(string(args[1].(Str))); always || !ok {
				d.set(l.hash(args[1]), args[1], args[2])
			}
			return l.envGet(d, args[1], nil)
		}))
	}
	set("__setitem__", true)
	set("setdefault", false)
}

func (l *Loader) envGet(env *Dict, key, otherwise Value) Value {
	if key == nil {
		l.raise(excType, "the name of an environment variable is missing")
	}
	n := l.argStr(key, "os.environ")
	l.envRead[n] = true
	if v, ok := env.Get(n); ok {
		return v
	}
	if otherwise == nil {
		return None
	}
	return otherwise
}

// pathFunctions is the module os.path.
func pathFunctions() map[string]Value {
	m := make(map[string]Value)
	put := func(name string, f func(l *Loader, p string) Value) {
		m[name] = builtinFunc(name, func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want(name, args, kws, 1, 1)
			return f(l, l.pathText(args[0]))
		})
	}
	dir := func(p string) string {
		d := p[:strings.LastIndexByte(p, '/')+1]
		if strings.Trim(d, "/") != "" {
			d = strings.TrimRight(d, "/")
		}
		return d
	}
	put("dirname", func(l *Loader, p string) Value { return Str(dir(p)) })
	put("basename", func(l *Loader, p string) Value { return Str(p[strings.LastIndexByte(p, '/')+1:]) })
	for _, n := range []string{"abspath", "realpath", "normpath"} {
		put(n, func(l *Loader, p string) Value { return Str(path.Clean(p)) })
	}
	put("expanduser", func(l *Loader, p string) Value { return Str(p) })
	put("exists", func(l *Loader, p string) Value { f, d := l.exists(p); return Bool(f || d) })
	put("isfile", func(l *Loader, p string) Value { f, _ := l.exists(p); return Bool(f) })
	put("isdir", func(l *Loader, p string) Value { _, d := l.exists(p); return Bool(d) })
	put("isabs", func(l *Loader, p string) Value { return Bool(strings.HasPrefix(p, "/")) })
	put("splitext", func(l *Loader, p string) Value {
		b := p[strings.LastIndexByte(p, '/')+1:]
		ext := ""
		if i := strings.LastIndexByte(b, '.'); i > 0 && strings.Trim(b[:i], ".") != "" {
			ext = b[i:]
		}
		return &Tuple{Elems: []Value{Str(strings.TrimSuffix(p, ext)), Str(ext)}}
	})
	put("split", func(l *Loader, p string) Value {
		return &Tuple{Elems: []Value{Str(dir(p)), Str(p[strings.LastIndexByte(p, '/')+1:])}}
	})
	m["join"] = builtinFunc("join", func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("join", args, kws, 1, -1)
		s := l.pathText(args[0])
		for _, a := range args[1:] {
			s = join(s, l.pathText(a))
		}
		return Str(s)
	})
	return m
}

// base is the last part of a path, as it stands in messages and in sys.argv.
func base(p string) string { return path.Base(p) }

func dirOf(p string) string { return path.Dir(p) }
