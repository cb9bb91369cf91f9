package host

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/ptobuild/ptobuild/runtime/include"
	"github.com/ptobuild/ptobuild/runtime/native"
	"github.com/ptobuild/ptobuild/runtime/native/protocol"
)

// The Go mirror of each struct must have the size and offsets that the C++ compiler gives the header's.
func TestABI(t *testing.T) {
	tc, err := native.FindToolchain("", nil)
	if err != nil {
		t.Fatal(err)
	}
	var ten cTensor
	var ci cCreateInfo
	var task cTaskHeader
	var com cCommand
	var ch cChannel
	var pro protocol.Progress
	var pred cPredicate
	want := []struct {
		expr string
		n    uintptr
	}{
		{"sizeof(Tensor)", unsafe.Sizeof(ten)},
		{"offsetof(Tensor, owner_task_id)", unsafe.Offsetof(ten.owner)},
		{"offsetof(Tensor, start_offset)", unsafe.Offsetof(ten.start)},
		{"offsetof(Tensor, version)", unsafe.Offsetof(ten.version)},
		{"offsetof(Tensor, ndims)", unsafe.Offsetof(ten.ndims)},
		{"offsetof(Tensor, dtype)", unsafe.Offsetof(ten.dtype)},
		{"offsetof(Tensor, manual_dep)", unsafe.Offsetof(ten.manualDep)},
		{"offsetof(Tensor, is_contiguous)", unsafe.Offsetof(ten.contiguous)},
		{"offsetof(Tensor, shapes)", unsafe.Offsetof(ten.shapes)},
		{"offsetof(Tensor, extent_elem_cache)", unsafe.Offsetof(ten.extent)},
		{"offsetof(Tensor, strides)", unsafe.Offsetof(ten.strides)},
		{"sizeof(TensorCreateInfo)", unsafe.Sizeof(ci)},
		{"offsetof(TensorCreateInfo, has_initial_value)", unsafe.Offsetof(ci.hasInit)},
		{"offsetof(TensorCreateInfo, shapes)", unsafe.Offsetof(ci.shapes)},
		{"offsetof(TensorCreateInfo, initial_value)", unsafe.Offsetof(ci.init)},
		{"offsetof(pto::TaskHeader, tensor_count)", unsafe.Offsetof(task.tensorCount)},
		{"offsetof(pto::TaskHeader, deps)", unsafe.Offsetof(task.deps)},
		{"offsetof(pto::TaskHeader, order_only)", unsafe.Offsetof(task.orderOnly)},
		{"offsetof(pto::TaskHeader, dep_count)", unsafe.Offsetof(task.depCount)},
		{"offsetof(pto::TaskHeader, block_num)", unsafe.Offsetof(task.blockNum)},
		{"offsetof(pto::TaskHeader, timing_slot)", unsafe.Offsetof(task.timingSlot)},
		{"offsetof(pto::TaskHeader, sync_start)", unsafe.Offsetof(task.syncStart)},
		{"offsetof(pto::TaskHeader, kind)", unsafe.Offsetof(task.kind_)},
		{"offsetof(pto::TaskHeader, dump_mask)", unsafe.Offsetof(task.dumpMask)},
		{"offsetof(pto::TaskHeader, kernels)", unsafe.Offsetof(task.kernels)},
		{"offsetof(pto::TaskHeader, predicated)", unsafe.Offsetof(task.predicated)},
		{"sizeof(pto::TaskHeader)", unsafe.Sizeof(task)},
		{"offsetof(pto::Command, op)", unsafe.Offsetof(com.op)},
		{"offsetof(pto::Command, call)", unsafe.Offsetof(com.call)},
		{"offsetof(pto::Command, flags)", unsafe.Offsetof(com.flags)},
		{"offsetof(pto::Command, line)", unsafe.Offsetof(com.line)},
		{"offsetof(pto::Command, bytes)", unsafe.Offsetof(com.bytes)},
		{"offsetof(pto::Command, number)", unsafe.Offsetof(com.number)},
		{"offsetof(pto::Command, file)", unsafe.Offsetof(com.file)},
		{"offsetof(pto::Command, id)", unsafe.Offsetof(com.id)},
		{"offsetof(pto::Command, slots)", unsafe.Offsetof(com.slots)},
		{"sizeof(pto::Command)", unsafe.Sizeof(com)},
		{"offsetof(pto::Channel, progress)", unsafe.Offsetof(ch.progress)},
		{"offsetof(pto::Channel, buffer)", unsafe.Offsetof(ch.buffer)},
		{"offsetof(pto::Channel, capacity)", unsafe.Offsetof(ch.capacity)},
		{"offsetof(pto::Channel, used)", unsafe.Offsetof(ch.used)},
		{"offsetof(pto::Channel, dead)", unsafe.Offsetof(ch.dead)},
		{"offsetof(pto::Channel, depth)", unsafe.Offsetof(ch.depth)},
		{"offsetof(pto::Channel, seq)", unsafe.Offsetof(ch.seq)},
		{"offsetof(pto::Channel, done)", unsafe.Offsetof(ch.done)},
		{"offsetof(pto::Channel, slots)", unsafe.Offsetof(ch.slots)},
		{"offsetof(pto::Channel, slot_count)", unsafe.Offsetof(ch.slotCount)},
		{"offsetof(pto::Channel, next)", unsafe.Offsetof(ch.next)},
		{"offsetof(pto::Channel, answer)", unsafe.Offsetof(ch.answer)},
		{"sizeof(pto::Channel)", unsafe.Sizeof(ch)},
		{"offsetof(pto::Progress, call)", unsafe.Offsetof(pro.Call)},
		{"offsetof(pto::Progress, schedule)", unsafe.Offsetof(pro.Schedule)},
		{"offsetof(pto::Progress, stack)", unsafe.Offsetof(pro.Stack)},
		{"sizeof(pto::TextPointers)", unsafe.Sizeof(cTexts{})},
		{"static_cast<int>(pto::Op::LOG)", uintptr(opLog)},
		{"static_cast<int>(pto::Op::SUBMIT)", uintptr(opSubmit)},
		{"static_cast<int>(pto::Op::WRITE)", uintptr(opWrite)},
		{"static_cast<int>(pto::LOGGING)", uintptr(protocol.CallLog)},
		{"static_cast<int>(pto::SUBMIT_DUMMY)", uintptr(protocol.CallDummy)},
		{"static_cast<int>(pto::GET_DATA)", uintptr(protocol.CallRead)},
		{"static_cast<int>(pto::SCOPE_END)", uintptr(protocol.CallScopeEnd)},
		{"sizeof(pto::Predicate)", unsafe.Sizeof(pred)},
		{"offsetof(pto::Predicate, op)", unsafe.Offsetof(pred.op)},
		{"offsetof(pto::Predicate, target)", unsafe.Offsetof(pred.target)},
	}
	var src strings.Builder
	src.WriteString("#include \"pto_orchestration_api.h\"\n")
	for _, w := range want {
		fmt.Fprintf(&src, "static_assert(%s == %d, \"\");\n", w.expr, w.n)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, include.Files); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "abi.cpp"), []byte(src.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(tc.CXX, "-std=c++17", "-Wall", "-Wextra", "-Wno-invalid-offsetof", "-Werror", "-fsyntax-only", "-I.", "abi.cpp")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
