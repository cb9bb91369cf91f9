// Package catalogue explains every report code of ptobuild. Its single source is docs/errors.md, which is embedded:
//
//	## D: Statements and calls of the DSL
//	### PTO-D001: An undefined name
//	cause, in paragraphs
//	```python
//	a wrong example
//	```
//	Fix: what to do
//
// A block "```python fragment" needs more around it to be a program; "```python prelude" is what all other Python examples begin with.
package catalogue

import (
	"fmt"
	"strings"
	"sync"

	"github.com/ptobuild/ptobuild/docs"
	"github.com/ptobuild/ptobuild/internal/diag"
)

// Group is a part of ptobuild that gives reports.
type Group struct {
	Letter  string
	Title   string
	Entries []*Entry // by code
}

// Entry explains one code.
type Entry struct {
	Code     diag.Code
	Title    string // one line without a full stop
	Cause    string // paragraphs, one per line
	Example  string // the wrong example, ends with a newline
	Lang     string // of the example: python, toml, cpp or console
	Fragment bool   // the example is only a part of a program
	Fix      string // paragraphs, one per line
}

// Catalogue is all of docs/errors.md.
type Catalogue struct {
	Groups  []*Group
	Prelude string // what the Python examples begin with
	byCode  map[diag.Code]*Entry
}

// Load reads the embedded page, once.
var Load = sync.OnceValue(func() *Catalogue {
	c, err := Parse(docs.Errors)
	if err != nil {
		panic("docs/errors.md: " + err.Error()) // the page is part of the program; the tests parse it
	}
	return c
})

// Lookup finds the entry of a code, nil when there is none.
func (c *Catalogue) Lookup(code diag.Code) *Entry { return c.byCode[code] }

// All lists the entries in the order of the page.
func (c *Catalogue) All() []*Entry {
	var all []*Entry
	for _, g := range c.Groups {
		all = append(all, g.Entries...)
	}
	return all
}

// Parse reads a page. It is strict, so that the page stays complete: every entry has a title, cause, example and fix, in the order of codes.
func Parse(page string) (*Catalogue, error) {
	p := reader{c: &Catalogue{byCode: map[diag.Code]*Entry{}}}
	for line := range strings.Lines(page) {
		p.line++
		if err := p.take(strings.TrimRight(line, "\n")); err != nil {
			return nil, fmt.Errorf("line %d: %w", p.line, err)
		}
	}
	if p.fence != nil {
		return nil, fmt.Errorf("line %d: a code block is not closed", p.line)
	}
	return p.c, p.end()
}

type reader struct {
	c     *Catalogue
	line  int
	group *Group
	entry *Entry
	fence *string // the text that the open code block is added to
}

func (p *reader) take(line string) error {
	switch {
	case p.fence != nil && line == "```":
		p.fence = nil
	case p.fence != nil:
		*p.fence += line + "\n"
	case strings.HasPrefix(line, "```"):
		return p.open(strings.TrimPrefix(line, "```"))
	case strings.HasPrefix(line, "### "):
		return p.heading(strings.TrimPrefix(line, "### "))
	case strings.HasPrefix(line, "## "):
		letter, title, ok := strings.Cut(strings.TrimPrefix(line, "## "), ": ")
		if !ok || len(letter) != 1 {
			return fmt.Errorf("a group heading is \"## LETTER: Title\"")
		}
		if err := p.end(); err != nil {
			return err
		}
		p.group, p.entry = &Group{Letter: letter, Title: title}, nil
		p.c.Groups = append(p.c.Groups, p.group)
	case p.entry == nil: // the introduction of the page or of a group
	case strings.HasPrefix(line, "Fix: "):
		p.entry.Fix = strings.TrimPrefix(line, "Fix: ")
	case p.entry.Example == "":
		p.entry.Cause = paragraph(p.entry.Cause, line)
	default:
		p.entry.Fix = paragraph(p.entry.Fix, line)
	}
	return nil
}

// paragraph adds a line of text: lines of one paragraph are joined, an empty line begins another.
func paragraph(text, line string) string {
	switch {
	case line == "" && text != "" && !strings.HasSuffix(text, "\n"):
		return text + "\n"
	case line == "" || text == "" || strings.HasSuffix(text, "\n"):
		return text + line
	}
	return text + " " + line
}

func (p *reader) open(info string) error {
	lang, mark, _ := strings.Cut(info, " ")
	switch {
	case mark == "prelude" && p.entry == nil:
		p.fence = &p.c.Prelude
		return nil
	case p.entry == nil || p.entry.Lang != "":
		return fmt.Errorf("a code block that is not the one example of an entry")
	case mark != "" && mark != "fragment":
		return fmt.Errorf("unknown mark %q of a code block", mark)
	}
	p.entry.Lang, p.entry.Fragment = lang, mark != ""
	p.fence = &p.entry.Example
	return nil
}

func (p *reader) heading(text string) error {
	if err := p.end(); err != nil {
		return err
	}
	code, title, ok := strings.Cut(text, ": ")
	switch {
	case !ok || p.group == nil:
		return fmt.Errorf("an entry heading is \"### CODE: Title\" below a group")
	case !strings.HasPrefix(code, "PTO-"+p.group.Letter):
		return fmt.Errorf("%s stands in group %s", code, p.group.Letter)
	case p.entry != nil && diag.Code(code) <= p.entry.Code:
		return fmt.Errorf("%s stands after %s", code, p.entry.Code)
	}
	p.entry = &Entry{Code: diag.Code(code), Title: title}
	p.group.Entries = append(p.group.Entries, p.entry)
	p.c.byCode[p.entry.Code] = p.entry
	return nil
}

// end checks the entry that is finished.
func (p *reader) end() error {
	e := p.entry
	if e == nil {
		return nil
	}
	e.Cause, e.Fix = strings.TrimSpace(e.Cause), strings.TrimSpace(e.Fix)
	if e.Cause == "" || e.Example == "" || e.Fix == "" {
		return fmt.Errorf("%s needs a cause, an example and a line that begins with \"Fix: \"", e.Code)
	}
	return nil
}
