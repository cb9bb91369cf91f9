//go:build unix

package graph

import (
	"io/fs"
	"syscall"
)

// inode is the number of a file, which a new file in its place does not have.
func inode(st fs.FileInfo) uint64 {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return s.Ino
	}
	return 0
}
