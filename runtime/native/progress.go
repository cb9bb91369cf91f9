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

// memoryFile is a file without a place in a file system.
func memoryFile(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

func newProgress() (*progressFile, error) {
	f, err := memoryFile("ptobuild-progress")
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(int64(unsafe.Sizeof(protocol.Progress{}))); err != nil {
		f.Close()
		return nil, err
	}
	p, fence := protocol.MapProgress(int(f.Fd()))
	return &progressFile{p, fence, f}, nil
}

// Close unmaps the page and closes the file.
func (p *progressFile) Close() {
	if p.fence != nil {
		_ = syscall.Munmap(p.fence) // fails only on what is not mapped
	}
	p.file.Close()
}
