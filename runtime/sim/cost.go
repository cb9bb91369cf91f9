package sim

import "cmp"

// Costs turns what a program does into virtual time, in nanoseconds. It is a coarse model with round numbers, made to compare variants of a program
// and to see what bounds it; it does not predict a device. The parts of a kernel's time add up: nothing in it overlaps. A zero cost, or rate,
// takes no time.
type Costs struct {
	Submit   uint64 // of the orchestration, per submit or allocation
	Access   uint64 // of the orchestration, per element access, besides what it waits
	Launch   uint64 // per block, from its dispatch to its first instruction
	Op       uint64 // per instruction of a kernel, whatever its size
	Bytes    uint64 // bytes per ns between global memory and a core
	Vector   uint64 // bytes per ns of the biggest operand of a vector instruction
	Multiply uint64 // 16-bit multiply-accumulates per ns
}

// Work is what one call of a kernel did, as far as its runner knows. The zero Work says nothing.
type Work struct {
	Ops      uint64 // instructions
	Bytes    uint64 // moved between global memory and the core
	Vector   uint64 // bytes of the biggest operand of each vector instruction
	Multiply uint64 // multiply-accumulates, in units of 16-bit ones
}

const defaultPlatform = "a2a3"

// machines are the simulated platforms. The costs of a task follow published figures (0.87 µs per submit, 0.8 µs to switch a core to another
// task); those of instructions are the order of magnitude of the hardware.
var machines = map[string]struct {
	clusters, deviceClusters int // of the reference's simulator, and of the biggest device
	costs                    Costs
}{
	"a2a3": {8, 24, Costs{Submit: 900, Access: 200, Launch: 800, Op: 20, Bytes: 50, Vector: 400, Multiply: 7000}},
	"a5":   {8, 36, Costs{Submit: 900, Access: 200, Launch: 800, Op: 20, Bytes: 80, Vector: 800, Multiply: 14000}},
}

// PlatformCosts are the costs of a platform ("" is a2a3); none for an unknown one.
func PlatformCosts(platform string) Costs { return machines[cmp.Or(platform, defaultPlatform)].costs }

// time is how long a core is taken by a call that did w.
func (c *Costs) time(w *Work) uint64 {
	t := c.Launch + w.Ops*c.Op
	for _, x := range [...][2]uint64{{w.Bytes, c.Bytes}, {w.Vector, c.Vector}, {w.Multiply, c.Multiply}} {
		if x[1] > 0 {
			t += x[0] / x[1]
		}
	}
	return t
}

// workOf estimates the call of a kernel whose runner says nothing: all arguments are moved once, and every byte of the written ones is computed.
func workOf(args []Arg) Work {
	w := Work{Ops: 1}
	for i := range args {
		x := &args[i].Tensor
		n := x.NumElems() * uint64(x.DType.Bytes())
		w.Bytes += n
		if args[i].Tag != Input && args[i].Tag != NoDep {
			w.Vector += n
		}
	}
	return w
}

// callTime is how long a call that has ended takes.
func (r *Runtime) callTime(c *KernelCall) uint64 {
	if n := len(r.kernelTimes); n > 0 && int(c.Kernel) < n && r.kernelTimes[c.Kernel] > 0 {
		return r.kernelTimes[c.Kernel]
	}
	if c.Work == (Work{}) && r.cfg.Kernels != nil {
		c.Work = workOf(c.Args)
	}
	return r.costs.time(&c.Work)
}
