package graph

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
	"github.com/ptobuild/ptobuild/runtime/check"
	"github.com/ptobuild/ptobuild/runtime/kernels"
	"github.com/ptobuild/ptobuild/runtime/native/protocol"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// Reports of the checks that the author has looked at and allows: with `# ptobuild: allow(RACE, reason)` (`//` in C++) on a line of the report, or alone on the line
// above, or with an [[allow]] table in Pto.toml. Each has a reason, and one that nothing needs is reported itself.

// AllowConfig is one [[allow]] of Pto.toml.
type AllowConfig struct {
	Report string `toml:"report"` // a name of allowable
	File   string `toml:"file"`   // glob of the files that a report is about; default all
	Test   string `toml:"test"`   // default all
	Reason string `toml:"reason"`
	Line   int    `toml:"-"`
}

// allowable are the reports that can be allowed, by name.
var allowable = map[string][]diag.Code{
	"RACE":      {check.CodeRace, check.CodeHostRace, sim.CodePredicateDep},
	"DIRECTION": {check.CodeDirection, protocol.CodeInputWritten},
	"LIFETIME":  {check.CodeLifetime, sim.CodeOutlives, sim.CodeReclaimed},
	"BARRIER":   {check.CodeBarrier},
	"NO_WRITE":  {sim.CodeNoWrite},
	"UNWRITTEN": {kernels.CodeUnwritten, sim.CodeUnwritten, CodeUnwritten},
	"ADVICE":    {check.CodeAdvice},
}

func allowableNames() []string { return slices.Sorted(maps.Keys(allowable)) }

// Allowance is one place that allows a kind of report.
type Allowance struct {
	At     diag.Span `json:"at"`
	Report string    `json:"report"`
	Reason string    `json:"reason"`

	line       int32 // the line that it is about; 0: all
	file, test string
}

var allowComment = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^ptobuild:\s*allow\(\s*([A-Za-z_]*)\s*(?:,\s*(.*?)\s*)?\)$`)
})

// allowancesIn reads the comments of a file. What cannot be understood is an error.
func allowancesIn(name string, src []byte) ([]Allowance, diag.List) {
	if !bytes.Contains(src, []byte("ptobuild:")) {
		return nil, nil
	}
	comments, mark := pythonComments, "#"
	if isHandwritten(name) {
		comments, mark = cppComments, "//"
	}
	list := comments(name, src)
	own := map[int32]bool{} // lines that hold only a comment
	for _, c := range list {
		own[c.at.Line] = c.own
	}
	var as []Allowance
	var ds diag.List
	for _, c := range list {
		if !strings.HasPrefix(c.text, "ptobuild:") {
			continue
		}
		at := c.at
		m := allowComment().FindStringSubmatch(c.text)
		if m == nil {
			ds.Add(diag.Errorf(CodeAllow, at, "this comment for ptobuild cannot be understood").WithHint("write %s ptobuild: allow(RACE, why this is right)", mark))
			continue
		}
		if d := checkAllow(m[1], m[2], at); d != nil {
			ds.Add(d)
			continue
		}
		a := Allowance{At: at, Report: m[1], Reason: m[2], file: name, line: at.Line}
		for c.own && own[a.line] {
			a.line++
		}
		as = append(as, a)
	}
	return as, ds
}

// comment is one that reaches to the end of its line.
type comment struct {
	at   diag.Span
	own  bool // nothing else is in the line
	text string
}

func pythonComments(name string, src []byte) (list []comment) {
	f, _ := syntax.Parse(name, src) // what is wrong with the rest is reported where the file is loaded
	for _, c := range f.Comments {
		list = append(list, comment{c.At().Span(name), c.Own, c.Text})
	}
	return list
}

// cppComments does not look for strings that hold "//": such a line has no comment that it could be mistaken for.
func cppComments(name string, src []byte) (list []comment) {
	n := int32(0)
	for line := range strings.Lines(string(src)) {
		n++
		code, text, ok := strings.Cut(line, "//")
		if i := strings.LastIndex(line, "// ptobuild:"); i >= 0 {
			code, text = line[:i], line[i+2:]
		}
		if ok {
			at := diag.Span{File: name, Line: n, Col: int32(len(code)) + 1, EndLine: n, EndCol: int32(len(strings.TrimRight(line, "\r\n"))) + 1}
			list = append(list, comment{at, strings.TrimSpace(code) == "", strings.TrimSpace(text)})
		}
	}
	return list
}

func checkAllow(report, reason string, at diag.Span) *diag.Diagnostic {
	if allowable[report] == nil {
		d := diag.Errorf(CodeAllow, at, "%q is no report that can be allowed", report).WithHint("these can: %s", strings.Join(allowableNames(), ", "))
		if near := diag.Nearest(strings.ToUpper(report), allowableNames()); near != "" {
			d.WithHint("did you mean %s?", near)
		}
		if allowable[strings.ToUpper(report)] != nil {
			d.WithHint("write %s", strings.ToUpper(report))
		}
		return d
	}
	if reason == "" {
		return diag.Errorf(CodeAllow, at, "allowing a report takes a reason").WithHint("say why it is right: allow(%s, the trips write different rows)", report)
	}
	return nil
}

// checkAllows reports what is wrong with the [[allow]] tables.
func (c *Config) checkAllows(path string, lines []string) diag.List {
	var ds diag.List
	at := linesOf(lines, "[[allow]]")
	for i := range c.Allow {
		a := &c.Allow[i]
		if i < len(at) {
			a.Line = at[i]
		}
		if d := checkAllow(a.Report, a.Reason, diag.Span{File: path, Line: int32(a.Line), Col: 1}); d != nil {
			ds.Add(d)
		}
	}
	return ds
}

// Allowances lists all that the workspace allows, with what is wrong with comments.
func (b *Builder) Allowances() ([]Allowance, diag.List) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.allowed == nil {
		b.allowed = &allowed{}
		b.allowed.read(b)
	}
	return b.allowed.list, b.allowed.diags
}

// allowed is what a workspace allows.
type allowed struct {
	list  []Allowance
	diags diag.List
}

func (x *allowed) read(b *Builder) {
	for i := range b.WS.Config.Allow {
		a := &b.WS.Config.Allow[i]
		x.list = append(x.list, Allowance{At: diag.Span{File: ConfigName, Line: int32(a.Line), Col: 1}, Report: a.Report, Reason: a.Reason, file: a.File, test: a.Test})
	}
	files, _ := b.WS.SourceFiles()
	for i := range b.WS.Config.Tests {
		if t := &b.WS.Config.Tests[i]; isHandwritten(t.Target) && !slices.Contains(files, t.handTarget().Source) {
			files = append(files, t.handTarget().Source)
		}
	}
	for _, f := range files {
		if src := b.WS.Source(f); src != nil {
			as, ds := allowancesIn(f, src)
			x.list = append(x.list, as...)
			x.diags.Add(ds...)
		}
	}
}

// allows reports that a is about d, in a test.
func (a *Allowance) allows(test string, d *diag.Diagnostic) bool {
	if !slices.Contains(allowable[a.Report], d.Code) || a.test != "" && a.test != test {
		return false
	}
	about := func(s diag.Span) bool {
		if a.line > 0 {
			return s.File == a.file && s.Line <= a.line && a.line <= max(s.Line, s.EndLine)
		}
		return a.file == "" || doublestar.MatchUnvalidated(a.file, s.File)
	}
	return about(d.Span) || slices.ContainsFunc(d.Related, func(r diag.Related) bool { return a.line > 0 && about(r.Span) })
}

// allow tells for each report of a test whether it is allowed, and notes in the verdict what allowed it.
func (t *Tester) allow(test *TestConfig, v *Verdict) func(d *diag.Diagnostic) bool {
	list, _ := t.Builder.Allowances()
	return func(d *diag.Diagnostic) bool {
		for i := range list {
			a := &list[i]
			if !a.allows(test.Name, d) {
				continue
			}
			if !slices.ContainsFunc(v.Allowed, func(x Allowance) bool { return x.At == a.At }) {
				v.Allowed = append(v.Allowed, *a)
			}
			return true
		}
		return false
	}
}

// Unused warns of what no verdict needed. It makes sense when all tests of the workspace were run and passed.
func (b *Builder) Unused(verdicts []*Verdict) diag.List {
	used := map[diag.Span]bool{}
	advice := false
	for _, v := range verdicts {
		advice = advice || v.Advice != nil
		for _, a := range v.Allowed {
			used[a.At] = true
		}
	}
	list, _ := b.Allowances()
	var ds diag.List
	for i := range list {
		a := &list[i]
		if used[a.At] || a.Report == "ADVICE" && !advice {
			continue
		}
		ds.Add(diag.Warningf(CodeAllow, a.At, "nothing needs allow(%s) here", a.Report).WithHint("take it away: it would hide the next such report"))
	}
	return ds
}

// allowKey is what of the allowances decides a verdict.
func (b *Builder) allowKey() string {
	list, _ := b.Allowances()
	return fmt.Sprintf("%+v", list)
}
