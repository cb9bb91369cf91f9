// Package check looks at the graph of a simulated run for mistakes that one schedule shows only by luck: accesses that nothing orders, and buffers
// that nothing keeps alive. The runtime follows reads after writes of declared arguments; it does not follow writes after reads, and in
// MANUAL scopes, through NO_DEP and manual_dep it follows nothing (spec runtime.md 0.3, 2.2).
//
// A run keeps its graph only with sim.Config.Check. The graph, and so the reports, are the same for every schedule of a program. Where the kernels
// report what they touch (sim.KernelCall.Track), that is an access, and a race is an error. Elsewhere an access is what an argument
// declares: its whole window, read or written by direction. Kernels often use less, so a race is then a warning; and a NO_DEP argument, for
// which the author vouches, counts only where sim.Config.Dirs knows its direction.
package check

import (
	"fmt"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// Names is what the program calls things, for reports. Any of it may be missing.
type Names struct {
	Entries []string              // entry tensors
	Params  [][]Param             // by kernel id: its tensor parameters
	Barrier []bool                // by kernel id: its blocks wait for each other
	Made    map[sim.Site][]string // by the place of an allocation: the buffers that it makes
	// Cpp: the orchestration is hand-written C++, and what to do is told in its terms.
	Cpp bool
}

// say picks the words for the language of the orchestration.
func (n *Names) say(dsl, cpp string) string {
	if n.Cpp {
		return cpp
	}
	return dsl
}

// Report is what was found in one run.
type Report struct {
	Races      []*Race
	Directions []*Direction
	Lifetimes  []*Lifetime
	Barriers   []*Barrier
	Other      diag.List // everything else
	// Atomics: tasks add atomically to the same memory. Nothing fixes their order, so sums of floats may differ in their last bits.
	Atomics bool
}

// Diags lists all reports.
func (r *Report) Diags() diag.List {
	var l diag.List
	for _, x := range r.Races {
		l.Add(x.Diag)
	}
	for _, x := range r.Directions {
		l.Add(x.Diag)
	}
	for _, x := range r.Lifetimes {
		l.Add(x.Diag)
	}
	for _, x := range r.Barriers {
		l.Add(x.Diag)
	}
	return append(l, r.Other...)
}

// Drop takes out the reports for which f holds.
func (r *Report) Drop(f func(*diag.Diagnostic) bool) {
	r.Races = slices.DeleteFunc(r.Races, func(x *Race) bool { return f(x.Diag) })
	r.Directions = slices.DeleteFunc(r.Directions, func(x *Direction) bool { return f(x.Diag) })
	r.Lifetimes = slices.DeleteFunc(r.Lifetimes, func(x *Lifetime) bool { return f(x.Diag) })
	r.Barriers = slices.DeleteFunc(r.Barriers, func(x *Barrier) bool { return f(x.Diag) })
	r.Other = slices.DeleteFunc(r.Other, f)
}

// Kind is what goes wrong in a race, by the order of submission.
type Kind uint8

const (
	ReadAfterWrite Kind = iota
	WriteAfterRead
	WriteAfterWrite
)

func (k Kind) String() string {
	return [...]string{"read-after-write", "write-after-read", "write-after-write"}[k]
}

// Cause is why the runtime does not order a pair.
type Cause uint8

const (
	CauseManual    Cause = iota // a task of a MANUAL scope waits only for its dependencies, and is not seen by later tasks
	CauseNoDep                  // an argument is passed as NO_DEP
	CauseManualDep              // the tensor is manual_dep
	CauseReader                 // a write does not wait for earlier reads
	CauseOut                    // an Out argument does not wait for earlier writes
	CausePredicate              // a predicate does not wait for the writer of its operand
	CauseHostRead               // an element read waits only for writers that are tracked
	CauseHostWrite              // an element write waits only for tracked writers and their readers
	CauseBase                   // the memory is reached through another base address
	CauseDirection              // a kernel does to an argument what its direction does not say
)

// Use is one side of a race.
type Use struct {
	Task   int // ordinal; -1 for the orchestration
	Site   sim.Site
	Kernel string
	Arg    int // tensor argument; -1 for a predicate or an element access
	Param  string
	Loops  []sim.Trip // around the submit of the first such pair
}

// String is "task 3 (add)".
func (u *Use) String() string {
	if u.Task < 0 {
		return "the orchestration"
	}
	return fmt.Sprintf("task %d (%s)", u.Task, u.Kernel)
}

// Race is two places whose accesses conflict and which nothing orders. Loops make many such pairs of tasks; the first one is described.
type Race struct {
	Kind          Kind
	Cause         Cause
	First, Second Use
	Exact         bool // both accesses are known, not only declared
	FirstLies     bool // the first writes through an argument that is passed as an input
	SecondLies    bool
	Made          sim.Site // where the buffer was made, when it is no entry tensor
	Count         int      // pairs of tasks
	Pairs         [][2]int // ordinals of some of them
	Diag          *diag.Diagnostic

	old, new access
	last     [2]int32
	also     [][2]access // through other arguments
}

// Run checks a finished run; nil without Config.Check.
func Run(rt *sim.Runtime, names Names) *Report {
	g := rt.Graph()
	if g == nil {
		return nil
	}
	r := &run{rt: rt, graph: g, names: names}
	o := newOrder(g)
	rep := &Report{}
	rep.Lifetimes = r.lifetimes(o)
	o.budget = maxWork
	rep.Other.Add(r.blocks()...)
	rep.Barriers = r.barriers()
	rep.Races, rep.Directions = r.races(o), r.directions()
	// A missing edge to the maker of a buffer is a race with it too: one report is enough.
	rep.Lifetimes = slices.DeleteFunc(rep.Lifetimes, func(l *Lifetime) bool {
		return slices.ContainsFunc(rep.Races, func(x *Race) bool { return x.Exact && x.First.Site == l.Maker.Site && x.Second.Site == l.User.Site })
	})
	rep.Atomics = slices.ContainsFunc(g.Nodes, func(n sim.Node) bool {
		return slices.ContainsFunc(n.Touched, func(t sim.Touch) bool { return t.Atomic })
	})
	if r.gaveUp {
		rep.Other.Add(diag.Warningf(CodeTooMuch, diag.Span{}, "the race check was given up: the graph is too big").WithHint("check a smaller input of the same program"))
	}
	return rep
}

// run is a finished run and the names in it.
type run struct {
	rt     *sim.Runtime
	graph  *sim.Graph
	names  Names
	gaveUp bool
}
