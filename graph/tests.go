package graph

import (
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// Test is one test of the workspace with its target.
type Test struct {
	Config *TestConfig
	Target *Target
}

// NeedsCompiler reports that the test only runs as compiled C++: its orchestration or one of its kernels is hand-written.
func (t *Test) NeedsCompiler() bool {
	switch x := t.Target; {
	case x.Hand != nil:
		return true
	case x.Program == nil: // not loaded yet
		return x.built != nil && len(x.built.External) > 0
	default:
		return slices.ContainsFunc(x.Program.Funcs, func(f *ir.Function) bool { return f.External != nil })
	}
}

// Tests lists the tests of the targets, and those of C++ files that the patterns select, in the order of Pto.toml. Without patterns, a test whose target
// does not exist is an error, unless it may be missing for what was reported of its file.
func (b *Builder) Tests(targets []*Target, patterns []Pattern, reported diag.List) ([]Test, diag.List) {
	all := len(patterns) == 0
	known, broken := map[string]bool{}, map[string]bool{}
	for _, t := range targets {
		known[t.Label.File] = true
	}
	for _, d := range reported {
		if d.Severity == diag.Error {
			broken[strings.TrimSuffix(d.Span.File, ".py")] = true
		}
	}
	byLabel := map[string]*Target{}
	var names []string
	for _, t := range targets {
		byLabel[t.Label.String()] = t
		names = append(names, t.Label.String())
	}
	var out []Test
	var ds diag.List
	for i := range b.WS.Config.Tests {
		c := &b.WS.Config.Tests[i]
		if t, ok := byLabel[c.Target]; ok {
			out = append(out, Test{c, t})
			continue
		}
		if isHandwritten(c.Target) {
			if all || slices.ContainsFunc(patterns, func(p Pattern) bool { return p.MatchFile(strings.TrimPrefix(c.Target, "//")) }) {
				out = append(out, Test{c, c.handTarget()})
			}
			continue
		}
		if !all {
			continue
		}
		if l, ok := ParseLabel(c.Target); ok && (broken[l.File] || len(broken) > 0 && !known[l.File] && b.WS.exists(l.File+".py")) {
			continue
		}
		d := diag.Errorf(CodeNoMatch, diag.Span{File: ConfigName, Line: int32(c.Line), Col: 1}, "test %q is for %s, which does not exist", c.Name, c.Target)
		if near := diag.Nearest(c.Target, names); near != "" {
			d.WithHint("did you mean %s?", near)
		} else {
			d.WithHint("`ptobuild graph` lists the targets")
		}
		ds.Add(d)
	}
	return out, ds
}

// TestsOf lists the tests of one target.
func (b *Builder) TestsOf(l Label) []*TestConfig {
	var out []*TestConfig
	for i := range b.WS.Config.Tests {
		if c := &b.WS.Config.Tests[i]; c.Target == l.String() {
			out = append(out, c)
		}
	}
	return out
}
