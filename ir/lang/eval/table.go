package eval

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// table is an insertion-ordered hash table, the body of dicts and sets.
type table struct {
	entries []entry
	index   map[any]int
	live    int
}

type entry struct {
	key, val Value // key is nil after deletion
	hash     any
}

func (t *table) find(h any) *entry {
	if i, ok := t.index[h]; ok {
		return &t.entries[i]
	}
	return nil
}

func (t *table) set(h any, k, v Value) {
	if i, ok := t.index[h]; ok {
		t.entries[i].val = v
		return
	}
	if t.index == nil {
		t.index = make(map[any]int)
	}
	t.index[h] = len(t.entries)
	t.entries = append(t.entries, entry{k, v, h})
	t.live++
}

func (t *table) del(h any) bool {
	i, ok := t.index[h]
	if !ok {
		return false
	}
	delete(t.index, h)
	t.entries[i] = entry{}
	t.live--
	if len(t.entries) > 16 && t.live < len(t.entries)/2 {
		t.compact()
	}
	return true
}

func (t *table) compact() {
	out := make([]entry, 0, t.live)
	for _, e := range t.entries {
		if e.key != nil {
			t.index[e.hash] = len(out)
			out = append(out, e)
		}
	}
	t.entries = out
}

func (t *table) clear() { *t = table{} }

// Len is the number of entries.
func (t *table) Len() int { return t.live }

// All yields keys and values in insertion order; the values of sets are nil.
func (t *table) All() func(yield func(k, v Value) bool) {
	return func(yield func(k, v Value) bool) {
		for _, e := range t.entries {
			if e.key != nil && !yield(e.key, e.val) {
				return
			}
		}
	}
}

func (t *table) keys() []Value {
	out := make([]Value, 0, t.live)
	for _, e := range t.entries {
		if e.key != nil {
			out = append(out, e.key)
		}
	}
	return out
}

func (t *table) copy() table {
	var c table
	for _, e := range t.entries {
		if e.key != nil {
			c.set(e.hash, e.key, e.val)
		}
	}
	return c
}

// Key types for values that Go's own equality does not compare as Python does.
type (
	bigKey   string
	bytesKey string
	partsKey string // tuples, frozensets and instances compared by fields
	symKey   string
)

// hash gives a comparable key, equal exactly for equal values; it raises TypeError for mutable ones.
func (l *Loader) hash(v Value) any {
	switch v := v.(type) {
	case Int:
		if v.big != nil {
			return bigKey(v.big.String())
		}
		return v.small
	case Bool:
		if v {
			return int64(1)
		}
		return int64(0)
	case Float:
		f := float64(v)
		if f == math.Trunc(f) && math.Abs(f) < 1<<62 {
			return int64(f)
		}
		return f
	case Str:
		return string(v)
	case Bytes:
		return bytesKey(v)
	case *Symbol:
		return symKey(v.Path)
	case *Tuple:
		return partsKey("(" + l.hashAll(v.Elems))
	case *Range:
		return partsKey("r" + l.hashAll([]Value{v.Start, v.Stop, v.Step}))
	case *Path:
		return symKey("path:" + v.s)
	case *Set:
		if v.Frozen {
			// Order does not count: join the keys in a canonical order.
			parts := make([]string, 0, v.live)
			for _, k := range v.keys() {
				parts = append(parts, l.hashAll([]Value{k}))
			}
			sortStrings(parts)
			return partsKey("{" + strings.Join(parts, ""))
		}
		l.raise(excType, "unhashable type: 'set'")
	case *List, *Dict, *Slice:
		l.raise(excType, "unhashable type: '%s'", typeName(v))
	case *Instance:
		if v.payload != nil && !v.Class.enum {
			return l.hash(v.payload)
		}
		if fn, _, ok := v.Class.find("__hash__"); ok {
			if f, ok := fn.(*Func); ok {
				return partsKey("h" + l.hashAll([]Value{l.call(f, []Value{v}, nil)}))
			}
		}
		if d := v.Class.dataclass; d != nil && d.eq {
			if !d.frozen {
				l.raise(excType, "unhashable type: '%s'", v.Class.Name)
			}
			return partsKey(fmt.Sprintf("i%p", v.Class) + l.hashAll(l.fieldValues(v)))
		}
		return v
	case *Poison:
		l.readPoison(v)
	}
	return v
}

func (l *Loader) hashAll(vs []Value) string {
	l.nest()
	defer l.unnest()
	var b strings.Builder
	for _, v := range vs {
		l.charge(1)
		s := ""
		switch h := l.hash(v).(type) {
		case int64:
			s = "n" + strconv.FormatInt(h, 10)
		case float64:
			s = "f" + strconv.FormatFloat(h, 'g', -1, 64)
		case string:
			s = "s" + h
		case bigKey:
			s = "n" + string(h)
		case bytesKey:
			s = "b" + string(h)
		case partsKey:
			s = "p" + string(h)
		case symKey:
			s = "y" + string(h)
		case NoneType:
			s = "N"
		case EllipsisType:
			s = "E"
		default:
			s = fmt.Sprintf("@%p", h)
		}
		b.WriteString(strconv.Itoa(len(s)))
		b.WriteByte(':')
		b.WriteString(s)
	}
	if b.Len() > maxElems {
		l.over("a key of more than %d bytes", maxElems)
	}
	return b.String()
}

// Get finds a string key.
func (d *Dict) Get(key string) (Value, bool) {
	if e := d.find(key); e != nil {
		return e.val, true
	}
	return nil, false
}

// attrs is a small insertion-ordered map by name.
type attrs struct {
	names []string
	m     map[string]Value
}

func (a *attrs) get(name string) (Value, bool) {
	v, ok := a.m[name]
	return v, ok
}

func (a *attrs) set(name string, v Value) {
	if a.m == nil {
		a.m = make(map[string]Value)
	}
	if _, ok := a.m[name]; !ok {
		a.names = append(a.names, name)
	}
	a.m[name] = v
}

func (a *attrs) del(name string) bool {
	if _, ok := a.m[name]; !ok {
		return false
	}
	delete(a.m, name)
	for i, n := range a.names {
		if n == name {
			a.names = append(a.names[:i:i], a.names[i+1:]...)
			break
		}
	}
	return true
}
