package eval

import (
	"os"
	"testing"

	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// TestModel loads a model as users write them (spec/dsl-ir.md section 5.2): configuration classes and presets, sibling imports, a module
// that changes another before it is read, factories, reference code. Every free name of every DSL definition must have a value.
func TestModel(t *testing.T) {
	l := NewLoader(Options{ReadFile: os.ReadFile, Environ: map[string]string{"BATCH": "32"}, Argv: []string{"--preset", "large"}})
	m, errs := l.Load("testdata/model/moe.py")
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	checked := 0
	for _, file := range []string{"moe.py", "attention.py"} {
		for _, d := range l.modules["testdata/model/"+file].DSLs() {
			var def syntax.Node = d.Func
			if d.Class != nil {
				def = d.Class
			}
			bound := make(map[string]bool)
			syntax.Walk(def, func(n syntax.Node) bool {
				switch n := n.(type) {
				case *syntax.FunctionDef:
					for p := range n.Params.All() {
						bound[p.Name] = true
					}
				case *syntax.Assign:
					for _, x := range n.Targets {
						if x, ok := x.(*syntax.Name); ok {
							bound[x.ID] = true
						}
					}
				case *syntax.For:
					if x, ok := n.Target.(*syntax.Name); ok {
						bound[x.ID] = true
					}
				}
				return true
			})
			syntax.Walk(def, func(n syntax.Node) bool {
				if x, ok := n.(*syntax.Name); ok && !bound[x.ID] {
					checked++
					if v, d2 := d.Env.Eval(x); d2 != nil {
						t.Errorf("%s in %s: %v", x.ID, d.Name, d2)
					} else if _, poisoned := v.(*Poison); poisoned {
						t.Errorf("%s in %s is poisoned", x.ID, d.Name)
					}
				}
				return true
			})
		}
	}
	if checked < 50 {
		t.Errorf("only %d names", checked)
	}
	attention := l.modules["testdata/model/attention.py"]
	expect(t, l, attention, map[string]string{
		"HIDDEN": "4096", "HEAD_DIM": "128", "SCALE": "0.08838834764831845", "TILE": "64", "ROWS": "128", "NEG_INF": "-3e+38", "STAGES": "1",
		"LOG2E": "1.4426950408889634", "OFFSETS": "[0, 16, 48]", "FREQS": "poisoned: call of torch.arange",
	})
	expect(t, l, m, map[string]string{"LOCAL": "4", "rows": "<jit.inline kernel>", "globals_copy": "{'UP': 12}"})
	for name, want := range map[string]string{"scale_rows": "[128, 128]", "scale_rows_bf16": "[64, 128]"} {
		v, _ := attention.Get(name)
		x, _ := syntax.ParseExpr("x", []byte("shape"))
		if got, d := v.(*DSL).Env.Eval(x); d != nil || Repr(got) != want {
			t.Errorf("shape of %s: %v %v", name, got, d)
		}
	}
}
