//go:build !linux

package host

import (
	"os"
	"syscall"
)

func sysProcAttr() *syscall.SysProcAttr { return nil }

func kill(p *os.Process) error { return p.Kill() }

// limitMemory has no counterpart for another process here.
func limitMemory(int, int64) {}
