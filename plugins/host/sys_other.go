//go:build !linux

package host

import (
	"os"
	"syscall"
)

func sysProcAttr() *syscall.SysProcAttr { return nil }

func kill(p *os.Process) error { return p.Kill() }
