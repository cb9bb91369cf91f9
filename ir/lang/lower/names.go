package lower

import (
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// Names of a body live in frames. Most regions leak: what a loop, a branch or a with-scope assigns is visible after it, as in Python. Loops
// with init_values and branches that end in pl.yield_ do not leak; they push a frame.
//
// A binding knows the region that made it. That tells a second assignment of the same variable (same type, or a type error) from
// the reuse of a name for something else in a later, unrelated region.

// binding is what a name stands for.
type binding struct {
	expr   ir.Expr // a *ir.Var, or the expression an alias stands for; nil when broken or gone
	region *region
	at     diag.Span
	alias  bool // stands for expr: reading gives expr itself, no statement was emitted
	broken bool // its statement failed; reading it says nothing more
	gone   *diag.Diagnostic
	value  *int64 // the value of a variable that is assigned once, to an integer literal
}

// region is a block of a body: the body itself, a loop, a branch, a with-scope.
type region struct {
	parent *region
	kind   regionKind
	at     diag.Span
}

type regionKind uint8

const (
	inBody regionKind = iota
	inLoop
	inUnroll
	inBranch
	inScope
)

// holds reports whether r is s or encloses it.
func (r *region) holds(s *region) bool {
	for ; s != nil; s = s.parent {
		if s == r {
			return true
		}
	}
	return false
}

// loopOutside returns the outermost repeated region that encloses r but not s; nil when there is none.
func (r *region) loopOutside(s *region) *region {
	var loop *region
	for ; r != nil && !r.holds(s); r = r.parent {
		if r.kind == inLoop {
			loop = r
		}
	}
	return loop
}

type frame map[string]*binding

type change struct {
	frame frame
	name  string
	old   *binding
}

// scope is the stack of frames, with a log that allows one branch of an if to be undone while the other is read.
type scope struct {
	frames []frame
	marks  []int // the length of the log when each frame was pushed
	log    []change
	// reuse holds, for each enclosing else branch, what the then branch bound: the else branch assigns the same Vars.
	reuse []frame
}

func (s *scope) push() {
	s.frames = append(s.frames, frame{})
	s.marks = append(s.marks, len(s.log))
}

// pop drops the innermost frame and returns it. What was logged since its push concerned only it.
func (s *scope) pop() frame {
	n := len(s.frames) - 1
	f := s.frames[n]
	s.log = s.log[:s.marks[n]]
	s.frames, s.marks = s.frames[:n], s.marks[:n]
	return f
}

func (s *scope) lookup(name string) *binding {
	for _, f := range slices.Backward(s.frames) {
		if b, ok := f[name]; ok {
			return b
		}
	}
	return nil
}

// set binds a name in the innermost frame.
func (s *scope) set(name string, b *binding) {
	f := s.frames[len(s.frames)-1]
	s.log = append(s.log, change{f, name, f[name]})
	f[name] = b
}

// restore puts back what lookup found before, also nothing.
func (s *scope) restore(name string, b *binding) {
	if b != nil {
		s.set(name, b)
		return
	}
	for _, f := range s.frames {
		if old := f[name]; old != nil {
			s.log = append(s.log, change{f, name, old})
			delete(f, name)
		}
	}
}

// undo takes back all bindings since mark and returns them as they were.
func (s *scope) undo(mark int) frame {
	made := frame{}
	for _, c := range slices.Backward(s.log[mark:]) {
		if b, ok := c.frame[c.name]; ok && made[c.name] == nil {
			made[c.name] = b
		}
		if c.old == nil {
			delete(c.frame, c.name)
		} else {
			c.frame[c.name] = c.old
		}
	}
	s.log = s.log[:mark]
	return made
}

// since returns the bindings made since mark.
func (s *scope) since(mark int) frame {
	made := frame{}
	for _, c := range s.log[mark:] {
		if b := c.frame[c.name]; b != nil {
			made[c.name] = b
		}
	}
	return made
}

// names lists what is visible, for suggestions.
func (s *scope) names() []string {
	var out []string
	for _, f := range s.frames {
		for n, b := range f {
			if b.expr != nil {
				out = append(out, n)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
