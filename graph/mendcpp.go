package graph

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/check"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/native"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// Changes of hand-written C++ that order a race. The source is read line by line, as far as a submit is one statement in a line of its own; whether a
// change is one is found out by trying it, as for DSL programs.

// maxMendedCpp bounds the races of a test for which changes are tried: each trial costs a compilation.
const maxMendedCpp = 3

// mendCpp adds to the first races the change that helps.
func (t *Tester) mendCpp(ctx context.Context, engine *native.Engine, built *Built, job *exec.Job, first *checkedResult) {
	src := cppSource{name: built.Target.Hand.Source, lines: strings.Split(built.Code, "\n")}
	for _, r := range first.report.Races[:min(len(first.report.Races), maxMendedCpp)] {
		for _, es := range src.order(r) {
			if t.cppHelps(ctx, engine, built, job, first, es) {
				r.Diag.Edits = es
				break
			}
		}
	}
}

// cppHelps tries a change: it compiles, leaves fewer races, and gives the same result in program order.
func (t *Tester) cppHelps(ctx context.Context, engine *native.Engine, built *Built, job *exec.Job, first *checkedResult, edits []diag.Edit) bool {
	h := built.Target.Hand
	text, err := t.Toolchain.PreprocessText(ctx, t.Builder.WS.Root, h.Source, h.Entry, h.Includes, diag.Apply([]byte(built.Code), edits))
	if err != nil {
		return false
	}
	changed := *engine
	if changed.Object, err = t.Toolchain.CompilePreprocessed(ctx, h.Source, text); err != nil {
		return false
	}
	changed.Probe = false
	one := *job
	one.Schedules = []exec.Schedule{{Policy: sim.Sequential}}
	results, found, err := changed.Inspect(ctx, &one, &native.Inspection{Names: namesOf(built)})
	return err == nil && !results[0].Failed() && len(found.Report.Races)+len(found.Report.Lifetimes) < len(first.report.Races)+len(first.report.Lifetimes) &&
		slices.EqualFunc(results[0].Outputs, first.Outputs, bytes.Equal)
}

type cppSource struct {
	name  string
	lines []string
}

// cppSubmit is a statement "RESULT = rt_submit_…(…, BUILDER).task_id();".
type cppSubmit struct {
	line                            int32
	indent, result, call, id, build string
}

var submitStatement = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\s*)((?:[\w:&<> ]+=\s*)?)((?:pto2_)?rt_submit_(?:aic_|aiv_|dummy_)?task\((?:.*[, ])?(\w+)\))(\.task_id\(\))?;\s*(?://.*)?$`)
})

func (s *cppSource) submit(u *check.Use) *cppSubmit {
	if u.Task < 0 || u.Site.File != s.name || u.Site.Line < 1 || int(u.Site.Line) > len(s.lines) {
		return nil
	}
	m := submitStatement().FindStringSubmatch(s.lines[u.Site.Line-1])
	if m == nil {
		return nil
	}
	return &cppSubmit{u.Site.Line, m[1], strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(m[2]), "=")), m[3], m[5], m[4]}
}

// order lists what may make the second task of a race wait for the first: straight on, and from one trip of a loop to the next.
func (s *cppSource) order(r *check.Race) (candidates [][]diag.Edit) {
	a, b := s.submit(&r.First), s.submit(&r.Second)
	if a == nil || b == nil {
		return nil
	}
	id := s.fresh(strings.Map(func(c rune) rune {
		if c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return c
		}
		return '_'
	}, r.First.Kernel) + "_tid")
	if a.line < b.line {
		var keep []diag.Edit
		name := id
		switch words := strings.Fields(a.result); {
		case len(words) == 0 && a.id == "":
			keep = append(keep, s.replace(a.line, a.indent+"PTO2TaskId "+id+" = "+a.call+".task_id();"))
		case a.id != "" && len(words) > 0:
			name = words[len(words)-1]
		case a.id == "" && len(words) > 0:
			keep = append(keep, s.insert(a.line+1, a.indent+"PTO2TaskId "+id+" = "+words[len(words)-1]+".task_id();"))
		default:
			return nil
		}
		for _, call := range []string{fmt.Sprintf("%s.set_dependencies(&%s, 1);", b.build, name), fmt.Sprintf("%s.add_dep(%s);", b.build, name)} {
			candidates = append(candidates, slices.Concat(keep, []diag.Edit{s.insert(b.line, b.indent+call)}))
		}
	}
	if loop := s.loop(min(a.line, b.line)); loop > 0 && a.result == "" && a.id == "" {
		indent := s.lines[loop-1][:len(s.lines[loop-1])-len(strings.TrimLeft(s.lines[loop-1], " \t"))]
		candidates = append(candidates, []diag.Edit{
			s.insert(loop, indent+"PTO2TaskId "+id+" = PTO2TaskId::invalid();"),
			s.replace(a.line, a.indent+id+" = "+a.call+".task_id();"),
			s.insert(b.line, b.indent+fmt.Sprintf("%s.set_dependencies(&%s, %s.is_valid() ? 1 : 0);", b.build, id, id)),
		})
		if a.line == b.line { // an insertion before what is replaced
			last := &candidates[len(candidates)-1]
			*last = []diag.Edit{(*last)[0], s.replace(a.line, (*last)[2].Text+(*last)[1].Text)}
		}
	}
	return candidates
}

// loop is the line of the loop around a line: the nearest one above that is indented less.
func (s *cppSource) loop(line int32) int32 {
	depth := func(l int32) int { return len(s.lines[l-1]) - len(strings.TrimLeft(s.lines[l-1], " \t")) }
	for l := line - 1; l > 0; l-- {
		if code := strings.TrimSpace(s.lines[l-1]); depth(l) < depth(line) && (strings.HasPrefix(code, "for ") || strings.HasPrefix(code, "for(") || strings.HasPrefix(code, "while")) {
			return l
		}
	}
	return 0
}

// fresh is a name that the source does not use.
func (s *cppSource) fresh(name string) string {
	text := strings.Join(s.lines, "\n")
	for i, base := 2, name; strings.Contains(text, name); i++ {
		name = fmt.Sprint(base, "_", i)
	}
	return name
}

func (s *cppSource) insert(line int32, text string) diag.Edit {
	return diag.Edit{Span: diag.Span{File: s.name, Line: line, Col: 1, EndLine: line, EndCol: 1}, Text: text + "\n"}
}

func (s *cppSource) replace(line int32, text string) diag.Edit {
	return diag.Edit{Span: diag.Span{File: s.name, Line: line, Col: 1, EndLine: line, EndCol: int32(len([]rune(s.lines[line-1]))) + 1}, Text: text}
}
