// Package plugins holds what the parts of plugin support share. A plugin is a process of a third party that serves ops and passes:
//
//	plugins/sdk     what its author imports
//	plugins/proto   the gRPC protocol
//	plugins/host    starts and calls plugin processes
//	plugins/client  what the core imports: ops and passes of plugins as if they were built in
//
// Linking gRPC costs milliseconds of every start of a program, so the core does not: the client starts a second program, ptobuild-plugin-host, when a plugin is
// really needed, and talks to it over its standard input and output in the messages of this package (see message.go).
package plugins

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes"
)

// Config is one plugin as the workspace names it.
type Config struct {
	Name    string // also the namespace of its ops and passes
	Path    string // of the executable
	Version string // a constraint (see VersionFits), "" for any
	SHA256  string // that the file must have, in hex, "" for any
	// Pinned: no other file is even started. Otherwise SHA256 is what the file had when it was looked at, and is checked while the plugin starts.
	Pinned  bool
	Options string // for the plugin: a JSON object, "" for none
	// Timeout bounds each call; 0 means 30 s.
	Timeout time.Duration
	// Memory bounds what it may allocate, in bytes; 0 means 2 GB.
	Memory int64
	MTLS   bool // encrypt and authenticate the connection
	// AnyName takes a plugin of whatever name: to ask an executable who it is.
	AnyName bool
	// OldCore and OtherIR play a ptobuild of protocol 1.0 and one of another IR, for the conformance kit.
	OldCore, OtherIR bool
	Pos              diag.Span // where it is configured: the place of reports that have no better one
}

const (
	DefaultTimeout = 30 * time.Second
	DefaultMemory  = 2 << 30
	MinMemory      = 128 << 20 // less is not enough for the runtime of Go or Python
)

// WithDefaults is the configuration with the amounts that it leaves open.
func (c Config) WithDefaults() Config {
	c.Timeout, c.Memory = cmp.Or(c.Timeout, DefaultTimeout), cmp.Or(c.Memory, DefaultMemory)
	return c
}

// Identity is what answers of the plugin depend on besides the question: its file and its options.
func (c *Config) Identity() string { return c.SHA256 + " " + c.Options }

// Check reports what is wrong with a configuration, nil if nothing is.
func (c *Config) Check() *diag.Diagnostic {
	switch {
	case !isName(c.Name):
		return diag.Errorf(CodeConfig, diag.Span{}, "%q cannot be the name of a plugin", c.Name).
			WithHint("a name is small letters, digits and '_', and starts with a letter")
	case slices.Contains(coreNamespaces, c.Name):
		return diag.Errorf(CodeConfig, diag.Span{}, "a plugin cannot be named %q: that is a namespace of the core", c.Name)
	case c.Path == "":
		return diag.Errorf(CodeConfig, diag.Span{}, "plugin %s has no path", c.Name).WithHint(`give its executable: path = "tools/ptobuild-plugin-%s"`, c.Name)
	case c.Timeout < 0:
		return diag.Errorf(CodeConfig, diag.Span{}, "plugin %s has a negative timeout", c.Name)
	case c.Memory != 0 && c.Memory < MinMemory:
		return diag.Errorf(CodeConfig, diag.Span{}, "plugin %s may have %d MB of memory, but needs at least %d MB to start", c.Name, c.Memory>>20, MinMemory>>20).
			WithHint(`write memory = "512MB", or leave it away for 2 GB`)
	}
	if why := CheckVersion(c.Version); why != "" {
		return diag.Errorf(CodeConfig, diag.Span{}, "the version of plugin %s: %s", c.Name, why).WithHint(`write version = "1.2.0", ">=1.2, <2", "^1.2" or "~1.2"`)
	}
	return nil
}

// WrongFile is the report about a file with another digest than the pinned one.
func (c *Config) WrongFile(got string) *diag.Diagnostic {
	return diag.Errorf(CodeChecksum, c.Pos, "plugin %s is not the file that was pinned: %s has SHA-256 %s, pinned is %s", c.Name, c.Path, got, c.SHA256).
		WithHint("if you changed it on purpose, pin it again: ptobuild plugin lock %s; else get the original file again", c.Name)
}

// coreNamespaces are those of built-in ops and of properties.
var coreNamespaces = []string{"core", "tensor", "tile", "array", "system", "prefetch", "pld", "pl"}

func isName(s string) bool {
	for i, c := range s {
		if c != '_' && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// Pass is a pass with its place in the pipeline: right after or right before the first pass of a name. Exactly one of the two is set.
type Pass struct {
	*passes.Pass
	After, Before string
	Grant         *Grant    // what it may change; nil: everything
	Pos           diag.Span // where its plugin is configured; set by the client
}

// Grant is what a pass may do to a program.
type Grant struct {
	Functions []ir.FuncType // kinds of functions that it may change
	Add       bool          // it may add functions
	Remove    bool          // it may remove functions of these kinds
}

// Allows reports that functions of a kind may be changed.
func (g *Grant) Allows(t ir.FuncType) bool { return g == nil || slices.Contains(g.Functions, t) }

// CheckGrant compares a program before and after the pass with what the pass was granted.
func (p *Pass) CheckGrant(plugin string, before, after *ir.Program) error {
	g := p.Grant
	if g == nil {
		return nil
	}
	refuse := func(f *ir.Function, did string) error {
		return diag.Errorf(CodeGrant, f.Pos, "pass %s of plugin %s %s function %s (%s), which it was not granted", strings.TrimPrefix(p.Name, plugin+"."), plugin, did, f.Name, f.Type).
			WithHint("this is a defect of the plugin; report it to its author with the dumps before and after the pass")
	}
	now := map[string]*ir.Function{}
	for _, f := range after.Funcs {
		now[f.Name] = f
	}
	for _, f := range before.Funcs {
		n := now[f.Name]
		delete(now, f.Name)
		switch {
		case n == f:
		case n == nil && !(g.Remove && g.Allows(f.Type)):
			return refuse(f, "removed")
		case n == nil || g.Allows(f.Type):
		case !ir.EqualFunctions(f, n):
			return refuse(f, "changed")
		case !ir.IdenticalFunctions(f, n): // names become names of C++
			return refuse(f, "renamed variables of")
		}
	}
	for _, f := range after.Funcs {
		if now[f.Name] == f && !g.Add {
			return refuse(f, "added")
		}
	}
	return nil
}

// Arrange puts passes of plugins into a pipeline. Passes that name the same neighbour keep their order; a pass may name one that was placed before it, and
// leave away the plugin's name when it is one of the same plugin.
func Arrange(pipeline []*passes.Pass, extra []Pass) ([]*passes.Pass, diag.List) {
	out := slices.Clone(pipeline)
	var ds diag.List
	after := map[*passes.Pass]int{} // passes placed behind one so far
	for _, p := range extra {
		name := p.After + p.Before
		i := slices.IndexFunc(out, func(q *passes.Pass) bool { return q.Name == name || p.Plugin != "" && q.Name == p.Plugin+"."+name })
		if i < 0 {
			d := diag.Errorf(CodeDescription, p.Pos, "plugin %s: pass %s wants to stand beside pass %q, which does not exist", p.Plugin, p.Name, name)
			if near := diag.Nearest(name, passNames(out)); near != "" {
				d.WithHint("did its author mean %q?", near)
			} else {
				d.WithHint("the passes are %s", strings.Join(passNames(out), ", "))
			}
			ds.Add(d)
			continue
		}
		if p.After != "" {
			neighbour := out[i]
			i += 1 + after[neighbour]
			after[neighbour]++
		}
		out = slices.Insert(out, i, p.Pass)
	}
	return out, ds
}

func passNames(ps []*passes.Pass) []string {
	var names []string
	for _, p := range ps {
		if !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

// Description is what a plugin serves. Its ops and passes are data: functions are nil.
type Description struct {
	Name, Version string
	Doc           string
	PID           int      // of its process
	Minor         int      // of the protocol that it was built with
	Capabilities  []string // that it has
	Options       []Option
	Ops           []*ops.Spec
	Can           []Can // by op
	Passes        []Pass
}

// Can says which questions about an op a plugin answers.
type Can struct{ Infer, Verify, Emit, Evaluate bool }

// Capabilities of the protocol: what a host or a plugin can do beyond version 1.0.
const (
	CanVerify   = "verify"
	CanEmit     = "emit"
	CanEvaluate = "evaluate"
	CanFloat64  = "float64" // evaluates FP64 in float64
	CanParts    = "parts"   // passes answer with the functions that changed
	CanJSON     = "json"    // the plugin reads and writes the IR as JSON
	CanWindows  = "windows" // evaluations hold the windows of operands

	// Minor is the version of the protocol within v1.
	Minor = 3
)

// Capabilities are those of the SDK, CoreCapabilities those of the core.
var (
	Capabilities     = []string{CanVerify, CanEmit, CanEvaluate, CanFloat64, CanParts, CanWindows}
	CoreCapabilities = append([]string{CanJSON}, Capabilities...)
)

// Check reports what the core cannot accept: names outside of the plugin's namespace, repeats, fields that contradict each other. The SDK checks
// the same, so that its author sees it first.
func (d *Description) Check() diag.List {
	c := &checker{d: d, seen: map[string]bool{}}
	for _, s := range d.Ops {
		c.op(s)
	}
	for _, p := range d.Passes {
		c.pass(p)
	}
	names := map[string]bool{}
	for _, o := range d.Options {
		if !isName(o.Name) || names[o.Name] || o.Kind > StringsOption {
			c.errorf("%q cannot be the name of an option, or comes twice", o.Name)
		}
		names[o.Name] = true
	}
	return c.ds
}

type checker struct {
	d    *Description
	seen map[string]bool
	ds   diag.List
}

func (c *checker) errorf(format string, args ...any) *diag.Diagnostic {
	e := diag.Errorf(CodeDescription, diag.Span{}, "plugin "+c.d.Name+": "+format, args...).WithHint("tell the author of the plugin")
	c.ds.Add(e)
	return e
}

func (c *checker) op(s *ops.Spec) {
	leaf, ok := strings.CutPrefix(s.Name, c.d.Name+".")
	switch {
	case !ok || !isName(leaf):
		c.errorf("op %q must be named %s.NAME", s.Name, c.d.Name).WithHint("a plugin adds ops to its own namespace; NAME is small letters, digits and '_'")
	case c.seen["op "+s.Name]:
		c.errorf("op %s comes twice", s.Name)
	}
	c.seen["op "+s.Name] = true
	if s.Where == 0 {
		c.errorf("op %s may stand nowhere: neither in kernels nor in orchestration functions", s.Name)
	}
	if (s.Result.Kind == ops.View || s.Result.Kind == ops.InPlace) && (s.Result.Arg < 0 || s.Result.Arg >= len(s.Params)) {
		c.errorf("op %s: its result is operand %d, but it has %d", s.Name, s.Result.Arg, len(s.Params))
	}
	if len(s.Effects) > len(s.Params) {
		c.errorf("op %s has %d effects for %d operands", s.Name, len(s.Effects), len(s.Params))
	}
	c.storage(s)
	names := map[string]bool{}
	name := func(n string) {
		if !isName(strings.ToLower(n)) || names[n] {
			c.errorf("op %s: %q cannot be the name of an operand or keyword argument, or comes twice", s.Name, n)
		}
		names[n] = true
	}
	for i, p := range s.Params {
		name(p.Name)
		if p.Kind == 0 || p.Kind&ops.EnumArg != 0 {
			c.errorf("op %s: operand %q must be of a kind that values have", s.Name, p.Name).WithHint("symbolic constants are keyword arguments")
		}
		if p.Variadic && i+1 < len(s.Params) {
			c.errorf("op %s: only the last operand may be variadic", s.Name)
		}
		if p.Window != (ops.Window{}) {
			c.window(s, &p)
		}
	}
	for _, k := range s.Kwargs {
		name(k.Name)
		c.keyword(s, &k)
	}
}

// storage checks that result, effects and purity of an op do not contradict each other: dependencies are derived from them, and a write that they hide is lost.
func (c *checker) storage(s *ops.Spec) {
	const stored = ops.TensorArg | ops.TileArg | ops.ArrayArg
	writes := func(e ops.Effect) bool { return e == ops.Write || e == ops.ReadWrite }
	for i, e := range s.Effects[:min(len(s.Effects), len(s.Params))] {
		p := s.Params[i]
		if writes(e) && p.Kind&stored == 0 {
			c.errorf("op %s writes operand %q by its effects, but a %s has no storage", s.Name, p.Name, p.Kind)
		}
		if writes(e) && s.Pure {
			c.errorf("op %s is pure, but writes operand %q by its effects", s.Name, p.Name).WithHint("a pure op is removed when nobody uses its result, and with it what it writes")
		}
	}
	if s.Pure && s.Result.Kind == ops.None {
		c.errorf("op %s is pure and has no result: it does nothing", s.Name)
	}
	k, i := s.Result.Kind, s.Result.Arg
	if k != ops.View && k != ops.InPlace || i < 0 || i >= len(s.Params) {
		return
	}
	p := s.Params[i]
	switch {
	case p.Kind&stored == 0:
		c.errorf("op %s: its result shares the storage of operand %q, but a %s has none", s.Name, p.Name, p.Kind)
	case p.Optional || p.Variadic:
		c.errorf("op %s: its result shares the storage of operand %q, which may be left out", s.Name, p.Name)
	case k == ops.InPlace && !writes(s.EffectOn(i)):
		c.errorf("op %s: its result is operand %q updated, but by its effects it does not write it", s.Name, p.Name).
			WithHint("give operand %d the effect Write or ReadWrite", i)
	}
}

// keyword checks that the default of a keyword argument is a value that a user may write.
func (c *checker) keyword(s *ops.Spec, k *ops.Kwarg) {
	wrong := func(format string, args ...any) {
		c.errorf("op %s: keyword argument %q "+format, append([]any{s.Name, k.Name}, args...)...)
	}
	if k.Min > k.Max {
		wrong("has the bounds %d and %d, the larger one first", k.Min, k.Max)
	}
	if k.Min < k.Max && k.Kind != ops.IntKw && k.Kind != ops.FloatKw {
		wrong("has bounds, but is no number")
	}
	if k.Default == nil {
		return
	}
	if k.Required {
		wrong("is required, and has a default that nothing would use")
	}
	fits := func(is bool, kind string) {
		if !is {
			wrong("has the default %v, which is no %s", k.Default, kind)
		}
	}
	oneOf := func(name string) {
		if len(k.Names) > 0 && !slices.Contains(k.Names, name) {
			wrong("has the default %q, which is none of %s", name, strings.Join(k.Names, ", "))
		}
	}
	switch v := k.Default.(type) {
	case int64:
		switch {
		case k.Kind != ops.IntKw:
			fits(false, keywordKinds[k.Kind])
		case k.Min < k.Max && (v < k.Min || v > k.Max):
			wrong("has the default %d, which is not between %d and %d", v, k.Min, k.Max)
		case len(k.Names) > 0 && (v < 0 || v >= int64(len(k.Names))):
			wrong("has the default %d, but %d names", v, len(k.Names))
		}
	case bool:
		fits(k.Kind == ops.BoolKw, keywordKinds[k.Kind])
	case float64:
		fits(k.Kind == ops.FloatKw, keywordKinds[k.Kind])
		if k.Min < k.Max && !(v >= float64(k.Min) && v <= float64(k.Max)) {
			wrong("has the default %v, which is not between %d and %d", v, k.Min, k.Max)
		}
	case ir.DType:
		fits(k.Kind == ops.DTypeKw && v.IsValid(), keywordKinds[k.Kind])
	case string:
		fits(k.Kind == ops.StrKw || k.Kind == ops.ModeKw, keywordKinds[k.Kind])
		oneOf(v)
	case ir.Enum:
		fits(k.Kind == ops.EnumKw && v.Kind == k.Enum || k.Kind == ops.PadKw && v.Kind == "PadValue", keywordKinds[k.Kind])
		oneOf(v.Name)
	default:
		fits(false, keywordKinds[k.Kind])
	}
}

// keywordKinds are the kinds of keyword arguments in words.
var keywordKinds = [...]string{ops.IntKw: "whole number", ops.BoolKw: "boolean", ops.StrKw: "string", ops.FloatKw: "float", ops.DTypeKw: "dtype", ops.EnumKw: "symbol",
	ops.ModeKw: "string", ops.ExprKw: "expression", ops.PadKw: "pad value", ops.DepsKw: "list of tasks"}

// window checks that the window of an operand is made of what the op has.
func (c *checker) window(s *ops.Spec, p *ops.Param) {
	const elements = ops.TensorArg | ops.TileArg
	only := func(i int, kinds ops.ParamKind) bool {
		return i >= 0 && s.Params[i].Kind&^kinds == 0 && !s.Params[i].Variadic && !s.Params[i].Optional
	}
	at, extents := s.Param(p.Window.At), s.Param(p.Window.Extents)
	switch {
	case p.Kind&^elements != 0 || p.Variadic:
		c.errorf("op %s: operand %q has a window, but is no tensor or tile", s.Name, p.Name)
	case !only(at, ops.TupleArg):
		c.errorf("op %s: the window of operand %q begins at %q, which is no list operand that is always there", s.Name, p.Name, p.Window.At)
	case p.Window.Extents == ops.ResultExtents:
		if s.Result.Kind != ops.Fresh {
			c.errorf("op %s: the window of operand %q is as large as the result, which is no new tensor or tile", s.Name, p.Name)
		}
	case !only(extents, ops.TupleArg) && !only(extents, elements) || p.Window.Extents == p.Name:
		c.errorf("op %s: the window of operand %q is as large as %q, which is no other tensor, tile or list operand that is always there", s.Name, p.Name, p.Window.Extents)
	}
}

func (c *checker) pass(p Pass) {
	switch {
	case p.Name == "" || strings.ContainsFunc(p.Name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}):
		c.errorf("%q cannot be the name of a pass", p.Name).WithHint("letters and digits, as in LowerRope")
	case c.seen["pass "+p.Name]:
		c.errorf("pass %s comes twice", p.Name)
	case (p.After == "") == (p.Before == ""):
		c.errorf("pass %s must say which pass it stands after or before, one of the two", p.Name)
	}
	c.seen["pass "+p.Name] = true
	for _, x := range slices.Concat(p.Requires, p.Produces, p.Invalidates) {
		if !ir.IsVerifiable(x) && !strings.Contains(string(x), ".") {
			c.errorf("pass %s names property %q, which the core does not have", p.Name, x).WithHint("the plugin's own properties are %s.NAME", c.d.Name)
		}
	}
}
