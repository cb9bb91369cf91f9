package syntax

import "github.com/ptobuild/ptobuild/internal/diag"

// OperandAt is the place of an operand of the call at a place: by position, or by keyword. ok is false when the file has no such call or operand.
func OperandAt(f *File, call diag.Span, o diag.Operand) (at diag.Span, ok bool) {
	Walk(f, func(n Node) bool {
		if ok {
			return false
		}
		c, isCall := n.(*Call)
		if !isCall || c.Span(call.File) != call {
			return true
		}
		switch {
		case o.Index < len(c.Args):
			at, ok = c.Args[o.Index].At().Span(call.File), true
		default:
			for _, k := range c.Keywords {
				if k.Name == o.Name && o.Name != "" {
					at, ok = k.Value.At().Span(call.File), true
				}
			}
		}
		return false
	})
	return at, ok
}
