// Phases of parallel tasks with an array of task ids carried from phase to phase, through a builder that is used again and again.
#include <algorithm>
#include <vector>

#include "pto_orchestration_api.h"

extern "C" {

PTO2OrchestrationConfig aicpu_orchestration_config(const L2TaskArgs&) { return {2}; }

void aicpu_orchestration_entry(const L2TaskArgs& orch_args) {
    const Tensor& data = orch_args.tensor(0).ref();  // [16, 16]
    const int64_t phases = from_u64<int64_t>(orch_args.scalar(0));
    constexpr int LANES = 4;
    PTO2TaskId done[LANES];
    for (int i = 0; i < LANES; ++i) done[i] = PTO2TaskId::invalid();
    PTO2_SCOPE(PTO2ScopeMode::MANUAL) {
        L0TaskArgs args;
        for (int64_t p = 0; p < phases; ++p) {
            std::vector<PTO2TaskId> deps;
            for (PTO2TaskId id : done)
                if (id.is_valid()) deps.push_back(id);
            deps.insert(deps.end(), deps.begin(), deps.end());  // twice is once
            PTO2TaskId next[LANES];
            for (int i = 0; i < LANES; ++i) {
                // Each lane reads the rows of its neighbour, which the phase before has finished.
                uint32_t shape[2] = {4, 16}, mine[2] = {static_cast<uint32_t>(4 * i), 0};
                Tensor to = data.view(shape, mine);
                args.clear();
                args.add_input(to, to);
                args.add_inout(to);
                args.add_scalar(1.0f, 1.0f, static_cast<float>(i));
                args.set_dependencies(deps.data(), static_cast<uint32_t>(deps.size()));
                next[i] = rt_submit_aiv_task(0, args).task_id();
            }
            std::copy(next, next + LANES, done);
        }
    }
    TaskOutputTensors none;
    if (!none.empty() || none.task_id().is_valid() || done[0] == done[1]) LOG_ERROR("odd ids");
}

}
