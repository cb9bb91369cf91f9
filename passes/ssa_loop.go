package passes

import (
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

func (s *ssa) forStmt(st *ir.For) ir.Stmt {
	c := *st
	c.Start, c.Stop, c.Step = s.use(st.Start), s.use(st.Stop), s.use(st.Step)
	c.Attrs, _ = rewriteAttrs(&s.rw, st.Attrs)
	n, known := constTrips(st)
	l := s.enterLoop(st, st.Carries, known && n > 0)
	v := s.vars[st.Var]
	c.Var = s.version(v, "idx", s.typ(st.Var.Typ), st.Var.Pos)
	s.assign(v, c.Var)
	c.Body = s.block(st.Body, true)
	s.at = st
	c.Body, c.Carries = s.leaveLoop(l, c.Body)
	return &c
}

func (s *ssa) whileStmt(st *ir.While) ir.Stmt {
	c := *st
	l := s.enterLoop(st, st.Carries, false)
	c.Cond = s.use(st.Cond)
	c.Body = s.block(st.Body, true)
	s.at = st
	c.Body, c.Carries = s.leaveLoop(l, c.Body)
	return &c
}

// loop is a loop under conversion.
type loop struct {
	st       ir.Stmt
	explicit int
	carries  []ir.Carry
	implicit []*variable
	results  []*variable // of the explicit carries
	mark     int
}

// enterLoop decides what the loop carries and makes the versions inside current.
func (s *ssa) enterLoop(st ir.Stmt, explicit []ir.Carry, runs bool) *loop {
	l := &loop{st: st, explicit: len(explicit)}
	for _, c := range explicit {
		l.carries = append(l.carries, ir.Carry{Init: s.use(c.Init), Class: c.Class, Slots: c.Slots})
	}
	var seeded []*variable
	for _, d := range s.facts[st].defs {
		switch {
		case d.variable.cur != nil && (d.live || d.read):
			l.implicit = append(l.implicit, d.variable)
		case d.variable.cur == nil && d.live && !d.early && !d.lost:
			seeded = append(seeded, d.variable)
		}
	}
	sortByName(l.implicit)
	sortByName(seeded)
	inits := make([]ir.Expr, 0, len(l.implicit)+len(seeded))
	for _, v := range l.implicit {
		inits = append(inits, v.cur)
	}
	for _, v := range seeded {
		if init := s.seed(v, st, runs); init != nil {
			l.implicit, inits = append(l.implicit, v), append(inits, init)
		}
	}

	if s.ctx.Explain != nil && len(l.implicit) > 0 {
		s.ctx.Notef(st.Span(), "the loop carries %s", quoted(l.implicit))
	}

	l.mark = len(s.undo)
	for i, c := range explicit {
		v := s.vars[c.Iter]
		t := s.typ(c.Iter.Typ)
		if it := l.carries[i].Init.Type(); isShaped(it) {
			t = it
		}
		l.carries[i].Iter = s.version(v, "iter", t, c.Iter.Pos)
		r := s.vars[c.Result]
		l.carries[i].Result = s.version(r, "rv", t, c.Result.Pos)
		l.results = append(l.results, r)
	}
	for i, v := range l.implicit {
		t := inits[i].Type()
		l.carries = append(l.carries, ir.Carry{
			Init:   inits[i],
			Iter:   s.version(v, "iter", t, st.Span()),
			Result: s.version(v, "rv", t, st.Span()),
		})
	}
	for i, c := range explicit {
		s.assign(s.vars[c.Iter], l.carries[i].Iter)
	}
	for i, v := range l.implicit {
		s.assign(v, l.carries[l.explicit+i].Iter)
	}
	return l
}

// leaveLoop appends the carried versions to the yield of the body and makes the results current.
func (s *ssa) leaveLoop(l *loop, body ir.Block) (ir.Block, []ir.Carry) {
	s.checkYield(body, l.explicit, l.st, "the loop")
	extra := make([]ir.Expr, len(l.implicit))
	for i, v := range l.implicit {
		extra[i] = s.read(v.src)
		if v.cur == nil {
			s.unset(v)
		} else {
			s.checkSame(v, l.carries[l.explicit+i].Iter, v.cur, "before the loop", "at the end of its body", l.st)
		}
	}
	s.leave(l.mark, "a loop", l.st)
	for i, r := range l.results {
		s.assign(r, l.carries[i].Result)
	}
	for i, v := range l.implicit {
		s.assign(v, l.carries[l.explicit+i].Result)
	}
	if len(l.carries) > 0 {
		body = addYield(body, extra, l.st.Span())
	}
	return body, l.carries
}

// quoted lists the names of variables.
func quoted(vs []*variable) string {
	names := make([]string, len(vs))
	for i, v := range vs {
		names[i] = "'" + v.src.Hint + "'"
	}
	return strings.Join(names, ", ")
}

// seed finds a start value for a variable that a loop sets first and that is read after it; nil when there is none.
func (s *ssa) seed(v *variable, st ir.Stmt, runs bool) ir.Expr {
	t := s.typ(v.src.Typ)
	name := v.src.Hint
	none := func(hint string, args ...any) ir.Expr {
		v.told = true
		s.ctx.Report(diag.Errorf(codeNeverSeeded, st.Span(),
			"'%s' is first assigned inside this loop and read after it: it would be used outside its defining scope", name).WithHint(hint, args...))
		return nil
	}
	if ir.IsTaskID(t) || ir.IsTaskIDArray(t) {
		return none("write `%s = None` before the loop to say that there may be no task, or collect the ids in a pl.array of TaskIds", name)
	}
	if x := s.standIn(v); x != nil {
		if !runs {
			what := "0"
			if from, ok := x.(*ir.Var); ok {
				what = "'" + ir.BaseName(from.Hint) + "'"
			}
			s.ctx.Report(diag.Warningf(codeSeeded, st.Span(), "'%s' is read after this loop, which may not set it; %s stands in for it then", name, what).
				WithHint("give '%s' a value before the loop", name))
		}
		return x
	}
	return none("give '%s' a value before the loop", name)
}

// standIn gives a value of the type of v for a place where it has none and that is not read: nil when there is none.
func (s *ssa) standIn(v *variable) ir.Expr {
	at := v.src.Pos
	switch t := s.typ(v.src.Typ).(type) {
	case *ir.ScalarType:
		switch {
		case t.DType == ir.TASK_ID:
			return &ir.OpCall{Op: "system.task_invalid", Typ: t, Pos: at}
		case t.DType == ir.BOOL:
			return &ir.ConstBool{Pos: at}
		case t.DType.IsFloat():
			return &ir.ConstFloat{DType: t.DType, Pos: at}
		}
		return &ir.ConstInt{DType: t.DType, Pos: at}
	case *ir.TensorType, *ir.TileType:
		if from := s.sameType(t); from != nil {
			return from
		}
	}
	return nil
}

// sameType finds the value that may stand in for one of type t: an Out or InOut parameter, else the first variable that has a value.
func (s *ssa) sameType(t ir.Type) *ir.Var {
	for i, p := range s.f.Params {
		if v := s.vars[p.Var]; p.Dir != ir.In && v.cur != nil && ir.EqualTypes(s.params[i].Var.Typ, t) && ir.EqualTypes(v.cur.Typ, t) {
			return v.cur
		}
	}
	var best *variable
	for _, v := range s.vars {
		if v.cur != nil && (best == nil || v.order < best.order) && ir.EqualTypes(v.cur.Typ, t) {
			best = v
		}
	}
	if best == nil {
		return nil
	}
	return best.cur
}
