// Package sarif writes reports in the Static Analysis Results Interchange Format, SARIF 2.1.0 (OASIS standard), which code hosts and editors read.
// Rules come from the catalogue. The same reports give the same bytes: no clock, host path or identifier of the run is written.
package sarif

import (
	"cmp"
	"encoding/json"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/internal/diag/catalogue"
)

const (
	schema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	root   = "SRCROOT" // what relative paths are relative to
)

type log struct {
	Schema  string `json:"$schema"`
	Version string `json:"version"`
	Runs    []run  `json:"runs"`
}

type run struct {
	Tool       tool                `json:"tool"`
	Bases      map[string]location `json:"originalUriBaseIds"`
	ColumnKind string              `json:"columnKind"`
	Results    []result            `json:"results"`
}

type tool struct {
	Driver driver `json:"driver"`
}

type driver struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Rules   []rule `json:"rules"`
}

type rule struct {
	ID    string   `json:"id"`
	Short *message `json:"shortDescription,omitempty"`
	Full  *message `json:"fullDescription,omitempty"`
	Help  *message `json:"help,omitempty"`
}

type message struct {
	Text     string `json:"text"`
	Markdown string `json:"markdown,omitempty"`
}

type result struct {
	RuleID    string  `json:"ruleId,omitempty"`
	RuleIndex *int    `json:"ruleIndex,omitempty"`
	Level     string  `json:"level"`
	Message   message `json:"message"`
	Locations []place `json:"locations,omitempty"`
	Related   []place `json:"relatedLocations,omitempty"`
	Fixes     []fix   `json:"fixes,omitempty"`
}

type fix struct {
	Description message  `json:"description"`
	Changes     []change `json:"artifactChanges"`
}

type change struct {
	Artifact     location      `json:"artifactLocation"`
	Replacements []replacement `json:"replacements"`
}

type content struct {
	Text string `json:"text"`
}

type replacement struct {
	Deleted  region   `json:"deletedRegion"`
	Inserted *content `json:"insertedContent,omitempty"`
}

type place struct {
	ID       *int     `json:"id,omitempty"`
	Physical physical `json:"physicalLocation"`
	Message  *message `json:"message,omitempty"`
}

type physical struct {
	Artifact location `json:"artifactLocation"`
	Region   *region  `json:"region,omitempty"`
}

type location struct {
	URI         string   `json:"uri,omitempty"`
	Base        string   `json:"uriBaseId,omitempty"`
	Description *message `json:"description,omitempty"`
}

type region struct {
	StartLine   int32 `json:"startLine"`
	StartColumn int32 `json:"startColumn,omitempty"`
	EndLine     int32 `json:"endLine,omitempty"`
	EndColumn   int32 `json:"endColumn,omitempty"`
}

// Write writes the reports, sorted by place and without repeats, as the one run of a log. version is that of ptobuild.
func Write(w io.Writer, version string, ds diag.List) error {
	ds = slices.Clone(ds)
	slices.SortStableFunc(ds, func(a, b *diag.Diagnostic) int { // reports of one place have an order too
		return cmp.Or(cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
	ds = ds.Sort()
	rules, index := rulesOf(ds)
	r := run{
		Tool:       tool{driver{Name: "ptobuild", Version: version, Rules: rules}},
		Bases:      map[string]location{root: {Description: &message{Text: "The root of the workspace."}}},
		ColumnKind: "unicodeCodePoints",
		Results:    make([]result, len(ds)),
	}
	for i, d := range ds {
		r.Results[i] = resultOf(d, index)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(log{Schema: schema, Version: "2.1.0", Runs: []run{r}})
}

// rulesOf lists the rules that the reports use, by code. A plugin's own code has a rule without description.
func rulesOf(ds diag.List) ([]rule, map[diag.Code]int) {
	var codes []diag.Code
	for _, d := range ds {
		if d.Code != "" {
			codes = append(codes, d.Code)
		}
	}
	slices.Sort(codes)
	rules, index := []rule{}, map[diag.Code]int{}
	for _, c := range slices.Compact(codes) {
		x := rule{ID: string(c)}
		if e := catalogue.Load().Lookup(c); e != nil {
			x.Short, x.Full = &message{Text: e.Title + "."}, &message{Text: e.Cause}
			x.Help = &message{Text: e.Cause + "\n\nFix: " + e.Fix, Markdown: e.Cause + "\n\n```" + e.Lang + "\n" + e.Example + "```\n\nFix: " + e.Fix}
		}
		index[c] = len(rules)
		rules = append(rules, x)
	}
	return rules, index
}

func resultOf(d *diag.Diagnostic, index map[diag.Code]int) result {
	r := result{RuleID: string(d.Code), Level: d.Severity.String(), Message: message{Text: d.Message}}
	if i, ok := index[d.Code]; ok {
		r.RuleIndex = &i
	}
	if d.Hint != "" {
		r.Message.Text += "\nHelp: " + d.Hint
	}
	if d.Span.File != "" {
		r.Locations = []place{{Physical: physicalOf(d.Span)}}
	}
	for _, rel := range d.Related {
		if rel.Span.File != "" {
			id := len(r.Related)
			r.Related = append(r.Related, place{ID: &id, Physical: physicalOf(rel.Span), Message: &message{Text: rel.Message}})
		}
	}
	if len(d.Edits) > 0 {
		r.Fixes = []fix{{Description: message{Text: d.Hint}, Changes: changesOf(d.Edits)}}
	}
	return r
}

// changesOf groups edits by file.
func changesOf(edits []diag.Edit) []change {
	var out []change
	for _, e := range edits {
		a := artifact(e.Span.File)
		k := slices.IndexFunc(out, func(c change) bool { return c.Artifact.URI == a.URI })
		if k < 0 {
			k = len(out)
			out = append(out, change{Artifact: a})
		}
		x := replacement{Deleted: region{StartLine: e.Span.Line, StartColumn: e.Span.Col, EndLine: e.Span.EndLine, EndColumn: e.Span.EndCol}}
		if e.Text != "" {
			x.Inserted = &content{e.Text}
		}
		out[k].Replacements = append(out[k].Replacements, x)
	}
	return out
}

func physicalOf(s diag.Span) physical {
	p := physical{Artifact: artifact(s.File)}
	if s.IsValid() {
		p.Region = &region{StartLine: s.Line, StartColumn: s.Col, EndLine: s.EndLine, EndColumn: s.EndCol}
		if s.EndLine < s.Line || s.EndLine == s.Line && s.EndCol <= s.Col || s.Col == 0 { // no range of characters is known
			p.Region.EndLine, p.Region.EndColumn = 0, 0
		}
	}
	return p
}

// artifact is the reference to a file. Texts given to pl.parse are named "file.py<name>" and belong to the file.
func artifact(name string) location {
	if i := strings.IndexByte(name, '<'); i > 0 {
		name = name[:i]
	}
	name = filepath.ToSlash(name)
	if filepath.IsAbs(name) {
		return location{URI: (&url.URL{Scheme: "file", Path: name}).String()}
	}
	return location{URI: (&url.URL{Path: name}).String(), Base: root}
}
