package graph

import (
	"os"
	"syscall"
)

// umask is the process's file creation mask: a file renamed into place should have the mode it would have had if made directly.
var umask = func() os.FileMode {
	m := syscall.Umask(0)
	syscall.Umask(m)
	return os.FileMode(m)
}()
