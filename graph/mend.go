package graph

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang"
	"github.com/ptobuild/ptobuild/ir/lang/edit"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
	"github.com/ptobuild/ptobuild/passes/lower"
	"github.com/ptobuild/ptobuild/runtime/check"
	"github.com/ptobuild/ptobuild/runtime/exec"
)

// maxMended bounds the races of one test for which changes are tried.
const maxMended = 8

// Remedy is a change of the source that may order a race.
type Remedy struct {
	Edits []diag.Edit
	Hint  string
}

// mend looks for changes of the source that order the races of a run. A change is suggested only after it was tried: the changed program builds, has
// fewer races and gives the same result in program order.
func (t *Tester) mend(ctx context.Context, built *Built, job *exec.Job, first *checkedResult) {
	for _, d := range first.report.Directions {
		if d.Should == ir.In {
			continue
		}
		if src := t.Builder.parsed(d.Param.Pos.File); src != nil {
			if es := edit.Direction(src, d.Param.Pos, d.Param.Name, d.Should.String()); len(es) > 0 && t.Builder.changed(ctx, built.Target, es) != nil {
				d.Diag.Edits = es
			}
		}
	}
	for _, x := range first.report.Barriers {
		if src := t.Builder.parsed(x.Site.File); src != nil {
			if es := edit.Keyword(src, x.Site, "sync_start", "True"); len(es) > 0 && t.Builder.changed(ctx, built.Target, es) != nil {
				x.Diag.Edits = es
			}
		}
	}
	for i, l := range first.report.Lifetimes {
		src := t.Builder.parsed(l.User.Site.File)
		if src == nil || l.Maker.Task < 0 || i == maxMended {
			continue
		}
		for _, carried := range []bool{false, true} {
			for _, es := range edit.Order(src, l.Maker.Site, l.User.Site, carried) {
				if len(l.Diag.Edits) == 0 && t.helps(ctx, built, job, first, es) {
					l.Diag.Edits = es
				}
			}
		}
	}
	for i, r := range exactOnes(first.report) {
		if i == maxMended || ctx.Err() != nil {
			return
		}
		for _, m := range Remedies(r, t.Builder.parsed, func(name string) diag.Span { return definition(built, name) }) {
			if t.helps(ctx, built, job, first, m.Edits) {
				r.Diag.Hint, r.Diag.Edits = m.Hint, m.Edits
				break
			}
		}
	}
}

// Remedies lists what may order a race, the most fitting first. parsed gives the tree of a file, nil when there is none, and kernel the place of a kernel's
// definition.
func Remedies(r *check.Race, parsed func(file string) *syntax.File, kernel func(name string) diag.Span) []Remedy {
	var out []Remedy
	file := parsed(r.Second.Site.File)
	declared := func(u *check.Use) []diag.Edit { // as InOut
		at := kernel(u.Kernel)
		if !at.IsValid() || u.Param == "" {
			return nil
		}
		if src := parsed(at.File); src != nil {
			return edit.Direction(src, at, u.Param, "InOut")
		}
		return nil
	}
	declare := func(u *check.Use) string { return "declare " + u.Param + " of " + u.Kernel + " as pl.InOut" }
	direction := func(u *check.Use) { out = append(out, Remedy{declared(u), declare(u) + ": " + r.Why()}) }
	auto := func() {
		if file == nil || r.First.Task < 0 {
			return
		}
		for _, es := range slices.Concat(edit.Auto(file, r.First.Site), edit.Auto(file, r.Second.Site)) {
			if r.Cause != check.CauseHostWrite {
				out = append(out, Remedy{es, "let the runtime track the tasks of the scope: " + r.Why()})
			}
			// A write does not wait for readers that are tracked, unless they say that they write.
			if d := declared(&r.First); r.Kind == check.WriteAfterRead && len(d) > 0 {
				out = append(out, Remedy{slices.Concat(d, es), "let the runtime track the tasks of the scope, and " + declare(&r.First) + ": a write does not wait for earlier reads"})
			}
		}
	}
	order := func() {
		if file == nil || r.First.Task < 0 || r.Second.Task < 0 {
			return
		}
		wait := fmt.Sprintf("make %s wait for %s: %s", &r.Second, &r.First, r.Why())
		if n := r.Apart(); n > 1 {
			out = append(out, Remedy{edit.Ring(file, r.First.Site, r.Second.Site, n), wait})
		}
		carried := r.Carried()
		for _, c := range []bool{carried, !carried} {
			for _, es := range edit.Order(file, r.First.Site, r.Second.Site, c) {
				out = append(out, Remedy{es, wait})
			}
		}
	}
	through := func() { // the longest changes
		if file == nil || r.First.Task < 0 || r.Second.Task < 0 {
			return
		}
		for _, c := range []bool{false, true} {
			for _, es := range edit.Through(file, r.First.Site, r.Second.Site, c) {
				out = append(out, Remedy{es, fmt.Sprintf("make %s wait for %s: %s", &r.Second, &r.First, r.Why())})
			}
		}
	}
	switch r.Cause {
	case check.CauseDirection:
		if r.FirstLies {
			direction(&r.First)
		}
		if r.SecondLies {
			direction(&r.Second)
		}
	case check.CauseNoDep:
		if file != nil {
			a, b := edit.Track(file, r.First.Site), edit.Track(file, r.Second.Site)
			for _, es := range [][]diag.Edit{b, a, slices.Concat(a, b)} {
				out = append(out, Remedy{es, "let the runtime track the argument: " + r.Why()})
			}
		}
	}
	order()
	switch r.Cause {
	case check.CauseManual, check.CauseHostRead:
		if file != nil && r.First.Task >= 0 {
			for _, es := range edit.Into(file, r.First.Site, r.Second.Site) {
				out = append(out, Remedy{es, fmt.Sprintf("move %s into the MANUAL scope and make it wait for %s: %s", &r.Second, &r.First, r.Why())})
			}
			through()
		}
		auto()
	case check.CauseOut:
		direction(&r.Second)
	case check.CauseReader, check.CauseHostWrite:
		direction(&r.First)
		if r.Cause == check.CauseHostWrite { // in a MANUAL scope the direction alone says nothing
			auto()
		}
	case check.CauseManualDep:
		if src := parsed(r.Made.File); src != nil {
			out = append(out, Remedy{edit.Managed(src, r.Made), "let the runtime track the tensor: " + r.Why()})
		}
	}
	if r.Cause != check.CauseManual {
		through()
	}
	return slices.DeleteFunc(out, func(m Remedy) bool { return len(m.Edits) == 0 })
}

// definition is where a kernel is defined.
func definition(built *Built, kernel string) diag.Span {
	if f := kernelFunction(built, kernel); f != nil {
		return f.Pos
	}
	return diag.Span{}
}

// parsed is the tree of a source file, nil when there is none.
func (b *Builder) parsed(name string) *syntax.File {
	src := b.WS.Source(name)
	if src == nil {
		return nil
	}
	f, ds := syntax.Parse(name, src)
	if ds.HasErrors() {
		return nil
	}
	return f
}

// mendBuild looks for changes with which a program builds that uses a TaskId after its scope.
func (b *Builder) mendBuild(target *Target, ds diag.List) {
	if b.read != nil { // it is a trial itself
		return
	}
	for _, d := range ds {
		src := b.parsed(d.Span.File)
		if d.Code != lower.CodeClosedScope || len(d.Related) == 0 || src == nil || len(d.Edits) > 0 {
			continue
		}
		producer := d.Related[0].Span
		for _, es := range slices.Concat(edit.Into(src, producer, d.Span), edit.Auto(src, producer)) {
			if len(es) > 0 && b.changed(context.Background(), target, es) != nil {
				d.Edits = es
				break
			}
		}
	}
}

// changed builds the target with a change, nil when that fails.
func (b *Builder) changed(ctx context.Context, target *Target, edits []diag.Edit) *Built {
	b = b.edited(edits)
	targets, ds := b.FileTargets(target.Source)
	if ds.HasErrors() {
		return nil
	}
	i := slices.IndexFunc(targets, func(x *Target) bool { return x.Label == target.Label })
	if i < 0 {
		return nil
	}
	c, ds := b.Build(ctx, targets[i])
	if ds.HasErrors() {
		return nil
	}
	return c
}

// helps tries a change.
func (t *Tester) helps(ctx context.Context, built *Built, job *exec.Job, first *checkedResult, edits []diag.Edit) bool {
	changed := t.Builder.changed(ctx, built.Target, edits)
	if changed == nil {
		return false
	}
	again := *job
	again.Plan, again.Program = changed.Plan, changed.Program
	got, err := t.checkedRun(ctx, &exec.Plan{Ops: t.Builder.Ops}, changed, &again)
	if err != nil || got.Failed() || len(got.Outputs) != len(first.Outputs) || problems(got.report) >= problems(first.report) {
		return false
	}
	return slices.EqualFunc(got.Outputs, first.Outputs, bytes.Equal)
}

// loosen tries pl.no_dep where tasks wait for each other though they touch different elements: the changed program has no race, the same result, and a shorter
// critical path.
func (t *Tester) loosen(ctx context.Context, built *Built, job *exec.Job, first *checkedResult) {
	for i, x := range first.advice.False {
		src := t.Builder.parsed(x.User.Site.File)
		if i == maxMended || ctx.Err() != nil || src == nil {
			return
		}
		es := edit.Untrack(src, x.User.Site, x.User.Param)
		if len(es) == 0 {
			continue
		}
		changed := t.Builder.changed(ctx, built.Target, es)
		if changed == nil {
			continue
		}
		again := *job
		again.Plan, again.Program = changed.Plan, changed.Program
		got, err := t.checkedRun(ctx, &exec.Plan{Ops: t.Builder.Ops}, changed, &again)
		if err == nil && !got.Failed() && len(got.report.Races) == 0 && got.advice.Path < first.advice.Path && slices.EqualFunc(got.Outputs, first.Outputs, bytes.Equal) {
			x.Diag.Edits = es
			x.Diag.Hint = fmt.Sprintf("pass %s as pl.no_dep: then the checks watch over it, and the critical path is %s instead of %s", x.User.Param,
				nanoseconds(got.advice.Path), nanoseconds(first.advice.Path))
		}
	}
}

// problems counts what is to become less.
func problems(r *check.Report) int { return len(exactOnes(r)) + len(r.Lifetimes) }

// edited is a builder for the same workspace with changed files.
func (b *Builder) edited(edits []diag.Edit) *Builder {
	byFile := map[string][]diag.Edit{}
	for _, e := range edits {
		byFile[e.Span.File] = append(byFile[e.Span.File], e)
	}
	c := &Builder{WS: b.WS, Ops: b.Ops, Profile: b.Profile, Args: b.Args, Entry: b.Entry, Factory: b.Factory, configured: b.configured, pipeline: b.pipeline,
		plugins: b.plugins, pluginKeys: b.pluginKeys, passPlugins: b.passPlugins, client: b.client,
		units: map[string]func() (*lang.Unit, diag.List){}, lowered: map[loweredKey]func() (*ir.Program, diag.List){}}
	c.read = func(name string) ([]byte, error) {
		src, err := b.WS.ReadFile(name)
		if es := byFile[name]; err == nil && len(es) > 0 {
			src = diag.Apply(src, es)
		}
		return src, err
	}
	return c
}
