package host

import (
	"os"
	"syscall"
)

// sysProcAttr puts a plugin into a process group of its own, out of the reach of Ctrl-C, and lets it end with its host.
func sysProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// kill ends a plugin and what it started.
func kill(p *os.Process) error {
	if err := p.Kill(); err != nil {
		return err
	}
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL) // its group is empty when it started nothing
	return nil
}
