package artifact

import (
	"encoding/json"
	"io"

	"github.com/ptobuild/ptobuild/runtime/sim"
)

// Scope statistics, version 6: a line about the run, then one for each begin and end of a scope with the cumulative counters of its ring.

type scopeMeta struct {
	Version  int       `json:"version"`
	Fatal    int       `json:"fatal"` // number of the fatal error, 0 for none
	Dropped  int       `json:"dropped"`
	Total    int       `json:"total"`
	Window   [4]int    `json:"task_window_max"`
	Heap     [4]uint64 `json:"heap_max"`
	DepPool  [4]int    `json:"dep_pool_max"`
	Map      int       `json:"tensormap_max"`
	WindowOf [4]int    `json:"task_window_peak"`
	HeapOf   [4]uint64 `json:"heap_peak"`
	DepsOf   [4]int    `json:"dep_pool_peak"`
	MapOf    int       `json:"tensormap_peak"`
}

type scopeLine struct {
	Site        string `json:"site"`
	Phase       string `json:"phase"`
	Depth       int    `json:"depth"`
	Ring        int    `json:"ring"`
	WindowStart uint64 `json:"task_window_start"`
	WindowEnd   uint64 `json:"task_window_end"`
	HeapStart   uint64 `json:"heap_start"`
	HeapEnd     uint64 `json:"heap_end"`
	DepsStart   uint64 `json:"dep_pool_start"`
	DepsEnd     uint64 `json:"dep_pool_end"`
	Map         int    `json:"tensormap"`
}

func writeScopes(w io.Writer, v *view) error {
	marks, stats := v.rt.ScopeMarks(), v.rt.Stats()
	m := scopeMeta{Version: 6, Total: len(marks), Map: v.cfg.Limits.MapEntries, MapOf: stats.PeakMap}
	if f := v.rt.Fatal(); f != nil {
		m.Fatal = f.Number
	}
	for i, l := range v.cfg.Limits.Rings {
		m.Window[i], m.Heap[i], m.DepPool[i] = l.TaskWindow, l.Heap, l.DepPool
		m.WindowOf[i], m.HeapOf[i], m.DepsOf[i] = stats.Rings[i].Tasks, stats.Rings[i].Heap, stats.Rings[i].Deps
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(&m); err != nil {
		return err
	}
	for i := range marks {
		if err := enc.Encode(scopeLineOf(&marks[i])); err != nil {
			return err
		}
	}
	return nil
}

func scopeLineOf(m *sim.ScopeMark) scopeLine {
	l := scopeLine{Site: place(m.Site), Phase: "begin", Depth: m.Depth, Ring: m.Ring, WindowStart: m.Tasks[0], WindowEnd: m.Tasks[1],
		HeapStart: m.Heap[0], HeapEnd: m.Heap[1], DepsStart: m.Deps[0], DepsEnd: m.Deps[1], Map: m.Map}
	if m.End {
		l.Phase = "end"
	}
	return l
}
