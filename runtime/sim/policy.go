package sim

// String is the name of a policy on the command line and in reports.
func (p Policy) String() string {
	if int(p) < len(policyNames) {
		return policyNames[p]
	}
	return "unknown"
}

var policyNames = [...]string{FIFO: "fifo", LIFO: "lifo", Random: "random", Sequential: "sequential", Newest: "newest", Late: "late"}
