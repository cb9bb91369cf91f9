package lower

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

const iterators = "For loop must use pl.range(), pl.parallel(), pl.unroll(), pl.pipeline(), pl.while_(), pl.spmd() or pl.split_aiv()"

var loopKinds = map[string]ir.ForKind{"pl.range": ir.Sequential, "pl.parallel": ir.Parallel, "pl.unroll": ir.Unroll, "pl.pipeline": ir.Pipeline}

func (b *body) forStmt(s *syntax.For) {
	if len(s.Else) > 0 || s.Async {
		b.errorf(CodeLoop, s, "a for loop of the DSL has no else and is not async")
		b.poisonAll(s.Body)
		return
	}
	call, path := b.dslCall(s.Iter)
	switch path {
	case "pl.range", "pl.parallel", "pl.unroll", "pl.pipeline":
		b.countedLoop(s, call, path)
		return
	case "pl.while_":
		b.carriedWhile(s, call)
		return
	case "pl.spmd":
		b.spmdFor(s, call)
		return
	case "pl.split_aiv":
		b.splitAiv(s, call)
		return
	}
	d := b.errorf(CodeLoop, s.Iter, iterators)
	if c, ok := s.Iter.(*syntax.Call); ok {
		if n, ok := c.Fun.(*syntax.Name); ok && n.ID == "range" {
			d.WithHint("write pl.range(…) instead of range(…)")
		} else if got := dotted(c.Fun); got != "" {
			if best := diag.Nearest(got, []string{"pl.range", "pl.parallel", "pl.unroll", "pl.pipeline", "pl.while_", "pl.spmd", "pl.split_aiv"}); best != "" {
				d.WithHint("did you mean '%s'?", best)
			}
		}
	}
	// The body may have mistakes of its own; its loop variable is unknown.
	b.poison(targetNames(s.Target))
	b.loops = append(b.loops, loop{name: "this", breaks: true})
	b.block(inLoop, s, func() { b.stmts(s.Body) })
	b.loops = b.loops[:len(b.loops)-1]
}

// poisonAll poisons what the statements of a rejected block would define.
func (b *body) poisonAll(list []syntax.Stmt) {
	for name := range assigned(list) {
		b.poison([]string{name})
	}
}

// rangeArgs are the parts of pl.range(…) and its kin.
type rangeArgs struct {
	start, stop, step ir.Expr
	dtype             ir.DType
	inits             []ir.Expr
	initNodes         []syntax.Expr
	hasInits          bool
	types             []ir.Type // dumps: the types of the iteration variables
	stages            int64
	attrs             ir.Attrs
}

func (b *body) rangeArgs(call *syntax.Call, path string) (rangeArgs, bool) {
	r := rangeArgs{dtype: ir.INDEX}
	ok := true
	if len(call.Args) < 1 || len(call.Args) > 3 {
		b.errorf(CodeLoop, call, "%s() takes 1 to 3 positional arguments (stop | start, stop | start, stop, step), got %d", path, len(call.Args))
		ok = false
	}
	bounds := make([]ir.Expr, 0, 3)
	for _, a := range call.Args {
		e, good := b.expr(a)
		if !good {
			ok = false
			continue
		}
		if t, isScalar := e.Type().(*ir.ScalarType); (!isScalar || !t.DType.IsInt()) && !isUnknown(e.Type()) {
			b.errorf(CodeLoop, a, "a bound of %s() must be an integer, got %s", path, typeText(e.Type()))
			ok = false
			continue
		}
		bounds = append(bounds, e)
	}
	staged := false
	for _, k := range call.Keywords {
		switch {
		case k.Name == "init_values" && path == "pl.unroll":
			b.errorf(CodeLoop, k.Value, "pl.unroll() does not accept 'init_values='").WithHint("assign the values in the body: an unrolled loop carries them without being told")
			ok = false
		case k.Name == "init_values":
			good := true
			r.hasInits = true
			r.inits, r.initNodes, good = b.initValues(k.Value)
			ok = ok && good
		case k.Name == "attrs":
			good := true
			r.attrs, good = b.attrsDict(k.Value)
			ok = ok && good
		case k.Name == "stage" && path == "pl.pipeline":
			staged = true
			e, good := b.expr(k.Value)
			if !good {
				ok = false
				break
			}
			n, known := b.intValue(e)
			switch {
			case !known:
				b.errorf(CodeConstant, k.Value, "stage= must be a compile-time integer")
				ok = false
			case n < 1:
				b.errorf(CodeLoop, k.Value, "stage must be >= 1, got %d", n)
				ok = false
			}
			r.stages = n
		case k.Name == "stage":
			b.errorf(CodeLoop, k.Value, "stage= is only supported on pl.pipeline").WithHint("write pl.pipeline(…, stage=N)")
			ok = false
		case k.Name == "types" && b.mode == Dump:
			good := true
			r.types, good = b.typeList(k.Value)
			ok = ok && good
		case k.Name == "chunk":
			b.errorf(CodeLoop, k.Value, "%s() does not accept 'chunk='", path).WithHint("it no longer exists; write the tiling as two nested loops")
			ok = false
		default:
			b.unknownKeyword(path, k, []string{"init_values", "attrs", "stage"})
			ok = false
		}
	}
	if path == "pl.pipeline" && !staged {
		b.errorf(CodeLoop, call, "pl.pipeline() requires stage=").WithHint("for example stage=2 for double buffering")
		ok = false
	}
	if !ok {
		return r, false
	}
	r.dtype = b.loopDType(bounds)
	for i, e := range bounds {
		if b.isUntyped(e) {
			bounds[i] = b.toDType(e, r.dtype, b.at(call.Args[i]))
		}
	}
	at := b.at(call)
	r.start = &ir.ConstInt{Value: 0, DType: r.dtype, Pos: at}
	r.step = &ir.ConstInt{Value: 1, DType: r.dtype, Pos: at}
	switch len(bounds) {
	case 1:
		r.stop = bounds[0]
	case 2:
		r.start, r.stop = bounds[0], bounds[1]
	case 3:
		r.start, r.stop, r.step = bounds[0], bounds[1], bounds[2]
		if n, known := b.intValue(r.step); known && n == 0 {
			b.errorf(CodeLoop, call.Args[2], "the step of %s() must not be zero", path)
			return r, false
		}
	}
	if path == "pl.unroll" && b.mode != Dump {
		for i, p := range []struct {
			name string
			e    *ir.Expr
		}{{"start", &r.start}, {"stop", &r.stop}, {"step", &r.step}} {
			node := call.Args[0]
			if len(call.Args) > 1 && i < len(call.Args) {
				node = call.Args[i]
			}
			n, known := b.intValue(*p.e)
			if !known {
				b.errorf(CodeConstant, node, "Unroll loop %s must be a compile-time integer constant", p.name).
					WithHint("use pl.range for a bound that is only known at run time")
				return r, false
			}
			*p.e = &ir.ConstInt{Value: n, DType: r.dtype, Pos: b.at(node)}
		}
	}
	return r, true
}

// loopDType is the dtype of the variable of a loop with these bounds: that of a typed literal, INT64 when bounds are INT64 and none is INDEX, else INDEX,
// whatever narrower scalars the bounds are (spec: dsl-ir 1.4).
func (b *body) loopDType(bounds []ir.Expr) ir.DType {
	dtype := ir.INDEX
	for _, e := range bounds {
		d := ir.ElemDType(e.Type())
		if b.isUntyped(e) || d == ir.NoDType {
			continue
		}
		_, literal := e.(*ir.ConstInt)
		switch {
		case d == ir.INDEX:
			return ir.INDEX
		case dtype == ir.INDEX && (literal || d == ir.INT64):
			dtype = d
		}
	}
	return dtype
}

func (b *body) initValues(x syntax.Expr) ([]ir.Expr, []syntax.Expr, bool) {
	elems, ok := listElems(x)
	if !ok {
		b.errorf(CodeLoop, x, "init_values= must be a tuple or list of values").WithHint("one value needs a comma: init_values=(x,)")
		return nil, nil, false
	}
	out := make([]ir.Expr, 0, len(elems))
	for _, e := range elems {
		v, good := b.expr(e)
		if !good {
			ok = false
			continue
		}
		out = append(out, v)
	}
	return out, elems, ok
}

func listElems(x syntax.Expr) ([]syntax.Expr, bool) {
	switch x := x.(type) {
	case *syntax.Tuple:
		return x.Elems, true
	case *syntax.List:
		return x.Elems, true
	}
	return nil, false
}

// loopTarget takes `i` or `i, (a, b)` apart.
func (b *body) loopTarget(s *syntax.For, r *rangeArgs) (v *syntax.Name, iters []*syntax.Name, ok bool) {
	switch t := s.Target.(type) {
	case *syntax.Name:
		if r.hasInits {
			b.errorf(CodeLoop, t, "a loop with init_values must have %d iteration variables: `for %s, (…) in …`", len(r.inits), t.ID)
			return t, nil, false
		}
		return t, nil, true
	case *syntax.Tuple:
		if !r.hasInits {
			b.errorf(CodeLoop, t, "a loop without init_values has a single loop variable")
			return nil, nil, false
		}
		if len(t.Elems) == 2 {
			n, isName := t.Elems[0].(*syntax.Name)
			elems, isTuple := listElems(t.Elems[1])
			if isName && isTuple {
				for _, e := range elems {
					in, isName := e.(*syntax.Name)
					if !isName {
						b.errorf(CodeLoop, e, "an iteration variable must be a plain name")
						return n, nil, false
					}
					iters = append(iters, in)
				}
				if len(iters) != len(r.inits) {
					b.errorf(CodeLoop, t.Elems[1], "%s for %d init_values: their length must match", diag.Plural(len(iters), "iteration variable"), len(r.inits))
					return n, iters, false
				}
				return n, iters, true
			}
		}
		b.errorf(CodeLoop, t, "a loop with init_values must have the target `i, (a, …)` with %d iteration variables", len(r.inits))
		return nil, nil, false
	}
	b.errorf(CodeLoop, s.Target, "a loop variable must be a plain name")
	return nil, nil, false
}

func (b *body) countedLoop(s *syntax.For, call *syntax.Call, path string) {
	comments := b.take()
	r, ok := b.rangeArgs(call, path)
	name, iters, good := b.loopTarget(s, &r)
	if !ok || !good {
		b.recoverLoop(s, path)
		return
	}
	f := &ir.For{Kind: loopKinds[path], Start: r.start, Stop: r.stop, Step: r.step, Stages: r.stages, Attrs: r.attrs, Comments: comments, Pos: b.at(s)}
	at := b.at(name)
	kind := inLoop
	if f.Kind == ir.Unroll {
		kind = inUnroll
	}
	carried := r.hasInits
	var y *yield
	if carried {
		y = &yield{what: "Loop with init_values", count: len(iters)}
	}
	b.inLoop(s, path, y, func() {
		f.Body = b.block(kind, s, func() {
			f.Var = b.variable(name.ID, ir.Scalar(r.dtype), at)
			for i, n := range iters {
				t := r.inits[i].Type()
				if i < len(r.types) {
					t = r.types[i]
				}
				v := b.variable(n.ID, t, b.at(n))
				f.Carries = append(f.Carries, ir.Carry{Iter: v, Init: r.inits[i]})
			}
			b.stmts(s.Body)
		})
	}, append([]*syntax.Name{name}, iters...))
	if carried && !b.loopResults(s, y, f.Carries) {
		return
	}
	b.loopAttrs(f)
	b.emit(f)
}

// recoverLoop reads the body of a loop whose header is wrong, for its own mistakes.
func (b *body) recoverLoop(s *syntax.For, path string) {
	y := &yield{what: "loop", count: -1}
	b.inLoop(s, path, y, func() {
		b.block(inLoop, s, func() {
			b.names.push()
			for _, n := range targetNames(s.Target) {
				b.names.set(n, &binding{broken: true, region: b.region})
			}
			list := s.Body
			if len(list) > 0 && path == "pl.while_" {
				if es, ok := list[0].(*syntax.ExprStmt); ok {
					if _, first := b.dslCall(es.X); first == "pl.cond" {
						list = list[1:]
					}
				}
			}
			b.stmts(list)
			for n := range b.names.pop() {
				b.poison([]string{n})
			}
		})
	}, nil)
	for _, n := range y.targets {
		b.poison([]string{n.ID})
	}
}

// inLoop reads a loop body. With a yield collector the body has a frame of its own, else it leaks. own are the names that the loop itself
// defines: nothing reads them after it.
func (b *body) inLoop(s syntax.Stmt, path string, y *yield, read func(), own []*syntax.Name) {
	outer := b.yield
	b.yield = y
	b.loops = append(b.loops, loop{name: path, breaks: path == "pl.range" || path == "pl.while_" || path == "while"})
	if y != nil {
		b.names.push()
		read()
		for n := range b.names.pop() {
			if b.names.lookup(n) == nil {
				b.gone(n, s, "this loop", "'%s' is only defined inside the loop", "read the name on the left of the loop's pl.yield_ instead")
			}
		}
	} else {
		read()
		for _, n := range own {
			b.gone(n.ID, s, "this loop", "loop variable '%s' is not defined after its loop", "use another name for the loop variable, or assign its value to a name in the loop")
		}
	}
	b.yield = outer
	b.loops = b.loops[:len(b.loops)-1]
}

// gone makes a name unreadable.
func (b *body) gone(name string, s syntax.Node, what, message, hint string) {
	d := diag.Errorf(CodeOutOfScope, diag.Span{}, message, name).WithRelated(b.at(s), "%s", what).WithHint("%s", hint)
	b.names.set(name, &binding{gone: d, region: b.region, at: b.at(s)})
}

// loopResults binds the names that the yield of a loop gives its results.
func (b *body) loopResults(s syntax.Stmt, y *yield, carries []ir.Carry) bool {
	if !y.done {
		b.errorf(CodeYield, s, "Loop with init_values requires an assignment-form pl.yield_ at the end of its body").
			WithHint("end the body with `result = pl.yield_(next_value)`")
		return false
	}
	if y.failed {
		for _, n := range y.targets {
			b.poison([]string{n.ID})
		}
		return false
	}
	ok := true
	for i := range carries {
		c := &carries[i]
		name, at := c.Iter.Hint+"_out", c.Iter.Pos
		if y.targets != nil {
			name, at = y.targets[i].ID, b.at(y.targets[i])
		}
		if d := b.mismatch(y.values[i].Type(), c.Iter.Typ); d != "" {
			b.errorf(CodeMerge, y.nodes[i], "the value yielded for '%s' has another type than its init value: %s", c.Iter.Hint, d).
				WithRelated(c.Iter.Pos, "'%s' is %s", c.Iter.Hint, typeText(c.Iter.Typ))
			b.poison([]string{name})
			ok = false
			continue
		}
		t := c.Iter.Typ
		if isUnknown(t) {
			t = y.values[i].Type()
		}
		if y.types != nil && y.types[i] != nil {
			t = y.types[i]
		}
		v, good := b.assign(name, t, at)
		if !good {
			ok = false
			continue
		}
		c.Result = v
	}
	return ok
}

func (b *body) whileStmt(s *syntax.While) {
	comments := b.take()
	if len(s.Else) > 0 {
		b.errorf(CodeLoop, s, "a while loop of the DSL has no else")
	}
	w := &ir.While{Comments: comments, Pos: b.at(s)}
	cond, ok := b.condition(s.Cond, "while")
	b.inLoop(s, "while", nil, func() {
		w.Body = b.block(inLoop, s, func() { b.stmts(s.Body) })
	}, nil)
	if ok {
		w.Cond = cond
		b.emit(w)
	}
}

// carriedWhile reads `for (x,) in pl.while_(init_values=(x0,)):`, whose body starts with pl.cond(c).
func (b *body) carriedWhile(s *syntax.For, call *syntax.Call) {
	w := &ir.While{Comments: b.take(), Pos: b.at(s)}
	var inits []ir.Expr
	ok := true
	given := false
	var attrs ir.Attrs
	var types []ir.Type
	for _, k := range call.Keywords {
		good := true
		switch {
		case k.Name == "attrs" && b.mode == Dump:
			attrs, good = b.attrsDict(k.Value)
			ok = ok && good
			continue
		case k.Name == "types" && b.mode == Dump:
			types, good = b.typeList(k.Value)
			ok = ok && good
			continue
		case k.Name != "init_values":
			b.unknownKeyword("pl.while_", k, []string{"init_values"})
			ok = false
			continue
		}
		given = true
		inits, _, good = b.initValues(k.Value)
		ok = ok && good
	}
	if len(call.Args) > 0 || !given {
		b.errorf(CodeLoop, call, "pl.while_() takes init_values= and nothing else")
		ok = false
	}
	var iters []*syntax.Name
	if elems, isTuple := listElems(s.Target); isTuple {
		for _, e := range elems {
			if n, isName := e.(*syntax.Name); isName {
				iters = append(iters, n)
			}
		}
	}
	if ok && len(iters) != len(inits) {
		b.errorf(CodeLoop, s.Target, "pl.while_ must have %d iteration variables: their length must match init_values", len(inits)).
			WithHint("one variable needs a comma: `for (x,) in pl.while_(init_values=(x0,)):`")
		ok = false
	}
	var test *syntax.Call
	if len(s.Body) > 0 {
		if es, isExpr := s.Body[0].(*syntax.ExprStmt); isExpr {
			if c, path := b.dslCall(es.X); path == "pl.cond" && len(c.Args) == 1 && len(c.Keywords) == 0 {
				test = c
			}
		}
	}
	if test == nil {
		b.errorf(CodeLoop, s, "the first statement of a pl.while_ loop must be pl.cond(condition)")
		ok = false
	}
	if !ok {
		b.recoverLoop(s, "pl.while_")
		return
	}
	y := &yield{what: "Loop with init_values", count: len(iters)}
	b.inLoop(s, "pl.while_", y, func() {
		w.Body = b.block(inLoop, s, func() {
			for i, n := range iters {
				t := inits[i].Type()
				if i < len(types) {
					t = types[i]
				}
				w.Carries = append(w.Carries, ir.Carry{Iter: b.variable(n.ID, t, b.at(n)), Init: inits[i]})
			}
			carryAttrs(attrs, w.Carries)
			w.Cond, ok = b.condition(test.Args[0], "while")
			b.stmts(s.Body[1:])
		})
	}, iters)
	if b.loopResults(s, y, w.Carries) && ok {
		b.emit(w)
	}
}
