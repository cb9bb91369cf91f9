package main

import (
	"strings"

	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/internal/ui"
)

type whyResult struct {
	Targets []graph.Explanation `json:"targets"`
}

// explainTargets tells why targets were built, and what the next build will find.
func (a *app) explainTargets(what string) error {
	s, err := a.session()
	if err != nil {
		return err
	}
	defer s.Close()
	ps, err := a.patterns(s.Root, []string{what})
	if err != nil {
		return err
	}
	es := s.Explain(ps)
	if len(es) == 0 {
		return diag.Errorf(graph.CodeNoMatch, diag.Span{}, "no target that was built matches %s", what).WithHint("`ptobuild build` builds, `ptobuild graph` lists the targets")
	}
	if a.ui.JSON {
		return a.ui.Result(whyResult{es})
	}
	for _, e := range es {
		a.ui.Printf("%s  %s\n", a.ui.Paint(ui.Bold, e.Target), a.ui.Paint(ui.Dim, "reads "+strings.Join(e.Inputs, ", ")))
		for _, st := range e.Steps {
			did := "hit"
			if st.Ran {
				did = "ran"
			}
			a.ui.Printf("  %-9s %s  in build %d of %d: %s\n", st.Action, did, st.Build, e.Builds, st.Why)
		}
		if len(e.Now) == 0 {
			a.ui.Printf("  %-9s nothing changed since\n", "now")
		}
		for _, n := range e.Now {
			a.ui.Printf("  %-9s %s\n", "now", n)
		}
	}
	return nil
}
