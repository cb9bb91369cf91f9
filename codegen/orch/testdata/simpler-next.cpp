// Orchestration Function: every
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <vector>
#include <cmath>

#include "orchestration_api.h"

template <typename T>
static inline T pto_floor_div(T a, T b) {
    T q = a / b;
    return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

template <typename T>
static inline T pto_floor_mod(T a, T b) {
    T r = a % b;
    return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;
}

template <typename T>
static inline T pto_pow(T base, T exponent) {
    T r = 1;
    for (; exponent > 0; --exponent) r *= base;
    return r;
}

template <typename T>
static inline T pto_abs(T x) {
    return x < 0 ? -x : x;
}

extern "C" {

__attribute__((visibility("default")))
OrchestrationConfig aicpu_orchestration_config(const ChipTaskArgs& orch_args) {
    (void)orch_args;
    return OrchestrationConfig{
        .expected_arg_count = 6,
    };
}

__attribute__((visibility("default")))
void aicpu_orchestration_entry(const ChipTaskArgs& orch_args) {
    // External tensors
    const ChipTensor& ext_x = orch_args.tensor(0).ref();

    // Scalar params
    int64_t n = from_u64<int64_t>(orch_args.scalar(0));
    float s = from_u64<float>(orch_args.scalar(1));
    bool flag = from_u64<bool>(orch_args.scalar(2));
    half hs = from_u64<half>(orch_args.scalar(3));
    uint64_t ctx = orch_args.scalar(4);

    // Dynamic-dim symbols (extent of the declaring argument)
    int64_t M = (int64_t)orch_args.tensor(0).ref().shapes[1];

    SIMPLER_SCOPE() {
        int64_t e0 = (n + (M * -3));
        int64_t e1 = pto_floor_div<int64_t>((n - 7), 3);
        int64_t e2 = pto_floor_mod<int64_t>(n, 3);
        int64_t e3 = (M / 3);
        int64_t e4 = std::min<int64_t>(n, 4);
        int64_t e5 = std::max<int64_t>(n, 1099511627776LL);
        int64_t e6 = pto_pow<int64_t>(n, 2);
        int64_t e7 = pto_abs<int64_t>(n);
        int64_t e8 = (-(~n));
        int64_t e9 = ((n & 255) << (1 | (2 ^ (n >> 2))));
        int64_t e10 = (-9223372036854775807LL - 1);
        int64_t e11 = (int64_t)ext_x.shapes[1];
        int64_t e12 = (int64_t)orch_args.tensor(0).ref().shapes[1];
        float f0 = (static_cast<float>(n) / 1e-08f);
        float f1 = std::floor(s / 3.0f);
        float f2 = (s - std::floor(s / -0.5f) * -0.5f);
        double f3 = static_cast<double>(std::pow(2.0, -__builtin_inf()));
        half f4 = static_cast<half>(0.1f);
        bool b0 = ((n < 4) && ((!flag) || 1));
        bool b1 = ((n != 4) != 0);
        int32_t q0 = rt_available_cluster_count();
        int32_t q1 = rt_available_aiv_count();
        uint32_t v_offsets[2] = {static_cast<uint32_t>(n), 0};
        uint32_t v_shapes[2] = {(v_offsets[0] >= ext_x.shapes[0] ? 0u : std::min<uint32_t>(8, ext_x.shapes[0] - v_offsets[0])), (v_offsets[1] >= ext_x.shapes[1] ? 0u : std::min<uint32_t>(static_cast<uint32_t>(M), ext_x.shapes[1] - v_offsets[1]))};
        ChipTensor v = ext_x.view(v_shapes, v_offsets);
        uint32_t r_shapes[1] = {256};
        ChipTensor r = ext_x.reshape(r_shapes, 1);
        ChipTensor w = v.transpose(0, 1);
        uint32_t indices_g[2] = {0, static_cast<uint32_t>(n)};
        int32_t g = get_tensor_data<int32_t>(ext_x, 2, indices_g);
        float h = get_tensor_data<float>(ext_x, 0, nullptr);
        {
            uint32_t indices_x[2] = {1, 2};
            set_tensor_data<float>(ext_x, 2, indices_x, 1.0f);
        }
        set_tensor_data<int32_t>(ext_x, 0, nullptr, g);
        TaskId ids[3]; for (int64_t __init_i = 0; __init_i < 3; ++__init_i) ids[__init_i] = TaskId::invalid();
        TaskId kept[3];
        for (int64_t __yield_i = 0; __yield_i < 3; ++__yield_i) kept[__yield_i] = ids[__yield_i];
        int32_t counts[2] = {0};
        counts[1] = 5;
        TaskId id0 = ids[0];
        bool ok = id0.is_valid();
        uint32_t a_ci_shapes[2] = {16, static_cast<uint32_t>(M)};
        TensorCreateInfo a_ci(a_ci_shapes, 2, DataType::FLOAT32);
        uint32_t b_ci_shapes[1] = {4};
        TensorCreateInfo b_ci(b_ci_shapes, 1, DataType::BFLOAT16, /*manual_dep=*/true);
        TaskOutputTensors alloc_0 = alloc_tensors(a_ci, b_ci);
        const ChipTensor& a = alloc_0.get_ref(0);
        const ChipTensor& b = alloc_0.get_ref(1);
        uint32_t params_t0_synth_out_1_shapes[1] = {16};
        TensorCreateInfo params_t0_synth_out_1(params_t0_synth_out_1_shapes, 1, DataType::INT8);

        // Task 0: k
        CoreTaskArgs params_t0;
        params_t0.add_input(ext_x);
        params_t0.add_output(params_t0_synth_out_1);
        params_t0.add_output(a);
        params_t0.add_inout(b);
        params_t0.add_no_dep(w);
        params_t0.add_scalar(n);
        params_t0.add_scalar((uint64_t)7);
        params_t0.add_scalar((uint64_t)static_cast<int32_t>(7));
        params_t0.add_scalar((uint64_t)1);
        params_t0.add_scalar(to_u64(s));
        params_t0.add_scalar(to_u64(1.0f));
        params_t0.add_scalar(to_u64(static_cast<half>(0.5f)));
        params_t0.dump(ext_x, a);
        TaskOutputTensors task_0_outs = rt_submit_aiv_task(0, params_t0);
        TaskId t0 = task_0_outs.task_id();
        const ChipTensor& o = task_0_outs.get_ref(0);

        // Group mix: MixedKernels (AIC + AIV lanes)
        CoreTaskArgs params_t1;
        params_t1.add_input(o);
        MixedKernels mixed_1 = {1, 2, INVALID_KERNEL_ID};
        params_t1.launch_spec.set_block_num((n * 2));
        params_t1.launch_spec.set_require_sync_start(true);
        params_t1.set_allow_early_resolve(true);
        params_t1.set_task_timing_slot(3);
        CoreTaskPredicate params_t1_pred;
        params_t1_pred.operand.tensor = &ext_x;
        params_t1_pred.operand.ndims = 2;
        params_t1_pred.operand.indices[0] = n;
        params_t1_pred.operand.indices[1] = 0;
        params_t1_pred.op = PredicateOp::GT;
        params_t1_pred.target = -2;
        params_t1.set_predicate(params_t1_pred);
        TaskId params_t1_deps[4];
        uint32_t params_t1_deps_count = 0;
        params_t1_deps[params_t1_deps_count++] = t0;
        if (ids[1].is_valid()) params_t1_deps[params_t1_deps_count++] = ids[1];
        params_t1_deps[params_t1_deps_count++] = alloc_0.task_id();  // keeps a alive
        if (id0.is_valid()) params_t1_deps[params_t1_deps_count++] = id0;  // derived
        params_t1.set_dependencies(params_t1_deps, params_t1_deps_count);
        rt_submit_task(mixed_1, params_t1);

        // Phase-fence barrier 0: dependency-only dummy task
        CoreTaskArgs params_phase_fence_barrier_0;
        TaskId params_phase_fence_barrier_0_deps[1];
        uint32_t params_phase_fence_barrier_0_deps_count = 0;
        if (id0.is_valid()) params_phase_fence_barrier_0_deps[params_phase_fence_barrier_0_deps_count++] = id0;
        params_phase_fence_barrier_0.set_dependencies(params_phase_fence_barrier_0_deps, params_phase_fence_barrier_0_deps_count);
        TaskId bar = TaskId::invalid();
        if (params_phase_fence_barrier_0_deps_count > 0) {
            TaskOutputTensors phase_fence_barrier_0_outs = rt_submit_dummy_task(params_phase_fence_barrier_0);
            bar = phase_fence_barrier_0_outs.task_id();
        }
        std::vector<TaskId> trips;
        trips.push_back(t0);
        if (id0.is_valid()) trips.push_back(id0);

        // Dynamic compiler-dependency barrier 2: dependency-only dummy task for all trips of the loop above
        TaskId bar3 = TaskId::invalid();
        if (!trips.empty()) {
            CoreTaskArgs params_phase_fence_barrier_2;
            params_phase_fence_barrier_2.set_dependencies(trips.data(), static_cast<uint32_t>(trips.size()));
            TaskOutputTensors phase_fence_barrier_2_outs = rt_submit_dummy_task(params_phase_fence_barrier_2);
            bar3 = phase_fence_barrier_2_outs.task_id();
        }

        // Phase-fence barrier 1: dependency-only dummy task
        CoreTaskArgs params_phase_fence_barrier_1;
        TaskOutputTensors phase_fence_barrier_1_outs = rt_submit_dummy_task(params_phase_fence_barrier_1);
        TaskId bar2 = phase_fence_barrier_1_outs.task_id();

        // Task 2: c
        CoreTaskArgs params_t2;
        params_t2.add_inout(a);
        TaskId params_t2_deps[2];
        uint32_t params_t2_deps_count = 0;
        if (bar.is_valid()) params_t2_deps[params_t2_deps_count++] = bar;
        params_t2_deps[params_t2_deps_count++] = bar2;
        params_t2.set_dependencies(params_t2_deps, params_t2_deps_count);
        rt_submit_aic_task(1, params_t2);
        ChipTensor cur = ext_x;
        for (int64_t i = 0; i < n; i += 1) {
            SIMPLER_SCOPE() {
                cur = v;
            }
        }
        for (int64_t i = 8; i > 0; i += -2) {
        }
        for (int64_t i = 8; ((n) > 0 && i < 0) || ((n) < 0 && i > 0); i += n) {
        }
        for (int64_t i = 8; false; i += 0) {
        }
        while ((n < 0)) {
            SIMPLER_SCOPE(ScopeMode::MANUAL) {
            }
        }
        if (flag) {
            {
                int64_t inner = 1;
            }
        } else {
            cur = ext_x;
        }
    }
}

}  // extern "C"
