package edit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// Ring gives edits like Order for launches that meet in trips of a loop which are apart: with an array of as many TaskIds, a trip waits for just that one, and
// those between may overlap. Nothing when the loop is no pl.range of steps of one.
func Ring(f *syntax.File, first, second diag.Span, apart int) Edits {
	a, b := findLaunch(f, first), findLaunch(f, second)
	if a == nil || b == nil || a.around[0] != b.around[0] || apart < 2 || apart > 64 {
		return nil
	}
	loop := -1 // the innermost loop around both
	for i := 0; i < len(a.around) && i < len(b.around) && a.around[i] == b.around[i]; i++ {
		if isLoop(a.around[i]) {
			loop = i
		}
	}
	if loop < 0 {
		return nil
	}
	s, ok := a.around[loop].(*syntax.For)
	if !ok {
		return nil
	}
	trip, ok := s.Target.(*syntax.Name)
	iter, isCall := s.Iter.(*syntax.Call)
	if !ok || !isCall || len(iter.Args) > 2 || len(iter.Keywords) > 0 {
		return nil
	}
	if name, dsl := dslName(iter); !dsl || name != "range" {
		return nil
	}
	taken := namesIn(f)
	wa := &rewrite{file: f, l: a, taken: taken}
	wb := wa
	if a.stmt != b.stmt {
		wb = &rewrite{file: f, l: b, taken: taken}
	}
	if !wa.name() {
		return nil
	}
	ids := unused(wa.id+"s", taken)
	slots, oldest := apart, trip.ID
	if before(a.stmt.At().Start, b.stmt.At().Start) { // the slot of this trip is taken already
		slots, oldest = apart+1, "("+trip.ID+" + 1)"
	}
	wb.deps = append(wb.deps, fmt.Sprintf("%s[%s %% %d]", ids, oldest, slots))
	es, ok := wa.edits()
	if !ok {
		return nil
	}
	if wb != wa {
		more, ok := wb.edits()
		if !ok {
			return nil
		}
		es = append(es, more...)
	}
	outer := a.around[slices.IndexFunc(a.around, isLoop)].At().Start
	end := a.stmt.At()
	return append(es, wa.insert(outer, fmt.Sprintf("%s = pl.array.create(%d, pl.TASK_ID)\n%s", ids, slots, strings.Repeat(" ", int(outer.Col)-1))),
		wa.insert(end.End, fmt.Sprintf("\n%s%s[%s %% %d] = %s", strings.Repeat(" ", int(end.Start.Col)-1), ids, trip.ID, slots, wa.id)))
}
