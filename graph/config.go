package graph

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/ptobuild/ptobuild/cache"
	"github.com/ptobuild/ptobuild/cache/remote"
	"github.com/ptobuild/ptobuild/internal/diag"
)

// ConfigName is the file that makes a folder a workspace.
const ConfigName = "Pto.toml"

// Config is Pto.toml. docs/pto-toml.md explains every key.
type Config struct {
	Workspace WorkspaceConfig         `toml:"workspace"`
	Build     BuildConfig             `toml:"build"`
	Targets   map[string]TargetConfig `toml:"target"`
	Tests     []TestConfig            `toml:"test"`
	Allow     []AllowConfig           `toml:"allow"`
	Plugins   map[string]PluginConfig `toml:"plugins"`
	Cache     CacheConfig             `toml:"cache"`
	Simulator SimulatorConfig         `toml:"simulator"`
}

// CacheConfig is where results are kept.
type CacheConfig struct {
	MaxSize    string          `toml:"max_size"`    // of the local cache, like "10GiB"
	UploadWait string          `toml:"upload_wait"` // how long a command waits at its end for uploads, like "5s"
	Remotes    []remote.Config `toml:"remote"`      // caches on other machines, in the order in which they are asked
}

// WorkspaceConfig says what belongs to the workspace.
type WorkspaceConfig struct {
	Name    string   `toml:"name"`
	Sources []string `toml:"sources"` // globs of DSL files; default every .py file that imports pypto.language
	Roots   []string `toml:"roots"`   // further folders in which imports are looked up
}

// BuildConfig is how targets are built unless a target says otherwise.
type BuildConfig struct {
	Profile         string `toml:"profile"`  // API profile of the generated C++; default pto2
	Platform        string `toml:"platform"` // a2a3 (default) or a5
	AutoDeps        bool   `toml:"analyze_auto_scopes_for_deps"`
	ManualAllocDeps *bool  `toml:"manual_alloc_deps"` // default true
	// PreciseBlockOutputs passes a tensor that a pl.at block only writes as Out wherever it stands. By default it is InOut outside of loops, as in the
	// reference compiler, whose traces ours are compared with; the graph of tasks differs only where the buffer was written before.
	PreciseBlockOutputs bool              `toml:"precise_block_outputs"`
	CXX                 string            `toml:"cxx"`  // host compiler; default g++, then clang++
	Env                 map[string]string `toml:"env"`  // what os.environ shows to module code
	Argv                []string          `toml:"argv"` // what sys.argv[1:] shows to module code
}

// TargetConfig overrides the build of one target, keyed by its label.
type TargetConfig struct {
	AutoDeps *bool          `toml:"analyze_auto_scopes_for_deps"`
	Factory  string         `toml:"factory"` // function of the file that makes the target's program
	Args     map[string]any `toml:"args"`    // values of factory and jit parameters
}

// PluginConfig names one plugin.
type PluginConfig struct {
	Path    string                `toml:"path"`    // of the executable, from the workspace root; default: looked for
	Version string                `toml:"version"` // a constraint; default any
	SHA256  string                `toml:"sha256"`  // that the file must have, in hex; default any
	Build   []string              `toml:"build"`   // the command that makes the executable
	Files   []string              `toml:"files"`   // globs of what the command reads, so that a change runs it again
	Timeout string                `toml:"timeout"` // of each call; default 30s
	Memory  string                `toml:"memory"`  // that it may allocate; default 2GB
	MTLS    bool                  `toml:"mtls"`    // encrypt and authenticate the connection
	Options map[string]any        `toml:"options"`
	Passes  map[string]PassConfig `toml:"passes"` // where passes stand, when not where the plugin wants them
}

// PassConfig is the place of one pass of a plugin.
type PassConfig struct {
	After  string `toml:"after" json:"after,omitempty"`
	Before string `toml:"before" json:"before,omitempty"`
	Off    bool   `toml:"off" json:"off,omitempty"` // leave it out
}

// TestConfig is one [[test]]: a target with inputs and what is expected of it.
type TestConfig struct {
	Name      string                 `toml:"name"` // default: the function
	Target    string                 `toml:"target"`
	Inputs    map[string]InputConfig `toml:"inputs"`
	Scalars   map[string]any         `toml:"scalars"`
	Dims      map[string]int64       `toml:"dims"`
	Expect    ExpectConfig           `toml:"expect"`
	RTol      *float64               `toml:"rtol"`
	ATol      *float64               `toml:"atol"`
	Schedules int                    `toml:"schedules"` // seeded orders tried besides the first; default 3
	Line      int                    `toml:"-"`

	// Of a target that is a C++ file.
	Signature string   `toml:"signature"`
	Kernels   []string `toml:"kernels"`
	Includes  []string `toml:"include_dirs"`
	Entry     string   `toml:"entry"`
}

// InputConfig is the content of one tensor before the run: exactly one of Random, Constant and Npy. Tensors without an entry are random.
type InputConfig struct {
	Random   *int64   `toml:"random"` // seed
	Low      *float64 `toml:"low"`    // range of random values, default [-1, 1), integers [0, 8)
	High     *float64 `toml:"high"`
	Constant *float64 `toml:"constant"`
	Npy      string   `toml:"npy"` // path from the workspace root
}

// ExpectConfig is what is expected: exactly one of Npy, Reference, Float64 and Sequential (the default).
type ExpectConfig struct {
	Npy        map[string]string `toml:"npy"`       // parameter → path of its expected content
	Reference  []string          `toml:"reference"` // a command that gets an input and an output folder as last arguments
	Files      []string          `toml:"files"`     // files that the reference command reads, so that a change runs it again
	Sequential bool              `toml:"sequential"`
	Float64    bool              `toml:"float64"` // the program evaluated in double precision
}

// expectWord is the short form of the two expectations that need nothing else: expect = "float64".
var expectWord = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^([ \t]*)expect([ \t]*=[ \t]*)"(float64|sequential)"`)
})

var decodeError = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^line (\d+) \(last key "([^"]*)"\): (.*)$`) })

// plainType turns the TOML library's words for Go types into those of a Pto.toml.
var plainType = strings.NewReplacer("incompatible types: TOML value has type ", "is a ", "; destination has type ", ", it must be a ", "type mismatch for ", "", "map[string]any", "table",
	"slice", "list", "int64", "number", "float64", "number", "graph.InputConfig", "an input", "graph.ExpectConfig", "expect", "graph.TestConfig", "a test", "graph.AllowConfig", "an allow", "graph.TargetConfig", "a target",
	"expected table but found", "is a table, not a")

// parseConfig reads Pto.toml strictly: an unknown key is an error with a suggestion.
func parseConfig(path string, src []byte) (*Config, diag.List) {
	var c Config
	meta, err := toml.Decode(expectWord().ReplaceAllString(string(src), "${1}expect.${3}${2}true"), &c)
	if err != nil {
		d := diag.Errorf(CodeConfig, diag.Span{File: path}, "%s", strings.TrimPrefix(err.Error(), "toml: "))
		var pe toml.ParseError
		if errors.As(err, &pe) {
			d.Message = pe.Message
			if d.Message == "" {
				d.Message = strings.TrimPrefix(pe.Error(), "toml: ")
			}
			d.Span.Line, d.Span.Col = int32(pe.Position.Line), int32(max(pe.Position.Col, 1))
			if pe.Usage != "" {
				d.Hint = strings.TrimSpace(strings.SplitN(pe.Usage, "\n", 2)[0])
			}
		}
		if m := decodeError().FindStringSubmatch(d.Message); m != nil { // a value of the wrong type is no ParseError
			line, _ := strconv.Atoi(m[1]) // digits, by the pattern
			d.Span.Line, d.Span.Col = int32(line), 1
			d.Message = m[2] + ": " + plainType.Replace(m[3])
			if m[2] == "test" {
				d.WithHint("each test starts with [[test]] in double brackets")
			}
		}
		return nil, diag.List{d}
	}
	var ds diag.List
	lines := strings.Split(string(src), "\n")
	for _, key := range meta.Undecoded() {
		last := key[len(key)-1]
		d := diag.Errorf(CodeUnknownKey, lineOf(path, lines, last), "unknown key %q", key.String())
		if near := diag.Nearest(last, knownKeys); near != "" {
			d.WithHint("did you mean %q?", near)
		} else {
			d.WithHint("docs/pto-toml.md lists the keys")
		}
		ds.Add(d)
	}
	testLines := linesOf(lines, "[[test]]")
	seen := map[string]int{}
	for i := range c.Tests {
		t := &c.Tests[i]
		if i < len(testLines) {
			t.Line = testLines[i]
		}
		at := diag.Span{File: path, Line: int32(t.Line), Col: 1}
		if t.Target == "" {
			ds.Add(diag.Errorf(CodeConfig, at, "a [[test]] without a target").WithHint(`add target = "//folder/file:function"`))
			continue
		}
		if t.Name == "" {
			_, t.Name, _ = strings.Cut(t.Target, ":")
			if isHandwritten(t.Target) {
				t.Name = stem(t.Target)
			}
		}
		if first, dup := seen[t.Name]; dup {
			ds.Add(diag.Errorf(CodeDuplicate, at, "two tests are named %q", t.Name).WithHint("give one of them another name").
				WithRelated(diag.Span{File: path, Line: int32(first), Col: 1}, "the first one"))
		}
		seen[t.Name] = t.Line
		ds.Add(t.check(at)...)
	}
	for _, label := range slices.Sorted(maps.Keys(c.Targets)) {
		t := c.Targets[label]
		at := lineOf(path, lines, label)
		if l, ok := ParseLabel(label); !ok || l.String() != label {
			ds.Add(diag.Errorf(CodeConfig, at, "%q is no label", label).WithHint(`write [target."//folder/file:function"]`))
		}
		for _, name := range slices.Sorted(maps.Keys(t.Args)) {
			if _, err := literal(t.Args[name]); err != nil {
				ds.Add(diag.Errorf(CodeConfig, at, "args of %s: %s: %v", label, name, err).WithHint("give a number, true, false, a string, or a list of these"))
			}
		}
	}
	ds.Add(c.checkPlugins(path, lines)...)
	ds.Add(c.checkCache(path, lines)...)
	ds.Add(c.checkSimulator(path, lines)...)
	ds.Add(c.checkAllows(path, lines)...)
	return &c, ds.Sort()
}

func (t *TestConfig) check(at diag.Span) diag.List {
	var ds diag.List
	kinds := 0
	for _, given := range []bool{len(t.Expect.Npy) > 0, len(t.Expect.Reference) > 0, t.Expect.Sequential, t.Expect.Float64} {
		if given {
			kinds++
		}
	}
	if t.Schedules < 0 {
		ds.Add(diag.Errorf(CodeConfig, at, "test %q: schedules = %d", t.Name, t.Schedules).WithHint("give the number of seeded task orders, or leave it out for %d", DefaultSchedules))
	}
	for _, x := range []struct {
		name string
		v    *float64
	}{{"rtol", t.RTol}, {"atol", t.ATol}} {
		if x.v != nil && !(*x.v >= 0) {
			ds.Add(diag.Errorf(CodeConfig, at, "test %q: %s = %v is no tolerance", t.Name, x.name, *x.v).WithHint("give a number that is not negative"))
		}
	}
	if kinds > 1 {
		ds.Add(diag.Errorf(CodeConfig, at, "test %q expects more than one thing", t.Name).WithHint("keep one of expect.npy, expect.reference, expect.float64 and expect.sequential"))
	}
	for _, name := range slices.Sorted(maps.Keys(t.Inputs)) {
		in := t.Inputs[name]
		if in.Low != nil && in.High != nil && !(*in.Low < *in.High) {
			ds.Add(diag.Errorf(CodeConfig, at, "test %q: input %q is random between low = %v and high = %v", t.Name, name, *in.Low, *in.High).WithHint("low must be below high"))
		}
		kinds := 0
		for _, given := range []bool{in.Random != nil, in.Constant != nil, in.Npy != ""} {
			if given {
				kinds++
			}
		}
		if kinds != 1 {
			ds.Add(diag.Errorf(CodeConfig, at, "test %q: input %q needs exactly one of random, constant and npy", t.Name, name).
				WithHint("for example %s = { random = 1 }", name))
		}
	}
	return ds
}

// checkCache reports what is wrong with the [cache] table.
func (c *Config) checkCache(path string, lines []string) diag.List {
	var ds diag.List
	if s := c.Cache.MaxSize; s != "" {
		if _, err := cache.ParseSize(s); err != nil {
			ds.Add(diag.Errorf(cache.CodeConfig, lineOf(path, lines, "max_size"), "max_size: %v", err))
		}
	}
	if s := c.Cache.UploadWait; s != "" {
		if d, err := time.ParseDuration(s); err != nil || d < 0 {
			ds.Add(diag.Errorf(cache.CodeConfig, lineOf(path, lines, "upload_wait"), "upload_wait: %q is no time: write it like 5s or 0s", s))
		}
	}
	at := linesOf(lines, "[[cache.remote]]")
	for i, r := range c.Cache.Remotes {
		r.Headers = nil // they may need variables of the environment, without which everything else works
		if _, err := r.Resolve(func(s string) string { return s }); err != nil {
			span := diag.Span{File: path}
			if i < len(at) {
				span.Line, span.Col = int32(at[i]), 1
			}
			ds.Add(diag.Errorf(cache.CodeConfig, span, "remote cache: %v", err))
		}
	}
	return ds
}

var knownKeys = []string{
	"workspace", "name", "sources", "roots", "build", "profile", "platform", "analyze_auto_scopes_for_deps", "manual_alloc_deps", "precise_block_outputs", "cxx", "env", "argv",
	"target", "args", "factory", "test", "inputs", "scalars", "dims", "expect", "rtol", "atol", "schedules", "random", "low", "high", "constant", "npy", "reference",
	"files", "sequential", "plugins", "path", "version", "sha256", "options", "signature", "entry", "float64", "passes", "memory", "mtls", "after", "before", "off",
	"allow", "report", "file", "reason",
	"simulator", "clusters", "task_window", "heap", "dep_pool", "map_entries", "scope_depth", "scope_tasks", "exact_overlap", "timeout", "costs", "kernels",
	"cache", "max_size", "upload_wait", "remote", "url", "mode", "headers", "timeout", "compress", "tls_ca", "tls_cert", "tls_key",
}

// lineOf finds the line of a key for reports; the TOML library does not keep positions of keys.
func lineOf(path string, lines []string, key string) diag.Span {
	for i, l := range lines {
		if j := indexWord(l, key); j >= 0 && !strings.HasPrefix(strings.TrimSpace(l), "#") {
			return diag.Span{File: path, Line: int32(i + 1), Col: int32(j + 1), EndLine: int32(i + 1), EndCol: int32(j + 1 + len(key))}
		}
	}
	return diag.Span{File: path}
}

// indexWord is strings.Index for a text that is no part of a longer word.
func indexWord(s, word string) int {
	inWord := func(s string, i int) bool {
		return i >= 0 && i < len(s) && (s[i] == '_' || s[i] >= '0' && s[i] <= '9' || s[i]|0x20 >= 'a' && s[i]|0x20 <= 'z')
	}
	for from := 0; from <= len(s); {
		j := strings.Index(s[from:], word)
		if j < 0 {
			return -1
		}
		begin, end := from+j, from+j+len(word)
		if !(inWord(s, begin-1) && inWord(s, begin)) && !(inWord(s, end-1) && inWord(s, end)) {
			return begin
		}
		from = begin + 1
	}
	return -1
}

func linesOf(lines []string, text string) []int {
	var at []int
	for i, l := range lines {
		if strings.HasPrefix(strings.TrimSpace(l), text) {
			at = append(at, i+1)
		}
	}
	return at
}
