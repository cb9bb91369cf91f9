package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// blocks reports SPMD tasks whose blocks get into each other's way: they run at the same time, in any order, and nothing orders them.
func (r *run) blocks() diag.List {
	var l diag.List
	seen := map[sim.Site]bool{}
	budget := maxWork / 10
	for i := range r.graph.Nodes {
		n := &r.graph.Nodes[i]
		if n.Blocks < 2 || !n.Exact || len(n.Touched) == 0 || seen[n.Site] {
			continue
		}
		ts := slices.Clone(n.Touched)
		slices.SortStableFunc(ts, func(x, y sim.Touch) int {
			a, _ := x.Window.Bytes()
			b, _ := y.Window.Bytes()
			return cmp.Compare(a, b)
		})
	pairs:
		for i := range ts {
			x := &ts[i]
			_, end := x.Window.Bytes()
			for k := i + 1; k < len(ts); k++ {
				y := &ts[k]
				if lo, _ := y.Window.Bytes(); lo >= end {
					break
				}
				if budget--; budget < 0 {
					return l
				}
				if x.Block == y.Block || !x.Write && !y.Write || x.Atomic && y.Atomic || !sim.Overlap(&x.Window, &y.Window) {
					continue
				}
				seen[n.Site] = true
				l.Add(r.blockRace(n, x, y))
				break pairs
			}
		}
	}
	return l
}

func (r *run) blockRace(n *sim.Node, x, y *sim.Touch) *diag.Diagnostic {
	if x.Block > y.Block {
		x, y = y, x
	}
	a, b := x.Window, y.Window
	a.Owner, b.Owner = n.Args[x.Arg].Tensor.Owner, n.Args[y.Arg].Tensor.Owner
	verb := func(t *sim.Touch) string {
		if t.Write {
			return "writes"
		}
		return "reads"
	}
	what := fmt.Sprintf("block %d %s and block %d %s", x.Block, verb(x), y.Block, verb(y))
	if x.Write && y.Write {
		what = fmt.Sprintf("blocks %d and %d both write", x.Block, y.Block)
	}
	return diag.Errorf(CodeRace, n.Site, "race between the blocks of %s: %s %s; argument %s", r.task(n), what, r.meet(&a, &b), r.param(n, int(y.Arg))).
		WithHint("the blocks of a task run at the same time: let each write a part of its own, chosen by pl.tile.get_block_idx()")
}
