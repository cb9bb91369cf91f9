package graph

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ptobuild/ptobuild/cache"
	"github.com/ptobuild/ptobuild/graph/state"
	"github.com/ptobuild/ptobuild/internal/diag"
)

// A test that passed is not run again while nothing that decides its verdict changed. What does is known without building the target, from the last build: so
// a test of a function that was not edited costs the look at a few files.

// inputs gives everything that decides the verdict of a test but where its target stands. It is not known, nil, for a target that was not built by a session,
// or when a file that the test reads cannot be read.
func (t *Tester) inputs(test *TestConfig, target *Target) *testInputs {
	if t.Session == nil || target.built == nil || target.built.Key == (state.Digest{}) || len(target.built.External) > 0 {
		return nil
	}
	what := *test
	what.Name, what.Line = "", 0
	c := t.Builder.WS.Config
	text, err := json.Marshal([]any{&what, &c.Build, &c.Simulator})
	if err != nil {
		return nil
	}
	k := cache.NewKey("Verdict").Str("tool", t.ToolID).Bytes("test", text).Str("schedules", fmt.Sprint(t.schedules(test))).
		Str("advice", fmt.Sprint(t.Advice)).Str("allowed", t.allowedIn(test, target))
	if t.Toolchain != nil {
		k.Digest("compiler", t.Toolchain.Key(nil)).Str("host", t.HostID)
	}
	in := &testInputs{target: target.built.Key, settings: k.Sum().Hash, build: target.built.Build}
	names, err := t.filesOf(test)
	if err != nil {
		return nil
	}
	for _, name := range names {
		f, err := t.Session.dataFile(name)
		if err != nil {
			return nil
		}
		in.files = append(in.files, f)
	}
	return in
}

// allowedIn is what of the allowances may decide the verdict: comments are no part of a target.
func (t *Tester) allowedIn(test *TestConfig, target *Target) string {
	list, _ := t.Builder.Allowances()
	if len(list) == 0 {
		return ""
	}
	files := t.Session.inputsOf(target.Source)
	return fmt.Sprintf("%+v", slices.DeleteFunc(slices.Clone(list), func(a Allowance) bool {
		return a.test != "" && a.test != test.Name || a.line > 0 && !slices.Contains(files, a.file)
	}))
}

// filesOf lists the files that a test reads.
func (t *Tester) filesOf(test *TestConfig) ([]string, error) {
	var files []string
	for _, name := range sortedKeys(test.Inputs) {
		if f := test.Inputs[name].Npy; f != "" {
			files = append(files, f)
		}
	}
	for _, name := range sortedKeys(test.Expect.Npy) {
		files = append(files, test.Expect.Npy[name])
	}
	if len(test.Expect.Reference) == 0 {
		return files, nil
	}
	more, err := t.referenceFiles(test)
	return append(files, more...), err
}

// keptVerdict is what is kept of a verdict.
type keptVerdict struct {
	Verdict *Verdict
	Places  uint64 // hash of where the target stood, when there are reports; they are good only there
}

// recall reads a verdict that was kept.
func (t *Tester) recall(ctx context.Context, key cache.Digest, target *Target, v *Verdict) bool {
	if t.Engine.Store == nil {
		return false
	}
	r := t.Engine.lookup(ctx, &Action{Key: key})
	if r == nil {
		return false
	}
	var kept keptVerdict
	if json.Unmarshal(r.Outputs[verdictName], &kept) != nil || kept.Verdict == nil || len(kept.Verdict.Diags) > 0 && kept.Places != target.built.Places {
		return false
	}
	name, label := v.Test, v.Target
	*v = *kept.Verdict
	v.Test, v.Target = name, label
	return true
}

// remember keeps a verdict.
func (t *Tester) remember(ctx context.Context, key cache.Digest, target *Target, v *Verdict) {
	kept := *v
	kept.Diags = append(diag.List(nil), v.Diags...)
	b, err := json.Marshal(keptVerdict{&kept, target.built.Places})
	if err == nil {
		t.Engine.save(ctx, &Action{Key: key}, map[string][]byte{verdictName: b})
	}
}

const verdictName = "verdict.json"
