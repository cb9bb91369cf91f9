// Reads and writes of single elements, which wait for the tasks that write and read them; initial values; empty views.
#include "pto_orchestration_api.h"

extern "C" {

PTO2OrchestrationConfig aicpu_orchestration_config(const ChipTaskArgs&) { return {0}; }

void aicpu_orchestration_entry(const ChipTaskArgs& orch_args) {
    const ChipTensor& x = orch_args.tensor(0).ref();   // [16, 16]
    const ChipTensor& out = orch_args.tensor(1).ref(); // [16, 16]
    uint32_t shape[2] = {16, 16}, at[2] = {3, 5}, one_shape[1] = {1};

    TensorCreateInfo ci(shape, 2);
    ci.set_initial_value(2.5f);
    TensorCreateInfo flag_ci(one_shape, 1, DataType::INT32);
    flag_ci.set_initial_value(static_cast<int32_t>(-1));
    TaskOutputTensors made = alloc_tensors(ci, flag_ci);
    const ChipTensor& t = made.get_ref(0);
    const ChipTensor& flag = made.get_ref(1);
    if (get_tensor_data<float>(t, 2, at) != 2.5f) rt_report_fatal(9, "initial value %g", get_tensor_data<float>(t, 2, at));
    if (get_tensor_data<int32_t>(flag, 0, nullptr) != -1) rt_report_fatal(9, "flag");

    CoreTaskArgs add;  // t = x + t
    add.add_input(x, t);
    add.add_inout(t);
    add.add_scalar(1.0f, 1.0f, 0.0f);
    rt_submit_aiv_task(0, add);
    const float sum = get_tensor_data<float>(t, 2, at);  // after the task
    set_tensor_data<float>(t, 2, at, sum * 100);
    uint32_t zero[1] = {0};
    set_tensor_data(flag, 1, zero, static_cast<int32_t>(sum > 0 ? 1 : 0));

    CoreTaskArgs copy;
    copy.add_input(t, t);
    copy.add_output(out);
    copy.add_scalar(1.0f, 0.0f, static_cast<float>(get_tensor_data<int32_t>(flag, 1, zero)));
    rt_submit_aiv_task(0, copy);

    uint32_t none[2] = {0, 16}, beyond[2] = {99, 0};
    ChipTensor empty = out.view(none, beyond);
    CoreTaskArgs nothing;
    nothing.add_input(empty, empty);
    nothing.add_inout(empty);
    nothing.add_scalar(9.0f, 9.0f, 9.0f);
    rt_submit_aiv_task(0, nothing);
}

}
