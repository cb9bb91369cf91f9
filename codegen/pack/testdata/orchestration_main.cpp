// Orchestration Function: main
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "pto_orchestration_api.h"

extern "C" {

PTO2OrchestrationConfig aicpu_orchestration_config(const ChipStorageTaskArgs& orch_args) {
    (void)orch_args;
    return PTO2OrchestrationConfig{ .expected_arg_count = 3 };
}

void aicpu_orchestration_entry(const ChipStorageTaskArgs& orch_args) {
    // External tensors (from ChipStorageTaskArgs)
    Tensor ext_x = from_tensor_arg(orch_args.tensor(0));
    Tensor ext_s = from_tensor_arg(orch_args.tensor(1));
    Tensor ext_y = from_tensor_arg(orch_args.tensor(2));


    // Task 0: k
    Arg params_t0;
    rt_submit_aiv_task(0, params_t0);
    PTO2_SCOPE() {

        // Phase-fence barrier 0: dependency-only dummy task
        Arg params_phase_fence_barrier_0;
        TaskOutputTensors phase_fence_barrier_0_outs = rt_submit_dummy_task(params_phase_fence_barrier_0);
        PTO2TaskId b = phase_fence_barrier_0_outs.task_id();

        // Group mix
        Arg params_t1;
        MixedKernels mixed_1 = {1, 0, 0};
        rt_submit_task(mixed_1, params_t1);
    }
}

}  // extern "C"
