package passes

import "github.com/ptobuild/ptobuild/ir"

// flow holds, for one function before SSA, which Vars each compound statement assigns, which of them are read inside before they are assigned,
// and which are read afterwards. ConvertToSSA asks it which variables a loop has to carry and which an if has to merge.
//
// Everything is exact along the structured control flow: a loop may run zero times unless its bounds say otherwise, a branch may
// not be taken, and an assignment before the next read ends a value's life. The work is linear in the size of the function times its nesting depth.
type flow struct {
	vars  map[*ir.Var]*variable
	facts map[ir.Stmt]*facts
	epoch int32
	log   []liveness
}

// variable is one Var of the source and what is known of it while passing over the function.
type variable struct {
	src   *ir.Var
	order int // of first appearance

	// of flow
	live                        bool
	assigned, must, read, early int32 // epochs of the block being summarised

	// of ConvertToSSA
	cur   *ir.Var // the version that a read gets here, nil: none
	next  int     // number of the next version
	place string  // why cur is nil: where it was set
	at    ir.Stmt
	lost  bool // it was set on some path to here
	told  bool // a missing value was reported once
}

// facts are the facts of one compound statement.
type facts struct {
	defs  []def       // assigned inside, in order of first assignment; loop variables, Iter Vars and results are not among them
	must  []*variable // assigned whichever way control goes through
	read  []*variable // may be read inside before they are assigned inside
	early []*variable // of read: with no assignment before the read, on no path
}

type def struct {
	*variable
	read  bool // may be read inside before it is assigned there
	early bool // is read inside before any assignment to it there
	live  bool // may be read after the statement before it is assigned again
}

type liveness struct {
	v   *variable
	old bool
}

// analyse computes the facts of every compound statement of f.
func analyse(f *ir.Function) *flow {
	fl := &flow{vars: make(map[*ir.Var]*variable, 16), facts: map[ir.Stmt]*facts{}}
	for _, p := range f.Params {
		fl.declare(p.Var)
	}
	compound := fl.collect(f.Body)
	if compound {
		for _, s := range f.Body {
			fl.summarise(s)
		}
		fl.liveBlock(f.Body)
	}
	return fl
}

func (fl *flow) declare(v *ir.Var) {
	if v != nil && fl.vars[v] == nil {
		fl.vars[v] = &variable{src: v, order: len(fl.vars)}
	}
}

// collect declares every Var that the function assigns and reports whether there are nested blocks.
func (fl *flow) collect(b ir.Block) bool {
	compound := false
	for _, s := range b {
		switch s := s.(type) {
		case *ir.Assign:
			fl.declare(s.Var)
		case *ir.If:
			compound = true
			fl.collect(s.Then)
			fl.collect(s.Else)
			for _, v := range s.Results {
				fl.declare(v)
			}
		case *ir.For:
			compound = true
			fl.declare(s.Var)
			fl.declareCarries(s.Carries)
			fl.collect(s.Body)
		case *ir.While:
			compound = true
			fl.declareCarries(s.Carries)
			fl.collect(s.Body)
		case *ir.Scope:
			compound = true
			fl.collect(s.Body)
			fl.declare(s.TaskID)
		}
	}
	return compound
}

func (fl *flow) declareCarries(cs []ir.Carry) {
	for _, c := range cs {
		fl.declare(c.Iter)
		fl.declare(c.Result)
	}
}

// summarise computes the facts of s, inner statements first.
func (fl *flow) summarise(s ir.Stmt) {
	blocks := ir.Blocks(s)
	if blocks == nil {
		return
	}
	f := &facts{}
	fl.facts[s] = f
	for _, b := range blocks {
		for _, n := range b {
			fl.summarise(n)
		}
	}
	switch s := s.(type) {
	case *ir.If:
		sum := newSummary(fl)
		sum.block(s.Then)
		then := sum.take()
		sum.block(s.Else)
		els := sum.take()
		fl.union(f, then, els)
	case *ir.For:
		sum := newSummary(fl)
		sum.hide(s.Var)
		sum.hideIters(s.Carries)
		sum.block(s.Body)
		*f = sum.take()
		if n, ok := constTrips(s); !ok || n == 0 {
			f.must = nil
		}
	case *ir.While:
		sum := newSummary(fl)
		sum.hideIters(s.Carries)
		sum.reads(s.Cond)
		sum.block(s.Body)
		*f = sum.take()
		f.must = nil
	case *ir.Scope:
		sum := newSummary(fl)
		sum.block(s.Body)
		*f = sum.take()
	}
}

// union merges the facts of two branches.
func (fl *flow) union(f *facts, a, b facts) {
	fl.epoch++
	for _, v := range a.read {
		v.read = fl.epoch
	}
	f.read = a.read
	for _, v := range b.read {
		if v.read != fl.epoch {
			v.read = fl.epoch
			f.read = append(f.read, v)
		}
	}
	for _, v := range a.early {
		v.early = fl.epoch
	}
	f.early = a.early
	for _, v := range b.early {
		if v.early != fl.epoch {
			v.early = fl.epoch
			f.early = append(f.early, v)
		}
	}
	f.defs = a.defs
	for _, d := range f.defs {
		d.assigned = fl.epoch
	}
	for _, d := range b.defs {
		if d.assigned != fl.epoch {
			d.assigned = fl.epoch
			f.defs = append(f.defs, d)
		}
	}
	fl.flagReads(f)
	for _, v := range a.must {
		v.must = fl.epoch
	}
	for _, v := range b.must {
		if v.must == fl.epoch {
			f.must = append(f.must, v)
		}
	}
}

// flagReads notes at the definitions of f which Vars are read before.
func (fl *flow) flagReads(f *facts) {
	for i, d := range f.defs {
		f.defs[i].read = d.variable.read == fl.epoch
		f.defs[i].early = d.variable.early == fl.epoch
	}
}

// summary collects the facts of one block. Inner statements must have theirs already, so that epochs do not nest.
type summary struct {
	fl     *flow
	hidden []*variable
	f      facts
}

func newSummary(fl *flow) *summary {
	fl.epoch++
	return &summary{fl: fl}
}

// hide marks a Var that the statement itself defines for its block: neither read from outside nor assigned for outside.
func (s *summary) hide(v *ir.Var) {
	if x := s.fl.vars[v]; x != nil {
		x.must, x.assigned = s.fl.epoch, s.fl.epoch
		s.hidden = append(s.hidden, x)
	}
}

func (s *summary) hideIters(cs []ir.Carry) {
	for _, c := range cs {
		s.hide(c.Iter)
	}
}

// take returns the facts collected so far and starts afresh.
func (s *summary) take() facts {
	f := s.f
	s.fl.flagReads(&f)
	s.f, s.hidden = facts{}, nil
	s.fl.epoch++
	return f
}

func (s *summary) readVar(x *variable, early bool) {
	if x.must != s.fl.epoch && x.read != s.fl.epoch {
		x.read = s.fl.epoch
		s.f.read = append(s.f.read, x)
	}
	if early && x.assigned != s.fl.epoch && x.early != s.fl.epoch {
		x.early = s.fl.epoch
		s.f.early = append(s.f.early, x)
	}
}

func (s *summary) visit(e ir.Expr) bool {
	if v, ok := e.(*ir.Var); ok {
		if x := s.fl.vars[v]; x != nil {
			s.readVar(x, true)
		}
	}
	return true
}

func (s *summary) reads(e ir.Expr) { ir.Walk(e, s.visit) }

func (s *summary) assign(x *variable) {
	if x.assigned != s.fl.epoch {
		x.assigned = s.fl.epoch
		s.f.defs = append(s.f.defs, def{variable: x})
	}
}

func (s *summary) mustAssign(x *variable) {
	if x.must != s.fl.epoch {
		x.must = s.fl.epoch
		s.f.must = append(s.f.must, x)
	}
}

func (s *summary) block(b ir.Block) {
	for _, st := range b {
		if w, ok := st.(*ir.While); ok { // the condition reads inside, see facts
			for _, c := range w.Carries {
				s.reads(c.Init)
			}
		} else {
			ir.Exprs(st, s.visit)
		}
		if f := s.fl.facts[st]; f != nil {
			for _, x := range f.read {
				s.readVar(x, false)
			}
			for _, x := range f.early {
				s.readVar(x, true)
			}
			for _, d := range f.defs {
				s.assign(d.variable)
			}
			for _, x := range f.must {
				s.mustAssign(x)
			}
		}
		for _, v := range ir.Defs(st) {
			x := s.fl.vars[v]
			s.assign(x)
			s.mustAssign(x)
		}
	}
}

func (fl *flow) set(x *variable, live bool) {
	if x.live != live {
		fl.log = append(fl.log, liveness{x, x.live})
		x.live = live
	}
}

func (fl *flow) rollback(mark int) {
	for i := len(fl.log) - 1; i >= mark; i-- {
		fl.log[i].v.live = fl.log[i].old
	}
	fl.log = fl.log[:mark]
}

func (fl *flow) markRead(e ir.Expr) bool {
	if v, ok := e.(*ir.Var); ok {
		if x := fl.vars[v]; x != nil {
			fl.set(x, true)
		}
	}
	return true
}

// liveBlock goes backwards over b with the live flags of its end and leaves those of its start.
func (fl *flow) liveBlock(b ir.Block) {
	for i := len(b) - 1; i >= 0; i-- {
		fl.liveStmt(b[i])
	}
}

func (fl *flow) liveStmt(s ir.Stmt) {
	for _, v := range ir.Defs(s) {
		fl.set(fl.vars[v], false)
	}
	f := fl.facts[s]
	if f != nil {
		for i, d := range f.defs {
			f.defs[i].live = d.variable.live
		}
	}
	switch s := s.(type) {
	case *ir.If:
		fl.liveIf(s)
	case *ir.For:
		fl.liveLoop(s.Body, f)
	case *ir.While:
		fl.liveLoop(s.Body, f)
	case *ir.Scope:
		fl.liveBlock(s.Body)
	}
	ir.Exprs(s, fl.markRead)
}

// liveLoop: what is read in the next trip or afterwards is live at the end of the body.
func (fl *flow) liveLoop(body ir.Block, f *facts) {
	mark := len(fl.log)
	for _, x := range f.read {
		fl.set(x, true)
	}
	fl.liveBlock(body)
	fl.rollback(mark)
	for _, x := range f.must {
		fl.set(x, false)
	}
	for _, x := range f.read {
		fl.set(x, true)
	}
}

// liveIf: what either branch reads is live before.
func (fl *flow) liveIf(s *ir.If) {
	mark := len(fl.log)
	fl.liveBlock(s.Then)
	type state struct {
		x    *variable
		live bool
	}
	then := make([]state, 0, len(fl.log)-mark)
	for _, c := range fl.log[mark:] {
		then = append(then, state{c.v, c.v.live})
	}
	fl.rollback(mark)
	fl.liveBlock(s.Else)
	els := fl.log[mark:len(fl.log):len(fl.log)]
	fl.epoch++
	for _, t := range then {
		t.x.read = fl.epoch
		if t.live {
			fl.set(t.x, true)
		}
	}
	for _, c := range els { // killed in the else branch alone: live again if it was live before the if's end
		if c.v.read != fl.epoch {
			c.v.read = fl.epoch // the first entry holds the state at the end
			fl.set(c.v, c.v.live || c.old)
		}
	}
}
