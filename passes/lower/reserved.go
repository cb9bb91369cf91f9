package lower

import (
	"strings"
	"sync"
)

// set makes a set of the words of a text when it is first asked for.
func set(words string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		m := map[string]bool{}
		for w := range strings.FieldsSeq(words) {
			m[w] = true
		}
		return m
	})
}

// keywords are the reserved words of C++20, the alternative operator spellings, names that the printer itself
// uses, and macros and names of the C library that the API header brings in.
var keywords = set(`
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class co_await co_return co_yield compl
concept const const_cast consteval constexpr constinit continue decltype default delete do double dynamic_cast else enum explicit export extern
false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public
register reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch template this thread_local throw
true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq
NULL EOF assert errno stdin stdout stderr offsetof main linux unix i386 INT8_MAX INT16_MAX INT32_MAX INT64_MAX SIZE_MAX
__init_i __yield_i pto_floor_div pto_floor_mod pto_pow pto_abs
int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t ptrdiff_t intptr_t uintptr_t std half bfloat16_t float16_t`)

// runtimeNames are the names that generated code or the API header uses, in every naming generation (runtime facts 1.1 to 1.6).
var runtimeNames = set(`
orch_args simpler tmr hbg framework_bind_runtime framework_current_runtime current_runtime
aicpu_orchestration_config aicpu_orchestration_entry
PTO2OrchestrationConfig OrchestrationConfig
Arg ArgWithDeps L0TaskArgs L0TaskArgsWithDeps CoreTaskArgs CoreTaskArgsWithDeps ChipStorageTaskArgs L2TaskArgs ChipTaskArgs TaskArgs
Tensor ChipTensor TensorCreateInfo TaskOutputTensors TaskSubmitResult ContinuousTensor
PTO2TaskId TaskId PTO2ScopeMode ScopeMode PTO2ScopeGuard ScopeGuard PTO2_SCOPE SIMPLER_SCOPE PTO2_SCOPE_GUARD SIMPLER_SCOPE_GUARD PTO2Runtime
L0TaskPredicate CoreTaskPredicate L0PredicateOperand CorePredicateOperand PredicateOp DispatchPredicate
MixedKernels INVALID_KERNEL_ID DataType TensorArgType ArgDirection AddressSpace ChipSwimlane DepFlags
alloc_tensors from_tensor_arg make_tensor_external make_tensor_strided
rt_submit_task rt_submit_aic_task rt_submit_aiv_task rt_submit_dummy_task rt_scope_begin rt_scope_end rt_orchestration_done
rt_available_cluster_count rt_available_aiv_count rt_is_fatal rt_report_fatal rt_orch_profile_now
get_tensor_data set_tensor_data to_u64 from_u64 get_element_size get_dtype_name dtype_of always_assert debug_assert
PTO_CAT PTO_CAT2 PTO_DTYPE PTO_ERRORS PTO_ERROR_NAMES PTO_FILE PTO_LOG
LOG_ERROR LOG_WARN LOG_TIMING LOG_INFO LOG_DEBUG LOG_ALWAYS
SIMPLER_DFX SIMPLER_ORCH_PROFILING SIMPLER_SCHED_PROFILING SIMPLER_TENSORMAP_PROFILING PTO2_PARALLEL_FOR
CHIP_TASK_WINDOW_SIZE RUNTIME_MAX_TENSOR_DIMS PTO_MAX_TENSOR_DIMS
float8_e4m3_t float8_e4m3fn_t float8_e5m2_t float8_e8m0_t hifloat8_t hifloat4x2_t float4_e2m1x2_t float4_e1m2x2_t`)
