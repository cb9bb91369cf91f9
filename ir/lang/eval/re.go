package eval

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// The module re, as far as Go's expressions can do the same: no look-around and no back references in patterns. Where the two would find something else, the
// value is unknown. Positions count characters.

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
	ascii  bool // has a class of characters, a boundary of words or a flag that Go knows of ASCII alone
	empty  bool // may match nothing or something: after an empty match Python looks for another one at the same place
	cost   int  // of a step through a text
	self   *Instance
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
		return Str(reEscape.Replace(l.argStr(args[0], "escape")))
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

var reEscape = func() *strings.Replacer {
	var pairs []string
	for _, c := range "()[]{}?*+-|^$\\.&~# \t\n\r\v\f" {
		pairs = append(pairs, string(c), `\`+string(c))
	}
	return strings.NewReplacer(pairs...)
}()

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
	if _, ok := v.(Bytes); ok {
		l.unknown("a regular expression of bytes")
	}
	text := l.argStr(v, "compile")
	set := 0
	if flags != nil {
		set = l.smallInt(flags, "flags must be integers")
	}
	if set&64 != 0 {
		l.unknown("the flag re.VERBOSE")
	}
	p := &pattern{text: text, ascii: set&2 != 0}
	translated := p.translate(l, set)
	tree, err := syntax.Parse(translated, syntax.Perl)
	if err == nil {
		p.re, err = regexp.Compile(translated)
	}
	if err != nil {
		var e *syntax.Error
		if errors.As(err, &e) {
			switch e.Code {
			case syntax.ErrMissingBracket, syntax.ErrMissingParen, syntax.ErrUnexpectedParen, syntax.ErrTrailingBackslash, syntax.ErrMissingRepeatArgument:
				l.raise(excRegexp, "%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
			}
		}
		l.unknown("the regular expression '%s'", text) // Python may know what Go does not
	}
	nothing, something := p.widths(l, tree)
	p.empty = nothing && something
	if prog, err := syntax.Compile(tree.Simplify()); err == nil {
		p.cost = len(prog.Inst)
	}
	groups := &Dict{}
	for i, n := range p.re.SubexpNames() {
		if n != "" {
			groups.set(n, Str(n), MakeInt(int64(i)))
		}
	}
	p.self = &Instance{Class: patternClass}
	p.self.attrs.set("regexp", p)
	p.self.attrs.set("pattern", Str(text))
	p.self.attrs.set("groups", MakeInt(int64(p.re.NumSubexp())))
	p.self.attrs.set("groupindex", groups)
	return p.self
}

// widths reports whether an expression can match nothing, and whether it can match something.
func (p *pattern) widths(l *Loader, re *syntax.Regexp) (nothing, something bool) {
	switch re.Op {
	case syntax.OpNoMatch:
		return false, false
	case syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return false, true
	}
	nothing = re.Op != syntax.OpAlternate
	for _, sub := range re.Sub {
		n, s := p.widths(l, sub)
		something = something || s
		if re.Op == syntax.OpAlternate {
			nothing = nothing || n
		} else {
			nothing = nothing && n
		}
		if n && s && (re.Op == syntax.OpStar || re.Op == syntax.OpPlus || re.Op == syntax.OpRepeat) { // how often, and what its groups keep, differs
			l.unknown("a regular expression that repeats what may be empty")
		}
	}
	if re.Op == syntax.OpStar || re.Op == syntax.OpQuest || re.Op == syntax.OpRepeat && re.Min == 0 {
		nothing = true
	}
	return nothing, something
}

// pythonSpace are the characters of \s among those of ASCII, and those of \S.
var pythonSpace = map[byte]string{'s': `\x09-\x0d\x1c-\x20`, 'S': `\x00-\x08\x0e-\x1b\x21-\x{10ffff}`}

// translate writes the pattern in Go's syntax.
func (p *pattern) translate(l *Loader, flags int) string {
	text := p.text
	var b strings.Builder
	for i, bit := range []int{2, 8, 16} {
		if flags&bit != 0 {
			b.WriteString([]string{"(?i)", "(?m)", "(?s)"}[i])
		}
	}
	inSet := false
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		switch {
		case rest[0] == '\\' && len(rest) > 1:
			s := p.escape(l, rest, inSet)
			if s != "" {
				b.WriteString(s)
			} else {
				b.WriteString(rest[:2])
			}
			i++
			if digits := map[byte]int{'u': 4, 'U': 8}[rest[1]]; digits > 0 {
				i += digits
			}
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
		case inSet:
		case strings.HasPrefix(rest, "(?=") || strings.HasPrefix(rest, "(?!") || strings.HasPrefix(rest, "(?<=") || strings.HasPrefix(rest, "(?<!"):
			l.unknown("a regular expression that looks ahead or behind")
		case strings.HasPrefix(rest, "(?P=") || strings.HasPrefix(rest, "(?("):
			l.unknown("a regular expression with a back reference")
		case strings.HasPrefix(rest, "(?"):
			inline := rest[2 : 2+len(rest[2:])-len(strings.TrimLeft(rest[2:], "abcdefghijklmnopqrstuvwxyzLU-"))]
			if strings.Trim(inline, "ims-") != "" {
				l.unknown("a regular expression with the flags '%s'", inline)
			}
			p.ascii = p.ascii || strings.Contains(inline, "i")
		case rest[0] == '{' && len(rest) > 1 && rest[1] == ',': // {,5} begins at 0
			if n := strings.IndexByte(rest, '}'); n > 0 && strings.Trim(rest[2:n], "0123456789") == "" {
				b.WriteString("{0")
				continue
			}
		case rest[0] == '$' && flags&8 == 0:
			p.dollar = true
		}
		b.WriteByte(rest[0])
	}
	return b.String()
}

// escape is what stands for the escape that text begins with, "" for itself.
func (p *pattern) escape(l *Loader, text string, inSet bool) string {
	switch c := text[1]; {
	case c == 'Z':
		return `\z`
	case !inSet && c >= '1' && c <= '9':
		l.unknown("a regular expression with a back reference")
	case c == 's' || c == 'S':
		p.ascii = true
		if inSet {
			return pythonSpace[c]
		}
		return "[" + pythonSpace[c] + "]"
	case strings.IndexByte("dDwWbB", c) >= 0:
		p.ascii = true
	case c == 'u' || c == 'U':
		n := 6
		if c == 'U' {
			n = 10
		}
		if len(text) >= n && strings.Trim(text[2:n], "0123456789abcdefABCDEF") == "" {
			return `\x{` + text[2:n] + "}"
		}
		l.unknown("the escape \\%c of a regular expression", c)
	case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		if strings.IndexByte("Aafnrtvx", c) < 0 || strings.HasPrefix(text[1:], "x{") {
			l.unknown("the escape \\%c of a regular expression", c)
		}
	}
	return ""
}

func newMatch(p *pattern, text string, at []int) Value {
	if at == nil {
		return None
	}
	i := &Instance{Class: matchClass}
	i.attrs.set("match", &match{p, text, at})
	i.attrs.set("string", Str(text))
	i.attrs.set("re", p.self)
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
	if p.ascii && strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
		l.unknown("a regular expression with classes of characters for a text that is not ASCII")
	}
	l.charge(len(s) / 64 * p.cost / 4)
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
	if p.empty && text != "" {
		l.unknown("all matches of a regular expression that may match nothing")
	}
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
		most = max(0, l.smallInt(a[2], "count must be an integer"))
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
		case c >= '1' && c <= '9':
			n := int64(c - '0')
			if i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9' {
				if i+2 < len(s) && s[i+2] >= '0' && s[i+2] <= '7' {
					l.unknown("a replacement with three digits")
				}
				i++
				n = 10*n + int64(s[i]-'0')
			}
			put(MakeInt(n))
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
		case c == '\\':
			b.WriteByte(c)
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '0':
			l.unknown("the escape \\%c of a replacement", c)
		default: // no escape
			b.WriteString(s[i-1 : i+1])
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
				most = max(0, l.smallInt(a[1], "maxsplit must be an integer"))
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
			if len(op.params) == 1 && len(args)+len(kws) > 2 {
				l.unknown("a part of a text for Pattern.%s", name)
			}
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
