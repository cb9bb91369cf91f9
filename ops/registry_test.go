package ops

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
)

var update = flag.Bool("update", false, "rewrite golden files")

// Every spec must be sound in itself: passes rely on it without checking.
func TestSpecsAreSane(t *testing.T) {
	specs := Builtin().All()
	if !slices.IsSortedFunc(specs, func(a, b *Spec) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("All is not sorted by name")
	}
	for _, s := range specs {
		ns, leaf := splitName(s.Name)
		if ns == "" || leaf == "" {
			t.Errorf("%s: no namespace", s.Name)
		}
		if s.Doc == "" || s.Where == 0 || s.Infer == nil {
			t.Errorf("%s: needs Doc, Where and Infer", s.Name)
		}
		if s.Emit != nil && !s.IsHost() {
			t.Errorf("%s: has Emit but may not stand in an orchestration", s.Name)
		}
		if len(s.Effects) > len(s.Params) {
			t.Errorf("%s: %d effects for %d operands", s.Name, len(s.Effects), len(s.Params))
		}
		if k := s.Result.Kind; (k == View || k == InPlace) && (s.Result.Arg >= len(s.Params) || s.Params[s.Result.Arg].Kind&(TensorArg|TileArg|ArrayArg|OtherArg) == 0) {
			t.Errorf("%s: result aliases operand %d, which has no storage", s.Name, s.Result.Arg)
		}
		if s.Result.Kind == InPlace && (s.EffectOn(s.Result.Arg) == Read || s.EffectOn(s.Result.Arg) == Untouched) {
			t.Errorf("%s: works in place on operand %d but does not write it", s.Name, s.Result.Arg)
		}
		if s.Pure {
			for i := range s.Params {
				if e := s.EffectOn(i); e == Write || e == ReadWrite {
					t.Errorf("%s: pure but writes operand %d", s.Name, i)
				}
			}
		}
		if ns == "tile" && s.Where != InCore {
			t.Errorf("%s: a tile op outside of kernels", s.Name)
		}
		optional := false
		names := map[string]bool{}
		for i, p := range s.Params {
			if p.Kind == 0 {
				t.Errorf("%s: operand %s has no kind", s.Name, p.Name)
			}
			if p.Variadic && i != len(s.Params)-1 {
				t.Errorf("%s: variadic operand %s is not the last", s.Name, p.Name)
			}
			if optional && !p.Optional && s.Name != "pld.tile.get" && s.Name != "pld.tile.put" { // their second stage stands in the middle
				t.Errorf("%s: operand %s after an optional one", s.Name, p.Name)
			}
			optional = optional || p.Optional
			names[p.Name] = true
		}
		for _, k := range s.Kwargs {
			if names[k.Name] {
				t.Errorf("%s: %s is both an operand and a keyword, or twice a keyword", s.Name, k.Name)
			}
			names[k.Name] = true
			if k.Required && k.Default != nil {
				t.Errorf("%s: keyword %s is required but has a default", s.Name, k.Name)
			}
			if (k.Kind == ModeKw) && len(k.Names) == 0 {
				t.Errorf("%s: keyword %s has no names", s.Name, k.Name)
			}
		}
	}
}

// The listing is the catalogue at a glance; a change of it is a change of the language.
func TestRegistryListing(t *testing.T) {
	var b strings.Builder
	for _, s := range Builtin().All() {
		fmt.Fprintln(&b, listing(s))
	}
	golden(t, "registry.txt", b.String())
}

func listing(s *Spec) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s(%s)", s.Name, paramList(s.Params))
	for i, k := range s.Kwargs {
		sep := ", "
		if i == 0 {
			sep = " {"
		}
		fmt.Fprintf(&b, "%s%s:%s", sep, k.Name, [...]string{"int", "bool", "str", "float", "dtype", "enum", "mode", "expr", "pad", "deps"}[k.Kind])
		if k.Required {
			b.WriteString("!")
		}
		if k.Default != nil {
			b.WriteString("=" + symbolText(k.Default))
		}
	}
	if len(s.Kwargs) > 0 {
		b.WriteString("}")
	}
	var mem []string
	for i, p := range s.Params {
		if len(p.Mem) > 0 {
			mem = append(mem, fmt.Sprintf("%d:%s", i, strings.ReplaceAll(memList(p.Mem), " or ", "|")))
		}
	}
	res := string(s.ResultMem)
	switch s.ResultMemFrom {
	case MemInherit:
		res = "inherit"
	case MemKwarg:
		res = "target_memory"
	}
	if len(mem) > 0 || res != "" {
		fmt.Fprintf(&b, " [%s>%s]", strings.Join(mem, ","), res)
	}
	switch s.Result.Kind {
	case Value:
		b.WriteString(" value")
	case Fresh:
		b.WriteString(" fresh")
	case View:
		fmt.Fprintf(&b, " view(%d)", s.Result.Arg)
	case InPlace:
		fmt.Fprintf(&b, " inplace(%d)", s.Result.Arg)
	}
	for i, e := range s.Effects {
		fmt.Fprintf(&b, " %d:%s", i, [...]string{"read", "write", "readwrite", "untouched"}[e])
	}
	if s.Where&OnHost != 0 {
		b.WriteString(" host")
	}
	if s.Where&InCore != 0 {
		b.WriteString(" incore")
	}
	b.WriteString([...]string{"", " vector", " cube"}[s.Core])
	if s.Pure {
		b.WriteString(" pure")
	}
	if s.Emit != nil {
		b.WriteString(" emits")
	}
	return b.String()
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
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
		g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
		for i := range min(len(g), len(w)) {
			if g[i] != w[i] {
				t.Fatalf("%s:%d differs (run with -update to accept)\n got %s\nwant %s", path, i+1, g[i], w[i])
			}
		}
		t.Fatalf("%s differs in length: %d lines, want %d", path, len(g), len(w))
	}
}

// A registry is cheap to extend, and the later spec of a name counts.
func TestWith(t *testing.T) {
	mine := &Spec{Name: "acme.rope", Where: InCore, Infer: constant(ir.Unknown)}
	other := &Spec{Name: "tensor.add", Where: InCore, Infer: constant(ir.Unknown)}
	r := Builtin().With(mine, other)
	if r.Lookup("acme.rope") != mine || r.Lookup("tensor.add") != other || Builtin().Lookup("acme.rope") != nil {
		t.Error("With does not extend a copy")
	}
	if len(r.All()) != len(Builtin().All())+1 {
		t.Errorf("%d specs, want %d", len(r.All()), len(Builtin().All())+1)
	}
}

// What the verifier asks is read from the specs.
func TestOpInfo(t *testing.T) {
	r := Builtin()
	for op, want := range map[string]int{"tile.store": 2, "tensor.assemble": 0, "tensor.matmul_acc": 0, "tile.assemble": -1, "array.update_element": -1, "tensor.add": -1, "no.op": -1} {
		if got := r.WritesThrough(op); got != want {
			t.Errorf("WritesThrough(%s) is %d, want %d", op, got, want)
		}
	}
	for op, want := range map[string]bool{"tensor.create": true, "tensor.full": true, "tensor.add": false, "tile.create": false, "tensor.slice": false, "no.op": false} {
		if got := r.Allocates(op); got != want {
			t.Errorf("Allocates(%s) is %v", op, got)
		}
	}
	for op, want := range map[string]bool{"tensor.create": true, "system.task_dummy": true, "tile.load": false, "tensor.add": false, "no.op": false} {
		if got := r.IsHostOp(op); got != want {
			t.Errorf("IsHostOp(%s) is %v", op, got)
		}
	}
}

func BenchmarkBuiltin(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		NewRegistry(slices.Concat(createSpecs(), elementwiseSpecs(), unarySpecs(), reduceSpecs(), expandSpecs(), matmulSpecs(), memorySpecs(), viewSpecs(),
			accessSpecs(), gatherSpecs(), arraySpecs(), systemSpecs(), pipeSpecs(), distributedSpecs(), prefetchSpecs())...)
	}
}
