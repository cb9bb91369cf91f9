package state

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// A Glance is all of the file that a build with nothing to do needs: every path that was read, listed or written with its stamp, and what there is to tell of
// each target. It comes first in the file, in stretches that cores take one after the other and decode only while they look at the paths in them; nothing
// else is decoded, and nothing is made of it but a list of targets.
type Glance struct {
	Tool    string
	Exe     Stamp
	Request Digest
	Partial bool // as in State

	stretches []stretch
}

// stretch is a part of one of the lists of a state.
type stretch struct {
	list     byte // 'f', 'd' or 's'
	first, n int
	b        []byte
}

// Elements of a stretch: about as many paths each. A source has several outputs.
const (
	pathsInStretch   = 256
	sourcesInStretch = 64
)

// Known is what a glance tells of a target, or of its source when Func is "".
type Known struct {
	Source, Func string
	Built        bool   // without errors: as it should be, unless something changed
	Warnings     []byte // reports, as JSON
}

// glance writes what Glance reads.
func (s *State) glance() []byte {
	c := &coder{b: make([]byte, 0, 64*len(s.Files)+160*len(s.Sources)), write: true}
	tool := s.Tool
	c.text(&tool)
	c.stamp(&s.Exe)
	c.digest(&s.Request)
	c.flag(&s.Partial)
	stretches(c, 'f', pathsInStretch, s.Files, func(c *coder, f *File) { c.path(f.Path, f.Stamp) })
	stretches(c, 'd', pathsInStretch, s.Dirs, func(c *coder, d *Dir) { c.path(dirPath(d.Path), d.Stamp) })
	stretches(c, 's', sourcesInStretch, s.Sources, func(c *coder, src *Source) {
		c.text(&src.Path)
		c.length(len(src.Units))
		for ui := range src.Units {
			u := &src.Units[ui]
			c.flag(&u.Stale)
			c.bytes(&u.Warnings)
			c.length(len(u.Targets))
			for ti := range u.Targets {
				t := &u.Targets[ti]
				built := t.Built()
				c.text(&t.Func)
				c.flag(&built)
				c.bytes(&t.Warnings)
				c.length(len(t.Outputs))
				for oi := range t.Outputs {
					c.path(t.Outputs[oi].Path, t.Outputs[oi].Stamp)
				}
			}
		}
	})
	return c.b
}

func stretches[T any](c *coder, list byte, size int, all []T, f func(*coder, *T)) {
	part := &coder{write: true}
	for len(all) > 0 {
		n := min(size, len(all))
		part.b = part.b[:0]
		for i := range n {
			f(part, &all[i])
		}
		c.byte(&list)
		c.length(n)
		c.bytes(&part.b)
		all = all[n:]
	}
}

// readGlance reads what glance wrote, but not what is in the stretches. The glance keeps b.
func readGlance(b []byte) (*Glance, bool) {
	g := &Glance{}
	c := &coder{b: b}
	c.text(&g.Tool)
	c.stamp(&g.Exe)
	c.digest(&g.Request)
	c.flag(&g.Partial)
	at := map[byte]int{}
	for !c.bad && len(c.b) > 0 {
		var s stretch
		c.byte(&s.list)
		s.n = c.count()
		c.bytes(&s.b)
		s.first = at[s.list]
		at[s.list] += s.n
		g.stretches = append(g.stretches, s)
	}
	return g, !c.bad
}

// Changes are the places of a state whose stamps the file system no longer confirms.
type Changes struct {
	Files, Dirs []int      // indexes
	Outputs     []TargetAt // targets with such outputs
}

// TargetAt is the place of a target in Sources.
type TargetAt struct{ Source, Unit, Target int }

// None reports that everything is as it was.
func (c *Changes) None() bool { return len(c.Files)+len(c.Dirs)+len(c.Outputs) == 0 }

// lookers is how many goroutines look at files at least: more than cores, since some will wait for a disk or a server.
const lookers = 8

// Check looks at every file and folder, and at the outputs of the sources that are selected. outDir holds the outputs:
// outDir/<source without .py>/<function>/<output>. It also lists the targets of those sources, in order.
func (g *Glance) Check(root *Root, outDir string, selected func(source string) bool) (*Changes, []Known, error) {
	looks := make([]look, len(g.stretches))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(max(lookers, runtime.GOMAXPROCS(0)), len(looks)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(looks)); i = next.Add(1) - 1 {
				l := &looks[i]
				l.root, l.at, l.c.b = root, g.stretches[i].first, g.stretches[i].b
				for range g.stretches[i].n {
					switch g.stretches[i].list {
					case 'f':
						if !l.same() {
							l.Files = append(l.Files, l.at)
						}
					case 'd':
						if !l.same() {
							l.Dirs = append(l.Dirs, l.at)
						}
					default:
						l.source(outDir, selected)
					}
					l.at++
				}
				l.c.bad = l.c.bad || len(l.c.b) > 0
			}
		})
	}
	wg.Wait()
	changes, known, n := &Changes{}, []Known(nil), 0
	for i := range looks {
		n += len(looks[i].known)
	}
	known = make([]Known, 0, n)
	for i := range looks {
		l := &looks[i]
		if l.c.bad {
			return nil, nil, errMalformed
		}
		changes.Files, changes.Dirs, changes.Outputs = append(changes.Files, l.Files...), append(changes.Dirs, l.Dirs...), append(changes.Outputs, l.Outputs...)
		known = append(known, l.known...)
	}
	return changes, known, nil
}

// Check is that of a glance at the state.
func (s *State) Check(root *Root, outDir string, selected func(source string) bool) *Changes {
	g, ok := readGlance(s.glance())
	if ok {
		if changes, _, err := g.Check(root, outDir, selected); err == nil {
			return changes
		}
	}
	panic("a glance at a state does not read back")
}

// look is what was found in a stretch.
type look struct {
	Changes
	known []Known

	root *Root
	at   int // index in the list
	c    coder
	buf  [512]byte
}

// same reads a path and its stamp, and reports whether the file still has it.
func (l *look) same() bool {
	name, stamp := l.c.pathAndStamp()
	return name != nil && l.root.Stamp(name) == stamp
}

func (l *look) source(outDir string, selected func(string) bool) {
	c := &l.c
	k := Known{}
	c.text(&k.Source)
	if len(k.Source) < len(".py") {
		c.bad = true
		return
	}
	asked := selected(k.Source)
	units := c.count()
	if units == 0 && asked { // it was never built
		l.known = append(l.known, k)
	}
	dir := append(append(l.buf[:0], outDir...), '/')
	dir = append(append(dir, k.Source[:len(k.Source)-len(".py")]...), '/')
	for ui := range units {
		stale := false
		c.flag(&stale)
		k.Func, k.Built, k.Warnings = "", !stale, nil
		c.bytes(&k.Warnings)
		if asked && (stale || len(k.Warnings) > 0) {
			l.known = append(l.known, k)
		}
		for ti := range c.count() {
			c.text(&k.Func)
			c.flag(&k.Built)
			k.Warnings = nil
			c.bytes(&k.Warnings)
			same := true
			outputs := append(append(dir, k.Func...), '/')
			for range c.count() {
				name, stamp := c.pathAndStamp()
				same = same && (!asked || name != nil && l.root.Stamp(append(outputs, name...)) == stamp)
			}
			if c.bad {
				return
			}
			if asked {
				l.known = append(l.known, k)
			}
			if !same {
				l.Outputs = append(l.Outputs, TargetAt{l.at, ui, ti})
			}
		}
	}
}

func dirPath(path string) string {
	if path == "" {
		return "."
	}
	return path
}

// path writes a path as system calls want it, with a zero byte at its end, and its stamp.
func (c *coder) path(p string, s Stamp) {
	c.length(len(p) + 1)
	c.b = append(append(c.b, p...), 0)
	c.stamp(&s)
}

// pathAndStamp reads what path wrote; nil when it is malformed.
func (c *coder) pathAndStamp() ([]byte, Stamp) {
	var b []byte
	var s Stamp
	c.bytes(&b)
	c.stamp(&s)
	if c.bad || len(b) == 0 || b[len(b)-1] != 0 {
		c.bad = true
		return nil, s
	}
	return b, s
}

func (c *coder) length(n int) {
	v := uint64(n)
	c.uint(&v)
}

// count reads a number of elements, each of which takes a byte at least.
func (c *coder) count() int {
	var n uint64
	if c.uint(&n); n > uint64(len(c.b)) {
		c.bad, c.b = true, nil
		return 0
	}
	return int(n)
}

// textOf is a text that shares the bytes of b, which nothing may write to.
func textOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
