// The other fragments of mission document 000, each given a body: scalar encoding, groups, loops, branches, dynamic dims, tensor operations,
// dependency arrays and the manual-scope skeleton (case1).
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "pto_orchestration_api.h"

extern "C" {

PTO2OrchestrationConfig aicpu_orchestration_config(const ChipStorageTaskArgs& orch_args) {
    (void)orch_args;
    return PTO2OrchestrationConfig{ .expected_arg_count = 3 };
}

constexpr int64_t N_PHASES = 2;
constexpr int64_t N_BRANCHES = 3;

void aicpu_orchestration_entry(const ChipStorageTaskArgs& orch_args) {
    Tensor ext_a = from_tensor_arg(orch_args.tensor(0));
    Tensor ext_output = from_tensor_arg(orch_args.tensor(1));
    union { uint64_t u64; float val; } scale_conv;
    scale_conv.u64 = orch_args.scalar(0);
    float scale = scale_conv.val;
    int64_t M = (int64_t)orch_args.tensor(0).ref().shapes[0];
    int64_t start = 0, stop = 2, step = 1;

    PTO2_SCOPE() {
        uint32_t tmp_ci_shapes[2] = {16, 16};
        TensorCreateInfo tmp_ci(tmp_ci_shapes, 2, DataType::FLOAT32);
        TaskOutputTensors alloc_0 = alloc_tensors(tmp_ci);
        const Tensor& tmp = alloc_0.get_ref(0);
        Arg params_t0;
        params_t0.add_input(ext_a);
        params_t0.add_output(tmp);               // pre-allocated tensor uses add_output(const Tensor&)
        params_t0.add_scalar(to_u64(scale));     // scalar after all tensors
        rt_submit_aiv_task(0, params_t0);
        for (int64_t i = start; i < stop; i += step) {
            Arg params_t1;
            params_t1.add_input(tmp);
            params_t1.add_inout(ext_output);
            rt_submit_aic_task(1, params_t1);
        }
        if (M > 3) {
            PTO2_SCOPE() {
                Arg params_t2;
                params_t2.add_inout(ext_output);
                MixedKernels mixed_2 = {1, 0, INVALID_KERNEL_ID};
                rt_submit_task(mixed_2, params_t2);
            }
        } else {
            PTO2_SCOPE() {
                Tensor xt = ext_a.transpose(0, 1);
                Arg params_t3;
                params_t3.add_input(xt);
                params_t3.add_inout(ext_output);
                rt_submit_aiv_task(0, params_t3);
            }
        }
    }

    PTO2_SCOPE(PTO2ScopeMode::MANUAL) {
        PTO2TaskId out__rv_v2__tid[N_BRANCHES];                    // outer rv = array
        for (int64_t i = 0; i < N_BRANCHES; ++i)
            out__rv_v2__tid[i] = PTO2TaskId::invalid();            // broadcast None seed
        for (int64_t phase = 0; phase < N_PHASES; phase += 1) {
            PTO2TaskId out__rv_v4__tid[N_BRANCHES];                // inner rv = array
            for (int64_t i = 0; i < N_BRANCHES; ++i)
                out__rv_v4__tid[i] = out__rv_v2__tid[i];           // copy slot-by-slot
            for (int64_t branch = 0; branch < N_BRANCHES; branch += 1) {
                int64_t row = (phase * N_BRANCHES + branch) * 4;
                Arg params_t0;
                params_t0.add_inout(ext_output);
                params_t0.add_scalar(row);
                PTO2TaskId params_t0_deps[N_BRANCHES];             // sized to array-carry N
                uint32_t params_t0_deps_count = 0;
                for (int64_t k = 0; k < N_BRANCHES; ++k) {         // multi-deps fanout
                    if (out__rv_v2__tid[k].is_valid())
                        params_t0_deps[params_t0_deps_count++] = out__rv_v2__tid[k];
                }
                params_t0.set_dependencies(params_t0_deps, params_t0_deps_count);
                TaskOutputTensors task_0_outs = rt_submit_aiv_task(0, params_t0);
                PTO2TaskId out__ssa_v5__tid = task_0_outs.task_id();
                out__rv_v4__tid[branch] = out__ssa_v5__tid;        // slot yield
            }
            for (int64_t i = 0; i < N_BRANCHES; ++i)
                out__rv_v2__tid[i] = out__rv_v4__tid[i];           // outer yield (copy)
        }
        Arg params_t1;
        params_t1.add_inout(ext_output);
        PTO2TaskId carry = out__rv_v2__tid[0];
        PTO2TaskId params_t1_deps[1];          // K = exact dep-edge count
        uint32_t params_t1_deps_count = 0;
        if (carry.is_valid()) params_t1_deps[params_t1_deps_count++] = carry;  // loop carry — may be invalid
        params_t1.set_dependencies(params_t1_deps, params_t1_deps_count);
        rt_submit_aiv_task(0, params_t1);
    }
}

}  // extern "C"
