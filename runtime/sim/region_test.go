package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
)

func regionOf(t Tensor) *region {
	g := &region{}
	g.set(&t)
	return g
}

func must(t Tensor, err error) Tensor {
	if err != nil {
		panic(err)
	}
	return t
}

func u(v ...uint32) []uint32 { return v }

func TestRelate(t *testing.T) {
	m := must(Contiguous(1<<20, ir.FP32, u(8, 8)))
	flat := must(m.Reshape(u(64), false))
	cube := must(Contiguous(1<<20, ir.FP32, u(4, 4, 4)))
	box := func(t Tensor, shape, off []uint32) Tensor { return must(t.View(shape, off, false)) }
	left, right := box(m, u(8, 4), u(0, 0)), box(m, u(8, 4), u(0, 4))
	other := func(t Tensor, byteOff uint64, d ir.DType, shape ...uint32) Tensor {
		return must(Contiguous(t.Addr+byteOff, d, shape))
	}
	mT := must(m.Transpose(0, 1, false))
	tests := []struct {
		name      string
		new, old  Tensor
		want      relation
		different bool // the other way round differs
		back      relation
	}{
		{"22 1-D disjoint", box(flat, u(8), u(0)), box(flat, u(8), u(8)), disjoint, false, 0},
		{"22 top and bottom", box(m, u(4, 8), u(0, 0)), box(m, u(4, 8), u(4, 0)), disjoint, false, 0},
		{"22 left and right", left, right, disjoint, false, 0},
		{"22 3-D disjoint in the middle dimension", box(cube, u(4, 2, 4), u(0, 0, 0)), box(cube, u(4, 2, 4), u(0, 2, 0)), disjoint, false, 0},
		{"23 touching boxes", box(m, u(3, 3), u(0, 0)), box(m, u(3, 3), u(3, 3)), disjoint, false, 0},
		{"23 boxes sharing one element", box(m, u(4, 4), u(0, 0)), box(m, u(3, 3), u(3, 3)), overlaps, false, 0},
		{"24 row block and column block", box(m, u(2, 8), u(2, 0)), box(m, u(8, 2), u(0, 2)), overlaps, false, 0},
		{"25 transposed and plain", left, must(right.Transpose(0, 1, false)), overlaps, false, 0},
		{"25 column block of the transposed", box(mT, u(4, 8), u(4, 0)), left, overlaps, false, 0},
		{"26 stepped slices", must(m.Slice(1, 0, 8, 2, false)), must(m.Slice(1, 1, 8, 2, false)), overlaps, false, 0},
		{"27 two reshapes", must(m.Reshape(u(4, 16), false)), must(m.Reshape(u(16, 4), false)), overlaps, false, 0},
		{"27 a box and a flat range", box(m, u(8, 2), u(0, 0)), box(flat, u(8), u(3)), overlaps, false, 0},
		{"28 other dtype over the same bytes", other(m, 0, ir.INT8, 4), box(flat, u(1), u(0)), overlaps, false, 0},
		{"28 INT8 elements 40..44 against FLOAT32 element 10", box(other(m, 0, ir.INT8, 256), u(4), u(40)), box(flat, u(1), u(10)), overlaps, false, 0},
		{"28 INT8 elements 10..14 against FLOAT32 element 10", box(other(m, 0, ir.INT8, 256), u(4), u(10)), box(flat, u(1), u(10)), disjoint, false, 0},
		{"29 another base, same bytes", other(m, 64, ir.FP32, 2, 8), box(m, u(2, 8), u(2, 0)), covers, false, 0},
		{"29 another base, other rows", other(m, 64, ir.FP32, 2, 8), box(m, u(2, 8), u(4, 0)), disjoint, false, 0},
		{"29 a base inside a row", box(other(m, 16, ir.FP32, 4, 8), u(4, 4), u(0, 0)), left, disjoint, false, 0},
		{"29 a base inside a row, wrapping", box(other(m, 16, ir.FP32, 4, 8), u(4, 6), u(0, 0)), left, overlaps, false, 0},
		{"29 a base inside an element", other(m, 2, ir.FP32, 4), flat, overlaps, false, 0},
		{"30 empty view", box(m, u(0, 8), u(99, 0)), m, disjoint, false, 0},
		{"20 whole covers left", m, left, covers, true, overlaps},
		{"20 the same box", left, left, covers, false, 0},
		{"rank 0", must(Contiguous(1<<20, ir.FP32, nil)), must(Contiguous(1<<20, ir.FP32, nil)), overlaps, false, 0},
		{"a box against a wrapping window", box(m, u(2, 2), u(0, 0)), Tensor{Addr: 1 << 20, Size: 256, Start: 6, DType: ir.FP32, Shape: u(2, 4), Strides: u(8, 1)}, overlaps, false, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, b := regionOf(tt.new), regionOf(tt.old)
			if got := a.relate(b); got != tt.want {
				t.Errorf("relate = %d, want %d", got, tt.want)
			}
			back := tt.want
			if tt.different {
				back = tt.back
			}
			if got := b.relate(a); got != back {
				t.Errorf("the other way round: relate = %d, want %d", got, back)
			}
		})
	}
}

// elements is the set of bytes that a handle touches.
func bytesOf(t Tensor) map[uint64]bool {
	set := map[uint64]bool{}
	var walk func(dim int, at uint64)
	walk = func(dim int, at uint64) {
		if dim == len(t.Shape) {
			for b := range uint64(t.DType.Bytes()) {
				set[t.Addr+at*uint64(t.DType.Bytes())+b] = true
			}
			return
		}
		for i := range uint64(t.Shape[dim]) {
			walk(dim+1, at+i*uint64(t.Strides[dim]))
		}
	}
	walk(0, t.Start)
	return set
}

// randomHandle cuts a handle out of 256 bytes at addr by a random chain of operations.
func randomHandle(rng *rand.Rand, addr uint64) Tensor {
	layouts := [][]uint32{{64}, {8, 8}, {4, 16}, {4, 4, 4}, {2, 2, 16}, {16, 4}}
	dtypes := []ir.DType{ir.FP32, ir.FP32, ir.FP32, ir.INT8, ir.FP16, ir.INT64}
	d := dtypes[rng.IntN(len(dtypes))]
	t := must(Contiguous(addr, d, layouts[rng.IntN(len(layouts))]))
	if rng.IntN(4) == 0 {
		t.Addr += 4 * rng.Uint64N(16) // another base
	}
	for range rng.IntN(4) {
		switch op := rng.IntN(8); {
		case op < 5:
			shape, off := make([]uint32, len(t.Shape)), make([]uint32, len(t.Shape))
			for i, n := range t.Shape {
				if n == 0 {
					continue
				}
				off[i] = rng.Uint32N(n)
				shape[i] = 1 + rng.Uint32N(n-off[i])
				if rng.IntN(20) == 0 {
					shape[i] = 0
				}
			}
			t = must(t.View(shape, off, false))
		case op == 5:
			t = must(t.Transpose(rng.IntN(len(t.Shape)), rng.IntN(len(t.Shape)), false))
		case op == 6:
			k := rng.IntN(len(t.Shape))
			if t.Shape[k] > 0 {
				start := rng.Uint32N(t.Shape[k])
				t = must(t.Slice(k, start, t.Shape[k], 1+rng.Uint32N(3), false))
			}
		case t.IsContiguous() && t.NumElems() > 0:
			t = must(t.Reshape(u(uint32(t.NumElems())), false))
		}
	}
	return t
}

// A true overlap is never missed, and "covers" never claims too much.
func Test32OverlapAgainstByteSets(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var counts [3]int
	for range 60000 {
		a, b := randomHandle(rng, 1<<20), randomHandle(rng, 1<<20)
		sa, sb := bytesOf(a), bytesOf(b)
		common, all := false, true
		for x := range sb {
			common = common || sa[x]
			all = all && sa[x]
		}
		if Overlap(&a, &b) != common {
			t.Fatalf("Overlap = %v of\n%+v\n%+v", !common, a, b)
		}
		if Covers(&a, &b) && !all {
			t.Fatalf("Covers claims too much of\n%+v\n%+v", a, b)
		}
		rel := regionOf(a).relate(regionOf(b))
		counts[rel]++
		switch {
		case common && rel == disjoint:
			t.Fatalf("missed an overlap of\n%+v\n%+v", a, b)
		case rel == covers && !all:
			t.Fatalf("claims to cover\n%+v\n%+v", a, b)
		case !common && rel == overlaps && a.Addr == b.Addr && a.DType == b.DType && slices.Equal(a.Strides, b.Strides) && boxed(a) && boxed(b):
			t.Fatalf("not exact for boxes of one layout:\n%+v\n%+v", a, b)
		}
	}
	if slices.Min(counts[:]) < 500 {
		t.Errorf("the random handles do not reach every case: %v", counts)
	}
}

// boxed reports that a handle is a box of the row-major layout that its strides imply.
func boxed(t Tensor) bool {
	n := len(t.Shape)
	if n == 0 || t.Strides[n-1] != 1 {
		return false
	}
	for k := 1; k < n; k++ {
		outer := t.Strides[k-1]
		if outer%t.Strides[k] != 0 || t.Start%uint64(outer)/uint64(t.Strides[k])+uint64(t.Shape[k]) > uint64(outer/t.Strides[k]) {
			return false
		}
	}
	return true
}

func TestViewArithmetic(t *testing.T) {
	m := must(Contiguous(1<<20, ir.FP32, u(8, 16)))
	show := func(t Tensor) string { return fmt.Sprint(t.Start, t.Shape, t.Strides) }
	v := must(m.View(u(2, 4), u(3, 5), false))
	row := must(m.View(u(1, 16), u(2, 0), false))
	tests := []struct {
		got  Tensor
		err  error
		want string // an error fragment when err is set
	}{
		{got: v, want: "53 [2 4] [16 1]"},
		{got: must(v.Transpose(0, 1, false)), want: "53 [4 2] [1 16]"},
		{got: must(m.Reshape(u(4, 32), false)), want: "0 [4 32] [32 1]"},
		{got: must(m.Permute(u(1, 0), false)), want: "0 [16 8] [1 16]"},
		{got: must(m.Slice(1, 1, 16, 4, false)), want: "1 [8 4] [16 4]"},
		{got: must(m.View(u(0, 4), u(100, 100), false)), want: "0 [0 4] [16 1]"},
		{got: must(row.Reshape(u(4, 4), false)), want: "32 [4 4] [4 1]"},
	}
	for i, tt := range tests {
		if s := show(tt.got); s != tt.want {
			t.Errorf("%d: %s, want %s", i, s, tt.want)
		}
	}
	bad := []func() (Tensor, error){
		func() (Tensor, error) { return m.View(u(8, 8), u(0, 9), false) },
		func() (Tensor, error) { return m.View(u(1, 1), u(1<<31, 1<<31), false) },
		func() (Tensor, error) { return m.View(u(8), u(0), false) },
		func() (Tensor, error) { return v.Reshape(u(8), false) },
		func() (Tensor, error) { return m.Reshape(u(8, 15), false) },
		func() (Tensor, error) { return m.Reshape(u(2, 2, 2, 2, 2, 4), false) },
		func() (Tensor, error) { return m.Transpose(0, 2, false) },
		func() (Tensor, error) { return m.Transpose(-1, 0, false) },
		func() (Tensor, error) { return m.Permute(u(0, 0), false) },
		func() (Tensor, error) { return m.Slice(0, 4, 4, 1, false) },
		func() (Tensor, error) { return m.Slice(0, 0, 9, 1, false) },
		func() (Tensor, error) { return m.Slice(0, 0, 8, 0, false) },
		func() (Tensor, error) { return Contiguous(0, ir.FP32, u(1<<16, 1<<16)) },
		func() (Tensor, error) { return Contiguous(0, ir.TASK_ID, u(1)) },
	}
	for i, f := range bad {
		if got, err := f(); err == nil {
			t.Errorf("bad operation %d gave %v", i, got)
		}
	}
}
