//go:build unix

package client

import "syscall"

// ownGroup puts the helper into a process group of its own.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
