package crosscheck

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/runtime/check"
)

// maxRepairs bounds the changes to one program.
const maxRepairs = 40

// repair orders the races of a program with the changes that `ptobuild test` proposes, one after the other: a change is taken when there are less races
// then, and the same result in program order. found is how many were taken, and races what no change was found for.
func repair(src string, in [2]int64) (fixed string, found int, races []*check.Race, ok bool) {
	b, _, p := build(src, passes.Options{})
	if p != nil || b == nil || b.warned {
		return "", 0, nil, false
	}
	now := b.judge(in)
	if now.dies {
		return "", 0, nil, false
	}
	want := now.outputs
	next := func() bool {
		for _, r := range now.races {
			for _, m := range graph.Remedies(r, parser(src), b.definition) {
				text := string(diag.Apply([]byte(src), m.Edits))
				c, _, p := build(text, passes.Options{})
				if p != nil || c == nil {
					continue
				}
				if o := c.judge(in); !o.dies && len(o.races) < len(now.races) && slices.EqualFunc(o.outputs, want, bytes.Equal) {
					src, b, now = text, c, o
					return true
				}
			}
		}
		return false
	}
	for found < maxRepairs && next() {
		found++
	}
	return src, found, now.races, true
}

func parser(src string) func(string) *syntax.File {
	return func(name string) *syntax.File {
		f, ds := syntax.Parse(name, []byte(src))
		if ds.HasErrors() {
			return nil
		}
		return f
	}
}

// definition is where a kernel is defined.
func (b *built) definition(kernel string) diag.Span {
	for _, k := range b.plan.Kernels {
		if f := b.final.Lookup(k.Func); f != nil && k.Name == kernel {
			return f.Pos
		}
	}
	return diag.Span{}
}

// names are what the reports of the checks need.
func (b *built) names() (n check.Names) {
	for _, t := range b.plan.Tensors {
		n.Entries = append(n.Entries, t.Param)
	}
	n.Params = make([][]check.Param, len(b.plan.Kernels))
	for _, k := range b.plan.Kernels {
		if f := b.final.Lookup(k.Func); f != nil {
			for _, p := range f.Params {
				if ir.IsTensor(p.Var.Typ) {
					n.Params[k.ID] = append(n.Params[k.ID], check.Param{Name: ir.BaseName(p.Var.Hint), Pos: p.Var.Pos, Dir: p.Dir})
				}
			}
		}
	}
	return n
}

// TestRepairs: races of random programs, and how many of them a change of the source orders. What is left without races gives the same result in every order.
func TestRepairs(t *testing.T) {
	t.Parallel()
	programs, racy, repaired, found, left := 0, 0, 0, 0, 0
	first := number(t, "CROSSCHECK_FIRST", 0)
	for seed := first; seed < first+number(t, "CROSSCHECK_REPAIRS", 40); seed++ {
		src := wideSource(generateWide(seed))
		in := inputs[seed%uint64(len(inputs))]
		fixed, n, races, ok := repair(src, in)
		if !ok {
			continue
		}
		programs++
		found, left = found+n, left+len(races)
		if n+len(races) > 0 {
			racy++
		}
		if len(races) > 0 {
			t.Logf("seed %d: no change is found for %v\n%s", seed, races[0].Diag, fixed[strings.Index(fixed, "def main"):])
			continue
		}
		if n == 0 {
			continue
		}
		repaired++
		b, _, p := build(fixed, passes.Options{})
		if p != nil {
			t.Fatal(p)
		}
		if o := b.judge(in); b.misbehaves(in, o.outputs, o.tasks) && len(o.reports) == 0 {
			t.Errorf("seed %d: the repaired program gives another result in some order\n%s", seed, fixed)
		}
	}
	t.Logf("repairs %d of %d: %d programs, %d with races, of which %d are correct now", found, found+left, programs, racy, repaired)
	if found == 0 {
		t.Error("nothing was repaired")
	}
}
