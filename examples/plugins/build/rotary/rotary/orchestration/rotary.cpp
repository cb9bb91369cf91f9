// Orchestration Function: rotary
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "pto_orchestration_api.h"

extern "C" {

PTO2OrchestrationConfig aicpu_orchestration_config(const ChipStorageTaskArgs& orch_args) {
    (void)orch_args;
    return PTO2OrchestrationConfig{ .expected_arg_count = 4 };
}

void aicpu_orchestration_entry(const ChipStorageTaskArgs& orch_args) {
    // External tensors (from ChipStorageTaskArgs)
    Tensor ext_x = from_tensor_arg(orch_args.tensor(0));
    Tensor ext_table = from_tensor_arg(orch_args.tensor(1));
    Tensor ext_out = from_tensor_arg(orch_args.tensor(2));

    // Scalar params
    union { uint64_t u64; int64_t val; } start_conv;
    start_conv.u64 = orch_args.scalar(0);
    int64_t start = start_conv.val;

    PTO2_SCOPE() {
        for (int64_t i = 0; i < 4; i += 1) {
            PTO2_SCOPE() {
                uint32_t angles_offset[2] = {static_cast<uint32_t>((start + (i * 16))), 0};
                uint32_t angles_shape[2] = {16, 64};
                Tensor angles = ext_table.view(angles_shape, angles_offset);
                int64_t params_t0_row = (i * 16);

                // Task 0: rotate
                Arg params_t0;
                params_t0.add_input(ext_x);
                params_t0.add_input(angles);
                params_t0.add_inout(ext_out);
                params_t0.add_scalar(params_t0_row);
                rt_submit_aiv_task(0, params_t0);
            }
        }
    }
}

}  // extern "C"
