// Blocks of a cache in the order of a table that the orchestration reads, in a MANUAL scope with explicit dependencies: out = Σ x[table[i]] in pairs.
#include "pto_orchestration_api.h"

extern "C" {

PTO2OrchestrationConfig aicpu_orchestration_config(const L2TaskArgs&) { return PTO2OrchestrationConfig{.expected_arg_count = 4}; }

void aicpu_orchestration_entry(const L2TaskArgs& orch_args) {
    const Tensor& cache = orch_args.tensor(0).ref();   // [blocks · 4, 8]
    const Tensor& table = orch_args.tensor(1).ref();   // [n] INT32
    const Tensor& out = orch_args.tensor(2).ref();     // [4, 8]
    const uint32_t n = from_u64<uint32_t>(orch_args.scalar(0));
    const uint64_t block_bytes = 4 * 8 * sizeof(float);
    uint32_t shape[2] = {4, 8};

    PTO2_SCOPE() {
        TensorCreateInfo part_ci(shape, 2, DataType::FLOAT32);
        part_ci.set_initial_value(0);
        TensorCreateInfo infos[2] = {part_ci, part_ci};
        TaskOutputTensors parts = alloc_tensors(infos, 2);
        PTO2TaskId last[2] = {PTO2TaskId::invalid(), PTO2TaskId::invalid()};
        PTO2_SCOPE(PTO2ScopeMode::MANUAL) {
            for (uint32_t i = 0; i < n; ++i) {
                uint32_t idx[1] = {i};
                const int32_t block = get_tensor_data<int32_t>(table, 1, idx);
                if (block < 0) continue;
                Tensor page = make_tensor_external(cache.data_as<uint8_t>() + static_cast<uint64_t>(block) * block_bytes, shape, 2, DataType::FLOAT32);
                const Tensor& part = parts.get_ref(i % 2);
                L0TaskArgsWithDeps<4> add;
                add.add_input(page, part);
                add.add_inout(part);
                add.add_scalar(1.0f, 1.0f, 0.0f);
                add.add_dep(parts.task_id());
                if (last[i % 2].is_valid()) add.add_dep(last[i % 2]);
                last[i % 2] = rt_submit_aiv_task(0, add).task_id();
            }
            L0TaskArgs join;
            join.add_input(parts.get_ref(0), parts.get_ref(1));
            join.add_output(out);
            join.add_scalar(1.0f, 1.0f, 0.0f);
            PTO2TaskId deps[2];
            uint32_t count = 0;
            for (int i = 0; i < 2; ++i)
                if (last[i].is_valid()) deps[count++] = last[i];
            join.set_dependencies(deps, count);
            join.set_allow_early_resolve();
            join.set_task_timing_slot(2);
            rt_submit_aiv_task(0, join);
        }
    }
}

}
