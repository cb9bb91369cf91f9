package host

import (
	"unsafe"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/runtime/native/protocol"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// The structs below mirror those of pto_orchestration_api.h field by field; abi_test.go checks offsets and sizes against the C++ compiler.

type cTensor struct {
	addr, size  uint64
	owner       uint64
	start       uint64
	version     int32
	ndims       uint32
	dtype       uint8
	manualDep   uint8
	contiguous  uint8
	childMemory uint8
	shapes      [5]uint32
	extent      uint64
	strides     [5]uint32
	_           [36]byte
}

type cCreateInfo struct {
	ndims     uint32
	dtype     uint8
	manualDep uint8
	hasInit   uint8
	shapes    [5]uint32
	init      uint64
}

type cPredicate struct {
	_       *cTensor // it follows as a whole
	ndims   uint32
	indices [5]uint32
	op      uint8
	target  int64
}

// cOp is pto::Op: what a command asks for.
type cOp uint8

const (
	opScopeBegin cOp = iota
	opScopeEnd
	opAlloc
	opSubmit
	opRead
	opWrite
	opCount
	opFatal
	opMisuse
	opLog
)

// depsByPointer is a flag of commands.
const depsByPointer = 1

type cCommand struct {
	op     cOp
	call   protocol.Call
	flags  uint16
	line   int32
	bytes  uint32
	number int32
	file   *byte
	id     uint64
	slots  *cTensor
}

type cTaskHeader struct {
	tensorCount, scalarCount                uint32
	deps                                    *sim.TaskID
	orderOnly                               uint64
	depCount                                uint32
	blockNum, timingSlot                    int32
	syncStart, earlyResolve, dumpAll, kind_ uint8
	dumpMask                                uint32
	kernels                                 [3]int32
	predicated                              uint32
}

type cTexts struct{ message, hint *byte }

type cChannel struct {
	serve          uintptr
	progress       *protocol.Progress
	buffer         unsafe.Pointer
	capacity, used uint32
	dead           int32
	depth          uint32
	seq, done      uint64
	slots          *cTensor
	slotCount      uint32
	next           [4]uint32
	answer         uint64
}

// accessDouble is the header's DOUBLE: the type of an element access that no tensor has.
const accessDouble = 255

// dtypes maps the header's DataType to ours.
var dtypes = [...]ir.DType{ir.FP32, ir.FP16, ir.INT32, ir.INT16, ir.INT8, ir.UINT8, ir.BF16, ir.INT64, ir.UINT64, ir.UINT16, ir.UINT32, ir.BOOL,
	ir.FP8E4M3FN, ir.FP8E8M0, ir.FP4, ir.FP8E5M2}

func dtypeOf(c uint8) ir.DType {
	if int(c) < len(dtypes) {
		return dtypes[c]
	}
	return ir.NoDType
}

func dtypeCode(d ir.DType) uint8 {
	if d == ir.INDEX {
		d = ir.INT64
	}
	for i, x := range dtypes {
		if x == d {
			return uint8(i)
		}
	}
	return 0xFF
}

// scalarTypes names the C types of scalar arguments as traces do, by the header's code: bytes, plus 16 for unsigned, 32 floating, 48 bool.
var scalarTypes = [64]string{1: "i8", 2: "i16", 4: "i32", 8: "i64", 17: "u8", 18: "u16", 20: "u32", 24: "u64", 36: "f32", 40: "f64", 49: "b8"}

func (t *cTensor) set(h *sim.Tensor) {
	*t = cTensor{addr: h.Addr, size: h.Size, owner: uint64(h.Owner), start: h.Start, version: h.Version, ndims: uint32(len(h.Shape)), dtype: dtypeCode(h.DType)}
	copy(t.shapes[:], h.Shape)
	copy(t.strides[:], h.Strides)
	if h.ManualDep {
		t.manualDep = 1
	}
	t.contiguous, t.extent = 1, 1
	expect := uint32(1)
	for i := len(h.Shape) - 1; i >= 0; i-- {
		if h.Shape[i] != 1 && h.Strides[i] != expect {
			t.contiguous = 0
		}
		expect *= h.Shape[i]
		if h.Shape[i] == 0 {
			t.extent = 0
		} else if t.extent > 0 {
			t.extent += uint64(h.Shape[i]-1) * uint64(h.Strides[i])
		}
	}
}

// text copies a C string.
func text(p *byte) string {
	if p == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}
