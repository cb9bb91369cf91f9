package main

import (
	"bytes"

	"github.com/spf13/cobra"

	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/internal/diag/catalogue"
	"github.com/ptobuild/ptobuild/internal/diag/sarif"
)

func (a *app) sarifFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.sarif, "sarif", "", "write the reports to `FILE` too, as SARIF 2.1.0")
}

// note keeps reports for what comes at the end of the command.
func (a *app) note(ds diag.List) { a.noted.Add(ds...) }

// writeSarif writes the reports of the command, also those of one that failed.
func (a *app) writeSarif() error {
	if a.sarif == "" {
		return nil
	}
	var b bytes.Buffer
	err := sarif.Write(&b, buildVersion(), a.noted)
	if err == nil {
		err = writeFile(a.path(a.sarif), b.Bytes())
	}
	if err != nil {
		return diag.Errorf(graph.CodeOutput, diag.Span{File: a.sarif}, "cannot be written: %v", err)
	}
	return nil
}

// tellMore points a person at the explanation of the first error of a failed command.
func (a *app) tellMore() {
	if a.ui == nil || !a.ui.Live {
		return
	}
	for _, d := range a.noted {
		if d.Severity == diag.Error && catalogue.Load().Lookup(d.Code) != nil {
			a.ui.Notef("`ptobuild explain %s` tells more\n", d.Code)
			return
		}
	}
}
