//go:build !unix

package client

import "syscall"

func ownGroup() *syscall.SysProcAttr { return nil }
