package client_test

import (
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/codegen/orch"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/passes/lower"
	"github.com/ptobuild/ptobuild/plugins"
)

const twoTasks = `import pypto.language as pl
T = pl.Tensor[[16, 16], pl.FP32]
@pl.program
class P:
    @pl.function(type=pl.FunctionType.AIV)
    def k(self, a: T, o: pl.Out[T]) -> T:
        x = pl.load(a, [0, 0], [16, 16])
        o = pl.store(pl.mul(x, 2.0), [0, 0], o)
        return o
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: T, o: pl.Out[T]) -> T:
        w = pl.create_tensor([16, 16], dtype=pl.FP32)
        w = self.k(a, w)
        o = self.k(w, o)
        return o
`

// through runs the whole pipeline with one pass of acme in it, and lowers the result.
func through(t *testing.T, reg *ops.Registry, ps []plugins.Pass, name string) (code string, broken string, ds diag.List) {
	t.Helper()
	progs, ds := frontend(t, reg, "two.py", twoTasks)
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	pipeline, ds := plugins.Arrange(passes.Default(), []plugins.Pass{{Pass: passNamed(t, ps, name), After: "Simplify"}})
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	out, ds := passes.Run(&passes.Context{Ops: reg}, progs[0], pipeline, passes.Hooks{Broken: func(p *passes.Pass, before, after *ir.Program) []string {
		broken = p.Name
		return []string{"the/dumps"}
	}})
	if ds.HasErrors() {
		return "", broken, ds
	}
	file, ds := lower.Lower(out, out.Lookup("main"), reg, lower.Options{})
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	code, _ = orch.Print(file, orch.Default())
	return code, broken, ds
}

// A pass of a plugin is held to what was established before it and to the specs of ops, whatever it claims: nothing of what it breaks becomes the fault of
// the core or of the user.
func TestPassesAreHeldToTheRules(t *testing.T) {
	specs, ps := load(t, open(t, acme()))
	reg := ops.Builtin().With(specs...)
	for _, tt := range []struct{ pass, want string }{
		{"FewOperands", "two.py:7:13: error[PTO-X001]: pass acme.FewOperands of plugin acme broke an invariant: [PTO-T002] tile.load is missing operand 'offsets': it takes"},
		{"UnknownOp", "two.py:7:13: error[PTO-X001]: pass acme.UnknownOp of plugin acme broke an invariant: [PTO-T001] there is no op 'tile.lode'"},
		{"UnknownKeyword", "[PTO-T005] tile.load got an unexpected keyword argument 'zzz'"},
		{"WrongKind", "[PTO-T003] tile.load: operand 'offsets' must be a list, got Scalar"},
		{"HostOp", "Misplaced op 'acme.row' in a kernel"},
		{"Twice", "two.py:7:9: error[PTO-X001]: pass acme.Twice of plugin acme broke an invariant: [PTO-V101] 'x' (x__ssa_v0) is assigned more than once"},
		{"NoReturn", "[PTO-X522] function 'k' declares results but does not end with a return"},
		{"OtherCore", "[PTO-T018] tile.load works on a vector core, and 'k' runs on cube cores (AIC)"},
		{"Renamed", "[PTO-V310] call of 'k', which is not a function of program P"},
		{"NoKernel", "[PTO-V310] call of 'k', which is not a function of program P"},
		{"NoFunction", "function 'main' is gone: it is called from outside of the program"},
		{"KernelTwice", `[PTO-V001] duplicate function name "k"`},
		{"OtherParameter", "its parameter 'a' (pl.Tensor[[16, 16], pl.FP32]) became 'zed'"},
	} {
		_, broken, ds := through(t, reg, ps, tt.pass)
		if len(ds) == 0 || !strings.Contains(ds[0].Error(), tt.want) || ds[0].Code != passes.CodeInternal {
			t.Errorf("%s: got %v, want %q", tt.pass, ds, tt.want)
			continue
		}
		if !strings.Contains(ds[0].Message, "pass acme."+tt.pass+" of plugin acme") || !strings.HasSuffix(ds[0].Hint, "; dumps: the/dumps") || broken != "acme."+tt.pass {
			t.Errorf("%s: %s (%s), dumped for %q", tt.pass, ds[0], ds[0].Hint, broken)
		}
	}
}

// A name is a hint: a variable that is called like a version of an output parameter is no such version. But a pass that may not change a function may not
// change its names either.
func TestNamesAreHints(t *testing.T) {
	specs, ps := load(t, open(t, acme()))
	reg := ops.Builtin().With(specs...)
	if code, _, ds := through(t, reg, ps, "NameOfVersion"); len(ds) > 0 || !strings.Contains(code, "o__ssa_v9") {
		t.Errorf("%v\n%s", ds, code)
	}
	_, broken, ds := through(t, reg, ps, "Renamer")
	if len(ds) != 1 || ds[0].Code != plugins.CodeGrant || !strings.Contains(ds[0].Message, "renamed variables of function main (Orchestration), which it was not granted") || broken != "acme.Renamer" {
		t.Errorf("got %v, dumped for %q", ds, broken)
	}
}
