// Package npy reads and writes NumPy's .npy files (format versions 1 to 3, little endian, C order), the form in which tests exchange tensors
// with other programs. BF16 has no NumPy dtype: it is stored as uint16 bit patterns.
package npy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/ptobuild/ptobuild/ir"
)

// Array is one tensor: packed row-major little-endian elements.
type Array struct {
	DType ir.DType
	Shape []int64
	Data  []byte
}

const magic = "\x93NUMPY"

var descrOf = map[ir.DType]string{
	ir.BOOL: "|b1", ir.INT8: "|i1", ir.UINT8: "|u1", ir.INT16: "<i2", ir.UINT16: "<u2", ir.INT32: "<i4", ir.UINT32: "<u4",
	ir.INT64: "<i8", ir.INDEX: "<i8", ir.UINT64: "<u8", ir.FP16: "<f2", ir.BF16: "<u2", ir.FP32: "<f4", ir.FP64: "<f8",
}

var dtypeOf = map[string]ir.DType{
	"b1": ir.BOOL, "i1": ir.INT8, "u1": ir.UINT8, "i2": ir.INT16, "u2": ir.UINT16, "i4": ir.INT32, "u4": ir.UINT32,
	"i8": ir.INT64, "u8": ir.UINT64, "f2": ir.FP16, "f4": ir.FP32, "f8": ir.FP64,
}

// Marshal encodes a.
func Marshal(a *Array) ([]byte, error) {
	descr, ok := descrOf[a.DType]
	if !ok {
		return nil, fmt.Errorf(".npy has no form for dtype %s", a.DType)
	}
	dims := make([]string, len(a.Shape))
	for i, d := range a.Shape {
		dims[i] = strconv.FormatInt(d, 10)
	}
	shape := strings.Join(dims, ", ")
	if len(dims) == 1 {
		shape += ","
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, shape)
	total := len(magic) + 4 + len(header) + 1
	header += strings.Repeat(" ", (64-total%64)%64) + "\n"
	var b bytes.Buffer
	b.WriteString(magic + "\x01\x00")
	_ = binary.Write(&b, binary.LittleEndian, uint16(len(header))) // writing to memory does not fail
	b.WriteString(header)
	b.Write(a.Data)
	return b.Bytes(), nil
}

var (
	reDescr = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`'descr':\s*'([<|=>]?)([a-z]\d+)'`) })
	reOrder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`'fortran_order':\s*(True|False)`) })
	reShape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`'shape':\s*\(([^)]*)\)`) })
)

// Unmarshal decodes a .npy file.
func Unmarshal(b []byte) (*Array, error) {
	if len(b) < 10 || string(b[:6]) != magic {
		return nil, fmt.Errorf("not a .npy file")
	}
	var n, at int
	switch b[6] {
	case 1:
		n, at = int(binary.LittleEndian.Uint16(b[8:])), 10
	case 2, 3:
		if len(b) < 12 {
			return nil, fmt.Errorf("truncated .npy header")
		}
		n, at = int(binary.LittleEndian.Uint32(b[8:])), 12
	default:
		return nil, fmt.Errorf(".npy format version %d is not supported", b[6])
	}
	if n > len(b)-at {
		return nil, fmt.Errorf("truncated .npy header")
	}
	header := string(b[at : at+n])
	descr, order, shape := reDescr().FindStringSubmatch(header), reOrder().FindStringSubmatch(header), reShape().FindStringSubmatch(header)
	if descr == nil || order == nil || shape == nil {
		return nil, fmt.Errorf("malformed .npy header %q", strings.TrimSpace(header))
	}
	dt, ok := dtypeOf[descr[2]]
	if !ok || descr[1] == ">" {
		return nil, fmt.Errorf(".npy dtype %q is not supported", descr[1]+descr[2])
	}
	a := &Array{DType: dt}
	count := int64(1)
	for f := range strings.SplitSeq(shape[1], ",") {
		f = strings.TrimSpace(f)
		if f == "" {
			continue
		}
		d, err := strconv.ParseInt(f, 10, 64)
		if err != nil || d < 0 || (d > 0 && count > (1<<40)/d) {
			return nil, fmt.Errorf("malformed .npy shape (%s)", shape[1])
		}
		a.Shape = append(a.Shape, d)
		count *= d
	}
	if order[1] == "True" && len(a.Shape) > 1 {
		return nil, fmt.Errorf(".npy in Fortran order is not supported; save it with numpy.ascontiguousarray")
	}
	a.Data = b[at+n:]
	if want := count * int64(dt.Bytes()); int64(len(a.Data)) != want {
		return nil, fmt.Errorf(".npy holds %d bytes of data, its shape (%s) needs %d", len(a.Data), shape[1], want)
	}
	return a, nil
}
