package launch

import (
	"os"
	"syscall"
	"unsafe"
)

// Early says that a plugin may be started by one program and taken over by another, both of which it does not outlive.
const Early = true

// sysProcAttr puts a plugin into a process group of its own, out of the reach of Ctrl-C, and lets it end with its host.
func sysProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// Inherited is the end of a pipe that the parent handed over, with deadlines. Plugins do not get it in turn.
func Inherited(fd int) *os.File {
	syscall.CloseOnExec(fd)
	_ = syscall.SetNonblock(fd, true) // without it there are no deadlines
	return os.NewFile(uintptr(fd), "inherited")
}

// kill ends a plugin and what it started.
func kill(p *os.Process) error {
	if err := p.Kill(); err != nil {
		return err
	}
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL) // its group is empty when it started nothing
	return nil
}

// limitMemory bounds the private memory that a process may ask for. Address space alone does not count: the runtime of Go reserves much more than it
// uses. A process that is gone already needs no limit.
func limitMemory(pid int, bytes int64) {
	const rlimitData = 2
	lim := syscall.Rlimit{Cur: uint64(bytes), Max: uint64(bytes)}
	_, _, _ = syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), rlimitData, uintptr(unsafe.Pointer(&lim)), 0, 0, 0)
}
