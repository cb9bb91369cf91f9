package client

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/plugins"
)

// Loaded is what the plugins add to the core.
type Loaded struct {
	Ops    []*ops.Spec    // for the registry
	Passes []plugins.Pass // for plugins.Arrange, named PLUGIN.PASS
	// Failed are the plugins that cannot be used, by name, with what is wrong.
	Failed map[string]diag.List
	About  map[string]*plugins.Description
}

// Reports are those about all failures.
func (l *Loaded) Reports() diag.List {
	var ds diag.List
	for _, f := range l.Failed {
		ds.Add(f...)
	}
	return ds.Sort() // without the helper each plugin fails alike
}

// Load asks the plugins what they serve; those whose answer is remembered are not started. A plugin that fails adds nothing; the others still count.
func (c *Client) Load() *Loaded { return c.LoadAs(c.configs) }

// LoadAs is Load for a caller that configures the same plugins elsewhere: reports have the places of these configurations.
func (c *Client) LoadAs(configs []plugins.Config) *Loaded {
	l := &Loaded{Failed: map[string]diag.List{}, About: map[string]*plugins.Description{}}
	about, failed := make([]*plugins.Description, len(configs)), make([]diag.List, len(configs))
	var wg sync.WaitGroup
	for i := range configs { // all start at the same time
		wg.Go(func() { about[i], failed[i] = c.describe(&configs[i]) })
	}
	wg.Wait()
	for i := range configs {
		conf, d := &configs[i], about[i]
		if failed[i] != nil {
			l.Failed[conf.Name] = blame(failed[i], conf.Pos)
			continue
		}
		l.About[conf.Name] = d
		own := ownOps(d)
		l.Ops = append(l.Ops, d.Ops...)
		for _, p := range d.Passes {
			l.Passes = append(l.Passes, c.pass(d.Name, p, own, conf.Pos))
		}
	}
	return l
}

// describe asks one plugin what it serves and gives its ops their functions.
func (c *Client) describe(conf *plugins.Config) (*plugins.Description, diag.List) {
	name := conf.Name
	if d := conf.Check(); d != nil {
		return nil, diag.List{d}
	}
	key := keyOf("describe", conf.Version)
	d := &plugins.Description{}
	if !c.recall(name, key, d) {
		resp, err := c.call(&plugins.Request{Plugin: name})
		if err != nil {
			return nil, diag.AsList(err, plugins.CodeHelper)
		}
		if d = resp.Desc; d == nil || len(d.Can) != len(d.Ops) {
			return nil, diag.List{answer(name, "describing itself", errors.New("parts are missing"))}
		}
		if ds := d.Check(); ds.HasErrors() {
			return nil, ds
		}
		c.remember(name, key, d)
	}
	for i, s := range d.Ops {
		c.equip(name, s, d.Can[i], slices.Contains(d.Capabilities, plugins.CanFloat64))
	}
	return d, nil
}

// equip gives an op the functions that the plugin serves.
func (c *Client) equip(name string, s *ops.Spec, can plugins.Can, doubles bool) {
	c.specs.Store(s.Name, s)
	if can.Infer {
		s.Infer = func(site *ops.Site) (ir.Type, *diag.Diagnostic) { return c.infer(name, site) }
	}
	if can.Verify {
		s.Verify = func(f *ir.Function, calls []*ir.OpCall) diag.List { return c.verify(name, f, calls) }
	}
	if can.Evaluate {
		s.Evaluate = func(e *ops.Evaluation) *diag.Diagnostic { return c.evaluate(name, s, e) }
		if !doubles {
			s.Evaluate = inFloat32(s.Evaluate)
		}
	}
	if can.Emit {
		s.Emit = c.emitter(name, s)
		s.EmitAhead = func(call *ir.OpCall, bound bool) { c.foresee(name, call, bound) }
	}
}

func ownOps(d *plugins.Description) map[string]bool {
	own := map[string]bool{}
	for _, s := range d.Ops {
		own[s.Name] = true
	}
	return own
}

// verify asks for reports about the calls of a function.
func (c *Client) verify(plugin string, f *ir.Function, calls []*ir.OpCall) diag.List {
	data, err := plugins.EncodeCalls(calls, ir.NewVarTable())
	if err != nil {
		return diag.List{diag.Errorf(plugins.CodeAnswer, f.Pos, "function %s cannot be sent to plugin %s: %v", f.Name, plugin, err)}
	}
	req := &plugins.VerifyRequest{Function: f.Name, Calls: data}
	key := keyOf("verify", f.Name, string(data))
	var kept plugins.VerifyResponse
	if !c.recall(plugin, key, &kept) {
		resp, err := c.call(&plugins.Request{Plugin: plugin, Verify: req})
		if err != nil {
			return diag.List{at(diag.AsList(err, plugins.CodeHelper)[0], calls[0].Pos)}
		}
		if resp.Verify == nil {
			return diag.List{at(answer(plugin, "verifying function "+f.Name, errors.New("parts are missing")), f.Pos)}
		}
		kept = *resp.Verify
		c.remember(plugin, key, &kept)
	}
	var ds diag.List
	for _, r := range kept.Reports {
		if r.Diag == nil || r.Call < 0 || r.Call >= len(calls) {
			continue
		}
		ds.Add(c.atOperand(r.Diag, calls[r.Call]))
	}
	return ds
}

// pass makes a pass of the pipeline out of a description.
func (c *Client) pass(plugin string, p plugins.Pass, own map[string]bool, pos diag.Span) plugins.Pass {
	n := *p.Pass
	n.Name, n.Plugin = plugin+"."+p.Name, plugin
	n.Run = func(ctx *passes.Context, prog *ir.Program) (*ir.Program, error) {
		out, err := c.run(ctx, plugin, p, own, prog)
		var refused *passes.Refusal
		switch {
		case errors.As(err, &refused):
			return nil, refused.With(blame(diag.AsList(err, plugins.CodeHelper), pos))
		case err != nil:
			return nil, blame(diag.AsList(err, plugins.CodeHelper), pos)
		}
		return out, nil
	}
	return plugins.Pass{Pass: &n, After: p.After, Before: p.Before, Grant: p.Grant, Pos: pos}
}

// run sends the functions of a program to a pass and takes back what it made of them.
func (c *Client) run(ctx *passes.Context, plugin string, pass plugins.Pass, own map[string]bool, p *ir.Program) (*ir.Program, error) {
	what := "running pass " + pass.Name + " on program " + p.Name
	table := ir.NewVarTable()
	data, err := ir.MarshalFunctions(p.Funcs, table)
	if err != nil {
		return nil, diag.Errorf(plugins.CodeAnswer, diag.Span{}, "the program cannot be sent to pass %s of plugin %s: %v", pass.Name, plugin, err)
	}
	req := &plugins.RunRequest{Pass: pass.Name, Program: p.Name, Functions: data, Options: ctx.Options, Explain: ctx.Explain != nil, Foreign: foreign(ctx.Ops, own)}
	key := keyOf("run", pass.Name, p.Name, string(data), fmt.Sprint(req.Options, req.Explain), namesOf(req.Foreign))
	var r plugins.RunResponse
	if !c.recall(plugin, key, &r) {
		resp, err := c.call(&plugins.Request{Plugin: plugin, Run: req})
		if err != nil {
			return nil, err
		}
		if resp.Run == nil {
			return nil, answer(plugin, what, errors.New("parts are missing"))
		}
		if r = *resp.Run; !r.Diags.HasErrors() {
			c.remember(plugin, key, &r)
		}
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
		return nil, answer(plugin, what, err)
	}
	out, err := assemble(p, fs, r.Order)
	if err != nil {
		return nil, answer(plugin, what, err)
	}
	if err := pass.CheckGrant(plugin, p, out); err != nil {
		return nil, passes.Refuse(p, out, err)
	}
	if len(r.Fusions) > 0 {
		if err := passes.CheckFusions(p, out, r.Fusions); err != nil {
			d := diag.Errorf(plugins.CodeProof, diag.Span{}, "pass %s of plugin %s claims a fusion that does not hold: %v", pass.Name, plugin, err).
				WithHint("this is a defect of the plugin; report it to its author with the dumps before and after the pass")
			return nil, passes.Refuse(p, out, d)
		}
	}
	return out, nil
}

// assemble makes the program that a pass gave: with an order, out of the functions that changed and those that did not.
func assemble(p *ir.Program, fs []*ir.Function, order []string) (*ir.Program, error) {
	out := &ir.Program{Name: p.Name, Funcs: fs, Pos: p.Pos}
	if len(order) == 0 {
		return out, nil
	}
	changed := map[string]*ir.Function{}
	for _, f := range fs {
		if changed[f.Name] != nil {
			return nil, fmt.Errorf("function %s comes twice", f.Name)
		}
		changed[f.Name] = f
	}
	old := map[string]*ir.Function{}
	for _, f := range p.Funcs {
		old[f.Name] = f
	}
	out.Funcs = nil
	for _, name := range order {
		f := changed[name]
		delete(changed, name)
		if f == nil {
			f = old[name]
		}
		if f == nil {
			return nil, fmt.Errorf("function %s stands in the order but is missing", name)
		}
		out.Funcs = append(out.Funcs, f)
	}
	if len(changed) > 0 {
		return nil, errors.New("a function that changed is missing in the order")
	}
	return out, nil
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

func namesOf(specs []*ops.Spec) string {
	var text string
	for _, s := range specs {
		text += fmt.Sprintf("%s %v %v %v %v %v\n", s.Name, s.Params, s.Kwargs, s.Where, s.Result, s.Effects)
	}
	return text
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

// atOperand gives a report about a variable the place of the call: a variable has that of its definition.
func (c *Client) atOperand(d *diag.Diagnostic, call *ir.OpCall) *diag.Diagnostic {
	for i, a := range call.Args {
		v, ok := a.(*ir.Var)
		if !ok || v.Pos != d.Span || !d.Span.IsValid() || !call.Pos.IsValid() {
			continue
		}
		n := *d
		n.Span, n.Operand = call.Pos, &diag.Operand{Index: i}
		if spec, ok := c.specs.Load(call.Op); ok && i < len(spec.(*ops.Spec).Params) {
			n.Operand.Name = spec.(*ops.Spec).Params[i].Name
		}
		return &n
	}
	return at(d, call.Pos)
}

// at gives a report without a place the place of the call. Kept reports are shared, so it is a copy.
func at(d *diag.Diagnostic, pos diag.Span) *diag.Diagnostic {
	n := *d
	if !n.Span.IsValid() {
		n.Span = pos
	}
	return &n
}
