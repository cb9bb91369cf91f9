// d = (a + b + 1)(a + b + 2) + (a + b): created outputs and scalars, in the names of the second generation.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "pto_orchestration_api.h"

#define FUNC_AFFINE 0
#define FUNC_MUL 1

extern "C" {

__attribute__((visibility("default"))) PTO2OrchestrationConfig aicpu_orchestration_config(const L2TaskArgs& orch_args) {
    (void)orch_args;
    return PTO2OrchestrationConfig{
        .expected_arg_count = 4,
    };
}

__attribute__((visibility("default"))) void aicpu_orchestration_entry(const L2TaskArgs& orch_args) {
    const Tensor& ext_a = orch_args.tensor(0).ref();
    const Tensor& ext_b = orch_args.tensor(1).ref();
    const Tensor& ext_d = orch_args.tensor(2).ref();
    union {
        uint64_t u64;
        float val;
    } one;
    one.u64 = orch_args.scalar(0);

    uint32_t shapes[2] = {ext_a.shapes[0], ext_a.shapes[1]};
    TensorCreateInfo ci(shapes, 2, DataType::FLOAT32);

    L0TaskArgs params_c;
    params_c.add_input(ext_a, ext_b);
    params_c.add_output(ci);
    params_c.add_scalar(1.0f, 1.0f, 0.0f);
    TaskOutputTensors outs_c = rt_submit_aiv_task(FUNC_AFFINE, params_c);
    const Tensor& c = outs_c.get_ref(0);

    PTO2_SCOPE() {
        TaskOutputTensors sums[2];
        for (int i = 0; i < 2; i++) {
            L0TaskArgs params;
            params.add_input(c, c);
            params.add_output(ci);
            params.add_scalar(1.0f, 0.0f, one.val * static_cast<float>(i + 1));
            sums[i] = rt_submit_aiv_task(FUNC_AFFINE, params);
        }
        L0TaskArgs params_g;
        params_g.add_input(sums[0].get_ref(0), sums[1].get_ref(0));
        params_g.add_output(ci);
        TaskOutputTensors g = rt_submit_aiv_task(FUNC_MUL, params_g);

        L0TaskArgs params_d;
        params_d.add_input(g.get_ref(0));
        params_d.add_input(c);
        params_d.add_output(ext_d);
        params_d.add_scalar(1.0f, 1.0f, 0.0f);
        rt_submit_aiv_task(FUNC_AFFINE, params_d);
        LOG_INFO("submitted %d tasks into %u buffers", 5, g.size());
    }
}

}
