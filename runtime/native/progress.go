package native

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ptobuild/ptobuild/runtime/native/protocol"
)

// progressFile is the parent's side.
type progressFile struct {
	*protocol.Progress
	fence []byte // what is mapped
	file  *os.File
}

func newProgress() (*progressFile, error) {
	fd, err := unix.MemfdCreate("ptobuild-progress", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "progress")
	if err := f.Truncate(int64(unsafe.Sizeof(protocol.Progress{}))); err != nil {
		f.Close()
		return nil, err
	}
	p, fence := protocol.MapProgress(fd)
	return &progressFile{p, fence, f}, nil
}

// Close unmaps the page and closes the file.
func (p *progressFile) Close() {
	if p.fence != nil {
		_ = syscall.Munmap(p.fence) // fails only on what is not mapped
	}
	p.file.Close()
}
