package client_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/plugins"
	"github.com/ptobuild/ptobuild/plugins/client"
)

// f32 are elements as an evaluation carries them.
func f32(shape []int, v ...float32) *ops.Elements {
	e := &ops.Elements{DType: ir.FP32, Shape: shape, Valid: shape}
	for _, x := range v {
		e.Data = append(e.Data, floatBytes(x)...)
	}
	return e
}

// An evaluation reads and updates operands in another process; keyword arguments and lists arrive; reports come back.
func TestEvaluate(t *testing.T) {
	specs, _ := load(t, open(t, acme()))
	sum := ops.NewRegistry(specs...).Lookup("acme.sum")
	ask := func(row int64) (*ops.Evaluation, *diag.Diagnostic) {
		into := f32([]int{2, 2}, 0, 10, 20, 30)
		into.Writable = true
		e := &ops.Evaluation{Op: sum.Name, Kwargs: ir.Kwargs{{Name: "scale", Value: 2.0}},
			Operands: []ops.Operand{{Elements: f32([]int{1, 3}, 1, 2, 3)}, {Elements: into}, {List: []int64{row, 1}}}}
		return e, sum.Evaluate(e)
	}
	for range 2 { // the second answer is remembered
		e, d := ask(1)
		if d != nil {
			t.Fatal(d)
		}
		if got, want := string(e.Operands[1].Elements.Data), string(f32(nil, 0, 10, 20, 42).Data); got != want {
			t.Errorf("got % x, want % x", got, want)
		}
	}
	if _, d := ask(2); d == nil || d.Code != "ACME-004" || d.Message != "row 2 of 2" {
		t.Errorf("got %v", d)
	}
}

// Verify reports at the call, as a warning when it is one.
func TestVerify(t *testing.T) {
	specs, _ := load(t, open(t, acme()))
	reg := ops.Builtin().With(specs...)
	text := strings.ReplaceAll(fmt.Sprintf(ropeProgram, 16), "y = pl.acme.rope(x, 3)", "o = pl.acme.sum(x, o, [0, 1], scale=0.0); y = x")
	progs, ds := frontend(t, reg, "sum.py", text)
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	_, ds = passes.Run(&passes.Context{Ops: reg}, progs[0], passes.Default(), passes.Hooks{})
	if len(ds) != 1 || ds[0].Code != "ACME-003" || ds[0].Severity != diag.Warning || ds[0].Span.Line != 8 || !strings.Contains(ds[0].Message, "the sum in k counts nothing") {
		t.Errorf("got %v", ds)
	}
}

const rowProgram = `import pypto.language as pl
T = pl.Tensor[[16, 16], pl.FP32]
@pl.program
class P:
    @pl.function(type=pl.FunctionType.AIV)
    def k(self, a: pl.Tensor[[1, 16], pl.FP32], o: pl.InOut[T]) -> T:
        x = pl.load(a, [0, 0], [1, 16])
        o = pl.store(x, [0, 0], o)
        return o
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: T, o: pl.InOut[T]) -> T:
        for i in pl.range(4):
            w = pl.acme.row(a, i)
            o = self.k(w, o)
        return o
`

// a view of a plugin takes part in directions and dependencies from its spec alone; its C++ is what the template says, with names of the core's choice.
func TestEmit(t *testing.T) {
	specs, _ := load(t, open(t, acme()))
	dir := t.TempDir()
	file := filepath.Join(dir, "row.py")
	if err := os.WriteFile(file, []byte(rowProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	got := cpp(t, ops.Builtin().With(specs...), file)
	for _, want := range []string{"uint32_t w_offset[2] = {static_cast<uint32_t>(i), 0};", "uint32_t w_shape[2] = {1, 16};", "Tensor w = ext_a.view(w_shape, w_offset);", "add_input(w)"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

// A template that does what it must not is refused with the line and the reason.
func TestBadTemplates(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "row.py")
	if err := os.WriteFile(file, []byte(rowProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	for code, want := range map[string]string{
		`system("rm -rf /");`: "cannot stand in a template",
		"abort();":            `no statement starts with "abort"`,
		"int64_t $v = system(1);\nTensor $result = $x;": `"system" may not be called`,
		"if ($n > 0) {\nTensor $result = $x;":           "$result must be declared outside of blocks",
		"int64_t $a = 1; }":                             "'}' closes no block",
		"if ($n > 0) { int64_t $a = 1;":                 "a block is not closed",
		"uint32_t $i[] = {0, 0};\nset_tensor_data<float>($x, {0, 0}, 1.0f);\nTensor $result = $x;":  `it writes operand "x", which the spec does not say`,
		"uint32_t $i[] = {0, 0}; float $v = get_tensor_data<float>($x, 2, $i);":                     `it reads operand "x", which the spec does not say`,
		"uint32_t $o[] = {0, 0}; uint32_t $s[] = {2, $x.dim(1)}; Tensor $result = $x.view($s, $o);": "axis 0 of $result has extent 2, and by its type 1",
		"uint32_t $o[] = {0}; uint32_t $s[] = {1}; Tensor $result = $x.view($s, $o);":               "$result has 1 axes, and its type 2",
		"uint32_t $shape[] = {1, 1};\nTensor $result = $x.view($shap, $shape);":                     "line 2 of the template, `Tensor $result = $x.view($shap, $shape);`: $shap is used but not declared here; did you mean $shape?",
		"int64_t $v = $n > 0 ? 1 : 2;":                     `"?" cannot stand in a template; use if, std::min or std::max`,
		"int64_t $v = view($x);":                           "of tensors $x.view, $x.reshape",
		"int64_t $n = 1;":                                  "only $result and locals can be declared, not $n",
		"uint32_t $a[] = {0, 0};":                          "it does not declare $result",
		"float $result = 1.0f;":                            "is a view of operand",
		"return;":                                          `no statement starts with "return"`,
		"uint32_t $s[] = {0}; uint32_t $s[] = {0};":        "declared twice",
		"int64_t $v = $x + 1;":                             "an operator needs numbers",
		strings.Repeat("(", 5000):                          "no statement starts with",
		"int64_t $v = " + strings.Repeat("-", 5000) + "1;": "nest too deeply",
	} {
		conf := acme()
		conf.Options = fmt.Sprintf(`{"code": %q}`, code)
		specs, _ := load(t, open(t, conf))
		ds := lowered(t, ops.Builtin().With(specs...), file)
		if len(ds) == 0 || ds[0].Code != plugins.CodeTemplate && ds[0].Code != "ACME-005" || !strings.Contains(ds[0].Message, want) || ds[0].Span.Line != 13 {
			t.Errorf("%.60q: got %v, want %q", code, ds, want)
		}
	}
}

// Templates may have comments.
func TestCommentedTemplate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "row.py")
	if err := os.WriteFile(file, []byte(rowProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	conf := acme()
	conf.Options = fmt.Sprintf(`{"code": %q}`, "// row $n of $x\nuint32_t $offset[] = {$n, 0}; // begins at $n, ends where?\nuint32_t $shape[] = {1, $x.dim(1)};\nTensor $result = $x.view($shape, $offset);")
	specs, _ := load(t, open(t, conf))
	if got := cpp(t, ops.Builtin().With(specs...), file); !strings.Contains(got, "Tensor w = ext_a.view(w_shape, w_offset);") {
		t.Error(got)
	}
}

// Questions that come up at the same time travel together and each gets its own answer.
func TestConcurrentQuestions(t *testing.T) {
	specs, _ := load(t, open(t, acme()))
	rope := ops.NewRegistry(specs...).Lookup("acme.rope")
	var wg sync.WaitGroup
	for i := range int64(64) {
		wg.Go(func() {
			cols := i + 1
			x := &ir.Var{Hint: "x", Typ: &ir.TileType{Shape: []ir.Expr{num(4), num(cols)}, DType: ir.FP32, Mem: ir.Vec}}
			got, d := rope.Infer(&ops.Site{Spec: rope, Args: []ir.Expr{x, num(i)}, Pos: diag.Span{File: "q.py", Line: int32(cols), Col: 1}})
			switch {
			case cols%2 != 0:
				if d == nil || d.Code != "ACME-001" || !strings.Contains(d.Message, fmt.Sprint("got ", cols)) {
					t.Errorf("%d columns: %v %v", cols, got, d)
				}
			case d != nil || !ir.EqualTypes(got, x.Typ):
				t.Errorf("%d columns: %v %v", cols, got, d)
			}
		})
	}
	wg.Wait()
}

// A dynamic extent in a result is the very variable of the call, also when the answer was given about another call.
func TestAnswersAreShared(t *testing.T) {
	c := open(t, acme())
	specs, _ := load(t, c)
	rope := ops.NewRegistry(specs...).Lookup("acme.rope")
	for i, name := range []string{"N", "M", "N"} {
		n := &ir.Var{Hint: name, Typ: ir.IndexType, Dyn: true}
		x := &ir.Var{Hint: fmt.Sprint("x", i), Typ: &ir.TileType{Shape: []ir.Expr{n, num(16)}, DType: ir.FP32, Mem: ir.Vec}}
		got, d := rope.Infer(&ops.Site{Spec: rope, Args: []ir.Expr{x, num(1)}, Pos: diag.Span{File: "d.py", Line: int32(i + 1), Col: 1}})
		if d != nil || ir.ShapeOf(got)[0] != ir.Expr(n) {
			t.Errorf("%s: %v, %v", name, got, d)
		}
	}
}

// What a plugin answered is remembered for its very file and options: nothing is started for it, not even the helper. Damaged memory is as good as none.
func TestMemory(t *testing.T) {
	dir := t.TempDir()
	conf := acme()
	conf.SHA256 = digest(t, conf.Path)
	infer := func(helper string, conf plugins.Config) (started bool) {
		t.Helper()
		c := client.New(t.Context(), helper, []plugins.Config{conf}, dir)
		defer c.Close()
		specs, _ := load(t, c)
		rope := ops.NewRegistry(specs...).Lookup("acme.rope")
		x := &ir.Var{Hint: "x", Typ: &ir.TileType{Shape: []ir.Expr{num(4), num(16)}, DType: ir.FP32, Mem: ir.Vec}}
		if got, d := rope.Infer(&ops.Site{Spec: rope, Args: []ir.Expr{x, num(1)}}); d != nil || !ir.EqualTypes(got, x.Typ) {
			t.Fatal(got, d)
		}
		return c.Started()
	}
	helper := filepath.Join(bin, client.HelperName)
	if !infer(helper, conf) {
		t.Error("the first client started nothing")
	}
	if infer("/nowhere", conf) {
		t.Error("the second client started a plugin")
	}
	other := conf
	other.Options = `{"once": "x"}`
	if !infer(helper, other) {
		t.Error("other options got remembered answers")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.answers"))
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)/2] ^= 1
		if err := os.WriteFile(f, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if !infer(helper, conf) {
		t.Error("damaged memory was believed")
	}
}

// What a plugin prints before it is ready does no harm; what it sends instead of the protocol is reported.
func TestStrangePlugins(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := func(lines string) string {
		f := filepath.Join(t.TempDir(), "plugin")
		if err := os.WriteFile(f, []byte("#!/bin/sh\n"+lines+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		return f
	}
	noisy := plugins.Config{Name: "acme", Path: script("echo loading the model; echo done >&2; exec " + filepath.Join(bin, "acme"))}
	if specs, _ := load(t, open(t, noisy)); len(specs) == 0 {
		t.Error("the noisy plugin serves nothing")
	}
	garbage := plugins.Config{Name: "acme", Path: script("FAKE_PLUGIN=garbage exec " + exe), Timeout: 3 * time.Second}
	ds := open(t, garbage).Load().Reports()
	if len(ds) != 1 || ds[0].Code != plugins.CodeHandshake && ds[0].Code != plugins.CodeStart {
		t.Errorf("got %v", ds)
	}
	secret := acme()
	secret.MTLS = true
	if specs, _ := load(t, open(t, secret)); len(specs) == 0 {
		t.Error("the plugin serves nothing over an encrypted connection")
	}
}

// fakePlugin answers connections with what is no gRPC.
func fakePlugin() {
	l := listen()
	fmt.Printf("1|1|unix|%s|grpc\n", l.Addr())
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		fmt.Fprint(c, strings.Repeat("garbage ", 1<<12))
		c.Close()
	}
}

// A report about an operand names it: the place of a variable is that of its definition, far away.
func TestReportsNameTheOperand(t *testing.T) {
	specs, _ := load(t, open(t, acme()))
	reg := ops.NewRegistry(specs...)
	row, sum := reg.Lookup("acme.row"), reg.Lookup("acme.sum")
	defined := diag.Span{File: "r.py", Line: 2, Col: 5, EndLine: 2, EndCol: 6}
	call := view(row, 800)
	call.Args[0].(*ir.Var).Pos = defined
	if _, d := row.Emit(siteOf(call)); d == nil || d.Code != "ACME-007" || d.Span != call.Pos || d.Operand == nil || *d.Operand != (diag.Operand{Index: 0, Name: "x"}) {
		t.Errorf("emit: %+v", d)
	}
	x := &ir.Var{Hint: "x", Typ: &ir.TileType{Shape: []ir.Expr{num(4), num(4)}, DType: ir.FP32, Mem: ir.Vec}, Pos: defined}
	into := &ir.Var{Hint: "into", Typ: &ir.TensorType{Shape: []ir.Expr{num(4), num(4)}, DType: ir.FP32}, Pos: diag.Span{File: "r.py", Line: 3, Col: 5, EndLine: 3, EndCol: 6}}
	sumCall := &ir.OpCall{Op: sum.Name, Args: []ir.Expr{x, into, &ir.MakeTuple{Elems: []ir.Expr{num(0), num(0)}}}, Typ: into.Typ, Pos: call.Pos, Kwargs: ir.Kwargs{{Name: "scale", Value: -1.0}}}
	ds := sum.Verify(&ir.Function{Name: "k"}, []*ir.OpCall{sumCall})
	if len(ds) != 1 || ds[0].Code != "ACME-006" || ds[0].Span != call.Pos || ds[0].Operand == nil || *ds[0].Operand != (diag.Operand{Index: 1, Name: "into"}) {
		t.Errorf("verify: %+v", ds)
	}
}
