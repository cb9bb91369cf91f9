package eval

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// The module re, as far as Go's expressions can do the same: no look-around and no back references in patterns. Positions count characters.

var (
	patternClass = builtinClass("Pattern", objectClass, nil)
	matchClass   = builtinClass("Match", objectClass, nil)
	excRegexp    = excClass("error", excException)
)

// pattern is a compiled expression; it is kept in an Instance under "regexp".
type pattern struct {
	re     *regexp.Regexp
	text   string
	dollar bool // has a $ that means the end of the text
}

func (*pattern) value() {}

// match is one match in a text.
type match struct {
	p    *pattern
	text string
	at   []int // byte positions of the groups, as regexp gives them
}

func (*match) value() {}

var regexpFlags = map[string]int64{"I": 2, "IGNORECASE": 2, "M": 8, "MULTILINE": 8, "S": 16, "DOTALL": 16, "X": 64, "VERBOSE": 64, "A": 256, "ASCII": 256, "U": 32, "UNICODE": 32}

func reModule() map[string]Value {
	m := map[string]Value{"Pattern": patternClass, "Match": matchClass, "error": excRegexp}
	for name, v := range regexpFlags {
		m[name] = MakeInt(v)
	}
	m["compile"] = builtinFunc("compile", func(l *Loader, args []Value, kws []NamedValue) Value {
		a := l.named("compile", args, kws, "pattern", "flags")
		return l.compile(a[0], a[1])
	})
	m["escape"] = builtinFunc("escape", func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("escape", args, kws, 1, 1)
		return Str(regexp.QuoteMeta(l.argStr(args[0], "escape")))
	})
	for name, op := range patternOps {
		// re.f(pattern, …, flags=0) is re.compile(pattern, flags).f(…)
		m[name] = builtinFunc(name, func(l *Loader, args []Value, kws []NamedValue) Value {
			a := l.named(name, args, kws, append(append([]string{"pattern"}, op.params...), "flags")...)
			n := len(a) - 1
			return op.fn(l, l.patternOf(l.compile(a[0], a[n])), a[1:n])
		})
	}
	return m
}

func (l *Loader) patternOf(v Value) *pattern {
	i, _ := v.(*Instance)
	p, _ := i.attrs.get("regexp")
	return p.(*pattern)
}

// compile makes a Pattern; of a Pattern it is the same.
func (l *Loader) compile(v, flags Value) Value {
	if i, ok := v.(*Instance); ok && i.Class == patternClass {
		return i
	}
	if v == nil {
		l.raise(excType, "missing required argument 'pattern'")
	}
	text := l.argStr(v, "compile")
	set := 0
	if flags != nil {
		set = l.smallInt(flags, "flags must be integers")
	}
	if set&64 != 0 {
		l.unknown("the flag re.VERBOSE")
	}
	translated, dollar := goPattern(l, text, set)
	re, err := regexp.Compile(translated)
	if err != nil {
		l.raise(excRegexp, "%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	i := &Instance{Class: patternClass}
	i.attrs.set("regexp", &pattern{re, text, dollar})
	i.attrs.set("pattern", Str(text))
	return i
}

// goPattern writes a Python pattern in Go's syntax.
func goPattern(l *Loader, text string, flags int) (translated string, dollar bool) {
	var b strings.Builder
	if flags&2 != 0 {
		b.WriteString("(?i)")
	}
	if flags&8 != 0 {
		b.WriteString("(?m)")
	}
	if flags&16 != 0 {
		b.WriteString("(?s)")
	}
	inSet := false
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		switch {
		case rest[0] == '\\' && len(rest) > 1:
			c := rest[1]
			switch {
			case c == 'Z':
				b.WriteString(`\z`)
			case !inSet && c >= '1' && c <= '9':
				l.unknown("a regular expression with a back reference")
			default:
				b.WriteString(rest[:2])
			}
			i++
			continue
		case rest[0] == '[':
			if inSet {
				b.WriteString(`\[`)
				continue
			}
			inSet = true
			b.WriteByte('[')
			if strings.HasPrefix(rest[1:], "^]") || strings.HasPrefix(rest[1:], "]") { // a bracket that comes first is one of the set
				n := strings.IndexByte(rest, ']')
				b.WriteString(rest[1:n] + `\]`)
				i += n
			}
			continue
		case rest[0] == ']':
			inSet = false
		case !inSet && (strings.HasPrefix(rest, "(?=") || strings.HasPrefix(rest, "(?!") || strings.HasPrefix(rest, "(?<=") || strings.HasPrefix(rest, "(?<!")):
			l.unknown("a regular expression that looks ahead or behind")
		case !inSet && (strings.HasPrefix(rest, "(?P=") || strings.HasPrefix(rest, "(?(")):
			l.unknown("a regular expression with a back reference")
		case !inSet && rest[0] == '$' && flags&8 == 0:
			dollar = true
		}
		b.WriteByte(rest[0])
	}
	return b.String(), dollar
}

func newMatch(p *pattern, text string, at []int) Value {
	if at == nil {
		return None
	}
	i := &Instance{Class: matchClass}
	i.attrs.set("match", &match{p, text, at})
	i.attrs.set("string", Str(text))
	i.attrs.set("re", None)
	return i
}

// group is the text of group n, None when it took no part.
func (m *match) group(n int) Value {
	if m.at[2*n] < 0 {
		return None
	}
	return Str(m.text[m.at[2*n]:m.at[2*n+1]])
}

func (m *match) groups() []Value {
	var out []Value
	for n := 1; n < len(m.at)/2; n++ {
		out = append(out, m.group(n))
	}
	return out
}

// number is the group that v names.
func (m *match) number(l *Loader, v Value) int {
	n := -1
	if s, ok := v.(Str); ok {
		n = m.p.re.SubexpIndex(string(s))
	} else {
		n = l.smallInt(v, "no such group")
	}
	if n < 0 || n >= len(m.at)/2 {
		l.raise(excIndex, "no such group")
	}
	return n
}

// found is what findall and split give of one match: the groups, or all of it when there are none.
func (m *match) found() Value {
	groups := m.groups()
	for i, g := range groups {
		if g == None {
			groups[i] = Str("")
		}
	}
	switch len(groups) {
	case 0:
		return m.group(0)
	case 1:
		return groups[0]
	}
	return &Tuple{Elems: groups}
}

type patternOp struct {
	params []string
	fn     func(l *Loader, p *pattern, args []Value) Value
}

func (p *pattern) subject(l *Loader, v Value) string {
	if v == nil {
		l.raise(excType, "missing required argument 'string'")
	}
	s := l.argStr(v, "re")
	l.size(len(s))
	if p.dollar && strings.HasSuffix(s, "\n") { // where Python has another place to stop
		l.unknown("'$' in a text that ends with a newline")
	}
	return s
}

func (p *pattern) first(l *Loader, v Value) Value {
	text := p.subject(l, v)
	return newMatch(p, text, p.re.FindStringSubmatchIndex(text))
}

// anchored matches at the start of the text, or all of it.
func (p *pattern) anchored(l *Loader, v Value, whole bool) Value {
	text := p.subject(l, v)
	end := ""
	if whole {
		end = `\z`
	}
	re, err := regexp.Compile(`\A(?:` + p.re.String() + `)` + end)
	if err != nil {
		l.unknown("the regular expression '%s'", p.text)
	}
	return newMatch(p, text, re.FindStringSubmatchIndex(text))
}

func (p *pattern) all(l *Loader, v Value) []*match {
	text := p.subject(l, v)
	var out []*match
	for _, at := range p.re.FindAllStringSubmatchIndex(text, -1) {
		out = append(out, &match{p, text, at})
	}
	l.size(len(out))
	return out
}

// replace is subn(repl, string, count).
func (p *pattern) replace(l *Loader, a []Value) *Tuple {
	if a[0] == nil {
		l.raise(excType, "missing required argument 'repl'")
	}
	text, most := p.subject(l, a[1]), -1
	if a[2] != nil && l.truth(a[2]) {
		most = l.smallInt(a[2], "count must be an integer")
	}
	var b strings.Builder
	end, n := 0, 0
	for _, m := range p.all(l, a[1]) {
		if n == most {
			break
		}
		n++
		b.WriteString(text[end:m.at[0]])
		if s, ok := a[0].(Str); ok {
			b.WriteString(m.template(l, string(s)))
		} else {
			b.WriteString(l.argStr(l.call(a[0], []Value{newMatch(p, text, m.at)}, nil), "sub"))
		}
		l.size(b.Len())
		end = m.at[1]
	}
	b.WriteString(text[end:])
	return &Tuple{Elems: []Value{Str(b.String()), MakeInt(int64(n))}}
}

// template fills the groups into a replacement: \1 and \g<name>.
func (m *match) template(l *Loader, s string) string {
	var b strings.Builder
	put := func(v Value) {
		if g := m.group(m.number(l, v)); g != None {
			b.WriteString(string(g.(Str)))
		}
	}
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			put(MakeInt(int64(c - '0')))
		case c == 'g' && strings.Contains(s[i:], ">"):
			name, _, _ := strings.Cut(s[i+1:], ">")
			i += len(name) + 1
			name = strings.TrimPrefix(name, "<")
			if n, ok := parseInt(name, 10); ok {
				put(n)
			} else {
				put(Str(name))
			}
		case c == 'n':
			b.WriteByte('\n')
		case c == 't':
			b.WriteByte('\t')
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// patternOps are the methods of a Pattern, which are functions of re as well.
var patternOps map[string]patternOp

func init() {
	patternOps = map[string]patternOp{
		"search":    {[]string{"string"}, func(l *Loader, p *pattern, a []Value) Value { return p.first(l, a[0]) }},
		"match":     {[]string{"string"}, func(l *Loader, p *pattern, a []Value) Value { return p.anchored(l, a[0], false) }},
		"fullmatch": {[]string{"string"}, func(l *Loader, p *pattern, a []Value) Value { return p.anchored(l, a[0], true) }},
		"findall": {[]string{"string"}, func(l *Loader, p *pattern, a []Value) Value {
			out := &List{}
			for _, m := range p.all(l, a[0]) {
				out.Elems = append(out.Elems, m.found())
			}
			return out
		}},
		"finditer": {[]string{"string"}, func(l *Loader, p *pattern, a []Value) Value {
			var out []Value
			for _, m := range p.all(l, a[0]) {
				out = append(out, newMatch(p, m.text, m.at))
			}
			return l.iter(&List{out})
		}},
		"split": {[]string{"string", "maxsplit"}, func(l *Loader, p *pattern, a []Value) Value {
			most, out, end := -1, &List{}, 0
			if a[1] != nil && l.truth(a[1]) {
				most = l.smallInt(a[1], "maxsplit must be an integer")
			}
			text := l.argStr(a[0], "split")
			for _, m := range p.all(l, a[0]) {
				if most == 0 {
					break
				}
				most--
				out.Elems = append(append(out.Elems, Str(text[end:m.at[0]])), m.groups()...)
				end = m.at[1]
			}
			out.Elems = append(out.Elems, Str(text[end:]))
			return out
		}},
		"sub":  {[]string{"repl", "string", "count"}, func(l *Loader, p *pattern, a []Value) Value { return p.replace(l, a).Elems[0] }},
		"subn": {[]string{"repl", "string", "count"}, func(l *Loader, p *pattern, a []Value) Value { return p.replace(l, a) }},
	}
	for name, op := range patternOps {
		patternClass.attrs.set(name, builtinFunc(name, func(l *Loader, args []Value, kws []NamedValue) Value {
			return op.fn(l, l.patternOf(args[0]), l.named(name, args[1:], kws, op.params...))
		}))
	}
	method := func(name string, most int, fn func(l *Loader, m *match, args []Value) Value) {
		matchClass.attrs.set(name, builtinFunc(name, func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want(name, args[1:], kws, 0, most)
			m, _ := args[0].(*Instance).attrs.get("match")
			return fn(l, m.(*match), args[1:])
		}))
	}
	group := func(l *Loader, m *match, args []Value) Value {
		switch len(args) {
		case 0:
			return m.group(0)
		case 1:
			return m.group(m.number(l, args[0]))
		}
		t := &Tuple{}
		for _, a := range args {
			t.Elems = append(t.Elems, m.group(m.number(l, a)))
		}
		return t
	}
	method("group", -1, group)
	method("__getitem__", 1, group)
	method("groups", 1, func(l *Loader, m *match, args []Value) Value {
		out := m.groups()
		for i := range out {
			if len(args) > 0 && out[i] == None {
				out[i] = args[0]
			}
		}
		return &Tuple{Elems: out}
	})
	method("groupdict", 0, func(l *Loader, m *match, args []Value) Value {
		d := &Dict{}
		for i, n := range m.p.re.SubexpNames() {
			if n != "" {
				d.set(n, Str(n), m.group(i))
			}
		}
		return d
	})
	position := func(m *match, byteAt int) Value {
		if byteAt < 0 {
			return MakeInt(-1)
		}
		return MakeInt(int64(utf8.RuneCountInString(m.text[:byteAt])))
	}
	for i, name := range []string{"start", "end"} {
		method(name, 1, func(l *Loader, m *match, args []Value) Value {
			n := 0
			if len(args) > 0 {
				n = m.number(l, args[0])
			}
			return position(m, m.at[2*n+i])
		})
	}
	method("span", 1, func(l *Loader, m *match, args []Value) Value {
		n := 0
		if len(args) > 0 {
			n = m.number(l, args[0])
		}
		return &Tuple{Elems: []Value{position(m, m.at[2*n]), position(m, m.at[2*n+1])}}
	})
}
