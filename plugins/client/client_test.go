package client_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ptobuild/ptobuild/codegen/orch"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/passes/lower"
	"github.com/ptobuild/ptobuild/plugins"
	"github.com/ptobuild/ptobuild/plugins/client"
	"github.com/ptobuild/ptobuild/plugins/echo"
)

// bin holds ptobuild-plugin-host and the plugin acme.
var bin string

func TestMain(m *testing.M) {
	if os.Getenv("FAKE_PLUGIN") != "" {
		fakePlugin()
		return
	}
	if os.Getenv("FAKE_HELPER") != "" {
		fakeHelper(os.Getenv("FAKE_HELPER"))
		return
	}
	if path := os.Getenv("COMMAND_WITH_PLUGIN"); path != "" {
		command(path)
		return
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "acme-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		bin = dir
		cmd := exec.Command("go", "build", "-o", dir, "./plugins/testdata/acme", "./cmd/"+client.HelperName)
		cmd.Dir = "../.."
		if out, err := cmd.CombinedOutput(); err != nil {
			panic(string(out))
		}
		return m.Run()
	}())
}

func acme() plugins.Config { return plugins.Config{Name: "acme", Path: filepath.Join(bin, "acme")} }

func open(t *testing.T, configs ...plugins.Config) *client.Client {
	t.Helper()
	c := client.New(t.Context(), filepath.Join(bin, client.HelperName), configs, "")
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func load(t *testing.T, c *client.Client) ([]*ops.Spec, []plugins.Pass) {
	t.Helper()
	l := c.Load()
	if ds := l.Reports(); ds.HasErrors() {
		t.Fatal(ds)
	}
	return l.Ops, l.Passes
}

func passNamed(t *testing.T, ps []plugins.Pass, name string) *passes.Pass {
	t.Helper()
	i := slices.IndexFunc(ps, func(p plugins.Pass) bool { return p.Name == "acme."+name })
	if i < 0 {
		t.Fatalf("no pass %s", name)
	}
	return ps[i].Pass
}

func frontend(t *testing.T, reg *ops.Registry, name, text string) ([]*ir.Program, diag.List) {
	t.Helper()
	u, ds := lang.Load(name, lang.Options{Ops: reg, ReadFile: func(string) ([]byte, error) { return []byte(text), nil }})
	if u == nil {
		return nil, ds
	}
	return u.Programs, ds
}

const ropeProgram = `import pypto.language as pl
T = pl.Tensor[[16, %d], pl.FP32]
@pl.program
class P:
    @pl.function(type=pl.FunctionType.AIV)
    def k(self, a: T, o: pl.InOut[T]) -> T:
        x = pl.load(a, [0, 0], [16, %[1]d])
        y = pl.acme.rope(x, 3)
        o = pl.store(y, [0, 0], o)
        return o
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: T, o: pl.InOut[T]) -> T:
        o = self.k(a, o)
        return o
`

// An op and a pass of a plugin are used as if they were built in: the front end finds the op and its type, the pass lowers it.
func TestOwnOpAndPass(t *testing.T) {
	specs, ps := load(t, open(t, acme()))
	reg := ops.Builtin().With(specs...)
	rope := reg.Lookup("acme.rope")
	if rope == nil || rope.Doc == "" || rope.Where != ops.InCore || rope.Kwargs[0].Default != 10000.0 || rope.Params[0].Mem[0] != ir.Vec || rope.Core != ops.VectorCore {
		t.Fatalf("acme.rope came over as %+v", rope)
	}
	progs, ds := frontend(t, reg, "rope.py", fmt.Sprintf(ropeProgram, 16))
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	if text := ir.Print(progs[0], ir.PrintOptions{}); !strings.Contains(text, "y: pl.Tile[[16, 16], pl.FP32, pl.Mem.Vec] = pl.acme.rope(x, 3, base=10000.0)") {
		t.Errorf("the op lacks its type or its default:\n%s", text)
	}
	pipeline, ds := plugins.Arrange(passes.Default(), []plugins.Pass{{Pass: passNamed(t, ps, "LowerRope"), After: "FlattenCallExpr"}})
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	var notes []string
	ctx := &passes.Context{Ops: reg, Explain: func(pass string, at diag.Span, what string) {
		if pass == "acme.LowerRope" {
			notes = append(notes, at.String()+" "+what)
		}
	}}
	out, ds := passes.Run(ctx, progs[0], pipeline, passes.Hooks{})
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	if text := ir.Print(out, ir.PrintOptions{}); !strings.Contains(text, "pl.tile.muls(") || strings.Contains(text, "rope(") {
		t.Errorf("acme.rope was not lowered:\n%s", text)
	}
	if want := "rope.py:8:13 acme.rope becomes tile.muls"; !slices.Equal(notes, []string{want}) {
		t.Errorf("notes %q, want %q", notes, want)
	}
}

// A report of a plugin's type rule arrives with its code, place and hint.
func TestTypeError(t *testing.T) {
	specs, _ := load(t, open(t, acme()))
	_, ds := frontend(t, ops.Builtin().With(specs...), "rope.py", fmt.Sprintf(ropeProgram, 15))
	if len(ds) != 1 || ds[0].Code != "ACME-001" || ds[0].Span.Line != 8 || ds[0].Hint != "pad it by one column" || !strings.Contains(ds[0].Message, "even extent, got 15") {
		t.Errorf("got %v", ds)
	}
}

// examples are the programs of the examples folder with their names.
func examples(t *testing.T) (names []string, progs []*ir.Program) {
	t.Helper()
	files, err := filepath.Glob("../../examples/*.py")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, f := range files {
		u, ds := lang.Load(f, lang.Options{Ops: ops.Builtin(), ReadFile: os.ReadFile})
		if ds.HasErrors() {
			t.Fatal(ds)
		}
		for _, p := range u.Programs {
			names, progs = append(names, filepath.Base(f)+":"+p.Name), append(progs, p)
		}
	}
	return names, progs
}

// every built-in pass, served by a plugin, gives the same program, byte for byte, and the same reports.
func TestBuiltinPassesOutOfProcess(t *testing.T) {
	_, ps := load(t, open(t, acme()))
	var remote []*passes.Pass
	for _, p := range passes.Default() {
		remote = append(remote, passNamed(t, ps, p.Name))
	}
	names, progs := examples(t)
	for i, p := range progs {
		for _, o := range []passes.Options{{}, {AutoDeps: true, StoreTargetInOut: true}} {
			var want, got [][]byte
			keep := func(to *[][]byte) passes.Hooks {
				return passes.Hooks{After: func(_ int, _ *passes.Pass, p *ir.Program) {
					b, err := ir.Marshal(p)
					if err != nil {
						t.Fatal(err)
					}
					*to = append(*to, b)
				}}
			}
			_, wantDiags := passes.Run(&passes.Context{Ops: ops.Builtin(), Options: o}, p, passes.Default(), keep(&want))
			_, gotDiags := passes.Run(&passes.Context{Ops: ops.Builtin(), Options: o}, p, remote, keep(&got))
			if wantDiags.Error() != gotDiags.Error() {
				t.Errorf("%s %+v: reports\n%v\nin process\n%v", names[i], o, gotDiags, wantDiags)
			}
			if len(got) != len(want) {
				t.Fatalf("%s %+v: %d passes ran, %d in process", names[i], o, len(got), len(want))
			}
			for j := range want {
				if !bytes.Equal(got[j], want[j]) {
					a, _ := ir.Unmarshal(got[j])
					b, _ := ir.Unmarshal(want[j])
					t.Fatalf("%s %+v: after pass %s\n%s\nin process\n%s", names[i], o, passes.Default()[j].Name, ir.Print(a, ir.PrintOptions{}), ir.Print(b, ir.PrintOptions{}))
				}
			}
		}
	}
}

// the type rule of every built-in op, served by a plugin, gives the same type; variables in it are the very same.
func TestBuiltinTypeRulesOutOfProcess(t *testing.T) {
	specs, _ := load(t, open(t, acme()))
	reg := ops.NewRegistry(specs...)
	asked := map[string]bool{}
	_, progs := examples(t)
	for _, p := range progs {
		for _, f := range p.Funcs {
			ir.Inspect(f.Body, func(s ir.Stmt) bool {
				ir.Exprs(s, func(e ir.Expr) bool {
					c, ok := e.(*ir.OpCall)
					if !ok {
						return true
					}
					spec := reg.Lookup("acme." + strings.ReplaceAll(c.Op, ".", "_"))
					if spec == nil || spec.Infer == nil {
						return true
					}
					asked[c.Op] = true
					want, _ := ops.Builtin().InferType(c)
					got, d := spec.Infer(&ops.Site{Spec: spec, Args: c.Args, Kwargs: c.Kwargs, Pos: c.Pos})
					if d != nil || !ir.EqualTypes(got, want) {
						t.Errorf("%s: %s: got %v (%v), want %v", c.Pos, c.Op, got, d, want)
					}
					for i, x := range ir.ShapeOf(got) {
						if v, ok := x.(*ir.Var); ok && v != ir.ShapeOf(want)[i] {
							t.Errorf("%s: %s: axis %d is another variable", c.Pos, c.Op, i)
						}
					}
					return true
				})
				return true
			})
		}
	}
	if len(asked) < 10 {
		t.Errorf("only %d ops were asked about", len(asked))
	}
}

// the C++ of every built-in op that has any, served as templates by a plugin, is the same, byte for byte, and so are types and reports on the way.
func TestBuiltinEmissionOutOfProcess(t *testing.T) {
	specs, _ := load(t, open(t, acme()))
	emitted := map[string]bool{}
	far := echo.Registry("acme", specs, func(op string) { emitted[op] = true })
	files, err := filepath.Glob("../../examples/*.py")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, "testdata/hostops.py")
	for _, file := range files {
		want, got := cpp(t, ops.Builtin(), file), cpp(t, far, file)
		if want != got {
			t.Errorf("%s:\n%s\nin process\n%s", file, got, want)
		}
	}
	// The first becomes nothing, the second is folded, the third is always an error.
	never := []string{"tensor.assemble", "tensor.dim", "tensor.reinterpret_view"}
	for _, s := range ops.Builtin().All() {
		if s.Emit != nil && !emitted[s.Name] && !slices.Contains(never, s.Name) {
			t.Errorf("%s was not emitted: testdata/hostops.py lacks it", s.Name)
		}
	}
}

// cpp is the C++ of all orchestration functions of a file.
func cpp(t *testing.T, reg *ops.Registry, file string) string {
	t.Helper()
	u, ds := lang.Load(file, lang.Options{Ops: reg, ReadFile: os.ReadFile})
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	var out strings.Builder
	for _, p := range u.Programs {
		done, ds := passes.Run(&passes.Context{Ops: reg}, p, passes.Default(), passes.Hooks{})
		if ds.HasErrors() {
			t.Fatal(ds)
		}
		for _, f := range done.Funcs {
			if f.Type != ir.Orchestration {
				continue
			}
			file, ds := lower.Lower(done, f, reg, lower.Options{})
			if ds.HasErrors() {
				t.Fatal(ds)
			}
			code, _ := orch.Print(file, orch.Default())
			out.WriteString(code)
		}
	}
	return out.String()
}

// small is a program that any pass can run on.
func small(t *testing.T) *ir.Program {
	t.Helper()
	progs, ds := frontend(t, ops.Builtin(), "small.py", strings.ReplaceAll(fmt.Sprintf(ropeProgram, 16), "pl.acme.rope(x, 3)", "pl.mul(x, 3.0)"))
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	return progs[0]
}

func runPass(t *testing.T, c *client.Client, name string) diag.List {
	t.Helper()
	_, ps := load(t, c)
	p, ds := passes.Run(&passes.Context{Ops: ops.Builtin()}, small(t), passes.Default()[:10], passes.Hooks{})
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	_, ds = passes.Run(&passes.Context{Ops: ops.Builtin()}, p, []*passes.Pass{passNamed(t, ps, name)}, passes.Hooks{})
	return ds
}

// What a pass of a plugin does wrong is reported with the plugin's and the pass's name and a way out.
func TestBadPasses(t *testing.T) {
	for _, c := range []struct {
		pass string
		code diag.Code
		want []string
	}{
		{"Crash", plugins.CodeCrash, []string{"plugin acme ended while running pass Crash on program P (exit status 3), and again after a restart", "the disk is on fire"}},
		{"Hang", plugins.CodeHang, []string{"plugin acme did not answer within 3s while running pass Hang on program P", "report it to its author"}},
		{"Panic", plugins.CodeFailed, []string{"plugin acme failed while running pass Panic on program P: panic: out of cheese (main.go:"}},
		{"Impostor", plugins.CodeReport, []string{"a race"}},
		{"Nothing", plugins.CodeFailed, []string{"pass Nothing returned neither a program nor an error"}},
		{"Unbound", "PTO-X001", []string{"pass acme.Unbound of plugin acme broke an invariant", "ghost", "defect of the plugin"}},
		{"Huge", plugins.CodeAnswer, []string{"plugin acme gave an answer that is too large while running pass Huge on program P: the limit is 80 MB"}},
		{"Greedy", plugins.CodeMemory, []string{"plugin acme wanted more than its 300 MB of memory while running pass Greedy on program P", "raise memory"}},
		{"Trespass", plugins.CodeGrant, []string{"pass Trespass of plugin acme changed function k (AIV), which it was not granted"}},
		{"Overclaim", "PTO-X001", []string{"pass acme.Overclaim of plugin acme broke an invariant", "defect of the plugin"}},
		{"Liar", plugins.CodeProof, []string{"pass Liar of plugin acme claims a fusion that does not hold: the body of both is not that of k and then that of k"}},
		{"Refuse", plugins.CodeReport, []string{"small.py:", "not to acme's taste"}},
	} {
		t.Run(c.pass, func(t *testing.T) {
			t.Parallel()
			conf := acme()
			if c.pass == "Hang" {
				conf.Timeout = 3 * time.Second
			}
			if c.pass == "Greedy" {
				conf.Memory = 300 << 20
			}
			ds := runPass(t, open(t, conf), c.pass)
			if len(ds) == 0 || ds[0].Code != c.code {
				t.Fatalf("got %v", ds)
			}
			for _, w := range c.want {
				if !strings.Contains(ds[0].Error(), w) {
					t.Errorf("%q is not in %q", w, ds[0])
				}
			}
		})
	}
}

// A pass that ends the plugin or hangs is run at most twice: later programs get the same report at once. The ops of the plugin, and commands that come later, are asked.
func TestPassesAreGivenUp(t *testing.T) {
	for pass, code := range map[string]diag.Code{"Crash": plugins.CodeCrash, "Hang": plugins.CodeHang} {
		t.Run(pass, func(t *testing.T) {
			t.Parallel()
			conf, tally := acme(), filepath.Join(t.TempDir(), "tally")
			conf.Timeout, conf.Options = 3*time.Second, fmt.Sprintf(`{"once": %q}`, tally)
			c := open(t, conf)
			var first string
			for i, name := range []string{pass, pass, "Nothing", pass} {
				ds := runPass(t, c, name)
				if i == 0 {
					first = ds.Error()
				}
				if len(ds) != 1 || ds[0].Code != code || ds.Error() != first {
					t.Errorf("run %d: got %v", i, ds)
				}
			}
			if b, err := os.ReadFile(tally); err != nil || len(b) != 2 {
				t.Errorf("pass %s ran %d times (%v)", pass, len(b), err)
			}
			specs, _ := load(t, c)
			rope := ops.NewRegistry(specs...).Lookup("acme.rope")
			x := &ir.Var{Hint: "x", Typ: &ir.TileType{Shape: []ir.Expr{num(4), num(16)}, DType: ir.FP32, Mem: ir.Vec}}
			if _, d := rope.Infer(&ops.Site{Spec: rope, Args: []ir.Expr{x, num(1)}}); d != nil {
				t.Error(d)
			}
		})
	}
}

// A plugin that ends once is restarted, and the call is repeated.
func TestRestart(t *testing.T) {
	conf := acme()
	once := filepath.Join(t.TempDir(), "once")
	conf.Options = fmt.Sprintf(`{"once": %q}`, once)
	if ds := runPass(t, open(t, conf), "CrashOnce"); len(ds) > 0 {
		t.Error(ds)
	}
	if _, err := os.Stat(once); err != nil {
		t.Error("the plugin did not crash")
	}
}

// A plugin that was killed between calls is started again.
func TestKilledBetweenCalls(t *testing.T) {
	c := open(t, acme())
	specs, _ := load(t, c)
	rope := ops.NewRegistry(specs...).Lookup("acme.rope")
	infer := func(rows int64) {
		t.Helper()
		x := &ir.Var{Hint: "x", Typ: &ir.TileType{Shape: []ir.Expr{num(rows), num(16)}, DType: ir.FP32, Mem: ir.Vec}}
		if got, d := rope.Infer(&ops.Site{Spec: rope, Args: []ir.Expr{x, num(1)}}); d != nil || !ir.EqualTypes(got, x.Typ) {
			t.Fatalf("%v, %v", got, d)
		}
	}
	infer(4)
	for i := range int64(2) { // the one that was launched with the helper, and the helper's own
		pids := running(t, filepath.Join(bin, "acme"))
		if len(pids) == 0 {
			t.Fatal("no plugin was running")
		}
		for _, p := range pids {
			kill(t, p)
		}
		infer(8 + i)
	}
}

func num(n int64) ir.Expr { return &ir.ConstInt{Value: n, DType: ir.INDEX} }

// A plugin does not get the helper's standard input.
func TestStdin(t *testing.T) {
	ds := runPass(t, open(t, acme()), "Stdin")
	if len(ds) != 1 || ds[0].Message != "0 EOF" || ds[0].Severity != diag.Warning {
		t.Errorf("got %v", ds)
	}
}

// What is wrong with a plugin before it serves anything.
func TestBadPlugins(t *testing.T) {
	script := func(text string) string {
		p := filepath.Join(t.TempDir(), "plugin")
		if err := os.WriteFile(p, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
			t.Fatal(err)
		}
		return p
	}
	digest := func(path string) string {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(b)
		return hex.EncodeToString(sum[:])
	}
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	good, faulty := acme().Path, filepath.Join(t.TempDir(), "faulty")
	if err := os.Symlink(good, faulty); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		conf plugins.Config
		code diag.Code // "": it works
		want []string
	}{
		{"right digest and version", plugins.Config{Name: "acme", Path: good, Version: "1.2.0", SHA256: strings.ToUpper(digest(good))}, "", nil},
		{"wrong digest", plugins.Config{Name: "acme", Path: good, SHA256: digest(plain)}, plugins.CodeChecksum, []string{"plugin acme is not the file that was pinned", digest(good), "pin it again"}},
		{"wrong version", plugins.Config{Name: "acme", Path: good, Version: "2.0.0"}, plugins.CodeIdentity, []string{"plugin acme has version 1.2.0, but version 2.0.0 is configured"}},
		{"wrong name", plugins.Config{Name: "other", Path: good}, plugins.CodeIdentity, []string{`is plugin "acme", not "other"`}},
		{"wrong options", plugins.Config{Name: "acme", Path: good, Options: `{"colour": "red"}`}, "ACME-002", []string{"plugin acme cannot use its options: colour cannot be red"}},
		{"little memory", plugins.Config{Name: "acme", Path: good, Memory: 16 << 20}, plugins.CodeConfig, []string{"plugin acme may have 16 MB of memory, but needs at least 128 MB to start", "512MB"}},
		{"faulty", plugins.Config{Name: "acme", Path: faulty}, plugins.CodeDescription,
			[]string{"plugin acme: op acme.rope comes twice; op acme.add: its result is operand \"x\" updated, but by its effects it does not write it"}},
		{"no file", plugins.Config{Name: "acme", Path: good + "x"}, plugins.CodeStart, []string{"does not exist", "[plugins.acme]"}},
		{"no program", plugins.Config{Name: "acme", Path: plain}, plugins.CodeStart, []string{"is not an executable file"}},
		{"garbage handshake", plugins.Config{Name: "acme", Path: script("echo oops >&2; echo hello; exec sleep 0.1")}, plugins.CodeHandshake,
			[]string{"is not a ptobuild plugin", "hello", "oops"}},
		{"closes its output before it ends", plugins.Config{Name: "acme", Path: script("echo hello; exec >&-; sleep 0.05")}, plugins.CodeHandshake, []string{"is not a ptobuild plugin", "hello"}},
		{"ends at once", plugins.Config{Name: "acme", Path: script("echo no licence >&2; exit 1")}, plugins.CodeHandshake, []string{"ended before it was ready", "it last wrote: no licence"}},
		{"silent", plugins.Config{Name: "acme", Path: script("sleep 9"), Timeout: time.Second}, plugins.CodeHandshake, []string{"was not ready within 1s"}},
		{"other protocol", plugins.Config{Name: "acme", Path: script("echo '1|9|unix|/nowhere|grpc'; sleep 5")}, plugins.CodeProtocol, []string{"another version of the plugin protocol", "SDK"}},
		{"no path", plugins.Config{Name: "acme"}, plugins.CodeConfig, []string{"plugin acme has no path"}},
		{"bad name", plugins.Config{Name: "tile", Path: good}, plugins.CodeConfig, []string{"namespace of the core"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ds := open(t, c.conf).Load().Reports()
			if c.code == "" {
				if len(ds) > 0 {
					t.Error(ds)
				}
				return
			}
			if len(ds) != 1 || ds[0].Code != c.code {
				t.Fatalf("got %v", ds)
			}
			for _, w := range c.want {
				if !strings.Contains(ds[0].Error(), w) {
					t.Errorf("%q is not in %q", w, ds[0])
				}
			}
		})
	}
}

// What a plugin prints is shown when the environment asks for it.
func TestPrints(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer func(f *os.File) { os.Stderr = f }(os.Stderr)
	os.Stderr = file
	t.Setenv(plugins.OutputEnv, "1")
	c := open(t, acme())
	if ds := runPass(t, c, "Print"); ds.HasErrors() {
		t.Fatal(ds)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file.Name()); err != nil || !strings.Contains(string(got), "acme: looking at P\n") {
		t.Errorf("%q, %v", got, err)
	}
}

// One bad plugin does not take the others with it.
func TestOneOfTwoFails(t *testing.T) {
	l := open(t, plugins.Config{Name: "gone", Path: "/nowhere"}, acme()).Load()
	if ds := l.Failed["gone"]; len(l.Failed) != 1 || len(ds) != 1 || ds[0].Code != plugins.CodeStart || ops.NewRegistry(l.Ops...).Lookup("acme.rope") == nil {
		t.Errorf("%d ops, %v", len(l.Ops), l.Failed)
	}
}

// Without a usable helper the report names it and says how to get it. Nothing is started before a plugin is asked for something.
func TestHelper(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, path, fake string
		code             diag.Code
		want             string
	}{
		{"missing", "/nowhere/" + client.HelperName, "", plugins.CodeHelper, "/nowhere/ptobuild-plugin-host, which runs plugins, cannot be started: no such file or directory"},
		{"other version", exe, "version", plugins.CodeHelper, "is not of the same version as this ptobuild"},
		{"ends", exe, "end", plugins.CodeHelper, "ended unexpectedly, and again after a restart"},
		{"ends before it greets", exe, "mute", plugins.CodeHelper, "ended unexpectedly, and again after a restart"},
		{"no parts", exe, "empty", plugins.CodeAnswer, "plugin acme gave an invalid answer while describing itself: parts are missing"},
		{"foreign names", exe, "names", plugins.CodeDescription, `op "tensor.add" must be named acme.NAME`},
		{"malformed IR", exe, "ir", plugins.CodeAnswer, "plugin acme gave an invalid answer while running pass P on program P: malformed IR data"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("FAKE_HELPER", c.fake)
			cl := client.New(t.Context(), c.path, []plugins.Config{acme()}, "")
			defer cl.Close()
			l := cl.Load()
			ps, ds := l.Passes, l.Reports()
			if len(ps) > 0 {
				_, ds = passes.Run(&passes.Context{Ops: ops.Builtin()}, small(t), []*passes.Pass{ps[0].Pass}, passes.Hooks{})
			}
			if len(ds) == 0 || ds[0].Code != c.code || !strings.Contains(ds[0].Error(), c.want) {
				t.Errorf("got %v, want %q", ds, c.want)
			}
		})
	}
}

// fakeHelper answers in a wrong way.
func fakeHelper(how string) {
	pipe := plugins.NewPipe(os.Stdin, os.Stdout)
	check := func(err error) {
		if err == io.EOF {
			os.Exit(0)
		}
		if err != nil {
			panic(err)
		}
	}
	var hello plugins.Hello
	check(pipe.Receive(&hello))
	if how == "mute" {
		os.Exit(9)
	}
	version := plugins.PipeVersion
	if how == "version" {
		version = 99
	}
	check(pipe.Send(plugins.HelloReply{Version: version}))
	for {
		var r plugins.Request
		check(pipe.ReceiveRequest(&r))
		resp := &plugins.Response{ID: r.ID}
		switch {
		case how == "end":
			fmt.Fprintln(os.Stderr, "out of memory")
			os.Exit(9)
		case how == "names":
			resp.Desc = &plugins.Description{Name: "acme", Ops: []*ops.Spec{{Name: "tensor.add", Where: ops.InCore}}, Can: []plugins.Can{{}}}
		case how == "ir" && r.Run == nil:
			resp.Desc = &plugins.Description{Name: "acme", Passes: []plugins.Pass{{Pass: &passes.Pass{Name: "P"}, After: "Simplify"}}}
		case how == "ir":
			resp.Run = &plugins.RunResponse{Functions: []byte("PTIR?")}
		case strings.Contains(how, ": "):
			answerBatch(how, &r, resp)
		}
		check(pipe.SendResponse(resp))
	}
}

// A call ends when the command is interrupted, and Close ends a plugin that hangs.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := client.New(ctx, filepath.Join(bin, client.HelperName), []plugins.Config{acme()}, "")
	_, ps := load(t, c)
	c.Slow = func(plugin string) { // it is told that the plugin takes its time
		if plugin != "acme" {
			t.Errorf("told of %q", plugin)
		}
		cancel()
	}
	_, ds := passes.Run(&passes.Context{Ops: ops.Builtin()}, small(t), []*passes.Pass{passNamed(t, ps, "Hang")}, passes.Hooks{})
	if len(ds) != 1 || ds[0].Code != plugins.CodeStopped || !strings.Contains(ds.Error(), context.Canceled.Error()) {
		t.Errorf("got %v", ds)
	}
	helpers := children(t, os.Getpid())
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	for _, pid := range helpers {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
			t.Errorf("the helper %d still runs", pid)
		}
	}
}

// A pass of one plugin keeps the ops of another: it is told about them, so that it does not take them for unknown.
func TestForeignOps(t *testing.T) {
	specs, ps := load(t, open(t, acme()))
	other := *ops.NewRegistry(specs...).Lookup("acme.rope")
	other.Name, other.Infer = "other.rope", func(s *ops.Site) (ir.Type, *diag.Diagnostic) { return s.Args[0].Type(), nil }
	reg := ops.Builtin().With(append(slices.Clone(specs), &other)...)
	progs, ds := frontend(t, reg, "rope.py", strings.ReplaceAll(fmt.Sprintf(ropeProgram, 16), "acme.rope", "other.rope"))
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	run := func(p *passes.Pass) string {
		t.Helper()
		out, ds := passes.Run(&passes.Context{Ops: reg}, progs[0], []*passes.Pass{p}, passes.Hooks{})
		if ds.HasErrors() {
			t.Fatal(ds)
		}
		return ir.Print(out, ir.PrintOptions{})
	}
	ssa, err := passes.Until(passes.Default(), "ConvertToSSA")
	if err != nil {
		t.Fatal(err)
	}
	want := run(ssa[len(ssa)-1])
	if got := run(passNamed(t, ps, "ConvertToSSA")); got != want || !strings.Contains(got, "pl.other.rope(") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		c := client.New(b.Context(), filepath.Join(bin, client.HelperName), []plugins.Config{acme()}, "")
		if ds := c.Load().Reports(); ds.HasErrors() {
			b.Fatal(ds)
		}
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkInfer(b *testing.B) {
	c := client.New(b.Context(), filepath.Join(bin, client.HelperName), []plugins.Config{acme()}, "")
	defer c.Close()
	l := c.Load()
	if ds := l.Reports(); ds.HasErrors() {
		b.Fatal(ds)
	}
	rope := ops.NewRegistry(l.Ops...).Lookup("acme.rope")
	for i := int64(1); b.Loop(); i++ { // a new question each time: answers are kept
		x := &ir.Var{Hint: "x", Typ: &ir.TileType{Shape: []ir.Expr{num(i), num(16)}, DType: ir.FP32, Mem: ir.Vec}}
		if _, d := rope.Infer(&ops.Site{Spec: rope, Args: []ir.Expr{x, num(1)}}); d != nil {
			b.Fatal(d)
		}
	}
}
