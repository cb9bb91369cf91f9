package irjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// Unmarshal decodes an answer. The error says where it is wrong, from the function on, and what has to stand there.
func (v *Vars) Unmarshal(data []byte) ([]*ir.Function, error) {
	doc, err := parse(data)
	if err != nil {
		return nil, err
	}
	d := &decoder{vars: map[int64]*ir.Var{}}
	for i, x := range v.known {
		d.vars[int64(i)] = x
	}
	if err := d.entries(doc["vars"], len(v.known)); err != nil {
		return nil, err
	}
	list, ok := doc["functions"].([]any)
	if !ok {
		return nil, in("functions", failf("%s where a list has to be", kind(doc["functions"])))
	}
	fs := make([]*ir.Function, len(list))
	for i, x := range list {
		if err := d.value(reflect.ValueOf(&fs[i]).Elem(), x); err != nil {
			return nil, inFunction(x, i, err)
		}
	}
	return fs, nil
}

// inFunction names the function that an error is in.
func inFunction(x any, i int, err error) error {
	m, _ := x.(map[string]any)
	var w *wrong
	if name, _ := m["name"].(string); name != "" && errors.As(err, &w) {
		return &wrong{"function " + name + strings.Replace(w.path, ".", ", ", 1), w.what}
	}
	return in(fmt.Sprintf("functions[%d]", i), err)
}

// parse reads a document: one JSON object.
func parse(data []byte) (map[string]any, error) {
	r := json.NewDecoder(bytes.NewReader(data))
	r.UseNumber()
	var doc any
	var syntax *json.SyntaxError
	switch err := r.Decode(&doc); {
	case errors.As(err, &syntax):
		at := int(min(max(syntax.Offset-1, 0), int64(len(data))))
		return nil, fmt.Errorf("it is no JSON at byte %d, before %q and after %q", at, data[at:min(at+20, len(data))], data[max(at-60, 0):at])
	case err != nil:
		return nil, errors.New("it is no JSON: it ends in the middle")
	}
	if _, err := r.Token(); err != io.EOF {
		return nil, errors.New("text after the document")
	}
	m, ok := doc.(map[string]any)
	if !ok {
		return nil, fmt.Errorf(`%s where a document has to be, {"vars": […], "functions": […]}`, kind(doc))
	}
	return m, nil
}

// entries decodes those of new variables. One of a variable that was sent counts for nothing, so it must not say anything new.
func (d *decoder) entries(x any, known int) error {
	list, ok := x.([]any)
	if !ok && x != nil {
		return in("vars", failf("%s where a list has to be", kind(x)))
	}
	type entry struct {
		v      *ir.Var
		fields map[string]any
		path   string
		fresh  bool
	}
	var es []entry
	for i, x := range list {
		path := fmt.Sprintf("vars[%d]", i)
		m, ok := x.(map[string]any)
		if !ok {
			return in(path, failf("%s where an object has to be", kind(x)))
		}
		id, err := integer(m["id"])
		if err != nil {
			return in(path+".id", err)
		}
		if hint, _ := m["hint"].(string); hint != "" {
			path += " (" + hint + ")"
		}
		if id >= int64(known) {
			if d.vars[id] != nil {
				return in(path, failf("id %d comes twice", id))
			}
			d.vars[id] = &ir.Var{}
		} else if d.vars[id] == nil {
			return in(path, failf("%d cannot be an id", id))
		}
		fields := maps.Clone(m)
		delete(fields, "id")
		es = append(es, entry{d.vars[id], fields, path, id >= int64(known)})
	}
	for _, e := range es {
		v := &ir.Var{}
		if err := d.fields(reflect.ValueOf(v).Elem(), e.fields); err != nil {
			return in(e.path, err)
		}
		switch {
		case e.fresh:
			*e.v = *v
		case v.Typ != nil && (e.v.Typ == nil || !ir.EqualTypes(e.v.Typ, v.Typ)), v.Hint != e.v.Hint:
			return in(e.path, failf("the variable of this id was sent as %s, with another name or type; what differs is a new variable and has a new id", e.v.Hint))
		}
	}
	return nil
}

type decoder struct {
	vars map[int64]*ir.Var
}

// wrong is an error with the path to it, which callers put together from behind: functions[0].body[2].value: …
type wrong struct {
	path string
	what string
}

func (w *wrong) Error() string { return w.path + ": " + w.what }

func failf(format string, args ...any) error { return &wrong{what: fmt.Sprintf(format, args...)} }

func in(path string, err error) error {
	var w *wrong
	if errors.As(err, &w) {
		return &wrong{path + w.path, w.what}
	}
	return err
}

func integer(v any) (int64, error) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, failf("%s where a whole number has to be", kind(v))
	}
	i, err := n.Int64()
	if err != nil {
		return 0, failf("%s is no whole number of 64 bits", n)
	}
	return i, nil
}

func kind(v any) string {
	switch v.(type) {
	case nil:
		return "nothing"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case []any:
		return "a list"
	}
	return "an object"
}

func (d *decoder) value(v reflect.Value, x any) error {
	t := v.Type()
	switch {
	case t == spanType:
		return d.span(v, x)
	case t == varType:
		if x == nil {
			return nil
		}
		m, _ := x.(map[string]any)
		w, err := d.variable(m)
		if err == nil {
			v.Set(reflect.ValueOf(w))
		}
		return err
	}
	switch t.Kind() {
	case reflect.Interface:
		return d.node(v, x)
	case reflect.Pointer:
		if x == nil {
			return nil
		}
		v.Set(reflect.New(t.Elem()))
		return d.value(v.Elem(), x)
	case reflect.Slice:
		if x == nil {
			return nil
		}
		l, ok := x.([]any)
		if !ok {
			return failf("%s where a list has to be", kind(x))
		}
		v.Set(reflect.MakeSlice(t, len(l), len(l)))
		for i := range l {
			if err := d.value(v.Index(i), l[i]); err != nil {
				return in(fmt.Sprintf("[%d]", i), err)
			}
		}
		return nil
	case reflect.Struct:
		m, ok := x.(map[string]any)
		if !ok {
			return failf("%s where an object has to be", kind(x))
		}
		return d.fields(v, m)
	case reflect.String:
		s, ok := x.(string)
		if !ok {
			return failf("%s where a string has to be", kind(x))
		}
		v.SetString(s)
	case reflect.Bool:
		b, ok := x.(bool)
		if !ok {
			return failf("%s where true or false has to be", kind(x))
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int64:
		n, err := integer(x)
		if err != nil {
			return err
		}
		v.SetInt(n)
	case reflect.Float64:
		f, err := number(x)
		if err != nil {
			return err
		}
		v.SetFloat(f)
	case reflect.Uint8:
		return d.name(v, x)
	}
	return nil
}

func number(x any) (float64, error) {
	switch x := x.(type) {
	case json.Number:
		if f, err := x.Float64(); err == nil {
			return f, nil
		}
	case string:
		switch x {
		case "nan":
			return math.NaN(), nil
		case "inf":
			return math.Inf(1), nil
		case "-inf":
			return math.Inf(-1), nil
		}
	}
	return 0, failf("%s where a number has to be", kind(x))
}

func (d *decoder) name(v reflect.Value, x any) error {
	s, ok := x.(string)
	if !ok {
		return failf("%s where a name has to be", kind(x))
	}
	if v.Type() == dtypeType {
		dt, ok := ir.DTypeNamed(s)
		if s == "" {
			dt, ok = ir.NoDType, true
		}
		if !ok {
			return failf("%q is no dtype%s", s, meant(s, ir.DTypeNames()))
		}
		v.SetUint(uint64(dt))
		return nil
	}
	for i, n := range enums[v.Type()] {
		if n == s {
			v.SetUint(uint64(i))
			return nil
		}
	}
	return failf("%q is none of %s", s, strings.Join(enums[v.Type()], ", "))
}

func (d *decoder) span(v reflect.Value, x any) error {
	l, _ := x.([]any)
	if len(l) != 5 {
		return failf("a place is [file, line, column, end line, end column]")
	}
	for i := range 5 {
		if i == 0 {
			if err := d.value(v.Field(0), l[0]); err != nil {
				return err
			}
			continue
		}
		n, err := integer(l[i])
		if err != nil {
			return err
		}
		if n != int64(int32(n)) {
			return failf("%d is no line or column", n)
		}
		v.Field(i).SetInt(n)
	}
	return nil
}

func (d *decoder) variable(m map[string]any) (*ir.Var, error) {
	id, err := integer(m["var"])
	if err != nil || len(m) != 1 {
		return nil, failf(`an object that is neither a node, which says its kind in "node", nor a variable, {"var": id}`)
	}
	v := d.vars[id]
	if v == nil {
		return nil, failf("variable %d has no entry in vars", id)
	}
	return v, nil
}

// node decodes an expression, a statement or a type.
func (d *decoder) node(v reflect.Value, x any) error {
	if x == nil {
		return nil
	}
	m, ok := x.(map[string]any)
	if !ok {
		return failf("%s where a node has to be", kind(x))
	}
	var n reflect.Value
	if _, ok := m["node"]; !ok {
		w, err := d.variable(m)
		if err != nil {
			return err
		}
		n = reflect.ValueOf(w)
	} else {
		name, _ := m["node"].(string)
		t := nodes[name]
		if t == nil {
			return failf("%q is no kind of node%s", name, meant(name, slices.Sorted(maps.Keys(nodes))))
		}
		n = reflect.New(t)
		rest := make(map[string]any, len(m))
		for k, y := range m {
			if k != "node" {
				rest[k] = y
			}
		}
		if err := d.fields(n.Elem(), rest); err != nil {
			return err
		}
		if s, ok := n.Interface().(*ir.ScalarType); ok {
			n = reflect.ValueOf(ir.Scalar(s.DType))
		}
	}
	if !n.Type().Implements(v.Type()) {
		return failf("%s cannot stand where %s has to be", n.Type().Elem().Name(), sorts[v.Type()])
	}
	v.Set(n)
	return nil
}

// fields decodes the fields of a struct.
func (d *decoder) fields(v reflect.Value, m map[string]any) error {
	t := v.Type()
	seen := 0
	for i := range t.NumField() {
		name := fieldName(t.Field(i))
		x, ok := m[name]
		if !ok {
			if t.Field(i).Type == dtypeType && v.CanAddr() && v.Addr().Type().Implements(typeType) {
				return failf("a %s without dtype", t.Name())
			}
			continue
		}
		seen++
		var err error
		if f := v.Field(i); f.Kind() == reflect.Interface && f.Type().NumMethod() == 0 {
			var value any
			if value, err = d.any(x); err == nil {
				f.Set(reflect.ValueOf(value))
			}
		} else {
			err = d.value(f, x)
		}
		if err != nil {
			return in("."+name, err)
		}
	}
	if seen < len(m) {
		var names []string
		for i := range t.NumField() {
			names = append(names, fieldName(t.Field(i)))
		}
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !slices.Contains(names, k) {
				return failf("%s has no field %q%s", t.Name(), k, meant(k, names))
			}
		}
	}
	return nil
}

// meant is the end of a message about a name that is none of those.
func meant(name string, names []string) string {
	if near := diag.Nearest(name, names); near != "" {
		return fmt.Sprintf("; was %q meant?", near)
	}
	return ": there are " + strings.Join(names, ", ")
}

// sorts are what the interfaces of package ir are called.
var sorts = map[reflect.Type]string{reflect.TypeFor[ir.Expr](): "an expression", reflect.TypeFor[ir.Stmt](): "a statement", reflect.TypeFor[ir.Type](): "a type"}

// any decodes the value of a keyword argument or attribute.
func (d *decoder) any(x any) (any, error) {
	m, _ := x.(map[string]any)
	if len(m) != 1 {
		return nil, failf(`a value is an object with one key, such as {"int": 5}`)
	}
	into := func(p any, x any) (any, error) {
		v := reflect.ValueOf(p).Elem()
		err := d.value(v, x)
		return v.Interface(), err
	}
	for k, x := range m {
		switch k {
		case "int":
			return into(new(int64), x)
		case "bool":
			return into(new(bool), x)
		case "string":
			return into(new(string), x)
		case "float":
			return into(new(float64), x)
		case "dtype":
			return into(new(ir.DType), x)
		case "enum":
			s, err := into(new([]string), x)
			if err != nil || len(s.([]string)) != 2 {
				return nil, failf(`an enum is [kind, name]`)
			}
			return ir.Enum{Kind: s.([]string)[0], Name: s.([]string)[1]}, nil
		case "expr":
			v, err := into(new(ir.Expr), x)
			if err == nil && v == nil {
				return nil, failf("an expression is missing")
			}
			return v, err
		case "exprs":
			return into(new([]ir.Expr), x)
		case "ints":
			return into(new([]int64), x)
		case "strings":
			return into(new([]string), x)
		}
	}
	return nil, failf("a value of no kind that is known")
}
