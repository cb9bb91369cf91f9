package plugins

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
)

// Option is one option that a plugin accepts.
type Option struct {
	Name     string
	Kind     OptionKind
	Doc      string
	Required bool
	Choices  []string // of strings; nil: any
	Min, Max float64  // bounds of a number when they differ
}

// OptionKind is the type of an option's value.
type OptionKind uint8

const (
	StringOption OptionKind = iota
	IntOption
	FloatOption
	BoolOption
	StringsOption // a list of strings
)

func (k OptionKind) String() string {
	return [...]string{"a string", "an integer", "a number", "true or false", "a list of strings"}[k]
}

// DecodeOptions decodes the JSON in which options travel. Numbers become float64.
func DecodeOptions(text string) (map[string]any, error) {
	var m map[string]any
	if text == "" {
		return m, nil
	}
	return m, json.Unmarshal([]byte(text), &m)
}

// CheckOptions holds values against what the plugin accepts. Without a schema everything is accepted; the plugin looks for itself.
func CheckOptions(plugin string, schema []Option, values map[string]any) diag.List {
	if len(schema) == 0 {
		return nil
	}
	var ds diag.List
	var names, given []string
	for _, o := range schema {
		names = append(names, o.Name)
	}
	for name := range values {
		given = append(given, name)
	}
	slices.Sort(given)
	for _, name := range given {
		i := slices.Index(names, name)
		if i < 0 {
			d := diag.Errorf(CodeOption, diag.Span{}, "plugin %s has no option %q", plugin, name)
			if near := diag.Nearest(name, names); near != "" {
				d.WithHint("did you mean %q?", near)
			} else {
				d.WithHint("its options are %s", strings.Join(names, ", "))
			}
			ds.Add(d)
			continue
		}
		if why := schema[i].check(values[name]); why != "" {
			d := diag.Errorf(CodeOption, diag.Span{}, "option %s of plugin %s must be %s", name, plugin, why)
			if schema[i].Doc != "" {
				d.WithHint("%s: %s", name, schema[i].Doc)
			}
			ds.Add(d)
		}
	}
	for _, o := range schema {
		if _, ok := values[o.Name]; o.Required && !ok {
			ds.Add(diag.Errorf(CodeOption, diag.Span{}, "plugin %s needs option %s, %s", plugin, o.Name, o.Kind).WithHint("add options.%s = … to [plugins.%s]: %s", o.Name, plugin, o.Doc))
		}
	}
	return ds
}

// check says what a value must be instead, "" when it is right.
func (o *Option) check(v any) string {
	text := func(v any) bool {
		s, ok := v.(string)
		return ok && (len(o.Choices) == 0 || slices.Contains(o.Choices, s))
	}
	ok := false
	switch o.Kind {
	case StringOption:
		ok = text(v)
	case BoolOption:
		_, ok = v.(bool)
	case IntOption, FloatOption:
		f, number := v.(float64)
		ok = number && (o.Kind == FloatOption || f == math.Trunc(f)) && (o.Min >= o.Max || f >= o.Min && f <= o.Max)
	case StringsOption:
		var list []any
		if list, ok = v.([]any); ok {
			ok = !slices.ContainsFunc(list, func(v any) bool { return !text(v) })
		}
	}
	switch {
	case ok:
		return ""
	case len(o.Choices) > 0:
		return o.Kind.String() + " out of " + strings.Join(o.Choices, ", ")
	case o.Min < o.Max:
		return fmt.Sprintf("%s between %v and %v", o.Kind, o.Min, o.Max)
	}
	return o.Kind.String()
}
