package kernels

import (
	"math"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
)

// Load reads what Store wrote, rounded and saturated as the dtype does.
func TestLoadStoreElements(t *testing.T) {
	for _, c := range []struct {
		d       ir.DType
		v, want float64
	}{
		{ir.FP32, 0.1, float64(float32(0.1))}, {ir.FP64, 0.1, 0.1}, {ir.FP16, 2049, 2048}, {ir.BF16, -1.00390625, -1}, {ir.FP8E4M3FN, 1000, 448},
		{ir.INT8, -200, -128}, {ir.INT16, 1234.9, 1234}, {ir.UINT8, -3, 0}, {ir.INT64, 1 << 53, 1 << 53}, {ir.UINT64, math.Exp2(63), math.Exp2(63)},
		{ir.BOOL, 0.5, 1}, {ir.INDEX, -7, -7}, {ir.UINT32, 4e9, 4e9},
	} {
		var b [8]byte
		Store(c.d, b[:], c.v)
		if got := Load(c.d, b[:]); got != c.want {
			t.Errorf("%v as %s reads back as %v, want %v", c.v, c.d, got, c.want)
		}
	}
}
