package native

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/runtime/check"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/kernels"
	"github.com/ptobuild/ptobuild/runtime/native/protocol"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// What C++ kernels do beside their declared windows and directions: in, out and more are the arguments of the one task, by its form.
var footprints = []struct {
	name string
	form int    // in, out, more are 0: x, output y, x; 1: x, a fresh output, x; 2: x, the left half of y as output, x; 3: x, output y, a fresh output; 4: y, inout y, x; 5: a fresh buffer, output y, x; 6: x, a fresh output of 5 floats, x; 7: the upper half of a fresh buffer, the lower half as output, the upper half
	body string // of the kernel
	code diag.Code
	text string // of the report; "": there is none
	line int32  // of the kernel's body, in a note
}{
	{name: "all is well", body: "copy(in, out);"},
	{name: "one element too many in a fresh buffer", form: 1, body: "copy(in, out);\n out.data<float>()[256] = 2;", code: CodeCrash, text: "it used memory beyond the end of argument 1", line: 2},
	{name: "far after a fresh buffer", form: 1, body: "copy(in, out);\n out.data<float>()[300] = 1;", code: CodeCrash, text: "it used memory beyond the end of argument 1", line: 2},
	{name: "a read past the end of a fresh buffer", form: 5, body: "copy(in, out);\n out.data<float>()[1] = in.data<float>()[256];", code: CodeCrash, text: "it used memory beyond the end of argument 0", line: 2},
	{name: "after a fresh buffer of some bytes", form: 6, body: "out.data<float>()[5] = 1;", code: protocol.CodeStray, text: "right after the end of argument 1 (fp32 of [5])"},
	{name: "before a fresh buffer", form: 6, body: "out.data<float>()[-100] = 1;", code: protocol.CodeStray, text: "400 bytes before the start of argument 1 (fp32 of [5])"},
	{name: "two windows of a fresh buffer", form: 7, body: "copy(in, out); for (int i = 0; i < 8; ++i) if (more.at<float>(i, 0) != in.at<float>(i, 0)) __builtin_trap();"},
	{name: "before an output", form: 2, body: "copy(in, out); out.data<float>()[8] = 1;", code: protocol.CodeStray, text: "between the rows of argument 1, 32 bytes after its start (fp32 of [16 8])"},
	{name: "past the end of an entry tensor", body: "copy(in, out);\n out.data<float>()[256] = 1;", code: CodeCrash, text: "it used memory beyond the end of argument 1", line: 2},
	{name: "before the start of an entry tensor", body: "out.data<float>()[0] = 0;\n for (int i = 0; i > -2000; --i)\n out.data<float>()[0] += in.data<float>()[i];", code: CodeCrash, text: "it used memory before the start of argument 0", line: 3},
	{name: "a read past the end", body: "copy(in, out);\n out.data<float>()[0] = in.data<float>()[256];", code: CodeCrash, text: "it used memory beyond the end of argument 0", line: 2},
	{name: "a sum into an output", body: "for (int i = 0; i < 256; ++i) out.data<float>()[i] += in.data<float>()[i];", code: check.CodeDirection, text: "kernel 'k' reads argument 1 before it has written it"},
	{name: "only one of two outputs is read", form: 3, body: "for (int i = 0; i < 256; ++i) { out.data<float>()[i] = 1; more.data<float>()[i] *= 2; }", code: check.CodeDirection, text: "kernel 'k' reads argument 2 before it has written it"},
	{name: "an index from an output", body: "copy(in, out); out.data<float>()[0] = in.data<float>()[static_cast<int>(out.data<float>()[0]) & 255];"},
	{name: "an output that is never written", form: 3, body: "copy(in, out);", code: check.CodeDirection, text: "kernel 'k' never wrote argument 2"},
	{name: "an output that is written with what it holds", form: 3, body: "copy(in, out); for (int i = 0; i < 256; ++i) more.data<uint32_t>()[i] = 0xFDFDFDFDu;"},
	{name: "an input is written", body: "copy(in, out); in.data<float>()[18] = 7;", code: protocol.CodeInputWritten, text: "writes to argument 0, which the task gives as an input (element 18 after its first)"},
	{name: "an input that nothing has written", form: 5, body: "copy(in, out);", code: kernels.CodeUnwritten, text: "kernel 'k' gets argument 0 as an input, but nothing has written any of it"},
	{name: "in place", form: 4, body: "for (int i = 0; i < 256; ++i) out.data<float>()[i] = 2 * in.data<float>()[i];"},
	{name: "a result of its own mind", body: "static float calls = 0; calls += 1; for (int i = 0; i < 256; ++i) out.data<float>()[i] = calls;"},
}

func TestFootprints(t *testing.T) {
	var b strings.Builder
	b.WriteString("#include \"tensor.h\"\nstatic void copy(const Tensor& in, const Tensor& out) {\n" +
		"    for (uint32_t i = 0; i < out.shapes[0]; ++i) for (uint32_t j = 0; j < out.shapes[1]; ++j) out.at<float>(i, j) = in.at<float>(i, j) + 1;\n}\n")
	lines := make([]int32, len(footprints))
	for i, c := range footprints {
		fmt.Fprintf(&b, "static void body%d([[maybe_unused]] const Tensor& in, const Tensor& out, [[maybe_unused]] const Tensor& more) {\n", i)
		lines[i] = int32(strings.Count(b.String(), "\n")) + c.line
		b.WriteString(c.body + "\n}\n")
	}
	b.WriteString("extern \"C\" void kernel_entry(int64_t* args) {\n    const Tensor &in = tensor_arg(args, 0), &out = tensor_arg(args, 1), &more = tensor_arg(args, 2);\n    switch (scalar_arg<int>(args, 3)) {\n")
	for i := range footprints {
		fmt.Fprintf(&b, "    case %d: return body%d(in, out, more);\n", i, i)
	}
	b.WriteString("    }\n}\n")
	k, o := cppKernel(t, 0, "k", plan.AIV, b.String())
	e, table := external(t, `#include "pto_orchestration_api.h"
void aicpu_orchestration_entry(const L2TaskArgs& args) {
    const Tensor &x = args.tensor(0), &y = args.tensor(1);
    uint32_t shape[2] = {16, 16}, half[2] = {16, 8}, at[2] = {0, 0}, five[1] = {5}, upper[2] = {8, 16}, lower[2] = {8, 0};
    Tensor left = y.view(half, at);
    TensorCreateInfo ci(shape, 2), few(five, 1), zero(shape, 2);
    zero.set_initial_value(0.0f);
    L0TaskArgs a;
    TaskOutputTensors made = alloc_tensors(ci, zero);
    Tensor top = made.get_ref(1).view(upper, at), bottom = made.get_ref(1).view(upper, lower);
    a.add_input(args.scalar(1) == 4 ? y : args.scalar(1) == 5 ? made.get_ref(0) : args.scalar(1) == 7 ? top : x);
    switch (args.scalar(1)) {
    case 0: case 3: case 5: a.add_output(y); break; case 1: a.add_output(ci); break; case 2: a.add_output(left); break; case 4: a.add_inout(y);
    break; case 6: a.add_output(few); break; case 7: a.add_output(bottom);
    }
    if (args.scalar(1) == 3) a.add_output(ci); else a.add_input(args.scalar(1) == 7 ? top : x);
    a.add_scalar(static_cast<int32_t>(args.scalar(0)));
    rt_submit_aiv_task(0, a);
}
`, k, o)
	e.Probe = true
	for i, c := range footprints {
		t.Run(c.name, func(t *testing.T) {
			job := callsOnly(tiles(2), []uint64{uint64(i), uint64(c.form)})
			job.Plan.Kernels, job.Schedules = table, []exec.Schedule{{Policy: sim.Sequential}}
			results, err := e.Run(context.Background(), job)
			var ds diag.List
			if err != nil {
				ds = diag.AsList(err, "none")
			} else {
				ds = results[0].Diags
			}
			if c.text == "" {
				if len(ds) > 0 {
					t.Errorf("reported %v", ds)
				}
				return
			}
			if len(ds) != 1 || ds[0].Code != c.code || !strings.Contains(ds[0].Message, c.text) || ds[0].Span.Line != 18 || ds[0].Hint == "" {
				t.Fatalf("reported %v, want %s at line 18: %s", ds, c.code, c.text)
			}
			if c.line > 0 && (len(ds[0].Related) == 0 || ds[0].Related[0].Span.Line != lines[i]) {
				t.Errorf("the kernel died at %v, want line %d", ds[0].Related, lines[i])
			}
		})
	}
}
