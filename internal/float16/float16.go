// Package float16 converts between float32 and the 16-bit floating formats: IEEE half and bfloat16. Rounding is to nearest, ties to even; a NaN keeps as
// much of its payload as fits, so every 16-bit pattern survives the way to float32 and back. The C++ header does the same bit for bit.
package float16

import "math"

// FromHalf is the value of an IEEE half.
func FromHalf(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	man := uint32(h & 0x3ff)
	switch exp := uint32(h >> 10 & 0x1f); exp {
	case 0: // zero or subnormal: man · 2^-24, exact
		return math.Float32frombits(math.Float32bits(float32(man)*0x1p-24) | sign)
	case 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | man<<13)
	default:
		return math.Float32frombits(sign | (exp+112)<<23 | man<<13)
	}
}

// ToHalf is the nearest IEEE half.
func ToHalf(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b >> 16 & 0x8000)
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000: // NaN keeps as much of its payload as fits
		if man := uint16(b >> 13 & 0x3ff); man != 0 {
			return sign | 0x7c00 | man
		}
		return sign | 0x7e00
	case b >= 0x47800000: // 65536 and above
		return sign | 0x7c00
	case b < 0x38800000: // subnormal: the addition rounds at bit 2^-24
		const magic = 0x3f000000 // 0.5
		return sign | uint16(math.Float32bits(math.Float32frombits(b)+0.5)-magic)
	}
	odd := b >> 13 & 1
	b += 0xc8000000 + 0xfff + odd // rebias by 15-127; a carry out of the mantissa reaches infinity by itself
	return sign | uint16(b>>13)
}

// FromBF16 is the value of a bfloat16.
func FromBF16(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// ToBF16 is the nearest bfloat16.
func ToBF16(f float32) uint16 {
	b := math.Float32bits(f)
	if b&0x7fffffff > 0x7f800000 {
		if b&0x7f0000 == 0 { // the payload would be lost, leaving infinity
			return uint16(b>>16) | 0x40
		}
		return uint16(b >> 16)
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}
