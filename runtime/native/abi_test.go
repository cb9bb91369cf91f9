package native

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"
)

// The Go mirror of each struct must have the size and offsets that the C++ compiler gives the header's.
func TestABI(t *testing.T) {
	tc, err := FindToolchain("")
	if err != nil {
		t.Fatal(err)
	}
	var ten cTensor
	var ci cCreateInfo
	var task cTask
	var out cOutputs
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
		{"sizeof(pto::TaskBlock)", unsafe.Sizeof(task)},
		{"offsetof(pto::TaskBlock, refs)", unsafe.Offsetof(task.refs)},
		{"offsetof(pto::TaskBlock, scalars)", unsafe.Offsetof(task.scalars)},
		{"offsetof(pto::TaskBlock, scalar_types)", unsafe.Offsetof(task.scalarTypes)},
		{"offsetof(pto::TaskBlock, deps)", unsafe.Offsetof(task.deps)},
		{"offsetof(pto::TaskBlock, block_num)", unsafe.Offsetof(task.blockNum)},
		{"offsetof(pto::TaskBlock, timing_slot)", unsafe.Offsetof(task.timingSlot)},
		{"offsetof(pto::TaskBlock, kind)", unsafe.Offsetof(task.kind_)},
		{"offsetof(pto::TaskBlock, dump_mask)", unsafe.Offsetof(task.dumpMask)},
		{"offsetof(pto::TaskBlock, kernels)", unsafe.Offsetof(task.kernels)},
		{"offsetof(pto::TaskBlock, pred)", unsafe.Offsetof(task.pred)},
		{"offsetof(pto::TaskBlock, error)", unsafe.Offsetof(task.err)},
		{"offsetof(pto::TaskBlock, hint)", unsafe.Offsetof(task.hint)},
		{"offsetof(pto::TaskBlock, error_code)", unsafe.Offsetof(task.errCode)},
		{"offsetof(pto::TaskBlock, error_line)", unsafe.Offsetof(task.errLine)},
		{"sizeof(pto::Predicate)", unsafe.Sizeof(pred)},
		{"offsetof(pto::Predicate, op)", unsafe.Offsetof(pred.op)},
		{"offsetof(pto::Predicate, target)", unsafe.Offsetof(pred.target)},
		{"sizeof(pto::Outputs)", unsafe.Sizeof(out)},
		{"offsetof(pto::Outputs, tensors)", unsafe.Offsetof(out.tensors)},
		{"offsetof(pto::Outputs, count)", unsafe.Offsetof(out.count)},
		{"sizeof(pto::Table)", unsafe.Sizeof(cTable{})},
		{"offsetof(pto::Table, submit)", unsafe.Offsetof(cTable{}.submit)},
		{"offsetof(pto::Table, log)", unsafe.Offsetof(cTable{}.log)},
	}
	var src strings.Builder
	src.WriteString("#include \"pto_orchestration_api.h\"\n")
	for _, w := range want {
		fmt.Fprintf(&src, "static_assert(%s == %d, \"\");\n", w.expr, w.n)
	}
	dir := t.TempDir()
	for _, h := range headers {
		if err := os.WriteFile(filepath.Join(dir, h.name), h.text, 0o666); err != nil {
			t.Fatal(err)
		}
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
