// A hand-written orchestration: y = 2^steps · x + steps · bias, tile by tile, through buffers that the runtime makes.
#include "pto_orchestration_api.h"

extern "C" {

PTO2OrchestrationConfig aicpu_orchestration_config(const ChipTaskArgs& orch_args) {
    (void)orch_args;
    return PTO2OrchestrationConfig{.expected_arg_count = 4};
}

void aicpu_orchestration_entry(const ChipTaskArgs& orch_args) {
    const Tensor& x = orch_args.tensor(0).ref();
    const Tensor& bias = orch_args.tensor(1).ref();
    const Tensor& y = orch_args.tensor(2).ref();
    const int32_t steps = from_u64<int32_t>(orch_args.scalar(0));
    const uint32_t tile = 16, cols = x.shapes[1];

    PTO2_SCOPE() {
        std::vector<PTO2TaskId> written;
        for (uint32_t row = 0; row < x.shapes[0]; row += tile) {
            uint32_t shape[2] = {std::min<uint32_t>(tile, x.shapes[0] - row), cols}, offset[2] = {row, 0};
            Tensor from = x.view(shape, offset);
            for (int32_t i = 0; i < steps; ++i) {  // from = 2 · from
                TensorCreateInfo twice_ci(shape, 2);
                CoreTaskArgs args;
                args.add_input(from, from);
                args.add_output(twice_ci);
                args.add_scalar(1.0f);
                TaskOutputTensors outs = rt_submit_aiv_task(0, args);
                from = outs.get_ref(0);
            }
            Tensor to = y.view(shape, offset), b = bias.view(shape, offset);
            CoreTaskArgs args;
            args.add_input(from, b);
            args.add_output(to);
            args.add_scalar(static_cast<float>(steps));
            written.push_back(rt_submit_aiv_task(0, args).task_id());
        }
        CoreTaskArgs barrier;
        barrier.set_dependencies(written.data(), static_cast<uint32_t>(written.size()));
        rt_submit_dummy_task(barrier);
    }
}

}
