package lower

import (
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
)

// arrayFlow finds carries of arrays that are only updated in place, so that they need no storage of their own.
type arrayFlow struct {
	defs map[*ir.Var]arrayDef
	root map[*ir.Var]*ir.Var
}

// An arrayDef is where an array Var comes from: an assignment, or result i of an if or loop.
type arrayDef struct {
	value ir.Expr   // Assign
	a, b  ir.Expr   // If: what the branches yield
	carry *ir.Carry // loop
	yield ir.Expr
}

// inPlace reports that what the loop yields for c is the array it started the trip with.
func (l *lowerer) inPlace(c *ir.Carry) bool {
	if l.arrays == nil {
		l.arrays = &arrayFlow{defs: map[*ir.Var]arrayDef{}, root: map[*ir.Var]*ir.Var{}}
		l.arrays.collect(l.body)
	}
	d, ok := l.arrays.defs[c.Result]
	return ok && d.yield != nil && l.arrayRoot(d.yield) == c.Iter
}

func (f *arrayFlow) collect(b ir.Block) {
	isArray := func(v *ir.Var) bool { _, ok := v.Typ.(*ir.ArrayType); return ok }
	loop := func(cs []ir.Carry, body ir.Block) {
		y := trailingYield(body)
		for i := range cs {
			if isArray(cs[i].Result) && y != nil && i < len(y.Values) {
				f.defs[cs[i].Result] = arrayDef{carry: &cs[i], yield: y.Values[i]}
			}
		}
	}
	ir.Inspect(b, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Assign:
			if isArray(s.Var) {
				f.defs[s.Var] = arrayDef{value: s.Value}
			}
		case *ir.For:
			loop(s.Carries, s.Body)
		case *ir.While:
			loop(s.Carries, s.Body)
		case *ir.If:
			t, e := trailingYield(s.Then), trailingYield(s.Else)
			for i, v := range s.Results {
				if isArray(v) && t != nil && e != nil && i < len(t.Values) && i < len(e.Values) {
					f.defs[v] = arrayDef{a: t.Values[i], b: e.Values[i]}
				}
			}
		}
		return true
	})
}

// arrayRoot follows in-place updates back to the Var that owns the array.
func (l *lowerer) arrayRoot(e ir.Expr) *ir.Var {
	v, ok := e.(*ir.Var)
	if !ok {
		return nil
	}
	f := l.arrays
	if r, ok := f.root[v]; ok {
		return r
	}
	r := v
	switch d := f.defs[v]; {
	case d.value != nil:
		switch x := d.value.(type) {
		case *ir.Var:
			r = l.arrayRoot(x)
		case *ir.OpCall:
			if spec := l.reg.Lookup(x.Op); spec != nil && spec.Result.Kind == ops.InPlace && spec.Result.Arg < len(x.Args) {
				r = l.arrayRoot(x.Args[spec.Result.Arg])
			}
		}
	case d.a != nil:
		if a := l.arrayRoot(d.a); a != nil && a == l.arrayRoot(d.b) {
			r = a
		}
	case d.carry != nil:
		if l.arrayRoot(d.yield) == d.carry.Iter {
			r = l.arrayRoot(d.carry.Init)
		}
	}
	f.root[v] = r
	return r
}
