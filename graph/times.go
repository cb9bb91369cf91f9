package graph

import (
	"fmt"

	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// Times are the virtual times of a run, in nanoseconds (docs/simulator.md).
type Times struct {
	Total         uint64 `json:"total_ns"`         // until the last task has finished
	Orchestration uint64 `json:"orchestration_ns"` // until the orchestration has ended
	CriticalPath  uint64 `json:"critical_path_ns"` // longest chain of dependent tasks
	// AIC and AIV are the parts of their cores' time in which kernels ran, 0 to 1.
	AIC   float64    `json:"aic_busy"`
	AIV   float64    `json:"aiv_busy"`
	Slots []SlotTime `json:"timing_slots,omitempty"`

	clusters int
}

// SlotTime is the span of the tasks of a timing slot.
type SlotTime struct {
	Slot  int    `json:"slot"`
	Tasks int    `json:"tasks"`
	Start uint64 `json:"start_ns"`
	End   uint64 `json:"end_ns"`
}

func timesOf(s *sim.Stats, clusters int) Times {
	t := Times{Total: max(s.Makespan, s.Orchestration), Orchestration: s.Orchestration, CriticalPath: s.CriticalPath, clusters: clusters}
	if all := float64(t.Total) * float64(clusters); all > 0 {
		t.AIC, t.AIV = float64(s.BusyAIC)/all, float64(s.BusyAIV)/(2*all)
	}
	for i, x := range s.Slots {
		if x.Tasks > 0 {
			t.Slots = append(t.Slots, SlotTime{i, x.Tasks, x.Start, x.Finish})
		}
	}
	return t
}

// rtClusters is the number of clusters that a job is run on.
func rtClusters(job *exec.Job) int {
	cfg, err := sim.Complete(job.Machine)
	if err != nil {
		return 1 // a run with it fails
	}
	return cfg.Clusters
}

// Lines describes the times for people.
func (t *Times) Lines() []string {
	on := "1 cluster"
	if t.clusters != 1 {
		on = fmt.Sprintf("%d clusters", t.clusters)
	}
	lines := []string{fmt.Sprintf("virtual time %s: orchestration %s, critical path %s, cube cores %.0f%% and vector cores %.0f%% busy on %s",
		nanoseconds(t.Total), nanoseconds(t.Orchestration), nanoseconds(t.CriticalPath), 100*t.AIC, 100*t.AIV, on)}
	for _, s := range t.Slots {
		lines = append(lines, fmt.Sprintf("timing slot %d: %s, from %s to %s", s.Slot, nanoseconds(s.End-s.Start), nanoseconds(s.Start), nanoseconds(s.End)))
	}
	return lines
}

func nanoseconds(n uint64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d ns", n)
	case n < 10_000_000:
		return fmt.Sprintf("%.1f µs", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f ms", float64(n)/1e6)
}
