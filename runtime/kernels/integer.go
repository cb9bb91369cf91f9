package kernels

import (
	"math"

	"github.com/ptobuild/ptobuild/ir"
)

// Integers. Tiles hold int64 whatever their dtype; a value of a narrower dtype is sign- or zero-extended. UINT64 is held by its bits.

// wrap keeps the low bits of v as dtype d does.
func wrap(v int64, d ir.DType) int64 {
	switch d {
	case ir.BOOL:
		if v != 0 {
			return 1
		}
		return 0
	case ir.INT4:
		return v << 60 >> 60
	case ir.INT8:
		return int64(int8(v))
	case ir.INT16:
		return int64(int16(v))
	case ir.INT32:
		return int64(int32(v))
	case ir.UINT4:
		return v & 15
	case ir.UINT8:
		return int64(uint8(v))
	case ir.UINT16:
		return int64(uint16(v))
	case ir.UINT32:
		return int64(uint32(v))
	}
	return v
}

// wrapRow wraps a row in place.
func wrapRow(x []int64, d ir.DType) {
	switch d {
	case ir.INT64, ir.INDEX, ir.UINT64:
	case ir.INT32:
		for i, v := range x {
			x[i] = int64(int32(v))
		}
	default:
		for i, v := range x {
			x[i] = wrap(v, d)
		}
	}
}

// limits are the smallest and largest value of an integer dtype; for UINT64 the largest is its bits.
func limits(d ir.DType) (lo, hi int64) {
	switch bits := d.Bits(); {
	case d == ir.BOOL:
		return 0, 1
	case d == ir.UINT64:
		return 0, -1
	case !d.IsSigned():
		return 0, 1<<bits - 1
	case bits == 64:
		return math.MinInt64, math.MaxInt64
	default:
		return -1 << (bits - 1), 1<<(bits-1) - 1
	}
}

// saturate converts an integral float to dtype d: out of range goes to the nearest end, NaN to 0.
func saturate(x float64, d ir.DType) int64 {
	if x != x {
		return 0
	}
	switch d {
	case ir.BOOL:
		if x != 0 {
			return 1
		}
		return 0
	case ir.UINT64:
		switch {
		case x <= 0:
			return 0
		case x >= 0x1p64:
			return -1
		case x >= 0x1p63:
			return int64(uint64(x))
		}
		return int64(x)
	}
	lo, hi := limits(d)
	switch {
	case x <= float64(lo):
		return lo
	case x >= float64(hi): // float64(MaxInt64) is 2^63, which is out of range too
		return hi
	}
	return int64(x)
}

// asFloat is the real value of an integer of dtype d.
func asFloat(v int64, d ir.DType) float64 {
	if d == ir.UINT64 {
		return float64(uint64(v))
	}
	return float64(v)
}

// intToFloat converts once: the nearest value of the float dtype.
func (m *machine) intToFloat(v int64, from, to ir.DType) float64 {
	switch {
	case m.double || to == ir.FP64:
		return asFloat(v, from)
	case to == ir.FP32 && from == ir.UINT64:
		return float64(float32(uint64(v)))
	case to == ir.FP32:
		return float64(float32(v))
	}
	return nearest(asFloat(v, from), to)
}

// floorDiv and floorMod round towards minus infinity; y is not 0.
func floorDiv(x, y int64) int64 {
	q := x / y
	if x%y != 0 && (x < 0) != (y < 0) {
		q--
	}
	return q
}

func floorMod(x, y int64) int64 {
	m := x % y
	if m != 0 && (m < 0) != (y < 0) {
		m += y
	}
	return m
}
