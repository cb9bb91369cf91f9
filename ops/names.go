package ops

import (
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// aliases are the user-level names that differ from the op's own (spec: dsl-ir 4.3).
var aliases = map[string]string{
	"create_tensor": "tensor.create", "create_tile": "tile.create", "arange": "tensor.ci",
	"task_is_valid": "system.task_is_valid", "task_dummy": "system.task_dummy", "task_invalid": "system.task_invalid",
	"make_prefetch_context": "prefetch.make_context", "async_prefetch": "prefetch.async_prefetch",
	"tensor.arange": "tensor.ci", "tile.arange": "tile.ci", "tensor.create_tensor": "tensor.create", "tile.create_tile": "tile.create",
}

// ScalarForm is what pl.NAME of scalars stands for: an expression node, not an op.
type ScalarForm uint8

const (
	NoScalar   ScalarForm = iota
	ScalarMin             // ir.Binary Min
	ScalarMax             // ir.Binary Max
	ScalarCast            // ir.Cast
	ScalarAbs             // ir.Unary Abs
)

// ScalarOp says whether pl.NAME(args) is a scalar expression: min, max, cast and abs whose first operand is a scalar.
func ScalarOp(name string, args []ir.Expr) ScalarForm {
	if len(args) == 0 {
		return NoScalar
	}
	if _, sym := args[0].(*Symbol); sym || kindOf(args[0]) != ScalarArg {
		return NoScalar
	}
	switch name {
	case "min":
		return ScalarMin
	case "max":
		return ScalarMax
	case "cast":
		return ScalarCast
	case "abs":
		return ScalarAbs
	}
	return NoScalar
}

// Resolve finds the op that the user's name means, given the operands: pl.add of two tiles is tile.add, of a tile and a scalar tile.adds. It also
// brings operands of special forms into the op's own order. A report without a place is about the name.
func (r *Registry) Resolve(name string, args []ir.Expr, kwargs ir.Kwargs) (*Spec, []ir.Expr, ir.Kwargs, *diag.Diagnostic) {
	ns, leaf := splitName(name)
	if a, ok := aliases[name]; ok {
		ns, leaf = splitName(a)
	}
	if len(leaf) > 1 { // and_, or_, not_: keywords in Python
		leaf = strings.TrimSuffix(leaf, "_")
	}
	kind := regionKind(args, kwargs)
	if ns == "" || ns == "pld" {
		if found, ok := r.namespaceOf(ns, leaf, kind); ok {
			ns = found
		}
	}
	args, kwargs, leaf = specialForms(ns, leaf, args, kwargs)
	full := ns + "." + leaf
	if len(args) > 1 && kindOf(args[1]) == ScalarArg {
		if s := r.byName[full+"s"]; s != nil && (ns == "tensor" || ns == "tile") {
			full += "s"
		}
	}
	spec := r.byName[full]
	if spec == nil {
		return nil, nil, nil, r.unknown(name, args)
	}
	if kind == 0 && len(args) > 0 && kindOf(args[0]) == ScalarArg && !strings.Contains(name, ".") && len(spec.Params) > 0 && spec.Params[0].Kind&(TensorArg|TileArg) != 0 {
		return nil, nil, nil, diag.Errorf(CodeOperand, args[0].Span(), "pl.%s: expected Tensor or Tile operands, got Scalar", name).
			WithHint("scalars are computed with Python's operators, pl.min, pl.max and pl.cast")
	}
	if ns == "tensor" {
		if d := r.extraTmp(spec, args, kwargs); d != nil {
			return nil, nil, nil, d
		}
	}
	return spec, args, kwargs, nil
}

// regionKind is TensorArg or TileArg by the first operand that is one, 0 when none is. Operands given by keyword count too.
func regionKind(args []ir.Expr, kwargs ir.Kwargs) ParamKind {
	for _, a := range args {
		if a != nil {
			if k := kindOf(a); k&(TensorArg|TileArg) != 0 {
				return k
			}
		}
	}
	for _, k := range kwargs {
		if e, ok := k.Value.(ir.Expr); ok {
			if k := kindOf(e); k&(TensorArg|TileArg) != 0 {
				return k
			}
		}
	}
	return 0
}

// namespaceOf picks the namespace of a name written without one: by the kind of the operands where tensors and tiles both have the op.
func (r *Registry) namespaceOf(prefix, leaf string, kind ParamKind) (string, bool) {
	candidates := [...]string{"tensor", "tile", "array", "system", "prefetch"}
	if prefix == "pld" {
		candidates = [...]string{"pld.tensor", "pld.tile", "pld.system", "", ""}
	}
	has := func(ns string) bool {
		for _, n := range [...]string{leaf, leaf + "_format1", leaf + "_mask"} { // mrgsort has only variants
			if r.byName[ns+"."+n] != nil {
				return true
			}
		}
		return false
	}
	if kind == TileArg && has(candidates[1]) {
		return candidates[1], true
	}
	if kind == TensorArg && has(candidates[0]) {
		return candidates[0], true
	}
	for _, ns := range candidates {
		if ns == "array" || ns == "prefetch" { // never without their prefix
			continue
		}
		if ns != "" && has(ns) {
			return ns, true
		}
	}
	return "", false
}

// specialForms handles the user-level calls whose keywords choose the op: gather, scatter and mrgsort, and the scalar index of read and write.
func specialForms(ns, leaf string, args []ir.Expr, kwargs ir.Kwargs) ([]ir.Expr, ir.Kwargs, string) {
	has := func(name string) bool { _, ok := kwargs.Get(name); return ok }
	switch leaf {
	case "gather":
		switch {
		case has("mask_pattern"):
			return args, kwargs, "gather_mask"
		case has("kvalue") || has("out_cols"):
			return args, kwargs, "gather_compare"
		case ns == "tensor":
			args, kwargs = dimToKeyword(args, kwargs)
		}
	case "scatter", "scatter_update":
		if leaf == "scatter" && has("mask_pattern") {
			if ns == "tile" { // pl.scatter(x, mask_pattern=, dst=): the op has the destination first
				args, kwargs = renameOperand(args, kwargs)
			}
			return args, kwargs, "scatter_mask"
		}
		args, kwargs = dimToKeyword(args, kwargs)
	case "mrgsort":
		if has("block_len") || len(args) == 2 && kindOf(args[1]) == ScalarArg {
			return args, kwargs, "mrgsort_format1"
		}
		if ns == "tile" {
			args, kwargs = mergeOperands(args, kwargs)
		}
		return args, kwargs, "mrgsort_format2"
	case "read", "write":
		if len(args) > 1 && kindOf(args[1]) == ScalarArg {
			args = slices.Clone(args)
			args[1] = &ir.MakeTuple{Elems: []ir.Expr{args[1]}, Pos: args[1].Span()}
		}
	}
	return args, kwargs, leaf
}

// dimToKeyword moves the axis of pl.gather(x, -1, index) to its keyword.
func dimToKeyword(args []ir.Expr, kwargs ir.Kwargs) ([]ir.Expr, ir.Kwargs) {
	if len(args) < 2 || kindOf(args[1]) != ScalarArg {
		return args, kwargs
	}
	v, ok := literalValue(args[1])
	if !ok {
		return args, kwargs
	}
	return slices.Delete(slices.Clone(args), 1, 2), append(slices.Clone(kwargs), ir.Kwarg{Name: "dim", Value: v})
}

// renameOperand turns (src, dst=d) into (dst, src).
func renameOperand(args []ir.Expr, kwargs ir.Kwargs) ([]ir.Expr, ir.Kwargs) {
	v, ok := kwargs.Get("dst")
	dst, isExpr := v.(ir.Expr)
	if !ok || !isExpr || len(args) != 1 {
		return args, kwargs
	}
	rest := slices.DeleteFunc(slices.Clone(kwargs), func(k ir.Kwarg) bool { return k.Name == "dst" })
	return []ir.Expr{dst, args[0]}, rest
}

// mergeOperands brings pl.mrgsort(a, b, …, tmp=t) of tiles into the op's order: the lists, of which there may be two to four, then the scratch tile.
func mergeOperands(args []ir.Expr, kwargs ir.Kwargs) ([]ir.Expr, ir.Kwargs) {
	args, rest := slices.Clone(args), slices.Clone(kwargs)
	for _, name := range [...]string{"src1", "src2", "src3", "tmp"} {
		if e, ok := kwargs.Get(name); ok {
			if e, ok := e.(ir.Expr); ok {
				args = append(args, e)
				rest = slices.DeleteFunc(rest, func(k ir.Kwarg) bool { return k.Name == name })
			}
		}
	}
	return args, rest
}

// extraTmp reports a scratch tile given to a tensor op whose tile form has one.
func (r *Registry) extraTmp(spec *Spec, args []ir.Expr, kwargs ir.Kwargs) *diag.Diagnostic {
	_, leaf := splitName(spec.Name)
	tile := r.byName["tile."+leaf]
	if tile == nil || !slices.ContainsFunc(tile.Params, isTmp) || slices.ContainsFunc(spec.Params, isTmp) {
		return nil
	}
	extra := diag.Span{}
	switch n := len(spec.Params); {
	case len(args) > n && kindOf(args[n])&(TensorArg|TileArg) != 0:
		extra = args[n].Span()
	default:
		i := slices.IndexFunc(kwargs, func(k ir.Kwarg) bool { return k.Name == "tmp" || k.Name == "tmp_tile" })
		if i < 0 {
			return nil
		}
		extra = valueSpan(kwargs[i].Value)
	}
	return diag.Errorf(CodeTmp, extra, "%s: Tensor inputs must not pass tmp: scratch tiles are made where tensors become tiles", spec.Name).
		WithHint("drop the scratch operand, or load the tensor into a tile first")
}

func isTmp(p Param) bool { return p.Name == "tmp" || p.Name == "tmp_tile" }

// unknown reports a name that no op has.
func (r *Registry) unknown(name string, args []ir.Expr) *diag.Diagnostic {
	prefix := "pl."
	if strings.HasPrefix(name, "pld.") {
		prefix = ""
	}
	if len(args) > 0 && args[0] != nil {
		if k := kindOf(args[0]); (name == "min" || name == "max") && k&(TensorArg|TileArg) != 0 {
			return diag.Errorf(CodeUnknownOp, diag.Span{}, "pl.%s takes scalars, got %s", name, k).
				WithHint("elementwise it is pl.%simum, along an axis pl.row_%s or pl.col_%s", name, name, name)
		}
	}
	if ns, _ := splitName(name); r.missing[ns] != nil {
		why := *r.missing[ns]
		if !why.Span.IsValid() { // the place of the call will do
			why.Message = "pl." + name + " cannot be used: " + why.Message
		}
		return &why // with its place, so that all uses make one report
	}
	d := diag.Errorf(CodeUnknownOp, diag.Span{}, "Unknown operation '%s%s'", prefix, name)
	if best := diag.Nearest(name, r.userNames(name)); best != "" {
		return d.WithHint("did you mean '%s%s'?", prefix, best)
	}
	if ns, _ := splitName(name); ns != "" && !strings.Contains(ns, ".") && !slices.ContainsFunc(r.sorted, func(s *Spec) bool { return strings.HasPrefix(s.Name, ns+".") }) {
		return d.WithHint("is it an op of a plugin? [plugins.%s] in Pto.toml adds them; `ptobuild emit` takes --plugins Pto.toml", ns)
	}
	return d
}

// userNames lists what the user could have meant: ops of the same namespace, or for a bare name everything that has a bare form.
func (r *Registry) userNames(name string) []string {
	var names []string
	if ns, _ := splitName(name); ns != "" {
		for _, s := range r.sorted {
			names = append(names, s.Name)
		}
		return names
	}
	for _, s := range r.sorted {
		if ns, leaf := splitName(s.Name); ns == "tensor" || ns == "tile" {
			names = append(names, leaf)
		}
	}
	for a := range aliases {
		if !strings.Contains(a, ".") {
			names = append(names, a)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
