// Every comparison of a dispatch predicate, on signed integers of every width, taken and not taken; barriers between them.
#include "orchestration_api.h"

extern "C" {

OrchestrationConfig aicpu_orchestration_config(const ChipTaskArgs&) { return OrchestrationConfig{.expected_arg_count = 2}; }

void aicpu_orchestration_entry(const ChipTaskArgs& orch_args) {
    const simpler::tmr::Tensor& x = orch_args.tensor(0).ref();    // [16, 16]
    const simpler::tmr::Tensor& out = orch_args.tensor(1).ref();  // [24, 16]: a row for each gate
    const DataType types[4] = {DataType::INT8, DataType::INT16, DataType::INT32, DataType::INT64};
    const PredicateOp ops[6] = {PredicateOp::EQ, PredicateOp::NE, PredicateOp::GT, PredicateOp::LT, PredicateOp::GE, PredicateOp::LE};
    uint32_t one[1] = {1}, row_shape[2] = {1, 16};
    TaskId before = TaskId::invalid();
    SIMPLER_SCOPE(ScopeMode::AUTO) {
        for (uint32_t k = 0; k < 4; ++k) {
            TensorCreateInfo ci(one, 1, types[k]);
            ci.set_initial_value(static_cast<int64_t>(-2));
            TaskOutputTensors made = alloc_tensors(ci);
            for (uint32_t o = 0; o < 6; ++o) {
                uint32_t offset[2] = {k * 6 + o, 0};
                auto row = out.view(row_shape, offset);
                uint32_t first[2] = {0, 0};
                auto from = x.view(row_shape, first);
                CoreTaskPredicate gate;
                gate.operand.tensor = &made.get_ref(0);
                gate.operand.ndims = 1;
                gate.operand.indices[0] = 0;
                gate.op = ops[o];
                gate.target = -2 + static_cast<int64_t>(k % 2);
                CoreTaskArgs args;
                args.add_input(from, from);
                args.add_inout(row);
                args.add_scalar(1.0f, 0.0f, static_cast<float>(10 * k + o));
                args.set_predicate(gate);
                TaskId deps[2] = {made.task_id(), before};
                args.set_dependencies(deps, before.is_valid() ? 2 : 1);
                rt_submit_aiv_task(0, args);
            }
            CoreTaskArgs barrier;
            barrier.add_no_dep(out);
            before = rt_submit_dummy_task(barrier).task_id();
        }
    }
}

}
