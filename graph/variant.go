package graph

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir/lang"
)

// A source file is loaded once per variant: a target with arguments or a factory of its own in Pto.toml has one for itself, the rest of the file shares
// the plain one.

// variant is one way to load a source file.
type variant struct {
	source         string
	label          Label // of the one target taken from it; none: all
	entry, factory string
	args           map[string]string
	skip           []string // roots and factories that have variants of their own
}

// key tells variants apart.
func (v *variant) key() string {
	var b strings.Builder
	for _, s := range []string{v.source, v.label.Func, v.entry, v.factory, strings.Join(v.skip, ",")} {
		b.WriteString(s + "\x00")
	}
	for _, name := range slices.Sorted(maps.Keys(v.args)) {
		b.WriteString(name + "=" + v.args[name] + "\x00")
	}
	return b.String()
}

// configured reports whether a target is loaded in a way of its own.
func (t *TargetConfig) configured() bool { return len(t.Args) > 0 || t.Factory != "" }

// plain is the variant of a file without the targets that have their own.
func (b *Builder) plain(source string) *variant {
	v := &variant{source: source, entry: b.Entry, factory: b.Factory, args: b.Args}
	for _, l := range b.configured[source] {
		t := b.WS.Config.Targets[l.String()]
		switch {
		case !t.configured() || b.Factory != "":
		case b.Entry == "":
			if t.Factory != "" {
				v.skip = append(v.skip, t.Factory)
			} else {
				v.skip = append(v.skip, l.Func)
			}
		case b.Entry == l.Func && t.Factory == "":
			v.args = b.merged(&t)
		}
	}
	return v
}

// variants lists the ways in which a file is loaded.
func (b *Builder) variants(source string) []*variant {
	vs := []*variant{b.plain(source)}
	if b.Entry != "" || b.Factory != "" {
		return vs // the command line says which one
	}
	for _, l := range b.configured[source] {
		t := b.WS.Config.Targets[l.String()]
		if !t.configured() {
			continue
		}
		v := &variant{source: source, label: l, factory: t.Factory, args: b.merged(&t)}
		if t.Factory == "" {
			v.entry = l.Func
		}
		vs = append(vs, v)
	}
	return vs
}

// configuredBySource are the labels of Pto.toml's [target] tables by the file that they belong to, in order.
func configuredBySource(c *Config) map[string][]Label {
	all := map[string][]Label{}
	for _, label := range sortedKeys(c.Targets) {
		if l, ok := ParseLabel(label); ok {
			all[l.File+".py"] = append(all[l.File+".py"], l)
		}
	}
	for _, ls := range all {
		slices.SortFunc(ls, Label.Compare)
	}
	return all
}

// merged gives a target's arguments: those of the command line before those of Pto.toml.
func (b *Builder) merged(t *TargetConfig) map[string]string {
	args, err := Literals(t.Args)
	if err != nil { // checked when Pto.toml was read
		args = map[string]string{}
	}
	maps.Copy(args, b.Args)
	return args
}

// Load reads and lowers one source file, without the targets that have arguments of their own in Pto.toml. The reports include the warnings.
func (b *Builder) Load(source string) (*lang.Unit, diag.List) { return b.load(b.plain(source)) }

// readSource reads a source file.
func (b *Builder) readSource(name string) ([]byte, error) {
	if b.read != nil {
		return b.read(name)
	}
	return b.WS.ReadFile(name)
}

func (b *Builder) load(v *variant) (*lang.Unit, diag.List) {
	key := v.key()
	b.mu.Lock()
	f, ok := b.units[key]
	if !ok {
		f = sync.OnceValues(func() (*lang.Unit, diag.List) { return b.loadWith(v, b.readSource) })
		b.units[key] = f
	}
	b.mu.Unlock()
	return f()
}

// seed keeps a unit that was loaded elsewhere.
func (b *Builder) seed(v *variant, unit *lang.Unit, ds diag.List) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.units[v.key()] = func() (*lang.Unit, diag.List) { return unit, ds }
}

// loadWith loads a variant through a reader of files.
func (b *Builder) loadWith(v *variant, readFile func(string) ([]byte, error)) (*lang.Unit, diag.List) {
	c := b.WS.Config
	unit, ds := lang.Load(v.source, lang.Options{Ops: b.Ops, Roots: append(slices.Clone(c.Workspace.Roots), "."), ReadFile: readFile, Parse: b.WS.parser(), Environ: c.Build.Env, Argv: c.Build.Argv,
		Args: v.args, Entry: v.entry, Factory: v.factory, Skip: v.skip, Exists: b.WS.exists})
	if v.factory == "" { // CheckArgs looks at all files: what one has no use for may be for another
		ds = slices.DeleteFunc(ds, func(d *diag.Diagnostic) bool { return d.Code == lang.CodeArgs })
	}
	return unit, append(ds, unit.Warnings...).Sort()
}

// FileTargets lists the targets of one source file, given by its path from the root, with the reports about it.
func (b *Builder) FileTargets(source string) ([]*Target, diag.List) {
	var all []*Target
	var ds diag.List
	for _, v := range b.variants(source) {
		unit, more := b.load(v)
		targets, more := b.pick(v, unit, more)
		all = append(all, targets...)
		ds.Add(more...)
	}
	slices.SortStableFunc(all, func(x, y *Target) int { return x.Label.Compare(y.Label) })
	return all, ds.Sort()
}

// pick lists the targets that a variant is for, with the reports about it.
func (b *Builder) pick(v *variant, unit *lang.Unit, ds diag.List) ([]*Target, diag.List) {
	targets := targetsOf(v.source, unit)
	if v.label == (Label{}) {
		return targets, ds
	}
	i := slices.IndexFunc(targets, func(t *Target) bool { return t.Label == v.label })
	switch {
	case i >= 0:
		return targets[i : i+1], append(ds, b.unknownParams(v, unit, ds)...)
	case v.entry != "" && slices.ContainsFunc(ds, func(d *diag.Diagnostic) bool { return d.Code == lang.CodeEntry }):
		return nil, diag.List{diag.Errorf(CodeNoMatch, b.inConfig(v.label.String()), "%s has args, but %s has no @pl.jit entry '%s'", v.label, v.source, v.label.Func).
			WithHint("args set the parameters of a @pl.jit entry; for the functions of a @pl.program class name the factory that makes it")}
	case !ds.HasErrors():
		return nil, diag.List{diag.Errorf(CodeNoMatch, b.inConfig(v.label.String()), "the program that factory %s of %s makes has no orchestration function '%s'",
			v.factory, v.source, v.label.Func)}
	}
	return nil, ds
}

// unknownParams reports arguments of Pto.toml that their target has not.
func (b *Builder) unknownParams(v *variant, unit *lang.Unit, errs diag.List) diag.List {
	if v.factory != "" || errs.HasErrors() { // a factory's arguments are checked when it is called
		return nil
	}
	var ds diag.List
	c := b.WS.Config.Targets[v.label.String()]
	for _, name := range slices.Sorted(maps.Keys(c.Args)) {
		if !slices.Contains(unit.Params, name) {
			d := diag.Errorf(lang.CodeArgs, b.inConfig(name), "%s has no parameter '%s' to set", v.label, name)
			ds.Add(withParams(d, name, unit.Params))
		}
	}
	return ds
}

// CheckArgs reports arguments of the command line that no entry of the files takes.
func (b *Builder) CheckArgs(sources []string) diag.List {
	if len(b.Args) == 0 {
		return nil
	}
	var params []string
	for _, source := range sources {
		for _, v := range b.variants(source) {
			unit, errs := b.load(v)
			if v.factory != "" || errs.HasErrors() {
				return nil // some parameters are not known
			}
			params = append(params, unit.Params...)
		}
	}
	return unknownArgs(b.Args, params, sources)
}

func unknownArgs(args map[string]string, params, sources []string) diag.List {
	var ds diag.List
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if !slices.Contains(params, name) {
			d := diag.Errorf(lang.CodeArgs, diag.Span{}, "--arg %s: no entry of %s has a parameter of this name to set", name, strings.Join(sources, ", "))
			ds.Add(withParams(d, name, params))
		}
	}
	return ds
}

// withParams adds the hint of a report about an unknown parameter.
func withParams(d *diag.Diagnostic, name string, params []string) *diag.Diagnostic {
	params = slices.Compact(slices.Sorted(slices.Values(params)))
	if near := diag.Nearest(name, params); near != "" {
		return d.WithHint("did you mean '%s'?", near)
	}
	if len(params) > 0 {
		return d.WithHint("the parameters are: %s", strings.Join(params, ", "))
	}
	return d.WithHint("arguments set the plain Python parameters of @pl.jit entries (rows: int) and those of a factory")
}

// strayTargets reports [target] tables for files that are no sources.
func (b *Builder) strayTargets(files []string) diag.List {
	var ds diag.List
	for _, label := range slices.Sorted(maps.Keys(b.WS.Config.Targets)) {
		if l, ok := ParseLabel(label); ok && !slices.Contains(files, l.File+".py") {
			ds.Add(diag.Errorf(CodeNoMatch, b.inConfig(label), "%s is configured, but %s.py is no source of the workspace", label, l.File))
		}
	}
	return ds
}

// inConfig is the place of a word in Pto.toml.
func (b *Builder) inConfig(word string) diag.Span { return b.WS.inConfig(word) }

// Literals writes TOML values as Python literals, the form of arguments.
func Literals(values map[string]any) (map[string]string, error) {
	args := make(map[string]string, len(values))
	for name, v := range values {
		s, err := literal(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		args[name] = s
	}
	return args, nil
}

// literal writes a TOML value as a Python literal, the form of an argument.
func literal(v any) (string, error) {
	switch v := v.(type) {
	case bool:
		if v {
			return "True", nil
		}
		return "False", nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return "", fmt.Errorf("%v has no literal", v)
		}
		s := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(s, ".e") {
			s += ".0" // stays a float
		}
		return s, nil
	case string:
		return quote(v), nil
	case []any:
		items := make([]string, len(v))
		for i, x := range v {
			s, err := literal(x)
			if err != nil {
				return "", err
			}
			items[i] = s
		}
		return "[" + strings.Join(items, ", ") + "]", nil
	case map[string]any:
		var items []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			s, err := literal(v[k])
			if err != nil {
				return "", err
			}
			items = append(items, quote(k)+": "+s)
		}
		return "{" + strings.Join(items, ", ") + "}", nil
	case time.Time:
		return "", fmt.Errorf("a date cannot be an argument")
	}
	return "", fmt.Errorf("%T cannot be an argument", v)
}

// quote writes a Python string.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString("\\" + string(r))
		case r == '\n':
			b.WriteString("\\n")
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, "\\x%02x", r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
