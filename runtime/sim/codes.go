package sim

import "github.com/ptobuild/ptobuild/internal/diag"

// Codes of the reports of a run.
const (
	CodeConfig        diag.Code = "PTO-R001" // a Config that cannot work
	CodeBuilder       diag.Code = "PTO-R002" // misuse of an argument builder: too many arguments, a tensor after a scalar, dependencies set twice
	CodeKernel        diag.Code = "PTO-R003" // no kernel in any slot, or an unknown kernel id
	CodeSyncStart     diag.Code = "PTO-R004" // sync_start with more blocks than can be resident
	CodeScopeTasks    diag.Code = "PTO-R005" // too many tasks in open scopes
	CodeWindow        diag.Code = "PTO-R006" // the task window of a ring is full and nothing in it can retire
	CodeHeap          diag.Code = "PTO-R007" // the heap of a ring is full and nothing in it can be freed
	CodeDepPool       diag.Code = "PTO-R008" // the dependency pool of a ring is full
	CodeMap           diag.Code = "PTO-R009" // the overlap map is full
	CodeDepInvalid    diag.Code = "PTO-R010" // an invalid task id in set_dependencies
	CodeDepUnknown    diag.Code = "PTO-R011" // a task id that was never issued
	CodeScopeNesting  diag.Code = "PTO-R012" // an AUTO scope inside a MANUAL one
	CodeScopeDepth    diag.Code = "PTO-R013" // scopes nested too deep
	CodeScopeBalance  diag.Code = "PTO-R014" // scope begins and ends that do not match
	CodeTensor        diag.Code = "PTO-R015" // a handle that is uninitialised or does not lie in memory
	CodeView          diag.Code = "PTO-R016" // a view, reshape, transpose or slice that does not fit
	CodeElement       diag.Code = "PTO-R017" // an element access outside its tensor
	CodeAlloc         diag.Code = "PTO-R018" // an allocation that cannot be made
	CodeBlocks        diag.Code = "PTO-R019" // a block count outside 1 to 32767
	CodeTimingSlot    diag.Code = "PTO-R020" // a timing slot outside 0 to 15
	CodePredicate     diag.Code = "PTO-R021" // a predicate whose operand cannot be compared
	CodePredicateDep  diag.Code = "PTO-R022" // a predicate whose operand's writer is not among the dependencies
	CodeOutlives      diag.Code = "PTO-R023" // a buffer used after the scope it was made in
	CodeReclaimed     diag.Code = "PTO-R024" // a buffer used after its memory was given back
	CodeKernelFailed  diag.Code = "PTO-R025" // a kernel reported an error
	CodeArity         diag.Code = "PTO-R026" // the number of entry arguments differs from what the program expects
	CodeReported      diag.Code = "PTO-R027" // the program reported a fatal error itself
	CodeManualDepLost diag.Code = "PTO-R028" // a view of a manual_dep tensor is tracked automatically again
	CodeOutputIndex   diag.Code = "PTO-R029" // an index past the outputs of a task
	CodeNoWrite       diag.Code = "PTO-R030" // a kernel that wrote none of its outputs
	CodeVersion       diag.Code = "PTO-R031" // a handle of an older version than its last writer's
	CodeUnwritten     diag.Code = "PTO-R033" // the orchestration or a kernel reads memory that nothing has written
	CodeMemory        diag.Code = "PTO-R032" // the host has no memory for the simulated one
)
