// The form of the first programs: an array of addresses and numbers, the runtime as first argument, tensors whose first writer makes them. y = 4 · x row by row,
// and the first row twice that.
#include "pto_orchestration_api.h"

extern "C" {

PTO2OrchestrationConfig aicpu_orchestration_config(uint64_t* args, int arg_count) {
    (void)args;
    (void)arg_count;
    return PTO2OrchestrationConfig{.expected_arg_count = 3};
}

void aicpu_orchestration_entry(PTO2Runtime* rt, uint64_t* args, int arg_count) {
    const int rows = static_cast<int>(args[arg_count - 1]);
    uint32_t shape[2] = {static_cast<uint32_t>(rows), 16}, row[2] = {1, 16};
    Tensor x = make_tensor_external(reinterpret_cast<void*>(args[0]), shape, 2, DataType::FLOAT32);
    Tensor y = make_tensor_external((void*)(uintptr_t)args[1], shape, 2);
    PTO2_SCOPE(rt) {
        PTO2_PARALLEL_FOR(i, rows) {
            uint32_t at[2] = {static_cast<uint32_t>(i), 0};
            Tensor from = x.view(row, at), to = y.view(row, at), twice = make_tensor(row, 2, DataType::FLOAT32);
            PTOParam first;
            first.add_input(from, from);
            first.add_output(twice);
            first.add_scalar(1.0f, 1.0f, 0.0f);
            pto2_rt_submit_aiv_task(rt, 0, first);
            PTOParam second;
            second.add_input(twice, twice);
            second.add_output(to);
            second.add_scalar(1.0f, 1.0f, 0.0f);
            pto2_rt_submit_task(rt, MixedKernels{INVALID_KERNEL_ID, 0, INVALID_KERNEL_ID}, second);
        }
    }
    pto2_rt_scope_begin(rt);
    PTO2_PARALLEL_FOR(i, 0, 4, 2) {
        if (i == 2) break;
        PTO2_SCOPE_GUARD(rt);
        uint32_t at[2] = {0, 0};
        Tensor to = y.view(row, at);
        Arg again;
        again.add_input(to, to);
        again.add_inout(to);
        again.add_scalar(1.0f, 1.0f, 0.0f);
        pto2_rt_submit_aiv_task(rt, 0, again);
    }
    pto2_rt_scope_end(rt);
}

}
