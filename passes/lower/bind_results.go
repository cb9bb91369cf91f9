package lower

import (
	"cmp"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/ops"
)

// BindResults says for each Var which C++ variable it is. The rules (mission document 000, "Output Aliasing"; passes-codegen 2.4, 2.8):
//
//   - A copy is its source. An op that works in place gives its operand. The target of an assemble is its result.
//   - A kernel result is the argument of the parameter that the callee returns there, by identity; there is no guessing.
//   - An Out parameter that a submit leaves out is a tensor of its own, made by the runtime.
//   - A carry whose class is Alias is its initial value; all other carries, and the results of an if, are variables (carries.go).
//   - Everything else that has a value is a variable declared where the value is made. When a runtime scope closes between definition and use,
//     the declaration moves in front of that scope.
//
// The walk also records which Vars anything depends on (live), so that nothing is printed for results that nobody reads.

// tuple holds the elements of a tuple value: those of a call, or those of a literal tuple.
type tuple struct {
	call  *call
	elems []*storage
}

type yieldFrame struct {
	values []ir.Expr
	from   *block
}

func (l *lowerer) bindBlock(b ir.Block, blk *block) {
	for _, s := range b {
		l.bindStmt(s, blk)
	}
}

func (l *lowerer) bindStmt(s ir.Stmt, blk *block) {
	l.at = s.Span()
	switch s := s.(type) {
	case *ir.Assign:
		l.bindAssign(s, blk)
	case *ir.Eval:
		switch x := s.X.(type) {
		case *ir.Call:
			l.bindCall(x, nil, s.Pos, blk)
		case *ir.OpCall:
			l.bindOp(x, nil, s.Pos, blk)
		default:
			l.useAll(x, blk)
		}
	case *ir.If:
		l.bindIf(s, blk)
	case *ir.For:
		l.bindFor(s, blk)
	case *ir.While:
		l.bindWhile(s, blk)
	case *ir.Yield:
		if n := len(l.yields); n > 0 {
			l.yields[n-1] = yieldFrame{s.Values, blk}
		}
		for _, v := range s.Values {
			l.see(v, blk)
		}
	case *ir.Scope:
		l.bindScope(s, blk)
	case *ir.Return:
		for _, e := range s.Values {
			ir.Walk(e, func(e ir.Expr) bool {
				switch e.(type) {
				case *ir.Call, *ir.OpCall:
					l.errorf(CodeProperty, s.Pos, "a call is left in the return statement (property NoNestedCalls)").WithHint("run the pass FlattenCallExpr before lowering")
					return false
				}
				return true
			})
		}
	case *ir.Branch:
		word := "break"
		if s.Continue {
			word = "continue"
		}
		l.errorf(CodeMisplaced, s.Pos, "%s cannot stand in an orchestration function", word).
			WithHint("put the condition into the loop (pl.while_) or around the rest of the body")
	case *ir.Verbatim:
		l.errorf(CodeMisplaced, s.Pos, "host-only Python code cannot stand in an orchestration function")
	}
}

func (l *lowerer) bindScope(s *ir.Scope, blk *block) {
	switch s.Kind {
	case ir.HierarchyScope: // only a label
		l.bindBlock(s.Body, blk)
		return
	case ir.RuntimeScope:
	default:
		l.errorf(CodeProperty, s.Pos, "an in-core scope is left in orchestration function %q (property SplitIncoreOrch)", l.fn.Name)
		return
	}
	kind := autoBlock
	if s.Manual {
		kind = manualBlock
	} else if blk.inManual() {
		l.errorf(CodeMisplaced, s.Pos, "an automatic scope cannot stand inside a manual scope").
			WithHint("use pl.manual_scope() here too, or move the scope out")
		return
	}
	body := blk.nested(kind, s)
	l.blocks[s] = [2]*block{body}
	l.bindBlock(s.Body, body)
	l.checkDepth(body, s.Pos)
}

// ringLevels is how many rings the runtime has; deeper scopes share the last one (runtime facts 1.7).
const ringLevels = 4

func (l *lowerer) checkDepth(b *block, at diag.Span) {
	n := 0
	if sc, ok := b.stmt.(*ir.Scope); ok && sc.Owner == ir.CompilerScope {
		return // told where they were placed
	}
	for ; b != nil; b = b.parent {
		if b.kind == autoBlock || b.kind == manualBlock {
			n++
		}
	}
	if n > ringLevels && n > l.deepest {
		if l.deepest == 0 {
			l.diags.Add(diag.Warningf(CodeScopeDepth, at, "runtime scopes are nested %d deep here, but the runtime has %d rings; the deeper ones share the last", n, ringLevels).
				WithHint("place fewer scopes with auto_scope=False and pl.scope()"))
		}
		l.deepest = n
	}
}

func (l *lowerer) bindAssign(s *ir.Assign, blk *block) {
	v := s.Var
	switch x := s.Value.(type) {
	case *ir.Call:
		c := l.bindCall(x, v, s.Pos, blk)
		if _, ok := x.Type().(*ir.TupleType); ok {
			l.tuples[v] = &tuple{call: c}
			return
		}
		l.storages[v] = l.result(c, 0, v, blk)
	case *ir.OpCall:
		l.bindOp(x, v, s.Pos, blk)
	case *ir.TupleGet:
		l.feed(v, x)
		if t := l.tupleOf(x.X); t != nil {
			l.storages[v] = l.element(t, x.Index, v, blk)
			return
		}
		l.internal(x.Pos, "an element of a value that is not a tuple")
	case *ir.MakeTuple:
		l.feed(v, x)
		t := &tuple{}
		for _, e := range x.Elems {
			l.see(e, blk)
			t.elems = append(t.elems, l.storageOf(e, blk))
		}
		l.tuples[v] = t
	case *ir.Var:
		l.feed(v, x)
		l.see(x, blk)
		if t, ok := l.tuples[x]; ok {
			l.tuples[v] = t
			return
		}
		l.storages[v] = l.storages[x]
		l.nonneg[v] = l.nonneg[x]
	default:
		l.feed(v, x)
		l.see(x, blk)
		l.nonneg[v] = l.isNonneg(x)
		l.storages[v] = l.local(v, blk)
	}
}

// local makes a variable declared by the statement that computes it.
func (l *lowerer) local(v *ir.Var, blk *block) *storage {
	return &storage{kind: localStore, name: l.names.primary(v.Hint, v.Pos), typ: ctype(v.Typ), block: blk, home: blk, what: ir.BaseName(v.Hint)}
}

// storageOf is the storage of a value that is already made: a Var, an element, or a literal.
func (l *lowerer) storageOf(e ir.Expr, blk *block) *storage {
	switch e := e.(type) {
	case *ir.Var:
		if s := l.storages[e]; s != nil {
			return s
		}
		if e.Dyn {
			if lit := l.dim(e); lit != nil {
				return &storage{kind: literal, lit: lit}
			}
		}
	case *ir.TupleGet:
		if t := l.tupleOf(e.X); t != nil {
			return l.element(t, e.Index, &ir.Var{Hint: "ret", Typ: e.Type(), Pos: e.Pos}, blk)
		}
	case *ir.ConstInt, *ir.ConstFloat, *ir.ConstBool:
		return &storage{kind: literal, lit: l.expr(e)}
	}
	return nil
}

func (l *lowerer) tupleOf(e ir.Expr) *tuple {
	v, ok := e.(*ir.Var)
	if !ok {
		return nil
	}
	return l.tuples[v]
}

func (l *lowerer) element(t *tuple, i int, v *ir.Var, blk *block) *storage {
	if t.call != nil {
		return l.result(t.call, i, v, blk)
	}
	if i < len(t.elems) {
		return t.elems[i]
	}
	return nil
}

// A call is one task launch.
type call struct {
	node    *ir.Call
	callee  *ir.Function
	span    diag.Span
	block   *block
	launch  *launch
	results []*storage // by result position, made on demand
	outputs int        // parameters that the runtime allocates
	bound   bool       // the result of a submit is assigned
	outs    *plan.Name // what the submit returns, when something needs it
	id      *storage   // the task id, when something asks for it
}

func (l *lowerer) bindCall(x *ir.Call, v *ir.Var, at diag.Span, blk *block) *call {
	c := &call{node: x, span: at, block: blk, bound: x.Submit && v != nil}
	l.calls[x] = c
	for _, a := range x.Args {
		l.useAll(a, blk)
	}
	for _, e := range []ir.Expr{x.Launch.CoreNum, x.Launch.Predicate} {
		if e != nil {
			l.useAll(e, blk)
		}
	}
	for _, e := range x.Launch.Dumps {
		l.useAll(e, blk)
	}
	for _, e := range x.Launch.Deps {
		l.useDep(e, blk)
	}
	c.callee = l.funcs[x.Callee]
	if c.callee == nil {
		l.errorf(CodeCallee, at, "function %q is not in the program (property OrchestrationReferencesResolved)", x.Callee)
		return c
	}
	n := 1
	if t, ok := x.Type().(*ir.TupleType); ok {
		n = len(t.Elems)
	}
	c.results = make([]*storage, n)
	if !l.checkArgs(c) {
		return c
	}
	c.launch = l.resolve(c)
	l.checkPitch(c, blk)
	for _, d := range x.CompilerDeps {
		l.useDerived(c, d)
	}
	if blk.inManual() {
		for i, a := range x.Args {
			if s := l.storageOf(a, blk); s != nil && ir.IsTensor(a.Type()) && c.callee.Params[i].Dir != ir.In {
				s.buffers(func(b *storage) { b.manualBy = at })
			}
		}
	}
	return c
}

// unknownPitch gives the source of a window that takes some columns of several rows whose length is known only at run time.
func unknownPitch(source ir.Expr, window *ir.Var) *ir.Var {
	src, ok := source.(*ir.Var)
	if !ok {
		return nil
	}
	from, to := ir.ShapeOf(src.Typ), ir.ShapeOf(window.Typ)
	if len(from) == 0 || len(from) != len(to) {
		return nil
	}
	last := len(to) - 1
	if _, known := ir.IntValue(from[last]); known || ir.EqualExprs(from[last], to[last]) {
		return nil
	}
	for _, e := range to[:last] {
		if n, known := ir.IntValue(e); !known || n != 1 {
			return src
		}
	}
	return nil
}

// checkPitch warns of such windows among the arguments of a task: a kernel is compiled for one distance between rows (report 2087).
func (l *lowerer) checkPitch(c *call, blk *block) {
	for _, a := range c.node.Args {
		s := l.storageOf(a, blk)
		if s == nil || s.pitch == nil {
			continue
		}
		l.diags.Add(diag.Warningf(CodePitch, c.span, "kernel %q gets columns of %q, whose rows have a length that is known only at run time; a kernel compiled for packed rows reads other elements",
			c.node.Callee, ir.BaseName(s.pitch.Hint)).WithHint("pass the whole tensor and the first column, and load the columns in the kernel"))
		s.pitch = nil // once
	}
}

// checkArgs checks arity and directions.
func (l *lowerer) checkArgs(c *call) bool {
	x, params := c.node, c.callee.Params
	switch {
	case len(x.Args) > len(params) || (!x.Submit && len(x.Args) < len(params)):
		l.errorf(CodeDirections, c.span, "%s takes %d arguments, %d were given", x.Callee, len(params), len(x.Args))
		return false
	case len(x.Dirs) != len(x.Args):
		l.errorf(CodeDirections, c.span, "the call of %s has %d argument directions for %d arguments: DeriveCallDirections must run before orchestration codegen",
			x.Callee, len(x.Dirs), len(x.Args))
		return false
	}
	ok := true
	for i, p := range params[len(x.Args):] {
		if p.Dir != ir.Out || !ir.IsTensor(p.Var.Typ) {
			l.errorf(CodeMissingArg, c.span, "the submit of %s leaves out parameter %q, which is %s (only Out params may be runtime-allocated)",
				x.Callee, ir.BaseName(p.Var.Hint), p.Dir).WithHint("pass the argument")
			ok = false
			continue
		}
		c.outputs = i + 1
	}
	for i, d := range x.Dirs {
		if (d == ir.DirScalar) == ir.IsTensor(x.Args[i].Type()) {
			l.errorf(CodeDirections, c.span, "argument %d of %s has direction %s, which does not fit its type (property CallDirectionsResolved)", i+1, x.Callee, d)
			ok = false
		}
	}
	return ok
}

// result is the storage of result i of a call; v is the Var that asks first and names what has no name yet.
func (l *lowerer) result(c *call, i int, v *ir.Var, blk *block) *storage {
	if c.callee == nil || i >= len(c.results) {
		return l.local(v, blk) // reported already
	}
	if s := c.results[i]; s != nil {
		return s
	}
	var s *storage
	switch {
	case c.node.Submit && i == len(c.results)-1:
		s = l.local(v, blk)
		s.valid = true
		c.id = s
	case !ir.IsTensor(v.Typ):
		s = l.local(v, blk)
	default:
		p, ok := l.returned(c.callee, i)
		switch {
		case !ok:
			l.errorf(CodeReturnMap, c.span, "cannot map return of callee %q: result %d is no parameter of it (property ReturnParamsExplicit)", c.node.Callee, i).
				WithHint("return the Out or InOut parameter that the kernel writes")
			s = l.local(v, blk)
		case p < len(c.node.Args):
			s = l.storageOf(c.node.Args[p], blk)
		default:
			s = l.local(v, blk)
			s.kind, s.root, s.ordinal = outputStore, s, p-len(c.node.Args)
			s.typ.Ref = true
		}
	}
	c.results[i] = s
	return s
}

// returned is the parameter that a function returns at a position. Kernels given as C++ return their Out and InOut parameters in order.
func (l *lowerer) returned(f *ir.Function, i int) (int, bool) {
	m, ok := l.returns[f]
	if !ok {
		m = returnMap(f)
		l.returns[f] = m
	}
	if i < len(m) && m[i] >= 0 {
		return m[i], true
	}
	if len(m) <= 1 && i == 0 {
		if outs := outParams(f); len(outs) == 1 {
			return outs[0], true
		}
	}
	return 0, false
}

func returnMap(f *ir.Function) []int {
	if f.External != nil && len(f.Body) == 0 {
		return outParams(f)
	}
	var m []int
	ir.Inspect(f.Body, func(s ir.Stmt) bool {
		if r, ok := s.(*ir.Return); ok {
			m = make([]int, len(r.Values))
			for i, e := range r.Values {
				m[i] = -1
				if v, ok := e.(*ir.Var); ok {
					m[i] = f.Param(v)
				}
			}
		}
		return true
	})
	return m
}

func outParams(f *ir.Function) []int {
	var outs []int
	for i, p := range f.Params {
		if p.Dir != ir.In && ir.IsTensor(p.Var.Typ) {
			outs = append(outs, i)
		}
	}
	return outs
}

// opDummy is the one op that the core itself lowers: a dependency-only task.
const opDummy = "system.task_dummy"

func (l *lowerer) bindOp(x *ir.OpCall, v *ir.Var, at diag.Span, blk *block) {
	spec := l.hostOp(x, at)
	if spec == nil {
		if v != nil {
			l.storages[v] = l.local(v, blk)
		}
		return
	}
	operands := *x
	operands.Deps = nil
	if spec.Pure && v != nil && spec.Result.Kind != ops.Fresh {
		l.feed(v, &operands)
		l.see(&operands, blk)
	} else {
		l.useAll(&operands, blk)
	}
	for _, d := range x.Deps {
		l.useDep(d, blk)
	}
	if spec.Result.Kind == ops.Value {
		l.checkRead(x, spec, at, blk)
	}
	if x.Op == opDummy {
		s := l.local(orVar(v, "barrier", ir.TaskIDType), blk)
		s.valid = len(x.Deps) == 0
		l.dummies[x] = s
		if v != nil {
			l.storages[v] = s
		}
		return
	}
	if v == nil {
		return
	}
	s := l.local(v, blk)
	switch r := spec.Result; r.Kind {
	case ops.InPlace:
		if o := l.operand(x, r.Arg, blk); o != nil {
			s = o
		}
	case ops.View:
		if o := l.operand(x, r.Arg, blk); o != nil {
			s.root, s.from = o.root, []*storage{o}
			s.pitch = cmp.Or(o.pitch, unknownPitch(x.Args[r.Arg], v))
		}
	case ops.Fresh:
		if t, ok := v.Typ.(*ir.ArrayType); ok {
			s.kind, s.slots = arrayStore, t.Len
		} else {
			l.planCreate(s, x, at, blk)
		}
	}
	l.storages[v] = s
}

// checkRead warns of reading elements that a task of a MANUAL scope wrote: reads wait for tracked tasks only, and such tasks are not.
func (l *lowerer) checkRead(x *ir.OpCall, spec *ops.Spec, at diag.Span, blk *block) {
	for i, a := range x.Args {
		if !ir.IsTensor(a.Type()) || spec.EffectOn(i) != ops.Read {
			continue
		}
		s := l.storageOf(a, blk)
		if s == nil {
			continue
		}
		s.buffers(func(b *storage) {
			if b.manualBy.IsValid() {
				l.diags.Add(diag.Warningf(CodeUnfencedRead, at, "elements of %q are read here, but a task of a manual scope writes it; the read does not wait for that task", b.what).
					WithHint("move the writing task out of the manual scope, or read a tensor that an automatically tracked task copies it to").
					WithRelated(b.manualBy, "the writing task"))
			}
		})
	}
}

func orVar(v *ir.Var, hint string, t ir.Type) *ir.Var {
	if v != nil {
		return v
	}
	return &ir.Var{Hint: hint, Typ: t}
}

func (l *lowerer) operand(x *ir.OpCall, i int, blk *block) *storage {
	if i >= len(x.Args) {
		return nil
	}
	return l.storageOf(x.Args[i], blk)
}

// hostOp looks up an op that may stand in an orchestration body.
func (l *lowerer) hostOp(x *ir.OpCall, at diag.Span) *ops.Spec {
	if x.Pos.IsValid() {
		at = x.Pos
	}
	spec := l.reg.Lookup(x.Op)
	if spec != nil && spec.IsHost() && (spec.Emit != nil || x.Op == opDummy || spec.Result.Kind == ops.Fresh) {
		return spec
	}
	kind := "builtin"
	switch {
	case strings.HasPrefix(x.Op, "tensor."):
		kind = "tensor"
	case spec != nil && spec.IsHost() && spec.Plugin() != "":
		l.errorf(CodeMisplaced, at, "%s becomes no C++: plugin %s has no Emit for it, and no pass replaced it", x.Op, spec.Plugin()).
			WithHint("this is a defect of the plugin; report it to its author")
		return nil
	case spec != nil && spec.Plugin() != "":
		kind = "plugin"
	}
	l.errorf(CodeMisplaced, at, "Misplaced %s op '%s' in Orchestration function (should be inside InCore block)", kind, x.Op).
		WithHint("compute inside a kernel or a pl.at(level=pl.Level.CORE_GROUP) block")
	return nil
}

// Uses.

// feed notes that v is computed from the Vars of e, and nothing else depends on them because of it.
func (l *lowerer) feed(v *ir.Var, e ir.Expr) {
	ir.Walk(e, func(e ir.Expr) bool {
		if u, ok := e.(*ir.Var); ok {
			l.feeds[v] = append(l.feeds[v], u)
			if l.live[v] {
				l.markLive(u)
			}
		}
		return true
	})
}

func (l *lowerer) markLive(v *ir.Var) {
	if l.live[v] {
		return
	}
	l.live[v] = true
	for _, u := range l.feeds[v] {
		l.markLive(u)
	}
}

// see checks that each variable of e is visible in blk, and lifts its declaration when a scope closed in between.
func (l *lowerer) see(e ir.Expr, blk *block) {
	ir.Walk(e, func(e ir.Expr) bool {
		v, ok := e.(*ir.Var)
		if !ok {
			return true
		}
		s := l.storages[v]
		if s == nil {
			if _, ok := l.tuples[v]; !ok && !v.Dyn && !l.diags.HasErrors() {
				l.errorf(CodeUndefined, l.at, "%q is read but nothing defines it", ir.BaseName(v.Hint))
			}
			return true
		}
		l.reach(s, blk)
		return true
	})
}

// useAll is see for a statement that has an effect.
func (l *lowerer) useAll(e ir.Expr, blk *block) {
	l.see(e, blk)
	ir.Walk(e, func(e ir.Expr) bool {
		if v, ok := e.(*ir.Var); ok {
			l.markLive(v)
			if s := l.storages[v]; s != nil && s.typ.Kind == plan.TensorT {
				l.use(s, blk)
			}
		}
		return true
	})
}

// reach makes the name of s visible in blk.
func (l *lowerer) reach(s *storage, blk *block) {
	if s.block == nil || s.block.encloses(blk) {
		return
	}
	if s.kind == bufferStore || s.kind == outputStore {
		l.use(s, blk)
		return
	}
	s.block = common(s.block, blk)
}

func (l *lowerer) internal(at diag.Span, what string) {
	l.errorf(CodeInternal, at, "lowering of %s: %s", l.fn.Name, what).WithHint("this is a defect of ptobuild; please report it with the program")
}
