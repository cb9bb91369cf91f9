package interp

import (
	"math"

	"github.com/ptobuild/ptobuild/internal/float16"
	"github.com/ptobuild/ptobuild/ir"
)

// ctype is the C++ type of a number.
type ctype uint8

const (
	cBool ctype = iota
	cI8
	cI16
	cI32
	cI64
	cU8
	cU16
	cU32
	cU64
	cHalf
	cBF16
	cFloat
	cDouble
	cByte // a byte-sized float: stored and passed, never computed with
)

// ctypes maps dtypes to the types that generated code uses for them.
func ctypeOf(d ir.DType) ctype {
	switch d {
	case ir.BOOL:
		return cBool
	case ir.INT4, ir.INT8:
		return cI8
	case ir.INT16:
		return cI16
	case ir.INT32:
		return cI32
	case ir.INT64, ir.INDEX:
		return cI64
	case ir.UINT4, ir.UINT8:
		return cU8
	case ir.UINT16:
		return cU16
	case ir.UINT32:
		return cU32
	case ir.UINT64, ir.NoDType:
		return cU64
	case ir.FP16:
		return cHalf
	case ir.BF16:
		return cBF16
	case ir.FP32:
		return cFloat
	case ir.FP64:
		return cDouble
	}
	return cByte
}

func (t ctype) isFloat() bool { return t >= cHalf && t <= cDouble }

func (t ctype) isSigned() bool { return t >= cI8 && t <= cI64 }

var sizes = [...]int{cBool: 1, cI8: 1, cI16: 2, cI32: 4, cI64: 8, cU8: 1, cU16: 2, cU32: 4, cU64: 8, cHalf: 2, cBF16: 2, cFloat: 4, cDouble: 8, cByte: 1}

func (t ctype) size() int { return sizes[t] }

// name is the type in traces: a letter and the bits.
func (t ctype) name() string {
	return [...]string{"b8", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64", "u8"}[t]
}

// promoted is the type in which an operand takes part in arithmetic: small integers become int, the 16-bit floats convert to float.
func (t ctype) promoted() ctype {
	switch t {
	case cBool, cI8, cI16, cU8, cU16:
		return cI32
	case cHalf, cBF16:
		return cFloat
	}
	return t
}

// common is the type in which two operands meet (the usual arithmetic conversions).
func common(a, b ctype) ctype {
	a, b = a.promoted(), b.promoted()
	switch {
	case a == cDouble || b == cDouble:
		return cDouble
	case a == cFloat || b == cFloat:
		return cFloat
	case a == b:
		return a
	case a.size() != b.size():
		if a.size() > b.size() {
			return a
		}
		return b
	case a.isSigned():
		return b
	}
	return a
}

// wrap brings an integer into the range of t: values are kept sign- or zero-extended, those of uint64_t as their bits.
func wrap(v int64, t ctype) int64 {
	switch t {
	case cBool:
		if v != 0 {
			return 1
		}
		return 0
	case cI8:
		return int64(int8(v))
	case cI16:
		return int64(int16(v))
	case cI32:
		return int64(int32(v))
	case cU8, cByte:
		return int64(uint8(v))
	case cU16:
		return int64(uint16(v))
	case cU32:
		return int64(uint32(v))
	}
	return v
}

// round brings a float to the precision of t.
func round(v float64, t ctype) float64 {
	switch t {
	case cFloat:
		return float64(float32(v))
	case cHalf:
		return float64(float16.FromHalf(float16.ToHalf(float32(v))))
	case cBF16:
		return float64(float16.FromBF16(float16.ToBF16(float32(v))))
	}
	return v
}

// intToFloat is an integer of type from as a float of type to. The way over float is that of the conversions of half and bfloat16_t.
func intToFloat(v int64, from, to ctype) float64 {
	if from == cU64 {
		if to == cDouble {
			return float64(uint64(v))
		}
		return round(float64(float32(uint64(v))), to)
	}
	if to == cDouble {
		return float64(v)
	}
	return round(float64(float32(v)), to)
}

// floatToInt truncates as x86-64 does, which also decides what an out-of-range value becomes.
func floatToInt(v float64, to ctype) int64 {
	if to == cBool {
		if v != 0 {
			return 1
		}
		return 0
	}
	switch to {
	case cI8, cI16, cI32, cU8, cU16:
		if !(v > -2147483649 && v < 2147483648) {
			return wrap(math.MinInt32, to)
		}
	case cU64:
		if v >= 1<<63 {
			if !(v < 1<<64) {
				return 0
			}
			return int64(uint64(v))
		}
	}
	if !(v >= -(1<<63) && v < 1<<63) {
		return wrap(math.MinInt64, to)
	}
	return wrap(int64(v), to)
}

// bitsOf is to_u64: the pattern of a value, zero-extended.
func bitsOfInt(v int64, t ctype) uint64 {
	if t.size() == 8 {
		return uint64(v)
	}
	return uint64(v) & (1<<(8*t.size()) - 1)
}

func bitsOfFloat(v float64, t ctype) uint64 {
	switch t {
	case cHalf:
		return uint64(float16.ToHalf(float32(v)))
	case cBF16:
		return uint64(float16.ToBF16(float32(v)))
	case cFloat:
		return uint64(math.Float32bits(float32(v)))
	}
	return math.Float64bits(v)
}

// floatOfBits is from_u64 for a floating type.
func floatOfBits(b uint64, t ctype) float64 {
	switch t {
	case cHalf:
		return float64(float16.FromHalf(uint16(b)))
	case cBF16:
		return float64(float16.FromBF16(uint16(b)))
	case cFloat:
		return float64(math.Float32frombits(uint32(b)))
	}
	return math.Float64frombits(b)
}
