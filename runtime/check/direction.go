package check

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// Directions that kernels do not keep. The runtime orders tasks by the directions of their arguments alone, so what a kernel does beside them nobody
// waits for: a write of an In argument, a read of an Out argument before the kernel has written it. The calls of a run are what counts: elements really
// touched, in all tasks of a kernel.

// Param is a tensor parameter as the program declares it.
type Param struct {
	Name string
	Pos  sim.Site
	Dir  ir.ParamDir
	// Known: Dir is the author's; parameters of outlined blocks have none.
	Known bool
}

// Direction is a parameter whose direction is not what its kernel does.
type Direction struct {
	Kernel string
	Param  Param
	Should ir.ParamDir
	Diag   *diag.Diagnostic
}

// kept is what the calls of a kernel did to a parameter.
type kept struct {
	calls        int
	wrote, first bool
	node         int32 // where that was seen first
	blind        bool  // the runtime was told nothing that covers it
}

func (r *run) directions() []*Direction {
	seen := make([][]kept, len(r.names.Params))
	for k := range seen {
		seen[k] = make([]kept, len(r.names.Params[k]))
	}
	wrote := make([]bool, len(seen))
	for i := range r.graph.Nodes {
		n := &r.graph.Nodes[i]
		if n.Kind != sim.NodeTask || !n.Exact || len(n.Touched) == 0 {
			continue
		}
		for lane, id := range n.Kernels {
			if id < 0 || int(id) >= len(seen) || lane > 0 && id == n.Kernels[lane-1] {
				continue
			}
			for arg := range seen[id] {
				seen[id][arg].calls++
			}
			for j := range n.Touched {
				t := &n.Touched[j]
				if t.Arg < 0 || int(t.Arg) >= len(seen[id]) || int(t.Arg) >= len(n.Args) {
					continue
				}
				s, tag := &seen[id][t.Arg], n.Args[t.Arg].Tag
				wrote[id] = wrote[id] || t.Write
				bad := t.Write && !s.wrote && r.names.Params[id][t.Arg].Dir == ir.In || t.First && !s.first
				s.wrote, s.first = s.wrote || t.Write, s.first || t.First
				if bad {
					s.node = int32(i)
					s.blind = t.Write && tag == sim.Input || t.First && (tag == sim.OutputExisting || tag == sim.Output)
				}
			}
		}
	}
	var out []*Direction
	for id, params := range r.names.Params {
		mixed := r.mixed(int32(id)) // the lanes share the arguments: what one of them does not write another may
		for arg, p := range params {
			s := &seen[id][arg]
			if s.calls == 0 || !p.Known {
				continue
			}
			if d := r.direction(int32(id), p, s, wrote[id] && !mixed, mixed); d != nil {
				out = append(out, d)
			}
		}
	}
	return out
}

// mixed reports a kernel that runs together with another.
func (r *run) mixed(id int32) bool {
	for i := range r.graph.Nodes {
		n, others := &r.graph.Nodes[i], 0
		mine := false
		for _, k := range n.Kernels {
			mine = mine || k == id
			if k >= 0 && k != id {
				others++
			}
		}
		if mine && n.Kind == sim.NodeTask {
			return others > 0
		}
	}
	return false
}

func (r *run) direction(id int32, p Param, s *kept, writesOthers, mixed bool) *Direction {
	d := &Direction{Kernel: r.rt.KernelName(id), Param: p}
	at := p.Pos
	task := &r.graph.Nodes[s.node]
	switch {
	case p.Dir == ir.In && s.wrote && !mixed:
		d.Should = ir.InOut
		d.Diag = diag.Warningf(CodeDirection, at, "kernel %s writes %s, which it declares as an input", d.Kernel, p.Name).
			WithHint("declare it as pl.InOut[…]: nobody waits for the write of an input").WithRelated(task.Site, "%s, for one, writes it", r.task(task))
	case p.Dir == ir.Out && s.first && !mixed:
		d.Should = ir.InOut
		d.Diag = diag.Warningf(CodeDirection, at, "kernel %s reads %s before it has written it, but declares it as pl.Out", d.Kernel, p.Name).
			WithHint("declare it as pl.InOut[…]: an Out argument does not wait for earlier writers").WithRelated(task.Site, "%s, for one, reads it", r.task(task))
	case p.Dir == ir.Out && !s.wrote && writesOthers:
		d.Diag = diag.Warningf(CodeDirection, at, "kernel %s never wrote %s, which it declares as pl.Out", d.Kernel, p.Name).
			WithHint("store the result into it, or take it out of the outputs: later readers wait for this kernel and get what was there before")
		return d
	default:
		return nil
	}
	if s.blind {
		d.Diag.Severity = diag.Error
	}
	return d
}
