package sim

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

func TestUnwritten(t *testing.T) {
	for _, c := range []struct {
		name              string
		d                 ir.DType
		poison            []int // elements that hold the pattern, of 21
		off, n, stride    int
		count, firstCount int
	}{
		{"none", ir.FP32, nil, 0, 21, 1, 0, 0},
		{"all", ir.FP32, []int{0, 1, 2, 3, 4}, 0, 5, 1, 5, 0},
		{"the last, past the words", ir.FP32, []int{20}, 0, 21, 1, 1, 20},
		{"in the second word", ir.INT64, []int{1}, 0, 21, 1, 1, 1},
		{"a half", ir.FP16, []int{6, 19}, 2, 19, 1, 2, 4},
		{"before and after the run", ir.FP32, []int{2, 9}, 3, 6, 1, 0, 0},
		{"a stride that meets it", ir.BF16, []int{3, 9}, 0, 7, 3, 2, 1},
		{"a stride that misses it", ir.FP32, []int{4}, 0, 7, 3, 0, 0},
		{"one 16-bit integer is chance", ir.INT16, []int{7}, 0, 21, 1, 0, 0},
		{"two of them apart too", ir.UINT16, []int{7, 9}, 0, 21, 1, 0, 0},
		{"two side by side are not", ir.INT16, []int{3, 7, 8}, 0, 21, 1, 2, 7},
		{"bytes cannot tell", ir.UINT8, []int{0, 1, 2, 3}, 0, 4, 1, 0, 0},
		{"an empty run", ir.FP32, []int{0}, 0, 0, 1, 0, 0},
	} {
		size := c.d.Bytes()
		mem := make([]byte, 21*size)
		for _, i := range c.poison {
			Unwrite(mem[i*size : (i+1)*size])
		}
		if count, first := Unwritten(c.d, mem, c.off, c.n, c.stride); count != c.count || first != c.firstCount {
			t.Errorf("%s: %d, first %d; want %d, first %d", c.name, count, first, c.count, c.firstCount)
		}
	}
}

// Bytes that look like the pattern shifted, cut short or off by one are not the pattern; the scan by words agrees with one by elements.
func TestAnyPoisonAgreesWithElements(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	near := []byte{0xFC, Poison, Poison, Poison, 0xFE, 0x7D}
	for range 20000 {
		b := make([]byte, 8*(1+rng.IntN(5)))
		for i := range b {
			b[i] = near[rng.IntN(len(near))]
		}
		for _, size := range []int{2, 4, 8} {
			want := false
			for i := 0; i < len(b); i += size {
				want = want || strings.Count(string(b[i:i+size]), string([]byte{Poison})) == size
			}
			if got := anyPoison(b, size); got != want {
				t.Fatalf("%x by %d: %v", b, size, got)
			}
		}
	}
}

// A read of the orchestration warns once per place, and only of elements that nothing has written.
func TestReadOfUnwrittenElement(t *testing.T) {
	rt, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	at := func(line int32) Site { return diag.Span{File: "m.py", Line: line, Col: 1} }
	x := rt.Alloc([]CreateInfo{{Shape: []uint32{4}, DType: ir.INT32}, {Shape: []uint32{4}, DType: ir.INT32, HasInit: true, Init: 7}}, at(1))
	fresh, filled := x.Tensors[0], x.Tensors[1]
	rt.Write(fresh, []uint32{1}, 5, at(2))
	rt.Read(fresh, []uint32{1}, at(3))
	rt.Read(filled, []uint32{2}, at(4))
	for range 2 {
		if v := rt.Read(fresh, []uint32{2}, at(5)); uint32(v) != binary.LittleEndian.Uint32(poisoned) {
			t.Errorf("read %#x", v)
		}
	}
	if err := rt.Finish(); err != nil {
		t.Error(err)
	}
	ds := rt.Diagnostics()
	if len(ds) != 1 || ds[0].Code != CodeUnwritten || ds[0].Severity != diag.Warning || ds[0].Span != at(5) {
		t.Errorf("%v", ds)
	}
}
