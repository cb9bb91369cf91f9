package eval

import (
	"strings"
	"unicode/utf8"
)

// Files that programs read. They go through Options.ReadFile like modules, so a build knows them as its inputs; nothing can be written.

var fileClass = builtinClass("TextIOWrapper", objectClass, nil)

// open is the function open and Path.open: the whole text is there at once, and reading takes it away.
func (l *Loader) open(args []Value, kws []NamedValue) Value {
	a := l.named("open", args, kws, "file", "mode", "buffering", "encoding", "errors", "newline")
	if a[0] == nil {
		l.raise(excType, "open() missing required argument 'file' (pos 1)")
	}
	mode := "r"
	if a[1] != nil {
		mode = l.argStr(a[1], "open")
	}
	if strings.ContainsAny(mode, "wax+") {
		l.unknown("a file that is opened for writing: module code can only read files")
	}
	path := l.pathText(a[0])
	f := &Instance{Class: fileClass}
	f.attrs.set("name", Str(path))
	if strings.Contains(mode, "b") {
		f.attrs.set("rest", Bytes(l.contents(path)))
		return f
	}
	if a[5] != nil && a[5] != None {
		l.unknown("the argument 'newline' of open")
	}
	encoding := ""
	if a[3] != nil && a[3] != None {
		encoding = l.argStr(a[3], "open")
	}
	f.attrs.set("rest", Str(l.fileText(path, encoding)))
	return f
}

// fileText is the text that a file holds, its lines ended by newlines alone.
func (l *Loader) fileText(path, encoding string) string {
	s := l.contents(path)
	switch encoding = strings.ReplaceAll(strings.ToLower(encoding), "_", "-"); encoding {
	case "", "utf-8", "utf8", "utf-8-sig":
		if !utf8.ValidString(s) {
			l.unknown("the text of %s, which is not UTF-8", path)
		}
		if encoding == "utf-8-sig" {
			s = strings.TrimPrefix(s, "\ufeff")
		}
	default:
		if strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
			l.unknown("the text of %s in the encoding %s", path, encoding)
		}
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

// contents is what a file holds.
func (l *Loader) contents(path string) string {
	src, err := l.readFile(path)
	if err != nil {
		l.raise(excFileNotFound, "[Errno 2] No such file or directory: '%s'", path)
	}
	l.size(len(src))
	return string(src)
}

func init() {
	// cut takes the first n bytes that are left.
	cut := func(f *Instance, n func(rest string) int) Value {
		rest, _ := f.attrs.get("rest")
		if b, ok := rest.(Bytes); ok {
			k := n(string(b))
			f.attrs.set("rest", b[k:])
			return b[:k]
		}
		s := rest.(Str)
		k := n(string(s))
		f.attrs.set("rest", s[k:])
		return s[:k]
	}
	line := func(rest string) int {
		if i := strings.IndexByte(rest, '\n'); i >= 0 {
			return i + 1
		}
		return len(rest)
	}
	lines := func(l *Loader, f *Instance) *Iterator {
		return &Iterator{name: "file", next: func() (Value, bool) {
			l.charge(1)
			v := cut(f, line)
			return v, l.truth(v)
		}}
	}
	method := func(name string, most int, fn func(l *Loader, f *Instance, args []Value) Value) {
		fileClass.attrs.set(name, builtinFunc(name, func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want(name, args[1:], kws, 0, most)
			return fn(l, args[0].(*Instance), args[1:])
		}))
	}
	method("read", 1, func(l *Loader, f *Instance, args []Value) Value {
		if len(args) > 0 && args[0] != None {
			l.unknown("reading a part of a file")
		}
		return cut(f, func(rest string) int { return len(rest) })
	})
	method("readline", 0, func(l *Loader, f *Instance, args []Value) Value { return cut(f, line) })
	method("readlines", 0, func(l *Loader, f *Instance, args []Value) Value { return &List{l.elems(lines(l, f))} })
	method("__iter__", 0, func(l *Loader, f *Instance, args []Value) Value { return lines(l, f) })
	method("__enter__", 0, func(l *Loader, f *Instance, args []Value) Value { return f })
	method("__exit__", 3, func(*Loader, *Instance, []Value) Value { return None })
	method("close", 0, func(*Loader, *Instance, []Value) Value { return None })
}
