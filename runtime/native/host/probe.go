package host

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/check"
	"github.com/ptobuild/ptobuild/runtime/kernels"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// What a C++ kernel does with its outputs is found out by running a call again with other values in them: an element that holds the same after both
// runs was written, one that still holds what was there before was not, and any other difference means that the kernel read one of them first.

// probedCalls is how many calls of a kernel are repeated.
const probedCalls = 2

// kernelHabits is what the calls of a kernel did to its arguments.
type kernelHabits struct {
	probed int
	mixed  bool
	site   sim.Site // of its first task
	task   int
	args   []argHabits
}

type argHabits struct {
	output bool // every call so far gave it as an output
	wrote  bool
	reads  bool // its old values, though it is an output
}

// note adds a call and what it changed.
func (x *externals) note(c *sim.KernelCall, changed func(arg int) bool) *kernelHabits {
	h := x.habits[c.Kernel]
	if h == nil {
		h = &kernelHabits{site: c.Site, task: c.Ordinal, args: make([]argHabits, len(c.Args))}
		for i := range c.Args {
			h.args[i].output = isOutput(&c.Args[i])
		}
		x.habits[c.Kernel] = h
	}
	h.mixed = h.mixed || c.Mixed
	for i := range min(len(h.args), len(c.Args)) {
		h.args[i].output = h.args[i].output && isOutput(&c.Args[i])
		h.args[i].wrote = h.args[i].wrote || changed(i)
	}
	return h
}

// unwritten warns of inputs that nothing has written.
func (x *externals) unwritten(c *sim.KernelCall) {
	for i := range c.Args {
		a := &c.Args[i]
		now, _ := x.foot.window(i)
		if a.Tag != sim.Input || len(now) == 0 || a.Tensor.DType.Bytes() < 2 || len(bytes.TrimLeft(now, string([]byte{sim.Poison}))) > 0 {
			continue // bytes hold the pattern too often to tell
		}
		d := diag.Warningf(kernels.CodeUnwritten, c.Site, "kernel '%s' gets %s as an input, but nothing has written any of it", x.name(int(c.Kernel)), x.params.Of(int(c.Kernel), i)).
			WithHint("let a task write it before, or give it an initial value; in a MANUAL scope, wait for the writer with set_dependencies")
		if made := c.MadeAt(i); made.IsValid() {
			d.WithRelated(made, "the buffer is made here")
		}
		c.Warn(d)
	}
}

func isOutput(a *sim.Arg) bool { return a.Tag == sim.Output || a.Tag == sim.OutputExisting }

// probe repeats the call at hand. It leaves memory as it finds it.
func (x *externals) probe(c *sim.KernelCall, h *kernelHabits, run func()) {
	f := &x.foot
	x.after = f.copy(x.after)
	x.p.Probe = 1
	for i := range min(len(h.args), len(c.Args)) {
		if !aloneOutput(c, i) {
			continue
		}
		f.restore(f.before)
		now, _ := f.window(i)
		for k := range now {
			now[k] = ^now[k]
		}
		x.other = f.copy(x.other)
		run()
		now, _ = f.window(i)
		lo, _ := c.Args[i].Tensor.Bytes()
		h.args[i].wrote = h.args[i].wrote || !bytes.Equal(now, f.of(x.other, lo, len(now)))
		if f.depends(x.after, x.other) {
			f.restore(f.before) // a kernel may also give another result for reasons of its own
			run()
			h.args[i].reads = !f.depends(x.after, f.before)
		}
	}
	x.p.Probe = 0
	f.restore(x.after)
}

// aloneOutput reports an output whose memory no argument that may be read shares.
func aloneOutput(c *sim.KernelCall, i int) bool {
	lo, hi := c.Args[i].Tensor.Bytes()
	return isOutput(&c.Args[i]) && lo < hi && !slices.ContainsFunc(c.Args, func(o sim.Arg) bool {
		a, b := o.Tensor.Bytes()
		return !isOutput(&o) && a < hi && lo < b
	})
}

// depends reports a byte that the run that started with other left unlike the first one, though one of them wrote it.
func (f *footprint) depends(after, other []byte) bool {
	for i := range f.spans {
		s := &f.spans[i]
		one, two := after[s.at:s.at+len(s.mem)], s.mem
		for at := differ(one, two); at < len(two); at += 1 + differ(one[at+1:], two[at+1:]) {
			if k := s.at + at; one[at] != f.before[k] || two[at] != other[k] {
				return true
			}
		}
	}
	return false
}

// reports tells what the calls of a schedule showed, and starts anew.
func (x *externals) reports() (l diag.List) {
	ids := make([]int32, 0, len(x.habits))
	for id := range x.habits {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, cmp.Compare[int32])
	for _, id := range ids {
		h, name := x.habits[id], x.name(int(id))
		others := slices.ContainsFunc(h.args, func(a argHabits) bool { return a.wrote })
		for i, a := range h.args {
			switch {
			case a.output && a.reads && a.wrote:
				l.Add(diag.Warningf(check.CodeDirection, h.site, "kernel '%s' reads %s before it has written it, but task %d, for one, gives it as an output: with other values in it, the kernel gave another result", name, x.params.Of(int(id), i), h.task).
					WithHint("give it with add_inout (pl.InOut in the DSL): an output does not wait for earlier writers"))
			case a.output && !a.wrote && others && !h.mixed:
				l.Add(diag.Warningf(check.CodeDirection, h.site, "kernel '%s' never wrote %s, which task %d, for one, gives as an output", name, x.params.Of(int(id), i), h.task).
					WithHint("write the result into it, or give it as an input: later readers wait for this kernel and get what was there before"))
			}
		}
	}
	x.habits = map[int32]*kernelHabits{}
	return l
}
