package sim

import (
	"hash/maphash"
	"maps"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
)

// A kernel that changes nothing passes every test whose outputs happen to be right already: it was compiled for the wrong core, or its body is empty.
// With Config.Check the first runs of each kernel are watched until one of them changes a byte of an argument that it is to write.

const watchedRuns = 8

// kernelWrites is what is known of the kernels of one kind of task.
type kernelWrites struct {
	runs  int
	wrote bool
	site  Site
}

// outputWatch holds the state of the outputs before a run.
type outputWatch struct {
	k      *kernelWrites
	before uint64
}

var hashSeed = maphash.MakeSeed() // only compared within a run

func (r *Runtime) watchOutputs(t *task) outputWatch {
	if r.graph == nil || r.cfg.Kernels == nil {
		return outputWatch{}
	}
	k := r.writers[t.kernels]
	if k == nil {
		k = &kernelWrites{site: t.site}
		if r.writers == nil {
			r.writers = map[[3]int32]*kernelWrites{}
		}
		r.writers[t.kernels] = k
	}
	if k.wrote || k.runs == watchedRuns {
		return outputWatch{}
	}
	h, any := r.hashOutputs(t)
	if !any {
		return outputWatch{}
	}
	return outputWatch{k, h}
}

func (w outputWatch) done(r *Runtime, t *task) {
	if w.k == nil {
		return
	}
	w.k.runs++
	after, _ := r.hashOutputs(t)
	w.k.wrote = after != w.before
}

// hashOutputs sums up the bytes between the first and the last element of each written argument; any is false when there is none.
func (r *Runtime) hashOutputs(t *task) (sum uint64, any bool) {
	var h maphash.Hash
	h.SetSeed(hashSeed)
	for i := range t.args {
		if x := &t.args[i]; x.Tag == Output || x.Tag == OutputExisting || x.Tag == InOut {
			lo, hi := x.Tensor.Bytes()
			b := r.mem.Bytes(lo, hi-lo)
			any = any || len(b) > 0
			_, _ = h.Write(b) // never fails
		}
	}
	return h.Sum64(), any
}

// reportIdleKernels warns of kernels that never changed anything.
func (r *Runtime) reportIdleKernels() {
	ids := slices.SortedFunc(maps.Keys(r.writers), func(a, b [3]int32) int { return slices.Compare(a[:], b[:]) })
	for _, id := range ids {
		if k := r.writers[id]; k.runs > 0 && !k.wrote {
			r.warn(diag.Warningf(CodeNoWrite, k.site, "kernel %s ran and changed none of its outputs", r.kernelsOf(KindMixed, id)).
				WithHint("is its body compiled for this core? Results that were right before it ran hide this"))
		}
	}
}
