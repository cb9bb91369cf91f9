package kernels

import (
	le "encoding/binary"
	"math"

	"github.com/ptobuild/ptobuild/ir"
)

// Load returns the element of dtype d stored at the start of b (little endian, d.Bytes() bytes).
func Load(d ir.DType, b []byte) float64 {
	switch d {
	case ir.FP32:
		return float64(math.Float32frombits(le.LittleEndian.Uint32(b)))
	case ir.FP64:
		return math.Float64frombits(le.LittleEndian.Uint64(b))
	}
	bits := loadBits(b, d.Bytes())
	switch {
	case d.IsFloat():
		return float64(decode(uint32(bits), d))
	case d == ir.BOOL:
		if bits != 0 {
			return 1
		}
		return 0
	}
	return asFloat(wrap(int64(bits), d), d)
}

// Store writes v as an element of dtype d to the start of b: floats rounded to nearest even, integers truncated and saturated.
func Store(d ir.DType, b []byte, v float64) {
	switch {
	case d == ir.FP32:
		le.LittleEndian.PutUint32(b, math.Float32bits(float32(v)))
	case d == ir.FP64:
		le.LittleEndian.PutUint64(b, math.Float64bits(v))
	case d.IsFloat():
		storeBits(b, d.Bytes(), uint64(code(nearest(v, d), d)))
	case d == ir.BOOL:
		b[0] = 0
		if v != 0 {
			b[0] = 1
		}
	default:
		storeBits(b, d.Bytes(), uint64(saturate(v, d)))
	}
}

func loadBits(b []byte, n int) (u uint64) {
	for i := range n {
		u |= uint64(b[i]) << (8 * i)
	}
	return u
}

func storeBits(b []byte, n int, u uint64) {
	for i := range n {
		b[i] = byte(u >> (8 * i))
	}
}
