package eval

import (
	"math"
	"strings"
)

// Operators.

// truth is bool(v).
func (l *Loader) truth(v Value) bool {
	switch v := plain(v).(type) {
	case Bool:
		return bool(v)
	case Int:
		return v.Sign() != 0
	case Float:
		return v != 0
	case Str:
		return v != ""
	case Bytes:
		return v != ""
	case NoneType:
		return false
	case *List:
		return len(v.Elems) > 0
	case *Tuple:
		return len(v.Elems) > 0
	case *Dict:
		return v.live > 0
	case *Set:
		return v.live > 0
	case *Range:
		return l.rangeLen(v).Sign() > 0
	case *Instance:
		if f, _, ok := v.Class.find("__bool__"); ok {
			return l.truth(l.call(&Bound{v, f}, nil, nil))
		}
		if f, _, ok := v.Class.find("__len__"); ok {
			return l.truth(l.call(&Bound{v, f}, nil, nil))
		}
	case *Symbol:
		if !v.IsDSL() {
			l.unknown("the truth of %s", v.Path)
		}
	case *Applied:
		l.unknown("the truth of %s", shortRepr(v))
	case *Poison:
		l.readPoison(v)
	}
	return true
}

// number sorts the numeric types: both is a Float pair when either is one.
func number(v Value) (i Int, f Float, isInt, isFloat bool) {
	switch v := v.(type) {
	case Int:
		return v, 0, true, false
	case Bool:
		if v {
			return MakeInt(1), 0, true, false
		}
		return Int{}, 0, true, false
	case Float:
		return Int{}, v, false, true
	}
	return Int{}, 0, false, false
}

func (l *Loader) toFloat(i Int) float64 {
	f, ok := i.float()
	if !ok {
		l.raise(excOverflow, "int too large to convert to float")
	}
	return f
}

// methods of the operators that classes can define.
var opMethods = map[string][2]string{
	"+": {"__add__", "__radd__"}, "-": {"__sub__", "__rsub__"}, "*": {"__mul__", "__rmul__"}, "/": {"__truediv__", "__rtruediv__"},
	"//": {"__floordiv__", "__rfloordiv__"}, "%": {"__mod__", "__rmod__"}, "**": {"__pow__", "__rpow__"}, "@": {"__matmul__", "__rmatmul__"},
	"<<": {"__lshift__", "__rlshift__"}, ">>": {"__rshift__", "__rrshift__"}, "&": {"__and__", "__rand__"}, "|": {"__or__", "__ror__"},
	"^": {"__xor__", "__rxor__"},
}

// notImplemented is what operator methods return to pass.
var notImplemented = &Symbol{"NotImplemented"}

// binary is x op y.
func (l *Loader) binary(op string, x, y Value) Value {
	if v := l.operatorMethod(opMethods[op], x, y); v != nil {
		return v
	}
	if v := l.flagOp(op, x, y); v != nil {
		return v
	}
	x, y = plain(x), plain(y)
	xi, xf, xInt, xFloat := number(x)
	yi, yf, yInt, yFloat := number(y)
	if (xInt || xFloat) && (yInt || yFloat) {
		_, xBool := x.(Bool)
		_, yBool := y.(Bool)
		if xBool && yBool && (op == "&" || op == "|" || op == "^") {
			return Bool(xi.bitwise(op, yi).Sign() != 0)
		}
		if xInt && yInt {
			return l.intOp(op, xi, yi)
		}
		if xInt {
			xf = Float(l.toFloat(xi))
		}
		if yInt {
			yf = Float(l.toFloat(yi))
		}
		if v := l.floatOp(op, float64(xf), float64(yf)); v != nil {
			return v
		}
	}
	if v := l.sequenceOp(op, x, y, xi, yi, xInt, yInt); v != nil {
		return v
	}
	for _, v := range [2]Value{x, y} {
		switch v := v.(type) {
		case *Symbol:
			l.unknown("'%s' on %s", op, v.Path)
		case *DynVar:
			l.unknown("'%s' on the dynamic dimension %s", op, v.Name)
		case *Applied:
			l.unknown("'%s' on %s", op, shortRepr(v))
		}
	}
	l.raise(excType, "unsupported operand type(s) for %s: '%s' and '%s'", op, typeName(x), typeName(y))
	return nil
}

// operatorMethod tries x.__op__(y), then y.__rop__(x); nil when neither class defines them.
func (l *Loader) operatorMethod(names [2]string, x, y Value) Value {
	for side, v := range [2]Value{x, y} {
		i, ok := v.(*Instance)
		if !ok {
			continue
		}
		f, _, ok := i.Class.find(names[side])
		if !ok {
			continue
		}
		other := y
		if side == 1 {
			other = x
		}
		if r := l.call(&Bound{i, f}, []Value{other}, nil); r != Value(notImplemented) {
			return r
		}
	}
	return nil
}

func (l *Loader) intOp(op string, x, y Int) Value {
	l.charge((x.bits() + y.bits()) / 512)
	switch op {
	case "+":
		return x.add(y)
	case "-":
		return x.sub(y)
	case "*":
		l.width(x.bits() + y.bits())
		return x.mul(y)
	case "/":
		if y.Sign() == 0 {
			l.raise(excZeroDivision, "division by zero")
		}
		f, ok := x.trueDiv(y)
		if !ok {
			l.raise(excOverflow, "integer division result too large for a float")
		}
		return Float(f)
	case "//", "%":
		if y.Sign() == 0 {
			l.raise(excZeroDivision, "%s", map[string]string{"//": "integer division or modulo by zero", "%": "integer modulo by zero"}[op])
		}
		q, r := x.divMod(y)
		if op == "//" {
			return q
		}
		return r
	case "**":
		return l.intPow(x, y)
	case "<<", ">>":
		if y.Sign() < 0 {
			l.raise(excValue, "negative shift count")
		}
		n, ok := y.Int64()
		if op == ">>" {
			if !ok || n > maxBits {
				n = maxBits + 1
			}
			return x.shift(-int(n))
		}
		if x.Sign() == 0 {
			return x
		}
		if !ok || n > maxBits {
			n = maxBits
		}
		l.width(x.bits() + int(n))
		return x.shift(int(n))
	case "&", "|", "^":
		return x.bitwise(op, y)
	}
	l.raise(excType, "unsupported operand type(s) for %s: 'int' and 'int'", op)
	return nil
}

// width checks the size of an integer before it is computed.
func (l *Loader) width(bits int) {
	if bits > maxBits {
		l.over("an integer of %d bits (the limit is %d)", bits, maxBits)
	}
}

func (l *Loader) intPow(x, y Int) Value {
	if y.Sign() < 0 {
		if x.Sign() == 0 {
			l.raise(excZeroDivision, "0.0 cannot be raised to a negative power")
		}
		return l.floatPow(l.toFloat(x), l.toFloat(y))
	}
	if n, ok := y.Int64(); x.bits() > 1 {
		if !ok || n > maxBits {
			n = maxBits
		}
		l.width(x.bits() * int(n))
		l.charge(x.bits() * int(n) / 256)
	} else if y.big != nil { // 0, 1 and -1 to a huge power
		return x.pow(MakeInt(int64(2 - y.big.Bit(0))))
	}
	return x.pow(y)
}

func (l *Loader) floatPow(x, y float64) Value {
	if x == 0 && y < 0 {
		l.raise(excZeroDivision, "0.0 cannot be raised to a negative power")
	}
	if x < 0 && y != math.Trunc(y) && !math.IsInf(y, 0) && !math.IsInf(x, 0) {
		l.unknown("a complex number")
	}
	l.charge(20)
	f := pow(x, y)
	if math.IsInf(f, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
		l.raise(excOverflow, "(34, 'Numerical result out of range')")
	}
	return Float(f)
}

func (l *Loader) floatOp(op string, x, y float64) Value {
	switch op {
	case "+":
		return Float(x + y)
	case "-":
		return Float(x - y)
	case "*":
		return Float(x * y)
	case "/":
		if y == 0 {
			l.raise(excZeroDivision, "float division by zero")
		}
		return Float(x / y)
	case "//", "%":
		if y == 0 {
			l.raise(excZeroDivision, "%s", map[string]string{"//": "float floor division by zero", "%": "float modulo"}[op])
		}
		q, r := floatDivMod(x, y)
		if op == "//" {
			return Float(q)
		}
		return Float(r)
	case "**":
		return l.floatPow(x, y)
	}
	return nil
}

// floatDivMod divides as Python's divmod does: the remainder has the sign of y.
func floatDivMod(x, y float64) (q, r float64) {
	r = math.Mod(x, y)
	q = (x - r) / y
	if r != 0 {
		if (y < 0) != (r < 0) {
			r += y
			q--
		}
	} else {
		r = math.Copysign(0, y)
	}
	if q != 0 {
		f := math.Floor(q)
		if q-f > 0.5 {
			f++
		}
		return f, r
	}
	return math.Copysign(0, x/y), r
}

// sequenceOp is the operators on strings, lists, tuples, sets, dicts and paths; nil when op is none of theirs.
func (l *Loader) sequenceOp(op string, x, y Value, xi, yi Int, xInt, yInt bool) Value {
	switch op {
	case "+":
		switch a := x.(type) {
		case Str:
			if b, ok := y.(Str); ok {
				l.text(len(a) + len(b))
				return a + b
			}
			if _, ok := y.(*Symbol); !ok {
				l.raise(excType, "can only concatenate str (not \"%s\") to str", typeName(y))
			}
		case Bytes:
			if b, ok := y.(Bytes); ok {
				l.text(len(a) + len(b))
				return a + b
			}
		case *List:
			if b, ok := y.(*List); ok {
				l.size(len(a.Elems) + len(b.Elems))
				return &List{concat(a.Elems, b.Elems)}
			}
		case *Tuple:
			if b, ok := y.(*Tuple); ok {
				l.size(len(a.Elems) + len(b.Elems))
				return &Tuple{Elems: concat(a.Elems, b.Elems)}
			}
		}
	case "*":
		if yInt {
			return l.repeat(x, yi)
		}
		if xInt {
			return l.repeat(y, xi)
		}
	case "%":
		if s, ok := x.(Str); ok {
			return Str(l.percent(string(s), y))
		}
	case "/":
		return l.pathJoin(x, y)
	case "|":
		if a, ok := x.(*Dict); ok {
			if b, ok := y.(*Dict); ok {
				l.size(a.live + b.live)
				d := &Dict{table: a.copy(), factory: a.factory}
				for _, e := range b.entries {
					if e.key != nil {
						d.set(e.hash, e.key, e.val)
					}
				}
				return d
			}
		}
		if c, ok := x.(*Class); ok { // int | None, in annotations that are evaluated
			return c
		}
	}
	if a, ok := x.(*Set); ok {
		if b, ok := y.(*Set); ok {
			return l.setOp(op, a, b)
		}
	}
	return nil
}

func concat(a, b []Value) []Value {
	out := make([]Value, 0, len(a)+len(b))
	return append(append(out, a...), b...)
}

// repeat is x * n for sequences.
func (l *Loader) repeat(x Value, count Int) Value {
	n64, ok := count.Int64()
	if !ok && count.Sign() > 0 {
		n64 = maxElems + 1
	}
	n := int(max(0, min(n64, maxElems+1)))
	elems := func(e []Value) []Value {
		l.size(len(e) * n)
		out := make([]Value, 0, len(e)*n)
		for range n {
			if len(e) == 0 {
				break
			}
			out = append(out, e...)
		}
		return out
	}
	switch x := x.(type) {
	case Str:
		l.text(len(x) * n)
		return Str(strings.Repeat(string(x), n))
	case Bytes:
		l.text(len(x) * n)
		return Bytes(strings.Repeat(string(x), n))
	case *List:
		return &List{elems(x.Elems)}
	case *Tuple:
		return &Tuple{Elems: elems(x.Elems)}
	}
	return nil
}

func (l *Loader) setOp(op string, a, b *Set) Value {
	l.charge(a.live + b.live)
	out := &Set{Frozen: a.Frozen}
	keep := func(from *Set, want func(h any) bool) {
		for _, e := range from.entries {
			if e.key != nil && want(e.hash) {
				out.set(e.hash, e.key, nil)
			}
		}
	}
	all := func(any) bool { return true }
	in := func(s *Set) func(any) bool { return func(h any) bool { return s.find(h) != nil } }
	not := func(s *Set) func(any) bool { return func(h any) bool { return s.find(h) == nil } }
	switch op {
	case "|":
		keep(a, all)
		keep(b, all)
	case "&":
		keep(a, in(b))
	case "-":
		keep(a, not(b))
	case "^":
		keep(a, not(b))
		keep(b, not(a))
	default:
		return nil
	}
	return out
}

// unary is op x.
func (l *Loader) unary(op string, x Value) Value {
	if op == "not" {
		return Bool(!l.truth(x))
	}
	if i, ok := x.(*Instance); ok {
		name := map[string]string{"-": "__neg__", "+": "__pos__", "~": "__invert__"}[op]
		if f, _, ok := i.Class.find(name); ok {
			return l.call(&Bound{i, f}, nil, nil)
		}
	}
	i, f, isInt, isFloat := number(plain(x))
	switch {
	case isInt && op == "-":
		return i.neg()
	case isInt && op == "+":
		return i
	case isInt && op == "~":
		return i.neg().sub(MakeInt(1))
	case isFloat && op == "-":
		return -f
	case isFloat && op == "+":
		return f
	}
	switch v := x.(type) {
	case *Symbol:
		l.unknown("'%s' on %s", op, v.Path)
	case *DynVar:
		l.unknown("'%s' on the dynamic dimension %s", op, v.Name)
	}
	l.raise(excType, "bad operand type for unary %s: '%s'", op, typeName(x))
	return nil
}
