package client

import (
	"errors"
	"fmt"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
)

// checkResult holds the type that a plugin's rule gave against the spec of the op and against what every type has to be: what follows computes with it.
func checkResult(s *ops.Spec, args []ir.Expr, t ir.Type) error {
	operand := func(i int) ir.Type {
		if i < len(args) && args[i] != nil {
			return args[i].Type()
		}
		return ir.Unknown
	}
	unknown := func(t ir.Type) bool { _, ok := t.(*ir.UnknownType); return ok || t == nil }
	if unknown(t) {
		if s.Result.Kind == ops.None {
			return nil
		}
		for i := range args {
			if unknown(operand(i)) { // the result of a call whose callee is not known
				return nil
			}
		}
		return fmt.Errorf("its rule gives no type for %s", s.Name)
	}
	if err := checkType(t); err != nil {
		return fmt.Errorf("the type of %s: %w", s.Name, err)
	}
	tile, isTile := t.(*ir.TileType)
	_, isTensor := t.(*ir.TensorType)
	what := typeName(t)
	switch s.Result.Kind {
	case ops.Value:
		if isTile || isTensor {
			return fmt.Errorf("the result of %s has no storage by its spec, but its type is a %s", s.Name, what)
		}
	case ops.Fresh:
		_, isArray := t.(*ir.ArrayType)
		switch {
		case !isTile && !isTensor && !isArray:
			return fmt.Errorf("the result of %s has storage by its spec, but its type is a %s", s.Name, what)
		case isTile && s.Where == ops.OnHost:
			return fmt.Errorf("%s stands in orchestration functions, where there are no tiles, but its type is one", s.Name)
		case isTensor && s.Where == ops.InCore && s.ResultMem != "":
			return fmt.Errorf("the result of %s is a tile in %s by its spec, but its type is a tensor", s.Name, s.ResultMem)
		}
	case ops.View, ops.InPlace:
		of := operand(s.Result.Arg)
		if unknown(of) {
			break
		}
		if was := typeName(of); was != what {
			return fmt.Errorf("the result of %s is operand %q or a part of it by its spec, a %s, but its type is a %s", s.Name, s.Params[s.Result.Arg].Name, was, what)
		}
		if was, now := ir.ElemDType(of), ir.ElemDType(t); s.Result.Kind == ops.InPlace && was != now {
			return fmt.Errorf("the result of %s is operand %q by its spec, of %s, but its type has %s", s.Name, s.Params[s.Result.Arg].Name, was, now)
		}
	}
	if isTile && s.ResultMem != "" && tile.Mem != ir.MemUnset && tile.Mem != s.ResultMem {
		return fmt.Errorf("the result of %s is a tile in %s by its spec, but its type says %s", s.Name, s.ResultMem, tile.Mem)
	}
	return nil
}

func typeName(t ir.Type) string {
	switch t.(type) {
	case *ir.TileType:
		return "tile"
	case *ir.TensorType:
		return "tensor"
	case *ir.ArrayType:
		return "array"
	case *ir.ScalarType:
		return "scalar"
	}
	return "value of another type"
}

// checkType checks that a type is one that values can have: a dtype, extents that are integers and not negative.
func checkType(t ir.Type) error {
	switch t := t.(type) {
	case *ir.ScalarType:
		return checkDType(t.DType)
	case *ir.ArrayType:
		if t.Len < 0 {
			return fmt.Errorf("an array of length %d", t.Len)
		}
		return checkDType(t.DType)
	case *ir.TensorType:
		if v := t.View; v != nil {
			if err := checkLists(len(t.Shape), v.ValidShape, v.Stride); err != nil {
				return err
			}
		}
		return errors.Join(checkDType(t.DType), checkExtents(t.Shape))
	case *ir.TileType:
		if v := t.View; v != nil {
			if err := checkLists(len(t.Shape), v.ValidShape, v.Stride); err != nil {
				return err
			}
		}
		return errors.Join(checkDType(t.DType), checkExtents(t.Shape))
	case *ir.TupleType:
		for _, e := range t.Elems {
			if err := checkType(e); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkDType(d ir.DType) error {
	if !d.IsValid() {
		return errors.New("it has no dtype")
	}
	return nil
}

func checkExtents(shape []ir.Expr) error {
	for i, e := range shape {
		if e == nil {
			return fmt.Errorf("axis %d has no extent", i)
		}
		if n, known := ir.IntValue(e); known && n < 0 {
			return fmt.Errorf("axis %d has extent %d", i, n)
		}
		if t, ok := e.Type().(*ir.ScalarType); !ok || !t.DType.IsInt() {
			return fmt.Errorf("the extent of axis %d is no integer", i)
		}
	}
	return nil
}

// checkLists checks lists that have one entry per axis, or none at all.
func checkLists(rank int, lists ...[]ir.Expr) error {
	for _, l := range lists {
		if len(l) != 0 && len(l) != rank {
			return fmt.Errorf("its view has %d entries for %d axes", len(l), rank)
		}
		if err := checkExtents(l); err != nil {
			return fmt.Errorf("its view: %w", err)
		}
	}
	return nil
}
