package kernels

import "github.com/ptobuild/ptobuild/ir"

// lifetimes says after which statement of its own block a variable is no longer used, so that its tile can go back to the pool at once.
type lifetimes struct {
	home  map[*ir.Var]int         // the block that assigns it, -1 when there are several
	last  map[*ir.Var]int         // the statement of that block that uses it last
	set   map[*ir.Var]bool        // while walking: its assignment was met
	away  map[*ir.Var]bool        // used where the rule does not hold
	ends  map[blockStmt][]*ir.Var // by block and statement
	ids   map[*ir.Stmt]int        // a block is known by the address of its first statement
	stack []blockStmt             // while walking: the open blocks and their current statements
}

type blockStmt struct{ block, stmt int }

func lifetimesOf(f *ir.Function) *lifetimes {
	l := &lifetimes{home: map[*ir.Var]int{}, last: map[*ir.Var]int{}, set: map[*ir.Var]bool{}, away: map[*ir.Var]bool{}, ends: map[blockStmt][]*ir.Var{}, ids: map[*ir.Stmt]int{}}
	l.assigned(f.Body)
	l.block(f.Body)
	for v, s := range l.last {
		if b := l.home[v]; b >= 0 && !l.away[v] {
			at := blockStmt{b, s}
			l.ends[at] = append(l.ends[at], v)
		}
	}
	return l
}

func (l *lifetimes) id(b ir.Block) int {
	if len(b) == 0 {
		return -1
	}
	n, ok := l.ids[&b[0]]
	if !ok {
		n = len(l.ids)
		l.ids[&b[0]] = n
	}
	return n
}

// assigned finds the block of every Assign.
func (l *lifetimes) assigned(b ir.Block) {
	for _, s := range b {
		if a, ok := s.(*ir.Assign); ok {
			if _, again := l.home[a.Var]; again {
				l.home[a.Var] = -1
			} else {
				l.home[a.Var] = l.id(b)
			}
		}
		for _, n := range ir.Blocks(s) {
			l.assigned(n)
		}
	}
}

func (l *lifetimes) block(b ir.Block) {
	l.stack = append(l.stack, blockStmt{l.id(b), 0})
	top := len(l.stack) - 1
	for k, s := range b {
		l.stack[top].stmt = k
		ir.Exprs(s, func(e ir.Expr) bool {
			if v, ok := e.(*ir.Var); ok {
				l.use(v)
			}
			return true
		})
		if a, ok := s.(*ir.Assign); ok {
			l.set[a.Var] = true
			l.use(a.Var) // when nothing follows, it ends here
		}
		for _, n := range ir.Blocks(s) {
			l.block(n)
		}
	}
	l.stack = l.stack[:top]
}

func (l *lifetimes) use(v *ir.Var) {
	home, ok := l.home[v]
	if !ok || home < 0 {
		return
	}
	if !l.set[v] { // read above its assignment: the value of an earlier trip of a loop
		l.away[v] = true
		return
	}
	for _, at := range l.stack {
		if at.block == home {
			l.last[v] = at.stmt
			return
		}
	}
	l.away[v] = true
}

// ending lists the variables whose last use is statement k of b.
func (l *lifetimes) ending(b ir.Block, k int) []*ir.Var {
	n, ok := l.ids[&b[0]]
	if !ok {
		return nil
	}
	return l.ends[blockStmt{n, k}]
}
