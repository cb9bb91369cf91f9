// A tiled matrix product in the names of the first generation: scope guards, views, raw data access, an accumulator that is written in place.
#include "pto_orchestration_api.h"

static const uint32_t TILE = 4;

extern "C" PTO2OrchestrationConfig aicpu_orchestration_config(const ChipStorageTaskArgs& orch_args) {
    PTO2OrchestrationConfig config;
    config.expected_arg_count = static_cast<int32_t>(orch_args.tensor_count());
    return config;
}

static Tensor tile(const Tensor& t, uint32_t i, uint32_t j) {
    uint32_t shape[2] = {TILE, TILE}, offset[2] = {i * TILE, j * TILE};
    return t.view(shape, offset);
}

extern "C" void aicpu_orchestration_entry(const ChipStorageTaskArgs& orch_args) {
    Tensor a = from_tensor_arg(orch_args.tensor(0));
    Tensor b = from_tensor_arg(orch_args.tensor(1));
    Tensor c = from_tensor_arg(orch_args.tensor(2));
    always_assert(a.data_as<float>() != nullptr && a.ndims == 2 && a.shapes[1] == b.shapes[0]);
    const uint32_t rows = a.shapes[0] / TILE, cols = b.shapes[1] / TILE, depth = a.shapes[1] / TILE;
    uint32_t shape[RUNTIME_MAX_TENSOR_DIMS] = {TILE, TILE};
    for (uint32_t i = 0; i < rows; ++i) {
        for (uint32_t j = 0; j < cols; ++j) {
            PTO2_SCOPE_GUARD();
            TensorCreateInfo acc_ci(shape, 2);
            acc_ci.set_initial_value(0.0f);
            TaskOutputTensors alloc = alloc_tensors(acc_ci);
            const Tensor& acc = alloc.get_ref(0);
            for (uint32_t k = 0; k < depth; ++k) {
                Tensor at = tile(a, i, k), bt = tile(b, k, j);
                Arg product;
                product.add_input(at, bt);
                product.add_inout(acc);
                rt_submit_aic_task(0, product);
            }
            Tensor ct = tile(c, i, j);
            Arg copy;
            copy.add_input(acc);
            copy.add_input(acc);
            copy.add_output(ct);
            copy.add_scalar(1.0f);
            copy.add_scalar(0.0f);
            copy.add_scalar(0.0f);
            rt_submit_aiv_task(1, copy);
        }
    }
}
