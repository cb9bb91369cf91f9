package ops

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// errorAt makes a report; a place that is not known becomes that of the call.
func (s *Site) errorAt(code diag.Code, at diag.Span, format string, args ...any) *diag.Diagnostic {
	if !at.IsValid() {
		at = s.Pos
	}
	return diag.Errorf(code, at, format, args...)
}

// argError makes a report about operand i, led by the op's name.
func (s *Site) argError(code diag.Code, i int, format string, args ...any) *diag.Diagnostic {
	at := s.Pos
	if i < len(s.Args) && s.Args[i] != nil {
		at = s.Args[i].Span()
	}
	return s.errorAt(code, at, s.Spec.Name+": "+format, args...)
}

// param is the parameter of operand i.
func (s *Site) param(i int) *Param {
	if n := len(s.Spec.Params); i >= n {
		i = n - 1
	}
	return &s.Spec.Params[i]
}

func kindOf(e ir.Expr) ParamKind {
	switch e.(type) {
	case *Symbol:
		return EnumArg
	case *ir.MakeTuple:
		return TupleArg
	}
	switch t := e.Type().(type) {
	case *ir.TensorType:
		return TensorArg
	case *ir.TileType:
		return TileArg
	case *ir.ScalarType:
		if t.DType == ir.TASK_ID {
			return TaskArg
		}
		return ScalarArg
	case *ir.ArrayType:
		return ArrayArg
	case *ir.TupleType:
		return TupleArg
	}
	return OtherArg
}

// String is the kind in messages: "Tensor or Tile".
func (k ParamKind) String() string {
	names := [...]string{"Tensor", "Tile", "Scalar", "Array", "list", "TaskId", "enum value", "value of another type"}
	var parts []string
	for i, n := range names {
		if k&(1<<i) != 0 {
			parts = append(parts, n)
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, " or ")
}

func (s *Site) checkOperand(i int, a ir.Expr) *diag.Diagnostic {
	p := s.param(i)
	got := kindOf(a)
	if t, ok := a.(*ir.MakeTuple); ok && p.Optional && len(t.Elems) == 0 {
		return nil // left out
	}
	if _, unknown := a.Type().(*ir.UnknownType); unknown && got == OtherArg {
		return nil // the result of a call whose callee is not known: nothing to check yet
	}
	if p.Kind&got == 0 {
		if got&(TensorArg|TileArg) != 0 && p.Kind&(TensorArg|TileArg) != 0 {
			for j, b := range s.Args {
				if j != i && b != nil && kindOf(b)&p.Kind&(TensorArg|TileArg) != 0 {
					return s.argError(CodeMixed, i, "cannot mix Tensor and Tile operands: '%s' is a %s", p.Name, got).
						WithHint("load the tensor into a tile with pl.load, or use tensors for all operands")
				}
			}
		}
		if got == ScalarArg && p.Kind&(TensorArg|TileArg) != 0 {
			return s.argError(CodeOperand, i, "expected %s operands for '%s', got Scalar", p.Kind&(TensorArg|TileArg), p.Name)
		}
		return s.argError(CodeOperand, i, "operand '%s' must be a %s, got %s", p.Name, p.Kind, got)
	}
	switch got {
	case TileArg:
		t := a.Type().(*ir.TileType)
		if len(p.Mem) > 0 && t.Mem != ir.MemUnset && !slices.Contains(p.Mem, t.Mem) && isSink(t.Mem) {
			return s.argError(CodeMem, i, "operand '%s' is a tile in %s, where nothing can be moved out to %s", p.Name, t.Mem, memList(p.Mem)).
				WithHint("move the tile that it was made from with pl.move(…, target_memory=pl.Mem.%s)", p.Mem[0])
		}
	case TupleArg:
		if t, ok := a.(*ir.MakeTuple); ok {
			for _, e := range t.Elems {
				if d := s.checkIndex(p.Name, e); d != nil {
					return d
				}
			}
		}
	}
	return nil
}

// isSink reports a memory space that only compute instructions read: a tile there cannot be moved on.
func isSink(m ir.Mem) bool {
	switch m {
	case ir.Left, ir.Right, ir.Bias, ir.LeftScale, ir.RightScale:
		return true
	}
	return false
}

func memList(ms []ir.Mem) string {
	text := make([]string, len(ms))
	for i, m := range ms {
		text[i] = string(m)
	}
	return strings.Join(text, " or ")
}

// checkIndex checks one element of a list operand: an integer scalar.
func (s *Site) checkIndex(name string, e ir.Expr) *diag.Diagnostic {
	if t, ok := e.Type().(*ir.ScalarType); ok && t.DType.IsInt() {
		return nil
	}
	if _, ok := e.Type().(*ir.UnknownType); ok {
		return nil
	}
	return s.errorAt(CodeOperand, e.Span(), "%s: the elements of '%s' must be integer scalars, got %s", s.Spec.Name, name, typeText(e.Type()))
}

// checkKwargs checks the keyword arguments, brings their values into canonical form and order, and adds defaults.
func (s *Site) checkKwargs() ([]ir.Expr, *diag.Diagnostic) {
	spec := s.Spec
	for i, k := range s.Kwargs {
		if !slices.ContainsFunc(spec.Kwargs, func(x Kwarg) bool { return x.Name == k.Name }) {
			d := s.errorAt(CodeUnknownKw, valueSpan(k.Value), "%s got an unexpected keyword argument '%s'", spec.Name, k.Name)
			return nil, d.WithHint("%s", s.kwargHint(k.Name))
		}
		if slices.ContainsFunc(s.Kwargs[:i], func(x ir.Kwarg) bool { return x.Name == k.Name }) {
			return nil, s.errorAt(CodeUnknownKw, valueSpan(k.Value), "%s got multiple values for keyword argument '%s'", spec.Name, k.Name)
		}
	}
	var deps []ir.Expr
	out := make(ir.Kwargs, 0, len(spec.Kwargs))
	for i := range spec.Kwargs {
		k := &spec.Kwargs[i]
		v, given := s.Kwargs.Get(k.Name)
		if !given || k.Default == nil && k.Kind <= DTypeKw && isNone(v) {
			if k.Required && !s.Lenient {
				return nil, s.errorAt(CodeMissingKw, s.Pos, "%s requires keyword argument '%s'", spec.Name, k.Name)
			}
			if k.Default != nil {
				out = append(out, ir.Kwarg{Name: k.Name, Value: k.Default})
			}
			continue
		}
		v, d := s.kwargValue(k, v)
		if d != nil {
			return nil, d
		}
		if k.Kind == DepsKw {
			deps = v.([]ir.Expr)
			continue
		}
		out = append(out, ir.Kwarg{Name: k.Name, Value: v})
	}
	s.Kwargs = nil
	if len(out) > 0 {
		s.Kwargs = out
	}
	return deps, nil
}

func (s *Site) kwargHint(name string) string {
	var names []string
	for _, k := range s.Spec.Kwargs {
		names = append(names, k.Name)
	}
	for _, p := range s.Spec.Params {
		names = append(names, p.Name)
	}
	if best := diag.Nearest(name, names); best != "" {
		return fmt.Sprintf("did you mean '%s'?", best)
	}
	if len(s.Spec.Kwargs) == 0 {
		return "it takes no keyword arguments"
	}
	return "it takes " + strings.Join(names[:len(s.Spec.Kwargs)], ", ")
}

// kwargValue brings a keyword value into its canonical form: int64, bool, string, float64, DType, Enum, Expr or []Expr as the kind says.
func (s *Site) kwargValue(k *Kwarg, v any) (any, *diag.Diagnostic) {
	at := valueSpan(v)
	bad := func(want string) *diag.Diagnostic {
		return s.errorAt(CodeKwValue, at, "%s: keyword argument '%s' must be %s, got %s", s.Spec.Name, k.Name, want, symbolText(v))
	}
	if k.Kind == ExprKw {
		switch v := v.(type) {
		case ir.Expr, []ir.Expr:
			return v, nil
		}
		if e, ok := operandOf(v, s.Pos); ok {
			return e, nil
		}
		return nil, bad("an expression")
	}
	if e, ok := v.(ir.Expr); ok && k.Kind != DepsKw { // literals arrive as expressions or as plain values
		if sym, ok := e.(*Symbol); ok {
			v = sym.Value
		} else if l, ok := literalValue(e); ok {
			v = l
		}
	}
	switch k.Kind {
	case IntKw:
		switch x := v.(type) {
		case int64:
			if k.Min < k.Max && (x < k.Min || x > k.Max) {
				return nil, bad(fmt.Sprintf("between %d and %d", k.Min, k.Max))
			}
			return x, nil
		case ir.Enum: // pl.SplitMode.UP_DOWN: the IR keeps the number
			if j := slices.Index(k.Names, x.Name); j >= 0 {
				return int64(j), nil
			}
			if len(k.Names) > 0 {
				return nil, s.badName(k, x.Name, at)
			}
		}
		return nil, bad("an integer literal")
	case BoolKw:
		if b, ok := v.(bool); ok {
			return b, nil
		}
		return nil, bad("a boolean literal")
	case StrKw:
		if x, ok := v.(string); ok {
			if len(k.Names) > 0 && !slices.Contains(k.Names, x) {
				return nil, s.badName(k, x, at)
			}
			return x, nil
		}
		return nil, bad("a string literal")
	case FloatKw:
		x, ok := v.(float64)
		if n, isInt := v.(int64); isInt {
			x, ok = float64(n), true
		}
		switch {
		case !ok:
			return nil, bad("a number")
		case k.Min < k.Max && !(x >= float64(k.Min) && x <= float64(k.Max)):
			return nil, bad(fmt.Sprintf("between %d and %d", k.Min, k.Max))
		}
		return x, nil
	case DTypeKw:
		if d, ok := v.(ir.DType); ok {
			return d, nil
		}
		return nil, bad("a dtype such as pl.FP32")
	case EnumKw:
		switch x := v.(type) {
		case ir.Enum:
			if k.Enum != "" && x.Kind != k.Enum {
				return nil, bad("a pl." + k.Enum)
			}
			if len(k.Names) > 0 && !slices.Contains(k.Names, x.Name) {
				return nil, s.badName(k, x.Name, at)
			}
			return x, nil
		case int64: // dumps print the number
			if x >= 0 && x < int64(len(k.Names)) {
				return ir.Enum{Kind: k.Enum, Name: k.Names[x]}, nil
			}
		case string:
			if slices.Contains(k.Names, x) {
				return ir.Enum{Kind: k.Enum, Name: x}, nil
			}
			return nil, s.badName(k, x, at)
		}
		return nil, bad("a pl." + k.Enum)
	case ModeKw:
		switch x := v.(type) {
		case string:
			if slices.Contains(k.Names, x) {
				return x, nil
			}
			return nil, s.badName(k, x, at)
		case int64:
			if x >= 0 && x < int64(len(k.Names)) {
				return k.Names[x], nil
			}
		case ir.Enum:
			if slices.Contains(k.Names, strings.ToLower(x.Name)) {
				return strings.ToLower(x.Name), nil
			}
		}
		return nil, s.badName(k, symbolText(v), at)
	case PadKw:
		switch x := v.(type) {
		case ir.Enum:
			if x.Kind == "PadValue" && (x.Name == "zero" || x.Name == "min" || x.Name == "max") {
				return x, nil
			}
			if x.Kind == "PadValue" && x.Name == "null" && slices.Contains(k.Names, "null") {
				return x, nil
			}
		case int64:
			if x == 0 {
				return ir.Enum{Kind: "PadValue", Name: "zero"}, nil
			}
		case float64:
			switch {
			case x == 0:
				return ir.Enum{Kind: "PadValue", Name: "zero"}, nil
			case math.IsInf(x, 1):
				return ir.Enum{Kind: "PadValue", Name: "max"}, nil
			case math.IsInf(x, -1):
				return ir.Enum{Kind: "PadValue", Name: "min"}, nil
			}
		}
		_, leaf := splitName(s.Spec.Name)
		return nil, s.errorAt(CodeKwValue, at, "%s: %s %s must be 0, inf, -inf or one of pl.PadValue.zero, min, max, got %s", s.Spec.Name, leaf, k.Name, symbolText(v))
	case DepsKw:
		return s.depsValue(k, v)
	}
	return nil, bad("something else")
}

func (s *Site) badName(k *Kwarg, got string, at diag.Span) *diag.Diagnostic {
	what := "value for '" + k.Name + "'"
	if k.Name == "mode" && k.Kind == ModeKw {
		what = "rounding mode" // the reference's wording
	}
	d := s.errorAt(CodeKwValue, at, "%s: Invalid %s %q", s.Spec.Name, what, got)
	if best := diag.Nearest(got, k.Names); best != "" {
		return d.WithHint("did you mean %q?", best)
	}
	return d.WithHint("it is one of %s", strings.Join(k.Names, ", "))
}

func (s *Site) depsValue(k *Kwarg, v any) (any, *diag.Diagnostic) {
	if t, ok := v.(*ir.MakeTuple); ok {
		v = t.Elems
	}
	es, ok := v.([]ir.Expr)
	if !ok {
		return nil, s.errorAt(CodeKwValue, valueSpan(v), "%s: %s= must be a list of TaskIds", s.Spec.Name, k.Name)
	}
	for _, e := range es {
		switch t := e.Type(); {
		case ir.IsTaskID(t), ir.IsTaskIDArray(t):
		case ir.IsTensor(t):
			return nil, s.errorAt(CodeKwValue, e.Span(), "%s: bare tensor names are not allowed in %s=; use TaskId", s.Spec.Name, k.Name)
		default:
			return nil, s.errorAt(CodeKwValue, e.Span(), "%s: an entry of %s= must be a TaskId or an array of TaskIds, got %s", s.Spec.Name, k.Name, typeText(t))
		}
	}
	return es, nil
}

func valueSpan(v any) diag.Span {
	switch v := v.(type) {
	case ir.Expr:
		return v.Span()
	case []ir.Expr:
		if len(v) > 0 {
			return v[0].Span()
		}
	}
	return diag.Span{}
}

// symbolText is a keyword value in messages.
func symbolText(v any) string {
	switch v := v.(type) {
	case *Symbol:
		return symbolText(v.Value)
	case ir.Expr:
		return exprText(v)
	case []ir.Expr:
		return "a list"
	case ir.DType:
		return "pl." + v.Name()
	case ir.Enum:
		return "pl." + v.Kind + "." + v.Name
	case string:
		return fmt.Sprintf("%q", v)
	case bool:
		if v {
			return "True"
		}
		return "False"
	case float64:
		if text := strconv.FormatFloat(v, 'g', -1, 64); strings.ContainsAny(text, ".einf") {
			return text
		}
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprint(v)
}
