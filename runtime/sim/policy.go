package sim

// Policy chooses which ready task runs next, and when tasks run relative to the orchestration. FIFO and Parallel simulate the machine: tasks run at
// their virtual times, on all cores. The others run one task at a time and exist to find programs that depend on an order: whatever they
// do is an order that the graph of the program allows.
type Policy uint8

const (
	FIFO       Policy = iota // all cores, in the order in which tasks become ready
	LIFO                     // one core, what became ready last first
	Random                   // one core, a seeded choice, interleaved with the orchestration
	Sequential               // one core, every task at its submit: the reference result
	Newest                   // one core, what was submitted last first
	Late                     // one core, as OneCore, but the task whose ordinal is the seed waits until no other is ready
	OneCore                  // one core, in the order in which tasks become ready
	Parallel                 // as FIFO, with the kernels that overlap in virtual time run on all cores of the host
)

// Policies is how many policies there are.
const Policies = int(Parallel) + 1

// String is the name of a policy on the command line and in reports.
func (p Policy) String() string {
	if int(p) < len(policyNames) {
		return policyNames[p]
	}
	return "unknown"
}

var policyNames = [...]string{
	FIFO: "fifo", LIFO: "lifo", Random: "random", Sequential: "sequential", Newest: "newest-first", Late: "late", OneCore: "one-core", Parallel: "parallel",
}

// timed reports the policies that run tasks at their virtual times.
func (p Policy) timed() bool { return p == FIFO || p == Parallel }
