package passes

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
)

// Default returns the passes of the pipeline in order (design: section 5).
func Default() []*Pass {
	return []*Pass{
		inlineFunctions,
		unrollLoops,
		toSSA,
		simplify,
		normalizeStmts,
		flattenCalls,
		outlineIncore,
		outlineCluster,
		kernelABI,
		returnOrder,
		fuseSlice,
		callDirections,
		autoDeps,
		phaseFence,
		simplify,
		runtimeScopes,
		carryClass,
	}
}

// From returns the passes that follow the named one, for a program that was dumped after it. A name that occurs twice means its
// first occurrence; the name of a dump (05_after_Simplify) says which. "frontend" and "" give all passes.
func From(ps []*Pass, name string) ([]*Pass, error) {
	if name == "" || name == "frontend" || name == "00_frontend" {
		return ps, nil
	}
	i, err := find(ps, name)
	if err != nil {
		return nil, err
	}
	return ps[i+1:], nil
}

// Until returns the passes up to and with the named one.
func Until(ps []*Pass, name string) ([]*Pass, error) {
	i, err := find(ps, name)
	if err != nil {
		return nil, err
	}
	return ps[:i+1], nil
}

// find gives the index of a pass by name or by the name of its dump.
func find(ps []*Pass, name string) (int, error) {
	if num, rest, ok := strings.Cut(name, "_after_"); ok {
		if n, err := strconv.Atoi(num); err == nil && n >= 1 && n <= len(ps) && strings.EqualFold(ps[n-1].Name, rest) {
			return n - 1, nil
		}
		name = rest
	}
	if i := slices.IndexFunc(ps, func(p *Pass) bool { return strings.EqualFold(p.Name, name) }); i >= 0 {
		return i, nil
	}
	var names []string
	for _, p := range ps {
		if !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	d := diag.Errorf(codeNoSuchPass, diag.Span{}, "there is no pass '%s'", name)
	if near := diag.Nearest(name, names); near != "" {
		return 0, d.WithHint("did you mean '%s'?", near)
	}
	return 0, d.WithHint("the passes are %s", strings.Join(names, ", "))
}

// DumpName is the base name of the dump after pass i of a pipeline, counted from 0: 01_after_InlineFunctions.
func DumpName(i int, p *Pass) string { return fmt.Sprintf("%02d_after_%s", i+1, p.Name) }

// Hooks let a caller look on.
type Hooks struct {
	// After is called after each pass with its index and the program.
	After func(index int, pass *Pass, p *ir.Program)
	// Broken is called when a pass broke an invariant, with the program before and after it (nil after a crash). It returns where they can be read, for the
	// report.
	Broken func(pass *Pass, before, after *ir.Program) (dumps []string)
}

// Run drives a program through passes. The structural properties are verified first: what breaks them is the user's mistake, or the front end's. After each
// pass that changed it, the structural properties and those the pass declares are verified; what a pass requires and none before it produced is verified on
// the program as it is then. After a pass of a plugin all that was established is verified, and what foreignWork says. A pass of the core that fails because
// of what a plugin's pass made of the program is told as the fault of that one (see Blame).
//
// The result is the program after the last pass that ran, and all reports. With an error among them the program is not fit for more. A
// user's mistake carries its own code; a broken invariant is PTO-X001 and names pass and node.
func Run(ctx *Context, p *ir.Program, ps []*Pass, h Hooks) (*ir.Program, diag.List) {
	r := newRunner(ctx, ps, h)
	out, ds := r.run(p)
	if r.failed != nil && r.failed.Plugin == "" && r.foreign {
		ds = Blame(ctx, p, ps, h, ds, nil)
	}
	return out, ds
}

func newRunner(ctx *Context, ps []*Pass, h Hooks) *runner {
	return &runner{ctx: ctx, ops: opInfo(ctx), all: ps, hooks: h, holds: map[ir.Property]bool{}, lost: map[ir.Property]string{}}
}

func (r *runner) run(p *ir.Program) (*ir.Program, diag.List) {
	ctx, ps := r.ctx, r.all
	ctx.diags = ir.Verify(p, r.ops, structural...)
	if !ctx.diags.HasErrors() {
		ctx.diags.Add(verifyOps(ctx, p)...)
	}
	if ctx.diags.HasErrors() {
		ps = nil
	}
	for i, pass := range ps {
		next, ok := r.step(p, pass)
		if !ok {
			r.failed = pass
			break
		}
		r.foreign = r.foreign || pass.Plugin != "" && next != p
		p = next
		if r.hooks.After != nil {
			r.hooks.After(i, pass, p)
		}
	}
	ds := ctx.diags
	ctx.diags, ctx.pass = nil, ""
	return p, ds.Sort()
}

type runner struct {
	ctx   *Context
	ops   ir.OpInfo
	all   []*Pass
	hooks Hooks
	holds map[ir.Property]bool
	lost  map[ir.Property]string // property → the pass that invalidated it

	failed  *Pass // the one at which the pipeline stopped
	foreign bool  // a plugin's pass changed the program
}

// opInfo is what the verifier may ask of the ops, nil when there are none.
func opInfo(ctx *Context) ir.OpInfo {
	if info, ok := any(ctx.Ops).(ir.OpInfo); ok && ctx.Ops != nil {
		return info
	}
	return nil
}

// step runs one pass. ok is false when the pipeline has to stop.
func (r *runner) step(p *ir.Program, pass *Pass) (_ *ir.Program, ok bool) {
	if !r.ready(p, pass) {
		return nil, false
	}
	r.ctx.pass = pass.Name
	before := len(r.ctx.diags)
	next, err := r.call(p, pass)
	if err != nil {
		r.ctx.diags.Add(diag.AsList(err, CodeInternal)...)
		var refused *Refusal
		if errors.As(err, &refused) {
			r.broken(pass, refused.before, refused.after, diag.AsList(refused.err, CodeInternal))
			return nil, false
		}
		if len(r.ctx.diags) > before && r.ctx.diags[len(r.ctx.diags)-1].Code == CodeInternal {
			r.broken(pass, p, nil, r.ctx.diags[len(r.ctx.diags)-1:])
		}
		return nil, false
	}
	if r.ctx.diags.HasErrors() {
		return nil, false
	}
	for _, x := range pass.Invalidates {
		delete(r.holds, x)
		r.lost[x] = pass.Name
	}
	if !r.verify(p, next, pass) {
		return nil, false
	}
	for _, x := range pass.Produces {
		r.holds[x] = true
		delete(r.lost, x)
	}
	return next, true
}

// byTheUser are the structural properties that a user can break in ways that show only once functions are spliced or versions told apart. They
// are reported as they are; the others are invariants of the passes.
var byTheUser = []ir.Property{ir.OutParamNotShadowed, ir.NoNestedInCore, ir.InOutUseValid, ir.ArrayNotEscaped}

var structural = ir.StructuralProperties()

// verify checks what a pass made of p.
func (r *runner) verify(p, next *ir.Program, pass *Pass) bool {
	check := pass.Produces
	if next != p {
		check = slices.Concat(structural, check)
	}
	if pass.Plugin != "" {
		return r.verifyForeign(p, next, pass, check)
	}
	ds := ir.Verify(next, r.ops, check...)
	if !ds.HasErrors() {
		r.ctx.diags.Add(ds...)
		return true
	}
	// Now it may take its time: whose mistake is it?
	mistakes := ir.Verify(next, r.ops, byTheUser...)
	check = slices.DeleteFunc(slices.Clone(check), func(x ir.Property) bool { return slices.Contains(byTheUser, x) })
	broken := ir.Verify(next, r.ops, check...)
	mistakes = slices.DeleteFunc(mistakes, func(d *diag.Diagnostic) bool { // a malformed program is reported whatever is asked
		return slices.ContainsFunc(broken, func(x *diag.Diagnostic) bool { return x.Code == d.Code && x.Span == d.Span && x.Message == d.Message })
	})
	if next != p {
		r.ctx.diags.Add(mistakes...)
	}
	r.refuse(p, next, pass, broken)
	return false
}

// verifyForeign checks what a pass of a plugin made of p: check, all that was established and that the pass does not give up, and what foreignWork says.
func (r *runner) verifyForeign(p, next *ir.Program, pass *Pass, check []ir.Property) bool {
	if next != p {
		for x := range r.holds { // the reports are sorted
			if !slices.Contains(pass.Produces, x) {
				check = append(check, x)
			}
		}
	}
	ds := ir.Verify(next, r.ops, check...)
	if ds.HasErrors() { // what did not hold before either is not the pass's fault
		check = slices.DeleteFunc(check, func(x ir.Property) bool {
			return !slices.Contains(pass.Produces, x) && ir.Verify(p, r.ops, x).HasErrors()
		})
		ds = ir.Verify(next, r.ops, check...)
	}
	if !ds.HasErrors() && next != p {
		ds.Add(foreignWork(r.ctx, p, next)...)
	}
	if ds.HasErrors() {
		r.refuse(p, next, pass, ds)
		return false
	}
	r.ctx.diags.Add(ds...)
	return true
}

// refuse reports what a pass broke: for one of a plugin in one report, its author has the dumps.
func (r *runner) refuse(before, after *ir.Program, pass *Pass, ds diag.List) {
	var told diag.List
	for _, d := range ds {
		switch {
		case pass.Plugin != "" && (d.Severity != diag.Error || len(told) > 0): // warnings are about what it broke
			if d.Severity == diag.Error {
				told[0].WithRelated(d.Span, "%s", cited(d))
			}
		case d.Severity == diag.Error:
			told.Add(internal(pass, d))
		default:
			told.Add(d)
		}
	}
	r.ctx.diags.Add(told...)
	if told.HasErrors() {
		r.broken(pass, before, after, told)
	}
}

// call runs the pass and turns a panic into an error that names it.
func (r *runner) call(p *ir.Program, pass *Pass) (out *ir.Program, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = diag.Errorf(CodeInternal, diag.Span{}, "internal error: pass %s failed: %v", pass.Name, x).
				WithHint("this is a defect of ptobuild; please report it with the program (at %s)", crashSite(debug.Stack()))
		}
	}()
	out, err = pass.Run(r.ctx, p)
	if out == nil && err == nil {
		err = diag.Errorf(CodeInternal, diag.Span{}, "internal error: pass %s returned no program", pass.Name)
	}
	return out, err
}

// crashSite is the function in which a panic arose.
func crashSite(stack []byte) string {
	lines := strings.Split(string(stack), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "panic(") && i+2 < len(lines) {
			name := lines[i+2]
			if j := strings.LastIndex(name, "("); j > 0 {
				name = name[:j]
			}
			return name[strings.LastIndex(name, "/")+1:]
		}
	}
	return "unknown"
}

// ready checks what the pass requires.
func (r *runner) ready(p *ir.Program, pass *Pass) bool {
	for _, x := range pass.Requires {
		if r.holds[x] {
			continue
		}
		if by := r.lost[x]; by != "" {
			r.ctx.diags.Add(diag.Errorf(CodeInternal, diag.Span{}, "internal error: pass %s requires %s, which %s invalidated", pass.Name, x, by).
				WithHint("the order of the passes is wrong"))
			return false
		}
		if i := slices.IndexFunc(r.all, func(q *Pass) bool { return q != pass && slices.Contains(q.Produces, x) }); i >= 0 && !ir.IsVerifiable(x) {
			r.ctx.diags.Add(diag.Errorf(CodeInternal, diag.Span{}, "internal error: pass %s requires %s, which %s produces only later", pass.Name, x, r.all[i].Name).
				WithHint("the order of the passes is wrong"))
			return false
		}
		if ds := ir.Verify(p, r.ops, x); ds.HasErrors() {
			for _, d := range ds {
				if d.Severity == diag.Error {
					r.ctx.diags.Add(diag.Errorf(codeMissing, d.Span, "the program is not fit for pass %s, which requires %s: %s", pass.Name, x, d.Message).
						WithHint("start from an earlier pass"))
				}
			}
			return false
		}
		r.holds[x] = true
	}
	return true
}

// Refusal is the error of a pass whose result was refused before the manager looked at it.
type Refusal struct {
	before, after *ir.Program
	err           error
}

// Refuse makes one: Hooks.Broken then shows both programs.
func Refuse(before, after *ir.Program, err error) error { return &Refusal{before, after, err} }

// With is the same refusal for a better reason.
func (r *Refusal) With(err error) error { return Refuse(r.before, r.after, err) }

func (r *Refusal) Error() string { return r.err.Error() }
func (r *Refusal) Unwrap() error { return r.err }

// verifyOps asks the ops that have something to say about the calls of a function.
func verifyOps(ctx *Context, p *ir.Program) diag.List {
	if ctx.Ops == nil || !ctx.Ops.Verifies() {
		return nil
	}
	var ds diag.List
	for _, f := range p.Funcs {
		var specs []*ops.Spec
		calls := map[*ops.Spec][]*ir.OpCall{}
		ir.Inspect(f.Body, func(s ir.Stmt) bool {
			ir.Exprs(s, func(e ir.Expr) bool {
				if c, ok := e.(*ir.OpCall); ok {
					if spec := ctx.Ops.Lookup(c.Op); spec != nil && spec.Verify != nil {
						if calls[spec] == nil {
							specs = append(specs, spec)
						}
						calls[spec] = append(calls[spec], c)
					}
				}
				return true
			})
			return true
		})
		for _, spec := range specs {
			ds.Add(spec.Verify(f, calls[spec])...)
		}
	}
	return ds
}

// broken has the programs before and after a pass dumped; the reports then say where.
func (r *runner) broken(pass *Pass, before, after *ir.Program, ds diag.List) {
	if r.hooks.Broken == nil {
		return
	}
	if dumps := r.hooks.Broken(pass, before, after); len(dumps) > 0 {
		for _, d := range ds {
			if d.Severity == diag.Error {
				d.Hint = strings.TrimPrefix(d.Hint+"; dumps: "+strings.Join(dumps, ", "), "; ")
			}
		}
	}
}

// internal wraps a verifier report on the work of a pass.
func internal(pass *Pass, d *diag.Diagnostic) *diag.Diagnostic {
	n := diag.Errorf(CodeInternal, d.Span, "internal error: pass %s broke an invariant: %s", pass.Name, cited(d))
	n.Related = d.Related
	if pass.Plugin != "" {
		n.Message = fmt.Sprintf("pass %s of plugin %s broke an invariant: %s", pass.Name, pass.Plugin, cited(d))
		return n.WithHint("this is a defect of the plugin; please report it to its author with the program and the dumps before and after the pass")
	}
	return n.WithHint("this is a defect of ptobuild; please report it with the program and the dumps before and after the pass")
}

// cited is a report inside of another.
func cited(d *diag.Diagnostic) string {
	if d.Code == CodeInternal {
		return strings.TrimPrefix(d.Message, "internal error: ")
	}
	return fmt.Sprintf("[%s] %s", d.Code, d.Message)
}
