package sim

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ptobuild/ptobuild/runtime/trace"
)

// The schedule of random programs is one that a machine could run: a core does one thing at a time, nothing starts before what it waits for has ended, lanes
// and cohorts start together, every block runs once, and a task that is ready starts no later than one of its kind that became ready after it.
func TestSchedulesArePossible(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 21))
		clusters := 1 + rng.IntN(4)
		cfg := Config{Policy: []Policy{FIFO, Parallel, OneCore, LIFO, Random}[seed%5], Seed: seed, Clusters: clusters, Record: true, Check: true,
			Costs: &Costs{Submit: rng.Uint64N(3), Launch: 1, Op: 1}, Limits: Limits{TaskWindow: 32}}
		cfg.Kernels = runner(func(m *Memory, c *KernelCall) error {
			c.Work = Work{Ops: uint64(c.Ordinal*7+c.Block*3+c.Lane) % 20}
			return nil
		})
		p := newProg(t, cfg)
		type launched struct {
			kernels [3]int32
			blocks  int32
			sync    bool
		}
		var tasks []launched
		var ids []TaskID
		for range 10 {
			p.auto(func() {
				for range 1 + rng.IntN(12) {
					a := TaskArgs{TimingSlot: -1, Blocks: 1 + rng.Int32N(7)}
					a.Kind, a.Kernels = KindMixed, [][3]int32{{0, -1, -1}, {-1, 0, -1}, {0, 0, -1}, {0, 0, 0}, {-1, 0, 0}}[rng.IntN(5)]
					if limit := int32(clusters); rng.IntN(4) == 0 && a.Blocks <= limit {
						a.SyncStart = true
					}
					for range rng.IntN(3) {
						if len(ids) > 0 {
							a.Deps = append(a.Deps, ids[rng.IntN(len(ids))])
						}
					}
					tasks = append(tasks, launched{a.Kernels, a.Blocks, a.SyncStart && a.Blocks > 1})
					ids = append(ids, p.Submit(&a, p.site()).Task)
				}
			})
		}
		p.finish()
		retired := make([]*trace.Retire, len(tasks))
		for _, e := range p.Trace().Events() {
			if r, ok := e.(*trace.Retire); ok {
				retired[r.N] = r
			}
		}
		fail := func(format string, args ...any) {
			t.Helper()
			t.Errorf("seed %d, %s: %s", seed, cfg.Policy, fmt.Sprintf(format, args...))
		}
		busy := map[int32]map[uint64]int{} // by core and time
		for _, n := range p.Graph().Nodes {
			r, k := retired[n.Ordinal], tasks[n.Ordinal]
			lanes := 0
			for _, id := range k.kernels {
				if id >= 0 {
					lanes++
				}
			}
			if len(r.Blocks) != lanes*int(k.blocks) {
				fail("task %d ran %d lanes of %d blocks as %d", n.Ordinal, lanes, k.blocks, len(r.Blocks))
			}
			for _, e := range n.Preds {
				if q := retired[p.Graph().Nodes[e.From].Ordinal]; r.Start < q.Finish {
					fail("task %d starts at %d, before task %d ends at %d", n.Ordinal, r.Start, q.N, q.Finish)
				}
			}
			if r.Start < r.Ready || r.Ready < r.Submitted {
				fail("task %d: submitted %d, ready %d, start %d", n.Ordinal, r.Submitted, r.Ready, r.Start)
			}
			starts, clusterOf := map[int32]uint64{}, map[int32]int32{}
			for _, b := range r.Blocks {
				if b.Start < r.Start || b.Finish > r.Finish {
					fail("block %d of task %d runs from %d to %d, the task from %d to %d", b.Block, n.Ordinal, b.Start, b.Finish, r.Start, r.Finish)
				}
				c := b.Core
				if cube := b.Core < int32(clusters); cube != (b.Lane == 0) {
					fail("lane %d on core %d", b.Lane, b.Core)
				} else if !cube {
					c = (b.Core - int32(clusters)) / 2
				}
				if at, ok := starts[b.Block]; ok && (at != b.Start || clusterOf[b.Block] != c) {
					fail("lanes of block %d of task %d apart", b.Block, n.Ordinal)
				}
				starts[b.Block], clusterOf[b.Block] = b.Start, c
				if k.sync && cfg.Policy.timed() && b.Start != r.Start {
					fail("block %d of cohort %d starts late", b.Block, n.Ordinal)
				}
				if busy[b.Core] == nil {
					busy[b.Core] = map[uint64]int{}
				}
				for at := b.Start; at < b.Finish; at++ {
					if other, taken := busy[b.Core][at]; taken {
						fail("core %d runs tasks %d and %d at %d", b.Core, other, n.Ordinal, at)
					}
					busy[b.Core][at] = n.Ordinal
				}
			}
		}
		if !cfg.Policy.timed() {
			continue
		}
		for i, a := range tasks {
			for j, b := range tasks {
				if a.kernels == b.kernels && a.sync == b.sync && retired[i].Ready < retired[j].Ready && retired[i].Start > retired[j].Start {
					fail("task %d is ready before task %d and starts after it", i, j)
				}
			}
		}
	}
}
