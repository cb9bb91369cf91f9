// Mixed tasks with one, two and three lanes, and SPMD tasks sized by the machine, in waves and at once.
#include "pto_orchestration_api.h"

extern "C" {

PTO2OrchestrationConfig aicpu_orchestration_config(const L2TaskArgs&) { return {1}; }

void aicpu_orchestration_entry(const L2TaskArgs& orch_args) {
    const Tensor& out = orch_args.tensor(0).ref();  // [64, 4]
    const int32_t clusters = rt_available_cluster_count(), vectors = rt_available_aiv_count();
    if (clusters <= 0 || vectors != 2 * clusters) {
        rt_report_fatal(PTO2_ERROR_EXPLICIT_ORCH_FATAL, "%d clusters with %d vector cores", clusters, vectors);
        return;
    }
    struct {
        MixedKernels kernels;
        int32_t blocks;
        bool together;
    } const tasks[] = {
        {{0, 1, 1}, clusters, true},
        {{0, 1, INVALID_KERNEL_ID}, 2 * clusters, false},
        {{INVALID_KERNEL_ID, INVALID_KERNEL_ID, 1}, 4, false},
        {{INVALID_KERNEL_ID, 1}, vectors, true},
    };
    uint32_t row = 0;
    for (const auto& t : tasks) {
        uint32_t shape[2] = {static_cast<uint32_t>(t.blocks), 4}, offset[2] = {row, 0};
        row += shape[0];
        Tensor rows = out.view(shape, offset);
        L0TaskArgs args;
        args.add_inout(rows);
        args.add_scalar(1000.0f * static_cast<float>(&t - tasks));
        args.launch_spec.set_block_num(static_cast<int16_t>(t.blocks));
        args.launch_spec.set_require_sync_start(t.together);
        rt_submit_task(t.kernels, args);
    }
}

}
