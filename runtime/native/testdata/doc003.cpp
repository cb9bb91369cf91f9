// The code of mission document 003, given a body: manual scopes, explicit dependencies, allocation ids, repeated updaters.
#include "pto_orchestration_api.h"

extern "C" {

PTO2OrchestrationConfig aicpu_orchestration_config(const L2TaskArgs& orch_args) {
    (void)orch_args;
    return PTO2OrchestrationConfig{
        .expected_arg_count = 4,
    };
}

enum { FUNC_QK, FUNC_SF, FUNC_PV, FUNC_UP };

void aicpu_orchestration_entry(const L2TaskArgs& orch_args) {
    const Tensor& qi = orch_args.tensor(0).ref();
    const Tensor& kj = orch_args.tensor(1).ref();
    const Tensor& mi = orch_args.tensor(2).ref();
    const Tensor& li = orch_args.tensor(3).ref();
    uint32_t shape[2] = {16, 16};
    TensorCreateInfo tmp_ci(shape, 2), sij_ci(shape, 2), pij_ci(shape, 2), li_ci(shape, 2), mi_ci(shape, 2), pv_ci(shape, 2);

    PTO2_SCOPE(PTO2ScopeMode::MANUAL) {
        auto alloc = alloc_tensors(tmp_ci, pv_ci);
        const Tensor &tmp = alloc.get_ref(0);
        const Tensor &out_view = alloc.get_ref(1);

        L0TaskArgs qk;
        qk.add_input(qi, kj);
        qk.add_output(sij_ci);
        PTO2TaskId qk_deps[] = {alloc.task_id()};
        qk.set_dependencies(qk_deps, 1);
        auto qk_out = rt_submit_aic_task(FUNC_QK, qk);

        L0TaskArgs sf;
        sf.add_input(qk_out.get_ref(0));
        sf.add_output(pij_ci, li_ci, mi_ci);
        PTO2TaskId sf_deps[] = {qk_out.task_id()};
        sf.set_dependencies(sf_deps, 1);
        auto sf_out = rt_submit_aiv_task(FUNC_SF, sf);

        L0TaskArgs pv;
        pv.add_input(sf_out.get_ref(0));
        pv.add_output(pv_ci);
        PTO2TaskId pv_deps[] = {sf_out.task_id()};
        pv.set_dependencies(pv_deps, 1);
        auto pv_out = rt_submit_aic_task(FUNC_PV, pv);

        PTO2TaskId prev_update = PTO2TaskId::invalid();
        for (int i = 0; i < 3; ++i) {
            L0TaskArgs up;
            up.add_input(sf_out.get_ref(1), sf_out.get_ref(2), pv_out.get_ref(0));
            up.add_inout(mi, li, out_view, tmp);
            PTO2TaskId up_deps[3];
            uint32_t up_dep_count = 0;
            up_deps[up_dep_count++] = sf_out.task_id();
            up_deps[up_dep_count++] = pv_out.task_id();
            if (prev_update.is_valid()) {
                up_deps[up_dep_count++] = prev_update;
            }
            up.set_dependencies(up_deps, up_dep_count);
            prev_update = rt_submit_aiv_task(FUNC_UP, up).task_id();
        }
    }
}

}
