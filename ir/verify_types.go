package ir

import (
	"fmt"

	"github.com/ptobuild/ptobuild/internal/diag"
)

// mismatch says in which definite way two types differ, "" when they may be the same: unknown types fit everything, INDEX and INT64 fit each other,
// symbolic extents fit all others, views and storage are not compared.
func mismatch(got, want Type) string {
	if isUnknown(got) || isUnknown(want) {
		return ""
	}
	switch w := want.(type) {
	case *ScalarType:
		g, ok := got.(*ScalarType)
		if !ok {
			break
		}
		if g.DType != w.DType && !(isWide(g.DType) && isWide(w.DType)) {
			return fmt.Sprintf("dtype %s vs %s", g.DType, w.DType)
		}
		return ""
	case *TensorType:
		if g, ok := got.(*TensorType); ok && g.Distributed == w.Distributed {
			return shapeMismatch(g.Shape, w.Shape, g.DType, w.DType)
		}
	case *TileType:
		if g, ok := got.(*TileType); ok {
			return shapeMismatch(g.Shape, w.Shape, g.DType, w.DType)
		}
	case *ArrayType:
		if g, ok := got.(*ArrayType); ok {
			if g.DType != w.DType {
				return fmt.Sprintf("dtype %s vs %s", g.DType, w.DType)
			}
			if g.Len != w.Len {
				return fmt.Sprintf("array of %d vs %d", g.Len, w.Len)
			}
			return ""
		}
	case *TupleType:
		if g, ok := got.(*TupleType); ok {
			if len(g.Elems) != len(w.Elems) {
				return fmt.Sprintf("%d elements vs %d", len(g.Elems), len(w.Elems))
			}
			for i := range w.Elems {
				if m := mismatch(g.Elems[i], w.Elems[i]); m != "" {
					return fmt.Sprintf("element %d: %s", i, m)
				}
			}
			return ""
		}
	case *OpaqueType:
		if g, ok := got.(*OpaqueType); ok && g.Name == w.Name {
			return ""
		}
	}
	return fmt.Sprintf("%s vs %s", kindText(got), kindText(want))
}

func isUnknown(t Type) bool {
	switch t.(type) {
	case nil, *UnknownType:
		return true
	}
	return false
}

func shapeMismatch(got, want []Expr, gd, wd DType) string {
	if gd != wd {
		return fmt.Sprintf("dtype %s vs %s", gd, wd)
	}
	if len(got) != len(want) {
		return fmt.Sprintf("rank %d vs rank %d", len(got), len(want))
	}
	for i := range got {
		g, ok1 := IntValue(got[i])
		w, ok2 := IntValue(want[i])
		if ok1 && ok2 && g != w {
			return fmt.Sprintf("shape dimension %d = %d ≠ %d", i, g, w)
		}
	}
	return ""
}

func kindText(t Type) string {
	switch t := t.(type) {
	case *ScalarType:
		return t.DType.String() + " scalar"
	case *TensorType:
		if t.Distributed {
			return "distributed tensor"
		}
		return "tensor"
	case *TileType:
		return "tile"
	case *ArrayType:
		return "array"
	case *TupleType:
		return "tuple"
	case *OpaqueType:
		return t.Name
	}
	return "unknown type"
}

// typeChecked: types of values and of what receives them fit.
func (v *verifier) typeChecked() {
	v.each(nil, func(f *Function) {
		for _, p := range f.Params {
			if _, ok := p.Var.Typ.(*TupleType); ok {
				v.report(codeArgument, p.Var.Pos, "parameter %s is a tuple", varText(p.Var)).WithHint("pass the elements as parameters of their own")
			}
		}
		Inspect(f.Body, func(s Stmt) bool {
			v.stmtTypes(f, s)
			Exprs(s, func(e Expr) bool {
				v.exprTypes(e, s)
				return true
			})
			return true
		})
	})
}

func (v *verifier) fit(code diag.Code, at diag.Span, got, want Type, format string, args ...any) {
	if m := mismatch(got, want); m != "" {
		v.report(code, at, "%s: %s", fmt.Sprintf(format, args...), m)
	}
}

func (v *verifier) stmtTypes(f *Function, s Stmt) {
	switch s := s.(type) {
	case *Assign:
		v.fit(codeAssignType, s.Pos, s.Value.Type(), s.Var.Typ, "the value does not have the type of %s", varText(s.Var))
	case *If:
		v.condition(s.Cond, s, "if")
		for _, b := range [2]Block{s.Then, s.Else} {
			if y := ClosingYield(b); y != nil && len(y.Values) == len(s.Results) {
				for i, r := range s.Results {
					v.fit(codeYieldType, place(y.Values[i], y), y.Values[i].Type(), r.Typ, "the yielded value does not have the type of %s", varText(r))
				}
			}
		}
	case *For:
		for _, b := range [3]Expr{s.Start, s.Stop, s.Step} {
			if t := b.Type(); !isUnknown(t) && !isIntScalar(t) {
				v.report(codeBound, place(b, s), "a loop bound must be an integer, not %s", kindText(t))
			}
		}
		v.carryTypes(s, s.Carries, s.Body)
	case *While:
		v.condition(s.Cond, s, "while")
		v.carryTypes(s, s.Carries, s.Body)
	case *Return:
		v.returnTypes(f, s)
	}
}

func isIntScalar(t Type) bool { s, ok := t.(*ScalarType); return ok && s.DType.IsInt() }

func (v *verifier) condition(c Expr, s Stmt, what string) {
	t := c.Type()
	if b, ok := t.(*ScalarType); isUnknown(t) || ok && b.DType == BOOL {
		return
	}
	v.report(codeCondition, place(c, s), "%s condition must be a Bool-typed scalar expression, not %s", what, kindText(t)).
		WithHint("compare it with something, as in 'x != 0'")
}

func (v *verifier) carryTypes(s Stmt, cs []Carry, body Block) {
	y := ClosingYield(body)
	for i, c := range cs {
		v.fit(codeCarryType, place(c.Init, s), c.Init.Type(), c.Iter.Typ, "the initial value does not have the type of the carried %s", varText(c.Iter))
		v.fit(codeCarryType, s.Span(), c.Result.Typ, c.Iter.Typ, "the result %s does not have the type of the carried %s", varText(c.Result), varText(c.Iter))
		if y != nil && len(y.Values) == len(cs) {
			v.fit(codeYieldType, place(y.Values[i], y), y.Values[i].Type(), c.Iter.Typ, "the yielded value does not have the type of the carried %s", varText(c.Iter))
		}
	}
}

func (v *verifier) returnTypes(f *Function, s *Return) {
	if f.Returns == nil {
		return
	}
	values := make([]Type, len(s.Values))
	for i, x := range s.Values {
		values[i] = x.Type()
	}
	// One tuple may stand for all results.
	if len(values) == 1 && len(f.Returns) != 1 {
		if t, ok := values[0].(*TupleType); ok {
			values = t.Elems
		}
	}
	if len(values) != len(f.Returns) {
		v.report(codeReturnType, s.Pos, "%s returns %d values, but declares %d results", f.Name, len(values), len(f.Returns))
		return
	}
	for i, t := range values {
		v.fit(codeReturnType, s.Pos, t, f.Returns[i], "result %d of %s does not have its declared type", i+1, f.Name)
	}
}

func (v *verifier) exprTypes(e Expr, s Stmt) {
	switch e := e.(type) {
	case *Binary:
		v.operands(e, s)
	case *Unary:
		v.scalar(e.X, s, e.Op.String())
	case *Cast:
		v.scalar(e.X, s, "cast")
	case *TupleGet:
		switch t := e.X.Type().(type) {
		case *TupleType:
			if e.Index < 0 || e.Index >= len(t.Elems) {
				v.report(codeTupleIndex, place(e, s), "element %d of a tuple with %d elements", e.Index, len(t.Elems))
			}
		case nil, *UnknownType:
		default:
			v.report(codeTupleIndex, place(e, s), "element %d of a %s: only tuples have elements", e.Index, kindText(t))
		}
	case *Call:
		if callee := v.funcs[e.Callee]; callee != nil {
			v.arguments(e, callee, s)
			v.callResult(e, callee, s)
		}
	}
}

// scalar reports an operand that is no scalar and returns its dtype, NoDType when it is unknown.
func (v *verifier) scalar(e Expr, s Stmt, op string) DType {
	t := e.Type()
	sc, ok := t.(*ScalarType)
	switch {
	case ok:
		return sc.DType
	case !isUnknown(t):
		v.report(codeOperand, place(e, s), "operand of %s must be a scalar, not a %s", op, kindText(t))
	}
	return NoDType
}

func (v *verifier) operands(e *Binary, s Stmt) {
	x, y := v.scalar(e.X, s, e.Op.String()), v.scalar(e.Y, s, e.Op.String())
	truth := e.Op.IsCompare() || e.Op.IsLogic()
	if truth && e.DType != BOOL || e.Op <= Pow && e.DType == BOOL {
		v.report(codeOperand, place(e, s), "the result of %s cannot be %s", e.Op, e.DType)
	}
	if x != NoDType && y != NoDType && category(x) != category(y) {
		v.report(codeOperand, place(e, s), "%s requires same numeric dtype category: %s and %s", e.Op, x, y).
			WithHint("convert one side with pl.cast")
	}
}

// category is what two operands must share: integers, floats, and each other dtype on its own.
func category(d DType) DType {
	switch {
	case d.IsInt():
		return INT64
	case d.IsFloat():
		return FP32
	}
	return d
}

func (v *verifier) arguments(c *Call, callee *Function, s Stmt) {
	n, m := len(c.Args), len(callee.Params)
	if n > m || !c.Submit && n != m {
		v.report(codeArgument, place(c, s), "%s expects %d argument(s), got %d", c.Callee, m, n)
		return
	}
	passed := make([]bool, m)
	for i, a := range c.Args {
		k := callee.ParamOfArg(n, i)
		if k < 0 {
			continue
		}
		passed[k] = true
		p := callee.Params[k]
		got, want := a.Type(), p.Var.Typ
		if isUnknown(got) || isUnknown(want) {
			continue
		}
		gs, ok1 := got.(*ScalarType)
		ws, ok2 := want.(*ScalarType)
		switch {
		case ok1 && ok2: // the generator converts integers and floats among themselves
			if category(gs.DType) != category(ws.DType) {
				v.report(codeArgument, place(a, s), "argument %d of %s: %s scalar for parameter '%s', which is %s", i+1, c.Callee, gs.DType, p.Var.Hint, ws.DType)
			}
		case IsTensor(got) && IsTensor(want): // a distributed tensor may be seen as a plain one
			v.fit(codeArgument, place(a, s), withoutUnits(shapeOnly(got), len(ShapeOf(want))), shapeOnly(want), "argument %d of %s does not fit parameter '%s'", i+1, c.Callee, p.Var.Hint)
		default:
			v.fit(codeArgument, place(a, s), got, want, "argument %d of %s does not fit parameter '%s'", i+1, c.Callee, p.Var.Hint)
		}
	}
	for k, ok := range passed {
		if p := callee.Params[k]; !ok && p.Dir != Out {
			v.report(codeArgument, place(c, s), "%s needs an argument for '%s': only Out params may be runtime-allocated, this one is %s", c.Callee, p.Var.Hint, p.Dir)
		}
	}
}

// withoutUnits drops leading extents of 1 beyond a rank: FuseCreateAssembleToSlice passes a window with the rank of the buffer that it lies in
// (behaviour P-FUS-02), and the kernel's parameter is the same region without them.
func withoutUnits(t Type, rank int) Type {
	tt := t.(*TensorType)
	shape := tt.Shape
	for len(shape) > rank {
		if n, ok := IntValue(shape[0]); !ok || n != 1 {
			return t
		}
		shape = shape[1:]
	}
	return &TensorType{Shape: shape, DType: tt.DType}
}

func shapeOnly(t Type) Type {
	tt := t.(*TensorType)
	return &TensorType{Shape: tt.Shape, DType: tt.DType}
}

// callResult compares the type of a call with the callee's declared results.
func (v *verifier) callResult(c *Call, callee *Function, s Stmt) {
	if callee.Returns == nil || isUnknown(c.Typ) {
		return
	}
	want := callee.Returns
	tuple, isTuple := c.Typ.(*TupleType)
	switch {
	case c.Submit:
		if !isTuple || len(tuple.Elems) != len(want)+1 || !IsTaskID(tuple.Elems[len(want)]) {
			v.report(codeCallResult, place(c, s), "the submit of %s must give its %d result(s) and a TaskId, not %s", c.Callee, len(want), PrintType(c.Typ))
			return
		}
		v.fit(codeCallResult, place(c, s), &TupleType{tuple.Elems[:len(want)]}, &TupleType{want}, "the results of %s", c.Callee)
	case len(want) == 1:
		v.fit(codeCallResult, place(c, s), c.Typ, want[0], "the result of %s", c.Callee)
	default:
		v.fit(codeCallResult, place(c, s), c.Typ, &TupleType{want}, "the results of %s", c.Callee)
	}
}
