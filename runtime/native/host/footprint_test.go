package host

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// The run of neighbours that holds an address, against a list of all elements.
func TestRunEnd(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		x := sim.Tensor{DType: ir.FP32, Addr: 4096, Start: uint64(rng.IntN(4)), Shape: []uint32{1 + rng.Uint32N(3), 1 + rng.Uint32N(3), 1 + rng.Uint32N(4)}}
		inner := 1 + rng.Uint32N(2)
		mid := inner*x.Shape[2] + rng.Uint32N(2)
		x.Strides = []uint32{mid*x.Shape[1] + rng.Uint32N(2), mid, inner}
		if rng.IntN(2) == 0 {
			x.Shape[0], x.Shape[2] = x.Shape[2], x.Shape[0]
			x.Strides[0], x.Strides[2] = x.Strides[2], x.Strides[0]
		}
		var elements []uint64
		for i := range x.Shape[0] {
			for j := range x.Shape[1] {
				for k := range x.Shape[2] {
					elements = append(elements, x.Addr+4*(x.Start+uint64(i*x.Strides[0]+j*x.Strides[1]+k*x.Strides[2])))
				}
			}
		}
		lo, hi := x.Bytes()
		for addr := lo - 4; addr < hi+4; addr++ {
			end := runEnd(&x, addr)
			if in := slices.Contains(elements, addr&^3); in != (end > addr) {
				t.Fatalf("%+v: %d in: %v, end %d", x, addr, in, end)
			}
			for a := addr &^ 3; a < end; a += 4 {
				if !slices.Contains(elements, a) {
					t.Fatalf("%+v: the run of %d ends at %d, but %d is no element", x, addr, end, a)
				}
			}
		}
	}
}
