//go:build unix

package kit

import (
	"os"
	"syscall"
)

// stop makes a process hang.
var stop = func(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

// isRunning reports a process that exists.
func isRunning(pid int) bool {
	p, err := os.FindProcess(pid)
	return err == nil && p.Signal(syscall.Signal(0)) == nil
}
