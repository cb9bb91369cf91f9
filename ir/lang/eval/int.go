package eval

import (
	"math"
	"math/big"
	"math/bits"
)

// MakeInt makes an Int.
func MakeInt(i int64) Int { return Int{small: i} }

// BigInt makes an Int of any size; b must not change afterwards.
func BigInt(b *big.Int) Int {
	if b.IsInt64() {
		return Int{small: b.Int64()}
	}
	return Int{big: b}
}

// Int64 is the value when it fits.
func (i Int) Int64() (int64, bool) { return i.small, i.big == nil }

// Big is the value; it must not be changed.
func (i Int) Big() *big.Int {
	if i.big != nil {
		return i.big
	}
	return big.NewInt(i.small)
}

// Sign is -1, 0 or 1.
func (i Int) Sign() int {
	if i.big != nil {
		return i.big.Sign()
	}
	return sign(i.small)
}

func sign(i int64) int {
	switch {
	case i < 0:
		return -1
	case i > 0:
		return 1
	}
	return 0
}

// Cmp compares two integers.
func (i Int) Cmp(j Int) int {
	if i.big == nil && j.big == nil {
		switch {
		case i.small < j.small:
			return -1
		case i.small > j.small:
			return 1
		}
		return 0
	}
	return i.Big().Cmp(j.Big())
}

func (i Int) String() string {
	if i.big != nil {
		return i.big.String()
	}
	return itoa(int(i.small))
}

// float converts with correct rounding; ok is false when the value is too large.
func (i Int) float() (f float64, ok bool) {
	if i.big == nil {
		return float64(i.small), true
	}
	f, _ = new(big.Float).SetInt(i.big).Float64()
	return f, !math.IsInf(f, 0)
}

func (i Int) bits() int {
	if i.big != nil {
		return i.big.BitLen()
	}
	u := uint64(i.small)
	if i.small < 0 {
		u = -u
	}
	return bits.Len64(u)
}

func (i Int) add(j Int) Int {
	if i.big == nil && j.big == nil {
		if s := i.small + j.small; (s > i.small) == (j.small > 0) {
			return Int{small: s}
		}
	}
	return BigInt(new(big.Int).Add(i.Big(), j.Big()))
}

func (i Int) neg() Int {
	if i.big == nil && i.small != math.MinInt64 {
		return Int{small: -i.small}
	}
	return BigInt(new(big.Int).Neg(i.Big()))
}

func (i Int) sub(j Int) Int {
	if i.big == nil && j.big == nil {
		if d := i.small - j.small; (d < i.small) == (j.small > 0) {
			return Int{small: d}
		}
	}
	return BigInt(new(big.Int).Sub(i.Big(), j.Big()))
}

func (i Int) mul(j Int) Int {
	if i.big == nil && j.big == nil {
		if i.small == 0 || j.small == 0 {
			return Int{}
		}
		if p := i.small * j.small; p/j.small == i.small && (i.small != -1 || j.small != math.MinInt64) && (j.small != -1 || i.small != math.MinInt64) {
			return Int{small: p}
		}
	}
	return BigInt(new(big.Int).Mul(i.Big(), j.Big()))
}

// divMod divides towards minus infinity, as // and % do; j is not 0.
func (i Int) divMod(j Int) (q, r Int) {
	if i.big == nil && j.big == nil && (i.small != math.MinInt64 || j.small != -1) {
		d, m := i.small/j.small, i.small%j.small
		if m != 0 && (m < 0) != (j.small < 0) {
			d--
			m += j.small
		}
		return Int{small: d}, Int{small: m}
	}
	a, b := i.Big(), j.Big()
	d, m := new(big.Int).QuoRem(a, b, new(big.Int))
	if m.Sign() != 0 && (m.Sign() < 0) != (b.Sign() < 0) {
		d.Sub(d, big.NewInt(1))
		m.Add(m, b)
	}
	return BigInt(d), BigInt(m)
}

// trueDiv is the float nearest to i/j; ok is false when it is too large.
func (i Int) trueDiv(j Int) (f float64, ok bool) {
	const exact = 1 << 53
	if i.Sign() == 0 {
		return 0 / float64(j.Sign()), true
	}
	if i.big == nil && j.big == nil && -exact < i.small && i.small < exact && -exact < j.small && j.small < exact {
		return float64(i.small) / float64(j.small), true
	}
	f, _ = new(big.Rat).SetFrac(i.Big(), j.Big()).Float64()
	return f, !math.IsInf(f, 0)
}

// pow is i**j for j >= 0.
func (i Int) pow(j Int) Int { return BigInt(new(big.Int).Exp(i.Big(), j.Big(), nil)) }

// shift is i<<n, or i>>-n.
func (i Int) shift(n int) Int {
	if n >= 0 {
		return BigInt(new(big.Int).Lsh(i.Big(), uint(n)))
	}
	return BigInt(new(big.Int).Rsh(i.Big(), uint(-n)))
}

func (i Int) bitwise(op string, j Int) Int {
	if i.big == nil && j.big == nil {
		switch op {
		case "&":
			return Int{small: i.small & j.small}
		case "|":
			return Int{small: i.small | j.small}
		default:
			return Int{small: i.small ^ j.small}
		}
	}
	z := new(big.Int)
	switch op {
	case "&":
		z.And(i.Big(), j.Big())
	case "|":
		z.Or(i.Big(), j.Big())
	default:
		z.Xor(i.Big(), j.Big())
	}
	return BigInt(z)
}
