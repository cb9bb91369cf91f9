package orch

import (
	"slices"

	"github.com/ptobuild/ptobuild/ir"
)

// A Profile is one naming generation of the orchestration API (spec: passes-codegen 0.2, runtime 1.1). Every runtime name that the printer writes is a
// field or a table entry here; the printer itself contains none.
type Profile struct {
	Name string

	Header        string // the API header
	HeaderApart   bool   // a blank line before its include
	Export        string // attribute line before the two functions, "" for none
	Config        string // type of the configuration record
	ConfigOneLine bool
	ConfigFunc    string
	EntryFunc     string

	EntryArgs   string // type of the entry argument
	EntryParam  string
	EntryTensor string // method of the entry argument
	EntryScalar string
	// An external tensor is declared Bind + name + BindOpen + entry tensor + BindClose.
	Bind, BindOpen, BindClose string
	TensorsComment            string
	EntryRef                  string // from an entry tensor to its handle

	TaskArgs    string
	Tensor      string
	TaskID      string
	InvalidID   string
	IsValid     string // method
	CreateInfo  string
	Outputs     string
	BatchAbove  string // comment above an alloc batch, "" for none
	Alloc       string
	GetRef      string // methods of the outputs record
	GetID       string
	InitValue   string // method of the create-info, "" when the API has none
	ScopeAuto   string
	ScopeManual string

	AddArg            [5]string // by plan.ArgTag
	AddScalar, Dump   string
	SetDeps           string
	BlockNum          string // method of the launch spec
	LaunchSpec        string
	SyncStart         string
	EarlyResolve      string
	SetPredicate      string
	TimingSlot        string // method, "" when the API has none
	Predicate         string // type
	PredicateOp       string
	PredicateOps      map[ir.BinOp]string
	Submit            [3]string // by plan.TaskKind
	SubmitDummy       string
	MixedKernels      string
	NoKernel          string
	View, Reshape     string
	Transpose, Extent string
	Read, Write       string
	Queries           [2]string // clusters, vector cores

	ToBits, FromBits string
	// UnionTypes are the C++ types of entry scalars that are unpacked through a union; the others use FromBits.
	UnionTypes map[ir.DType]bool

	DataType  string // enum of element types
	DataTypes map[ir.DType]string
}

// CTypes are the C++ types of scalars.
var CTypes = map[ir.DType]string{
	ir.BOOL: "bool", ir.INT4: "int8_t", ir.INT8: "int8_t", ir.INT16: "int16_t", ir.INT32: "int32_t", ir.INT64: "int64_t", ir.INDEX: "int64_t",
	ir.UINT4: "uint8_t", ir.UINT8: "uint8_t", ir.UINT16: "uint16_t", ir.UINT32: "uint32_t", ir.UINT64: "uint64_t",
	ir.FP16: "half", ir.BF16: "bfloat16_t", ir.FP32: "float", ir.FP64: "double",
	ir.FP8E4M3FN: "float8_e4m3_t", ir.FP8E5M2: "float8_e5m2_t", ir.FP8E8M0: "float8_e8m0_t", ir.FP4: "float4_e2m1x2_t",
	ir.HF4: "hifloat4x2_t", ir.HF8: "hifloat8_t", ir.NoDType: "uint64_t",
}

// common holds what all generations spell alike.
var common = Profile{
	Header: "pto_orchestration_api.h", HeaderApart: true,
	Config:     "PTO2OrchestrationConfig",
	ConfigFunc: "aicpu_orchestration_config",
	EntryFunc:  "aicpu_orchestration_entry",
	EntryParam: "orch_args", EntryTensor: "tensor", EntryScalar: "scalar", EntryRef: ".ref()",
	TensorsComment: "// External tensors",
	Tensor:         "Tensor",
	TaskID:         "PTO2TaskId",
	InvalidID:      "invalid()",
	IsValid:        "is_valid()",
	CreateInfo:     "TensorCreateInfo",
	Outputs:        "TaskOutputTensors",
	Alloc:          "alloc_tensors",
	GetRef:         "get_ref",
	GetID:          "task_id()",
	InitValue:      "set_initial_value",
	ScopeAuto:      "PTO2_SCOPE()",
	ScopeManual:    "PTO2_SCOPE(PTO2ScopeMode::MANUAL)",
	AddArg:         [5]string{"add_input", "add_output", "add_inout", "add_no_dep", "add_output"},
	AddScalar:      "add_scalar", Dump: "dump",
	SetDeps:    "set_dependencies",
	LaunchSpec: "launch_spec", BlockNum: "set_block_num", SyncStart: "set_require_sync_start",
	EarlyResolve: "set_allow_early_resolve",
	SetPredicate: "set_predicate",
	TimingSlot:   "set_task_timing_slot",
	Predicate:    "CoreTaskPredicate",
	PredicateOp:  "PredicateOp",
	PredicateOps: map[ir.BinOp]string{ir.Eq: "EQ", ir.Ne: "NE", ir.Gt: "GT", ir.Lt: "LT", ir.Ge: "GE", ir.Le: "LE"},
	Submit:       [3]string{"rt_submit_aic_task", "rt_submit_aiv_task", "rt_submit_task"},
	SubmitDummy:  "rt_submit_dummy_task",
	MixedKernels: "MixedKernels", NoKernel: "INVALID_KERNEL_ID",
	View: "view", Reshape: "reshape", Transpose: "transpose", Extent: "shapes",
	Read: "get_tensor_data", Write: "set_tensor_data",
	Queries: [2]string{"rt_available_cluster_count()", "rt_available_aiv_count()"},
	ToBits:  "to_u64", FromBits: "from_u64",
	DataType: "DataType",
	DataTypes: map[ir.DType]string{
		ir.FP32: "FLOAT32", ir.FP16: "FLOAT16", ir.BF16: "BFLOAT16", ir.INT8: "INT8", ir.INT16: "INT16", ir.INT32: "INT32", ir.INT64: "INT64",
		ir.INDEX: "INT64", ir.UINT8: "UINT8", ir.UINT16: "UINT16", ir.UINT32: "UINT32", ir.UINT64: "UINT64", ir.BOOL: "BOOL",
		ir.FP8E4M3FN: "FP8E4M3FN", ir.FP8E8M0: "FP8E8M0", ir.FP4: "FP4E2M1",
	},
}

const export = `__attribute__((visibility("default")))`

// profiles in the order they are listed to users; the first is the default.
var profiles = []*Profile{
	derive("pto2", func(p *Profile) { // mission document 000
		p.EntryArgs, p.TaskArgs = "ChipStorageTaskArgs", "Arg"
		p.Bind, p.BindOpen, p.BindClose = "Tensor ", "from_tensor_arg(", ")"
		p.TensorsComment = "// External tensors (from ChipStorageTaskArgs)"
		p.BatchAbove = "// Internal tensor — pre-allocated via alloc_tensors at scope entry"
		p.ConfigOneLine, p.HeaderApart = true, false
		p.UnionTypes = map[ir.DType]bool{
			ir.BOOL: true, ir.INT8: true, ir.INT16: true, ir.INT32: true, ir.INT64: true, ir.INDEX: true, ir.UINT8: true, ir.UINT16: true,
			ir.UINT32: true, ir.UINT64: true, ir.FP32: true, ir.FP64: true,
		}
	}),
	derive("simpler-2026-08-04", func(p *Profile) { // mission document 003 and the runtime of that date
		p.EntryArgs, p.TaskArgs, p.Predicate = "L2TaskArgs", "L0TaskArgs", "L0TaskPredicate"
		p.Bind, p.BindClose, p.Export = "const Tensor& ", p.EntryRef, export
		p.TimingSlot = ""
	}),
	derive("simpler-2026-08-21", func(p *Profile) {
		p.EntryArgs, p.TaskArgs, p.Tensor = "ChipTaskArgs", "CoreTaskArgs", "ChipTensor"
		p.Bind, p.BindClose, p.Export = "const ChipTensor& ", p.EntryRef, export
	}),
	derive("simpler-next", func(p *Profile) { // mission document 004
		p.EntryArgs, p.TaskArgs, p.Tensor, p.TaskID = "ChipTaskArgs", "CoreTaskArgs", "ChipTensor", "TaskId"
		p.Bind, p.BindClose, p.Export = "const ChipTensor& ", p.EntryRef, export
		p.Header, p.Config = "orchestration_api.h", "OrchestrationConfig"
		p.ScopeAuto, p.ScopeManual = "SIMPLER_SCOPE()", "SIMPLER_SCOPE(ScopeMode::MANUAL)"
		p.InitValue = ""
	}),
}

func derive(name string, change func(*Profile)) *Profile {
	p := common
	p.Name = name
	change(&p)
	return &p
}

// Default is the profile of the mission documents.
func Default() *Profile { return profiles[0] }

// Named returns the profile of a name, nil when there is none.
func Named(name string) *Profile {
	if i := slices.IndexFunc(profiles, func(p *Profile) bool { return p.Name == name }); i >= 0 {
		return profiles[i]
	}
	return nil
}

// Names lists the profiles, the default one first.
func Names() []string {
	names := make([]string, len(profiles))
	for i, p := range profiles {
		names[i] = p.Name
	}
	return names
}

// ForTarget returns the profile as a chip spells it: a5 counts cores where a2a3 counts blocks.
func (p *Profile) ForTarget(target string) *Profile {
	if target != "a5" {
		return p
	}
	return derive(p.Name, func(q *Profile) {
		*q = *p
		q.BlockNum = "set_core_num"
	})
}
