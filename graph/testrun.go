package graph

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ptobuild/ptobuild/cache"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/internal/npy"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/passes/lower"
	"github.com/ptobuild/ptobuild/runtime/check"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/kernels"
	"github.com/ptobuild/ptobuild/runtime/native"
	"github.com/ptobuild/ptobuild/runtime/native/protocol"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// DefaultSchedules is how many seeded orders a test tries besides the first-in-first-out one.
const DefaultSchedules = 3

// Tester runs tests: the plan on the simulator, then the compiled C++ on the same schedules, whose traces and results must be equal.
type Tester struct {
	Builder   *Builder
	Session   *Session // that built the targets, when they come from one
	Engine    *Engine
	Toolchain *native.Toolchain // nil: only the plan is run
	Children  *native.Children  // that compiled C++ runs in
	ToolID    string            // identity of the tool for action keys
	HostID    string            // that of the program that compiled C++ runs in
	// Schedules and Seed override the test's own: so many seeded orders from Seed on.
	Schedules int
	Seed      uint64
	Policy    *sim.Policy // only this order; nil: first in, first out, and random ones
	Advice    bool        // say what bounds the speed, and what of the rings is needed
	Rerun     bool        // ignore cached verdicts
	Artifacts Artifacts   // of every test, in a folder of its name
}

// Verdict is the outcome of one test.
type Verdict struct {
	Test     string        `json:"test"`
	Target   string        `json:"target"`
	Passed   bool          `json:"passed"`
	Cached   bool          `json:"cached"`
	Tasks    int           `json:"tasks"`
	Runs     int           `json:"runs"`               // schedules run, per engine
	Worst    float64       `json:"worst"`              // largest absolute error
	Accuracy *Accuracy     `json:"accuracy,omitempty"` // of a test that expects double precision
	Expected string        `json:"expect"`             // what the result was compared with
	Planned  bool          `json:"planned"`            // the plan was run; there is none of a hand-written orchestration
	Compiled bool          `json:"compiled"`
	Advice   *Advice       `json:"advice,omitempty"`
	Took     time.Duration `json:"took_ns"`
	Allowed  []Allowance   `json:"allowed,omitempty"` // what allowed reports of the checks
	Diags    diag.List     `json:"diagnostics"`
}

// Run runs one test. Mistakes and mismatches are in the verdict's reports.
func (t *Tester) Run(ctx context.Context, test *TestConfig, target *Target) *Verdict {
	start := time.Now()
	v := &Verdict{Test: test.Name, Target: target.Label.String(), Planned: target.Hand == nil, Compiled: t.Toolchain != nil}
	in := t.inputs(test, target)
	v.Diags = t.run(ctx, test, target, in, v)
	v.Passed = !v.Diags.HasErrors()
	v.Took = time.Since(start)
	if t.Session != nil && ctx.Err() == nil {
		t.Session.noteTest(v, in, t.Rerun)
	}
	return v
}

func (t *Tester) run(ctx context.Context, test *TestConfig, target *Target, in *testInputs, v *Verdict) diag.List {
	if ctx.Err() != nil {
		return diag.AsList(context.Cause(ctx), CodeTestSetup)
	}
	if in != nil && !t.Rerun && t.Artifacts.Dir == "" && t.recall(ctx, in.key(), target, v) {
		v.Cached = true
		return v.Diags
	}
	target, ds := t.Builder.loaded(target)
	if target == nil {
		return ds
	}
	built, ds := t.Builder.Build(ctx, target)
	if ds.HasErrors() {
		return ds
	}
	more := t.runBuilt(ctx, test, built, v)
	ds = append(slices.DeleteFunc(ds, func(d *diag.Diagnostic) bool { return shown(d, more) }), more...)
	if in == nil || ds.HasErrors() {
		return ds
	}
	if again := t.inputs(test, target); again != nil && again.key() == in.key() { // no file changed meanwhile
		t.remember(ctx, in.key(), target, v)
	}
	return ds
}

// Foretells reports a warning of the compiler about what a run may show: the report of the run, which knows more, takes its place.
func Foretells(d *diag.Diagnostic) bool { return d.Code == lower.CodeUnfencedRead }

// Shown reports that a run has shown what the warning d foretells.
func Shown(d *diag.Diagnostic, verdicts []*Verdict) bool {
	return slices.ContainsFunc(verdicts, func(v *Verdict) bool { return shown(d, v.Diags) })
}

func shown(d *diag.Diagnostic, run diag.List) bool {
	return Foretells(d) && slices.ContainsFunc(run, func(x *diag.Diagnostic) bool {
		return x.Code == check.CodeHostRace && x.Span.Line == d.Span.Line && x.Span.File == d.Span.File
	})
}

// runBuilt runs a test of a built target.
func (t *Tester) runBuilt(ctx context.Context, test *TestConfig, built *Built, v *Verdict) diag.List {
	target := built.Target
	var ds diag.List
	tensors, scalars, more := t.Builder.entryData(test, built.Plan)
	if ds = append(ds, more...); ds.HasErrors() {
		return ds
	}
	job := &exec.Job{Plan: built.Plan, Program: built.Program, Tensors: tensors, Scalars: scalars, Schedules: t.schedules(test),
		Machine: t.Builder.WS.Config.machine(), Timeout: t.Builder.WS.Config.timeout()}
	if t.Artifacts.Dir != "" {
		if ds.Add(t.Artifacts.write(ctx, t, built, job, exec.Schedule{Policy: sim.FIFO}, filepath.Join(t.Artifacts.Dir, test.Name))...); ds.HasErrors() {
			return ds
		}
	}
	expect, err := t.expectation(ctx, test, target, job)
	if err != nil {
		return append(ds, diag.AsList(err, CodeReference)...)
	}
	v.Expected = expect.kind
	key, err := t.key(ctx, test, built, job, expect)
	if err != nil {
		return append(ds, diag.AsList(err, CodeTestSetup)...)
	}
	action := &Action{Mnemonic: "Test", Target: target.Label, Key: key, Run: func(ctx context.Context) (map[string][]byte, error) {
		if err := t.execute(ctx, test, built, job, expect, v); err != nil {
			return nil, err
		}
		b, err := json.Marshal(v)
		return map[string][]byte{"verdict.json": b}, err
	}}
	res, err := t.do(ctx, action)
	if err != nil {
		return append(ds, diag.AsList(err, CodeMismatch)...)
	}
	if res.Cached {
		if json.Unmarshal(res.Outputs["verdict.json"], v) == nil {
			v.Cached = true
		}
	}
	return append(ds, v.Diags...)
}

// do runs an action, without looking for a cached result when the user asked for a rerun.
func (t *Tester) do(ctx context.Context, a *Action) (*Result, error) {
	if !t.Rerun {
		return t.Engine.Do(ctx, a)
	}
	start := time.Now()
	outs, err := a.Run(ctx)
	if err != nil {
		return nil, err
	}
	return &Result{Outputs: outs, Took: time.Since(start)}, nil
}

func (t *Tester) schedules(test *TestConfig) []exec.Schedule {
	n, seed := test.Schedules, uint64(1)
	if n == 0 {
		n = DefaultSchedules
	}
	if t.Schedules > 0 {
		n = t.Schedules
	}
	if t.Seed != 0 {
		seed = t.Seed
	}
	var s []exec.Schedule
	switch {
	case t.Policy == nil:
		s = append(s, exec.Schedule{Policy: sim.FIFO})
	case *t.Policy != sim.Random:
		return []exec.Schedule{{Policy: *t.Policy, Seed: t.Seed}}
	}
	for i := range n {
		s = append(s, exec.Schedule{Policy: sim.Random, Seed: seed + uint64(i)})
	}
	return s
}

// key covers everything that decides a verdict.
func (t *Tester) key(ctx context.Context, test *TestConfig, built *Built, job *exec.Job, expect *expectation) (cache.Digest, error) {
	k := cache.NewKey("Test").Str("tool", t.ToolID).Str("code", built.Code).Str("machine", fmt.Sprintf("%+v", t.Builder.WS.Config.Simulator)).Str("platform", job.Machine.Platform)
	program, places, err := ir.Fingerprint(built.Program)
	if err != nil {
		return cache.Digest{}, err
	}
	if h := built.Target.Hand; h != nil {
		k.Str("description", fmt.Sprintf("%+v", *h))
	}
	k.Digest("program", cache.Digest{Hash: program}).Str("places", fmt.Sprint(hashPlaces(places))) // reports speak of them
	t.Builder.addPlugins(k, t.Builder.pluginsIn(built.Program), false)                             // the program is what passes made of it
	if t.Toolchain != nil {
		text, err := t.source(ctx, built)
		if err != nil {
			return cache.Digest{}, err
		}
		k.Digest("compile", t.Toolchain.Key(text)).Str("host", t.HostID)
		if err := t.addKernels(ctx, k, built); err != nil {
			return cache.Digest{}, err
		}
	}
	for i, x := range job.Tensors {
		k.Str("tensor", fmt.Sprint(built.Plan.Tensors[i].Param, x.DType, x.Shape)).Bytes("data", x.Data)
	}
	k.Str("advice", fmt.Sprint(t.Advice)).Str("allowed", t.Builder.allowKey())
	k.Str("scalars", fmt.Sprint(job.Scalars)).Str("schedules", fmt.Sprint(job.Schedules))
	k.Str("expect", expect.kind).Str("tolerance", fmt.Sprint(test.RTol != nil, test.ATol != nil, expect.tolerances))
	for _, o := range expect.outputs {
		k.Bytes("want", o)
	}
	return k.Sum(), nil
}

// execute runs the plan, compares with the expectation, and then holds the compiled C++ against the plan. A hand-written orchestration has no plan: it runs as it is.
func (t *Tester) execute(ctx context.Context, test *TestConfig, built *Built, job *exec.Job, expect *expectation, v *Verdict) error {
	if t.Toolchain != nil {
		t.Children.Ahead() // while the plan runs
	}
	hand := built.Target.Hand != nil
	var again []exec.Result // of the compiled C++
	var engine exec.Engine = &exec.Plan{Ops: t.Builder.Ops}
	switch {
	case hand: // there is no plan
		compiled, err := t.compiled(ctx, built)
		if err != nil {
			return err
		}
		compiled.Probe = true
		engine = compiled
	case job.HasExternal() && t.Toolchain != nil:
		var err error
		var ds diag.List
		if again, ds, err = t.runCompiled(ctx, built, job); err != nil {
			return err
		}
		v.Diags.Add(slices.DeleteFunc(ds, t.allow(test, v))...)
	}
	first, err := t.checkedRun(ctx, engine, built, job)
	if err != nil {
		return err
	}
	v.Tasks = first.Tasks
	allowed := t.allow(test, v)
	first.Diags = slices.DeleteFunc(withoutIdle(first.Diags), allowed)
	if v.Diags.Add(first.Diags...); first.Failed() {
		t.tellNeeds(ctx, engine, job, v.Diags)
		return v.Diags
	}
	if t.Advice {
		if v.Advice, err = t.advise(ctx, engine, built, job, first); err != nil {
			return err
		}
		v.Advice.Notes = slices.DeleteFunc(v.Advice.Notes, allowed)
	}
	if v.Diags.Add(slices.DeleteFunc(unwritten(test, built, job, &first.Result), allowed)...); v.Diags.HasErrors() {
		return v.Diags
	}
	if expect.kind == doubleKind {
		if err := t.expectDouble(ctx, job, expect, v); err != nil {
			return err
		}
	}
	if ds := t.compare(ctx, test, built, job, expect, &first.Result, exec.Schedule{Policy: sim.Sequential}, v); ds.HasErrors() {
		return append(v.Diags, ds...)
	}
	first.report.Drop(allowed)
	first.allowed = allowed
	if !hand {
		t.mend(ctx, built, job, first)
	}
	wrong := first.report.Diags().HasErrors()
	repeat := func(from int, planned []exec.Result) error { // the compiled C++ does what the plan did
		if t.Toolchain == nil || hand || wrong {
			return nil
		}
		some := *job
		some.Schedules = job.Schedules[from : from+len(planned)]
		var compiled []exec.Result
		if again != nil {
			compiled = again[from:]
		} else if compiled, _, err = t.runCompiled(ctx, built, &some); err != nil {
			return err
		}
		for i := range planned {
			if err := agree(built, &planned[i], &compiled[i], some.Schedules[i]); err != nil {
				return err
			}
		}
		return nil
	}
	ds, err := t.explore(ctx, engine, test, built, job, first, repeat)
	if err != nil {
		return err
	}
	if compiled, ok := engine.(*native.Engine); ok {
		t.mendCpp(ctx, compiled, built, job, first)
	}
	v.Runs = len(job.Schedules)
	v.Diags.Add(first.report.Diags()...)
	if v.Diags.Add(ds...); v.Diags.HasErrors() {
		return v.Diags
	}
	return nil
}

// runCompiled runs the compiled C++. What its C++ kernels wrote goes to the job, for the plan to repeat; ds is what they did wrong.
func (t *Tester) runCompiled(ctx context.Context, built *Built, job *exec.Job) (results []exec.Result, ds diag.List, err error) {
	engine, err := t.compiled(ctx, built)
	if err != nil {
		return nil, nil, err
	}
	if !job.HasExternal() {
		results, err = engine.Run(ctx, job)
		return results, nil, err
	}
	engine.Probe = true
	all := *job
	all.Schedules = append([]exec.Schedule{{Policy: sim.Sequential}}, job.Schedules...) // the checked run is in program order
	if results, err = engine.Run(ctx, &all); err != nil {
		return nil, nil, err
	}
	job.Effects = map[exec.Schedule][][]exec.Write{}
	for i := range results {
		if results[i].Failed() {
			return nil, nil, results[i].Diags
		}
		job.Effects[all.Schedules[i]] = results[i].Effects
	}
	for _, d := range results[0].Diags {
		if d.Code == protocol.CodeInputWritten || d.Code == check.CodeDirection || d.Code == kernels.CodeUnwritten {
			ds.Add(d)
		}
	}
	return results[1:], ds, nil
}

func (t *Tester) compile(ctx context.Context, built *Built) ([]byte, error) {
	src, err := t.source(ctx, built)
	if err != nil {
		return nil, err
	}
	res, err := t.Engine.Do(ctx, &Action{Mnemonic: "Compile", Target: built.Target.Label, Key: t.Toolchain.Key(src),
		Run: func(ctx context.Context) (map[string][]byte, error) {
			compile := t.Toolchain.Compile
			if built.Target.Hand != nil {
				compile = t.Toolchain.CompilePreprocessed
			}
			object, err := compile(ctx, cppName(built), src)
			return map[string][]byte{"orchestration.so": object}, err
		}})
	if err != nil {
		return nil, err
	}
	return res.Outputs["orchestration.so"], nil
}

// source is the C++ that the compiler gets: that of a hand-written file with everything that it includes.
func (t *Tester) source(ctx context.Context, built *Built) ([]byte, error) {
	h := built.Target.Hand
	switch {
	case h == nil:
		return []byte(built.Code), nil
	case t.Toolchain == nil:
		return nil, diag.Errorf(native.CodeToolchain, built.Target.Pos, "a hand-written orchestration only runs compiled").WithHint("run without --no-compile")
	}
	text, reads, err := t.Toolchain.Preprocess(ctx, t.Builder.WS.Root, h.Source, h.Entry, h.Includes)
	for _, f := range reads {
		_, _ = t.Builder.WS.ReadFile(f) // for reports, and so that `ptobuild watch` looks at it
	}
	return text, err
}

func cppName(built *Built) string {
	if h := built.Target.Hand; h != nil {
		return h.Source
	}
	return built.Plan.Func + ".cpp"
}

func (t *Tester) nativeEngine(built *Built, object []byte) *native.Engine {
	lines := make([]native.LineSpan, len(built.Lines))
	for i, l := range built.Lines {
		lines[i] = native.LineSpan{First: int32(l.First), Last: int32(l.Last), Span: l.Span}
	}
	return &native.Engine{Children: t.Children, Object: object, Source: cppName(built), Lines: lines, Ops: t.Builder.Ops}
}

// doubleKind is the expectation that the result is what double precision gives.
const doubleKind = "double precision"

// sequentialKind is the expectation that no order of the tasks changes the result.
const sequentialKind = "sequential schedule"

// expectation is what the outputs are compared with. Those of sequentialKind are known once the plan has run in program order.
type expectation struct {
	kind       string
	outputs    [][]byte // by entry tensor; nil: not compared
	tolerances []tolerance
}

// expectation evaluates the test's expect table.
func (t *Tester) expectation(ctx context.Context, test *TestConfig, target *Target, job *exec.Job) (*expectation, error) {
	e := &expectation{outputs: make([][]byte, len(job.Tensors)), tolerances: make([]tolerance, len(job.Tensors))}
	for i, x := range job.Plan.Tensors {
		e.tolerances[i] = toleranceOf(test, x.DType)
	}
	at := diag.Span{File: ConfigName, Line: int32(test.Line), Col: 1}
	var err error
	switch {
	case len(test.Expect.Npy) > 0:
		e.kind = ".npy files"
		err = t.expectNpy(test, job, e)
	case test.Expect.Float64 && target.Hand != nil:
		err = diag.Errorf(CodeTestSetup, diag.Span{}, "test %q: a hand-written orchestration cannot be evaluated in double precision", test.Name).
			WithHint("give a reference command or .npy files")
	case test.Expect.Float64:
		e.kind = doubleKind // evaluated when the verdict is not known yet
	case len(test.Expect.Reference) > 0:
		e.kind = "reference command"
		err = t.expectReference(ctx, test, target, job, e)
	default:
		e.kind = sequentialKind
		for i := range e.tolerances {
			e.tolerances[i] = tolerance{exact: true}
		}
	}
	if err != nil {
		for _, d := range diag.AsList(err, CodeReference) {
			if !d.Span.IsValid() {
				d.Span = at
			}
		}
		return nil, diag.AsList(err, CodeReference)
	}
	return e, nil
}

// outputsOf lists the entry tensors that a program writes.
func outputsOf(job *exec.Job) []int {
	var is []int
	for i, x := range job.Plan.Tensors {
		if x.Dir != ir.In {
			is = append(is, i)
		}
	}
	return is
}

func (t *Tester) expectNpy(test *TestConfig, job *exec.Job, e *expectation) error {
	var names []string
	for _, i := range outputsOf(job) {
		p := job.Plan.Tensors[i]
		names = append(names, p.Param)
		file, ok := test.Expect.Npy[p.Param]
		if !ok {
			continue
		}
		a, err := t.Builder.readNpy(file)
		if err == nil {
			if err = fits(a, p.DType, job.Tensors[i].Shape); err != nil {
				err = fmt.Errorf("%s %w", file, err)
			}
		}
		if err != nil {
			return diag.Errorf(CodeTestSetup, diag.Span{}, "test %q: expected %q: %v", test.Name, p.Param, err)
		}
		e.outputs[i] = a.Data
	}
	for name := range test.Expect.Npy {
		if !slices.Contains(names, name) {
			return diag.Errorf(CodeTestSetup, diag.Span{}, "test %q expects %q, which is no output of the target", test.Name, name).
				WithHint("its outputs are: %s", strings.Join(names, ", "))
		}
	}
	return nil
}

// expectReference runs the reference command with two more arguments: a folder with <parameter>.npy for every tensor and scalars.json, and an empty
// folder in which it writes <parameter>.npy for the outputs. Its result is cached by the command, its input data and the files it declares.
func (t *Tester) expectReference(ctx context.Context, test *TestConfig, target *Target, job *exec.Job, e *expectation) error {
	k := cache.NewKey("Reference").Str("command", strings.Join(test.Expect.Reference, "\x00"))
	inputs := map[string][]byte{}
	for i, p := range job.Plan.Tensors {
		x := job.Tensors[i]
		a := &npy.Array{DType: x.DType, Data: x.Data}
		for _, d := range x.Shape {
			a.Shape = append(a.Shape, int64(d))
		}
		b, err := npy.Marshal(a)
		if err != nil {
			return diag.Errorf(CodeReference, diag.Span{}, "test %q: input %q: %v", test.Name, p.Param, err)
		}
		inputs[p.Param+".npy"] = b
		k.Str("input", p.Param).Bytes("data", b)
	}
	scalars := []byte("{}")
	if len(test.Scalars) > 0 {
		var err error
		if scalars, err = json.Marshal(test.Scalars); err != nil {
			return err
		}
	}
	inputs["scalars.json"] = scalars
	k.Bytes("scalars", scalars)
	files, err := t.referenceFiles(test)
	if err != nil {
		return err
	}
	for _, f := range files {
		b, err := t.Builder.WS.ReadFile(f)
		if err != nil {
			return diag.Errorf(CodeReference, diag.Span{}, "test %q: reference file %s: %v", test.Name, f, unwrapPath(err))
		}
		k.Str("file", f).Bytes("content", b)
	}
	var outs []string
	for _, i := range outputsOf(job) {
		outs = append(outs, job.Plan.Tensors[i].Param)
	}
	k.Str("outputs", strings.Join(outs, "\x00"))
	res, err := t.do(ctx, &Action{Mnemonic: "Reference", Target: target.Label, Key: k.Sum(), Run: func(ctx context.Context) (map[string][]byte, error) {
		return t.runReference(ctx, test, inputs, outs)
	}})
	if err != nil {
		return err
	}
	for _, i := range outputsOf(job) {
		p := job.Plan.Tensors[i]
		a, err := npy.Unmarshal(res.Outputs[p.Param+".npy"])
		if err == nil {
			err = fits(a, p.DType, job.Tensors[i].Shape)
		}
		if err != nil {
			return diag.Errorf(CodeReference, diag.Span{}, "test %q: %s.npy of the reference: %v", test.Name, p.Param, err)
		}
		e.outputs[i] = a.Data
	}
	return nil
}

func (t *Tester) referenceFiles(test *TestConfig) ([]string, error) {
	var files []string
	for _, arg := range test.Expect.Reference { // a script that is named is read
		if info, err := os.Stat(t.Builder.WS.Abs(arg)); err == nil && info.Mode().IsRegular() && !filepath.IsAbs(arg) {
			files = append(files, arg)
		}
	}
	for _, g := range test.Expect.Files {
		found, err := globFiles(t.Builder.WS.Root, g)
		if err != nil {
			return nil, diag.Errorf(CodeReference, diag.Span{}, "test %q: files pattern %q: %v", test.Name, g, err)
		}
		if len(found) == 0 {
			return nil, diag.Errorf(CodeReference, diag.Span{}, "test %q: files pattern %q matches nothing", test.Name, g)
		}
		files = append(files, found...)
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

func (t *Tester) runReference(ctx context.Context, test *TestConfig, inputs map[string][]byte, outs []string) (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", "ptobuild-ref-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	for _, d := range []string{in, out} {
		if err := os.Mkdir(d, 0o777); err != nil {
			return nil, err
		}
	}
	for name, b := range inputs {
		if err := os.WriteFile(filepath.Join(in, name), b, 0o666); err != nil {
			return nil, err
		}
	}
	argv := test.Expect.Reference
	cmd := osexec.CommandContext(ctx, argv[0], append(slices.Clone(argv[1:]), in, out)...)
	cmd.Dir = t.Builder.WS.Root
	text, err := runCommand(cmd)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		return nil, diag.Errorf(CodeReference, diag.Span{}, "test %q: the reference command %q failed: %v%s", test.Name, strings.Join(argv, " "), err, tail(text)).
			WithHint("it is run in the workspace root with an input folder and an output folder as last arguments")
	}
	result := map[string][]byte{}
	for _, o := range outs {
		b, err := os.ReadFile(filepath.Join(out, o+".npy"))
		if err != nil {
			return nil, diag.Errorf(CodeReference, diag.Span{}, "test %q: the reference command wrote no %s.npy", test.Name, o).
				WithHint("it must write %s.npy into the folder given as its last argument", strings.Join(outs, ".npy, "))
		}
		result[o+".npy"] = b
	}
	return result, nil
}

// runCommand runs a command of the user's and gives its output. It is a process group of its own: an interrupt reaches it through us, and what it started ends with it.
// What goes on beyond its end, a server of a build system perhaps, is not waited for.
func runCommand(cmd *osexec.Cmd) (output string, err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	if err = cmd.Run(); errors.Is(err, osexec.ErrWaitDelay) {
		err = nil
	}
	return text.String(), err
}

// tail is the end of a command's output, for a report.
func tail(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return ""
	}
	const limit = 1000
	if len(s) > limit {
		s = "…" + s[len(s)-limit:]
	}
	return "\n" + s
}
