package eval

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Conversion of values to text: repr() and str().

// repr is repr(v).
func (l *Loader) repr(v Value) string {
	var b strings.Builder
	l.writeRepr(&b, v)
	return b.String()
}

// str is str(v).
func (l *Loader) str(v Value) string {
	switch v := v.(type) {
	case Str:
		return string(v)
	case *Path:
		return v.s
	case *Instance:
		if f, _, ok := v.Class.find("__str__"); ok {
			return l.textOf(l.call(&Bound{v, f}, nil, nil), "__str__")
		}
		if v.Class.is(excBase) {
			return exceptionMessage(v)
		}
		if v.payload != nil && v.Class.enum {
			return l.str(v.payload)
		}
		if v.Class.enum {
			if n, ok := v.attrs.get("name"); ok {
				return v.Class.Name + "." + l.str(n)
			}
		}
	}
	return l.repr(v)
}

func (l *Loader) textOf(v Value, what string) string {
	s, ok := v.(Str)
	if !ok {
		l.raise(excType, "%s returned non-string (type %s)", what, typeName(v))
	}
	return string(s)
}

func (l *Loader) writeRepr(b *strings.Builder, v Value) {
	l.charge(1)
	if b.Len() > maxElems {
		l.over("a text of more than %d bytes", maxElems)
	}
	l.nest()
	defer l.unnest()
	list := func(open string, vs []Value, end string) {
		b.WriteString(open)
		for i, e := range vs {
			if i > 0 {
				b.WriteString(", ")
			}
			l.writeRepr(b, e)
		}
		b.WriteString(end)
	}
	switch v := v.(type) {
	case Int:
		b.WriteString(l.intText(v))
	case Float:
		b.WriteString(floatRepr(float64(v)))
	case Bool:
		if v {
			b.WriteString("True")
		} else {
			b.WriteString("False")
		}
	case Str:
		b.WriteString(strRepr(string(v)))
	case Bytes:
		b.WriteString(bytesRepr(string(v)))
	case NoneType:
		b.WriteString("None")
	case EllipsisType:
		b.WriteString("Ellipsis")
	case *List:
		list("[", v.Elems, "]")
	case *Tuple:
		switch {
		case v.class != nil:
			b.WriteString(v.class.Name + "(")
			for i, e := range v.Elems {
				if i > 0 {
					b.WriteString(", ")
				}
				b.WriteString(v.class.fields[i] + "=")
				l.writeRepr(b, e)
			}
			b.WriteString(")")
		case len(v.Elems) == 1:
			list("(", v.Elems, ",)")
		default:
			list("(", v.Elems, ")")
		}
	case *Set:
		switch {
		case v.live == 0 && v.Frozen:
			b.WriteString("frozenset()")
		case v.live == 0:
			b.WriteString("set()")
		case v.Frozen:
			list("frozenset({", v.keys(), "})")
		default:
			list("{", v.keys(), "}")
		}
	case *Dict:
		b.WriteString("{")
		first := true
		for k, e := range v.All() {
			if !first {
				b.WriteString(", ")
			}
			first = false
			l.writeRepr(b, k)
			b.WriteString(": ")
			l.writeRepr(b, e)
		}
		b.WriteString("}")
	case *Range:
		fmt.Fprintf(b, "range(%s, %s", v.Start, v.Stop)
		if v.Step.Cmp(MakeInt(1)) != 0 {
			fmt.Fprintf(b, ", %s", v.Step)
		}
		b.WriteString(")")
	case *Class:
		b.WriteString("<class '" + v.Name + "'>")
	case *Func:
		b.WriteString("<function " + v.Name + ">")
	case *Builtin:
		b.WriteString("<built-in function " + v.Name + ">")
	case *Module:
		b.WriteString("<module '" + v.Name + "'>")
	case *Symbol:
		b.WriteString(v.Path)
	case *Applied:
		l.writeApplied(b, v)
	case *DynVar:
		b.WriteString("DynVar(" + strRepr(v.Name) + ")")
	case *DSL:
		b.WriteString("<" + string(v.Kind) + " " + v.Name + ">")
	case *Path:
		b.WriteString("PosixPath(" + strRepr(v.s) + ")")
	case *Instance:
		l.writeInstance(b, v)
	case *Poison:
		l.readPoison(v)
	default:
		b.WriteString("<" + typeName(v) + " object>")
	}
}

func (l *Loader) writeApplied(b *strings.Builder, v *Applied) {
	l.writeRepr(b, v.Fun)
	if v.Attr != "" {
		b.WriteString("." + v.Attr)
		return
	}
	open, end := "[", "]"
	if v.Call {
		open, end = "(", ")"
	}
	b.WriteString(open)
	for i, e := range v.Args {
		if i > 0 {
			b.WriteString(", ")
		}
		l.writeRepr(b, e)
	}
	for i, k := range v.Keywords {
		if i+len(v.Args) > 0 {
			b.WriteString(", ")
		}
		b.WriteString(k.Name + "=")
		l.writeRepr(b, k.Value)
	}
	b.WriteString(end)
}

func (l *Loader) writeInstance(b *strings.Builder, v *Instance) {
	if f, _, ok := v.Class.findKnown("__repr__"); ok {
		b.WriteString(l.textOf(l.call(&Bound{v, f}, nil, nil), "__repr__"))
		return
	}
	switch {
	case v.Class.is(excBase):
		args, _ := v.attrs.get("args")
		b.WriteString(v.Class.Name)
		if t, ok := args.(*Tuple); ok && len(t.Elems) != 1 {
			l.writeRepr(b, t)
		} else if ok {
			b.WriteString("(")
			l.writeRepr(b, t.Elems[0])
			b.WriteString(")")
		}
	case v.Class.enum:
		name, _ := v.attrs.get("name")
		val, _ := v.attrs.get("value")
		b.WriteString("<" + v.Class.Name + ".")
		if s, ok := name.(Str); ok {
			b.WriteString(string(s))
		}
		b.WriteString(": ")
		if val != nil {
			l.writeRepr(b, val)
		}
		b.WriteString(">")
	case v.Class.dataclass != nil || v.Class == namespace:
		name := v.Class.Name
		var names []string
		if v.Class == namespace {
			name, names = "namespace", v.attrs.names
		} else {
			for _, f := range v.Class.dataclass.fields {
				if f.repr {
					names = append(names, f.name)
				}
			}
		}
		b.WriteString(name + "(")
		for i, n := range names {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(n + "=")
			if fv, ok := v.attrs.get(n); ok {
				l.writeRepr(b, fv)
			}
		}
		b.WriteString(")")
	default:
		b.WriteString("<" + v.Class.Name + " object>")
	}
}

// shortRepr is a repr for messages, which never fails and never grows long.
func shortRepr(v Value) (s string) {
	l := &Loader{Options: Options{MaxSteps: 2000}}
	defer func() {
		if recover() != nil {
			s = "<" + typeName(v) + ">"
		}
	}()
	if i, ok := v.(*Instance); ok {
		return "<" + i.Class.Name + " object>"
	}
	return clip(l.repr(v))
}

func clip(s string) string {
	s = strings.ReplaceAll(s, "\n", " ")
	if len(s) > 200 {
		return strings.ToValidUTF8(s[:200], "") + "…"
	}
	return s
}

// maxDigits is the limit that Python puts on conversions between decimal text and integers.
const maxDigits = 4300

func (l *Loader) intText(i Int) string {
	if i.big != nil && i.big.BitLen() > maxDigits*4 {
		l.raise(excValue, "Exceeds the limit (%d digits) for integer string conversion", maxDigits)
	}
	return i.String()
}

// floatRepr is the shortest decimal text that reads back as f, in Python's layout.
func floatRepr(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f):
		return "nan"
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return exponent2(strconv.FormatFloat(f, 'e', -1, 64))
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// exponent2 drops a ".0" mantissa; Go and Python both write exponents with at least two digits.
func exponent2(s string) string { return strings.Replace(s, ".0e", "e", 1) }

// strRepr is the repr of a string.
func strRepr(s string) string {
	quote := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	var b strings.Builder
	b.WriteByte(quote)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "\\x%02x", s[i])
		case r == rune(quote) || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString("\\n")
		case r == '\r':
			b.WriteString("\\r")
		case r == '\t':
			b.WriteString("\\t")
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, "\\x%02x", r)
		case r < 0x10000:
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			fmt.Fprintf(&b, "\\U%08x", r)
		}
		i += n
	}
	b.WriteByte(quote)
	return b.String()
}

func bytesRepr(s string) string {
	quote := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	var b strings.Builder
	b.WriteByte('b')
	b.WriteByte(quote)
	for _, c := range []byte(s) {
		switch {
		case c == quote || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString("\\n")
		case c == '\r':
			b.WriteString("\\r")
		case c == '\t':
			b.WriteString("\\t")
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, "\\x%02x", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte(quote)
	return b.String()
}

func itoa(n int) string { return strconv.Itoa(n) }

func sortStrings(s []string) { slices.Sort(s) }

// Repr is the Python repr of a value, for messages and tests. It never fails: what cannot be shown is named by its type.
func Repr(v Value) string {
	if p, ok := v.(*Poison); ok {
		return "<poisoned: " + p.Reason + ">"
	}
	return shortRepr(v)
}
