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

// Barrier is a launch whose blocks wait for each other.
type Barrier struct {
	Site sim.Site
	Diag *diag.Diagnostic
}

// barriers reports launches of kernels whose blocks wait for each other, which nothing starts together: those that have a core keep it until the others have
// come, and these may find none.
func (r *run) barriers() (l []*Barrier) {
	seen := map[sim.Site]bool{}
	for i := range r.graph.Nodes {
		n := &r.graph.Nodes[i]
		if n.Kind != sim.NodeTask || n.Blocks < 2 || n.Sync || seen[n.Site] {
			continue
		}
		for _, id := range n.Kernels {
			if id >= 0 && int(id) < len(r.names.Barrier) && r.names.Barrier[id] && !seen[n.Site] {
				seen[n.Site] = true
				l = append(l, &Barrier{n.Site, diag.Warningf(CodeBarrier, n.Site, "the %d blocks of %s wait for each other (pl.system.syncall), but they do not start together: some may hold the cores that the others need",
					n.Blocks, r.task(n)).WithHint("launch them with sync_start=True")})
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
