package eval

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Methods of strings and bytes.

// strMethod wraps a method on a string with string arguments, the last of which may be absent.
func strMethod(name string, least, most int, f func(l *Loader, s string, a []string) Value) func(l *Loader, args []Value, kws []NamedValue) Value {
	return func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want(name, args, kws, least+1, most+1)
		s := string(self[Str](l, args, name))
		l.charge(len(s) / 64)
		a := make([]string, len(args)-1)
		for i, v := range args[1:] {
			if v == None {
				a = a[:i]
				break
			}
			a[i] = l.argStr(v, name)
		}
		return f(l, s, a)
	}
}

// strMap wraps a method without arguments that gives a string.
func strMap(name string, f func(s string) string) func(l *Loader, args []Value, kws []NamedValue) Value {
	return strMethod(name, 0, 0, func(l *Loader, s string, a []string) Value { return Str(f(s)) })
}

// strTest wraps a test that holds for every character of a string that is not empty.
func strTest(name string, f func(r rune) bool) func(l *Loader, args []Value, kws []NamedValue) Value {
	return strMethod(name, 0, 0, func(l *Loader, s string, a []string) Value {
		return Bool(s != "" && strings.IndexFunc(s, func(r rune) bool { return !f(r) }) < 0)
	})
}

// strTrim wraps the strip family.
func strTrim(name string, blanks func(s string) string, chars func(s, cut string) string) func(l *Loader, args []Value, kws []NamedValue) Value {
	return strMethod(name, 0, 1, func(l *Loader, s string, a []string) Value {
		if len(a) == 0 {
			return Str(blanks(s))
		}
		return Str(chars(s, a[0]))
	})
}

var strMethods = methods{
	"upper":      strMap("upper", strings.ToUpper),
	"lower":      strMap("lower", strings.ToLower),
	"casefold":   strMap("casefold", strings.ToLower),
	"capitalize": strMap("capitalize", capitalize),
	"title":      strMap("title", title),
	"swapcase": strMap("swapcase", func(s string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsUpper(r) {
				return unicode.ToLower(r)
			}
			return unicode.ToUpper(r)
		}, s)
	}),
	"strip":     strTrim("strip", strings.TrimSpace, strings.Trim),
	"lstrip":    strTrim("lstrip", func(s string) string { return strings.TrimLeftFunc(s, unicode.IsSpace) }, strings.TrimLeft),
	"rstrip":    strTrim("rstrip", func(s string) string { return strings.TrimRightFunc(s, unicode.IsSpace) }, strings.TrimRight),
	"isdigit":   strTest("isdigit", unicode.IsDigit),
	"isdecimal": strTest("isdecimal", unicode.IsDigit),
	"isnumeric": strTest("isnumeric", unicode.IsNumber),
	"isalpha":   strTest("isalpha", unicode.IsLetter),
	"isalnum":   strTest("isalnum", func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }),
	"isspace":   strTest("isspace", unicode.IsSpace),
	"isascii":   strMethod("isascii", 0, 0, func(l *Loader, s string, a []string) Value { return Bool(ascii(s)) }),
	"isupper": strMethod("isupper", 0, 0, func(l *Loader, s string, a []string) Value {
		return Bool(strings.ToUpper(s) == s && strings.ToLower(s) != s)
	}),
	"islower": strMethod("islower", 0, 0, func(l *Loader, s string, a []string) Value {
		return Bool(strings.ToLower(s) == s && strings.ToUpper(s) != s)
	}),
	"isidentifier": strMethod("isidentifier", 0, 0, func(l *Loader, s string, a []string) Value {
		for i, r := range s {
			if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
				return Bool(false)
			}
		}
		return Bool(s != "")
	}),
	"removeprefix": strMethod("removeprefix", 1, 1, func(l *Loader, s string, a []string) Value { return Str(strings.TrimPrefix(s, a[0])) }),
	"removesuffix": strMethod("removesuffix", 1, 1, func(l *Loader, s string, a []string) Value { return Str(strings.TrimSuffix(s, a[0])) }),
	"partition": strMethod("partition", 1, 1, func(l *Loader, s string, a []string) Value {
		if a[0] == "" {
			l.raise(excValue, "empty separator")
		}
		if before, after, ok := strings.Cut(s, a[0]); ok {
			return &Tuple{Elems: []Value{Str(before), Str(a[0]), Str(after)}}
		}
		return &Tuple{Elems: []Value{Str(s), Str(""), Str("")}}
	}),
	"rpartition": strMethod("rpartition", 1, 1, func(l *Loader, s string, a []string) Value {
		if a[0] == "" {
			l.raise(excValue, "empty separator")
		}
		if i := strings.LastIndex(s, a[0]); i >= 0 {
			return &Tuple{Elems: []Value{Str(s[:i]), Str(a[0]), Str(s[i+len(a[0]):])}}
		}
		return &Tuple{Elems: []Value{Str(""), Str(""), Str(s)}}
	}),
	"splitlines": strMethod("splitlines", 0, 0, func(l *Loader, s string, a []string) Value {
		out := &List{}
		for line := range strings.Lines(strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")) {
			out.Elems = append(out.Elems, Str(strings.TrimSuffix(line, "\n")))
		}
		return out
	}),
	"startswith": affix("startswith", strings.HasPrefix),
	"endswith":   affix("endswith", strings.HasSuffix),
	"split":      func(l *Loader, args []Value, kws []NamedValue) Value { return l.split("split", args, kws, false) },
	"rsplit":     func(l *Loader, args []Value, kws []NamedValue) Value { return l.split("rsplit", args, kws, true) },
	"find":       finder("find", strings.Index),
	"rfind":      finder("rfind", strings.LastIndex),
	"index":      finder("index", strings.Index),
	"rindex":     finder("rindex", strings.LastIndex),
	"count": strMethod("count", 1, 1, func(l *Loader, s string, a []string) Value {
		return MakeInt(int64(strings.Count(s, a[0])))
	}),
	"replace": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("replace", args, kws, 3, 4)
		s, from, to := string(self[Str](l, args, "replace")), l.argStr(args[1], "replace"), l.argStr(args[2], "replace")
		n := -1
		if len(args) == 4 {
			n = l.smallInt(args[3], "an integer is required")
		}
		l.text(len(s) + strings.Count(s, from)*len(to))
		return Str(strings.Replace(s, from, to, n))
	},
	"join": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("join", args, kws, 2, 2)
		sep := string(self[Str](l, args, "join"))
		var b strings.Builder
		for i, e := range l.elems(args[1]) {
			s, ok := plain(e).(Str)
			if !ok {
				l.notValue(e)
				l.raise(excType, "sequence item %d: expected str instance, %s found", i, typeName(e))
			}
			if i > 0 {
				b.WriteString(sep)
			}
			b.WriteString(string(s))
			l.checkSize(b.Len())
		}
		l.text(b.Len())
		return Str(b.String())
	},
	"format": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("format", args, nil, 1, -1)
		return Str(l.strFormat(string(self[Str](l, args, "format")), args[1:], kws))
	},
	"format_map": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("format_map", args, kws, 2, 2)
		var named []NamedValue
		if d, ok := args[1].(*Dict); ok {
			for k, v := range d.All() {
				if s, ok := k.(Str); ok {
					named = append(named, NamedValue{string(s), v})
				}
			}
		}
		return Str(l.strFormat(string(self[Str](l, args, "format_map")), nil, named))
	},
	"ljust":  justify("ljust", '<'),
	"rjust":  justify("rjust", '>'),
	"center": justify("center", '^'),
	"zfill": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("zfill", args, kws, 2, 2)
		s := string(self[Str](l, args, "zfill"))
		n := l.smallInt(args[1], "an integer is required") - utf8.RuneCountInString(s)
		if n <= 0 {
			return Str(s)
		}
		l.size(n)
		sign := ""
		if s != "" && (s[0] == '-' || s[0] == '+') {
			sign, s = s[:1], s[1:]
		}
		return Str(sign + strings.Repeat("0", n) + s)
	},
	"encode": func(l *Loader, args []Value, kws []NamedValue) Value {
		return Bytes(self[Str](l, args, "encode"))
	},
	"expandtabs": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.unknown("str.expandtabs")
		return nil
	},
}

var bytesMethods = methods{
	"decode": func(l *Loader, args []Value, kws []NamedValue) Value { return Str(self[Bytes](l, args, "decode")) },
	"hex": func(l *Loader, args []Value, kws []NamedValue) Value {
		var b strings.Builder
		for _, c := range []byte(self[Bytes](l, args, "hex")) {
			b.WriteString("0123456789abcdef"[c>>4 : c>>4+1])
			b.WriteString("0123456789abcdef"[c&15 : c&15+1])
		}
		return Str(b.String())
	},
}

func capitalize(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return strings.ToUpper(s[:n]) + strings.ToLower(s[n:])
}

func title(s string) string {
	letter := false
	return strings.Map(func(r rune) rune {
		was := letter
		letter = unicode.IsLetter(r)
		if was {
			return unicode.ToLower(r)
		}
		return unicode.ToTitle(r)
	}, s)
}

func affix(name string, has func(s, x string) bool) func(l *Loader, args []Value, kws []NamedValue) Value {
	return func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want(name, args, kws, 2, 3)
		s := string(self[Str](l, args, name))
		if len(args) == 3 {
			s = l.sliceStr(s, &Slice{args[2], None, None})
		}
		if t, ok := args[1].(*Tuple); ok {
			for _, e := range t.Elems {
				if has(s, l.argStr(e, name)) {
					return Bool(true)
				}
			}
			return Bool(false)
		}
		return Bool(has(s, l.argStr(args[1], name)))
	}
}

func finder(name string, find func(s, x string) int) func(l *Loader, args []Value, kws []NamedValue) Value {
	return func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want(name, args, kws, 2, 4)
		s := string(self[Str](l, args, name))
		base := 0
		if len(args) > 2 {
			sl := &Slice{args[2], None, None}
			if len(args) > 3 {
				sl.Hi = args[3]
			}
			base, _, _ = l.bounds(sl, utf8.RuneCountInString(s))
			s = l.sliceStr(s, sl)
		}
		l.charge(len(s) / 64)
		i := find(s, l.argStr(args[1], name))
		if i < 0 {
			if strings.HasSuffix(name, "index") {
				l.raise(excValue, "substring not found")
			}
			return MakeInt(-1)
		}
		return MakeInt(int64(base + utf8.RuneCountInString(s[:i])))
	}
}

func justify(name string, align byte) func(l *Loader, args []Value, kws []NamedValue) Value {
	return func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want(name, args, kws, 2, 3)
		s := string(self[Str](l, args, name))
		sp := spec{fill: " ", align: align, width: l.smallInt(args[1], "an integer is required")}
		if len(args) == 3 {
			if sp.fill = l.argStr(args[2], name); utf8.RuneCountInString(sp.fill) != 1 {
				l.raise(excType, "The fill character must be exactly one character long")
			}
		}
		l.text(max(0, sp.width))
		if n := sp.width - utf8.RuneCountInString(s); align == '^' && n > 0 {
			left := n/2 + n&sp.width&1 // str.center puts an odd blank elsewhere than format does
			return Str(strings.Repeat(sp.fill, left) + s + strings.Repeat(sp.fill, n-left))
		}
		return Str(pad(s, sp, align))
	}
}

func (l *Loader) split(name string, args []Value, kws []NamedValue, right bool) Value {
	a := l.named(name, args[1:], kws, "sep", "maxsplit")
	s := string(self[Str](l, args, name))
	l.size(len(s))
	n := -1
	if a[1] != nil {
		n = l.smallInt(a[1], "an integer is required")
	}
	var parts []string
	switch {
	case a[0] == nil || a[0] == None:
		if n < 0 {
			parts = strings.Fields(s)
			break
		}
		// The blanks at the end that is not split off stay.
		trim := strings.TrimLeftFunc
		if right {
			trim = strings.TrimRightFunc
		}
		rest := trim(s, unicode.IsSpace)
		for ; n > 0 && rest != ""; n-- {
			i := strings.IndexFunc(rest, unicode.IsSpace)
			if right {
				i = strings.LastIndexFunc(rest, unicode.IsSpace)
			}
			if i < 0 {
				break
			}
			if right {
				_, w := utf8.DecodeRuneInString(rest[i:])
				parts = append(parts, rest[i+w:])
				rest = rest[:i]
			} else {
				parts = append(parts, rest[:i])
				rest = rest[i:]
			}
			rest = trim(rest, unicode.IsSpace)
		}
		if rest != "" {
			parts = append(parts, rest)
		}
		if right {
			slices.Reverse(parts)
		}
	default:
		sep := l.argStr(a[0], name)
		if sep == "" {
			l.raise(excValue, "empty separator")
		}
		if n < 0 {
			parts = strings.Split(s, sep)
		} else if !right {
			parts = strings.SplitN(s, sep, n+1)
		} else {
			parts = strings.Split(s, sep)
			if len(parts) > n+1 {
				k := len(parts) - n
				parts = append([]string{strings.Join(parts[:k], sep)}, parts[k:]...)
			}
		}
	}
	out := &List{Elems: make([]Value, len(parts))}
	for i, p := range parts {
		out.Elems[i] = Str(p)
	}
	return out
}

// strFormat is str.format.
func (l *Loader) strFormat(s string, args []Value, kws []NamedValue) string {
	var b strings.Builder
	auto := 0
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case (c == '{' || c == '}') && i+1 < len(s) && s[i+1] == c:
			b.WriteByte(c)
			i += 2
		case c == '}':
			l.raise(excValue, "Single '}' encountered in format string")
		case c == '{':
			depth, j := 1, i+1
			for ; j < len(s) && depth > 0; j++ {
				switch s[j] {
				case '{':
					depth++
				case '}':
					depth--
				}
			}
			if depth > 0 {
				l.raise(excValue, "expected '}' before end of string")
			}
			b.WriteString(l.replacement(s[i+1:j-1], args, kws, &auto))
			i = j
		default:
			b.WriteByte(c)
			i++
		}
		l.checkSize(b.Len())
	}
	l.text(b.Len())
	return b.String()
}

// replacement formats one field: name[.attr][[index]][!conv][:spec].
func (l *Loader) replacement(field string, args []Value, kws []NamedValue, auto *int) string {
	l.nest()
	defer l.unnest()
	name, spec, _ := strings.Cut(field, ":")
	name, conv, _ := strings.Cut(name, "!")
	if strings.Contains(spec, "{") {
		spec = l.strFormatNested(spec, args, kws, auto)
	}
	end := strings.IndexAny(name, ".[")
	if end < 0 {
		end = len(name)
	}
	first, rest := name[:end], name[end:]
	var v Value
	if first == "" {
		first = itoa(*auto)
		*auto++
	}
	if n, ok := parseInt(first, 10); ok {
		i, _ := n.Int64()
		if i < 0 || i >= int64(len(args)) {
			l.raise(excIndex, "Replacement index %s out of range for positional args tuple", first)
		}
		v = args[i]
	} else {
		for _, k := range kws {
			if k.Name == first {
				v = k.Value
			}
		}
		if v == nil {
			l.throw(newException(excKey, Str(first)))
		}
	}
	for rest != "" {
		if rest[0] == '.' {
			end := strings.IndexAny(rest[1:], ".[")
			if end < 0 {
				end = len(rest) - 1
			}
			v = l.getattr(v, rest[1:end+1])
			rest = rest[end+1:]
			continue
		}
		end := strings.IndexByte(rest, ']')
		if rest[0] != '[' || end < 0 {
			l.raise(excValue, "malformed field in format string")
		}
		if n, ok := parseInt(rest[1:end], 10); ok {
			v = l.subscript(v, n)
		} else {
			v = l.subscript(v, Str(rest[1:end]))
		}
		rest = rest[end+1:]
	}
	switch conv {
	case "r", "a":
		v = Str(l.repr(v))
	case "s":
		v = Str(l.str(v))
	}
	return l.format(v, spec)
}

func (l *Loader) strFormatNested(spec string, args []Value, kws []NamedValue, auto *int) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(spec, '{')
		if i < 0 {
			b.WriteString(spec)
			return b.String()
		}
		end := strings.IndexByte(spec[i:], '}')
		if end < 0 {
			l.raise(excValue, "expected '}' before end of string")
		}
		b.WriteString(spec[:i])
		b.WriteString(l.replacement(spec[i+1:i+end], args, kws, auto))
		spec = spec[i+end+1:]
	}
}
