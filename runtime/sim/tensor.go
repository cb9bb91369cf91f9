package sim

import (
	"fmt"
	"math"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// MaxDims is the highest rank of a tensor.
const MaxDims = 5

// Contiguous makes a packed row-major handle over the memory at addr. It owns shape afterwards.
func Contiguous(addr uint64, d ir.DType, shape []uint32) (Tensor, error) {
	strides := make([]uint32, len(shape))
	n, err := packedStrides(shape, strides)
	if err != nil {
		return Tensor{}, err
	}
	if TypeName(d) == "" {
		return Tensor{}, diag.Errorf(CodeTensor, Site{}, "the runtime has no element type for %s", d).
			WithHint("store the elements in a dtype that the runtime knows, such as INT8 for packed 4-bit values")
	}
	return Tensor{Addr: addr, Size: n * uint64(d.Bytes()), Owner: InvalidTask, DType: d, Shape: shape, Strides: strides}, nil
}

// packedStrides fills strides for a packed row-major tensor and returns the number of elements.
func packedStrides(shape, strides []uint32) (uint64, error) {
	if len(shape) > MaxDims {
		return 0, diag.Errorf(CodeTensor, Site{}, "a tensor of %d dimensions: the runtime has at most %d", len(shape), MaxDims).
			WithHint("merge dimensions with a reshape")
	}
	n := uint64(1)
	for i, s := range slices.Backward(shape) {
		strides[i] = uint32(n)
		n *= uint64(s)
		if n > math.MaxUint32 {
			return 0, diag.Errorf(CodeTensor, Site{}, "a tensor of shape %v has 2^32 or more elements: the runtime counts elements in 32 bits", shape).
				WithHint("split the tensor")
		}
	}
	return n, nil
}

// NumElems is the number of elements of the window.
func (t *Tensor) NumElems() uint64 {
	n := uint64(1)
	for _, s := range t.Shape {
		n *= uint64(s)
	}
	return n
}

// Extent is the distance in elements from the first element to just past the last one; 0 for an empty window.
func (t *Tensor) Extent() uint64 {
	n := uint64(1)
	for i, s := range t.Shape {
		if s == 0 {
			return 0
		}
		n += uint64(s-1) * uint64(t.Strides[i])
	}
	return n
}

// Bytes is the address range [lo, hi) that the window touches; lo == hi for an empty one.
func (t *Tensor) Bytes() (lo, hi uint64) {
	es := uint64(t.DType.Bytes())
	lo = t.Addr + t.Start*es
	return lo, lo + t.Extent()*es
}

// IsContiguous reports that the window is packed row-major; extents of 1 do not count.
func (t *Tensor) IsContiguous() bool {
	n := uint64(1)
	for i, s := range slices.Backward(t.Shape) {
		if s != 1 && uint64(t.Strides[i]) != n {
			return false
		}
		n *= uint64(s)
	}
	return true
}

// Flat is the position of the element at idx, in elements from Addr. No indices name the first element. The index must be inside.
func (t *Tensor) Flat(idx []uint32) (uint64, error) {
	if len(idx) != 0 && len(idx) != len(t.Shape) {
		return 0, diag.Errorf(CodeElement, Site{}, "%d indices for a tensor of %d dimensions", len(idx), len(t.Shape)).
			WithHint("give one index per dimension; the shape is %v", t.Shape)
	}
	at := t.Start
	for i, x := range idx {
		if x >= t.Shape[i] {
			return 0, diag.Errorf(CodeElement, Site{}, "index %d of dimension %d is out of bounds: its extent is %d", x, i, t.Shape[i]).
				WithHint("indices count from 0; the shape is %v", t.Shape)
		}
		at += uint64(x) * uint64(t.Strides[i])
	}
	if len(idx) == 0 && t.Extent() == 0 {
		return 0, diag.Errorf(CodeElement, Site{}, "a read of an empty tensor of shape %v", t.Shape).
			WithHint("read only when the tensor has elements")
	}
	return at, nil
}

// View is the window of the given shape at the given offsets; it must lie inside t. A window with an extent of 0 is empty: its offsets do not
// count (generated code clamps windows at borders, so these are normal). manualDep of the result is the argument, whatever t has.
func (t *Tensor) View(shape, offsets []uint32, manualDep bool) (Tensor, error) {
	if len(shape) != len(t.Shape) || len(offsets) != len(t.Shape) {
		return Tensor{}, diag.Errorf(CodeView, Site{}, "a view with %d extents and %d offsets of a tensor of %d dimensions", len(shape), len(offsets), len(t.Shape)).
			WithHint("give one extent and one offset per dimension; the shape is %v", t.Shape)
	}
	v := *t
	v.Shape = shape
	v.ManualDep = manualDep
	if slices.Contains(shape, 0) {
		return v, nil
	}
	for i, s := range shape {
		if uint64(offsets[i])+uint64(s) > uint64(t.Shape[i]) {
			return Tensor{}, diag.Errorf(CodeView, Site{}, "the view is out of bounds: dimension %d covers [%d, %d) of an extent of %d", i, offsets[i], uint64(offsets[i])+uint64(s), t.Shape[i]).
				WithHint("the viewed tensor has shape %v", t.Shape)
		}
		v.Start += uint64(offsets[i]) * uint64(t.Strides[i])
	}
	return v, nil
}

// Reshape gives a packed window another shape with as many elements.
func (t *Tensor) Reshape(shape []uint32, manualDep bool) (Tensor, error) {
	if !t.IsContiguous() {
		return Tensor{}, diag.Errorf(CodeView, Site{}, "reshape of a tensor that is not contiguous: shape %v, strides %v", t.Shape, t.Strides).
			WithHint("only a packed row-major tensor can be reshaped; copy it into a fresh buffer first")
	}
	v := *t
	v.Shape = shape
	v.Strides = make([]uint32, len(shape))
	v.ManualDep = manualDep
	n, err := packedStrides(shape, v.Strides)
	if err != nil {
		return Tensor{}, err
	}
	if n != t.NumElems() {
		return Tensor{}, diag.Errorf(CodeView, Site{}, "reshape from %v (%d elements) to %v (%d elements)", t.Shape, t.NumElems(), shape, n).
			WithHint("both shapes must have as many elements")
	}
	return v, nil
}

// Transpose swaps two dimensions.
func (t *Tensor) Transpose(a, b int, manualDep bool) (Tensor, error) {
	if a < 0 || b < 0 || a >= len(t.Shape) || b >= len(t.Shape) {
		return Tensor{}, diag.Errorf(CodeView, Site{}, "transpose of axes %d and %d of a tensor of %d dimensions", a, b, len(t.Shape)).
			WithHint("axes count from 0; the shape is %v", t.Shape)
	}
	v := *t
	v.Shape, v.Strides = slices.Clone(t.Shape), slices.Clone(t.Strides)
	v.Shape[a], v.Shape[b] = v.Shape[b], v.Shape[a]
	v.Strides[a], v.Strides[b] = v.Strides[b], v.Strides[a]
	v.ManualDep = manualDep
	return v, nil
}

// Permute reorders the dimensions: dimension i of the result is dimension order[i] of t.
func (t *Tensor) Permute(order []uint32, manualDep bool) (Tensor, error) {
	v := *t
	v.Shape, v.Strides = slices.Clone(t.Shape), slices.Clone(t.Strides)
	v.ManualDep = manualDep
	var seen [MaxDims]bool
	if len(order) != len(t.Shape) {
		return Tensor{}, diag.Errorf(CodeView, Site{}, "permute %v of a tensor of %d dimensions", order, len(t.Shape)).
			WithHint("name every dimension once; the shape is %v", t.Shape)
	}
	for i, o := range order {
		if int(o) >= len(t.Shape) || seen[o] {
			return Tensor{}, diag.Errorf(CodeView, Site{}, "permute %v is not a permutation of %d dimensions", order, len(t.Shape)).
				WithHint("name every dimension once, counted from 0")
		}
		seen[o] = true
		v.Shape[i], v.Strides[i] = t.Shape[o], t.Strides[o]
	}
	return v, nil
}

// Slice takes the elements start, start+step, … below end of one dimension.
func (t *Tensor) Slice(dim int, start, end, step uint32, manualDep bool) (Tensor, error) {
	if dim < 0 || dim >= len(t.Shape) || end <= start || end > t.Shape[dim] || step < 1 {
		return Tensor{}, diag.Errorf(CodeView, Site{}, "slice [%d:%d:%d] of dimension %d does not fit shape %v", start, end, step, dim, t.Shape).
			WithHint("start <= end <= extent, and the step is at least 1")
	}
	v := *t
	v.Shape, v.Strides = slices.Clone(t.Shape), slices.Clone(t.Strides)
	v.ManualDep = manualDep
	v.Start += uint64(start) * uint64(t.Strides[dim])
	v.Shape[dim] = (end - start + step - 1) / step
	if uint64(t.Strides[dim])*uint64(step) > math.MaxUint32 {
		return Tensor{}, diag.Errorf(CodeView, Site{}, "slice [%d:%d:%d]: the stride does not fit into 32 bits", start, end, step).
			WithHint("take a smaller step")
	}
	v.Strides[dim] *= step
	return v, nil
}

// rtNames are the runtime's names of the element types; a dtype without one cannot be an element of a tensor.
var rtNames = [256]string{
	ir.BOOL: "BOOL", ir.INT8: "INT8", ir.INT16: "INT16", ir.INT32: "INT32", ir.INT64: "INT64", ir.INDEX: "INT64",
	ir.UINT8: "UINT8", ir.UINT16: "UINT16", ir.UINT32: "UINT32", ir.UINT64: "UINT64", ir.INT4: "INT4", ir.UINT4: "UINT4",
	ir.FP32: "FLOAT32", ir.FP16: "FLOAT16", ir.BF16: "BFLOAT16", ir.FP8E4M3FN: "FP8E4M3FN", ir.FP8E5M2: "FP8E5M2",
	ir.FP8E8M0: "FP8E8M0", ir.FP4: "FP4E2M1", ir.HF4: "HF4", ir.HF8: "HF8",
}

// TypeName is the runtime's name of an element type, such as FLOAT32; "" when it has none.
func TypeName(d ir.DType) string { return rtNames[d] }

// AccessType is the type under which an element of dtype d is read and written: int32, float32, bool8, half16, …
func AccessType(d ir.DType) string {
	switch d {
	case ir.BOOL:
		return "bool8"
	case ir.FP16:
		return "half16"
	case ir.BF16:
		return "bf1616"
	case ir.FP32:
		return "float32"
	case ir.FP64:
		return "float64"
	case ir.INT8, ir.INT16, ir.INT32, ir.INT64, ir.INDEX:
		return fmt.Sprintf("int%d", d.Bits())
	case ir.UINT8, ir.UINT16, ir.UINT32, ir.UINT64:
		return fmt.Sprintf("uint%d", d.Bits())
	}
	return fmt.Sprintf("raw%d", 8*d.Bytes())
}
