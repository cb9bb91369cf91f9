package kit

import (
	"bytes"
	_ "embed"
	"fmt"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/plugins"
)

// sample has a bit of everything: kernels, a loop, a branch, views, a scope.
//
//go:embed sample.py
var sample []byte

// passes runs the pipeline with all passes of the plugin on the sample, twice in each of two processes. The pass manager verifies every step.
func (k *Kit) passes() (string, error) {
	if len(k.about.Passes) == 0 {
		return "no passes", nil
	}
	unit, ds := lang.Load("sample.py", lang.Options{Ops: ops.Builtin(), ReadFile: func(string) ([]byte, error) { return sample, nil }})
	if ds.HasErrors() {
		return "", ds
	}
	var first []byte
	for range 2 {
		c := k.open(nil)
		defer c.Close()
		l, err := k.load(c)
		if err != nil {
			return "", err
		}
		pipeline, ds := plugins.Arrange(passes.Default(), l.Passes)
		if ds.HasErrors() {
			return "", ds
		}
		for range 2 {
			out, ds := passes.Run(&passes.Context{Ops: ops.Builtin().With(l.Ops...)}, unit.Programs[0], pipeline, passes.Hooks{})
			if ds.HasErrors() {
				return "", ds
			}
			b, err := ir.Marshal(out)
			if err != nil {
				return "", err
			}
			if first == nil {
				first = b
			} else if !bytes.Equal(b, first) {
				return "", fmt.Errorf("the same program came out differently")
			}
		}
	}
	return fmt.Sprintf("%d passes on a sample, 2 × 2 times, each result verified", len(k.about.Passes)), nil
}
