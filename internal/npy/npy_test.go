package npy

import (
	"bytes"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
)

func TestRoundTrip(t *testing.T) {
	for dt := range descrOf {
		for _, shape := range [][]int64{{}, {3}, {2, 3}, {0, 4}, {2, 1, 3}} {
			n := int64(dt.Bytes())
			for _, d := range shape {
				n *= d
			}
			in := &Array{DType: dt, Shape: shape, Data: bytes.Repeat([]byte{1}, int(n))}
			b, err := Marshal(in)
			if err != nil {
				t.Fatal(err)
			}
			if head := len(b) - len(in.Data); head%64 != 0 {
				t.Errorf("%s: data starts at %d, NumPy aligns it to 64", dt, head)
			}
			out, err := Unmarshal(b)
			if err != nil {
				t.Fatalf("%s %v: %v", dt, shape, err)
			}
			want := dt
			switch dt { // share a NumPy dtype with another one
			case ir.BF16:
				want = ir.UINT16
			case ir.INDEX:
				want = ir.INT64
			}
			if out.DType != want || len(out.Shape) != len(shape) || !bytes.Equal(out.Data, in.Data) {
				t.Errorf("%s %v came back as %s %v", dt, shape, out.DType, out.Shape)
			}
		}
	}
}

func TestMalformed(t *testing.T) {
	good, err := Marshal(&Array{DType: ir.FP32, Shape: []int64{2, 2}, Data: make([]byte, 16)})
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"empty": nil, "no magic": []byte("hello, world"), "truncated data": good[:len(good)-1], "truncated header": good[:20],
		"huge shape": bytes.Replace(good, []byte("(2, 2)"), []byte("(9999999999, 9999999999)"), 1),
		"fortran":    bytes.Replace(good, []byte("False"), []byte("True "), 1),
		"big endian": bytes.Replace(good, []byte("<f4"), []byte(">f4"), 1),
	} {
		if _, err := Unmarshal(b); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzUnmarshal(f *testing.F) {
	good, _ := Marshal(&Array{DType: ir.FP16, Shape: []int64{3}, Data: make([]byte, 6)})
	f.Add(good)
	f.Fuzz(func(t *testing.T, b []byte) {
		if a, err := Unmarshal(b); err == nil {
			if _, err := Marshal(a); err != nil {
				t.Error(err)
			}
		}
	})
}
