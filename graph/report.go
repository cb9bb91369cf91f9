package graph

import (
	"maps"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/plugins"
)

// Report is what a build did.
type Report struct {
	Targets     []Outcome // by label
	Diagnostics diag.List
	Ran         map[string]int // actions that ran: Load, Passes, Generate
	Hits        int            // actions that did not have to
}

// Outcome is the build of one target.
type Outcome struct {
	Label   Label
	OK      bool
	Written []string // files whose content changed, from Output
}

// Output is the folder of the target's outputs, from the root.
func (o *Outcome) Output() string { return OutDir + "/" + o.Label.File + "/" + o.Label.Func }

// WrittenFiles are the files whose content changed, from the root.
func (o *Outcome) WrittenFiles() []string {
	var out []string
	for _, name := range o.Written {
		out = append(out, o.Output()+"/"+name)
	}
	return out
}

func (r *Report) sort() {
	byLabel := func(a, b Outcome) int { return a.Label.Compare(b.Label) }
	if !slices.IsSortedFunc(r.Targets, byLabel) {
		slices.SortStableFunc(r.Targets, byLabel)
	}
	r.Diagnostics = plugins.WithoutStopped(r.Diagnostics.Sort())
}

// sortedKeys are the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
