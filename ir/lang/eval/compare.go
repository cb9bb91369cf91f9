package eval

import (
	"math"
	"math/big"
	"strings"
)

// compare is x op y for every comparison operator.
func (l *Loader) compare(op string, x, y Value) Value {
	switch op {
	case "is":
		return Bool(same(x, y))
	case "is not":
		return Bool(!same(x, y))
	case "in":
		return Bool(l.contains(y, x))
	case "not in":
		return Bool(!l.contains(y, x))
	case "==":
		return l.equalValue(x, y)
	case "!=":
		if i, ok := x.(*Instance); ok {
			if f, _, ok := i.Class.find("__ne__"); ok {
				return l.call(&Bound{i, f}, []Value{y}, nil)
			}
		}
		return Bool(!l.equal(x, y))
	}
	if v := l.operatorMethod(orderMethods[op], x, y); v != nil {
		return v
	}
	return Bool(l.order(op, x, y))
}

var orderMethods = map[string][2]string{
	"<": {"__lt__", "__gt__"}, "<=": {"__le__", "__ge__"}, ">": {"__gt__", "__lt__"}, ">=": {"__ge__", "__le__"},
}

// same is "x is y". Small values have no identity of their own here: equal ones of a type are the same, as they are for the literals that
// programs compare in this way.
func same(x, y Value) bool {
	switch x := x.(type) {
	case Int:
		y, ok := y.(Int)
		return ok && x.Cmp(y) == 0
	case *Symbol:
		y, ok := y.(*Symbol)
		return ok && x.Path == y.Path
	case Float:
		y, ok := y.(Float)
		return ok && (x == y || x != x && y != y)
	}
	return x == y
}

// equalValue is "x == y", whose result a class may define to be anything.
func (l *Loader) equalValue(x, y Value) Value {
	if i, ok := x.(*Instance); ok {
		if f, _, ok := i.Class.find("__eq__"); ok {
			if r := l.call(&Bound{i, f}, []Value{y}, nil); r != Value(notImplemented) {
				return r
			}
		}
	} else if i, ok := y.(*Instance); ok {
		if f, _, ok := i.Class.find("__eq__"); ok {
			if r := l.call(&Bound{i, f}, []Value{x}, nil); r != Value(notImplemented) {
				return r
			}
		}
	}
	return Bool(l.equal(x, y))
}

func (l *Loader) equal(x, y Value) bool {
	l.charge(1)
	switch a := x.(type) {
	case *Instance:
		if f, _, ok := a.Class.find("__eq__"); ok {
			if r := l.call(&Bound{a, f}, []Value{y}, nil); r != Value(notImplemented) {
				return l.truth(r)
			}
		}
		b, ok := y.(*Instance)
		if ok && (a == b) {
			return true
		}
		if d := a.Class.dataclass; d != nil && d.eq && ok && a.Class == b.Class {
			return l.equalAll(l.fieldValues(a), l.fieldValues(b))
		}
		if ok && a.Class == namespace && b.Class == namespace {
			return l.equalAttrs(a, b)
		}
		if a.payload != nil {
			return l.equal(a.payload, plain(y))
		}
		return false
	case *Poison:
		l.readPoison(a)
	}
	y = plain(y)
	switch b := y.(type) {
	case *Poison:
		l.readPoison(b)
	case *Instance:
		return l.equal(b, x)
	case *Symbol:
		if _, ok := x.(*Symbol); !ok {
			if !b.IsDSL() {
				if _, none := x.(NoneType); none {
					return false
				}
				l.unknown("a comparison with %s", b.Path)
			}
			return false
		}
	}
	xi, xf, xInt, xFloat := number(x)
	yi, yf, yInt, yFloat := number(y)
	switch {
	case xInt && yInt:
		return xi.Cmp(yi) == 0
	case xFloat && yFloat:
		return xf == yf
	case xInt && yFloat:
		return compareIntFloat(xi, float64(yf)) == 0
	case xFloat && yInt:
		return compareIntFloat(yi, float64(xf)) == 0
	}
	switch a := x.(type) {
	case *List:
		b, ok := y.(*List)
		return ok && (a == b || l.equalAll(a.Elems, b.Elems))
	case *Tuple:
		b, ok := y.(*Tuple)
		return ok && (a == b || l.equalAll(a.Elems, b.Elems))
	case *Dict:
		b, ok := y.(*Dict)
		if !ok || a.live != b.live {
			return false
		}
		l.nest()
		defer l.unnest()
		for _, e := range a.entries {
			if e.key == nil {
				continue
			}
			o := b.find(e.hash)
			if o == nil || !l.equal(e.val, o.val) {
				return false
			}
		}
		return true
	case *Set:
		b, ok := y.(*Set)
		return ok && a.live == b.live && subset(a, b)
	case *Range:
		b, ok := y.(*Range)
		return ok && l.equalRanges(a, b)
	case *Path:
		b, ok := y.(*Path)
		return ok && a.s == b.s
	case *Symbol:
		b, ok := y.(*Symbol)
		if ok && a.Path != b.Path && !(a.IsDSL() && b.IsDSL()) {
			l.unknown("a comparison of %s with %s", a.Path, b.Path)
		}
		if !ok && !a.IsDSL() {
			if _, none := y.(NoneType); !none {
				l.unknown("a comparison with %s", a.Path)
			}
		}
		return ok && a.Path == b.Path
	case *Bound:
		b, ok := y.(*Bound)
		return ok && a.Self == b.Self && a.Fn == b.Fn
	case *Applied:
		l.unknown("a comparison with %s", shortRepr(a))
	}
	if b, ok := y.(*Applied); ok {
		l.unknown("a comparison with %s", shortRepr(b))
	}
	return x == y
}

func (l *Loader) equalAll(a, b []Value) bool {
	if len(a) != len(b) {
		return false
	}
	l.nest()
	defer l.unnest()
	for i := range a {
		if !l.equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

func (l *Loader) equalAttrs(a, b *Instance) bool {
	if len(a.attrs.names) != len(b.attrs.names) {
		return false
	}
	l.nest()
	defer l.unnest()
	for _, n := range a.attrs.names {
		x, _ := a.attrs.get(n)
		y, ok := b.attrs.get(n)
		if !ok || !l.equal(x, y) {
			return false
		}
	}
	return true
}

func (l *Loader) equalRanges(a, b *Range) bool {
	n := l.rangeLen(a)
	if n.Cmp(l.rangeLen(b)) != 0 {
		return false
	}
	return n.Sign() == 0 || a.Start.Cmp(b.Start) == 0 && (n.Cmp(MakeInt(1)) == 0 || a.Step.Cmp(b.Step) == 0)
}

func subset(a, b *Set) bool {
	for _, e := range a.entries {
		if e.key != nil && b.find(e.hash) == nil {
			return false
		}
	}
	return true
}

// compareIntFloat compares exactly; NaN is neither equal nor ordered, which callers of order see as 2.
func compareIntFloat(i Int, f float64) int {
	switch {
	case math.IsNaN(f):
		return 2
	case math.IsInf(f, 1):
		return -1
	case math.IsInf(f, -1):
		return 1
	}
	return new(big.Rat).SetInt(i.Big()).Cmp(new(big.Rat).SetFloat64(f))
}

// order is x op y for < <= > >=.
func (l *Loader) order(op string, x, y Value) bool {
	l.charge(1)
	if a, ok := x.(*Instance); ok && a.Class.dataclass != nil && a.Class.dataclass.order {
		if b, ok := y.(*Instance); ok && a.Class == b.Class {
			return l.orderAll(op, l.fieldValues(a), l.fieldValues(b))
		}
	}
	x, y = plain(x), plain(y)
	holds := func(c int) bool {
		switch op {
		case "<":
			return c < 0
		case "<=":
			return c <= 0
		case ">":
			return c > 0 && c < 2
		}
		return c >= 0 && c < 2
	}
	xi, xf, xInt, xFloat := number(x)
	yi, yf, yInt, yFloat := number(y)
	switch {
	case xInt && yInt:
		return holds(xi.Cmp(yi))
	case xFloat && yFloat:
		switch op {
		case "<":
			return xf < yf
		case "<=":
			return xf <= yf
		case ">":
			return xf > yf
		}
		return xf >= yf
	case xInt && yFloat:
		return holds(compareIntFloat(xi, float64(yf)))
	case xFloat && yInt:
		c := compareIntFloat(yi, float64(xf))
		if c != 2 {
			c = -c
		}
		return holds(c)
	}
	switch a := x.(type) {
	case Str:
		if b, ok := y.(Str); ok {
			return holds(strings.Compare(string(a), string(b)))
		}
	case Bytes:
		if b, ok := y.(Bytes); ok {
			return holds(strings.Compare(string(a), string(b)))
		}
	case *List:
		if b, ok := y.(*List); ok {
			return l.orderAll(op, a.Elems, b.Elems)
		}
	case *Tuple:
		if b, ok := y.(*Tuple); ok {
			return l.orderAll(op, a.Elems, b.Elems)
		}
	case *Set:
		if b, ok := y.(*Set); ok {
			switch op {
			case "<=":
				return subset(a, b)
			case "<":
				return a.live < b.live && subset(a, b)
			case ">=":
				return subset(b, a)
			default:
				return b.live < a.live && subset(b, a)
			}
		}
	case *Path:
		if b, ok := y.(*Path); ok {
			return holds(strings.Compare(a.s, b.s))
		}
	}
	for _, v := range [2]Value{x, y} {
		switch v := v.(type) {
		case *Symbol:
			l.unknown("a comparison with %s", v.Path)
		case *DynVar:
			l.unknown("a comparison with the dynamic dimension %s", v.Name)
		case *Applied:
			l.unknown("a comparison with %s", shortRepr(v))
		}
	}
	l.raise(excType, "'%s' not supported between instances of '%s' and '%s'", op, typeName(x), typeName(y))
	return false
}

func (l *Loader) orderAll(op string, a, b []Value) bool {
	l.nest()
	defer l.unnest()
	for i := range min(len(a), len(b)) {
		if !l.equal(a[i], b[i]) {
			return l.truth(l.compare(op, a[i], b[i]))
		}
	}
	return l.order(op, MakeInt(int64(len(a))), MakeInt(int64(len(b))))
}

// contains is "x in c".
func (l *Loader) contains(c, x Value) bool {
	switch c := plain(c).(type) {
	case Str:
		s, ok := plain(x).(Str)
		if !ok {
			l.raise(excType, "'in <string>' requires string as left operand, not %s", typeName(x))
		}
		l.charge(len(c) / 64)
		return strings.Contains(string(c), string(s))
	case *Dict:
		return c.find(l.hash(x)) != nil
	case *Set:
		return c.find(l.hash(x)) != nil
	case *Range:
		if i, _, isInt, _ := number(plain(x)); isInt {
			return l.inRange(c, i)
		}
	case *Instance:
		if f, _, ok := c.Class.find("__contains__"); ok {
			return l.truth(l.call(&Bound{c, f}, []Value{x}, nil))
		}
	}
	for it := l.iter(c); ; {
		v, ok := it.next()
		if !ok {
			return false
		}
		if same(v, x) || l.equal(v, x) {
			return true
		}
	}
}

func (l *Loader) inRange(r *Range, i Int) bool {
	if r.Step.Sign() > 0 && (i.Cmp(r.Start) < 0 || i.Cmp(r.Stop) >= 0) || r.Step.Sign() < 0 && (i.Cmp(r.Start) > 0 || i.Cmp(r.Stop) <= 0) {
		return false
	}
	_, m := i.sub(r.Start).divMod(r.Step)
	return m.Sign() == 0
}
