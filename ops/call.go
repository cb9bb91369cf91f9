package ops

import (
	"fmt"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// Symbol is a dtype, enum value or string given by position, as in pl.cast(x, pl.FP32): an operand for the user, a keyword argument in the
// IR. It only lives between the front end and Call, which moves it to its keyword.
type Symbol struct {
	*ir.ConstInt     // the place in the source; the value means nothing
	Value        any // ir.DType, ir.Enum or string
}

// NewSymbol wraps a positional dtype, enum value or string.
func NewSymbol(value any, at diag.Span) *Symbol {
	return &Symbol{&ir.ConstInt{DType: ir.INDEX, Pos: at}, value}
}

// Call makes the op call that the user wrote as pl.NAME(args, kwargs) at pos: it finds the op (see Resolve), checks operands and keyword arguments
// against the spec and gives the result type. Names are what follows "pl.": "add", "tensor.add", "tile.load", "array.create"; ops of pld have
// the prefix "pld.".
//
// Operands may be given by keyword (pl.slice(x, shape=[…], offset=[…])) and keyword arguments by position (see Symbol). An optional
// list operand left out before a given one becomes an empty list.
func (r *Registry) Call(pos diag.Span, name string, args []ir.Expr, kwargs ir.Kwargs) (*ir.OpCall, *diag.Diagnostic) {
	spec, args, kwargs, d := r.Resolve(name, args, kwargs)
	if d != nil {
		if !d.Span.IsValid() {
			d.Span = pos
		}
		return nil, d
	}
	return Check(&Site{Spec: spec, Args: args, Kwargs: kwargs, Pos: pos})
}

// Check checks a use of an op against its spec and builds the call. It leaves s with the operands and keyword arguments in canonical order.
func Check(s *Site) (*ir.OpCall, *diag.Diagnostic) {
	if d := s.placeOperands(); d != nil {
		return nil, d
	}
	for i, a := range s.Args {
		if d := s.checkOperand(i, a); d != nil {
			return nil, d
		}
	}
	deps, d := s.checkKwargs()
	if d != nil {
		return nil, d
	}
	var t ir.Type = ir.Unknown
	if s.Spec.Infer != nil {
		if t, d = s.Spec.Infer(s); d != nil {
			return nil, d
		}
	}
	return &ir.OpCall{Op: s.Spec.Name, Args: s.Args, Kwargs: s.Kwargs, Deps: deps, Typ: t, Pos: s.Pos}, nil
}

// InferType gives the result type of a call whose operands changed.
func (r *Registry) InferType(c *ir.OpCall) (ir.Type, *diag.Diagnostic) {
	spec := r.Lookup(c.Op)
	if spec == nil || spec.Infer == nil {
		return c.Typ, nil
	}
	return spec.Infer(&Site{Spec: spec, Args: c.Args, Kwargs: c.Kwargs, Pos: c.Pos})
}

// Misplaced is the report for an op in a function of the wrong kind: inCore says where it stands.
func Misplaced(spec *Spec, at diag.Span, inCore bool) *diag.Diagnostic {
	if inCore {
		return diag.Errorf(CodePlace, at, "Misplaced op '%s' in a kernel (it belongs in an Orchestration function)", spec.Name)
	}
	kind := "builtin"
	if ns, _ := splitName(spec.Name); ns == "tensor" {
		kind = "tensor"
	}
	if spec.Plugin() != "" {
		kind = "plugin"
	}
	return diag.Errorf(CodePlace, at, "Misplaced %s op '%s' in Orchestration function (should be inside InCore block)", kind, spec.Name).
		WithHint("move it into a kernel function or a `with pl.at(level=pl.Level.CORE_GROUP):` block")
}

// placeOperands moves operands given by keyword to their position and symbols given by position to their keyword, and checks the counts.
func (s *Site) placeOperands() *diag.Diagnostic {
	args, rest := slices.Clone(s.Args), s.Kwargs
	params := s.Spec.Params
	// Symbols: after the operands they stand for keyword arguments in order; among the operands only an EnumArg takes one.
	var kwargs ir.Kwargs
	for i := 0; i < len(args); i++ {
		sym, ok := args[i].(*Symbol)
		if !ok || i < len(params) && params[i].Kind&EnumArg != 0 {
			continue
		}
		kw := s.keywordFor(sym)
		if kw == "" {
			return s.errorAt(CodeOperand, sym.Pos, "%s does not take %s here", s.Spec.Name, symbolText(sym.Value))
		}
		kwargs = append(kwargs, ir.Kwarg{Name: kw, Value: sym.Value})
		args = slices.Delete(args, i, i+1)
		i--
	}
	for _, k := range rest {
		// pl.load(…, valid_shapes=…): people write the plural of any list.
		i := slices.IndexFunc(params, func(p Param) bool { return p.Name == k.Name || p.Kind&TupleArg != 0 && p.Name+"s" == k.Name })
		if i < 0 {
			kwargs = append(kwargs, k)
			continue
		}
		e, ok := operandOf(k.Value, s.Pos)
		if !ok {
			return s.errorAt(CodeOperand, s.Pos, "%s: operand '%s' cannot be %s", s.Spec.Name, k.Name, symbolText(k.Value))
		}
		for len(args) <= i {
			args = append(args, nil)
		}
		if args[i] != nil {
			return s.errorAt(CodeCount, e.Span(), "%s got multiple values for operand '%s'", s.Spec.Name, k.Name)
		}
		args[i] = e
	}
	for i := range args[:min(len(args), len(params))] {
		if params[i].Optional && params[i].Kind&TaskArg == 0 && isNone(args[i]) {
			args[i] = nil
		}
	}
	for len(args) > 0 && args[len(args)-1] == nil {
		args = args[:len(args)-1]
	}
	// Integer literals beyond the operands are keyword arguments too: pl.fillpad(x, 0), pl.row_sum(x, -1).
	variadic := len(params) > 0 && params[len(params)-1].Variadic
	for len(args) > len(params) && !variadic {
		kw := s.keywordAfter(kwargs)
		v, ok := literalValue(args[len(params)])
		if kw == "" || !ok {
			break
		}
		kwargs = append(kwargs, ir.Kwarg{Name: kw, Value: v})
		args = slices.Delete(args, len(params), len(params)+1)
	}
	if len(args) > len(params) && !variadic {
		s.Args = args
		return s.tooMany(len(args))
	}
	for i := range params {
		given := i < len(args) && args[i] != nil
		switch {
		case given, params[i].Variadic:
		case !params[i].Optional:
			return s.missing(i, len(args))
		case i < len(args):
			args[i] = &ir.MakeTuple{Pos: s.Pos}
		}
	}
	s.Args, s.Kwargs = args, kwargs
	return nil
}

func (s *Site) missing(i, got int) *diag.Diagnostic {
	p := s.Spec.Params[i]
	if p.Name == "tmp_tile" {
		return s.errorAt(CodeTmp, s.Pos, "%s: Tile inputs require tmp_tile", s.Spec.Name).
			WithHint("make a scratch tile with pl.create_tile of the input's shape and pass it as tmp_tile=")
	}
	return s.errorAt(CodeCount, s.Pos, "%s is missing operand '%s': it takes %s, got %d", s.Spec.Name, p.Name, operandCount(s.Spec.Params), got).
		WithHint("its operands are (%s)", paramList(s.Spec.Params))
}

// isNone reports what the front end makes of None.
func isNone(v any) bool {
	c, ok := v.(*ir.OpCall)
	return ok && c.Op == "system.task_invalid"
}

// keywordFor finds the keyword argument that a positional symbol stands for.
func (s *Site) keywordFor(sym *Symbol) string {
	for _, k := range s.Spec.Kwargs {
		if _, given := s.Kwargs.Get(k.Name); given {
			continue
		}
		switch v := sym.Value.(type) {
		case ir.DType:
			if k.Kind == DTypeKw {
				return k.Name
			}
		case ir.Enum:
			if (k.Kind == EnumKw && (k.Enum == "" || k.Enum == v.Kind)) || k.Kind == PadKw && v.Kind == "PadValue" {
				return k.Name
			}
		case string:
			if k.Kind == ModeKw || k.Kind == StrKw {
				return k.Name
			}
		}
	}
	return ""
}

// keywordAfter is the first keyword argument not yet given that takes a number or bool.
func (s *Site) keywordAfter(given ir.Kwargs) string {
	for _, k := range s.Spec.Kwargs {
		if _, ok := given.Get(k.Name); ok {
			continue
		}
		switch k.Kind {
		case IntKw, BoolKw, FloatKw, PadKw, ModeKw:
			return k.Name
		}
	}
	return ""
}

// literalValue is the keyword value of a literal expression.
func literalValue(e ir.Expr) (any, bool) {
	switch e := e.(type) {
	case *ir.ConstInt:
		return e.Value, true
	case *ir.ConstFloat:
		return e.Value, true
	case *ir.ConstBool:
		return e.Value, true
	}
	return nil, false
}

// operandOf turns a keyword value back into an operand.
func operandOf(v any, at diag.Span) (ir.Expr, bool) {
	switch v := v.(type) {
	case ir.Expr:
		return v, true
	case []ir.Expr:
		return &ir.MakeTuple{Elems: v, Pos: at}, true
	case int64:
		return &ir.ConstInt{Value: v, DType: ir.INDEX, Pos: at}, true
	case float64:
		return &ir.ConstFloat{Value: v, DType: ir.FP32, Pos: at}, true
	case bool:
		return &ir.ConstBool{Value: v, Pos: at}, true
	case ir.DType, ir.Enum, string:
		return NewSymbol(v, at), true
	}
	return nil, false
}

func operandCount(params []Param) string {
	least := 0
	for _, p := range params {
		if !p.Optional && !p.Variadic {
			least++
		}
	}
	most := len(params)
	switch {
	case most > 0 && params[most-1].Variadic:
		return "at least " + diag.Plural(least, "operand")
	case least == most:
		return diag.Plural(most, "operand")
	}
	return fmt.Sprintf("%d to %s", least, diag.Plural(most, "operand"))
}

func paramList(params []Param) string {
	text := ""
	for i, p := range params {
		if i > 0 {
			text += ", "
		}
		if p.Variadic {
			text += "*"
		}
		text += p.Name
		if p.Optional {
			text += "?"
		}
	}
	return text
}
