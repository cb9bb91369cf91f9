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
	// Broken is called when a pass broke an invariant, with the program before and after it (nil after a crash).
	Broken func(pass *Pass, before, after *ir.Program, ds diag.List)
}

// Run drives a program through passes. The structural properties are verified first: what breaks them is the user's mistake, or the front end's. After each pass that changed it, the structural properties and those the pass declares are verified; what
// a pass requires and none before it produced is verified on the program as it is then.
//
// The result is the program after the last pass that ran, and all reports. With an error among them the program is not fit for more. A
// user's mistake carries its own code; a broken invariant is PTO-X001 and names pass and node.
func Run(ctx *Context, p *ir.Program, ps []*Pass, h Hooks) (*ir.Program, diag.List) {
	r := runner{ctx: ctx, ops: opInfo(ctx), all: ps, hooks: h, holds: map[ir.Property]bool{}, lost: map[ir.Property]string{}}
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
			break
		}
		p = next
		if h.After != nil {
			h.After(i, pass, p)
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
		r.ctx.diags.Add(diag.AsList(err, codeInternal)...)
		var refused *Refusal
		if errors.As(err, &refused) {
			r.broken(pass, refused.before, refused.after, diag.AsList(refused.err, codeInternal))
			return nil, false
		}
		if len(r.ctx.diags) > before && r.ctx.diags[len(r.ctx.diags)-1].Code == codeInternal {
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
	ds := ir.Verify(next, r.ops, check...)
	if !ds.HasErrors() {
		r.ctx.diags.Add(ds...)
		return true
	}
	// Now it may take its time: whose mistake is it?
	mistakes := ir.Verify(next, r.ops, byTheUser...)
	check = slices.DeleteFunc(slices.Clone(check), func(x ir.Property) bool { return slices.Contains(byTheUser, x) })
	broken := ir.Verify(next, r.ops, check...)
	if next != p {
		r.ctx.diags.Add(mistakes...)
	}
	for _, d := range broken {
		if d.Severity == diag.Error {
			d = internal(pass, d)
		}
		r.ctx.diags.Add(d)
	}
	if broken.HasErrors() {
		r.broken(pass, p, next, broken)
	}
	return false
}

// call runs the pass and turns a panic into an error that names it.
func (r *runner) call(p *ir.Program, pass *Pass) (out *ir.Program, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = diag.Errorf(codeInternal, diag.Span{}, "internal error: pass %s failed: %v", pass.Name, x).
				WithHint("this is a defect of ptobuild; please report it with the program (at %s)", crashSite(debug.Stack()))
		}
	}()
	out, err = pass.Run(r.ctx, p)
	if out == nil && err == nil {
		err = diag.Errorf(codeInternal, diag.Span{}, "internal error: pass %s returned no program", pass.Name)
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
			r.ctx.diags.Add(diag.Errorf(codeInternal, diag.Span{}, "internal error: pass %s requires %s, which %s invalidated", pass.Name, x, by).
				WithHint("the order of the passes is wrong"))
			return false
		}
		if i := slices.IndexFunc(r.all, func(q *Pass) bool { return q != pass && slices.Contains(q.Produces, x) }); i >= 0 && !ir.IsVerifiable(x) {
			r.ctx.diags.Add(diag.Errorf(codeInternal, diag.Span{}, "internal error: pass %s requires %s, which %s produces only later", pass.Name, x, r.all[i].Name).
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

func (r *runner) broken(pass *Pass, before, after *ir.Program, ds diag.List) {
	if r.hooks.Broken != nil {
		r.hooks.Broken(pass, before, after, ds)
	}
}

// internal wraps a verifier report on the work of a pass.
func internal(pass *Pass, d *diag.Diagnostic) *diag.Diagnostic {
	n := diag.Errorf(codeInternal, d.Span, "internal error: pass %s broke an invariant: [%s] %s", pass.Name, d.Code, d.Message)
	n.Related = d.Related
	if pass.Plugin != "" {
		n.Message = fmt.Sprintf("pass %s of plugin %s broke an invariant: [%s] %s", pass.Name, pass.Plugin, d.Code, d.Message)
		return n.WithHint("this is a defect of the plugin; please report it to its author with the program and the dumps before and after the pass")
	}
	return n.WithHint("this is a defect of ptobuild; please report it with the program and the dumps before and after the pass")
}
