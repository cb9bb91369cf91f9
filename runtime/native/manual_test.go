package native

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/sim"
	"github.com/ptobuild/ptobuild/runtime/trace"
)

// manualRules are the statements of mission document 003, one by one, on both platforms. Entry: tensors x and y; writer(), reader() and update() submit a task that
// writes, reads and rewrites x, after the ids given, and return its id. waits: who waits for whom, directly or not; or code: the report.
var manualRules = []struct {
	rule, body string
	waits      string
	code       diag.Code
}{
	{rule: "the same submits as in AUTO mode, and explicit dependencies", body: `PTO2_SCOPE(PTO2ScopeMode::MANUAL) { auto a = writer({}); reader({a}); }`, waits: "1<0"},
	{rule: "an AIC task, an AIV task and a mixed one", body: `PTO2_SCOPE(PTO2ScopeMode::MANUAL) {
		L0TaskArgs a; a.add_inout(x); PTO2TaskId t = rt_submit_aic_task(K, a).task_id();
		L0TaskArgs b; b.add_inout(x); b.set_dependencies(&t, 1); PTO2TaskId u = rt_submit_aiv_task(K, b).task_id();
		L0TaskArgs c; c.add_inout(x); c.set_dependencies(&u, 1); int m = K; MixedKernels k{m, m, INVALID_KERNEL_ID}; rt_submit_task(k, c); }`, waits: "1<0 2<0,1"},
	{rule: "a MANUAL scope opts out of automatic tracking", body: `PTO2_SCOPE(PTO2ScopeMode::MANUAL) { writer({}); update({}); reader({}); }`},
	{rule: "an AUTO scope tracks", body: `PTO2_SCOPE() { writer({}); update({}); reader({}); }`, waits: "1<0 2<0,1"},
	{rule: "MANUAL inside MANUAL is allowed and changes nothing", body: `PTO2_SCOPE(PTO2ScopeMode::MANUAL) { writer({});
		PTO2_SCOPE(PTO2ScopeMode::MANUAL) { update({}); } update({}); }`},
	{rule: "AUTO inside an active MANUAL is rejected", body: "PTO2_SCOPE(PTO2ScopeMode::MANUAL) {\n PTO2_SCOPE() { writer({}); } }", code: sim.CodeScopeNesting},
	{rule: "also below a nested MANUAL", body: "PTO2_SCOPE(PTO2ScopeMode::MANUAL) { PTO2_SCOPE(PTO2ScopeMode::MANUAL) {\n PTO2_SCOPE() { writer({}); } } }", code: sim.CodeScopeNesting},
	{rule: "an ended MANUAL scope allows AUTO again", body: `PTO2_SCOPE(PTO2ScopeMode::MANUAL) {} PTO2_SCOPE() { writer({}); reader({}); }`, waits: "1<0"},
	{rule: "the marker goes with the outermost scope, not with a nested one", body: `PTO2_SCOPE(PTO2ScopeMode::MANUAL) {
		PTO2_SCOPE(PTO2ScopeMode::MANUAL) {} writer({}); update({}); } writer({}); update({});`, waits: "3<2"},
	{rule: "dependencies are set once", body: "auto a = writer({}); L0TaskArgs b; b.set_dependencies(&a, 1); b.set_dependencies(&a, 1);\n rt_submit_dummy_task(b);", code: sim.CodeBuilder},
	{rule: "a count of 0 is a valid empty set", body: `L0TaskArgs b; b.add_input(y); b.set_dependencies(nullptr, 0); rt_submit_aiv_task(K, b);`},
	{rule: "a count of 0 clears what was set", body: `PTO2TaskId a = writer({}); L0TaskArgs b; b.add_input(y); b.set_dependencies(&a, 1); b.set_dependencies(&a, 0); rt_submit_aiv_task(K, b);`},
	{rule: "and lets dependencies be set anew", body: `PTO2TaskId a = writer({}); L0TaskArgs b; b.add_input(y); b.set_dependencies(&a, 1); b.set_dependencies(&a, 0); b.set_dependencies(&a, 1); rt_submit_aiv_task(K, b);`, waits: "1<0"},
	{rule: "the array is kept by pointer until the submit", body: `PTO2TaskId a = writer({}); L0TaskArgs o; o.add_input(y); PTO2TaskId other = rt_submit_aiv_task(K, o).task_id();
		PTO2TaskId deps[1] = {a}; L0TaskArgs b; b.add_input(y); b.set_dependencies(deps, 1); deps[0] = other; rt_submit_aiv_task(K, b);`, waits: "2<1"},
	{rule: "18 and may be reused after it", body: `PTO2TaskId deps[1] = {writer({})}; L0TaskArgs b; b.add_input(y); b.set_dependencies(deps, 1); deps[0] = rt_submit_aiv_task(K, b).task_id();
		L0TaskArgs c; c.add_input(y); c.set_dependencies(deps, 1); rt_submit_aiv_task(K, c);`, waits: "1<0 2<0,1"},
	{rule: "an invalid id is an error", body: "reader({PTO2TaskId::invalid()});", code: sim.CodeDepInvalid},
	{rule: "an entry must be an earlier task", body: "reader({PTO2TaskId::make(0, 5)});", code: sim.CodeDepUnknown},
	{rule: "a retired producer is skipped without an error", body: `PTO2TaskId a; PTO2_SCOPE() { a = writer({}); }
		get_tensor_data<float>(x, 0, nullptr); L0TaskArgs b; b.add_input(y); b.set_dependencies(&a, 1); rt_submit_aiv_task(K, b);`, waits: "1<0"}, // the orchestration has waited
	{rule: "explicit dependencies add to automatic ones", body: `PTO2_SCOPE() { writer({}); L0TaskArgs o; o.add_inout(y); PTO2TaskId other = rt_submit_aiv_task(K, o).task_id(); reader({other}); }`, waits: "2<0,1"},
	{rule: "an id carries its ring: a producer of an outer scope", body: `PTO2TaskId a = writer({}); PTO2_SCOPE() { PTO2_SCOPE() { PTO2_SCOPE(PTO2ScopeMode::MANUAL) { reader({a}); } } }`, waits: "1<0"},
	{rule: "alloc_tensors takes outputs only", body: "L0TaskArgs a; a.add_input(x);\n alloc_tensors(a);", code: sim.CodeAlloc},
	{rule: "its id is a dependency like any other", body: `PTO2_SCOPE(PTO2ScopeMode::MANUAL) { uint32_t s[2] = {16, 16}; TensorCreateInfo ci(s, 2); auto alloc = alloc_tensors(ci);
		PTO2TaskId id = alloc.task_id(); always_assert(id.is_valid()); L0TaskArgs a; a.add_inout(alloc.get_ref(0)); a.set_dependencies(&id, 1); rt_submit_aiv_task(K, a); }`},
	{rule: "lookup is bypassed: a MANUAL reader does not see an AUTO writer", body: `writer({}); PTO2_SCOPE(PTO2ScopeMode::MANUAL) { reader({}); }`},
	{rule: "insert is bypassed: an AUTO reader does not see a MANUAL writer", body: `PTO2_SCOPE(PTO2ScopeMode::MANUAL) { writer({}); } reader({});`},
	{rule: "the rule is the submit's, not the tensor's: x is tracked outside", body: `PTO2_SCOPE(PTO2ScopeMode::MANUAL) { update({}); } writer({}); reader({});`, waits: "2<1"},
	{rule: "updaters that make no output thread the id of the one before", body: `PTO2_SCOPE(PTO2ScopeMode::MANUAL) { PTO2TaskId prev = PTO2TaskId::invalid();
		for (int i = 0; i < 3; i++) { L0TaskArgs up; up.add_inout(x); PTO2TaskId deps[1]; uint32_t n = 0; if (prev.is_valid()) deps[n++] = prev;
		up.set_dependencies(deps, n); prev = rt_submit_aiv_task(K, up).task_id(); } }`, waits: "1<0 2<0,1"},
}

func TestManualScopeRules(t *testing.T) {
	var b strings.Builder
	b.WriteString(`#include "pto_orchestration_api.h"
#include <initializer_list>
static int kernel = 0;
#define K kernel++  // every task runs a kernel of its own
PTO2OrchestrationConfig aicpu_orchestration_config(const L2TaskArgs&) { return {3}; }
`)
	for i, r := range manualRules {
		fmt.Fprintf(&b, `static void rule%d([[maybe_unused]] const Tensor& x, [[maybe_unused]] const Tensor& y) {
	using Ids = std::initializer_list<PTO2TaskId>;
	auto submit = [](auto add, Ids ids) { L0TaskArgs a; add(a); a.set_dependencies(ids.begin(), static_cast<uint32_t>(ids.size())); return rt_submit_aiv_task(K, a).task_id(); };
	[[maybe_unused]] auto writer = [&](Ids ids) { return submit([&](L0TaskArgs& a) { a.add_output(x); }, ids); };
	[[maybe_unused]] auto reader = [&](Ids ids) { return submit([&](L0TaskArgs& a) { a.add_input(x); }, ids); };
	[[maybe_unused]] auto update = [&](Ids ids) { return submit([&](L0TaskArgs& a) { a.add_inout(x); }, ids); };
	%s
}
`, i, r.body)
	}
	b.WriteString("void aicpu_orchestration_entry(const L2TaskArgs& args) {\n    const Tensor& x = args.tensor(0); const Tensor& y = args.tensor(1);\n    switch (args.scalar(0)) {\n")
	for i := range manualRules {
		fmt.Fprintf(&b, "    case %d: return rule%d(x, y);\n", i, i)
	}
	b.WriteString("    }\n}\n")
	base := engineFor(t, "manual.cpp", b.String())
	for i, r := range manualRules {
		for _, platform := range []string{"a2a3", "a5"} {
			t.Run(r.rule+" "+platform, func(t *testing.T) {
				t.Parallel()
				job := callsOnly(tiles(2), []uint64{uint64(i)}, "k0", "k1", "k2", "k3")
				// Only tasks take time, later ones less, so a task starts just when the last one that it waits for ends.
				job.Machine.Platform, job.Machine.Costs = platform, &sim.Costs{}
				job.Machine.Times = map[string]uint64{"k0": 8000, "k1": 4000, "k2": 2000, "k3": 1000}
				results, err := base.Run(context.Background(), job)
				d := soleReport(t, results, err)
				if d != nil || r.code != "" {
					if d == nil || d.Code != r.code || !d.Span.IsValid() {
						t.Errorf("reported %v, want %s", d, r.code)
					}
					return
				}
				if got := whoWaits(results[0].Trace.Events()); got != r.waits {
					t.Errorf("waits %q, want %q", got, r.waits)
				}
			})
		}
	}
}

// whoWaits lists per task the tasks that had ended when it started.
func whoWaits(events []trace.Event) string {
	var tasks []*trace.Retire
	for _, e := range events {
		if r, ok := e.(*trace.Retire); ok {
			tasks = append(tasks, r)
		}
	}
	slices.SortFunc(tasks, func(a, b *trace.Retire) int { return a.N - b.N })
	var out []string
	for _, a := range tasks {
		var before []string
		for _, b := range tasks {
			if b.N < a.N && b.Finish <= a.Start {
				before = append(before, fmt.Sprint(b.N))
			}
		}
		if len(before) > 0 {
			out = append(out, fmt.Sprintf("%d<%s", a.N, strings.Join(before, ",")))
		}
	}
	return strings.Join(out, " ")
}

// There is no way to add a dependency after the submit.
func TestNoPostSubmitDependency(t *testing.T) {
	tc, err := toolchain()
	if err != nil {
		t.Fatal(err)
	}
	_, err = tc.Compile(context.Background(), "o.cpp", []byte(`#include "pto_orchestration_api.h"
PTO2OrchestrationConfig aicpu_orchestration_config(const L2TaskArgs&) { return {0}; }
void aicpu_orchestration_entry(const L2TaskArgs&) {
	L0TaskArgs a;
	auto first = rt_submit_dummy_task(a), second = rt_submit_dummy_task(a);
	second.add_dependency(first.task_id());
}
`))
	if ds := diag.AsList(err, "none"); len(ds) == 0 || ds[0].Code != CodeCompile || ds[0].Span.Line != 6 || !strings.Contains(ds[0].Message, "add_dependency") {
		t.Errorf("%v", err)
	}
}

// 57: scalars of every C++ type arrive as their bits, and under the type they had.
func Test57Scalars(t *testing.T) {
	e := engineFor(t, "scalars.cpp", `#include "pto_orchestration_api.h"
PTO2OrchestrationConfig aicpu_orchestration_config(const ChipStorageTaskArgs&) { return {2}; }
enum class Colour : uint16_t { RED = 7 };
void aicpu_orchestration_entry(const ChipStorageTaskArgs& args) {
	always_assert(from_u64<int32_t>(to_u64(int32_t(-1))) == -1 && to_u64(int32_t(-1)) == 0x00000000FFFFFFFFull);
	always_assert(from_u64<float>(to_u64(1.5f)) == 1.5f && from_u64<double>(to_u64(-2.5)) == -2.5 && from_u64<bool>(to_u64(true)));
	always_assert(from_u64<uint8_t>(to_u64(uint8_t(200))) == 200 && from_u64<int16_t>(to_u64(int16_t(-300))) == -300 && from_u64<int64_t>(to_u64(int64_t(-1))) == -1);
	Arg a;
	a.add_scalar(int8_t(-1), int16_t(-2), int32_t(-3), int64_t(-4), uint8_t(200), uint16_t(60000), uint32_t(4000000000u), uint64_t(1) << 63);
	a.add_scalar(true, 1.5f, -2.5, Colour::RED, args.scalar(0));
	union { uint64_t u64; float val; } c;
	c.u64 = args.scalar(0);
	a.add_scalar(c.val, to_u64(int32_t(-1)));
	rt_submit_dummy_task(a);
}
`)
	results := runOK(t, e, callsOnly(tiles(1), []uint64{0x3f000000}))
	var got []string
	for _, s := range results[0].Trace.Events()[len(results[0].Trace.Events())-3].(*trace.Submit).Scalars {
		got = append(got, fmt.Sprintf("%s %#x", s.Type, s.Bits))
	}
	want := []string{"i8 0xff", "i16 0xfffe", "i32 0xfffffffd", "i64 0xfffffffffffffffc", "u8 0xc8", "u16 0xea60", "u32 0xee6b2800", "u64 0x8000000000000000",
		"b8 0x1", "f32 0x3fc00000", "f64 0xc004000000000000", "u16 0x7", "u64 0x3f000000", "f32 0x3f000000", "u64 0xffffffff"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// An access that takes the bits of one kind of number for another is a warning, once per place; bits that are meant as such are not.
func TestElementTypes(t *testing.T) {
	e := engineFor(t, "o.cpp", `#include "pto_orchestration_api.h"
void aicpu_orchestration_entry(const L2TaskArgs& args) {
    const Tensor& x = args.tensor(0);
    uint32_t i[2] = {1, 2}, shape[1] = {4};
    TensorCreateInfo ints(shape, 1, DataType::INT32), halves(shape, 1, DataType::FLOAT16);
    TaskOutputTensors made = alloc_tensors(ints, halves);
    const Tensor &n = made.get_ref(0), &h = made.get_ref(1);
    for (int k = 0; k < 2; ++k)
        set_tensor_data(x, 2, i, 1);
    get_tensor_data<double>(x, 2, i);
    set_tensor_data(n, 1, i, 1.0f);
    set_tensor_data(h, 1, i, 2.0f);
    set_tensor_data(x, 2, i, 1.0f); get_tensor_data(x, 2, i); get_tensor_data<uint32_t>(x, 2, i); set_tensor_data(x, 2, i, to_u64(2.0f));
    set_tensor_data(n, 1, i, 3); set_tensor_data(n, 1, i, int64_t{3}); set_tensor_data(n, 1, i, true); set_tensor_data(h, 1, i, half(1)); get_tensor_data<half>(h, 1, i);
    set_tensor_data<half>(h, 1, i, 1.5f);
    always_assert(get_tensor_data<half>(h, 1, i) == 1.5f);
}
`)
	ds := runOK(t, e, callsOnly(tiles(1), nil))[0].Diags
	var got []string
	for _, d := range ds {
		got = append(got, fmt.Sprint(d.Code, " ", d.Span.Line, " ", d.Message))
	}
	want := []string{"PTO-R115 9 an element of type fp32 is accessed as int32", "PTO-R115 10 an element of type fp32 is accessed as double",
		"PTO-R115 11 an element of type int32 is accessed as fp32", "PTO-R115 12 an element of type fp16 is accessed as fp32"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
