package eval

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
)

// Constructors of the builtin types.

func newBig() *big.Int { return new(big.Int) }

func init() {
	typeClass.create = func(l *Loader, c *Class, args []Value, kws []NamedValue) Value {
		l.want("type", args, kws, 1, 3)
		if len(args) != 1 {
			l.unknown("a class made by type()")
		}
		l.notSymbol(args[0])
		return classOf(args[0])
	}
	intClass.create = func(l *Loader, c *Class, args []Value, kws []NamedValue) Value { return l.makeInt(args, kws) }
	floatClass.create = func(l *Loader, c *Class, args []Value, kws []NamedValue) Value { return l.makeFloat(args, kws) }
	boolClass.create = func(l *Loader, c *Class, args []Value, kws []NamedValue) Value {
		l.want("bool", args, kws, 0, 1)
		return Bool(len(args) == 1 && l.truth(args[0]))
	}
	strClass.create = func(l *Loader, c *Class, args []Value, kws []NamedValue) Value {
		l.want("str", args, nil, 0, 3)
		if len(args) == 0 {
			return Str("")
		}
		if b, ok := args[0].(Bytes); ok && len(args)+len(kws) > 1 {
			return Str(b)
		}
		l.notSymbol(args[0])
		return Str(l.str(args[0]))
	}
	bytesClass.create = func(l *Loader, c *Class, args []Value, kws []NamedValue) Value {
		if len(args) == 0 {
			return Bytes("")
		}
		switch v := args[0].(type) {
		case Str:
			return Bytes(v)
		case Bytes:
			return v
		case Int:
			n := l.smallInt(v, "")
			if n < 0 {
				l.raise(excValue, "negative count")
			}
			l.size(n)
			return Bytes(make([]byte, n))
		}
		var out []byte
		for _, e := range l.elems(args[0]) {
			n := l.smallInt(e, "'bytes' elements must be integers")
			if n < 0 || n > 255 {
				l.raise(excValue, "bytes must be in range(0, 256)")
			}
			out = append(out, byte(n))
		}
		return Bytes(out)
	}
	listClass.create = func(l *Loader, c *Class, args []Value, kws []NamedValue) Value {
		l.want("list", args, kws, 0, 1)
		if len(args) == 0 {
			return &List{}
		}
		return &List{l.elems(args[0])}
	}
	tupleClass.create = func(l *Loader, c *Class, args []Value, kws []NamedValue) Value {
		l.want("tuple", args, kws, 0, 1)
		if len(args) == 0 {
			return &Tuple{}
		}
		return &Tuple{Elems: l.elems(args[0])}
	}
	dictClass.create = func(l *Loader, c *Class, args []Value, kws []NamedValue) Value {
		l.want("dict", args, nil, 0, 1)
		d := &Dict{}
		if len(args) == 1 {
			l.update(d, args[0])
		}
		for _, k := range kws {
			d.set(k.Name, Str(k.Name), k.Value)
		}
		return d
	}
	makeSet := func(frozen bool) func(l *Loader, c *Class, args []Value, kws []NamedValue) Value {
		return func(l *Loader, c *Class, args []Value, kws []NamedValue) Value {
			l.want(c.Name, args, kws, 0, 1)
			s := &Set{Frozen: frozen}
			if len(args) == 1 {
				l.addAll(s, args[0])
			}
			return s
		}
	}
	setClass.create, frozenClass.create = makeSet(false), makeSet(true)
	rangeClass.create = func(l *Loader, c *Class, args []Value, kws []NamedValue) Value {
		l.want("range", args, kws, 1, 3)
		lo, hi, step := sliceArgs(args)
		const complaint = "range() arguments must be integers"
		r := &Range{Int{}, l.toInt(hi, complaint), MakeInt(1)}
		if lo != nil {
			r.Start = l.toInt(lo, complaint)
		}
		if step != nil {
			if r.Step = l.toInt(step, complaint); r.Step.Sign() == 0 {
				l.raise(excValue, "range() arg 3 must not be zero")
			}
		}
		return r
	}
	sliceClass.create = func(l *Loader, c *Class, args []Value, kws []NamedValue) Value {
		l.want("slice", args, kws, 1, 3)
		s := &Slice{None, None, None}
		lo, hi, step := sliceArgs(args)
		s.Hi = hi
		if lo != nil {
			s.Lo = lo
		}
		if step != nil {
			s.Step = step
		}
		return s
	}
	pathClass.create = func(l *Loader, c *Class, args []Value, kws []NamedValue) Value { return l.makePath(args, kws) }
	namespace.create = func(l *Loader, c *Class, args []Value, kws []NamedValue) Value {
		l.want("SimpleNamespace", args, nil, 0, 0)
		i := &Instance{Class: c}
		for _, k := range kws {
			i.attrs.set(k.Name, k.Value)
		}
		return i
	}
}

func (l *Loader) addAll(s *Set, v Value) {
	for it := l.iter(v); ; {
		e, ok := it.next()
		if !ok {
			return
		}
		if s.live >= maxElems {
			l.size(s.live + 1)
		}
		s.set(l.hash(e), e, nil)
	}
}

// notSymbol throws for symbols of packages that are not evaluated.
func (l *Loader) notSymbol(v Value) {
	if s, ok := v.(*Symbol); ok && !s.IsDSL() {
		l.unknown("the value of %s", s.Path)
	}
}

// intLiteral converts the text of a literal.
func (l *Loader) intLiteral(text string) Value {
	if len(text) < 19 && text[0] != '0' {
		n := int64(0)
		for i := range len(text) {
			n = n*10 + int64(text[i]-'0')
		}
		return MakeInt(n)
	}
	if len(text) > 2 && text[0] == '0' && text[1] > '9' {
		base := map[byte]int{'x': 16, 'X': 16, 'o': 8, 'O': 8, 'b': 2, 'B': 2}[text[1]]
		l.width(len(text) * 4)
		n, _ := newBig().SetString(text[2:], base)
		return BigInt(n)
	}
	if len(text) > maxDigits {
		l.over("an integer literal of %d digits (the limit is %d)", len(text), maxDigits)
	}
	n, _ := newBig().SetString(text, 10)
	return BigInt(n)
}

func (l *Loader) makeInt(args []Value, kws []NamedValue) Value {
	a := l.named("int", args, kws, "x", "base")
	if a[0] == nil {
		return Int{}
	}
	switch v := plain(a[0]).(type) {
	case Int:
		return v
	case Bool:
		i, _, _, _ := number(v)
		return i
	case Float:
		return l.floatToInt(math.Trunc(float64(v)))
	case Str:
		base := 10
		if a[1] != nil {
			base = l.smallInt(a[1], "int() base must be an integer")
		}
		if base != 0 && (base < 2 || base > 36) {
			l.raise(excValue, "int() base must be >= 2 and <= 36, or 0")
		}
		n, ok := parseInt(string(v), base)
		if !ok {
			l.raise(excValue, "invalid literal for int() with base %d: %s", base, strRepr(clip(string(v))))
		}
		return n
	case *Instance:
		for _, m := range []string{"__int__", "__index__"} {
			if f, _, ok := v.Class.find(m); ok {
				return l.call(&Bound{v, f}, nil, nil)
			}
		}
	}
	l.notValue(a[0])
	l.raise(excType, "int() argument must be a string or a real number, not '%s'", typeName(a[0]))
	return nil
}

// parseInt reads an integer as int(s, base) does.
func parseInt(s string, base int) (Int, bool) {
	s = strings.TrimFunc(s, unicode.IsSpace)
	neg := false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		neg = s[0] == '-'
		s = s[1:]
	}
	if len(s) > 1 && s[0] == '0' {
		p := map[byte]int{'x': 16, 'o': 8, 'b': 2}[s[1]|0x20]
		if p != 0 && (base == 0 || base == p) {
			base = p
			s = strings.TrimPrefix(s[2:], "_")
		} else if base == 0 && strings.Trim(s, "0_") != "" {
			return Int{}, false
		}
	}
	if base == 0 {
		base = 10
	}
	if s == "" || s[0] == '_' || s[len(s)-1] == '_' || strings.Contains(s, "__") || s[0] == '-' || s[0] == '+' || len(s) > maxDigits {
		return Int{}, false
	}
	n, ok := newBig().SetString(strings.ReplaceAll(s, "_", ""), base)
	if !ok {
		return Int{}, false
	}
	if neg {
		n.Neg(n)
	}
	return BigInt(n), true
}

func (l *Loader) floatToInt(f float64) Value {
	if math.IsNaN(f) {
		l.raise(excValue, "cannot convert float NaN to integer")
	}
	if math.IsInf(f, 0) {
		l.raise(excOverflow, "cannot convert float infinity to integer")
	}
	if math.Abs(f) < 1<<62 {
		return MakeInt(int64(f))
	}
	n, _ := new(big.Float).SetFloat64(f).Int(nil)
	return BigInt(n)
}

func (l *Loader) makeFloat(args []Value, kws []NamedValue) Value {
	l.want("float", args, kws, 0, 1)
	if len(args) == 0 {
		return Float(0)
	}
	switch v := plain(args[0]).(type) {
	case Float:
		return v
	case Int:
		return Float(l.toFloat(v))
	case Bool:
		i, _, _, _ := number(v)
		return Float(l.toFloat(i))
	case Str:
		f, ok := parseFloat(string(v))
		if !ok {
			l.raise(excValue, "could not convert string to float: %s", strRepr(clip(string(v))))
		}
		return Float(f)
	case *Instance:
		if f, _, ok := v.Class.find("__float__"); ok {
			return l.call(&Bound{v, f}, nil, nil)
		}
	}
	l.notValue(args[0])
	l.raise(excType, "float() argument must be a string or a real number, not '%s'", typeName(args[0]))
	return nil
}

// parseFloat reads a float as float(s) does: no hexadecimal, underscores between digits only.
func parseFloat(s string) (float64, bool) {
	s = trimLower(s)
	t := strings.TrimLeft(s, "+-")
	if len(s)-len(t) > 1 || t == "" {
		return 0, false
	}
	switch t {
	case "inf", "infinity", "nan":
	default:
		if strings.HasPrefix(t, "0x") || strings.ContainsAny(t, "pxni") || strings.Contains(s, "__") || strings.HasPrefix(t, "_") || strings.HasSuffix(t, "_") {
			return 0, false
		}
		s = strings.ReplaceAll(s, "_", "")
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	return f, true
}

// roundDigits is round(f, n): the nearest decimal with n digits, half to even, computed from the exact value.
func roundDigits(f float64, n int) float64 {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0) || n > 330:
		return f
	case n < -330:
		return math.Copysign(0, f)
	case n >= 0:
		r, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'f', n, 64), 64)
		return r
	}
	p := new(big.Rat).SetInt(newBig().Exp(big.NewInt(10), big.NewInt(int64(-n)), nil))
	q := new(big.Rat).Quo(new(big.Rat).SetFloat64(f), p)
	i := new(big.Int)
	rem := new(big.Int)
	i.DivMod(q.Num(), q.Denom(), rem)
	twice := new(big.Int).Lsh(rem, 1).Cmp(q.Denom())
	if twice > 0 || twice == 0 && i.Bit(0) == 1 {
		i.Add(i, big.NewInt(1))
	}
	r, _ := new(big.Rat).Mul(new(big.Rat).SetInt(i), p).Float64()
	if r == 0 {
		return math.Copysign(0, f)
	}
	return r
}
