package eval

// The module itertools.

func chainFromIterable(l *Loader, args []Value, kws []NamedValue) Value {
	l.want("from_iterable", args, kws, 1, 1)
	outer := l.iter(args[0])
	var inner *Iterator
	return &Iterator{name: "chain", next: func() (Value, bool) {
		for {
			if inner == nil {
				v, ok := outer.next()
				if !ok {
					return nil, false
				}
				inner = l.iter(v)
			}
			if v, ok := inner.next(); ok {
				return v, true
			}
			inner = nil
		}
	}}
}

func itertoolsModule() map[string]Value {
	type impl = func(l *Loader, args []Value, kws []NamedValue) Value
	fns := map[string]impl{
		"chain": func(l *Loader, args []Value, kws []NamedValue) Value {
			return chainFromIterable(l, []Value{&Tuple{Elems: args}}, kws)
		},
		"count": func(l *Loader, args []Value, kws []NamedValue) Value {
			a := l.named("count", args, kws, "start", "step")
			at, step := a[0], a[1]
			if at == nil {
				at = MakeInt(0)
			}
			if step == nil {
				step = MakeInt(1)
			}
			return &Iterator{name: "count", next: func() (Value, bool) {
				l.charge(1)
				v := at
				at = l.binary("+", at, step)
				return v, true
			}}
		},
		"repeat": func(l *Loader, args []Value, kws []NamedValue) Value {
			a := l.named("repeat", args, kws, "object", "times")
			n := -1
			if a[1] != nil {
				n = max(0, l.smallInt(a[1], "an integer is required"))
			}
			return &Iterator{name: "repeat", next: func() (Value, bool) {
				l.charge(1)
				if n == 0 || a[0] == nil {
					return nil, false
				}
				n--
				return a[0], true
			}}
		},
		"cycle": func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want("cycle", args, kws, 1, 1)
			e, i := l.elems(args[0]), 0
			return &Iterator{name: "cycle", next: func() (Value, bool) {
				l.charge(1)
				if len(e) == 0 {
					return nil, false
				}
				v := e[i]
				i = (i + 1) % len(e)
				return v, true
			}}
		},
		"islice": func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want("islice", args, kws, 2, 4)
			lo, hi, step := sliceArgs(args[1:])
			get := func(v Value, otherwise int) int {
				if v == nil || v == None {
					return otherwise
				}
				n := l.smallInt(v, "islice() wants integers")
				if n < 0 {
					l.raise(excValue, "Indices for islice() must be None or an integer: 0 <= x <= sys.maxsize.")
				}
				return n
			}
			at, end, by := get(lo, 0), get(hi, -1), max(1, get(step, 1))
			it, i := l.iter(args[0]), 0
			return &Iterator{name: "islice", next: func() (Value, bool) {
				for end < 0 || at < end {
					v, ok := it.next()
					if !ok {
						return nil, false
					}
					i++
					if i-1 == at {
						at += by
						return v, true
					}
				}
				return nil, false
			}}
		},
		"accumulate": func(l *Loader, args []Value, kws []NamedValue) Value {
			a := l.named("accumulate", args, kws, "iterable", "func", "initial")
			if a[0] == nil {
				l.raise(excType, "accumulate() missing required argument 'iterable'")
			}
			it := l.iter(a[0])
			total := a[2]
			first := total != nil && total != None
			if !first {
				total = nil
			}
			return &Iterator{name: "accumulate", next: func() (Value, bool) {
				if first {
					first = false
					return total, true
				}
				v, ok := it.next()
				if !ok {
					return nil, false
				}
				switch {
				case total == nil:
					total = v
				case a[1] != nil && a[1] != None:
					total = l.call(a[1], []Value{total, v}, nil)
				default:
					total = l.binary("+", total, v)
				}
				return total, true
			}}
		},
		"product": func(l *Loader, args []Value, kws []NamedValue) Value {
			times := 1
			for _, k := range kws {
				if k.Name != "repeat" {
					l.raise(excType, "product() got an unexpected keyword argument '%s'", k.Name)
				}
				times = l.smallInt(k.Value, "an integer is required")
			}
			var pools [][]Value
			for range times {
				l.size(len(pools) + len(args))
				for _, a := range args {
					pools = append(pools, l.elems(a))
				}
			}
			at := make([]int, len(pools))
			done := false
			for _, p := range pools {
				done = done || len(p) == 0
			}
			return &Iterator{name: "product", next: func() (Value, bool) {
				if done {
					return nil, false
				}
				l.charge(1 + len(pools))
				t := &Tuple{Elems: make([]Value, len(pools))}
				for i, p := range pools {
					t.Elems[i] = p[at[i]]
				}
				done = true
				for i := len(at) - 1; i >= 0; i-- {
					if at[i]++; at[i] < len(pools[i]) {
						done = false
						break
					}
					at[i] = 0
				}
				return t, true
			}}
		},
		"combinations": func(l *Loader, args []Value, kws []NamedValue) Value { return l.pick("combinations", args, kws, true) },
		"permutations": func(l *Loader, args []Value, kws []NamedValue) Value { return l.pick("permutations", args, kws, false) },
		"starmap": func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want("starmap", args, kws, 2, 2)
			it := l.iter(args[1])
			return &Iterator{name: "starmap", next: func() (Value, bool) {
				v, ok := it.next()
				if !ok {
					return nil, false
				}
				return l.call(args[0], l.elems(v), nil), true
			}}
		},
		"takewhile": func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want("takewhile", args, kws, 2, 2)
			it, done := l.iter(args[1]), false
			return &Iterator{name: "takewhile", next: func() (Value, bool) {
				if done {
					return nil, false
				}
				v, ok := it.next()
				if done = !ok || !l.truth(l.call(args[0], []Value{v}, nil)); done {
					return nil, false
				}
				return v, true
			}}
		},
		"pairwise": func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want("pairwise", args, kws, 1, 1)
			it := l.iter(args[0])
			last, _ := it.next()
			return &Iterator{name: "pairwise", next: func() (Value, bool) {
				v, ok := it.next()
				if !ok {
					return nil, false
				}
				t := &Tuple{Elems: []Value{last, v}}
				last = v
				return t, true
			}}
		},
	}
	m := make(map[string]Value, len(fns))
	for name, fn := range fns {
		m[name] = builtinFunc(name, fn)
	}
	return m
}

// pick yields the ordered or sorted choices of r elements, in the order of itertools.
func (l *Loader) pick(name string, args []Value, kws []NamedValue, sorted bool) Value {
	a := l.named(name, args, kws, "iterable", "r")
	if a[0] == nil {
		l.raise(excType, "%s() missing required argument 'iterable'", name)
	}
	pool := l.elems(a[0])
	r := len(pool)
	if a[1] != nil && a[1] != None {
		r = l.smallInt(a[1], "an integer is required")
	}
	if r < 0 {
		l.raise(excValue, "r must be non-negative")
	}
	if r > len(pool) {
		return l.iter(&Tuple{})
	}
	at := make([]int, 0, r)
	used := make([]bool, len(pool))
	// fill completes at with the smallest choice from position len(at) on.
	fill := func() {
		for len(at) < r {
			i := 0
			if sorted && len(at) > 0 {
				i = at[len(at)-1] + 1
			}
			for used[i] {
				i++
			}
			used[i] = true
			at = append(at, i)
		}
	}
	fill()
	done := false
	return &Iterator{name: name, next: func() (Value, bool) {
		if done {
			return nil, false
		}
		l.charge(1 + r)
		t := &Tuple{Elems: make([]Value, r)}
		for i, k := range at {
			t.Elems[i] = pool[k]
		}
		done = true
		for len(at) > 0 {
			last := at[len(at)-1]
			at = at[:len(at)-1]
			used[last] = false
			next := last + 1
			for next < len(pool) && used[next] {
				next++
			}
			room := len(pool)
			if sorted {
				room = len(pool) - (r - len(at) - 1)
			}
			if next < room {
				used[next] = true
				at = append(at, next)
				fill()
				done = false
				break
			}
		}
		return t, true
	}}
}
