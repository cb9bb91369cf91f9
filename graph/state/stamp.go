package state

import (
	"syscall"
	"time"
	"unsafe"
)

// Stamp is what the file system says of a file, folded into a number: size, times of content and inode, and inode. A file whose stamp is the recorded one
// has the recorded content; one whose stamp differs, in whatever direction, has to be looked at. ctime is in it because mtime can be set at will.
type Stamp uint64

const (
	// Unknown is the stamp of what has to be looked at again: it equals that of no file.
	Unknown Stamp = 0
	// Absent is the stamp of what is not there.
	Absent Stamp = 1
)

// granularity is how far apart two writes must be to be sure to have different times: the kernel stamps files with the time of its last tick, 10 ms at
// most. File systems that keep whole seconds only are noticed by their times.
const (
	granularity       = 20 * time.Millisecond
	coarseGranularity = 2 * time.Second
)

// Racy reports whether a file that changed at t may change again, after it was looked at at now, without its times changing (the "racily clean" entries
// of git). Times in the future, after the clock was set back, are racy until the clock has passed them.
func Racy(t, now time.Time) bool {
	g := granularity
	if t.Nanosecond() == 0 {
		g = coarseGranularity
	}
	return !t.Before(now.Add(-g))
}

// Info is a stamp and the time of the last change behind it.
type Info struct {
	Stamp   Stamp
	Changed time.Time
	Dir     bool
	Size    int64
}

// Settled is the stamp when the file can no longer change without a change of it, else Unknown. now is a time before the file was looked at.
func (i Info) Settled(now time.Time) Stamp {
	if i.Stamp != Absent && Racy(i.Changed, now) {
		return Unknown
	}
	return i.Stamp
}

func infoOf(st *syscall.Stat_t) Info {
	m, c := time.Unix(st.Mtim.Unix()), time.Unix(st.Ctim.Unix())
	i := Info{Stamp: stampOf(st), Changed: m, Dir: st.Mode&syscall.S_IFMT == syscall.S_IFDIR, Size: st.Size}
	if c.After(m) {
		i.Changed = c
	}
	return i
}

// stampOf folds the fields with the finaliser of splitmix64 between them.
func stampOf(st *syscall.Stat_t) Stamp {
	h := uint64(st.Mode & syscall.S_IFMT)
	for _, x := range [...]uint64{uint64(st.Size), uint64(st.Mtim.Nano()), uint64(st.Ctim.Nano()), st.Ino} {
		h = mix(h ^ x)
	}
	return Stamp(max(h, uint64(Absent)+1))
}

func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// A Root looks at files by their path from a folder.
type Root struct{ fd int }

// OpenRoot opens a folder.
func OpenRoot(dir string) (*Root, error) {
	fd, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &Root{fd}, nil
}

// Close frees the folder.
func (r *Root) Close() { _ = syscall.Close(r.fd) } // opened for reading: nothing can be lost

// Stamp looks at a path that ends in a zero byte; what cannot be looked at is absent. Links are followed: what they lead to is what builds read.
func (r *Root) Stamp(path []byte) Stamp {
	var st syscall.Stat_t
	if !r.stat(path, &st) {
		return Absent
	}
	return stampOf(&st)
}

// Look looks at a path.
func (r *Root) Look(path string) Info {
	var st syscall.Stat_t
	if !r.stat(append([]byte(path), 0), &st) {
		return Info{Stamp: Absent}
	}
	return infoOf(&st)
}

func (r *Root) stat(path []byte, st *syscall.Stat_t) bool {
	for {
		_, _, e := syscall.Syscall6(sysFstatat, uintptr(r.fd), uintptr(unsafe.Pointer(&path[0])), uintptr(unsafe.Pointer(st)), 0, 0, 0)
		if e != syscall.EINTR {
			return e == 0
		}
	}
}

// LookFile looks at an open file.
func LookFile(fd uintptr) Info {
	var st syscall.Stat_t
	if syscall.Fstat(int(fd), &st) != nil {
		return Info{Stamp: Unknown}
	}
	return infoOf(&st)
}

// LookAt looks at a path of the whole file system.
func LookAt(path string) Info {
	var st syscall.Stat_t
	if syscall.Stat(path, &st) != nil {
		return Info{Stamp: Absent}
	}
	return infoOf(&st)
}
