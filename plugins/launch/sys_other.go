//go:build !linux

package launch

import (
	"os"
	"syscall"
)

func sysProcAttr() *syscall.SysProcAttr { return nil }

// Early: see sys_linux.go.
const Early = false

// Inherited is of use only with Early.
func Inherited(fd int) *os.File { return os.NewFile(uintptr(fd), "inherited") }

func kill(p *os.Process) error { return p.Kill() }

// limitMemory has no counterpart for another process here.
func limitMemory(int, int64) {}
