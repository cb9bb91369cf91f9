// Package sdk is what the author of a plugin imports, beside package ir for types and programs. A plugin is a program whose main function calls Serve:
//
//	func main() {
//		sdk.Serve(sdk.Plugin{Name: "acme", Version: "1.0.0", Ops: []sdk.Op{rope}, Passes: []sdk.Pass{tidy}})
//	}
//
// An Op is data first (operands, effects on storage, what its result is), from which ptobuild derives dependencies, directions and checks, and then up
// to four functions: Infer (its type), Verify (further checks), Emit (its C++ in orchestration functions) and Evaluate (its numbers in kernels on the
// simulator). A Pass rewrites programs. All of them must be functions of what they are given: ptobuild keeps answers. docs/plugins.md walks through
// it.
//
// Ops and passes run in the plugin's own process: a crash or a hang there becomes a report of ptobuild. What a plugin prints is shown when it fails, and always
// when PTOBUILD_PLUGIN_OUTPUT=1 is set.
package sdk

import (
	"errors"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/plugins"
	"github.com/ptobuild/ptobuild/plugins/sdk/internal/bridge"
	"github.com/ptobuild/ptobuild/plugins/serve"
	"github.com/ptobuild/ptobuild/plugins/template"
)

// Plugin is what a plugin serves.
type Plugin struct {
	Name    string // the namespace: op "rope" of plugin "acme" is pl.acme.rope
	Version string // what Pto.toml and Pto.lock pin, such as 1.2.0
	Doc     string // one line
	Options []Option
	// Configure, when set, is called once before anything else with the plugin's options of Pto.toml, which fit Options (numbers are float64). An
	// error ends the use of the plugin.
	Configure func(options map[string]any) error
	Ops       []Op
	Passes    []Pass
}

// Report is a report to the user with a code of the plugin's own (ACME-001), a place, a message and a hint. It is an error.
type Report = diag.Diagnostic

// Span is a place in a source file.
type Span = diag.Span

// Errorf and Warningf make reports: errorf("ACME-001", call.Pos, "…").WithHint("…").
func Errorf(code string, at Span, format string, args ...any) *Report {
	return diag.Errorf(diag.Code(code), at, format, args...)
}

func Warningf(code string, at Span, format string, args ...any) *Report {
	return diag.Warningf(diag.Code(code), at, format, args...)
}

// Op describes an op.
type Op struct {
	Name     string // without the plugin's name
	Doc      string // one line
	Params   []Param
	Keywords []Keyword
	Where    Where  // OnHost (orchestration functions), InCore (kernels), or both
	Result   Result // how the result relates to storage
	Effects  []Effect
	Core     Core // in kernels: the kind of core that it needs
	Pure     bool // may be moved, and removed when its result is not used
	Mem      ir.Mem

	// Infer gives the result's type. Operands and keyword arguments already passed the checks that Params and Keywords state. Nil: unknown.
	Infer func(*Call) (ir.Type, error)
	// Verify reports about a call once all types are known.
	Verify func(*Call) error
	// Emit gives the C++ of a call in an orchestration function: see Call.Lines.
	Emit func(*Call) (*Template, error)
	// Evaluate computes a call in a kernel.
	Evaluate func(*Values) error
}

// Serve answers the requests of ptobuild until it is told to end, and does not return. A description that ptobuild would refuse ends the program with
// its faults.
func Serve(p Plugin) { serve.Serve(p.served()) }

// Check gives the faults of a description.
func (p *Plugin) Check() error {
	s := p.served()
	return s.Check().Err()
}

// served is the plugin as package serve has it.
func (p *Plugin) served() serve.Plugin {
	s := serve.Plugin{Name: p.Name, Version: p.Version, Doc: p.Doc, Configure: p.Configure}
	for _, o := range p.Options {
		s.Options = append(s.Options, plugins.Option(o))
	}
	for i := range p.Ops {
		s.Ops = append(s.Ops, p.Ops[i].served(p.Name))
	}
	for i := range p.Passes {
		s.Passes = append(s.Passes, p.Passes[i].served(p.Name))
	}
	return s
}

func (o *Op) served(plugin string) serve.Op {
	spec := &ops.Spec{Name: plugin + "." + o.Name, Doc: o.Doc, Where: o.Where, Result: o.Result, Effects: o.Effects, Core: o.Core, Pure: o.Pure, ResultMem: o.Mem}
	for i := range o.Params {
		spec.Params = append(spec.Params, o.Params[i].spec())
	}
	for i := range o.Keywords {
		spec.Kwargs = append(spec.Kwargs, o.Keywords[i].spec())
	}
	out := serve.Op{Spec: spec}
	if o.Infer != nil {
		spec.Infer = func(s *ops.Site) (t ir.Type, d *diag.Diagnostic) {
			defer misused(spec, spec.Name+": ", &d)
			c := &Call{Args: s.Args, Keywords: s.Kwargs, Pos: s.Pos, Lenient: s.Lenient, spec: spec}
			err := o.integers(c)
			if err == nil {
				t, err = o.Infer(c)
			}
			if err == nil && isNothing(t) {
				panic(misuse("its type rule (Infer) gave neither a type nor an error"))
			}
			if err != nil {
				return nil, report(spec.Name+": ", err, s.Pos)
			}
			return t, nil
		}
	}
	if o.Verify != nil {
		verify := func(c *ir.OpCall) (d *diag.Diagnostic) {
			defer misused(spec, spec.Name+": ", &d)
			if err := o.Verify(callOf(spec, c)); err != nil {
				return report(spec.Name+": ", err, c.Pos)
			}
			return nil
		}
		spec.Verify = func(_ *ir.Function, calls []*ir.OpCall) diag.List {
			var ds diag.List
			for _, c := range calls {
				if d := verify(c); d != nil {
					ds.Add(d)
				}
			}
			return ds
		}
	}
	if o.Emit != nil {
		out.Template = func(c *ir.OpCall, bound bool) (t *template.Template, d *diag.Diagnostic) {
			defer misused(spec, spec.Name+": ", &d)
			x := callOf(spec, c)
			x.Bound = bound
			t, err := o.Emit(x)
			if err == nil && t == nil {
				err = errors.New("its Emit gave neither a template nor an error")
			}
			if err != nil {
				return nil, report(spec.Name+": ", err, c.Pos)
			}
			return t, nil
		}
	}
	if o.Evaluate != nil {
		spec.Evaluate = func(e *ops.Evaluation) (d *diag.Diagnostic) {
			defer misused(spec, "", &d)
			v := &Values{e: e, spec: spec}
			err := o.Evaluate(v)
			v.store()
			if err != nil {
				return report("", err, Span{}) // the core says which op it is
			}
			return nil
		}
	}
	return out
}

// integers checks the operands that are to be integers.
func (o *Op) integers(c *Call) error {
	for i, p := range o.Params {
		if t, ok := c.typeOf(i).(*ir.ScalarType); ok && p.Integer && !t.DType.IsInt() {
			return c.Errorf(i, string(plugins.CodeReport), "%s must be an integer, got %s", p.Name, t.DType)
		}
	}
	return nil
}

// isNothing reports no type: also that which Call.Tile and Call.Tensor give for an operand that is none.
func isNothing(t ir.Type) bool {
	switch t := t.(type) {
	case nil:
		return true
	case *ir.TileType:
		return t == nil
	case *ir.TensorType:
		return t == nil
	}
	return false
}

// misuse is a panic about a question that a plugin must not ask.
type misuse string

// misused makes a report of one, with the place in the plugin.
func misused(spec *ops.Spec, whose string, d **diag.Diagnostic) {
	switch x := recover().(type) {
	case nil:
	case misuse:
		*d = diag.Errorf(plugins.CodeFailed, Span{}, "%s%s%s", whose, string(x), serve.Place()).WithHint("this is a defect of plugin %s; report it to its author", spec.Plugin())
	default:
		panic(x)
	}
}

// report is an error as a report. One without a code of its own says whose it is.
func report(whose string, err error, at Span) *diag.Diagnostic {
	d := diag.AsList(err, "")[0]
	if d.Code == "" {
		n := *d
		n.Code, n.Message = plugins.CodeReport, whose+strings.TrimPrefix(d.Message, whose)
		d = &n
	}
	if !d.Span.IsValid() {
		n := *d
		n.Span = at
		return &n
	}
	return d
}

// Pass rewrites programs. It must not change what it is given, but build new nodes and share the rest (ir.Rewriter helps); it returns the program itself
// when nothing changes.
type Pass struct {
	Name string // without the plugin's name
	Doc  string // one line
	// Where in the pipeline it stands: right after or right before the first pass of that name (`ptobuild passes` lists them).
	After, Before string
	Requires      []ir.Property
	Produces      []ir.Property
	Invalidates   []ir.Property
	// Grant is what the pass may change; ptobuild refuses more. Nil: everything.
	Grant *Grant
	Run   func(*Context, *ir.Program) (*ir.Program, error)
}

// Context is what a pass may ask and say.
type Context struct {
	c       *passes.Context
	fusions []passes.Fusion
}

// Op says what an op does, nil for one that nobody knows: passes ask it and never look at names.
func (c *Context) Op(name string) *ops.Spec {
	if c.c == nil || c.c.Ops == nil {
		return nil
	}
	return c.c.Ops.Lookup(name)
}

// Note tells a decision to --explain.
func (c *Context) Note(at Span, what string) { c.c.Note(at, what) }

// Report reports about the program. An error among the reports ends the build of its targets.
func (c *Context) Report(d *Report) { c.c.Report(d) }

// Fused makes a claim about the program that the pass returns.
func (c *Context) Fused(f Fusion) { c.fusions = append(c.fusions, passes.Fusion(f)) }

func (p *Pass) served(plugin string) serve.Pass {
	out := serve.Pass{Pass: plugins.Pass{Pass: &passes.Pass{Name: p.Name, Doc: p.Doc, Requires: p.Requires, Produces: p.Produces, Invalidates: p.Invalidates},
		After: p.After, Before: p.Before, Grant: (*plugins.Grant)(p.Grant)}}
	if p.Run != nil {
		out.Fuse = func(ctx *passes.Context, prog *ir.Program) (*ir.Program, []passes.Fusion, error) {
			c := &Context{c: ctx}
			after, err := p.Run(c, prog)
			if ds := diag.AsList(err, ""); len(ds) > 0 && ds[0].Code == "" {
				err = diag.List{report("pass "+plugin+"."+p.Name+": ", err, Span{})}
			}
			return after, c.fusions, err
		}
	}
	return out
}

func init() {
	bridge.Served = func(p any) serve.Plugin { return p.(*Plugin).served() }
}
