package sim

import (
	"cmp"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/runtime/sim/interval"
	"github.com/ptobuild/ptobuild/runtime/trace"
)

// Runtime is one run of one orchestration. Its methods are the runtime calls of the orchestration, in order; after a fatal error they do nothing.
//
// Shapes, strides and indices that are handed in stay with the runtime: a caller must not change such a slice afterwards.
type Runtime struct {
	cfg     Config
	mem     Memory
	rings   [numRings]ring
	omap    *interval.Map[writer] // regions of live writers
	kept    int                   // entries of reclaimed writers in omap, which only the graph needs
	edges   edgePool
	inline  []*task // dummies whose producers are done; they retire without a core
	rng     *rand.Rand
	epoch   uint32
	seq     uint64
	ordinal int32
	nAlloc  int32

	scopes      []scope
	scopeTasks  []*task // the tasks of all open scopes, innermost last
	manualDepth int     // depth at which the outermost MANUAL scope began, or -1

	fatal    *Error
	diags    diag.List
	warned   map[warnKey]bool
	entries  []Tensor
	rec      *recorder
	graph    *Graph
	marks    []ScopeMark // only with Config.Check
	stats    Stats
	finished bool

	machine     machine
	costs       Costs
	kernelTimes []uint64        // by kernel id; 0: as costs has it
	ready       readyQueue      // of a policy that runs one task at a time
	arrivals    arrivals        // of the others: tasks that are ready later,
	cohorts     fifo            // tasks whose blocks must start together,
	shapes      [numShapes]fifo // and the rest
	started     []*task         // scratch of startTasks
	placedNow   []placement
	self        worker
	workers     []worker                   // of the policy Parallel
	writers     map[[3]int32]*kernelWrites // only with Config.Check

	u32s     arena[uint32]
	tensors  arena[Tensor]
	scratch  region
	found    []*task                    // writers that an element access waits for
	taken    [MaxTensors]interval.Index // by argument of the submit in progress: the entry of a writer that it replaces
	dirty    bool                       // something may have written to created buffers
	operands []Operand
	// allocArgs is the argument list of the allocation in progress.
	allocArgs []Arg
}

// Complete fills in the defaults of a Config and reports what cannot work.
func Complete(cfg Config) (Config, error) {
	l := &cfg.Limits
	l.TaskWindow = cmp.Or(l.TaskWindow, 16384)
	l.Heap = cmp.Or(l.Heap, 256<<20)
	l.DepPool = cmp.Or(l.DepPool, 16384)
	l.MapEntries = cmp.Or(l.MapEntries, 65536)
	l.ScopeDepth = cmp.Or(l.ScopeDepth, 64)
	l.ScopeTasks = cmp.Or(l.ScopeTasks, 65536)
	for i := range l.Rings {
		g := &l.Rings[i]
		*g = Rings{cmp.Or(g.TaskWindow, l.TaskWindow), cmp.Or(g.Heap, l.Heap), cmp.Or(g.DepPool, l.DepPool)}
		if d := checkRing(g); d != nil {
			return cfg, d
		}
	}
	cfg.Platform = cmp.Or(cfg.Platform, defaultPlatform)
	hardware, known := machines[cfg.Platform]
	if cfg.Costs == nil {
		cfg.Costs = &hardware.costs
	}
	cfg.Clusters = cmp.Or(cfg.Clusters, hardware.clusters)
	switch {
	case l.MapEntries < 1 || l.ScopeDepth < 1 || l.ScopeTasks < 1:
		return cfg, diag.Errorf(CodeConfig, Site{}, "map_entries, scope_depth and scope_tasks must be positive").
			WithHint("give at least 1, or leave them out")
	case len(cfg.Names) > maxKernels:
		return cfg, diag.Errorf(CodeConfig, Site{}, "%d kernels: an orchestration has at most %d", len(cfg.Names), maxKernels).WithHint("split the program")
	case !known:
		return cfg, diag.Errorf(CodeConfig, Site{}, "unknown platform %q", cfg.Platform).WithHint("the platforms are a2a3 and a5")
	case cfg.Clusters < 1 || cfg.Clusters > 1024:
		return cfg, diag.Errorf(CodeConfig, Site{}, "%d clusters", cfg.Clusters).WithHint("give 1 to 1024, or 0 for the platform's number")
	case int(cfg.Policy) >= Policies:
		return cfg, diag.Errorf(CodeConfig, Site{}, "unknown scheduling policy %d", cfg.Policy).
			WithHint("take one of the policies of this package")
	}
	return cfg, nil
}

// New sets up a run.
func New(cfg Config) (*Runtime, error) {
	cfg, err := Complete(cfg)
	if err != nil {
		return nil, err
	}
	r := &Runtime{
		cfg:         cfg,
		omap:        interval.New[writer](),
		edges:       edgePool{edges: make([]edge, 1, 64)},
		rng:         rand.New(rand.NewPCG(cfg.Seed, 0x9E3779B97F4A7C15)),
		scopes:      make([]scope, 1, 8), // the root scope
		manualDepth: -1,
		machine:     newMachine(cfg.Clusters),
		costs:       *cfg.Costs,
	}
	r.dirty = cfg.Kernels != nil || cfg.Shared
	r.ready.policy, r.ready.rng, r.ready.late = cfg.Policy, r.rng, cfg.Seed
	if len(cfg.Times) > 0 {
		r.kernelTimes = make([]uint64, len(cfg.Names))
		for i, name := range cfg.Names {
			r.kernelTimes[i] = cfg.Times[name]
		}
	}
	for i := range r.rings {
		x := &cfg.Limits.Rings[i]
		r.rings[i].mask, r.rings[i].size, r.rings[i].depPool = uint32(x.TaskWindow-1), x.Heap, x.DepPool
	}
	if cfg.Record {
		r.rec = newRecorder()
	}
	if cfg.Check {
		r.graph = &Graph{}
		r.markScope(Site{}, false)
	}
	return r, nil
}

// checkRing reports limits that no ring can have.
func checkRing(g *Rings) *diag.Diagnostic {
	switch {
	case g.TaskWindow < 4 || bits.OnesCount(uint(g.TaskWindow)) != 1 || g.TaskWindow > 1<<30:
		return diag.Errorf(CodeConfig, Site{}, "a task window of %d: it must be a power of two and at least 4", g.TaskWindow).
			WithHint("set task_window to 4, 8, 16, … or leave it out")
	case g.Heap < outputAlign || g.Heap%outputAlign != 0:
		return diag.Errorf(CodeConfig, Site{}, "a heap of %d bytes: it must be a positive multiple of %d", g.Heap, outputAlign).
			WithHint("round heap up, or leave it out")
	case g.DepPool < 1:
		return diag.Errorf(CodeConfig, Site{}, "a dependency pool of %d entries", g.DepPool).WithHint("set dep_pool to at least 1, or leave it out")
	}
	return nil
}

// Memory is the simulated memory, for entry tensors and kernels.
func (r *Runtime) Memory() *Memory { return &r.mem }

// Close gives the memory back. Nothing that points into it may be used afterwards.
func (r *Runtime) Close() { r.mem.Close() }

// Config returns the settings in force, defaults filled in.
func (r *Runtime) Config() Config { return r.cfg }

// NewTensor maps memory for an entry tensor of zeros.
func (r *Runtime) NewTensor(d ir.DType, shape ...uint32) (Tensor, error) {
	t, err := Contiguous(0, d, slices.Clone(shape))
	if err != nil {
		return Tensor{}, err
	}
	t.Addr, err = r.mem.Map(t.Size)
	if err != nil {
		return Tensor{}, diag.Errorf(CodeMemory, Site{}, "%s", err).
			WithHint("make the entry tensors smaller, or give the simulation more memory")
	}
	return t, nil
}

// Entry registers the entry tensors; tensor k is ext:k in reports and traces. Call it once, before anything else.
func (r *Runtime) Entry(tensors []Tensor) error {
	if len(tensors) > MaxEntryTensors {
		return diag.Errorf(CodeArity, Site{}, "%d entry tensors: an orchestration takes at most %d", len(tensors), MaxEntryTensors).
			WithHint("pass bigger tensors and views of them")
	}
	for i := range tensors {
		t := &tensors[i]
		if err := r.checkHandle(t); err != nil {
			return diag.Errorf(CodeTensor, Site{}, "entry tensor %d: %s", i, err.Message).WithHint("%s", err.Hint)
		}
	}
	r.entries = slices.Clone(tensors)
	return nil
}

// Entries returns the entry tensors.
func (r *Runtime) Entries() []Tensor { return r.entries }

// KernelName is the name of a kernel id for reports, "#id" when the table has none.
func (r *Runtime) KernelName(id int32) string { return r.kernelName(id) }

// ExpectArgs checks the argument count that the program declares (0: not declared) against the number it got.
func (r *Runtime) ExpectArgs(expected, got int, site Site) error {
	if r.rec != nil {
		r.rec.add(&trace.Config{Args: expected})
	}
	if expected > got {
		r.Fail(InvalidArgs, "config-arg-count", diag.Errorf(CodeArity, site, "the program expects %d arguments and got %d", expected, got).
			WithHint("tensors and scalars both count"))
		return r.fatal
	}
	if expected != 0 && expected < got {
		r.warn(diag.Warningf(CodeArity, site, "the program expects %d arguments and got %d; the last ones are not used", expected, got).
			WithHint("pass as many as expected_arg_count says"))
	}
	return nil
}

// Finish ends the orchestration: runs what is left and reports what went wrong, nil when nothing did.
func (r *Runtime) Finish() error {
	if !r.finished {
		r.finished = true
		if n := len(r.scopes) - 1; n > 0 && r.fatal == nil {
			r.Fail(InvalidArgs, "scope-left-open", diag.Errorf(CodeScopeBalance, r.scopes[n].site, "%d scopes are still open at the end of the orchestration", n).
				WithHint("every scope begin needs its end"))
		}
		if r.fatal == nil {
			r.markScope(Site{}, true)
			r.closeScope()
			r.drain()
			r.reportIdleKernels()
		}
		r.manualDepth = -1
		if r.rec != nil {
			r.rec.add(&trace.End{Tasks: int(r.ordinal)})
		}
	}
	if r.fatal != nil {
		return r.fatal
	}
	return r.diags.Err()
}

// Idle reports that no task is left to run: until the next submit only the orchestration itself changes memory.
func (r *Runtime) Idle() bool {
	return r.ready.len() == 0 && len(r.machine.running) == 0 && r.arrivals.next() == nil && r.cohorts.len() == 0 &&
		r.shapes[shapeMix].len() == 0 && r.shapes[shapeAIC].len() == 0 && r.shapes[shapeAIV].len() == 0
}

// Trace returns the recorded events, nil without Config.Record.
func (r *Runtime) Trace() *trace.Log {
	if r.rec == nil {
		return nil
	}
	return &r.rec.log
}

// AvailableClusters is the number of clusters, AvailableAIV that of vector cores.
func (r *Runtime) AvailableClusters(site Site) int32 {
	if r.rec != nil && r.fatal == nil {
		r.rec.add(&trace.Query{What: "cluster_count", Site: site})
	}
	return int32(r.cfg.Clusters)
}

// AvailableAIV is the number of vector cores: two per cluster.
func (r *Runtime) AvailableAIV(site Site) int32 {
	if r.rec != nil && r.fatal == nil {
		r.rec.add(&trace.Query{What: "aiv_count", Site: site})
	}
	return int32(2 * r.cfg.Clusters)
}

// kernelName names a kernel id in reports.
func (r *Runtime) kernelName(id int32) string {
	if id >= 0 && int(id) < len(r.cfg.Names) {
		return r.cfg.Names[id]
	}
	return fmt.Sprintf("#%d", id)
}
