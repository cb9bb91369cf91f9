package main

import (
	"regexp"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/internal/diag/catalogue"
	"github.com/ptobuild/ptobuild/internal/ui"
)

type explainResult struct {
	Code     diag.Code `json:"code"`
	Title    string    `json:"title"`
	Cause    string    `json:"cause"`
	Example  string    `json:"example"`
	Language string    `json:"language"` // of the example
	Fix      string    `json:"fix"`
}

type codeList struct {
	Groups []codeGroup `json:"groups"`
}

type codeGroup struct {
	Letter string      `json:"letter"`
	Title  string      `json:"title"`
	Codes  []codeTitle `json:"codes"`
}

type codeTitle struct {
	Code  diag.Code `json:"code"`
	Title string    `json:"title"`
}

func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [CODE|PATTERN]",
		Short: "Explain the code of a report, or why a target was built",
		Long: "Prints what a code such as PTO-D001 means, an example that is wrong in this way, and what to do about it; without a code, all of them.\n" +
			"For a target (//folder/file:function, or a pattern or path) it tells which actions ran when it was last brought up to date, and why: which\n" +
			"file and which function changed; and the same of its tests.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.listCodes()
			}
			return a.explain(args[0])
		},
	}
}

// codeForm is a code as people type it: pto-d001, D001.
var codeForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?i:PTO-)?([A-Za-z]\d{1,3})$`) })

// explain explains a code, or what has the form of a label or path.
func (a *app) explain(what string) error {
	if strings.ContainsAny(what, "/:.") {
		return a.explainTargets(what)
	}
	c := catalogue.Load()
	code := strings.ToUpper(what)
	if m := codeForm().FindStringSubmatch(what); m != nil {
		code = "PTO-" + strings.ToUpper(m[1])
	}
	e := c.Lookup(diag.Code(code))
	if e == nil {
		return noSuchCode(c, what, code)
	}
	if a.ui.JSON {
		return a.ui.Result(explainResult{e.Code, e.Title, e.Cause, e.Example, e.Lang, e.Fix})
	}
	a.ui.Printf("%s\n\n%s\n", a.ui.Paint(ui.Bold, string(e.Code)+": "+e.Title), wrap(e.Cause))
	a.ui.Printf("\n%s", indent(e.Example))
	if e.Lang == "python" && usesPrelude().MatchString(e.Example) {
		a.ui.Printf("\n%s\n", a.ui.Paint(ui.Dim, "T is pl.Tensor[[16, 16], pl.FP32]; k(a, o) and self.k(a, o) are kernels that copy a to o."))
	}
	a.ui.Printf("\n%s\n", wrap("Fix: "+e.Fix))
	return nil
}

// usesPrelude finds the names that examples take for granted.
var usesPrelude = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bT\b|\bk\(|\bk,`) })

func noSuchCode(c *catalogue.Catalogue, what, code string) error {
	d := diag.Errorf(graph.CodeNoMatch, diag.Span{}, "no report has the code %q", what)
	var codes []string
	for _, e := range c.All() {
		codes = append(codes, string(e.Code))
	}
	if near := diag.Nearest(code, codes); near != "" && strings.HasPrefix(code, "PTO-") {
		return d.WithHint("did you mean %s? `ptobuild explain` lists all codes", near)
	}
	if !strings.HasPrefix(code, "PTO-") && strings.Contains(code, "-") {
		return d.WithHint("it may be the code of a plugin, which its author explains: `ptobuild plugin list` lists the plugins; those of ptobuild look like PTO-D001")
	}
	return d.WithHint("codes look like PTO-D001; `ptobuild explain` lists all of them")
}

func (a *app) listCodes() error {
	c := catalogue.Load()
	if a.ui.JSON {
		var list codeList
		for _, g := range c.Groups {
			x := codeGroup{Letter: g.Letter, Title: g.Title}
			for _, e := range g.Entries {
				x.Codes = append(x.Codes, codeTitle{e.Code, e.Title})
			}
			list.Groups = append(list.Groups, x)
		}
		return a.ui.Result(list)
	}
	for i, g := range c.Groups {
		if i > 0 {
			a.ui.Printf("\n")
		}
		a.ui.Printf("%s\n", a.ui.Paint(ui.Bold, g.Letter+": "+g.Title))
		for _, e := range g.Entries {
			a.ui.Printf("  %s  %s\n", e.Code, e.Title)
		}
	}
	return nil
}

// wrap breaks paragraphs into lines of at most 100 characters.
func wrap(text string) string {
	var b strings.Builder
	for i, p := range strings.Split(text, "\n") {
		if i > 0 {
			b.WriteString("\n\n")
		}
		width := 0
		for j, w := range strings.Fields(p) {
			n := len([]rune(w))
			switch {
			case j == 0:
			case width+1+n > 100:
				b.WriteByte('\n')
				width = 0
			default:
				b.WriteByte(' ')
				width++
			}
			b.WriteString(w)
			width += n
		}
	}
	return b.String()
}

func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			b.WriteString("    ")
		}
		b.WriteString(line)
	}
	return b.String()
}
