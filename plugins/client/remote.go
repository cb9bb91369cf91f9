package client

import (
	"errors"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/plugins"
)

// Load starts the plugins and returns what they add: ops for the registry, and passes for plugins.Arrange, named PLUGIN.PASS. A plugin that fails adds
// nothing and is reported; the others still count.
func (c *Client) Load() ([]*ops.Spec, []plugins.Pass, diag.List) {
	var specs []*ops.Spec
	var ps []plugins.Pass
	var ds diag.List
	for i := range c.configs {
		pos := c.configs[i].Pos
		d, failed := c.describe(c.configs[i].Name)
		if failed != nil {
			ds.Add(blame(failed, pos)...)
			continue
		}
		own := ownOps(d)
		specs = append(specs, d.Ops...)
		for _, p := range d.Passes {
			ps = append(ps, c.pass(d.Name, p, own, pos))
		}
	}
	// Without the helper each plugin fails alike.
	return specs, ps, ds.Sort()
}

// describe asks one plugin what it serves and gives its ops their type rules.
func (c *Client) describe(name string) (*plugins.Description, diag.List) {
	resp, err := c.call(&plugins.Request{Plugin: name})
	if err != nil {
		return nil, diag.AsList(err, plugins.CodeHelper)
	}
	d := resp.Desc
	if d == nil || len(d.Infers) != len(d.Ops) {
		return nil, diag.List{answer(name, "describing itself", errors.New("parts are missing"))}
	}
	if ds := d.Check(); ds.HasErrors() {
		return nil, ds
	}
	for i, s := range d.Ops {
		if d.Infers[i] {
			s.Infer = func(site *ops.Site) (ir.Type, *diag.Diagnostic) { return c.infer(name, site) }
		}
	}
	return d, nil
}

func ownOps(d *plugins.Description) map[string]bool {
	own := map[string]bool{}
	for _, s := range d.Ops {
		own[s.Name] = true
	}
	return own
}

// infer asks for the result type of one call. The type rules of a plugin are functions of the call, so an answer is kept; the same bytes may be about
// other variables, which the table of each request tells apart.
func (c *Client) infer(plugin string, s *ops.Site) (ir.Type, *diag.Diagnostic) {
	const what = "inferring types"
	call := &ir.OpCall{Op: s.Spec.Name, Args: s.Args, Kwargs: s.Kwargs, Typ: ir.Unknown, Pos: s.Pos}
	table := ir.NewVarTable()
	data, err := plugins.EncodeCalls([]*ir.OpCall{call}, table)
	if err != nil {
		return nil, diag.Errorf(plugins.CodeAnswer, s.Pos, "%s cannot be sent to plugin %s: %v", s.Spec.Name, plugin, err)
	}
	key := plugin + "\x00" + string(data)
	if s.Lenient {
		key += "\x00"
	}
	kept, ok := c.answers.Load(key)
	if !ok {
		resp, err := c.call(&plugins.Request{Plugin: plugin, Infer: &plugins.InferRequest{Calls: data, Lenient: s.Lenient}})
		if err != nil {
			return nil, at(diag.AsList(err, plugins.CodeHelper)[0], s.Pos)
		}
		kept = resp.Infer
		c.answers.Store(key, kept)
	}
	resp, _ := kept.(*plugins.InferResponse)
	if resp == nil {
		return nil, at(answer(plugin, what, errors.New("parts are missing")), s.Pos)
	}
	for _, e := range resp.Errors {
		if e.Diag != nil {
			return nil, at(e.Diag, s.Pos)
		}
	}
	calls, err := plugins.DecodeCalls(resp.Calls, table)
	if err == nil && (len(calls) != 1 || calls[0].Op != call.Op) {
		err = errors.New("they are not the calls that were asked about")
	}
	if err == nil {
		err = checkResult(s.Spec, calls[0].Typ)
	}
	if err != nil {
		return nil, at(answer(plugin, what, err), s.Pos)
	}
	return calls[0].Typ, nil
}

// checkResult compares a type with what the spec says about the result.
func checkResult(s *ops.Spec, t ir.Type) error {
	_, scalar := t.(*ir.ScalarType)
	if k := s.Result.Kind; scalar && (k == ops.Fresh || k == ops.View || k == ops.InPlace) {
		return errors.New("the result of " + s.Name + " has storage by its spec, but its type is a scalar")
	}
	return nil
}

// pass makes a pass of the pipeline out of a description.
func (c *Client) pass(plugin string, p plugins.Pass, own map[string]bool, pos diag.Span) plugins.Pass {
	n := *p.Pass
	n.Name, n.Plugin = plugin+"."+p.Name, plugin
	n.Run = func(ctx *passes.Context, prog *ir.Program) (*ir.Program, error) {
		out, err := c.run(ctx, plugin, p.Name, own, prog)
		if err != nil {
			return nil, blame(diag.AsList(err, plugins.CodeHelper), pos)
		}
		return out, nil
	}
	return plugins.Pass{Pass: &n, After: p.After, Before: p.Before, Pos: pos}
}

// run sends the functions of a program to a pass and takes back what it made of them.
func (c *Client) run(ctx *passes.Context, plugin, pass string, own map[string]bool, p *ir.Program) (*ir.Program, error) {
	table := ir.NewVarTable()
	data, err := ir.MarshalFunctions(p.Funcs, table)
	if err != nil {
		return nil, diag.Errorf(plugins.CodeAnswer, diag.Span{}, "the program cannot be sent to pass %s of plugin %s: %v", pass, plugin, err)
	}
	req := &plugins.RunRequest{Pass: pass, Program: p.Name, Functions: data, Options: ctx.Options, Explain: ctx.Explain != nil, Foreign: foreign(ctx.Ops, own)}
	resp, err := c.call(&plugins.Request{Plugin: plugin, Run: req})
	if err != nil {
		return nil, err
	}
	r := resp.Run
	if r == nil {
		return nil, answer(plugin, "running pass "+pass, errors.New("parts are missing"))
	}
	for _, n := range r.Notes {
		ctx.Note(n.At, n.Text)
	}
	if r.Diags.HasErrors() {
		return nil, r.Diags
	}
	for _, d := range r.Diags {
		ctx.Report(d)
	}
	if r.Unchanged {
		return p, nil
	}
	fs, err := ir.UnmarshalFunctions(r.Functions, table)
	if err != nil {
		return nil, answer(plugin, "running pass "+pass, err)
	}
	return &ir.Program{Name: p.Name, Funcs: fs, Pos: p.Pos}, nil
}

// foreign are the ops that a plugin does not know by itself.
func foreign(r *ops.Registry, own map[string]bool) []*ops.Spec {
	if r == nil {
		return nil
	}
	var out []*ops.Spec
	for _, s := range r.All() {
		if !own[s.Name] && ops.Builtin().Lookup(s.Name) == nil {
			out = append(out, s)
		}
	}
	return out
}

// answer is the report about an answer that breaks the protocol.
func answer(plugin, what string, err error) *diag.Diagnostic {
	return diag.Errorf(plugins.CodeAnswer, diag.Span{}, "plugin %s gave an invalid answer while %s: %v", plugin, what, err).
		WithHint("this is a defect of the plugin; report it to its author")
}

// blame gives reports without a place that of the plugin's configuration, except those about the helper: it is not the plugin's.
func blame(ds diag.List, pos diag.Span) diag.List {
	out := slices.Clone(ds)
	for i, d := range out {
		if d.Code != plugins.CodeHelper {
			out[i] = at(d, pos)
		}
	}
	return out
}

// at gives a report without a place the place of the call. Kept reports are shared, so it is a copy.
func at(d *diag.Diagnostic, pos diag.Span) *diag.Diagnostic {
	n := *d
	if !n.Span.IsValid() {
		n.Span = pos
	}
	return &n
}
