// Package sim is the simulated Ascend runtime: tasks, scopes, rings, the overlap map, dependencies, predicates, and a deterministic scheduler over
// virtual cores. It is driven through Runtime by runtime/interp (a plan) and runtime/native (compiled C++), and calls kernels through
// KernelRunner. Rules: spec runtime.md section 2; mission document 003 for MANUAL scopes.
//
// A Runtime is single-threaded. Orchestration calls and task execution interleave: a task may run at any moment after its producers, and the policy
// with its seed decides when. "Waiting" (a scalar read, a full ring) means running tasks until the condition holds.
package sim

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// TaskID is ring<<32 | local; InvalidTask names no task.
type TaskID uint64

// InvalidTask is the sentinel id.
const InvalidTask = TaskID(^uint64(0))

// Tensor is a handle: a strided window of a buffer. Offsets and strides count elements.
type Tensor struct {
	Addr      uint64 // base address of the buffer, a valid pointer into Memory
	Size      uint64 // bytes of the buffer
	Owner     TaskID // the task that made the buffer, or InvalidTask for entry tensors
	Start     uint64 // first element of the window
	DType     ir.DType
	Shape     []uint32 // rank 0 to 5
	Strides   []uint32
	ManualDep bool
	Version   int32
	Ops       []string // the view operations that led here, for the trace
}

// CreateInfo asks for a buffer.
type CreateInfo struct {
	Shape     []uint32
	DType     ir.DType
	ManualDep bool
	HasInit   bool
	Init      uint64 // element bit pattern
}

// ArgTag is how a tensor argument takes part in dependency tracking; the values are the runtime's TensorArgType.
type ArgTag uint8

const (
	Input ArgTag = iota
	Output
	InOut
	OutputExisting
	NoDep
)

// Arg is one tensor argument: Create for Output, Tensor for the rest.
type Arg struct {
	Tag    ArgTag
	Tensor Tensor
	Create *CreateInfo
}

// Scalar is one scalar argument: its 64-bit pattern and the C type it was given as: a letter (i, u, f, b for signed, unsigned, floating, bool)
// and its bits ("i64", "u32", "f32", "b8").
type Scalar struct {
	Bits uint64
	Type string
}

// Predicate is a dispatch predicate: run the task only if the element at Index of Tensor compares with Target.
type Predicate struct {
	Tensor Tensor
	Index  []uint32
	Op     ir.BinOp // a comparison
	Target int64
}

// TaskArgs is one submit.
type TaskArgs struct {
	Kind         TaskKind
	Kernels      [3]int32 // AIC, AIV0, AIV1; -1: none
	Args         []Arg
	Scalars      []Scalar
	Deps         []TaskID
	OrderOnly    uint64 // bit i: dependency i, one of the first 64, does not keep the buffers of its task alive
	Blocks       int32  // 0 and 1: a single block
	SyncStart    bool
	EarlyResolve bool
	TimingSlot   int32 // -1: none
	Pred         *Predicate
	DumpAll      bool
	Dump         []int // argument positions
	// BuilderError is a misuse recorded while the arguments were built (too many tensors, a tensor after a scalar…); "" when none.
	BuilderError string
}

// TaskKind is the shape of a task.
type TaskKind uint8

const (
	KindAIC TaskKind = iota
	KindAIV
	KindMixed
	KindDummy
	KindAlloc
)

// Site is where in the source a runtime call stands: a DSL span through the plan or source map, else a C++ file and line.
type Site = diag.Span

// Outputs is the result of a submit or alloc: the id and the buffers made for it.
type Outputs struct {
	Task    TaskID
	Tensors []Tensor
}

// KernelCall is one block of one lane of a task, ready to run. It and its slices are the runtime's: valid during the call only.
type KernelCall struct {
	Task       TaskID
	Ordinal    int // task ordinal in submit order
	Kernel     int32
	Lane       int // 0 AIC, 1 AIV0, 2 AIV1
	Mixed      bool
	Args       []Arg // every Tensor is materialised, created outputs included
	Scalars    []Scalar
	Block      int
	BlockCount int
	SubBlock   int
	Site       Site

	// Work is what the call did. The runner sets it for the virtual times; it may leave it.
	Work Work

	watch    *accessWatch // nil without Config.Check
	warnings *diag.List   // of a worker, nil otherwise
	rt       *Runtime
}

// Warn adds a warning to the reports of the run, once per code and place. A call outside of a run drops it.
func (c *KernelCall) Warn(d *diag.Diagnostic) {
	if c.warnings != nil {
		c.warnings.Add(d)
	} else if c.rt != nil {
		c.rt.warn(d)
	}
}

// MadeAt is where the buffer of tensor argument arg was made; no span when it is an entry tensor or its maker is gone.
func (c *KernelCall) MadeAt(arg int) Site {
	if c.rt == nil || arg < 0 || arg >= len(c.Args) || c.Args[arg].Tensor.Owner == InvalidTask {
		return Site{}
	}
	if t, _ := c.rt.lookup(c.Args[arg].Tensor.Owner); t != nil {
		return t.site
	}
	return Site{}
}

// Buffer is the range of addresses of the elements of the buffer that tensor argument arg is a window of, without what pads it. It is empty for a part of an entry
// tensor, and when the maker of the buffer is gone.
func (c *KernelCall) Buffer(arg int) (lo, hi uint64) {
	x := &c.Args[arg].Tensor
	if c.rt == nil || x.Owner == InvalidTask {
		return 0, 0
	}
	t, _ := c.rt.lookup(x.Owner)
	if t == nil {
		return 0, 0
	}
	for i := range t.args {
		if made := &t.args[i]; made.Tag == Output && made.Tensor.Addr == x.Addr {
			_, hi = made.Tensor.Bytes()
			return x.Addr, hi
		}
	}
	return 0, 0
}

// KernelRunner runs kernels on the memory of a Runtime.
type KernelRunner interface {
	Run(m *Memory, c *KernelCall) error
}

// ClusterRunner is implemented by a KernelRunner that wants the lanes of one block of a mixed task together, because they exchange data while
// they run. The calls are in lane order.
type ClusterRunner interface {
	RunCluster(m *Memory, calls []KernelCall) error
}

// Config sets up a Runtime.
type Config struct {
	Policy   Policy
	Seed     uint64
	Platform string // "a2a3" (default) or "a5"
	Clusters int    // 0: as the reference's simulator, 8
	Limits   Limits
	Costs    *Costs            // nil: the platform's
	Times    map[string]uint64 // ns per block of a kernel, by name, instead of what Costs gives
	// ExactOverlap derives no dependency between strided windows that share no byte. The runtime's own test is exact for boxes of one layout
	// only; with the exact one a program may run more in parallel than on a device.
	ExactOverlap bool
	Workers      int // of the policy Parallel; 0: one for each core of the host
	Kernels      KernelRunner
	Shared       bool     // other code than kernels and the runtime may change memory
	Names        []string // kernel id → name, for reports
	Record       bool     // keep the trace
	Check        bool     // keep the graph of accesses and edges that runtime/check needs
	// Observe, when set, sees every task that runs kernels: before its first block and, done, after its last. It needs Check.
	Observe func(m *Memory, n *Node, done bool)
	// Dirs gives per kernel id the declared direction of each tensor parameter, where it is known: what a NO_DEP argument does.
	Dirs [][]ir.ParamDir
}

// Limits are the capacities of the runtime; zero fields take the defaults of spec runtime.md 1.7.
type Limits struct {
	TaskWindow int    // tasks per ring
	Heap       uint64 // bytes per ring
	DepPool    int    // dependency list entries per ring
	MapEntries int    // live writers in the overlap map
	ScopeDepth int
	ScopeTasks int             // tasks in all open scopes together
	Rings      [numRings]Rings // of single rings; zero fields: as above
}

// Rings are the limits of one ring.
type Rings struct {
	TaskWindow int
	Heap       uint64
	DepPool    int
}
