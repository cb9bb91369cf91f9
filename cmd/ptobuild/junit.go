package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/internal/junit"
)

// selection says which of the tests are run: what build systems and code hosts ask of a test program.
type selection struct {
	filter, shard, junit string

	names         *regexp.Regexp
	index, shards int
}

func (s *selection) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.filter, "filter", "", "run only tests whose name matches the regular expression `RE`")
	cmd.Flags().StringVar(&s.shard, "shard", "", "run the part `I/N` of the tests, I from 0 to N-1")
	cmd.Flags().StringVar(&s.junit, "junit", "", "write the verdicts to `FILE` too, as JUnit XML")
}

// parse reads the flags.
func (s *selection) parse() (err error) {
	if s.names, err = regexp.Compile(s.filter); err != nil {
		return fmt.Errorf("--filter %s: %w", s.filter, err)
	}
	s.shards = 1
	if s.shard == "" {
		return nil
	}
	if _, err := fmt.Sscanf(s.shard+" ", "%d/%d ", &s.index, &s.shards); err != nil || s.index < 0 || s.index >= s.shards {
		return fmt.Errorf("--shard %s: write I/N with I from 0 to N-1", s.shard)
	}
	return nil
}

// of keeps the tests that are selected. Every test is in exactly one shard.
func (s *selection) of(tests []graph.Test) []graph.Test {
	var out []graph.Test
	n := 0
	for _, t := range tests {
		if !s.names.MatchString(t.Config.Name) {
			continue
		}
		if n%s.shards == s.index {
			out = append(out, t)
		}
		n++
	}
	return out
}

// writeJUnit writes the verdicts of a run that ended.
func (a *app) writeJUnit(file string, verdicts []*graph.Verdict) error {
	if file == "" {
		return nil
	}
	cases := make([]junit.Case, len(verdicts))
	for i, v := range verdicts {
		var text strings.Builder
		r := diag.Renderer{Source: a.ws.Source}
		r.Render(&text, v.Diags)
		cases[i] = junit.Case{Class: v.Target, Name: v.Test, Took: v.Took}
		if v.Passed {
			cases[i].Output = text.String()
		} else {
			cases[i].Failure = text.String()
		}
	}
	var b bytes.Buffer
	err := junit.Write(&b, "ptobuild", cases)
	if err == nil {
		err = writeFile(a.path(file), b.Bytes())
	}
	if err != nil {
		return diag.Errorf(graph.CodeOutput, diag.Span{File: file}, "cannot be written: %v", err)
	}
	return nil
}
