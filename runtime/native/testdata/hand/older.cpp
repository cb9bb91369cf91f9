// The oldest names: y = 4 · x, through dependencies that are added one by one.
#include "pto_orchestration_api.h"

extern "C" PTO2OrchestrationConfig aicpu_orchestration_config(const ChipStorageTaskArgs&) { return {2}; }

extern "C" void aicpu_orchestration_entry(const ChipStorageTaskArgs& args) {
    ContinuousTensor x = from_tensor_arg(args.tensor(0), /*manual_dep=*/true), y = from_tensor_arg(args.tensor(1), true, 0);
    LOG_ALWAYS("%u dims of at most %u", x.ndims, RUNTIME_MAX_TENSOR_DIMS);
    pto2_rt_scope_begin();
    Arg first;
    first.add_input(x, x);
    first.add_output(y);
    first.add_scalar(1.0f, 1.0f, 0.0f);
    TaskSubmitResult one = pto2_rt_submit_aiv_task(0, first);
    Arg barrier;
    barrier.add_dep(one.task_id());
    TaskSubmitResult two = pto2_rt_submit_dummy_task(barrier);
    ArgWithDeps<2> second;
    second.add_input(y, y);
    second.add_inout(y);
    second.add_scalar(1.0f, 1.0f, 0.0f);
    second.add_dep(one.task_id(), two.task_id());
    MixedKernels kernels;
    kernels.aiv0_kernel_id = 0;
    pto2_rt_submit_task(kernels, second);
    pto2_rt_scope_end();
    debug_assert(current_runtime() != nullptr && !rt_is_fatal() && CHIP_TASK_WINDOW_SIZE > 0);
    rt_orchestration_done();
}
