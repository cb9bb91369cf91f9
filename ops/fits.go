package ops

import (
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// Fits checks a finished call against the spec of its op: how many operands there are, of which kinds, and the keyword arguments. That is what Check checks
// except for the type rule, for calls that the front end did not make: those of a plugin's pass, of a dump. nil when the call is as the spec says.
func (s *Spec) Fits(c *ir.OpCall) *diag.Diagnostic {
	if d := s.FitsOperands(c); d != nil {
		return d
	}
	site := &Site{Spec: s, Args: c.Args, Kwargs: slices.Clone(c.Kwargs), Pos: c.Pos}
	for _, k := range s.Kwargs {
		if k.Kind == DepsKw { // in a finished call it has a field of its own
			site.Kwargs = append(site.Kwargs, ir.Kwarg{Name: k.Name, Value: c.Deps})
		}
	}
	_, d := site.checkKwargs()
	return d
}

// FitsOperands is Fits without the keyword arguments.
func (s *Spec) FitsOperands(c *ir.OpCall) *diag.Diagnostic {
	site := &Site{Spec: s, Args: c.Args, Pos: c.Pos}
	variadic := len(s.Params) > 0 && s.Params[len(s.Params)-1].Variadic
	if len(c.Args) > len(s.Params) && !variadic {
		return site.tooMany(len(c.Args))
	}
	for i, p := range s.Params {
		if i >= len(c.Args) && !p.Optional && !p.Variadic {
			return site.missing(i, len(c.Args))
		}
	}
	for i, a := range c.Args {
		if d := site.checkOperand(i, a); d != nil {
			return d
		}
	}
	return nil
}

// tooMany is the report about operands beyond the parameters.
func (s *Site) tooMany(got int) *diag.Diagnostic {
	params := s.Spec.Params
	return s.errorAt(CodeCount, s.Args[len(params)].Span(), "%s takes %s, got %d", s.Spec.Name, operandCount(params), got).WithHint("its operands are (%s)", paramList(params))
}
