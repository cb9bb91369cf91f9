// Package passes turns the front end's program into the canonical one that passes/lower understands. Each pass is one file that states its rules and
// their source at the top, and a value of type Pass that declares what it needs and what it establishes; Run drives them, checks the
// declarations and verifies the IR after each.
package passes

import (
	"fmt"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
)

// Pass is one rewriting of a program.
type Pass struct {
	Name string // CamelCase, as in dump file names
	Doc  string // one line
	// Plugin names the plugin that serves the pass, "" for a built-in one.
	Plugin string
	// Requires must hold before, Produces holds after, Invalidates no longer holds after.
	Requires, Produces, Invalidates []ir.Property
	// Run returns the new program, or p itself when nothing changed. User mistakes go to ctx.Report; a returned error means the
	// program cannot continue.
	Run func(ctx *Context, p *ir.Program) (*ir.Program, error)
}

// Options change what passes do. They are part of every action key.
type Options struct {
	// AutoDeps is analyze_auto_scopes_for_deps: derive dependencies in AUTO regions (mission document 000).
	AutoDeps bool
	// NoManualAllocDeps leaves out the edges that keep a buffer of a MANUAL scope alive (behaviour C-MAN-09).
	NoManualAllocDeps bool
	// StoreTargetInOut passes a tensor that a pl.at block only writes as InOut when no loop carries it, as the reference does (behaviour P-OUT-16).
	StoreTargetInOut bool
}

// Context is what a pass may use besides the program.
type Context struct {
	Ops     *ops.Registry
	Options Options
	diags   diag.List
	// Explain, when set, receives one line for each decision worth telling (--explain).
	Explain func(pass string, at diag.Span, what string)
	pass    string
}

// Report adds a report.
func (c *Context) Report(d *diag.Diagnostic) { c.diags.Add(d) }

// Reports are the reports added so far.
func (c *Context) Reports() diag.List { return c.diags }

// Notef is Note with a format.
func (c *Context) Notef(at diag.Span, format string, args ...any) {
	if c.Explain != nil {
		c.Note(at, fmt.Sprintf(format, args...))
	}
}

// Note records a decision for --explain.
func (c *Context) Note(at diag.Span, what string) {
	if c.Explain != nil {
		c.Explain(c.pass, at, what)
	}
}
