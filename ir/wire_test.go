package ir_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
	. "github.com/ptobuild/ptobuild/ir/irtest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with testdata/name.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (run with -update to accept):\n%s", path, got)
	}
}

func marshal(t testing.TB, p *ir.Program) []byte {
	t.Helper()
	data, err := ir.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func unmarshal(t testing.TB, data []byte) *ir.Program {
	t.Helper()
	p, err := ir.Unmarshal(data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func programs(f func(name string, p *ir.Program)) {
	for seed := range uint64(150) {
		f(fmt.Sprintf("any %d", seed), AnyProgram(seed))
		f(fmt.Sprintf("random %d", seed), RandomProgram(seed))
	}
}

func TestWireRoundTrip(t *testing.T) {
	programs(func(name string, p *ir.Program) {
		data := marshal(t, p)
		q := unmarshal(t, data)
		if d := ir.Diff(p, q); d != "" {
			t.Fatalf("%s came back different: %s", name, d)
		}
		if ir.HashProgramWithNames(p) != ir.HashProgramWithNames(q) {
			t.Fatalf("%s came back with another hash", name)
		}
		// Places, comments and nil versus empty are in the bytes, so equal bytes prove that they survived.
		if again := marshal(t, q); !bytes.Equal(data, again) {
			t.Fatalf("%s: encoding is not stable", name)
		}
	})
}

func TestWireGolden(t *testing.T) {
	data := marshal(t, demo())
	golden(t, "demo.ptir.hex", hex.Dump(data))
	if d := ir.Diff(demo(), unmarshal(t, data)); d != "" {
		t.Error(d)
	}
}

// TestWireKeepsIdentity: a plugin gets functions, changes one, adds a variable, and the host finds its own Vars in the answer.
func TestWireKeepsIdentity(t *testing.T) {
	for seed := range uint64(40) {
		p := RandomProgram(seed)
		host := ir.NewVarTable()
		request, err := ir.MarshalFunctions(p.Funcs, host)
		if err != nil {
			t.Fatal(err)
		}

		plugin := ir.NewVarTable()
		fs, err := ir.UnmarshalFunctions(request, plugin)
		if err != nil {
			t.Fatal(err)
		}
		last := fs[len(fs)-1]
		added := Index("added")
		changed := *last
		changed.Body = append(ir.Block{Set(added, ir.Int(7))}, last.Body...)
		changed.Attrs = append(changed.Attrs, ir.Attr{Key: "acme.seen", Value: true})
		answer, err := ir.MarshalFunctions([]*ir.Function{&changed}, plugin)
		if err != nil {
			t.Fatal(err)
		}

		back, err := ir.UnmarshalFunctions(answer, host)
		if err != nil {
			t.Fatal(err)
		}
		got, want := back[0], p.Funcs[len(p.Funcs)-1]
		for i := range want.Params {
			if got.Params[i].Var != want.Params[i].Var {
				t.Fatalf("seed %d: parameter %s is another Var", seed, want.Params[i].Var.Hint)
			}
		}
		if v := got.Body[0].(*ir.Assign).Var; v.Hint != "added" || v == added {
			t.Fatalf("the new variable came back as %v", v)
		}
		want2 := *want
		want2.Body = append(ir.Block{got.Body[0]}, want.Body...)
		want2.Attrs = changed.Attrs
		if d := ir.DiffFunctions(&want2, got); d != "" {
			t.Fatalf("seed %d: %s", seed, d)
		}
		if n := countForeign(got, want, got.Body[0].(*ir.Assign).Var); n > 0 {
			t.Fatalf("seed %d: %d Vars are not the host's", seed, n)
		}
	}
}

// countForeign counts uses in got of Vars that want does not have.
func countForeign(got, want *ir.Function, allowed *ir.Var) (n int) {
	known := map[*ir.Var]bool{allowed: true}
	visit := func(f *ir.Function, do func(*ir.Var)) {
		for _, p := range f.Params {
			do(p.Var)
		}
		ir.Inspect(f.Body, func(s ir.Stmt) bool {
			for _, v := range ir.Defs(s) {
				do(v)
			}
			if l, ok := s.(*ir.For); ok {
				do(l.Var)
			}
			ir.Exprs(s, func(e ir.Expr) bool {
				if v, ok := e.(*ir.Var); ok {
					do(v)
				}
				return true
			})
			return true
		})
	}
	visit(want, func(v *ir.Var) { known[v] = true })
	visit(got, func(v *ir.Var) {
		if !known[v] {
			n++
		}
	})
	return n
}

func TestWireRejectsChangedVariables(t *testing.T) {
	p := RandomProgram(3)
	host := ir.NewVarTable()
	request, _ := ir.MarshalFunctions(p.Funcs, host)
	for _, tt := range []struct {
		name  string
		spoil func(v *ir.Var)
	}{
		{"type", func(v *ir.Var) { v.Typ = ir.Scalar(ir.FP16) }},
		{"name", func(v *ir.Var) { v.Hint = "stolen" }},
		{"dynamic", func(v *ir.Var) { v.Dyn = !v.Dyn }},
	} {
		plugin := ir.NewVarTable()
		fs, err := ir.UnmarshalFunctions(request, plugin)
		if err != nil {
			t.Fatal(err)
		}
		tt.spoil(fs[0].Params[0].Var)
		answer, err := ir.MarshalFunctions(fs, plugin)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ir.UnmarshalFunctions(answer, host); err == nil || !strings.Contains(err.Error(), "came back changed") {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	// Ids that were never handed out.
	stranger := ir.NewVarTable()
	other, _ := ir.MarshalFunctions(RandomProgram(4).Funcs, stranger)
	if _, err := ir.UnmarshalFunctions(other, host); !errors.Is(err, ir.ErrMalformed) {
		t.Errorf("foreign ids: %v", err)
	}
}

func TestWireErrors(t *testing.T) {
	good := marshal(t, demo())
	for _, tt := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "does not begin"},
		{"magic", []byte("PTIX\x01\x00"), "does not begin"},
		{"version", []byte("PTIR\x02\x00"), "version 2"},
		{"form", []byte("PTIR\x01\x01"), "form 1"},
		{"cut", good[:len(good)-1], ""},
		{"trailing", append(bytes.Clone(good), 0), "1 bytes too many"},
		{"huge count", append([]byte("PTIR\x01\x00"), binary.AppendUvarint(nil, 1<<40)...), "do not fit"},
		{"long number", []byte("PTIR\x81\x00\x00"), "longer than it needs"},
		{"not UTF-8", []byte("PTIR\x01\x00\x01\x01\xff"), "not UTF-8"},
	} {
		_, err := ir.Unmarshal(tt.data)
		if !errors.Is(err, ir.ErrMalformed) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	for i := range good {
		if _, err := ir.Unmarshal(good[:i]); !errors.Is(err, ir.ErrMalformed) {
			t.Fatalf("%d of %d bytes: %v", i, len(good), err)
		}
	}
}

func TestWireRefusesToEncode(t *testing.T) {
	v := Index("v")
	var deep ir.Expr = v
	for range 20000 {
		deep = Bin(ir.Add, deep, ir.Int(1))
	}
	for _, tt := range []struct {
		stmt ir.Stmt
		want string
	}{
		{&ir.Assign{Var: v}, "expression is missing"},
		{&ir.Assign{Value: v}, "without variable"},
		{&ir.Eval{X: &ir.OpCall{Op: "a.b", Attrs: ir.Attrs{{Key: "k", Value: 3}}}}, `"k" has a value of Go type int`},
		{Set(v, deep), "nested more than"},
		{&ir.Verbatim{Text: "\xff"}, "not UTF-8"},
		{nil, "statement is missing"},
	} {
		if _, err := ir.Marshal(Program(Func("f", ir.Opaque, nil, tt.stmt))); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("want %q, got %v", tt.want, err)
		}
	}
}

// TestWireRefusesBombs: a few bytes may not stand for more nodes than anyone can visit.
func TestWireRefusesBombs(t *testing.T) {
	var wide ir.Type = ir.IndexType
	for range 40 {
		wide = &ir.TupleType{Elems: []ir.Type{wide, wide}}
	}
	if _, err := ir.Marshal(Program(Func("f", ir.Opaque, []ir.Param{In(Var("x", wide))}))); err == nil || !strings.Contains(err.Error(), "types hold types") {
		t.Errorf("wide: %v", err)
	}
	data := []byte("PTIR\x01\x00\x01\x00\x00\x29\x01\x15") // one text "", no Vars, 41 types, the first Scalar[INDEX]
	for i := range byte(40) {
		data = append(data, 5, 3, i+1, i+1) // Tuple[t, t]
	}
	// program "", no place, one function without place, named "", Opaque, no parameters, one result of the last type
	data = append(data, 0, 0, 2, 0, 0, 0, 0, 2, 41, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	if _, err := ir.Unmarshal(data); !errors.Is(err, ir.ErrMalformed) || !strings.Contains(err.Error(), "types hold types") {
		t.Errorf("wide bytes: %v", err)
	}
	var deep ir.Type = ir.IndexType
	for range 20000 {
		deep = &ir.TupleType{Elems: []ir.Type{deep}}
	}
	if _, err := ir.Marshal(Program(Func("f", ir.Opaque, []ir.Param{In(Var("x", deep))}))); err == nil {
		t.Error("deep: no error")
	}
	// A long chain of Vars whose types hold Vars is fine, and does not cost stack.
	v := Index("v")
	for range 300000 {
		v = Var("v", &ir.TensorType{Shape: []ir.Expr{v}, DType: ir.FP32})
	}
	p := Program(Func("f", ir.Opaque, []ir.Param{In(v)}))
	q := unmarshal(t, marshal(t, p))
	if !ir.Equal(p, q) || ir.HashProgram(p) != ir.HashProgram(q) {
		t.Error("the chain came back different")
	}
}

// TestWireSurvivesDamage flips bytes of good encodings: decoding gives an error or a program that encodes again, and never panics.
func TestWireSurvivesDamage(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for seed := range uint64(30) {
		data := marshal(t, AnyProgram(seed))
		for range 200 {
			bad := bytes.Clone(data)
			for range 1 + r.IntN(3) {
				bad[r.IntN(len(bad))] = byte(r.IntN(256))
			}
			checkBytes(t, bad)
		}
	}
}

// checkBytes is the fuzz property.
func checkBytes(t *testing.T, data []byte) {
	p, err := ir.Unmarshal(data)
	if err != nil {
		if !errors.Is(err, ir.ErrMalformed) {
			t.Fatalf("an error of another kind: %v", err)
		}
		return
	}
	again, err := ir.Marshal(p)
	if err != nil {
		t.Fatalf("what was decoded cannot be encoded: %v", err)
	}
	q, err := ir.Unmarshal(again)
	if err != nil {
		t.Fatal(err)
	}
	if d := ir.Diff(p, q); d != "" {
		t.Fatal(d)
	}
	// Everything that takes a program has to stand what the decoder lets through.
	ir.Print(p, ir.PrintOptions{})
	ir.Verify(p, Ops{}, allProperties()...)
	ir.HashProgram(p)
}

func allProperties() []ir.Property {
	return append(ir.StructuralProperties(), ir.SSAForm, ir.NoNestedCalls, ir.ReturnParamsExplicit, ir.SplitIncoreOrch, ir.OrchestrationReferencesResolved,
		ir.CallDirectionsResolved, ir.RuntimeScopesMaterialized, ir.IterArgCarryClassified, ir.InlineFunctionsEliminated, ir.UnrollResolved, ir.HierarchyOutlined, ir.ClusterOutlined)
}

func FuzzUnmarshal(f *testing.F) {
	f.Add(marshal(f, demo()))
	for seed := range uint64(4) {
		f.Add(marshal(f, AnyProgram(seed)))
	}
	f.Fuzz(checkBytes)
}

func FuzzUnmarshalFunctions(f *testing.F) {
	host := ir.NewVarTable()
	data, err := ir.MarshalFunctions(RandomProgram(1).Funcs, host)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		if fs, err := ir.UnmarshalFunctions(data, host); err == nil {
			if _, err := ir.MarshalFunctions(fs, host); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// longProgram is a program of about n statements.
func longProgram(n int) *ir.Program {
	x, y := Var("x", Tensor(ir.FP32, 16, 16)), Var("y", Tensor(ir.FP32, 16, 16))
	var body ir.Block
	for i := range n {
		t := Var(fmt.Sprintf("t__ssa_v%d", i), Tensor(ir.FP32, 16, 16))
		c := Call("k", t.Typ, x, y)
		c.Pos = Line("big.py", 10+i)
		body = append(body, &ir.Assign{Var: t, Value: c, Pos: c.Pos})
	}
	return Program(Func("main", ir.Orchestration, []ir.Param{In(x), InOut(y)}, body...))
}

func BenchmarkMarshal(b *testing.B) {
	p := longProgram(1000)
	b.ReportMetric(float64(len(marshal(b, p))), "bytes")
	for b.Loop() {
		marshal(b, p)
	}
}

func BenchmarkUnmarshal(b *testing.B) {
	data := marshal(b, longProgram(1000))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		unmarshal(b, data)
	}
}

func BenchmarkHashProgram(b *testing.B) {
	p := longProgram(1000)
	for b.Loop() {
		ir.HashProgram(p)
	}
}

func BenchmarkEqual(b *testing.B) {
	p, q := longProgram(1000), longProgram(1000)
	for b.Loop() {
		ir.Equal(p, q)
	}
}

func BenchmarkPrint(b *testing.B) {
	p := longProgram(1000)
	for b.Loop() {
		ir.Print(p, ir.PrintOptions{})
	}
}

func BenchmarkVerifyStructural(b *testing.B) {
	p := longProgram(1000)
	for b.Loop() {
		ir.Verify(p, Ops{}, append(ir.StructuralProperties(), ir.SSAForm)...)
	}
}
