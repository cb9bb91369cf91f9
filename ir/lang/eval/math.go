package eval

import (
	"math"
	"strings"
)

// mathModule is the module math.
func mathModule() map[string]Value {
	m := map[string]Value{"pi": Float(math.Pi), "e": Float(math.E), "tau": Float(2 * math.Pi), "inf": Float(math.Inf(1)), "nan": Float(math.NaN())}
	put := func(name string, least, most int, f func(l *Loader, a []Value) Value) {
		m[name] = builtinFunc(name, func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want(name, args, kws, least, most)
			return f(l, args)
		})
	}
	// float wraps a function of one float; a NaN or infinity from finite arguments is a domain or range error.
	float := func(name string, f func(float64) float64) {
		put(name, 1, 1, func(l *Loader, a []Value) Value {
			x := l.real(a[0])
			r := f(x)
			if math.IsNaN(r) && !math.IsNaN(x) {
				l.raise(excValue, "math domain error")
			}
			if math.IsInf(r, 0) && !math.IsInf(x, 0) {
				if strings.HasPrefix(name, "log") || name == "atanh" {
					l.raise(excValue, "math domain error")
				}
				l.raise(excOverflow, "math range error")
			}
			return Float(r)
		})
	}
	for name, f := range map[string]func(float64) float64{"exp": exp, "expm1": math.Expm1, "log1p": math.Log1p, "sin": math.Sin, "cos": math.Cos, "tan": math.Tan,
		"asin": math.Asin, "acos": math.Acos, "atan": math.Atan, "sinh": math.Sinh, "cosh": math.Cosh, "tanh": math.Tanh, "asinh": math.Asinh, "acosh": math.Acosh,
		"atanh": math.Atanh, "erf": math.Erf, "erfc": math.Erfc, "fabs": math.Abs, "cbrt": math.Cbrt, "exp2": math.Exp2} {
		float(name, f)
	}
	float("sqrt", math.Sqrt)
	float("radians", func(x float64) float64 { return x * (math.Pi / 180) })
	float("degrees", func(x float64) float64 { return x * (180 / math.Pi) })
	logOf := func(l *Loader, v Value, f func(float64) float64) float64 {
		if i, ok := plain(v).(Int); ok && i.big != nil && i.Sign() > 0 { // too large for a float: split off powers of two
			n := i.bits() - 60
			x, _ := i.shift(-n).float()
			return f(x) + float64(n)*f(2)
		}
		x := l.real(v)
		if x <= 0 {
			l.raise(excValue, "math domain error")
		}
		return f(x)
	}
	put("log", 1, 2, func(l *Loader, a []Value) Value {
		x := logOf(l, a[0], logE)
		if len(a) == 1 {
			return Float(x)
		}
		b := logOf(l, a[1], logE)
		if b == 0 {
			l.raise(excZeroDivision, "float division by zero")
		}
		return Float(x / b)
	})
	put("log2", 1, 1, func(l *Loader, a []Value) Value { return Float(logOf(l, a[0], log2)) })
	put("log10", 1, 1, func(l *Loader, a []Value) Value { return Float(logOf(l, a[0], log10)) })
	put("pow", 2, 2, func(l *Loader, a []Value) Value {
		x, y := l.real(a[0]), l.real(a[1])
		r := pow(x, y)
		if math.IsNaN(r) && !math.IsNaN(x) && !math.IsNaN(y) || x == 0 && y < 0 {
			l.raise(excValue, "math domain error")
		}
		if math.IsInf(r, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
			l.raise(excOverflow, "math range error")
		}
		return Float(r)
	})
	for name, f := range map[string]func(x, y float64) float64{"atan2": math.Atan2, "copysign": math.Copysign, "hypot": math.Hypot, "fmod": math.Mod, "nextafter": math.Nextafter} {
		put(name, 2, 2, func(l *Loader, a []Value) Value { return Float(f(l.real(a[0]), l.real(a[1]))) })
	}
	for name, f := range map[string]func(float64) float64{"floor": math.Floor, "ceil": math.Ceil, "trunc": math.Trunc} {
		put(name, 1, 1, func(l *Loader, a []Value) Value {
			if i, _, isInt, _ := number(plain(a[0])); isInt {
				return i
			}
			return l.floatToInt(f(l.real(a[0])))
		})
	}
	for name, f := range map[string]func(float64) bool{"isnan": math.IsNaN, "isinf": func(x float64) bool { return math.IsInf(x, 0) },
		"isfinite": func(x float64) bool { return !math.IsInf(x, 0) && !math.IsNaN(x) }} {
		put(name, 1, 1, func(l *Loader, a []Value) Value { return Bool(f(l.real(a[0]))) })
	}
	const ints = "an integer is required"
	fold := func(name string, zero Int, f func(l *Loader, x, y Int) Int) {
		put(name, 0, -1, func(l *Loader, a []Value) Value {
			r := zero
			for i, v := range a {
				x := l.toInt(v, ints)
				if x.Sign() < 0 {
					x = x.neg()
				}
				if i == 0 {
					r = x
					continue
				}
				r = f(l, r, x)
			}
			return r
		})
	}
	gcd := func(x, y Int) Int { return BigInt(newBig().GCD(nil, nil, x.Big(), y.Big())) }
	fold("gcd", Int{}, func(l *Loader, x, y Int) Int { return gcd(x, y) })
	fold("lcm", MakeInt(1), func(l *Loader, x, y Int) Int {
		if x.Sign() == 0 || y.Sign() == 0 {
			return Int{}
		}
		q, _ := x.divMod(gcd(x, y))
		l.width(q.bits() + y.bits())
		return q.mul(y)
	})
	put("isqrt", 1, 1, func(l *Loader, a []Value) Value {
		i := l.toInt(a[0], ints)
		if i.Sign() < 0 {
			l.raise(excValue, "isqrt() argument must be nonnegative")
		}
		return BigInt(newBig().Sqrt(i.Big()))
	})
	put("factorial", 1, 1, func(l *Loader, a []Value) Value {
		n, ok := l.toInt(a[0], ints).Int64()
		if n < 0 {
			l.raise(excValue, "factorial() not defined for negative values")
		}
		if !ok || n > 20000 {
			l.over("a factorial of more than 20000")
		}
		l.charge(int(n))
		return BigInt(newBig().MulRange(1, n))
	})
	put("comb", 2, 2, func(l *Loader, a []Value) Value {
		n, ok1 := l.toInt(a[0], ints).Int64()
		k, ok2 := l.toInt(a[1], ints).Int64()
		if n < 0 || k < 0 {
			l.raise(excValue, "comb() arguments must be non-negative")
		}
		if !ok1 || !ok2 || n > 20000 {
			l.over("a binomial of more than 20000")
		}
		l.charge(int(n))
		return BigInt(newBig().Binomial(n, k))
	})
	m["prod"] = builtinFunc("prod", func(l *Loader, args []Value, kws []NamedValue) Value {
		a := l.named("prod", args, kws, "iterable", "start")
		if a[0] == nil {
			l.raise(excType, "prod() takes exactly 1 positional argument (0 given)")
		}
		r := a[1]
		if r == nil {
			r = MakeInt(1)
		}
		for it := l.iter(a[0]); ; {
			v, ok := it.next()
			if !ok {
				return r
			}
			r = l.binary("*", r, v)
		}
	})
	put("fsum", 1, 1, func(l *Loader, a []Value) Value {
		sum, c := 0.0, 0.0 // compensated
		for _, v := range l.elems(a[0]) {
			x := l.real(v)
			t := sum + x
			if math.Abs(sum) >= math.Abs(x) {
				c += (sum - t) + x
			} else {
				c += (x - t) + sum
			}
			sum = t
		}
		return Float(sum + c)
	})
	put("ldexp", 2, 2, func(l *Loader, a []Value) Value {
		return Float(math.Ldexp(l.real(a[0]), l.smallInt(a[1], ints)))
	})
	put("frexp", 1, 1, func(l *Loader, a []Value) Value {
		f, e := math.Frexp(l.real(a[0]))
		return &Tuple{Elems: []Value{Float(f), MakeInt(int64(e))}}
	})
	put("modf", 1, 1, func(l *Loader, a []Value) Value {
		i, f := math.Modf(l.real(a[0]))
		return &Tuple{Elems: []Value{Float(f), Float(i)}}
	})
	m["isclose"] = builtinFunc("isclose", func(l *Loader, args []Value, kws []NamedValue) Value {
		a := l.named("isclose", args, kws, "a", "b", "rel_tol", "abs_tol")
		if a[0] == nil || a[1] == nil {
			l.raise(excType, "isclose() missing required argument")
		}
		rel, abs := 1e-9, 0.0
		if a[2] != nil {
			rel = l.real(a[2])
		}
		if a[3] != nil {
			abs = l.real(a[3])
		}
		x, y := l.real(a[0]), l.real(a[1])
		if x == y {
			return Bool(true)
		}
		if math.IsInf(x, 0) || math.IsInf(y, 0) {
			return Bool(false)
		}
		d := math.Abs(x - y)
		return Bool(d <= math.Abs(rel*y) || d <= math.Abs(rel*x) || d <= abs)
	})
	return m
}

// real is the argument of a math function.
func (l *Loader) real(v Value) float64 {
	i, f, isInt, isFloat := number(plain(v))
	switch {
	case isInt:
		return l.toFloat(i)
	case isFloat:
		return float64(f)
	}
	if x, ok := v.(*Instance); ok {
		if fn, _, ok := x.Class.find("__float__"); ok {
			return l.real(l.call(&Bound{x, fn}, nil, nil))
		}
	}
	l.notValue(v)
	l.raise(excType, "must be real number, not %s", typeName(v))
	return 0
}
