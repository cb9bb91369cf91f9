package interp

import (
	"math"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// Loops without an end. A while loop that comes back to a state it was in before, and reads nothing that could have changed since, goes on for ever: that is
// certain after as many trips as the cycle is long. A for loop tells its trips when it begins. Whatever else takes too many trips meets the step limit.

// snapshot is all that decides how a while loop goes on, at a moment when its condition is evaluated.
type snapshot struct {
	at, next   int64 // the trip, and the one at which to take the next snapshot
	ints       []int64
	floats     []float64
	numArrays  [][]slotValue
	uintArrays [][]uint32
	shapes     []uint32 // of all tensors, with their offsets
	stats      sim.Stats
	idle       bool
}

func (s *snapshot) take(fr *frame, trip int64) {
	s.at, s.next = trip, 2*trip+1
	s.ints, s.floats = append(s.ints[:0], fr.ints...), append(s.floats[:0], fr.floats...)
	s.numArrays, s.uintArrays = s.numArrays[:0], s.uintArrays[:0]
	for _, a := range fr.numArrays {
		s.numArrays = append(s.numArrays, slices.Clone(a))
	}
	for _, a := range fr.uintArrays {
		s.uintArrays = append(s.uintArrays, slices.Clone(a))
	}
	s.shapes = shapesOf(fr, s.shapes[:0])
	s.stats, s.idle = fr.rt.Stats(), fr.rt.Idle()
}

// shapesOf lists what numbers can be taken from tensors without reading them.
func shapesOf(fr *frame, to []uint32) []uint32 {
	for i := range fr.tensors {
		to = append(append(to, uint32(len(fr.tensors[i].Shape))), fr.tensors[i].Shape...)
	}
	return to
}

// same reports that the loop is where it was, and that memory which it has read since cannot have changed.
func (s *snapshot) same(fr *frame) bool {
	if !slices.Equal(s.ints, fr.ints) || !slices.EqualFunc(s.floats, fr.floats, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }) {
		return false
	}
	if now := fr.rt.Stats(); now.Reads != s.stats.Reads && (!s.idle || now.Tasks != s.stats.Tasks || now.Writes != s.stats.Writes) {
		return false
	}
	return slices.EqualFunc(s.numArrays, fr.numArrays, slices.Equal[[]slotValue]) && slices.EqualFunc(s.uintArrays, fr.uintArrays, slices.Equal[[]uint32]) &&
		slices.Equal(s.shapes, shapesOf(fr, nil))
}

// cycles reports a while loop that will never end, before trip number trip.
func (fr *frame) cycles(s *snapshot, trip int64) {
	if trip > 0 && s.same(fr) {
		n := trip - s.at
		d := diag.Errorf(CodeEndless, fr.site(), "this loop never ends: after %d trips everything that its condition depends on is as it was %d trips before", trip, n)
		if n == 1 {
			d.Message = "this loop never ends: a trip changes nothing that its condition depends on"
		}
		fr.endless(d.WithHint("change a variable of the condition in the loop, or submit a task that changes the tensor it reads"))
	}
	if trip >= s.next {
		s.take(fr, trip)
	}
}

// tooLong reports a for loop whose bounds alone say that it goes past the step limit; step 0 never gets anywhere.
func (fr *frame) tooLong(s *plan.For, from, to, step int64) {
	switch trips := tripsOf(from, to, step); {
	case step == 0 && trips > 0:
		fr.endless(diag.Errorf(CodeEndless, s.Span(), "this loop never ends: its step is 0").WithHint("give it a step that moves %d towards %d", from, to))
	case trips > uint64(fr.limit-fr.steps):
		fr.endless(diag.Errorf(CodeSteps, s.Span(), "this loop from %d to %d makes %d trips: the limit of a run is %d", from, to, trips, fr.limit).
			WithHint("are its bounds right? Let a kernel loop over the data instead of submitting a task for each part"))
	}
}

// tripsOf is how many trips a for loop makes; some for a step of 0 that starts inside.
func tripsOf(from, to, step int64) uint64 {
	switch {
	case step > 0 && from < to:
		return (uint64(to) - uint64(from) + uint64(step) - 1) / uint64(step)
	case step < 0 && from > to:
		return (uint64(from) - uint64(to) + uint64(-step) - 1) / uint64(-step)
	case step == 0 && from < to:
		return 1
	}
	return 0
}

// endless ends the run with a report about a loop.
func (fr *frame) endless(d *diag.Diagnostic) {
	fr.rt.Fail(sim.ExplicitFatal, "event-limit", d)
	fr.check()
}
