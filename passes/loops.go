package passes

import "github.com/ptobuild/ptobuild/ir"

// constTrips returns the number of trips of a loop with literal bounds.
func constTrips(s *ir.For) (int64, bool) {
	start, ok1 := constInt(s.Start)
	stop, ok2 := constInt(s.Stop)
	step, ok3 := constInt(s.Step)
	if !ok1 || !ok2 || !ok3 {
		return 0, false
	}
	return ir.TripCount(start, stop, step)
}

// constInt returns the value of an integer literal or of its negation.
func constInt(e ir.Expr) (int64, bool) {
	switch e := e.(type) {
	case *ir.ConstInt:
		return e.Value, true
	case *ir.Unary:
		if c, ok := e.X.(*ir.ConstInt); ok && e.Op == ir.Neg {
			return -c.Value, true
		}
	}
	return 0, false
}
