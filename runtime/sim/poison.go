package sim

import (
	le "encoding/binary"
	"slices"

	"github.com/ptobuild/ptobuild/ir"
)

// Poison fills every buffer byte that nothing has written yet: large negative floats, odd integers, so that a wrong order shows in the results.
const Poison = 0xFD

var poisoned = slices.Repeat([]byte{Poison}, 4096)

// Unwrite makes memory look as if nothing had written it.
func Unwrite(b []byte) {
	for len(b) > 0 {
		b = b[copy(b, poisoned):]
	}
}

const poisonWord = 0xFDFDFDFDFDFDFDFD

// Unwritten counts the elements of a strided run that still hold Poison; first is the position in the run of the first one. Off and stride count
// elements of dtype d, and the run lies inside of mem.
//
// Elements of one byte hold the pattern too often to tell, so they never count. A 16-bit integer, which may hold it by chance, only counts next to
// another one.
func Unwritten(d ir.DType, mem []byte, off, n, stride int) (count, first int) {
	size := d.Bytes()
	if size < 2 || n <= 0 || d == ir.BOOL {
		return 0, 0
	}
	b := mem[off*size:]
	if stride == 1 {
		if b = b[:n*size]; !anyPoison(b, size) {
			return 0, 0
		}
	}
	pairs := size == 2 && !d.IsFloat()
	before := false
	for i := range n {
		at := i * stride * size
		is := isPoison(b[at:], size)
		if is && (!pairs || before || i+1 < n && isPoison(b[at+stride*size:], size)) {
			if count == 0 {
				first = i
			}
			count++
		}
		before = is
	}
	return count, first
}

func isPoison(b []byte, size int) bool {
	switch size {
	case 2:
		return le.LittleEndian.Uint16(b) == poisonWord&0xFFFF
	case 4:
		return le.LittleEndian.Uint32(b) == poisonWord&0xFFFFFFFF
	}
	return le.LittleEndian.Uint64(b) == poisonWord
}

// anyPoison reports an element of 2, 4 or 8 bytes that holds Poison, a word of 8 bytes at a time: x has a zero lane just where (x-1) &^ x has the
// lane's top bit.
func anyPoison(b []byte, size int) bool {
	low := uint64(1)
	switch size {
	case 2:
		low = 0x0001000100010001
	case 4:
		low = 0x0000000100000001
	}
	high := low << (8*size - 1)
	for len(b) >= 16 {
		x, y := le.LittleEndian.Uint64(b)^poisonWord, le.LittleEndian.Uint64(b[8:])^poisonWord
		if ((x-low)&^x|(y-low)&^y)&high != 0 {
			return true
		}
		b = b[16:]
	}
	for len(b) >= size {
		if isPoison(b, size) {
			return true
		}
		b = b[size:]
	}
	return false
}
