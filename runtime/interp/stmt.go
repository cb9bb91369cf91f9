package interp

import (
	"slices"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// action is a compiled statement.
type action func(*frame)

func (c *compiler) block(b []plan.Stmt) action {
	code := make([]action, 0, len(b))
	for _, s := range b {
		c.at = s.Span()
		code = append(code, at(s, c.stmt(s)))
	}
	if len(code) == 1 {
		return code[0]
	}
	return func(fr *frame) {
		for _, e := range code {
			e(fr)
		}
	}
}

// at makes s the place of what e reports. After nested statements it is s again, for the test and the step of a loop.
func at(s plan.Stmt, e action) action {
	return func(fr *frame) {
		fr.stmt = s
		e(fr)
	}
}

func (c *compiler) stmt(s plan.Stmt) action {
	switch s := s.(type) {
	case *plan.Scope:
		body, manual := c.block(s.Body), s.Manual
		return func(fr *frame) {
			fr.rt.ScopeBegin(manual, fr.site())
			fr.check()
			body(fr)
			fr.stmt = s
			fr.rt.ScopeEnd(fr.site())
			fr.check()
		}
	case *plan.Braces:
		return c.block(s.Body)
	case *plan.For:
		return c.loop(s)
	case *plan.While:
		cond, body := c.truth(c.num(s.Cond)), c.block(s.Body)
		return func(fr *frame) {
			depth := len(fr.loops)
			fr.loops = append(fr.loops, sim.Trip{Var: "trip"})
			var before snapshot
			for trip := int64(0); cond(fr); trip++ {
				fr.cycles(&before, trip)
				fr.step()
				body(fr)
				fr.stmt = s
				fr.loops[depth].Value++
			}
			fr.loops = fr.loops[:depth]
		}
	case *plan.If:
		cond, then, other := c.truth(c.num(s.Cond)), c.block(s.Then), c.block(s.Else)
		return func(fr *frame) {
			if cond(fr) {
				then(fr)
			} else {
				other(fr)
			}
		}
	case *plan.Decl:
		return c.decl(s)
	case *plan.Assign:
		return c.store(s.Dst, s.Value)
	case *plan.DeclArray:
		return c.declArray(s)
	case *plan.DeclSlots:
		return c.declSlots(s)
	case *plan.CopySlots:
		return c.copySlots(s)
	case *plan.DeclIDs:
		k := c.declare(s.Name, variable{kind: plan.TaskT, array: true})
		return func(fr *frame) { fr.idArrays[k] = fr.idArrays[k][:0] }
	case *plan.AppendID:
		return c.appendID(s)
	case *plan.SetElem:
		return c.setElem(s)
	case *plan.Create:
		return c.create(s)
	case *plan.Alloc:
		return c.alloc(s)
	case *plan.Write:
		return c.write(s)
	case *plan.Task:
		return c.task(s)
	case *plan.Dummy:
		return c.dummy(s)
	}
	c.bad("no statement %T", s)
	return nil
}

func (c *compiler) loop(s *plan.For) action {
	v := c.declare(s.Var, variable{kind: plan.Number, t: cI64})
	start, stop, step := c.to(c.num(s.Start), cI64).i, c.num(s.Stop), c.num(s.Step)
	i := integer(cI64, func(fr *frame) int64 { return fr.ints[v] })
	// The comparisons and the addition follow the types of the bounds, like i < stop and i += step.
	up, down := c.truth(c.compare(ir.Lt, i, stop)), c.truth(c.compare(ir.Gt, i, stop))
	next := c.to(c.arith(ir.Add, c.to(i, common(cI64, step.t)), c.to(step, common(cI64, step.t))), cI64).i
	test := up
	switch {
	case s.Never:
		test = func(*frame) bool { return false }
	case s.Signed:
		zero := integer(cI32, func(*frame) int64 { return 0 })
		positive, negative := c.truth(c.compare(ir.Gt, step, zero)), c.truth(c.compare(ir.Lt, step, zero))
		test = func(fr *frame) bool { return positive(fr) && up(fr) || negative(fr) && down(fr) }
	case s.Down:
		test = down
	}
	body := c.block(s.Body)
	to, by := c.to(stop, cI64).i, c.to(step, cI64).i
	return func(fr *frame) {
		depth := len(fr.loops)
		fr.loops = append(fr.loops, sim.Trip{Var: s.Var.Hint})
		if fr.ints[v] = start(fr); test(fr) {
			fr.tooLong(s, fr.ints[v], to(fr), by(fr))
		}
		for fr.ints[v] = start(fr); test(fr); fr.ints[v] = next(fr) {
			fr.step()
			fr.loops[depth].Value = fr.ints[v]
			body(fr)
			fr.stmt = s
		}
		fr.loops = fr.loops[:depth]
	}
}

func (c *compiler) decl(s *plan.Decl) action {
	if ref, ok := s.Init.(*plan.Ref); ok && s.Type.Ref { // another name for the same variable
		c.vars[s.Name] = c.lookup(ref.Name)
		return func(*frame) {}
	}
	v := variable{kind: s.Type.Kind, t: numberType(s.Type)}
	if s.Init == nil { // a placeholder: a later assignment gives it its value
		k := c.declare(s.Name, v)
		if v.kind == plan.TensorT {
			return func(fr *frame) { fr.tensors[k] = sim.Tensor{Owner: sim.InvalidTask} }
		}
		return func(*frame) {}
	}
	c.declare(s.Name, v)
	return c.store(s.Name, s.Init)
}

// store assigns a value to a variable of any type.
func (c *compiler) store(dst *plan.Name, value plan.Expr) action {
	v := c.lookup(dst)
	k := v.slot
	switch v.kind {
	case plan.TensorT:
		t := c.tensor(value)
		return func(fr *frame) { fr.tensors[k] = t(fr) }
	case plan.TaskT:
		id := c.taskID(value)
		return func(fr *frame) { fr.ids[k] = id(fr) }
	case plan.OutputsT:
		c.bad("a result is only bound by its submit")
	}
	x := c.to(c.num(value), v.t)
	if x.f != nil {
		return func(fr *frame) { fr.floats[k] = x.f(fr) }
	}
	return func(fr *frame) { fr.ints[k] = x.i(fr) }
}

func (c *compiler) declArray(s *plan.DeclArray) action {
	v := variable{kind: s.Type.Kind, t: numberType(s.Type), array: true, n: len(s.Elems)}
	switch v.kind {
	case plan.TaskT:
		elems := make([]func(*frame) sim.TaskID, len(s.Elems))
		for i, e := range s.Elems {
			elems[i] = c.taskID(e)
		}
		k := c.declare(s.Name, v)
		return func(fr *frame) {
			a := fr.idArray(k, len(elems))
			for i, e := range elems {
				a[i] = e(fr)
			}
		}
	case plan.Uint32T:
		elems := make([]func(*frame) int64, len(s.Elems))
		for i, e := range s.Elems {
			elems[i] = c.to(c.num(e), cU32).i
		}
		k := c.declare(s.Name, v)
		return func(fr *frame) {
			a := fr.fresh(len(elems)) // handles keep it
			for i, e := range elems {
				a[i] = uint32(e(fr))
			}
			fr.uintArrays[k] = a
		}
	}
	elems := make([]number, len(s.Elems))
	for i, e := range s.Elems {
		elems[i] = c.to(c.num(e), v.t)
	}
	k := c.declare(s.Name, v)
	return func(fr *frame) {
		a := fr.numArray(k, len(elems))
		for i, e := range elems {
			a[i] = e.store(fr)
		}
	}
}

func (c *compiler) declSlots(s *plan.DeclSlots) action {
	v := variable{kind: s.Type.Kind, t: numberType(s.Type), array: true, n: int(s.N)}
	n := int(s.N)
	if s.N < 0 || s.N > maxArray {
		c.bad("an array of %d", s.N)
	}
	switch v.kind {
	case plan.TaskT:
		fill := func(*frame) sim.TaskID { return sim.InvalidTask }
		if s.Fill != nil {
			fill = c.taskID(s.Fill)
		}
		k := c.declare(s.Name, v)
		return func(fr *frame) {
			x := fill(fr)
			for i := range fr.idArray(k, n) {
				fr.idArrays[k][i] = x
			}
		}
	case plan.Number:
		fill := number{t: v.t, i: func(*frame) int64 { return 0 }}
		if s.Fill != nil {
			fill = c.to(c.num(s.Fill), v.t)
		} else if v.t.isFloat() {
			fill = floating(v.t, func(*frame) float64 { return 0 })
		}
		k := c.declare(s.Name, v)
		return func(fr *frame) {
			x := fill.store(fr)
			for i := range fr.numArray(k, n) {
				fr.numArrays[k][i] = x
			}
		}
	}
	c.bad("an array of this type has no slots")
	return nil
}

func (c *compiler) copySlots(s *plan.CopySlots) action {
	dst, src, n := c.lookup(s.Dst), c.lookup(s.Src), int(s.N)
	if !dst.array || !src.array || dst.kind != src.kind || dst.t != src.t || n > dst.n || n > src.n || n < 0 {
		c.bad("a copy between arrays that do not match")
	}
	if dst.kind == plan.TaskT {
		return func(fr *frame) { copy(fr.idArrays[dst.slot][:n], fr.idArrays[src.slot]) }
	}
	return func(fr *frame) { copy(fr.numArrays[dst.slot][:n], fr.numArrays[src.slot]) }
}

// idList looks up a growing list of ids.
func (c *compiler) idList(n *plan.Name) int {
	v := c.lookup(n)
	if !v.array || v.kind != plan.TaskT {
		c.bad("%s is not a list of task ids", nameOf(n))
	}
	return v.slot
}

func (c *compiler) appendID(s *plan.AppendID) action {
	k, id := c.idList(s.IDs), c.taskID(s.ID)
	return func(fr *frame) {
		if x := id(fr); !s.Guarded || x != sim.InvalidTask {
			fr.idArrays[k] = append(fr.idArrays[k], x)
		}
	}
}

func (c *compiler) setElem(s *plan.SetElem) action {
	a := c.lookup(s.Array)
	i := c.to(c.num(s.I), cI64).i
	switch {
	case !a.array:
		c.bad("%s is not an array", nameOf(s.Array))
	case a.kind == plan.TaskT:
		id := c.taskID(s.Value)
		return func(fr *frame) { fr.idArrays[a.slot][fr.index(i(fr), a.n)] = id(fr) }
	case a.kind == plan.Number:
		x := c.to(c.num(s.Value), a.t)
		return func(fr *frame) { fr.numArrays[a.slot][fr.index(i(fr), a.n)] = x.store(fr) }
	}
	c.bad("%s is not assigned element by element", nameOf(s.Array))
	return nil
}

func (c *compiler) create(s *plan.Create) action {
	dims := make([]func(*frame) int64, len(s.Dims))
	for i, e := range s.Dims {
		dims[i] = c.to(c.num(e), cU32).i
	}
	var init func(*frame) uint64
	if s.Init != nil {
		init = c.bits(c.num(s.Init))
	}
	mask := ^uint64(0)
	if n := s.DType.Bytes(); n < 8 {
		mask = 1<<(8*n) - 1
	}
	k := c.declare(s.Info, variable{kind: kindInfo})
	return func(fr *frame) {
		info := &fr.infos[k]
		*info = sim.CreateInfo{Shape: fr.fresh(len(dims)), DType: s.DType, ManualDep: s.ManualDep}
		for i, d := range dims {
			info.Shape[i] = uint32(d(fr))
		}
		if init != nil {
			info.HasInit, info.Init = true, init(fr)&mask
		}
	}
}

func (c *compiler) alloc(s *plan.Alloc) action {
	infos := make([]int, len(s.Infos))
	for i, n := range s.Infos {
		infos[i] = c.infoSlot(n)
	}
	outs := c.declare(s.Outs, variable{kind: plan.OutputsT})
	refs := make([]int, len(s.Refs))
	for i, n := range s.Refs {
		refs[i] = c.declare(n, variable{kind: plan.TensorT})
	}
	args := make([]sim.CreateInfo, len(infos))
	return func(fr *frame) {
		for i, k := range infos {
			args[i] = fr.infos[k]
		}
		fr.outs[outs] = fr.rt.Alloc(args, fr.site())
		fr.check()
		for i, k := range refs {
			fr.tensors[k] = fr.rt.Output(fr.outs[outs], i, fr.site())
		}
		fr.check()
	}
}

func (c *compiler) write(s *plan.Write) action {
	idx := make([]func(*frame) int64, len(s.Index))
	for i, e := range s.Index {
		idx[i] = c.to(c.num(e), cU32).i
	}
	t, typ, dtype := c.tensorSlot(s.Tensor), ctypeOf(s.DType), sim.AccessType(s.DType)
	bits := c.bits(c.to(c.num(s.Value), typ))
	at := make([]uint32, len(idx))
	return func(fr *frame) {
		for i, e := range idx {
			at[i] = uint32(e(fr))
		}
		fr.rt.WriteAs(fr.tensors[t], at, bits(fr), dtype, typ.size(), fr.site())
		fr.check()
	}
}

func (c *compiler) dummy(s *plan.Dummy) action {
	deps := c.deps(s.Deps)
	if s.Gathered != nil {
		k := c.idList(s.Gathered)
		deps = func(fr *frame) []sim.TaskID { return fr.idArrays[k] }
	}
	outs := c.declare(s.Outs, variable{kind: plan.OutputsT})
	id := c.declare(s.ID, variable{kind: plan.TaskT})
	return func(fr *frame) {
		args := &sim.TaskArgs{Kind: sim.KindDummy, Kernels: [3]int32{-1, -1, -1}, TimingSlot: -1, Deps: deps(fr)}
		fr.ids[id] = sim.InvalidTask
		if s.Guarded && len(args.Deps) == 0 {
			return
		}
		fr.outs[outs] = fr.rt.Submit(args, fr.site())
		fr.check()
		fr.ids[id] = fr.outs[outs].Task
	}
}

// deps fills the dependency list of one task; a guarded entry counts only when its id is valid.
func (c *compiler) deps(d *plan.Deps) func(*frame) []sim.TaskID {
	if d == nil {
		return func(*frame) []sim.TaskID { return nil }
	}
	ids := make([]func(*frame) sim.TaskID, len(d.Entries))
	guarded := make([]bool, len(d.Entries))
	for i := range d.Entries {
		ids[i], guarded[i] = c.taskID(d.Entries[i].ID), d.Entries[i].Guarded
	}
	list := make([]sim.TaskID, 0, len(ids))
	return func(fr *frame) []sim.TaskID {
		list = list[:0]
		for i, f := range ids {
			if id := f(fr); !guarded[i] || id != sim.InvalidTask {
				list = append(list, id)
			}
		}
		return list
	}
}

func (c *compiler) task(s *plan.Task) action {
	a := sim.TaskArgs{Kernels: [3]int32{-1, -1, -1}, TimingSlot: -1, SyncStart: s.SyncStart, EarlyResolve: s.EarlyResolve}
	switch s.Kind {
	case plan.SubmitAIC:
		a.Kind, a.Kernels[0] = sim.KindAIC, int32(s.Kernels[0])
	case plan.SubmitAIV:
		a.Kind, a.Kernels[1] = sim.KindAIV, int32(s.Kernels[0])
	default:
		a.Kind, a.Kernels = sim.KindMixed, [3]int32{int32(s.Kernels[0]), int32(s.Kernels[1]), int32(s.Kernels[2])}
	}
	if s.TimingSlot != nil {
		a.TimingSlot = int32(*s.TimingSlot)
	}
	kernels := a.Kernels
	fill := make([]func(*frame), len(s.Args))
	slots := make([]int, len(s.Args)) // of tensor arguments, for the dump marks
	a.Args = make([]sim.Arg, len(s.Args))
	for i, x := range s.Args {
		dst := &a.Args[i]
		dst.Tag = tags[x.Tag]
		if x.Info != nil {
			k := c.infoSlot(x.Info)
			slots[i] = -1
			fill[i] = func(fr *frame) { dst.Create = &fr.infos[k] }
		} else {
			k := c.tensorSlot(x.Tensor)
			slots[i] = k
			fill[i] = func(fr *frame) { dst.Tensor = fr.tensors[k] }
		}
	}
	bits := make([]func(*frame) uint64, len(s.Scalars))
	a.Scalars = make([]sim.Scalar, len(s.Scalars))
	for i, e := range s.Scalars {
		bits[i], a.Scalars[i].Type = c.scalarArg(e)
	}
	for _, e := range s.Dump {
		ref, ok := e.(*plan.Ref)
		k := -1
		if ok {
			k = slices.Index(slots, c.tensorSlot(ref.Name))
		}
		if k < 0 {
			c.bad("dump of a tensor that is not an argument")
		}
		a.Dump = append(a.Dump, k)
	}
	deps := c.deps(s.Deps)
	var blocks func(*frame) int64
	if s.BlockNum != nil {
		blocks = c.to(c.num(s.BlockNum), cI32).i
	}
	pred := c.predicate(s.Pred)
	outs := -1
	if s.Outs != nil {
		outs = c.declare(s.Outs, variable{kind: plan.OutputsT})
	}
	return func(fr *frame) {
		for _, f := range fill {
			f(fr)
		}
		for i, f := range bits {
			a.Scalars[i].Bits = f(fr)
		}
		if blocks != nil {
			n := blocks(fr)
			if n < 1 {
				fr.fail(CodeBlockNum, "a launch of %d blocks: at least one is needed", n)
			}
			a.Blocks = int32(n)
		}
		a.Kernels = kernels
		a.Deps = deps(fr)
		a.Pred = pred(fr)
		o := fr.rt.Submit(&a, fr.site())
		fr.check()
		if outs >= 0 {
			fr.outs[outs] = o
		}
	}
}

var tags = [...]sim.ArgTag{plan.Input: sim.Input, plan.OutputExisting: sim.OutputExisting, plan.InOut: sim.InOut, plan.NoDep: sim.NoDep, plan.Output: sim.Output}

// scalarArg compiles a scalar argument. Literals are printed as the 64 bits that the runtime keeps, everything else converts by its own type.
func (c *compiler) scalarArg(e plan.Expr) (func(*frame) uint64, string) {
	switch e := e.(type) {
	case *plan.Int:
		v := uint64(wrap(e.Value, ctypeOf(e.DType)))
		return func(*frame) uint64 { return v }, cU64.name()
	case *plan.Bool:
		v := uint64(0)
		if e.Value {
			v = 1
		}
		return func(*frame) uint64 { return v }, cU64.name()
	}
	x := c.num(e)
	return c.bits(x), x.t.name()
}

func (c *compiler) bits(x number) func(*frame) uint64 {
	t := x.t
	if x.f != nil {
		f := x.f
		return func(fr *frame) uint64 { return bitsOfFloat(f(fr), t) }
	}
	i := x.i
	return func(fr *frame) uint64 { return bitsOfInt(i(fr), t) }
}

func (c *compiler) predicate(p *plan.Predicate) func(*frame) *sim.Predicate {
	if p == nil {
		return func(*frame) *sim.Predicate { return nil }
	}
	t := c.tensorSlot(p.Tensor)
	idx := make([]func(*frame) int64, len(p.Index))
	for i, e := range p.Index {
		idx[i] = c.to(c.num(e), cU32).i
	}
	return func(fr *frame) *sim.Predicate {
		at := fr.fresh(len(idx))
		for i, e := range idx {
			at[i] = uint32(e(fr))
		}
		return &sim.Predicate{Tensor: fr.tensors[t], Index: at, Op: p.Op, Target: p.Target}
	}
}
