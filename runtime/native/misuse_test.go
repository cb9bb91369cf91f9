package native

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/native/protocol"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// anyOf reports that s holds one of the alternatives, which "|" separates.
func anyOf(s, alternatives string) bool {
	return slices.ContainsFunc(strings.Split(alternatives, "|"), func(a string) bool { return strings.Contains(s, a) })
}

// misuses is what users do wrong (spec runtime.md 2.15), each with its report: code, part of the message, and the line, which the body marks with «».
// Entry: tensors x and y of 16×16 floats; one kernel. No code: the orchestration ends well. prints: a part of the printed output.
var misuses = []struct {
	name, body    string
	code          diag.Code
	message, hint string
	prints        string
	line          int32 // where the body has no mark
}{
	{name: "14 invalid id", body: `Arg a; a.add_inout(x); PTO2TaskId none; a.set_dependencies(&none, 1); «» rt_submit_aiv_task(0, a);`, code: "PTO-R010", message: "invalid"},
	{name: "15 id never issued", body: `Arg a; a.add_inout(x); PTO2TaskId id = PTO2TaskId::make(1, 77); a.set_dependencies(&id, 1); «» rt_submit_aiv_task(0, a);`, code: "PTO-R011"},
	{name: "11 AUTO in MANUAL", body: "PTO2_SCOPE(PTO2ScopeMode::MANUAL) {\n «» PTO2_SCOPE() { Arg a; a.add_inout(x); rt_submit_aiv_task(0, a); }\n }", code: "PTO-R012", message: "AUTO scope inside a MANUAL", hint: "MANUAL"},
	{name: "58 33rd tensor", body: "Arg a; for (int i = 0; i < 33; ++i) a.add_input(x);\n «» rt_submit_aiv_task(0, a);", code: "PTO-R002", message: "more than 32 tensor", hint: "split"},
	{name: "58 17th scalar", body: "Arg a; for (int i = 0; i < 17; ++i) a.add_scalar(i);\n «» rt_submit_aiv_task(0, a);", code: "PTO-R002", message: "more than 16 scalar", hint: "tensor"},
	{name: "scalars in bulk", body: "Arg a; uint64_t v[17] = {};\n «» a.add_scalars(v, 17);\n rt_submit_aiv_task(0, a);", code: "PTO-R002", message: "more than 16 scalars"},
	{name: "negative count of scalars", body: "Arg a; int32_t v[1] = {};\n «» a.add_scalars_i32(v, -1);\n rt_submit_aiv_task(0, a);", code: "PTO-R002", message: "negative"},
	{name: "scalars that are not there", body: "Arg a, b; b.add_scalar(1);\n «» a.copy_scalars_from(b, 0, 2);\n rt_submit_aiv_task(0, a);", code: "PTO-R002", message: "not so many scalars"},
	{name: "58 tensor after scalar", body: "Arg a; a.add_scalar(1); a.add_input(x);\n «» rt_submit_aiv_task(0, a);", code: "PTO-R002", message: "a tensor was added after a scalar", hint: "before the first scalar"},
	{name: "17 set_dependencies twice", body: "Arg a; a.add_inout(x); PTO2TaskId id = rt_submit_dummy_task(a).task_id(); Arg b; b.set_dependencies(&id, 1);\n «» b.set_dependencies(&id, 1);\n rt_submit_dummy_task(b);",
		code: "PTO-R002", message: "set_dependencies was called twice", hint: "one array"},
	{name: "16 set_dependencies twice with a clear between", body: "Arg a; a.add_inout(x); PTO2TaskId id = rt_submit_dummy_task(a).task_id(); Arg b; b.set_dependencies(&id, 1); b.set_dependencies(nullptr, 0); b.set_dependencies(&id, 1); rt_submit_dummy_task(b);"},
	{name: "add_dep and set_dependencies", body: "Arg a; a.add_inout(x); PTO2TaskId id = rt_submit_dummy_task(a).task_id(); Arg b; b.set_dependencies(&id, 1); b.add_dep(id);\n «» rt_submit_dummy_task(b);",
		code: "PTO-R002", message: "add_dep after set_dependencies", hint: "one of the two"},
	{name: "kernel id not registered", body: "Arg a; a.add_inout(x);\n «» rt_submit_aiv_task(7, a);", code: "PTO-R003", message: "kernel id 7 is not registered"},
	{name: "element out of range", body: "uint32_t i[2] = {3, 16};\n «» get_tensor_data<float>(x, 2, i);", code: "PTO-R017", message: "index 16 of dimension 1 is out of bounds"},
	{name: "nothing submitted", body: "", line: entryLine, code: exec.CodeNoTask, message: "submitted no task", hint: "dummy"},
	{name: "1023 tasks with 16 dependencies each", body: "PTO2TaskId ids[16]; for (int i = 0; i < 16; ++i) { Arg a; ids[i] = rt_submit_dummy_task(a).task_id(); }\n PTO2_SCOPE() for (int i = 0; i < 1100; ++i) { Arg a; a.add_inout(y); a.set_dependencies(ids, 16);\n «» rt_submit_aiv_task(0, a); }", code: "PTO-R008", message: "dependency entries"},
	{name: "two outputs of 16 floats", body: "uint32_t s[1] = {16}; TensorCreateInfo ci(s, 1); Arg a; a.add_output(ci, ci); auto o = rt_submit_aiv_task(0, a);\n" +
		"const Tensor &p = o.get_ref(0), &q = o.get_ref(1); LOG_INFO(\"%d apart, %d and %d bytes\", int(q.buffer.addr - p.buffer.addr), int(p.buffer.size), int(q.buffer.size));", prints: "1024 apart, 1024 and 1024 bytes"},
	{name: "null dependencies", body: "Arg a; a.add_inout(x);\n «» a.set_dependencies(nullptr, 2);\n rt_submit_aiv_task(0, a);", code: "PTO-R002", message: "null array"},
	{name: "wild dependencies", body: "Arg a; a.add_inout(x); a.set_dependencies(reinterpret_cast<PTO2TaskId*>(0x10000000000), 2);\n «» rt_submit_aiv_task(0, a);", code: protocol.CodePointer, message: "memory that is not there"},
	{name: "null tensor", body: "Arg a; Tensor* t = nullptr; asm(\"\" : \"+r\"(t)); a.add_inout(*t);\n «» rt_submit_aiv_task(0, a);", code: protocol.CodePointer, message: "memory that is not there"},
	{name: "too many add_dep", body: "ArgWithDeps<2> a; a.add_inout(x); PTO2TaskId id = PTO2TaskId::make(0, 0); a.add_dep(id, id, id);\n «» rt_submit_aiv_task(0, a);", code: "PTO-R002", message: "more dependencies than the builder holds"},
	{name: "54 timing slot 16", body: "Arg a; a.add_inout(x);\n «» a.set_task_timing_slot(16);\n rt_submit_aiv_task(0, a);", code: "PTO-R020", hint: "0 to 15"},
	{name: "dump of a stranger", body: "Arg a; a.add_inout(x); a.dump(y);\n «» rt_submit_aiv_task(0, a);", code: "PTO-R002", message: "not an argument"},
	{name: "rt_report_fatal", body: "if (x.ndims == 2)\n «» rt_report_fatal(PTO2_ERROR_EXPLICIT_ORCH_FATAL, \"bad rank %d\", 2);", code: "PTO-R027", message: "fatal error 9: bad rank 2"},
	{name: "49 sync_start of 17", body: "Arg a; a.add_inout(x); a.launch_spec.set_block_num(17); a.launch_spec.set_require_sync_start(true);\n «» rt_submit_aiv_task(0, a);", code: "PTO-R004", message: "17 blocks"},
	{name: "34 20000 tasks in a scope", body: "PTO2_SCOPE() for (int i = 0; i < 20000; ++i) { Arg a; a.add_input(x);\n «» rt_submit_aiv_task(0, a);\n }", code: "PTO-R005", message: "16383 tasks"},
	{name: "36 286 MB", body: "uint32_t s[1] = {75000000}; TensorCreateInfo ci(s, 1);\n «» alloc_tensors(ci);", code: "PTO-R007"},
	{name: "get_ref out of range", body: "uint32_t s[1] = {4}; TensorCreateInfo ci(s, 1); auto o = alloc_tensors(ci);\n «» const Tensor& t = o.get_ref(1);\n Arg a; a.add_inout(t); rt_submit_aiv_task(0, a);",
		code: "PTO-R029", message: "get_ref(1) of a task that made 1 buffers", hint: "counted from 0"},
	{name: "view out of bounds", body: "uint32_t s[2] = {8, 8}, o[2] = {9, 0};\n «» Tensor v = x.view(s, o);\n Arg a; a.add_inout(v); rt_submit_aiv_task(0, a);", code: "PTO-R016", message: "axis 0 covers [9, 17) of an extent of 16"},
	{name: "30 empty view out of bounds", body: "uint32_t s[2] = {0, 8}, o[2] = {99, 0}; Tensor v = x.view(s, o); Arg a; a.add_inout(v); rt_submit_aiv_task(0, a);"},
	{name: "reshape of a column", body: "uint32_t s[2] = {16, 8}, o[2] = {0, 0}, f[1] = {128}; Tensor v = x.view(s, o);\n «» v.reshape(f, 1);", code: "PTO-R016", message: "not contiguous", hint: "copy"},
	{name: "reshape to another size", body: "uint32_t f[1] = {128};\n «» x.reshape(f, 1);", code: "PTO-R016", message: "256 elements to 128"},
	{name: "transpose of axis 2", body: "«» x.transpose(0, 2);", code: "PTO-R016", message: "axes 0 and 2"},
	{name: "permute", body: "uint32_t o[2] = {1, 1};\n «» x.permute(o);", code: "PTO-R016", message: "no permutation"},
	{name: "slice", body: "«» x.slice(0, 4, 17);", code: "PTO-R016", message: "[4:17:1]"},
	{name: "uninitialised tensor", body: "Tensor t; Arg a; a.add_inout(t);\n «» rt_submit_aiv_task(0, a);", code: "PTO-R015", message: "never initialised"},
	{name: "view of an uninitialised tensor", body: "Tensor t;\n «» t.transpose(0, 1);", code: "PTO-R015", message: "never initialised"},
	{name: "foreign memory", body: "float f[256]; uint32_t s[2] = {16, 16}; Tensor t = make_tensor_external(f, s, 2); Arg a; a.add_inout(t);\n «» rt_submit_aiv_task(0, a);", code: "PTO-R015", message: "does not lie in device memory"},
	{name: "6 dimensions", body: "uint32_t s[6] = {1, 1, 1, 1, 1, 1};\n «» TensorCreateInfo ci(s, 6);\n alloc_tensors(ci);", code: "PTO-R015", message: "6 dimensions"},
	{name: "52 no slot", body: "Arg a; a.add_inout(x); MixedKernels k;\n «» rt_submit_task(k, a);", code: "PTO-R003", message: "without a kernel", hint: "dummy"},
	{name: "53 block_num 0", body: "Arg a; a.add_inout(x); a.launch_spec.set_block_num(0);\n «» rt_submit_aiv_task(0, a);", code: "PTO-R019", message: "0 blocks", hint: "block_num"},
	{name: "53 block_num -3", body: "Arg a; a.add_inout(x); a.launch_spec.set_core_num(-3);\n «» rt_submit_aiv_task(0, a);", code: "PTO-R019", message: "-3 blocks"},
	{name: "block_num 2^32+1", body: "Arg a; a.add_inout(x); a.launch_spec.set_block_num((int64_t(1) << 32) + 1);\n «» rt_submit_aiv_task(0, a);", code: "PTO-R019", message: "blocks"},
	{name: "53 block_num 0 of a dummy", body: "Arg a; a.launch_spec.set_block_num(0); rt_submit_dummy_task(a);"},
	{name: "33 depth 70", body: "for (int i = 0; i < 70; ++i)\n «» rt_scope_begin();", code: "PTO-R013", message: "64 nested scopes"},
	{name: "extra rt_scope_end", body: "rt_scope_begin(); rt_scope_end();\n «» rt_scope_end();", code: "PTO-R014", message: "scope end without a scope begin"},
	{name: "scope left open", body: "«» rt_scope_begin(PTO2ScopeMode::MANUAL);", code: "PTO-R014", message: "still open"},
	{name: "std exception", body: "std::vector<int> v(3);\n rt_available_aiv_count();\n «» v.at(x.ndims + 3);", code: protocol.CodeException, message: "vector::_M_range_check", hint: "rt_report_fatal"},
	{name: "other exception", body: "PTO2_SCOPE() {\n rt_available_aiv_count();\n «» throw 3; }", code: protocol.CodeException, message: "an exception left"},
	{name: "exceptions of destructors", body: "struct D { ~D() { try { throw 5; } catch (...) {} } } d;\n «» throw 3;", code: protocol.CodeException, message: "an exception left"},
	{name: "kept exception", body: "std::exception_ptr kept; try {\n «» throw std::runtime_error(\"kept\");\n } catch (...) { kept = std::current_exception(); }\n try { throw 4; } catch (...) {}\n std::rethrow_exception(kept);", code: protocol.CodeException, message: "an exception left the orchestration: kept"},
	{name: "20000 tasks outside of scopes", body: "for (int i = 0; i < 20000; ++i) { Arg a; a.add_input(x);\n «» rt_submit_aiv_task(0, a);\n }", code: "PTO-R005", message: "16383 tasks"},
	{name: "caught exception", body: "try { PTO2_SCOPE() { throw std::runtime_error(\"mine\"); } } catch (const std::exception& e) { LOG_INFO(\"caught %s\", e.what()); Arg a; rt_submit_dummy_task(a); }", prints: "info: caught mine"},
	{name: "60 kernel id unknown", body: "Arg a; a.add_inout(x);\n «» rt_submit_aiv_task(9, a);", code: "PTO-R003", message: "kernel id 9"},
	{name: "56 index out of range", body: "uint32_t i[2] = {3, 16};\n «» get_tensor_data<float>(x, 2, i);", code: "PTO-R017", message: "index 16"},
	{name: "56 too few indices", body: "uint32_t i[1] = {3};\n «» set_tensor_data<float>(x, 1, i, 1.0f);", code: "PTO-R017", message: "1 indices"},
	{name: "59 nothing to do", body: "Arg a; rt_submit_dummy_task(a);"},
	{name: "entry tensor 5", body: "«» args.tensor(5).ref();", code: protocol.CodeArgument, message: "tensor(5) of an orchestration that got 2 tensors"},
	{name: "entry scalar 5", body: "«» args.scalar(5);", code: protocol.CodeArgument, message: "scalar(5)"},
	{name: "allocation of nothing", body: "Arg a;\n «» alloc_tensors(a);", code: "PTO-R018"},
	{name: "41 allocation of 33", body: "uint32_t s[1] = {4}; std::vector<TensorCreateInfo> v(33, TensorCreateInfo(s, 1));\n «» alloc_tensors(v.data(), 33);", code: "PTO-R018", message: "33 buffers"},
	{name: "42 allocation with a scalar", body: "uint32_t s[1] = {4}; TensorCreateInfo ci(s, 1); Arg a; a.add_output(ci); a.add_scalar(1);\n «» alloc_tensors(a);", code: "PTO-R018"},
	{name: "assertion", body: "«» always_assert(x.ndims == 3);", code: protocol.CodeAssertion, message: "x.ndims == 3"},
	{name: "crash after a fatal error", body: "uint32_t s[1] = {4}; TensorCreateInfo ci(s, 1);\n «» auto o = alloc_tensors(ci); volatile uint32_t n = o.get_ref(3).shapes[0];\n volatile uint32_t r = 7 / n; (void)r;",
		code: "PTO-R029", message: "get_ref(3)"},

	{name: "null pointer", body: "Arg a; a.add_inout(x);\n rt_submit_aiv_task(0, a);\n volatile int* p = nullptr;\n «» *p = 1;", code: CodeCrash, message: "SIGSEGV: it used a null pointer (address 0x0), after rt_submit_aiv_task", hint: "this line"},
	{name: "wild pointer", body: "get_tensor_data<float>(x, 0, nullptr);\n volatile int* p = reinterpret_cast<int*>(0x123456789000);\n «» *p = 1;", code: CodeCrash, message: "memory that is not there (address 0x123456789000), after get_tensor_data"},
	{name: "stack overflow", body: "rt_available_cluster_count();\n LOG_INFO(\"%d\", deep(1));", line: 5, code: CodeCrash, message: "its stack overflowed"},
	{name: "division by zero", body: "rt_available_cluster_count();\n volatile int n = 0;\n «» n = 7 / n;", code: CodeCrash, message: "SIGFPE: an integer division by zero"},
	{name: "abort", body: "«» LOG_WARN(\"going down\");\n fprintf(stderr, \"bad things\\n\"); abort();", code: CodeCrash, message: "SIGABRT: it called abort; the last line it printed is: bad things", prints: "warning: going down"},
	{name: "trap", body: "rt_available_cluster_count();\n «» __builtin_trap();", code: CodeCrash, message: "SIGILL"},
	{name: "exit", body: "«» rt_available_cluster_count();\n exit(0);", code: CodeCrash, message: "exit(0), after rt_available_*_count"},
	{name: "exit 3", body: "«» rt_available_cluster_count();\n exit(3);", code: CodeCrash, message: "exit(3)"},
	{name: "a signal name in the output", body: "«» rt_available_cluster_count();\n printf(\"SIGSEGV: x\\nPC=0x1 m=0 sigcode=1 addr=0x0\\n\"); abort();", code: CodeCrash, message: "died of SIGABRT"},
	{name: "output", body: `printf("hello %d\n", 3); fprintf(stderr, "oops\n"); printf("unfinished"); Arg a; rt_submit_dummy_task(a);`, prints: "unfinished"},
	{name: "1 MB of output", body: "std::string s(1 << 20, 'x'); fputs(s.c_str(), stdout); fputs(s.c_str(), stderr); Arg a; a.add_inout(x); rt_submit_aiv_task(0, a);"},
}

const entryLine = -1 // that of the entry function

// misuseSource is one file with a function for each case; the scalar chooses.
func misuseSource() (src string, lines []int32) {
	var b strings.Builder
	b.WriteString("#include \"pto_orchestration_api.h\"\n#include <unistd.h>\n#include <stdlib.h>\n" +
		"PTO2OrchestrationConfig aicpu_orchestration_config(const ChipStorageTaskArgs&) { return {3}; }\n" +
		"__attribute__((noinline)) static int deep(int n) { volatile char big[4096]; big[0] = static_cast<char>(n); return deep(n + 1) + big[0]; }\n")
	for i, c := range misuses {
		fmt.Fprintf(&b, "static void case%d([[maybe_unused]] const ChipStorageTaskArgs& args, [[maybe_unused]] const Tensor& x, [[maybe_unused]] const Tensor& y) {\n", i)
		before, _, marked := strings.Cut(c.body, "«»")
		line := c.line
		if marked {
			line = int32(strings.Count(b.String()+before, "\n") + 1)
		}
		lines = append(lines, line)
		b.WriteString(strings.Replace(c.body, "«»", "", 1) + "\n}\n")
	}
	for i := range lines {
		if misuses[i].line == entryLine {
			lines[i] = int32(strings.Count(b.String(), "\n") + 1)
		}
	}
	b.WriteString("void aicpu_orchestration_entry(const ChipStorageTaskArgs& args) {\n    switch (args.scalar(0)) {\n")
	for i := range misuses {
		fmt.Fprintf(&b, "    case %d: return case%d(args, args.tensor(0), args.tensor(1));\n", i, i)
	}
	b.WriteString("    }\n}\n")
	return b.String(), lines
}

// soleReport is the one error of a run, wherever it came out.
func soleReport(t *testing.T, results []exec.Result, err error) *diag.Diagnostic {
	t.Helper()
	ds := diag.AsList(err, "no code")
	for _, r := range results {
		ds = append(ds, r.Diags...)
	}
	ds = slices.DeleteFunc(ds, func(d *diag.Diagnostic) bool { return d.Severity != diag.Error })
	if len(ds) > 1 {
		t.Errorf("%d errors: %v", len(ds), ds)
	}
	if len(ds) == 0 {
		return nil
	}
	return ds[0]
}

func TestMisuse(t *testing.T) {
	src, lines := misuseSource()
	base := engineFor(t, "misuse.cpp", src)
	for i, c := range misuses {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := *base
			var output bytes.Buffer
			e.Output = &output
			results, err := e.Run(context.Background(), callsOnly(tiles(2), []uint64{uint64(i)}, "k"))
			d := soleReport(t, results, err)
			if !strings.Contains(output.String(), c.prints) {
				t.Errorf("printed %q", output.String())
			}
			if d == nil || c.code == "" {
				if d != nil || c.code != "" {
					t.Errorf("reported %v, want %s", d, c.code)
				}
				return
			}
			if d.Code != c.code || !strings.Contains(d.Message, c.message) || !strings.Contains(d.Hint, c.hint) {
				t.Errorf("reported %v", d)
			}
			if d.Hint == "" && d.Code > "PTO-R100" {
				t.Errorf("no hint: %v", d)
			}
			if d.Span.File != "misuse.cpp" || d.Span.Line != lines[i] {
				t.Errorf("reported at %s, want line %d", d.Span, lines[i])
			}
			if strings.Contains(d.Error()+output.String(), "goroutine") {
				t.Errorf("a stack trace: %v", d)
			}
		})
	}
}

// More arguments expected than there are; fewer are fine.
func Test64ArgumentCount(t *testing.T) {
	e := engineFor(t, "o.cpp", strings.Replace(`#include "pto_orchestration_api.h"
PTO2OrchestrationConfig aicpu_orchestration_config(const ChipStorageTaskArgs& a) { return {static_cast<int32_t>(a.scalar(0))}; }
void aicpu_orchestration_entry(const ChipStorageTaskArgs&) { rt_submit_dummy_task(Arg()); }
`, "rt_submit_dummy_task(Arg())", "Arg a; rt_submit_dummy_task(a)", 1))
	for expected, code := range map[uint64]diag.Code{3: "PTO-R026", 2: "", 1: "", 0: ""} {
		results, err := e.Run(context.Background(), callsOnly(tiles(1), []uint64{expected}))
		d := soleReport(t, results, err)
		if code == "" && (d != nil || results[0].Tasks != 1) || code != "" && (d == nil || d.Code != code || d.Hint == "" || d.Span.Line != 2 || !strings.Contains(d.Message, "expects 3 arguments and got 2")) {
			t.Errorf("expected %d: %v", expected, d)
		}
	}
}

// What never ends is stopped, and the report says where it was.
func Test63Hang(t *testing.T) {
	const head = "#include \"pto_orchestration_api.h\"\nPTO2OrchestrationConfig aicpu_orchestration_config(const ChipStorageTaskArgs&) { return {1}; }\n" +
		"void aicpu_orchestration_entry(const ChipStorageTaskArgs& args) {\n"
	for name, c := range map[string]struct {
		body, message string
		line          int32
		code          diag.Code
	}{
		"loop":                   {"Arg a;\n a.add_inout(args.tensor(0));\n rt_submit_aiv_task(0, a);\n for (volatile int i = 0; i >= 0; i = 0) {}\n}", "did not end within 300ms, after rt_submit_aiv_task (fifo order)", 6, CodeHang},
		"before any call":        {"(void)args; for (volatile int i = 0; i >= 0; i = 0) {}\n}", "before it made its first runtime call", 0, CodeHang},
		"kernel":                 {"Arg a;\n a.add_inout(args.tensor(0));\n rt_submit_aiv_task(1, a);\n get_tensor_data<float>(args.tensor(0), 0, nullptr);\n}", "kernel 'endless' of task 0, block 0 of 1, did not end within 300ms (fifo order)", 6, CodeHang},
		"after a fatal error":    {"always_assert(args.tensor(0).ndims == 9); while (rt_available_aiv_count() > 0) {}\n}", "assertion failed", 4, protocol.CodeAssertion},
		"static constructor":     {"(void)args;\n}\nstatic int forever() { for (volatile int i = 0; i >= 0; i = 0) {} return 1; }\nint never = forever();", "outside of its entry function", 0, CodeHang},
		"crash in a constructor": {"(void)args;\n}\nstatic int crash() { volatile int* volatile p = nullptr; return *p; }\nint never = crash();", "null pointer (address 0x0), outside of its entry function", 0, CodeCrash},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := engineFor(t, "hang.cpp", head+c.body+"\n")
			job := &exec.Job{Plan: &plan.File{Kernels: kernelTable("kernel_add", "endless")}, Program: program(t, "kernels.py"), Tensors: tiles(1),
				Schedules: []exec.Schedule{{Policy: sim.FIFO}, {Policy: sim.LIFO}}, Timeout: 300 * time.Millisecond}
			results, err := e.Run(context.Background(), job)
			d := soleReport(t, results, err)
			if d == nil || d.Code != c.code || !strings.Contains(d.Message, c.message) || d.Span.Line != c.line || d.Hint == "" {
				t.Errorf("reported %v", d)
			}
		})
	}
}

// Of kernels that run at the same time, the one that does not end is named, whichever of them started last.
func Test63HangInParallel(t *testing.T) {
	e := engineFor(t, "parallel.cpp", `#include "pto_orchestration_api.h"
void aicpu_orchestration_entry(const ChipStorageTaskArgs& args) {
    for (int i = 0; i < 8; ++i) {
        Arg a;
        if (i == 3) {
            a.add_inout(args.tensor(0));
            rt_submit_aiv_task(1, a);
        } else {
            TensorCreateInfo out(args.tensor(1).shapes, 2);
            a.add_input(args.tensor(1), args.tensor(2));
            a.add_output(out);
            rt_submit_aiv_task(0, a);
        }
    }
}
`)
	job := &exec.Job{Plan: &plan.File{Kernels: kernelTable("kernel_add", "endless")}, Program: program(t, "kernels.py"), Tensors: tiles(3),
		Machine: sim.Config{Costs: &sim.Costs{Launch: 1000}, Workers: 4}, Schedules: []exec.Schedule{{Policy: sim.Parallel}}, Timeout: 300 * time.Millisecond}
	results, err := e.Run(context.Background(), job)
	d := soleReport(t, results, err)
	if d == nil || d.Code != CodeHang || !strings.Contains(d.Message, "kernel 'endless' of task 3, block 0 of 1, did not end within 300ms") || d.Span.Line != 7 {
		t.Errorf("reported %v", d)
	}
}

// A process that user code leaves behind does not hold up the run: this one lives until the test ends (15 minutes, should the test be killed).
func TestProcessLeftBehind(t *testing.T) {
	alive := filepath.Join(t.TempDir(), "alive")
	if err := os.WriteFile(alive, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	e := engineFor(t, "o.cpp", fmt.Sprintf(`#include "pto_orchestration_api.h"
#include <unistd.h>
#include <stdlib.h>
PTO2OrchestrationConfig aicpu_orchestration_config(const ChipStorageTaskArgs&) { return {0}; }
void aicpu_orchestration_entry(const ChipStorageTaskArgs&) {
	Arg a;
	rt_submit_dummy_task(a);
	if (fork() != 0) return;
	for (int i = 0; i < 90000 && access(%q, F_OK) == 0; i++) usleep(10000);
	_exit(0);
}
`, alive))
	runOK(t, e, callsOnly(nil, nil))
}
