package passes

import "github.com/ptobuild/ptobuild/internal/diag"

// Reports of the passes that make kernels and tasks (outlining to carry classes).
const (
	codeNotCaptured     diag.Code = "PTO-X501" // no_dep_args names a tensor that the block does not use
	codeScalarExport    diag.Code = "PTO-X502" // a scalar computed by device code is used by the orchestration
	codeTileEscapes     diag.Code = "PTO-X503" // a tile is used outside the block that made it
	codeBadCapture      diag.Code = "PTO-X504" // a block uses a value that cannot be passed to a kernel
	codeRebound         diag.Code = "PTO-X505" // a block assigns to a captured value (the program is not in SSA form)
	codeTaskInBlock     diag.Code = "PTO-X506" // a task is submitted inside device code
	codeClusterSpmd     diag.Code = "PTO-X510" // two grid launches in one cluster
	codeClusterLaunch   diag.Code = "PTO-X511" // launch options on a grid launch inside a cluster
	codeClusterCores    diag.Code = "PTO-X512" // a block count computed inside the cluster
	codeSpmdBody        diag.Code = "PTO-X513" // a grid launch whose body is not one kernel launch
	codeScalarReturn    diag.Code = "PTO-X520" // a kernel returns a scalar
	codeReturnShape     diag.Code = "PTO-X521" // the shape of a kernel's own result is not known to its caller
	codeNoReturn        diag.Code = "PTO-X522" // a kernel declares results but returns nothing
	codeReturnExternal  diag.Code = "PTO-X523" // the results of an external kernel cannot be matched with its outputs
	codeWrittenInput    diag.Code = "PTO-X524" // warning: an entry parameter declared as input is written
	codeAtomicAssemble  diag.Code = "PTO-X530" // an atomic placement outside a kernel
	codeLostAssemble    diag.Code = "PTO-X531" // a placement that would need a copy
	codeDirsLength      diag.Code = "PTO-X540" // an explicit direction list of the wrong length
	codeDynamicParallel diag.Code = "PTO-X550" // a parallel TaskId carry without a known trip count
	codeScopeDepth      diag.Code = "PTO-X560" // warning: scopes nested deeper than the runtime has rings
)
