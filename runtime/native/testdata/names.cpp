// Every naming generation of the API in one file (spec runtime.md 1.1), and the parts that only hand-written code uses.
#include "orchestration_api.h"

extern "C" {

OrchestrationConfig aicpu_orchestration_config(const ChipTaskArgs& orch_args) {
    return OrchestrationConfig{ .expected_arg_count = static_cast<int32_t>(orch_args.tensor_count() + orch_args.scalar_count()) };
}

void aicpu_orchestration_entry(const ChipTaskArgs& orch_args) {
    const ChipTensor& x = orch_args.tensor(0).ref();
    const simpler::tmr::Tensor& y = orch_args.tensor(1).ref();
    int64_t n = from_u64<int64_t>(orch_args.scalar(0));
    uint32_t shape[2] = {16, 16};
    SIMPLER_SCOPE() {
        PTO2_SCOPE_GUARD();
        TensorCreateInfo many[2] = {TensorCreateInfo(shape, 2), TensorCreateInfo(shape, 2, DataType::BFLOAT16, /*manual_dep=*/true)};
        many[1].set_initial_value(0);
        TaskOutputTensors allocated = alloc_tensors(many, 2);
        const Tensor& t = allocated.get_ref(0);
        CoreTaskArgs a;
        a.add_input(x);
        a.add_output(t);
        a.add_no_dep(y);
        a.add_scalar(n, 1.5f, true, static_cast<int8_t>(-1));
        a.dump(x, t);
        a.launch_spec.set_core_num(2);
        a.launch_spec.set_require_sync_start(true);
        a.set_allow_early_resolve(true);
        a.set_task_timing_slot(5);
        TaskSubmitResult first = rt_submit_aiv_task(0, a);

        CoreTaskPredicate p;
        p.operand.tensor = &t;
        p.operand.ndims = 2;
        p.operand.indices[0] = 0;
        p.operand.indices[1] = 0;
        p.op = PredicateOp::GE;
        p.target = -3;
        L0TaskPredicate q = p;
        always_assert(a.tensor(0).ref().ndims == a.tensor(0).ndims);
        CoreTaskArgsWithDeps b;
        b.add_input(t);
        b.add_inout(y);
        b.add_dep(first.task_id());
        b.set_predicate(q);
        b.set_task_timing_slot(-1);
        rt_submit_aiv_task(0, b);

        Arg barrier;
        TaskId ids[1] = {first.task_id()};
        barrier.set_dependencies(ids, 1);
        TaskId done = TaskId::invalid();
        done = simpler::tmr::rt_submit_dummy_task(barrier).task_id();
        if (done == first.task_id() || done.is_invalid()) { LOG_ERROR("the barrier has id %llu", static_cast<unsigned long long>(done.raw)); }
    }
    SIMPLER_SCOPE(ScopeMode::MANUAL) {
        uint32_t off[2] = {0, 8}, half_shape[2] = {16, 8}, flat[1] = {256}, order[2] = {1, 0};
        Tensor v = x.view(half_shape, off);
        Tensor r = x.reshape(flat, 1);
        Tensor w = x.permute(order).transpose(0, 1).slice(1, 0, 16, 2);
        Tensor e = make_tensor_external(v.data_as<float>(), shape, 2, DataType::FLOAT32, true);
        std::vector<PTO2TaskId> ids;
        ids.push_back(TaskId::make(0, 0));
        std::string text = e.dump() + w.dump();
        uint32_t idx[1] = {3};
        float before = get_tensor_data<float>(r, 1, idx);
        set_tensor_data<float>(r, 1, idx, std::max<float>(before, 2.0f));
        always_assert(text.size() > ids.size());
        half h = static_cast<half>(before);
        bfloat16_t bf = static_cast<bfloat16_t>(static_cast<float>(h));
        always_assert(static_cast<float>(bf) <= before + 1.0f);
        always_assert(rt_available_cluster_count() > 0 && rt_available_aiv_count() > 0 && !rt_is_fatal());
    }
}

}
