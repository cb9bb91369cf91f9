package eval

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Formatting: format specifications and the % operator.

// spec is a parsed format specification: [[fill]align][sign][#][0][width][grouping][.precision][type].
type spec struct {
	fill      string
	align     byte // one of < > = ^, 0 for the default
	sign      byte
	alt       bool
	width     int
	group     byte // ',' or '_'
	precision int  // -1 when absent
	verb      byte
}

func (l *Loader) parseSpec(s string) spec {
	sp := spec{fill: " ", precision: -1}
	bad := func() { l.raise(excValue, "Invalid format specifier '%s'", clip(s)) }
	rest := s
	isAlign := func(c byte) bool { return c == '<' || c == '>' || c == '=' || c == '^' }
	if _, n := utf8.DecodeRuneInString(rest); n > 0 && len(rest) > n && isAlign(rest[n]) {
		sp.fill, sp.align, rest = rest[:n], rest[n], rest[n+1:]
	} else if rest != "" && isAlign(rest[0]) {
		sp.align, rest = rest[0], rest[1:]
	}
	take := func(chars string) byte {
		if rest != "" && strings.IndexByte(chars, rest[0]) >= 0 {
			c := rest[0]
			rest = rest[1:]
			return c
		}
		return 0
	}
	number := func() (int, bool) {
		n := 0
		for n < len(rest) && '0' <= rest[n] && rest[n] <= '9' {
			n++
		}
		if n == 0 {
			return 0, false
		}
		v, err := strconv.Atoi(rest[:n])
		rest = rest[n:]
		if err != nil || v > maxElems {
			l.over("a format width of more than %d", maxElems)
		}
		return v, true
	}
	sp.sign = take("+- ")
	take("z")
	sp.alt = take("#") != 0
	if take("0") != 0 && sp.align == 0 {
		sp.fill, sp.align = "0", '='
	}
	sp.width, _ = number()
	sp.group = take(",_")
	if take(".") != 0 {
		n, ok := number()
		if !ok {
			l.raise(excValue, "Format specifier missing precision")
		}
		sp.precision = n
	}
	if rest != "" {
		sp.verb = rest[0]
		rest = rest[1:]
	}
	if rest != "" {
		bad()
	}
	return sp
}

// format is format(v, spec).
func (l *Loader) format(v Value, text string) string {
	if i, ok := v.(*Instance); ok {
		if f, _, ok := i.Class.find("__format__"); ok {
			return l.textOf(l.call(&Bound{i, f}, []Value{Str(text)}, nil), "__format__")
		}
	}
	l.notSymbol(v)
	if text == "" {
		return l.str(v)
	}
	v = plain(v)
	sp := l.parseSpec(text)
	unknownCode := func() {
		l.raise(excValue, "Unknown format code '%c' for object of type '%s'", sp.verb, typeName(v))
	}
	i, f, isInt, isFloat := number(v)
	switch {
	case isInt && strings.IndexByte("eEfFgG%", sp.verb) >= 0 && sp.verb != 0:
		return l.formatFloat(l.toFloat(i), sp)
	case isInt:
		if strings.IndexByte("bcdoxXn", sp.verb) < 0 && sp.verb != 0 {
			unknownCode()
		}
		if sp.precision >= 0 {
			l.raise(excValue, "Precision not allowed in integer format specifier")
		}
		return l.formatInt(i, sp)
	case isFloat:
		if sp.verb != 0 && strings.IndexByte("eEfFgGn%", sp.verb) < 0 {
			unknownCode()
		}
		return l.formatFloat(float64(f), sp)
	}
	switch v.(type) {
	case Str, *Path:
		if sp.verb != 0 && sp.verb != 's' {
			unknownCode()
		}
		if sp.sign != 0 {
			l.raise(excValue, "Sign not allowed in string format specifier")
		}
		if sp.align == '=' {
			if sp.fill != "0" {
				l.raise(excValue, "'=' alignment not allowed in string format specifier")
			}
			sp.align = '<'
		}
		s := l.str(v)
		if sp.precision >= 0 && utf8.RuneCountInString(s) > sp.precision {
			s = string([]rune(s)[:sp.precision])
		}
		return pad(s, sp, '<')
	}
	l.raise(excType, "unsupported format string passed to %s.__format__", typeName(v))
	return ""
}

// pad fills s to the width; '=' is handled by the number formats.
func pad(s string, sp spec, otherwise byte) string {
	n := sp.width - utf8.RuneCountInString(s)
	if n <= 0 {
		return s
	}
	align := sp.align
	if align == 0 {
		align = otherwise
	}
	switch align {
	case '<':
		return s + strings.Repeat(sp.fill, n)
	case '^':
		return strings.Repeat(sp.fill, n/2) + s + strings.Repeat(sp.fill, n-n/2)
	}
	return strings.Repeat(sp.fill, n) + s
}

// padNumber pads a number with its sign and prefix apart from its digits.
func padNumber(sign, prefix, digits string, sp spec, group int) string {
	if sp.group != 0 {
		width := 0
		if sp.align == '=' && sp.fill == "0" {
			width = sp.width - len(sign) - len(prefix)
		}
		digits = grouped(digits, sp.group, group, width)
	}
	if sp.align == '=' {
		if n := sp.width - len(sign) - len(prefix) - len(digits); n > 0 {
			digits = strings.Repeat(sp.fill, n) + digits
		}
		return sign + prefix + digits
	}
	return pad(sign+prefix+digits, sp, '>')
}

// grouped puts separators between groups of digits of the integer part, and zeros before it up to width.
func grouped(digits string, sep byte, size, width int) string {
	n := 0
	for n < len(digits) && (isAlnum(digits[n])) {
		if digits[n] == 'e' && size == 3 {
			break
		}
		n++
	}
	whole, rest := digits[:n], digits[n:]
	for {
		var b []byte
		for i := range len(whole) {
			if i > 0 && (len(whole)-i)%size == 0 {
				b = append(b, sep)
			}
			b = append(b, whole[i])
		}
		if len(b)+len(rest) >= width {
			return string(b) + rest
		}
		whole = "0" + whole
	}
}

func isAlnum(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' }

func (sp spec) signOf(negative bool) string {
	switch {
	case negative:
		return "-"
	case sp.sign == '+':
		return "+"
	case sp.sign == ' ':
		return " "
	}
	return ""
}

func (l *Loader) formatInt(i Int, sp spec) string {
	base, prefix, group := 10, "", 3
	switch sp.verb {
	case 'b':
		base, prefix, group = 2, "0b", 4
	case 'o':
		base, prefix, group = 8, "0o", 4
	case 'x':
		base, prefix, group = 16, "0x", 4
	case 'X':
		base, prefix, group = 16, "0X", 4
	case 'c':
		n, ok := i.Int64()
		if !ok || n < 0 || n > utf8.MaxRune {
			l.raise(excOverflow, "%%c arg not in range(0x110000)")
		}
		return pad(string(rune(n)), sp, '<')
	}
	if base == 10 {
		l.intText(i)
	}
	digits := newBig().Abs(i.Big()).Text(base)
	if sp.verb == 'X' {
		digits = strings.ToUpper(digits)
	}
	if !sp.alt {
		prefix = ""
	}
	return padNumber(sp.signOf(i.Sign() < 0), prefix, digits, sp, group)
}

func (l *Loader) formatFloat(f float64, sp spec) string {
	verb, precision := sp.verb, sp.precision
	if precision > 5000 {
		l.over("a float of %d digits", precision)
	}
	negative := math.Signbit(f)
	a := math.Abs(f)
	digits, suffix := "", ""
	if verb == '%' {
		suffix = "%"
	}
	switch {
	case math.IsNaN(f):
		digits, negative = "nan", false
	case math.IsInf(f, 0):
		digits = "inf"
	default:
		switch verb {
		case 'e', 'E', 'f', 'F', '%':
			if precision < 0 {
				precision = 6
			}
			format := verb | 0x20
			if verb == '%' {
				a *= 100
				format = 'f'
			}
			digits = strconv.FormatFloat(a, format, precision, 64)
			if sp.alt && precision == 0 {
				digits += "."
			}
		case 0:
			if precision < 0 {
				digits = floatRepr(a)
			} else {
				digits = general(a, max(1, precision), sp.alt)
				if !strings.ContainsAny(digits, ".e") {
					digits += ".0"
				}
			}
		default:
			if precision < 0 {
				precision = 6
			}
			digits = general(a, max(1, precision), sp.alt)
		}
	}
	if verb == 'E' || verb == 'F' || verb == 'G' {
		digits = strings.ToUpper(digits)
	}
	return padNumber(sp.signOf(negative), "", digits+suffix, sp, 3)
}

// general is the %g format: significant digits, trailing zeros dropped unless keep is set.
func general(a float64, precision int, keep bool) string {
	if a == 0 {
		if keep {
			return "0." + strings.Repeat("0", precision-1)
		}
		return "0"
	}
	e := strconv.FormatFloat(a, 'e', precision-1, 64)
	at := strings.IndexByte(e, 'e')
	exp, _ := strconv.Atoi(e[at+1:])
	if exp < -4 || exp >= precision {
		m := e[:at]
		if !keep && strings.Contains(m, ".") {
			m = strings.TrimRight(strings.TrimRight(m, "0"), ".")
		}
		return m + e[at:]
	}
	s := strconv.FormatFloat(a, 'f', precision-1-exp, 64)
	if !keep && strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// percent is the % operator on strings.
func (l *Loader) percent(format string, arg Value) string {
	var b strings.Builder
	var args []Value
	t, isTuple := arg.(*Tuple)
	if isTuple {
		args = t.Elems
	} else {
		args = []Value{arg}
	}
	n := 0
	take := func() Value {
		if n >= len(args) {
			l.raise(excType, "not enough arguments for format string")
		}
		n++
		return args[n-1]
	}
	usedDict := false
	for i := 0; i < len(format); {
		j := strings.IndexByte(format[i:], '%')
		if j < 0 {
			b.WriteString(format[i:])
			break
		}
		b.WriteString(format[i : i+j])
		i += j + 1
		var v Value
		if i < len(format) && format[i] == '(' {
			end := strings.IndexByte(format[i:], ')')
			d, ok := arg.(*Dict)
			if end < 0 || !ok {
				l.raise(excType, "format requires a mapping")
			}
			v = l.subscript(d, Str(format[i+1:i+end]))
			usedDict = true
			i += end + 1
		}
		sp := spec{fill: " ", precision: -1, align: '>'}
		for ; i < len(format) && strings.IndexByte("#0- +", format[i]) >= 0; i++ {
			switch format[i] {
			case '#':
				sp.alt = true
			case '0':
				if sp.align != '<' {
					sp.fill, sp.align = "0", '='
				}
			case '-':
				sp.fill, sp.align = " ", '<'
			default:
				if sp.sign != '+' {
					sp.sign = format[i]
				}
			}
		}
		number := func() int {
			if i < len(format) && format[i] == '*' {
				i++
				return l.smallInt(take(), "* wants int")
			}
			k := 0
			for i < len(format) && '0' <= format[i] && format[i] <= '9' {
				k = min(k*10+int(format[i]-'0'), maxElems+1)
				i++
			}
			return k
		}
		if sp.width = number(); sp.width < 0 {
			sp.width, sp.align, sp.fill = -sp.width, '<', " "
		}
		if i < len(format) && format[i] == '.' {
			i++
			sp.precision = max(0, number())
		}
		l.size(sp.width)
		for i < len(format) && strings.IndexByte("hlL", format[i]) >= 0 {
			i++
		}
		if i >= len(format) {
			l.raise(excValue, "incomplete format")
		}
		verb := format[i]
		i++
		if verb == '%' {
			b.WriteByte('%')
			continue
		}
		if v == nil {
			v = take()
		}
		l.notSymbol(v)
		b.WriteString(l.percentOne(verb, v, sp))
		l.size(b.Len())
	}
	if isTuple && n < len(args) || !isTuple && n == 0 && !usedDict && !isDict(arg) {
		l.raise(excType, "not all arguments converted during string formatting")
	}
	return b.String()
}

func isDict(v Value) bool { _, ok := v.(*Dict); return ok }

func (l *Loader) percentOne(verb byte, v Value, sp spec) string {
	switch verb {
	case 's', 'r', 'a':
		s := ""
		if verb == 's' {
			s = l.str(v)
		} else {
			s = l.repr(v)
		}
		if sp.precision >= 0 && utf8.RuneCountInString(s) > sp.precision {
			s = string([]rune(s)[:sp.precision])
		}
		if sp.fill = " "; sp.align == '=' {
			sp.align = '>'
		}
		return pad(s, sp, '>')
	case 'c':
		if s, ok := v.(Str); ok && utf8.RuneCountInString(string(s)) == 1 {
			return pad(string(s), sp, '>')
		}
		sp.verb = 'c'
		return l.formatInt(l.toInt(v, "%c requires int or char"), sp)
	}
	i, f, isInt, isFloat := number(plain(v))
	if !isInt && !isFloat {
		l.notValue(v)
		l.raise(excType, "%%%c format: a real number is required, not %s", verb, typeName(v))
	}
	switch verb {
	case 'd', 'i', 'u':
		if isFloat {
			i = l.floatToInt(math.Trunc(float64(f))).(Int)
		}
		sp.verb = 'd'
		return l.formatDigits(i, sp)
	case 'x', 'X', 'o':
		if isFloat {
			l.raise(excType, "%%%c format: an integer is required, not float", verb)
		}
		sp.verb = verb
		return l.formatDigits(i, sp)
	case 'e', 'E', 'f', 'F', 'g', 'G':
		if isInt {
			f = Float(l.toFloat(i))
		}
		sp.verb = verb
		return l.formatFloat(float64(f), sp)
	}
	l.raise(excValue, "unsupported format character '%c' (0x%x)", verb, verb)
	return ""
}

// formatDigits formats an integer whose precision is a least number of digits, which is what % formatting means by it.
func (l *Loader) formatDigits(i Int, sp spec) string {
	if sp.precision < 0 {
		return l.formatInt(i, sp)
	}
	l.size(sp.precision)
	zeros := sp
	zeros.width, zeros.fill, zeros.align = sp.precision+len(sp.signOf(i.Sign() < 0)), "0", '='
	if sp.alt && sp.verb != 'd' {
		zeros.width += 2
	}
	text := l.formatInt(i, zeros)
	if sp.align == '=' && sp.width > len(text) { // zero fill goes on in the same way
		zeros.width = sp.width
		return l.formatInt(i, zeros)
	}
	return pad(text, sp, '>')
}
