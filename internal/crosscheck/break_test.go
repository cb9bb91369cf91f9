package crosscheck

import (
	"fmt"
	"slices"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
)

// mutant is one change of a plan.
type mutant struct {
	kind, what string
	on, off    func()
}

// mutantsOf lists the ways to break a plan in one place:
//
//   - edge: a dependency goes;
//   - index: it names another slot of its array;
//   - carry: a TaskId is not kept for later;
//   - direction: an argument is passed with a weaker one, or as NO_DEP;
//   - untracked: a buffer becomes manual_dep;
//   - scope: a scope becomes MANUAL;
//   - bounds: a scope begins a task later, or ends a task earlier;
//   - window: a view begins an element earlier;
//   - element: an element access or a predicate names another element.
func mutantsOf(f *plan.File) []mutant {
	var ms []mutant
	add := func(kind string, at plan.Stmt, what string, on, off func()) {
		ms = append(ms, mutant{kind, fmt.Sprintf("%s: %s: %s", at.Span(), kind, what), on, off})
	}
	slots, offsets := map[*plan.Name]int64{}, map[*plan.Name]bool{}
	plan.Walk(f.Body, func(s plan.Stmt) bool {
		if s, ok := s.(*plan.DeclSlots); ok {
			slots[s.Name] = s.N
		}
		plan.Exprs(s, func(e plan.Expr) {
			if v, ok := e.(*plan.View); ok {
				offsets[v.Offsets] = true
			}
		})
		return true
	})
	deps := func(s plan.Stmt, d *plan.Deps) {
		if d == nil {
			return
		}
		all := d.Entries
		for i := range all {
			add("edge", s, fmt.Sprintf("dependency %d removed", i), func() { d.Entries = slices.Delete(slices.Clone(all), i, i+1) }, func() { d.Entries = all })
			x, ok := all[i].ID.(*plan.Elem)
			if n := slots[elemArray(x, ok)]; n > 1 {
				other := all[i]
				next := &plan.Binary{Op: ir.Add, X: x.I, Y: &plan.Int{Value: 1, DType: ir.INDEX}, DType: ir.INDEX}
				other.ID = &plan.Elem{Array: x.Array, I: &plan.Binary{Op: ir.FloorMod, X: next, Y: &plan.Int{Value: n, DType: ir.INDEX}, DType: ir.INDEX}}
				add("index", s, fmt.Sprintf("dependency %d of another slot", i), func() { d.Entries = slices.Clone(all); d.Entries[i] = other }, func() { d.Entries = all })
			}
		}
	}
	less := func(kind string, s plan.Stmt, what string, es []plan.Expr) {
		for i, e := range es {
			if n, ok := constant(e); ok && n == 0 {
				continue
			}
			add(kind, s, fmt.Sprintf("%s %d is one less", what, i), func() { es[i] = oneLess(e) }, func() { es[i] = e })
		}
	}
	weaker := map[plan.ArgTag][]plan.ArgTag{plan.Input: {plan.NoDep}, plan.InOut: {plan.OutputExisting, plan.Input, plan.NoDep}, plan.OutputExisting: {plan.Input, plan.NoDep}}
	var block func(list *[]plan.Stmt)
	block = func(list *[]plan.Stmt) {
		for at, s := range *list {
			switch s := s.(type) {
			case *plan.Task:
				deps(s, s.Deps)
				for i := range s.Args {
					old := s.Args[i].Tag
					for _, tag := range weaker[old] {
						add("direction", s, fmt.Sprintf("argument %d passed as %d, not %d", i, tag, old), func() { s.Args[i].Tag = tag }, func() { s.Args[i].Tag = old })
					}
				}
				if s.Pred != nil {
					less("element", s, "index of the predicate", s.Pred.Index)
				}
			case *plan.Dummy:
				deps(s, s.Deps)
			case *plan.Write:
				less("element", s, "index", s.Index)
			case *plan.DeclArray:
				if offsets[s.Name] {
					less("window", s, "offset", s.Elems)
				}
			case *plan.Create:
				if !s.ManualDep {
					add("untracked", s, "manual_dep", func() { s.ManualDep = true }, func() { s.ManualDep = false })
				}
			case *plan.SetElem:
				if v := s.Value; slots[s.Array] > 0 {
					add("carry", s, "not kept", func() { s.Value = &plan.Elem{Array: s.Array, I: s.I} }, func() { s.Value = v })
				}
			case *plan.Assign:
				if v := s.Value; isTaskID(v) {
					add("carry", s, "not kept", func() { s.Value = &plan.Ref{Name: s.Dst} }, func() { s.Value = v })
				}
			case *plan.Scope:
				if !s.Manual {
					set := manual(s)
					add("scope", s, "MANUAL", func() { set(true) }, func() { set(false) })
				}
				isTask := func(x plan.Stmt) bool { _, ok := x.(*plan.Task); return ok }
				outer, inner := *list, s.Body
				if k := slices.IndexFunc(inner, isTask); k >= 0 {
					add("bounds", s, "begins later", func() {
						s.Body = inner[k+1:]
						*list = slices.Insert(slices.Clone(outer), at, inner[:k+1]...)
					}, func() { s.Body, *list = inner, outer })
				}
				if k := lastIndexFunc(inner, isTask); k >= 0 {
					add("bounds", s, "ends earlier", func() {
						s.Body = inner[:k]
						*list = slices.Insert(slices.Clone(outer), at+1, inner[k:]...)
					}, func() { s.Body, *list = inner, outer })
				}
				block(&s.Body)
			case *plan.Braces:
				block(&s.Body)
			case *plan.For:
				block(&s.Body)
			case *plan.While:
				block(&s.Body)
			case *plan.If:
				block(&s.Then)
				block(&s.Else)
			}
		}
	}
	block(&f.Body)
	return ms
}

// manual changes an AUTO scope with the AUTO scopes inside of it.
func manual(s *plan.Scope) (set func(bool)) {
	var scopes []*plan.Scope
	plan.Walk([]plan.Stmt{s}, func(x plan.Stmt) bool {
		if x, ok := x.(*plan.Scope); ok && !x.Manual {
			scopes = append(scopes, x)
		}
		return true
	})
	return func(m bool) {
		for _, x := range scopes {
			x.Manual = m
		}
	}
}

func lastIndexFunc(list []plan.Stmt, f func(plan.Stmt) bool) int {
	for i := len(list) - 1; i >= 0; i-- {
		if f(list[i]) {
			return i
		}
	}
	return -1
}

func elemArray(x *plan.Elem, ok bool) *plan.Name {
	if !ok {
		return nil
	}
	return x.Array
}

func isTaskID(e plan.Expr) bool {
	_, ok := e.(*plan.TaskIDOf)
	return ok
}

func constant(e plan.Expr) (int64, bool) {
	switch e := e.(type) {
	case *plan.Uint32:
		return constant(e.X)
	case *plan.Int:
		return e.Value, true
	}
	return 0, false
}

// oneLess is max(e - 1, 0).
func oneLess(e plan.Expr) plan.Expr {
	if u, ok := e.(*plan.Uint32); ok {
		return &plan.Uint32{X: oneLess(u.X)}
	}
	one, zero := &plan.Int{Value: 1, DType: ir.INDEX}, &plan.Int{DType: ir.INDEX}
	return &plan.Binary{Op: ir.Max, X: &plan.Binary{Op: ir.Sub, X: e, Y: one, DType: ir.INDEX}, Y: zero, DType: ir.INDEX}
}
