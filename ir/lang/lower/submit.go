package lower

import (
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// launch reads the keyword arguments that say how a task is launched; submits and scopes share them.
type launch struct {
	b      *body
	path   string
	out    ir.Launch
	failed bool

	depsNode, predicateNode, dumpsNode, coreNode syntax.Expr
	predicate                                    syntax.Keyword
}

func (b *body) launch(path string) *launch { return &launch{b: b, path: path} }

// keyword reads one keyword argument. deps= and predicate= wait for finish, which checks them against each other.
func (l *launch) keyword(k syntax.Keyword) {
	b := l.b
	ok := true
	switch k.Name {
	case "deps":
		l.depsNode = k.Value
	case "predicate":
		l.predicateNode, l.predicate = k.Value, k
	case "dumps":
		l.dumpsNode = k.Value
	case "core_num":
		l.coreNum(k.Value)
	case "sync_start":
		l.out.SyncStart, ok = b.boolLiteral(k, l.path)
	case "allow_early_resolve":
		l.out.EarlyResolve, ok = b.boolLiteral(k, l.path)
	case "timing_slot":
		l.timingSlot(k.Value)
	}
	l.failed = l.failed || !ok
}

// timingSlot reads timing_slot=, an integer literal from 0 to 15 (mission document 004).
func (l *launch) timingSlot(x syntax.Expr) {
	e, ok := l.b.expr(x)
	if !ok {
		l.failed = true
		return
	}
	n, known := ir.IntValue(e)
	if !known || n < 0 || n > 15 {
		l.b.errorf(CodeKeyword, x, "timing_slot must be an integer literal from 0 to 15")
		l.failed = true
		return
	}
	l.out.TimingSlot = &n
}

// coreNum reads core_num=, a positive integer expression.
func (l *launch) coreNum(x syntax.Expr) {
	l.coreNode = x
	e, ok := l.b.expr(x)
	if !ok {
		l.failed = true
		return
	}
	if t, isScalar := e.Type().(*ir.ScalarType); (!isScalar || !t.DType.IsInt()) && !isUnknown(e.Type()) {
		l.b.errorf(CodeSpmd, x, "core_num must be an integer expression, got %s", typeText(e.Type()))
		l.failed = true
		return
	}
	if n, known := l.b.intValue(e); known && n <= 0 {
		l.b.errorf(CodeSpmd, x, "core_num must be positive, got %d", n)
		l.failed = true
		return
	}
	l.out.CoreNum = e
}

// finish reads what keyword left over and reports whether all went well.
func (l *launch) finish() bool {
	b := l.b
	if l.depsNode != nil {
		deps, ok := b.deps(l.depsNode, l.path)
		l.out.Deps = deps
		l.failed = l.failed || !ok
	}
	if l.predicateNode != nil {
		p, ok := b.predicate(l.predicate, l.out.Deps, l.depsNode, l.depsNode == nil || !l.failed)
		l.out.Predicate = p
		l.failed = l.failed || !ok
	}
	if l.dumpsNode != nil && l.path != "pl.submit" && l.path != "pl.spmd_submit" {
		dumps, ok := b.tensorNames(l.dumpsNode, "dumps")
		l.out.Dumps = dumps
		l.failed = l.failed || !ok
	}
	return !l.failed
}

func (b *body) boolLiteral(k syntax.Keyword, path string) (bool, bool) {
	if c, ok := k.Value.(*syntax.Constant); ok && (c.Kind == syntax.True || c.Kind == syntax.False) {
		return c.Kind == syntax.True, true
	}
	if v, ok := b.staticBool(k.Value); ok {
		return v, true
	}
	b.errorf(CodeKeyword, k.Value, "%s: %s must be a boolean literal", path, k.Name).WithHint("write %s=True or leave it out", k.Name)
	return false, false
}

// deps reads deps=[…]: TaskIds, whole arrays of TaskIds, slots of such arrays, None (dropped), or a comprehension over slots. Slots are
// collected in a private array first, because a dependency is a name.
func (b *body) deps(x syntax.Expr, path string) ([]ir.Expr, bool) {
	if c, ok := x.(*syntax.Comprehension); ok {
		return b.depsComprehension(c)
	}
	list, ok := x.(*syntax.List)
	if !ok {
		name, isName := x.(*syntax.Name)
		if isName && b.names.lookup(name.ID) == nil {
			if _, found := b.env.Lookup(name.ID); !found {
				b.undefined(name)
				return nil, false
			}
		}
		d := b.errorf(CodeDeps, x, "deps= must be a list literal of TaskIds").WithHint("write deps=[tid]")
		if isName {
			d.WithHint("write deps=[%s]", name.ID)
			d.Edits = []diag.Edit{{Span: b.at(x), Text: "[" + name.ID + "]"}}
		}
		return nil, false
	}
	var entries []ir.Expr
	var nodes []syntax.Expr
	slots := false
	for _, n := range list.Elems {
		if c, isConst := n.(*syntax.Constant); isConst && c.Kind == syntax.None {
			continue
		}
		e, good := b.depEntry(n)
		if !good {
			ok = false
			continue
		}
		if _, isVar := e.(*ir.Var); !isVar {
			slots = true
		}
		entries, nodes = append(entries, e), append(nodes, n)
	}
	if !ok {
		return nil, false
	}
	if len(entries) > 1 && b.mode != Dump {
		for i, e := range entries {
			if ir.IsTaskIDArray(e.Type()) {
				b.errorf(CodeDeps, nodes[i], "deps= cannot mix a whole array of TaskIds with other entries").
					WithHint("fan in with `barrier = pl.system.task_dummy(deps=[%s])`, then use barrier", dotted(nodes[i]))
				return nil, false
			}
		}
	}
	if slots {
		return b.depsBuffer(entries, nodes, x), true
	}
	return entries, true
}

// depEntry reads one entry of deps=.
func (b *body) depEntry(n syntax.Expr) (ir.Expr, bool) {
	switch n.(type) {
	case *syntax.Name, *syntax.Subscript:
	default:
		b.errorf(CodeDeps, n, "an entry of deps= must be a TaskId: a name, a slot of an array of TaskIds, or None").
			WithHint("bind the TaskId to a name first")
		return nil, false
	}
	e, ok := b.expr(n)
	if !ok {
		return nil, false
	}
	switch t := e.Type(); {
	case ir.IsTaskID(t), ir.IsTaskIDArray(t), isUnknown(t):
		return e, true
	case ir.IsTensor(t):
		d := b.errorf(CodeDeps, n, "bare tensor names are not allowed in deps=; use the TaskId of the task that wrote the tensor")
		if v, isVar := e.(*ir.Var); isVar && b.producers[v] != nil && b.producers[v].Hint != "_" {
			tid := b.producers[v].Hint
			d.WithHint("'%s' was written by the task '%s': write deps=[%s]", v.Hint, tid, tid)
			d.Edits = []diag.Edit{{Span: b.at(n), Text: tid}}
		} else {
			d.WithHint("`out, tid = pl.submit(…)` gives the TaskId")
		}
		return nil, false
	}
	b.errorf(CodeDeps, n, "an entry of deps= must be a TaskId, got %s", typeText(e.Type()))
	return nil, false
}

// depsComprehension reads deps=[arr[e(j)] for j in range(CONST)].
func (b *body) depsComprehension(c *syntax.Comprehension) ([]ir.Expr, bool) {
	if c.Kind != syntax.ListComp || len(c.Clauses) != 1 || len(c.Clauses[0].Ifs) > 0 {
		b.errorf(CodeDeps, c, "deps= must be a list literal, or one comprehension `[tids[j] for j in range(N)]`")
		return nil, false
	}
	name, ok := c.Clauses[0].Target.(*syntax.Name)
	if !ok {
		b.errorf(CodeDeps, c.Clauses[0].Target, "the comprehension of deps= has one loop name")
		return nil, false
	}
	values, ok := b.staticInts(c.Clauses[0].Iter)
	if !ok {
		return nil, false
	}
	const most = 4096
	if len(values) > most {
		b.errorf(CodeDeps, c, "the comprehension of deps= has %d entries; at most %d are supported", len(values), most)
		return nil, false
	}
	var entries []ir.Expr
	b.names.push()
	defer b.names.pop()
	for _, v := range values {
		b.alias(name.ID, &ir.ConstInt{Value: v, DType: ir.INDEX, Pos: b.at(name)}, b.at(name))
		e, ok := b.depEntry(c.Elem)
		if !ok {
			return nil, false
		}
		entries = append(entries, e)
	}
	for _, e := range entries {
		if _, isVar := e.(*ir.Var); !isVar {
			return b.depsBuffer(entries, nil, c), true
		}
	}
	return entries, true
}

// depsBuffer copies dependencies into a private array.
func (b *body) depsBuffer(entries []ir.Expr, nodes []syntax.Expr, x syntax.Node) []ir.Expr {
	at := b.at(x)
	t := &ir.ArrayType{Len: int64(len(entries)), DType: ir.TASK_ID}
	buf := b.temp("_submit_deps_buf", t, at)
	b.emit(&ir.Assign{Var: buf, Pos: at, Value: &ir.OpCall{
		Op: "array.create", Args: []ir.Expr{&ir.ConstInt{Value: t.Len, DType: ir.INDEX, Pos: at}},
		Kwargs: ir.Kwargs{{Name: "dtype", Value: ir.TASK_ID}}, Typ: t, Pos: at,
	}})
	for i, e := range entries {
		if nodes != nil {
			at = b.at(nodes[i])
		}
		b.emit(&ir.Assign{Var: buf, Pos: at, Value: &ir.OpCall{
			Op: "array.update_element", Args: []ir.Expr{buf, &ir.ConstInt{Value: int64(i), DType: ir.INDEX, Pos: at}, e}, Typ: t, Pos: at,
		}})
	}
	return []ir.Expr{buf}
}

// predicate reads predicate=(t[i, …] OP literal). It is kept as an expression and never evaluated by the orchestration (mission document 004).
func (b *body) predicate(k syntax.Keyword, deps []ir.Expr, depsNode syntax.Expr, depsKnown bool) (ir.Expr, bool) {
	x := k.Value
	if b.mode == Dump {
		return b.expr(x)
	}
	const shape = "predicate= must be a single comparison of one tensor element with an integer literal"
	hint := "write predicate=(t[i] > 0); reduce anything richer to one value in a kernel before"
	c, ok := x.(*syntax.Compare)
	if !ok {
		b.errorf(CodePredicate, x, shape).WithHint("%s", hint)
		return nil, false
	}
	if len(c.Ops) != 1 {
		b.errorf(CodePredicate, x, "%s: chained comparisons are not supported", shape).WithHint("%s", hint)
		return nil, false
	}
	op, known := compareOps[c.Ops[0]]
	if !known {
		b.errorf(CodePredicate, x, "%s: '%s' is not one of == != > < >= <=", shape, c.Ops[0])
		return nil, false
	}
	lx, lok := b.expr(c.X)
	ly, rok := b.expr(c.Ys[0])
	if !lok || !rok {
		return nil, false
	}
	read, node := elementRead(lx), c.X
	lit, litNode := ly, c.Ys[0]
	if read == nil {
		read, node = elementRead(ly), c.Ys[0]
		lit, litNode = lx, c.X
	}
	if read == nil {
		b.errorf(CodePredicate, x, "predicate= must compare one tensor element, written t[i, …], with an integer literal").WithHint("%s", hint)
		return nil, false
	}
	if _, isLit := ir.IntValue(lit); !isLit {
		b.errorf(CodePredicate, litNode, "the target of predicate= must be an integer literal").WithHint("%s", hint)
		return nil, false
	}
	t, isVar := read.Args[0].(*ir.Var)
	if !isVar {
		b.errorf(CodePredicate, node, "the tensor of predicate= must be a named tensor").WithHint("bind it to a name first")
		return nil, false
	}
	switch ir.ElemDType(read.Typ) {
	case ir.INT8, ir.INT16, ir.INT32, ir.INT64:
	default:
		b.errorf(CodePredicate, node, "predicate= must compare an element of a signed 8/16/32/64-bit integer tensor, got dtype %s", ir.ElemDType(read.Typ)).
			WithHint("the scheduler compares the element's bits as a signed integer: let a kernel write the decision into a tensor of pl.INT32")
		return nil, false
	}
	if idx, isTuple := read.Args[1].(*ir.MakeTuple); isTuple {
		for _, e := range idx.Elems {
			if n, isLit := ir.IntValue(e); isLit && n < 0 {
				b.errorf(CodePredicate, node, "an index of predicate= must not be negative")
				return nil, false
			}
		}
	}
	if tid := b.producers[t]; tid != nil && depsKnown {
		covered := slices.ContainsFunc(deps, func(d ir.Expr) bool { return d == ir.Expr(tid) || ir.IsTaskIDArray(d.Type()) })
		if !covered {
			d := b.errorf(CodePredicate, node, "predicate operand '%s' is produced by the task '%s', which is not in deps=", t.Hint, tid.Hint)
			if tid.Hint == "_" {
				d.WithHint("give the TaskId of that task a name and list it in deps=: else the predicate may see the tensor before it is written")
			} else {
				d.WithHint("write deps=[%s]: else the predicate may see the tensor before it is written", tid.Hint)
				d.Edits = b.addDep(depsNode, &k, tid.Hint)
			}
			return nil, false
		}
	}
	e, ok := b.binary(op, lx, ly, c.X, c.Ys[0], c)
	return e, ok
}

// addDep is the change that adds a TaskId to deps=, or writes deps= before the keyword argument k when there is none.
func (b *body) addDep(deps syntax.Expr, k syntax.Node, tid string) []diag.Edit {
	list, isList := deps.(*syntax.List)
	switch {
	case deps == nil:
		at := b.at(k)
		at.EndLine, at.EndCol = at.Line, at.Col
		return []diag.Edit{{Span: at, Text: "deps=[" + tid + "], "}}
	case !isList:
		return nil
	case len(list.Elems) == 0:
		return []diag.Edit{{Span: b.at(list), Text: "[" + tid + "]"}}
	}
	at := b.at(list.Elems[len(list.Elems)-1])
	at.Line, at.Col = at.EndLine, at.EndCol
	return []diag.Edit{{Span: at, Text: ", " + tid}}
}

// elementRead returns the tensor.read that an expression is, casts aside.
func elementRead(e ir.Expr) *ir.OpCall {
	for {
		switch x := e.(type) {
		case *ir.Cast:
			e = x.X
			continue
		case *ir.OpCall:
			if x.Op == "tensor.read" && len(x.Args) == 2 {
				return x
			}
		}
		return nil
	}
}

// submit reads pl.submit(self.k, …) and pl.spmd_submit(self.k, …).
func (b *body) submit(call *syntax.Call, path string) (*ir.Call, bool) {
	spmd := path == "pl.spmd_submit"
	if !b.host && b.mode != Dump {
		b.errorf(CodeSubmit, call, "%s belongs in orchestration code, not inside a kernel", path)
		return nil, false
	}
	if len(call.Args) == 0 {
		b.errorf(CodeSubmit, call, "%s() needs the kernel as its first argument", path).WithHint("write %s(self.kernel, …)", path)
		return nil, false
	}
	l := b.launch(path)
	ok := true
	allowed := []string{"deps", "dumps", "allow_early_resolve", "predicate", "timing_slot", "attrs"}
	if spmd || b.mode == Dump {
		allowed = append(allowed, "core_num", "sync_start")
	}
	var attrs ir.Attrs
	var device ir.Expr
	for _, k := range call.Keywords {
		good := true
		switch {
		case k.Name == "attrs":
			attrs, good = b.attrsDict(k.Value)
			ok = ok && good
		case k.Name == "device" && (b.fn.decl.level == "HOST" || b.mode == Dump):
			device, good = b.expr(k.Value)
			ok = ok && good
		case slices.Contains(allowed, k.Name):
			l.keyword(k)
		case k.Name == "core_num" || k.Name == "sync_start":
			b.errorf(CodeKeyword, k.Value, "pl.submit() does not accept '%s='", k.Name).WithHint("use pl.spmd_submit to launch a kernel over several blocks")
			ok = false
		default:
			b.unknownKeyword(path, k, allowed)
			ok = false
		}
	}
	if b.fn.decl.level == "HOST" && b.mode != Dump {
		ok = b.hostSubmit(call, path, l) && ok
	}
	if spmd && l.coreNode == nil {
		b.errorf(CodeSpmd, call, "pl.spmd_submit() requires the core_num keyword argument").WithHint("write core_num=N with the number of blocks")
		ok = false
	}
	ok = l.finish() && ok
	f, dsl, good := b.calleeOf(call.Args[0])
	ok = ok && good
	args, noDep, good := b.callArgs(call.Args[1:])
	ok = ok && good
	if !ok {
		return nil, false
	}
	if f == nil {
		if isJIT(dsl.Kind) {
			if args, ok = b.fillArgs(&syntax.Call{Range: call.Range, Fun: call.Args[0]}, dsl, args, nil, true); !ok {
				return nil, false
			}
		}
		if f, ok = b.instance(dsl, args, call, call.Args[0]); !ok {
			return nil, false
		}
		args, noDep = dropFixed(f, args, noDep)
	}
	if b.fn.decl.level == "HOST" && b.mode != Dump && len(args) < len(f.out.Params) {
		b.errorf(CodeArguments, call, "'%s' expects %d argument(s), got %d: a submit of a HOST orchestrator passes all of them", f.name, len(f.out.Params), len(args)).
			WithRelated(f.span(), "defined here")
		return nil, false
	}
	if t := f.decl.typ; !t.IsKernel() && !t.IsWrapper() && t != ir.Graph && t != ir.Opaque && b.mode != Dump && f.decl.level != "HOST" && !(t == ir.Orchestration && b.fn.decl.level == "HOST") {
		b.errorf(CodeSubmit, call.Args[0], "%s cannot launch '%s': it is a %s function, not a kernel", path, f.name, t).WithHint("call it as self.%s(…)", f.name)
		return nil, false
	}
	at := b.at(call)
	c := &ir.Call{Callee: f.name, Args: args, Submit: true, Launch: l.out, NoDep: noDep, Device: device, Pos: at}
	if !b.bindArgs(f, c, call, true) {
		return nil, false
	}
	b.takeCallAttrs(c, attrs)
	if l.dumpsNode != nil {
		if c.Launch.Dumps, ok = b.submitDumps(l.dumpsNode, c); !ok {
			return nil, false
		}
	}
	b.stickyDumps(c)
	results := b.results(f, c)
	c.Typ = &ir.TupleType{Elems: append(slices.Clone(results), ir.Type(ir.TaskIDType))}
	return c, true
}

// hostSubmit checks a submit of a distributed HOST orchestrator, where only deps= is supported (mission document 004).
func (b *body) hostSubmit(call *syntax.Call, path string, l *launch) bool {
	if path == "pl.spmd_submit" {
		b.errorf(CodeSubmit, call, "pl.spmd_submit is not available in a HOST orchestrator").WithHint("use pl.submit of an orchestrator function")
		return false
	}
	for _, k := range call.Keywords {
		switch k.Name {
		case "core_num", "sync_start", "allow_early_resolve", "predicate", "timing_slot", "dumps":
			b.errorf(CodeSubmit, k.Value, "'%s=' is not supported on a submit of a HOST orchestrator: it takes only deps=", k.Name)
			return false
		}
	}
	return true
}

// submitDumps reads dumps=: tensors that are arguments of this submit.
func (b *body) submitDumps(x syntax.Expr, c *ir.Call) ([]ir.Expr, bool) {
	dumps, ok := b.tensorNames(x, "dumps")
	if !ok {
		return nil, false
	}
	elems, _ := listElems(x)
	for i, d := range dumps {
		if !slices.Contains(c.Args, d) {
			b.errorf(CodeDump, elems[i], "dumps= entry '%s' is not an argument of this submit", dotted(elems[i]))
			ok = false
		}
	}
	return dumps, ok
}

// submitWhole reads `r = pl.submit(…)`: r is the tuple of the results and the TaskId.
func (b *body) submitWhole(t *syntax.Name, annotation syntax.Expr, call *syntax.Call, path string) {
	comments := b.take()
	c, ok := b.submit(call, path)
	if !ok {
		b.poison([]string{t.ID})
		return
	}
	var e ir.Expr = c
	if annotation != nil {
		want, good := b.annotation(annotation)
		if good {
			e, good = b.annotate(e, want, annotation)
		}
		if !good {
			b.poison([]string{t.ID})
			return
		}
	}
	if old := b.names.lookup(t.ID); old != nil && old.expr != nil && old.region == b.region && b.mode != Dump {
		if _, isTuple := old.expr.Type().(*ir.TupleType); !isTuple && !isUnknown(old.expr.Type()) {
			b.errorf(CodeSubmit, call, "%s gives a tuple, the results and the TaskId, which must be unpacked: '%s' is %s", path, t.ID, typeText(old.expr.Type())).
				WithHint("write `%s, tid = %s(…)`, or `%s = %s(…)` if nothing waits for this task", t.ID, path, t.ID, dotted(call.Args[0]))
			b.poison([]string{t.ID})
			return
		}
	}
	b.store(t, e, b.spanOf(t, call), comments)
}

// submitUnpack reads `out, tid = pl.submit(…)`, where out may be a tuple of names in parentheses.
func (b *body) submitUnpack(targets []syntax.Expr, call *syntax.Call, path string) {
	comments := b.take()
	fail := func() { b.poison(targetNames(&syntax.Tuple{Elems: targets})) }
	c, ok := b.submit(call, path)
	if !ok {
		fail()
		return
	}
	types := c.Typ.(*ir.TupleType).Elems
	n := len(types) - 1
	var names []*syntax.Name
	name := func(x syntax.Expr) bool {
		t, isName := x.(*syntax.Name)
		if !isName {
			b.errorf(CodeUnpack, x, "only plain names can be unpacked into").WithHint("unpack into names first, then use them: `out, tid = …`, `tids[i] = tid`")
			return false
		}
		names = append(names, t)
		return true
	}
	elems := targets
	if len(targets) == 2 {
		if inner, isList := listElems(targets[0]); isList {
			elems = append(slices.Clone(inner), targets[1])
		}
	}
	for _, x := range elems {
		if !name(x) {
			fail()
			return
		}
	}
	if n == 0 && len(names) == 2 && names[0].ID == "_" {
		names = names[1:] // `_, tid = pl.submit(…)` of a kernel without results
	}
	if isUnknown(types[0]) && n == 1 && len(names) > 2 {
		// The callee's results are not known; there are as many as names.
		types = make([]ir.Type, len(names))
		for i := range types {
			types[i] = ir.Unknown
		}
		types[len(types)-1] = ir.TaskIDType
		n = len(types) - 1
	}
	if len(names) != n+1 {
		d := b.errorf(CodeUnpack, call, "%s of '%s' gives %s and a TaskId, which must be unpacked into as many names, got %d", path, c.Callee, diag.Plural(n, "result"), len(names))
		if n > 1 {
			d.WithHint("write `(a, b), tid = %s(…)`", path)
		} else {
			d.WithHint("write `out, tid = %s(…)`", path)
		}
		fail()
		return
	}
	tmp := b.temp("_submit_tmp", c.Typ, c.Pos)
	b.emit(&ir.Assign{Var: tmp, Value: c, Comments: comments, Pos: b.spanOf(targets[0], call)})
	made := make([]*ir.Var, len(names))
	for i, t := range names {
		made[i] = b.element(t, tmp, i, types[i])
	}
	tid := made[n]
	for _, v := range made[:n] {
		if v != nil && tid != nil && v.Hint != "_" && ir.IsTensor(v.Typ) {
			b.producers[v] = tid
		}
	}
}
