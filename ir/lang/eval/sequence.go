package eval

import (
	"unicode/utf8"
)

// Iteration, length, subscripts.

// iter is iter(v).
func (l *Loader) iter(v Value) *Iterator {
	slice := func(at func() []Value) *Iterator {
		i := 0
		return &Iterator{next: func() (Value, bool) {
			e := at()
			if i >= len(e) {
				return nil, false
			}
			l.charge(1)
			i++
			return e[i-1], true
		}}
	}
	switch v := v.(type) {
	case *Iterator:
		return v
	case *List:
		return slice(func() []Value { return v.Elems })
	case *Tuple:
		return slice(func() []Value { return v.Elems })
	case *Dict:
		return l.tableIter(&v.table, "dictionary")
	case *Set:
		return l.tableIter(&v.table, "Set")
	case *Range:
		at, n := v.Start, l.rangeLen(v)
		return &Iterator{next: func() (Value, bool) {
			if n.Sign() <= 0 {
				return nil, false
			}
			l.charge(1)
			x := at
			at, n = at.add(v.Step), n.sub(MakeInt(1))
			return x, true
		}}
	case Str:
		s := string(v)
		return &Iterator{next: func() (Value, bool) {
			if s == "" {
				return nil, false
			}
			l.charge(1)
			_, n := utf8.DecodeRuneInString(s)
			c := s[:n]
			s = s[n:]
			return Str(c), true
		}}
	case Bytes:
		i := 0
		return &Iterator{next: func() (Value, bool) {
			if i >= len(v) {
				return nil, false
			}
			l.charge(1)
			i++
			return MakeInt(int64(v[i-1])), true
		}}
	case *Class:
		if v.enum {
			members := l.enumMembers(v)
			return slice(func() []Value { return members })
		}
	case *Instance:
		if f, _, ok := v.Class.find("__iter__"); ok {
			r := l.call(&Bound{v, f}, nil, nil)
			if it, ok := r.(*Instance); ok {
				return l.instanceIter(it)
			}
			return l.iter(r)
		}
		if v.payload != nil {
			return l.iter(v.payload)
		}
		if f, _, ok := v.Class.find("__getitem__"); ok {
			i := int64(0)
			return &Iterator{next: func() (Value, bool) {
				i++
				return l.until(excIndex, func() Value { return l.call(&Bound{v, f}, []Value{MakeInt(i - 1)}, nil) })
			}}
		}
	case *Symbol:
		l.unknown("iteration over %s", v.Path)
	case *Applied:
		l.unknown("iteration over %s", shortRepr(v))
	case *Poison:
		l.readPoison(v)
	}
	l.raise(excType, "'%s' object is not iterable", typeName(v))
	return nil
}

func (l *Loader) instanceIter(it *Instance) *Iterator {
	f, _, ok := it.Class.find("__next__")
	if !ok {
		l.raise(excType, "iter() returned non-iterator of type '%s'", typeName(it))
	}
	return &Iterator{next: func() (Value, bool) {
		return l.until(excStopIteration, func() Value { return l.call(&Bound{it, f}, nil, nil) })
	}}
}

// until runs f; an exception of class end makes it the end of an iteration.
func (l *Loader) until(end *Class, f func() Value) (v Value, ok bool) {
	l.charge(1)
	saved := l.mark()
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		if x, isFault := r.(*fault); !isFault || x.exc == nil || !x.exc.Class.is(end) {
			panic(r)
		}
		l.reset(saved)
		v, ok = nil, false
	}()
	return f(), true
}

func (l *Loader) tableIter(t *table, what string) *Iterator {
	i, n := 0, t.live
	return &Iterator{next: func() (Value, bool) {
		if t.live != n {
			l.raise(excRuntime, "%s changed size during iteration", what)
		}
		for i < len(t.entries) {
			e := t.entries[i]
			i++
			if e.key != nil {
				l.charge(1)
				return e.key, true
			}
		}
		return nil, false
	}}
}

// elems collects an iterable.
func (l *Loader) elems(v Value) []Value {
	switch v := v.(type) {
	case *List:
		l.size(len(v.Elems))
		return append([]Value(nil), v.Elems...)
	case *Tuple:
		l.size(len(v.Elems))
		return append([]Value(nil), v.Elems...)
	}
	var out []Value
	for it := l.iter(v); ; {
		x, ok := it.next()
		if !ok {
			return out
		}
		if len(out) >= maxElems {
			l.size(len(out) + 1)
		}
		out = append(out, x)
	}
}

func (l *Loader) rangeLen(r *Range) Int {
	lo, hi, step := r.Start, r.Stop, r.Step
	if step.Sign() < 0 {
		lo, hi, step = hi, lo, step.neg()
	}
	if lo.Cmp(hi) >= 0 {
		return Int{}
	}
	q, _ := hi.sub(lo).sub(MakeInt(1)).divMod(step)
	return q.add(MakeInt(1))
}

// length is len(v).
func (l *Loader) length(v Value) Int {
	switch v := plain(v).(type) {
	case Str:
		return MakeInt(int64(utf8.RuneCountInString(string(v))))
	case Bytes:
		return MakeInt(int64(len(v)))
	case *List:
		return MakeInt(int64(len(v.Elems)))
	case *Tuple:
		return MakeInt(int64(len(v.Elems)))
	case *Dict:
		return MakeInt(int64(v.live))
	case *Set:
		return MakeInt(int64(v.live))
	case *Range:
		return l.rangeLen(v)
	case *Class:
		if v.enum {
			return MakeInt(int64(len(l.enumMembers(v))))
		}
	case *Instance:
		if f, _, ok := v.Class.find("__len__"); ok {
			if n, ok := l.call(&Bound{v, f}, nil, nil).(Int); ok {
				return n
			}
		}
	case *Symbol:
		l.unknown("the length of %s", v.Path)
	case *Applied:
		l.unknown("the length of %s", shortRepr(v))
	}
	l.raise(excType, "object of type '%s' has no len()", typeName(v))
	return Int{}
}

// subscript is x[i].
func (l *Loader) subscript(x, i Value) Value {
	switch x := x.(type) {
	case *List:
		if s, ok := i.(*Slice); ok {
			return &List{l.slice(x.Elems, s)}
		}
		return x.Elems[l.index(i, len(x.Elems), "list index out of range", "list")]
	case *Tuple:
		if s, ok := i.(*Slice); ok {
			return &Tuple{Elems: l.slice(x.Elems, s)}
		}
		return x.Elems[l.index(i, len(x.Elems), "tuple index out of range", "tuple")]
	case Str:
		l.charge(len(x) / 64)
		if s, ok := i.(*Slice); ok {
			return Str(l.sliceStr(string(x), s))
		}
		if ascii(string(x)) {
			n := l.index(i, len(x), "string index out of range", "string")
			return x[n : n+1]
		}
		r := []rune(string(x))
		return Str(string(r[l.index(i, len(r), "string index out of range", "string")]))
	case Bytes:
		if s, ok := i.(*Slice); ok {
			var out []byte
			for _, e := range l.slice(l.elems(x), s) {
				n, _ := e.(Int).Int64()
				out = append(out, byte(n))
			}
			return Bytes(out)
		}
		return MakeInt(int64(x[l.index(i, len(x), "index out of range", "byte")]))
	case *Dict:
		if e := x.find(l.hash(i)); e != nil {
			return e.val
		}
		if x.factory != nil {
			v := l.call(x.factory, nil, nil)
			x.set(l.hash(i), i, v)
			return v
		}
		l.throw(newException(excKey, i))
	case *Range:
		n := l.rangeLen(x)
		if s, ok := i.(*Slice); ok {
			return l.sliceRange(x, n, s)
		}
		k := l.toInt(i, "range indices must be integers or slices")
		if k.Sign() < 0 {
			k = k.add(n)
		}
		if k.Sign() < 0 || k.Cmp(n) >= 0 {
			l.raise(excIndex, "range object index out of range")
		}
		return x.Start.add(k.mul(x.Step))
	case *Symbol:
		if x.IsDSL() {
			return &Applied{Fun: x, Args: []Value{i}, Span: l.span()}
		}
		if benign(x.Path) {
			return x
		}
		l.unknown("a subscript of %s", x.Path)
	case *Applied:
		return &Applied{Fun: x, Args: []Value{i}, Span: l.span()}
	case *Class:
		if x.enum {
			if s, ok := i.(Str); ok {
				if m, ok := x.attrs.get(string(s)); ok {
					return m
				}
			}
			l.throw(newException(excKey, i))
		}
		return x // list[int], Generic[T]
	case *Instance:
		if f, _, ok := x.Class.find("__getitem__"); ok {
			return l.call(&Bound{x, f}, []Value{i}, nil)
		}
		if x.payload != nil {
			return l.subscript(x.payload, i)
		}
	case *Poison:
		l.readPoison(x)
	}
	l.raise(excType, "'%s' object is not subscriptable", typeName(x))
	return nil
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func (l *Loader) toInt(v Value, complaint string) Int {
	i, _, isInt, _ := number(plain(v))
	if !isInt {
		if x, ok := v.(*Instance); ok {
			if f, _, ok := x.Class.find("__index__"); ok {
				return l.toInt(l.call(&Bound{x, f}, nil, nil), complaint)
			}
		}
		l.notValue(v)
		l.raise(excType, "%s, not %s", complaint, typeName(v))
	}
	return i
}

// notValue throws for values that stand for something unknown.
func (l *Loader) notValue(v Value) {
	switch v := v.(type) {
	case *Symbol:
		l.unknown("the value of %s", v.Path)
	case *DynVar:
		l.unknown("the value of the dynamic dimension %s", v.Name)
	case *Applied:
		l.unknown("the value of %s", shortRepr(v))
	case *Poison:
		l.readPoison(v)
	}
}

// smallInt is an integer for a length or a position, clamped to what fits.
func (l *Loader) smallInt(v Value, complaint string) int {
	i := l.toInt(v, complaint)
	n, ok := i.Int64()
	if !ok || n > maxElems*2 || n < -maxElems*2 {
		return i.Sign() * maxElems * 2
	}
	return int(n)
}

// index makes an index of a sequence of n elements.
func (l *Loader) index(i Value, n int, outside, kind string) int {
	k := l.smallInt(i, kind+" indices must be integers or slices")
	if k < 0 {
		k += n
	}
	if k < 0 || k >= n {
		l.raise(excIndex, "%s", outside)
	}
	return k
}

// bounds resolves a slice over n elements to start, step and count.
func (l *Loader) bounds(s *Slice, n int) (start, step, count int) {
	const complaint = "slice indices must be integers or None"
	step = 1
	if s.Step != None {
		if step = l.smallInt(s.Step, complaint); step == 0 {
			l.raise(excValue, "slice step cannot be zero")
		}
	}
	lo, hi := 0, n
	if step < 0 {
		lo, hi = n-1, -1
	}
	clamp := func(v Value, otherwise int) int {
		if v == None {
			return otherwise
		}
		k := l.smallInt(v, complaint)
		if k < 0 {
			k += n
		}
		if step < 0 {
			return max(-1, min(k, n-1))
		}
		return max(0, min(k, n))
	}
	lo, hi = clamp(s.Lo, lo), clamp(s.Hi, hi)
	switch {
	case step > 0 && lo < hi:
		count = (hi - lo + step - 1) / step
	case step < 0 && hi < lo:
		count = (lo - hi - step - 1) / -step
	}
	return lo, step, count
}

func (l *Loader) slice(e []Value, s *Slice) []Value {
	start, step, count := l.bounds(s, len(e))
	l.size(count)
	out := make([]Value, count)
	for i := range out {
		out[i] = e[start+i*step]
	}
	return out
}

func (l *Loader) sliceStr(t string, s *Slice) string {
	if ascii(t) {
		start, step, count := l.bounds(s, len(t))
		if step == 1 {
			return t[start : start+count]
		}
		out := make([]byte, count)
		for i := range out {
			out[i] = t[start+i*step]
		}
		return string(out)
	}
	r := []rune(t)
	start, step, count := l.bounds(s, len(r))
	out := make([]rune, count)
	for i := range out {
		out[i] = r[start+i*step]
	}
	return string(out)
}

func (l *Loader) sliceRange(r *Range, n Int, s *Slice) Value {
	size, ok := n.Int64()
	if !ok || size > maxElems {
		l.over("a slice of a range of %s elements", n)
	}
	start, step, count := l.bounds(s, int(size))
	at := func(i int) Int { return r.Start.add(MakeInt(int64(i)).mul(r.Step)) }
	return &Range{at(start), at(start + count*step), r.Step.mul(MakeInt(int64(step)))}
}

// setSubscript is x[i] = v.
func (l *Loader) setSubscript(x, i, v Value) {
	switch x := x.(type) {
	case *List:
		if s, ok := i.(*Slice); ok {
			l.setSlice(x, s, l.elems(v))
			return
		}
		x.Elems[l.index(i, len(x.Elems), "list assignment index out of range", "list")] = v
		return
	case *Dict:
		l.charge(1)
		if x.live >= maxElems {
			l.size(x.live + 1)
		}
		x.set(l.hash(i), i, v)
		return
	case *Instance:
		if f, _, ok := x.Class.find("__setitem__"); ok {
			l.call(&Bound{x, f}, []Value{i, v}, nil)
			return
		}
	}
	l.notValue(x)
	l.raise(excType, "'%s' object does not support item assignment", typeName(x))
}

func (l *Loader) setSlice(x *List, s *Slice, v []Value) {
	start, step, count := l.bounds(s, len(x.Elems))
	if step == 1 {
		l.size(len(x.Elems) + len(v))
		x.Elems = concat(concat(x.Elems[:start], v), x.Elems[start+count:])
		return
	}
	if len(v) != count {
		l.raise(excValue, "attempt to assign sequence of size %d to extended slice of size %d", len(v), count)
	}
	for i := range v {
		x.Elems[start+i*step] = v[i]
	}
}

// delSubscript is del x[i].
func (l *Loader) delSubscript(x, i Value) {
	switch x := x.(type) {
	case *List:
		if s, ok := i.(*Slice); ok {
			start, step, count := l.bounds(s, len(x.Elems))
			drop := make(map[int]bool, count)
			for k := range count {
				drop[start+k*step] = true
			}
			var out []Value
			for k, e := range x.Elems {
				if !drop[k] {
					out = append(out, e)
				}
			}
			x.Elems = out
			return
		}
		k := l.index(i, len(x.Elems), "list assignment index out of range", "list")
		x.Elems = append(x.Elems[:k:k], x.Elems[k+1:]...)
		l.charge(len(x.Elems) / 8)
		return
	case *Dict:
		if !x.del(l.hash(i)) {
			l.throw(newException(excKey, i))
		}
		return
	}
	l.notValue(x)
	l.raise(excType, "'%s' object doesn't support item deletion", typeName(x))
}
