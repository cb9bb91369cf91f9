// Package trace is what a run of an orchestration did, event by event: scopes, allocations, submits, element accesses and queries, in the order of
// the orchestration's calls. The JSON lines have the shape of the conformance recorder; what the simulator adds (source sites, retirement
// order, virtual times) sits in extra fields and extra events, which Orchestration removes and Equal ignores.
//
// Two runs of one program under different schedules, or one as a plan and one as compiled C++, must have Equal traces.
package trace

import (
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
)

// Event is one of the event types of this package.
type Event interface{ event() }

// Tensor is a tensor handle. Buf names the buffer: "ext:N" entry tensor N, "alloc:N" N-th buffer made by an allocation, "out:T.K" K-th
// output made by task T, "host:N" N-th piece of memory of unknown origin, "uninit" for a handle that was never initialised.
type Tensor struct {
	Buf       string
	Off       uint64 // elements from the start of the buffer
	Shape     []uint32
	Strides   []uint32
	DType     string // the runtime's name: FLOAT32
	ManualDep bool
	Ops       []string // the view operations that led here
}

// NewTensor describes a buffer that an allocation or a task makes.
type NewTensor struct {
	Buf       string
	Shape     []uint32
	DType     string
	ManualDep bool
	Init      string // "bits/size of an element", "" when uninitialised
}

// Arg is one tensor argument: New for direction out_new, T for the others.
type Arg struct {
	Dir string // in, out, out_new, inout, no_dep
	T   Tensor
	New *NewTensor
}

// Scalar is one scalar argument: its 64-bit pattern and its C type ("i64", "u32", "f32", "b8").
type Scalar struct {
	Bits uint64
	Type string
}

// Pred is a dispatch predicate.
type Pred struct {
	T      Tensor
	Idx    []uint32
	Op     string // EQ NE GT LT GE LE
	Target int64
}

// Block is one lane of one block of a task on its core. With c clusters, cube core i is number i and vector core k of cluster i is c + 2i + k.
type Block struct {
	Core, Block   int32
	Lane          int8 // 0 cube, 1 and 2 vector
	Start, Finish uint64
}

type (
	// Run opens one of several runs in a file.
	Run struct{ Name string }
	// Config is the argument count that the configuration function returned.
	Config struct{ Args int }
	// ScopeBegin opens a scope.
	ScopeBegin struct {
		Manual bool
		Site   diag.Span
	}
	// ScopeEnd closes the innermost scope.
	ScopeEnd struct{ Site diag.Span }
	// Alloc is the Call-th allocation call; its buffers are alloc:First, alloc:First+1, …
	Alloc struct {
		Call    int
		First   int
		Tensors []NewTensor
		Site    diag.Span
	}
	// Submit is the submission of task N.
	Submit struct {
		N          int
		Kind       string   // aic, aiv, mixed, dummy
		Kernels    []string // one for aic and aiv, three for mixed ("": unused lane), none for dummy
		Args       []Arg
		Scalars    []Scalar
		Deps       []int // task ordinals, sorted, without repeats
		AllocDeps  []int // allocation calls, likewise
		DupDeps    bool  // the dependency list repeated an id
		Blocks     int   // 0: not set
		SyncStart  bool
		Early      bool
		TimingSlot int // -1: none
		Pred       *Pred
		DumpAll    bool
		Dump       []int // argument positions, sorted
		Site       diag.Span
	}
	// Read is an element read by the orchestration.
	Read struct {
		T     Tensor
		At    uint64 // elements from the start of the buffer
		Type  string // int32, float32, bool8, …
		Value uint64 // bit pattern, zero-extended
		Site  diag.Span
	}
	// Write is an element write by the orchestration.
	Write struct {
		T     Tensor
		At    uint64
		Type  string
		Value uint64
		Site  diag.Span
	}
	// Query asks how many cores there are: What is "cluster_count" or "aiv_count".
	Query struct {
		What string
		Site diag.Span
	}
	// Note is something worth knowing that is not an error ("tensor-outlives-scope").
	Note struct{ What, Buf string }
	// Error is a misuse of the runtime.
	Error struct{ What, Detail string }
	// End closes a run.
	End struct{ Tasks int }
	// Retire is the simulator's own: task N finished. Times are virtual, in nanoseconds.
	Retire struct {
		N                int
		Submitted, Ready uint64 // when the orchestration submitted it, and when its last producer had finished
		Start, Finish    uint64
		Skipped          bool // its predicate was false
		Blocks           []Block
	}
)

func (*Run) event()        {}
func (*Config) event()     {}
func (*ScopeBegin) event() {}
func (*ScopeEnd) event()   {}
func (*Alloc) event()      {}
func (*Submit) event()     {}
func (*Read) event()       {}
func (*Write) event()      {}
func (*Query) event()      {}
func (*Note) event()       {}
func (*Error) event()      {}
func (*End) event()        {}
func (*Retire) event()     {}

// Orchestration returns the events that the orchestration alone decides, without sites: what any recorder of the same program gives.
func Orchestration(events []Event) []Event {
	out := make([]Event, 0, len(events))
	for _, e := range events {
		switch e := e.(type) {
		case *Retire:
		case *ScopeBegin:
			c := *e
			c.Site = diag.Span{}
			out = append(out, &c)
		case *ScopeEnd:
			out = append(out, &ScopeEnd{})
		case *Alloc:
			c := *e
			c.Site = diag.Span{}
			out = append(out, &c)
		case *Submit:
			c := *e
			c.Site = diag.Span{}
			out = append(out, &c)
		case *Read:
			c := *e
			c.Site = diag.Span{}
			out = append(out, &c)
		case *Write:
			c := *e
			c.Site = diag.Span{}
			out = append(out, &c)
		case *Query:
			c := *e
			c.Site = diag.Span{}
			out = append(out, &c)
		default:
			out = append(out, e)
		}
	}
	return slices.Clip(out)
}

// Tasks counts the submitted tasks, dummies included and allocations excluded.
func Tasks(events []Event) int {
	n := 0
	for _, e := range events {
		if _, ok := e.(*Submit); ok {
			n++
		}
	}
	return n
}
