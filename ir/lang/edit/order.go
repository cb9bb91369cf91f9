package edit

import (
	"maps"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// Order gives edits that make the launch at the place second wait for those at first, the best first. carried: the two meet in different trips of a loop
// around both. It gives nothing when one of them has a form that cannot be changed, or when they stand in different functions.
func Order(f *syntax.File, first, second diag.Span, carried bool) []Edits {
	a, b := findLaunch(f, first), findLaunch(f, second)
	if a == nil || b == nil || a.around[0] != b.around[0] {
		return nil
	}
	var out []Edits
	for _, chain := range []bool{false, true} {
		if es, ok := order(f, a, b, carried, chain); ok {
			out = append(out, es)
		}
	}
	return out
}

// order writes the edits. With chain, the earlier launches also wait for each other from trip to trip, so that the last one stands for all.
func order(f *syntax.File, a, b *launch, carried, chain bool) (Edits, bool) {
	taken := namesIn(f)
	wa := &rewrite{file: f, l: a, taken: taken}
	wb := wa
	if a.stmt == b.stmt && b.inner != nil {
		wa.waits = b.inner
	}
	if a.stmt != b.stmt {
		wb = &rewrite{file: f, l: b, taken: taken}
	}
	if !wa.name() {
		return nil, false
	}
	// What both stand in, and what only the first stands in.
	common := 0
	for common < len(a.around) && common < len(b.around) && a.around[common] == b.around[common] {
		common++
	}
	own := a.around[common:]
	// seedAt is the statement before which the TaskId has to have a value: the loop or branch that may not have run the first launch yet.
	var seedAt syntax.Stmt
	if i := slices.IndexFunc(own, conditional); i >= 0 {
		seedAt = own[i]
	}
	if carried || a.stmt == b.stmt {
		i := slices.IndexFunc(a.around[:common], isLoop)
		if i < 0 {
			return nil, false
		}
		seedAt = a.around[i]
	}
	looped := carried || slices.ContainsFunc(own, isLoop)
	if chain && (!looped || a.inner != nil && wa != wb) {
		return nil, false
	}
	wb.deps = append(wb.deps, wa.id)
	if chain && wa != wb {
		wa.deps = append(wa.deps, wa.id)
	}
	es, ok := wa.edits()
	if !ok {
		return nil, false
	}
	if wb != wa {
		more, ok := wb.edits()
		if !ok {
			return nil, false
		}
		es = append(es, more...)
	}
	more, ok := threads(f, wa, wb, taken)
	if !ok {
		return nil, false
	}
	es = append(es, more...)
	if seedAt != nil && (wa.fresh || !boundBefore(a.around[0], wa.id, seedAt.At().Start)) {
		at := seedAt.At().Start
		es = append(es, wa.insert(at, wa.id+" = None\n"+strings.Repeat(" ", int(at.Col)-1)))
	}
	return es, true
}

// Into moves the launch at second, with all that stands between, to the end of the MANUAL scope that holds the one at first, and makes it wait there: a
// TaskId ends with the scope that it was made in.
func Into(f *syntax.File, first, second diag.Span) []Edits {
	a, b := findLaunch(f, first), findLaunch(f, second)
	if a == nil || b == nil {
		return nil
	}
	common := 0
	for common < len(a.around) && common < len(b.around) && a.around[common] == b.around[common] {
		common++
	}
	if common == 0 || common >= len(a.around) {
		return nil
	}
	scope, ok := a.around[common].(*syntax.With)
	if !ok || !isManual(scope) {
		return nil
	}
	s := b.stmt
	if common < len(b.around) {
		s = b.around[common]
	}
	indent := int(scope.Body[0].At().Start.Col - scope.At().Start.Col)
	if indent <= 0 || before(s.At().Start, scope.At().End) {
		return nil
	}
	// As if the scope went on to the second launch.
	b.around = append(slices.Clone(a.around[:common+1]), b.around[common:]...)
	var out []Edits
	for _, chain := range []bool{false, true} {
		es, ok := order(f, a, b, false, chain)
		if !ok {
			continue
		}
		var moved Edits
		w := &rewrite{file: f}
		for line := scope.At().End.Line + 1; line <= s.At().End.Line; line++ {
			if at := (syntax.Pos{Line: line, Col: 1}); strings.TrimSpace(f.Text(syntax.Range{Start: at, End: syntax.Pos{Line: line + 1, Col: 1}})) != "" {
				moved = append(moved, w.insert(at, strings.Repeat(" ", indent)))
			}
		}
		out = append(out, append(moved, es...))
	}
	return out
}

// Auto takes away the MANUAL scopes around a launch, so that the runtime follows what its tasks write. Where there are none, those around the calls of its
// function are meant, each in turn.
func Auto(f *syntax.File, at diag.Span) (out []Edits) {
	l := findLaunch(f, at)
	if l == nil {
		return nil
	}
	if es := l.auto(f); len(es) > 0 {
		return []Edits{es}
	}
	for _, c := range callsOf(f, l.around[0].(*syntax.FunctionDef)) {
		if c == nil || len(out) == maxCalls {
			continue
		}
		if es := c.auto(f); len(es) > 0 && !slices.ContainsFunc(out, func(x Edits) bool { return x[0] == es[0] }) {
			out = append(out, es)
		}
	}
	return out
}

func (l *launch) auto(f *syntax.File) (out Edits) {
	w := &rewrite{file: f}
	shift := map[int32]int32{} // by line: how far it moves to the left
	for _, s := range l.around {
		scope, ok := s.(*syntax.With)
		if !ok || !isManual(scope) {
			continue
		}
		from, body := scope.At().Start, scope.Body[0].At().Start
		indent := body.Col - from.Col
		if body.Line == from.Line || indent <= 0 {
			return nil
		}
		out = append(out, w.replace(syntax.Range{Start: syntax.Pos{Line: from.Line, Col: 1}, End: syntax.Pos{Line: body.Line, Col: 1}}, ""))
		for line := from.Line; line < body.Line; line++ {
			delete(shift, line) // goes as a whole
		}
		for line := body.Line; line <= scope.At().End.Line; line++ {
			shift[line] += indent
		}
	}
	for _, line := range slices.Sorted(maps.Keys(shift)) {
		lead := syntax.Range{Start: syntax.Pos{Line: line, Col: 1}, End: syntax.Pos{Line: line, Col: 1 + shift[line]}}
		if strings.TrimSpace(f.Text(lead)) == "" {
			out = append(out, w.replace(lead, ""))
		}
	}
	return out
}

func isManual(s *syntax.With) bool {
	if len(s.Items) != 1 {
		return false
	}
	call, ok := s.Items[0].Context.(*syntax.Call)
	if !ok {
		return false
	}
	name, dsl := dslName(call)
	return dsl && name == "manual_scope"
}

// boundBefore reports that a function gives a name a value above a place.
func boundBefore(fn syntax.Stmt, name string, at syntax.Pos) bool {
	found := false
	syntax.Walk(fn, func(n syntax.Node) bool {
		var targets []syntax.Expr
		switch n := n.(type) {
		case *syntax.Assign:
			targets = n.Targets
		case *syntax.With:
			for _, i := range n.Items {
				targets = append(targets, i.Target)
			}
		}
		for _, t := range targets {
			if t == nil || !before(t.At().Start, at) {
				continue
			}
			syntax.Walk(t, func(n syntax.Node) bool {
				if x, ok := n.(*syntax.Name); ok && x.ID == name {
					found = true
				}
				return true
			})
		}
		return !found
	})
	return found
}

func isLoop(s syntax.Stmt) bool {
	switch s.(type) {
	case *syntax.For, *syntax.While:
		return true
	}
	return false
}

// conditional reports a statement whose body may not run.
func conditional(s syntax.Stmt) bool {
	_, branch := s.(*syntax.If)
	return branch || isLoop(s)
}

// namesIn lists the names that a file uses.
func namesIn(f *syntax.File) map[string]bool {
	names := map[string]bool{}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Name:
			names[n.ID] = true
		case *syntax.FunctionDef:
			for p := range n.Params.All() {
				names[p.Name] = true
			}
		}
		return true
	})
	return names
}
