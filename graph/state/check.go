package state

import (
	"cmp"
	"os"
	"runtime"
	"slices"
	"sync"
)

// Changes are the places of a state whose stamps the file system no longer confirms.
type Changes struct {
	Files, Dirs []int      // indexes
	Outputs     []TargetAt // targets with such outputs
}

// TargetAt is the place of a target in Sources.
type TargetAt struct{ Source, Unit, Target int }

// None reports that everything is as it was.
func (c *Changes) None() bool { return len(c.Files)+len(c.Dirs)+len(c.Outputs) == 0 }

// A check looks at the parts of a state as they are handed to it, on all cores.
type check struct {
	s        *State
	root     *Root
	outDir   string
	selected func(source string) bool

	parts chan part
	wg    sync.WaitGroup
	mu    sync.Mutex // guards found
	found Changes
}

// part is a stretch of one of the lists of a state.
type part struct {
	list        byte // 'f', 'd' or 's'
	first, last int
}

const partSize = 64

func (s *State) startCheck(root *Root, outDir string, selected func(source string) bool) *check {
	c := &check{s: s, root: root, outDir: outDir, selected: selected, parts: make(chan part, 256)}
	for range runtime.GOMAXPROCS(0) {
		c.wg.Go(c.work)
	}
	return c
}

// add hands over a stretch of a list that is complete up to last.
func (c *check) add(list byte, first, last int) {
	for ; first < last; first += partSize {
		c.parts <- part{list, first, min(first+partSize, last)}
	}
}

// end waits for the results.
func (c *check) end() *Changes {
	close(c.parts)
	c.wg.Wait()
	slices.Sort(c.found.Files)
	slices.Sort(c.found.Dirs)
	slices.SortFunc(c.found.Outputs, func(a, b TargetAt) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Unit, b.Unit), cmp.Compare(a.Target, b.Target))
	})
	return &c.found
}

func (c *check) work() {
	var mine Changes
	buf := make([]byte, 0, 256)
	for p := range c.parts {
		for i := p.first; i < p.last; i++ {
			switch p.list {
			case 'f':
				f := &c.s.Files[i]
				if f.Stamp == Unknown || c.root.Stamp(append(append(buf, f.Path...), 0)) != f.Stamp {
					mine.Files = append(mine.Files, i)
				}
			case 'd':
				d := &c.s.Dirs[i]
				if d.Stamp == Unknown || c.root.Stamp(dirPath(buf, d.Path)) != d.Stamp {
					mine.Dirs = append(mine.Dirs, i)
				}
			default:
				if src := &c.s.Sources[i]; c.selected(src.Path) {
					mine.Outputs = append(mine.Outputs, src.check(c.root, i, buf, c.outDir)...)
				}
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	all := &c.found
	all.Files, all.Dirs, all.Outputs = append(all.Files, mine.Files...), append(all.Dirs, mine.Dirs...), append(all.Outputs, mine.Outputs...)
}

// Check looks at every file and folder, and at the outputs of the sources that are selected. outDir holds the outputs:
// outDir/<source without .py>/<function>/<output>.
func (s *State) Check(root *Root, outDir string, selected func(source string) bool) *Changes {
	c := s.startCheck(root, outDir, selected)
	c.add('f', 0, len(s.Files))
	c.add('d', 0, len(s.Dirs))
	c.add('s', 0, len(s.Sources))
	return c.end()
}

// Load reads a file that Write wrote and checks the state in it; nil when there is none that can be used. Looking at files begins while the rest is read.
func Load(name string, root *Root, outDir string, selected func(source string) bool) (*State, *Changes) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, nil
	}
	s := &State{}
	check := s.startCheck(root, outDir, selected)
	err = decode(b, s, check.add)
	changes := check.end()
	if err != nil {
		return nil, nil
	}
	return s, changes
}

func dirPath(buf []byte, path string) []byte {
	if path == "" {
		path = "."
	}
	return append(append(buf, path...), 0)
}

func (src *Source) check(root *Root, index int, buf []byte, outDir string) (changed []TargetAt) {
	buf = append(append(buf, outDir...), '/')
	buf = append(append(buf, src.Path[:len(src.Path)-len(".py")]...), '/')
	for ui := range src.Units {
		for ti := range src.Units[ui].Targets {
			t := &src.Units[ui].Targets[ti]
			dir := append(append(buf, t.Func...), '/')
			for oi := range t.Outputs {
				o := &t.Outputs[oi]
				if root.Stamp(append(append(dir, o.Path...), 0)) != o.Stamp {
					changed = append(changed, TargetAt{index, ui, ti})
					break
				}
			}
		}
	}
	return changed
}
