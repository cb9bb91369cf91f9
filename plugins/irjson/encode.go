package irjson

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// Marshal encodes functions, and gives the variables by which their answer is decoded.
func Marshal(fs []*ir.Function) ([]byte, *Vars, error) {
	e := &encoder{Vars: &Vars{ids: map[*ir.Var]int{}}}
	functions := e.value(reflect.ValueOf(fs))
	vars := []any{}
	for i := 0; i < len(e.known); i++ { // types of variables may hold others
		v := e.known[i]
		entry := map[string]any{"id": i, "hint": v.Hint, "dyn": v.Dyn}
		if v.Typ != nil {
			entry["type"] = e.value(reflect.ValueOf(&v.Typ).Elem())
		}
		if v.Pos != (diag.Span{}) {
			entry["pos"] = span(v.Pos)
		}
		vars = append(vars, entry)
	}
	if e.err != nil {
		return nil, nil, e.err
	}
	data, err := json.Marshal(map[string]any{"vars": vars, "functions": functions})
	return data, e.Vars, err
}

type encoder struct {
	*Vars
	err error
}

func (e *encoder) fail(format string, args ...any) any {
	if e.err == nil {
		e.err = fmt.Errorf(format, args...)
	}
	return nil
}

func (e *encoder) value(v reflect.Value) any {
	t := v.Type()
	if t == varType && !v.IsNil() {
		x := v.Interface().(*ir.Var)
		id, ok := e.ids[x]
		if !ok {
			id = len(e.known)
			e.ids[x] = id
			e.known = append(e.known, x)
		}
		return map[string]any{"var": id}
	}
	switch t.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return e.value(v.Elem())
	case reflect.Slice:
		if v.IsNil() {
			return nil
		}
		out := make([]any, v.Len())
		for i := range out {
			out[i] = e.value(v.Index(i))
		}
		return out
	case reflect.Struct:
		if t == spanType {
			return span(v.Interface().(diag.Span))
		}
		return e.fields(v)
	case reflect.String:
		return v.String()
	case reflect.Bool:
		return v.Bool()
	case reflect.Int, reflect.Int64:
		return v.Int()
	case reflect.Float64:
		return float(v.Float())
	case reflect.Uint8:
		return e.name(v)
	}
	return e.fail("a value of Go type %s has no JSON", t)
}

func (e *encoder) name(v reflect.Value) any {
	if d, ok := v.Interface().(ir.DType); ok {
		if d == ir.NoDType {
			return ""
		}
		return d.Name()
	}
	if ns := enums[v.Type()]; v.Uint() < uint64(len(ns)) {
		return ns[v.Uint()]
	}
	return e.fail("%d is no %s", v.Uint(), v.Type())
}

func (e *encoder) fields(v reflect.Value) any {
	t := v.Type()
	out := map[string]any{}
	if nodes[t.Name()] == t {
		out["node"] = t.Name()
	}
	for i := range t.NumField() {
		f, x := t.Field(i), v.Field(i)
		switch x.Kind() {
		case reflect.Interface:
			if x.IsNil() {
				continue
			}
			if x.Type().NumMethod() == 0 {
				out[fieldName(f)] = e.any(x.Interface())
				continue
			}
		case reflect.Pointer, reflect.Slice:
			if x.IsNil() {
				continue
			}
		case reflect.Struct:
			if x.IsZero() {
				continue
			}
		}
		out[fieldName(f)] = e.value(x)
	}
	return out
}

// any is the value of a keyword argument or attribute.
func (e *encoder) any(v any) any {
	one := func(kind string, v any) any { return map[string]any{kind: v} }
	list := func(v reflect.Value) any {
		if v.IsNil() {
			return nil
		}
		return e.value(v)
	}
	switch v := v.(type) {
	case int64:
		return one("int", v)
	case bool:
		return one("bool", v)
	case string:
		return one("string", v)
	case float64:
		return one("float", float(v))
	case ir.DType:
		return one("dtype", e.name(reflect.ValueOf(v)))
	case ir.Enum:
		return one("enum", []any{v.Kind, v.Name})
	case ir.Expr:
		return one("expr", e.value(reflect.ValueOf(v)))
	case []ir.Expr:
		return one("exprs", list(reflect.ValueOf(v)))
	case []int64:
		return one("ints", list(reflect.ValueOf(v)))
	case []string:
		return one("strings", list(reflect.ValueOf(v)))
	}
	return e.fail("a value of Go type %T has no JSON", v)
}

func span(s diag.Span) []any { return []any{s.File, s.Line, s.Col, s.EndLine, s.EndCol} }

func float(f float64) any {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	return f
}
