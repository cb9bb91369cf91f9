package client_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/codegen/orch"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/passes/lower"
)

// core are the ops that passes know by name: they stand for something of the language or of the runtime.
var core = []string{"tensor.create", "tensor.assemble", "tensor.slice", "tensor.dim", "tile.alloc", "tensor.alloc", "system.", "array.", "pld.", "get_block_idx", "get_subblock_idx"}

// strangers are the other built-in ops under names that nobody has heard of, with nothing but their specs.
func strangers() (*ops.Registry, map[string]string) {
	names := map[string]string{}
	var specs []*ops.Spec
next:
	for _, s := range ops.Builtin().All() {
		for _, c := range core {
			if strings.HasPrefix(s.Name, c) || strings.HasSuffix(s.Name, c) {
				continue next
			}
		}
		n := *s
		n.Name = "stranger." + strings.ReplaceAll(s.Name, ".", "_")
		names[s.Name] = n.Name
		specs = append(specs, &n)
	}
	return ops.Builtin().With(specs...), names
}

// renamed is a program with other names for its ops.
func renamed(p *ir.Program, names map[string]string) *ir.Program {
	r := ir.Rewriter{Expr: func(e ir.Expr) ir.Expr {
		if c, ok := e.(*ir.OpCall); ok && names[c.Op] != "" {
			n := *c
			n.Op = names[c.Op]
			return &n
		}
		return e
	}}
	out := &ir.Program{Name: p.Name, Pos: p.Pos}
	for _, f := range p.Funcs {
		g := *f
		g.Body = r.Block(f.Body)
		out.Funcs = append(out.Funcs, &g)
	}
	return out
}

// passes, checks and lowering learn what they need of an op from its spec: under other names the same ops give the same C++, with and without derived
// dependencies.
func TestSpecsAreEnough(t *testing.T) {
	files, err := filepath.Glob("../../examples/*.py")
	if err != nil {
		t.Fatal(err)
	}
	reg, names := strangers()
	met := 0
	for _, file := range append(files, "testdata/hostops.py") {
		u, ds := lang.Load(file, lang.Options{Ops: ops.Builtin(), ReadFile: os.ReadFile})
		if ds.HasErrors() {
			t.Fatal(ds)
		}
		for _, auto := range []bool{false, true} {
			for _, p := range u.Programs {
				want := orchestrations(ops.Builtin(), p, auto)
				other := renamed(p, names)
				if d := ir.Diff(p, other); d != "" {
					met++
				}
				got := orchestrations(reg, other, auto)
				for _, n := range names {
					got = strings.ReplaceAll(got, n, "") // reports name their op
				}
				for n := range names {
					want = strings.ReplaceAll(want, n, "")
				}
				if want != got {
					t.Errorf("%s, auto_deps %v:\n%s\nunder its own names\n%s", file, auto, got, want)
				}
			}
		}
	}
	if met < 10 {
		t.Errorf("only %d programs have such ops", met)
	}
}

// orchestrations is the C++ of all orchestration functions of a program, or the reports about it.
func orchestrations(reg *ops.Registry, p *ir.Program, auto bool) string {
	done, ds := passes.Run(&passes.Context{Ops: reg, Options: passes.Options{AutoDeps: auto}}, p, passes.Default(), passes.Hooks{})
	if ds.HasErrors() {
		return ds.Error()
	}
	out := ds.Error()
	for _, f := range done.Funcs {
		if f.Type != ir.Orchestration {
			continue
		}
		file, ds := lower.Lower(done, f, reg, lower.Options{})
		if ds.HasErrors() {
			return ds.Error()
		}
		code, _ := orch.Print(file, orch.Default())
		out += code + ds.Error()
	}
	return out
}
