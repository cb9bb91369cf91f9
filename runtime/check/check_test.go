package check

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// prog drives a Runtime; every call stands on a line of its own.
type prog struct {
	*sim.Runtime
	t    testing.TB
	line int32
}

func newProg(t testing.TB, cfg sim.Config) *prog {
	t.Helper()
	cfg.Check = true
	cfg.Names = []string{"k", "fill", "use", "tile"}
	rt, err := sim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(rt.Close)
	return &prog{Runtime: rt, t: t}
}

func (p *prog) site() sim.Site {
	p.line++
	return sim.Site{File: "prog.py", Line: p.line, Col: 1}
}

func (p *prog) ext(d ir.DType, shape ...uint32) sim.Tensor {
	p.t.Helper()
	t, err := p.NewTensor(d, shape...)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.Entry(append(p.Entries(), t)); err != nil {
		p.t.Fatal(err)
	}
	return t
}

func in(t sim.Tensor) sim.Arg    { return sim.Arg{Tag: sim.Input, Tensor: t} }
func out(t sim.Tensor) sim.Arg   { return sim.Arg{Tag: sim.OutputExisting, Tensor: t} }
func inout(t sim.Tensor) sim.Arg { return sim.Arg{Tag: sim.InOut, Tensor: t} }
func nodep(t sim.Tensor) sim.Arg { return sim.Arg{Tag: sim.NoDep, Tensor: t} }
func create(n uint32) sim.Arg {
	return sim.Arg{Tag: sim.Output, Create: &sim.CreateInfo{Shape: []uint32{n}, DType: ir.FP32}}
}

// orderOnly is the set of dependencies that keep no buffers.
type orderOnly uint64

func (p *prog) task(args ...any) sim.Outputs { return p.taskAt(p.site(), args...) }

func (p *prog) taskAt(at sim.Site, args ...any) sim.Outputs {
	a := sim.TaskArgs{Kind: sim.KindAIV, Kernels: [3]int32{-1, 0, -1}, TimingSlot: -1}
	for _, x := range args {
		switch x := x.(type) {
		case sim.Arg:
			a.Args = append(a.Args, x)
		case sim.TaskID:
			a.Deps = append(a.Deps, x)
		case orderOnly:
			a.OrderOnly = uint64(x)
		case *sim.Predicate:
			a.Pred = x
		case sim.Scalar:
			a.Scalars = append(a.Scalars, x)
		case int:
			a.Kernels[1] = int32(x)
		case string:
			a.Kind, a.Kernels = sim.KindDummy, [3]int32{-1, -1, -1}
		}
	}
	return p.Submit(&a, at)
}

func (p *prog) scope(manual bool, body func()) {
	p.ScopeBegin(manual, p.site())
	body()
	p.ScopeEnd(p.site())
}

func (p *prog) view(t sim.Tensor, shape, off []uint32) sim.Tensor {
	v, err := t.View(shape, off, false)
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

func u(v ...uint32) []uint32 { return v }

const (
	dummy = "dummy"
	tile  = 3 // the kernel that writes row s of its tensor, s its scalar, and says so
)

// racesOf checks the run of p.
func racesOf(p *prog) diag.List {
	r := Run(p.Runtime, Names{Entries: []string{"x", "y", "g"}, Params: [][]Param{{{Name: "a"}, {Name: "b"}}, {{Name: "o"}, {Name: "p"}}}})
	r.Lifetimes = nil
	return r.Diags()
}

type rows struct{}

func (rows) Run(_ *sim.Memory, c *sim.KernelCall) error {
	if c.Kernel == tile && c.Track() {
		v, err := c.Args[0].Tensor.View(u(1, 16), u(uint32(c.Scalars[0].Bits), 0), false)
		if err != nil {
			return err
		}
		c.Touch(sim.Touch{Write: true, Window: v})
		c.Touch(sim.Touch{Write: true, Window: v})
	}
	return nil
}

func TestRaces(t *testing.T) {
	tests := []struct {
		name string
		run  func(p *prog, x, y sim.Tensor)
		want []string // one per report: code, then fragments of message, hint and related, separated by " | "
	}{
		{"05 write after read", func(p *prog, x, y sim.Tensor) {
			p.task(in(x), 2)
			p.task(inout(x), 1)
		}, []string{"PTO-R080 | write-after-read race on x: task 1 (fill) may overwrite x[0:16, 0:16] while task 0 (use) still reads it; argument o | task 0 (use) reads x[0:16, 0:16] here; argument 0 | add the id of task 0 to deps= of task 1 | InOut"}},
		{"06 write after write", func(p *prog, x, y sim.Tensor) {
			p.task(out(x))
			p.task(out(x))
			p.task(in(x))
		}, []string{"PTO-R080 | write-after-write race on x: task 0 (k) and task 1 (k) write x[0:16, 0:16] in no fixed order; argument a | Out argument does not wait"}},
		{"tracked programs are clean", func(p *prog, x, y sim.Tensor) {
			p.task(out(x))
			p.task(in(x), out(y))
			p.task(inout(y))
			o := p.task(in(y), create(16))
			p.task(in(o.Tensors[0]))
		}, nil},
		{"manual: a reader without the edge", func(p *prog, x, y sim.Tensor) {
			p.scope(true, func() {
				p.task(out(x))
				p.task(in(x), out(y))
			})
		}, []string{"PTO-R080 | read-after-write race on x: task 1 (k) may read x[0:16, 0:16] before task 0 (k) has written it | MANUAL"}},
		{"manual: with the edge", func(p *prog, x, y sim.Tensor) {
			p.scope(true, func() {
				a := p.task(out(x))
				p.task(in(x), out(y), a.Task)
			})
		}, nil},
		{"manual write, AUTO read", func(p *prog, x, y sim.Tensor) {
			p.scope(true, func() { p.task(out(x)) })
			p.task(in(x))
		}, []string{"PTO-R080 | may read x[0:16, 0:16] before | later tasks do not see what they wrote"}},
		{"ordered through a dummy", func(p *prog, x, y sim.Tensor) {
			p.scope(true, func() {
				a, b := p.task(in(x)), p.task(in(x))
				d := p.task(dummy, a.Task, b.Task, in(y))
				p.task(out(x), d.Task)
			})
		}, nil},
		{"ordered through another buffer", func(p *prog, x, y sim.Tensor) {
			p.task(in(x), out(y))
			p.task(in(y), out(x))
		}, nil},
		{"ordered by an element access between", func(p *prog, x, y sim.Tensor) {
			p.task(in(x), out(y))
			p.Read(y, u(0, 0), p.site())
			p.task(out(x))
		}, nil},
		{"an element access before both orders nothing", func(p *prog, x, y sim.Tensor) {
			p.Read(y, u(0, 0), p.site())
			p.task(in(x))
			p.task(out(x))
		}, []string{"PTO-R080 | may overwrite"}},
		{"manual_dep", func(p *prog, x, y sim.Tensor) {
			x.ManualDep = true
			p.task(out(x))
			p.task(in(x))
		}, []string{"PTO-R080 | may read | manual_dep tensor is not tracked"}},
		{"07 NO_DEP with a known direction", func(p *prog, x, y sim.Tensor) {
			p.task(out(x))
			p.task(nodep(x), 2)
		}, []string{"PTO-R080 | may read | drop no_dep"}},
		{"NO_DEP with an unknown direction", func(p *prog, x, y sim.Tensor) {
			p.task(out(x))
			p.task(nodep(x), 0)
		}, nil},
		{"exact where the runtime is conservative: even and odd columns", func(p *prog, x, y sim.Tensor) {
			for k := range uint32(2) {
				v, err := x.Slice(1, k, 16, 2, false)
				if err != nil {
					p.t.Fatal(err)
				}
				p.task(out(v))
			}
		}, nil},
		{"tiles", func(p *prog, x, y sim.Tensor) {
			for k := range uint32(4) {
				p.task(out(p.view(x, u(4, 16), u(4*k, 0))))
			}
			p.task(in(x))
		}, nil},
		{"tiles that overlap by a row", func(p *prog, x, y sim.Tensor) {
			p.task(out(p.view(x, u(5, 16), u(0, 0))))
			p.task(out(p.view(x, u(4, 16), u(4, 0))))
		}, []string{"PTO-R080 | in no fixed order"}},
		{"the same memory through another base", func(p *prog, x, y sim.Tensor) {
			z := x
			z.Addr += 64
			z.Size -= 64
			z.Shape, z.Strides = u(4, 16), u(16, 1)
			p.task(in(z))
			p.task(inout(x))
		}, []string{"PTO-R080 | may overwrite"}},
		{"a writer through another base, which a device does not find", func(p *prog, x, y sim.Tensor) {
			z := x
			z.Addr += 64
			z.Size -= 64
			z.Shape, z.Strides = u(4, 16), u(16, 1)
			p.task(inout(z))
			p.task(in(x))
		}, []string{"PTO-R080 | may read x[1:5, 0:16] before | base address of the tensor"}},
		{"loops report once", func(p *prog, x, y sim.Tensor) {
			a, b := p.site(), p.site()
			for k := range uint32(5) {
				v := p.view(x, u(1, 16), u(k, 0))
				p.taskAt(a, in(v))
				p.taskAt(b, inout(v))
			}
		}, []string{"PTO-R080 | (5 such pairs of tasks; this is the first)"}},
		{"47 predicate without its producer", func(p *prog, x, y sim.Tensor) {
			g := p.ext(ir.INT32, 4)
			p.task(out(g), 1)
			p.task(out(x), &sim.Predicate{Tensor: g, Index: u(2), Op: ir.Gt})
		}, []string{"PTO-R022 | the predicate of task 1 (k) reads g[2], which task 0 (fill) may not have written yet | add the id of task 0 to deps= of task 1"}},
		{"47 predicate with its producer, direct and through a barrier", func(p *prog, x, y sim.Tensor) {
			g := p.ext(ir.INT32, 4)
			a := p.task(out(g))
			p.task(out(x), a.Task, &sim.Predicate{Tensor: g, Index: u(2), Op: ir.Gt})
			d := p.task(dummy, a.Task)
			p.task(out(y), d.Task, &sim.Predicate{Tensor: g, Index: u(2), Op: ir.Gt})
		}, nil},
		{"predicate whose element is not written", func(p *prog, x, y sim.Tensor) {
			g := p.ext(ir.INT32, 4)
			p.task(out(p.view(g, u(2), u(0))))
			p.task(out(x), &sim.Predicate{Tensor: g, Index: u(2), Op: ir.Gt})
		}, nil},
		{"predicate overwritten", func(p *prog, x, y sim.Tensor) {
			g := p.ext(ir.INT32, 4)
			p.task(out(x), &sim.Predicate{Tensor: g, Index: u(2), Op: ir.Gt})
			p.task(out(g))
		}, []string{"PTO-R080 | may overwrite g[2] while task 0 (k) still reads it | predicate"}},
		{"element read of a manual write", func(p *prog, x, y sim.Tensor) {
			p.scope(true, func() { p.task(out(x)) })
			p.Read(x, u(0, 0), p.site())
		}, []string{"PTO-R081 | the orchestration reads x[0, 0], which task 0 (k) may not have written yet | outside of MANUAL scopes"}},
		{"element read of a tracked write", func(p *prog, x, y sim.Tensor) {
			p.task(out(x))
			p.Read(x, u(0, 0), p.site())
			p.task(out(x))
		}, nil},
		{"element write and a pure reader", func(p *prog, x, y sim.Tensor) {
			p.task(in(x))
			p.Write(x, u(0, 0), 1, p.site())
		}, []string{"PTO-R081 | overwrites x[0, 0], which task 0 (k) may still read | as InOut"}},
		{"element write waits for the readers of a tracked writer", func(p *prog, x, y sim.Tensor) {
			p.task(out(x))
			p.task(in(x))
			p.Write(x, u(0, 0), 1, p.site())
			p.task(in(x))
		}, nil},
		{"element write and a reader of what an ended scope wrote: the runtime may have forgotten the writer, and with it its readers", func(p *prog, x, y sim.Tensor) {
			p.scope(false, func() { p.task(out(x)) })
			p.task(in(x))
			p.Write(x, u(0, 0), 1, p.site())
		}, []string{"PTO-R081 | overwrites x[0, 0], which task 1 (k) may still read | as InOut"}},
		{"element write and such a reader, while an older task holds the ring", func(p *prog, x, y sim.Tensor) {
			p.scope(false, func() {
				p.scope(false, func() {
					p.task(out(y)) // in ring 3, as the deeper ones
					p.scope(false, func() { p.task(out(x)) })
					p.task(in(x))
					p.Write(x, u(0, 0), 1, p.site())
				})
			})
		}, nil},
		{"kernels that touch a tile of what they get", func(p *prog, x, y sim.Tensor) {
			p.scope(true, func() {
				for k := range uint32(4) {
					p.task(out(x), tile, sim.Scalar{Bits: uint64(k)})
				}
			})
		}, nil},
		{"kernels that touch the same tile", func(p *prog, x, y sim.Tensor) {
			p.scope(true, func() {
				for k := range uint32(4) {
					p.task(out(x), tile, sim.Scalar{Bits: uint64(k / 3)})
				}
			})
		}, []string{
			"PTO-R080 | task 0 (tile) and task 1 (tile) write x[0:1, 0:16] in no fixed order | exact",
			"PTO-R080 | task 1 (tile) and task 2 (tile) write | exact", // the edges of both order 0 and 2
		}},
		{"a NO_DEP argument that is really written", func(p *prog, x, y sim.Tensor) {
			for range 2 {
				p.task(nodep(x), tile, sim.Scalar{})
			}
		}, []string{"PTO-R080 | in no fixed order | drop no_dep | exact"}},
		{"a skipped task touches nothing", func(p *prog, x, y sim.Tensor) {
			g := p.ext(ir.INT32, 1)
			p.scope(true, func() {
				p.task(out(x))
				p.task(out(x), &sim.Predicate{Tensor: g, Index: u(0), Op: ir.Gt})
			})
		}, nil},
		{"memory of an ended scope used again", func(p *prog, x, y sim.Tensor) {
			for range 8 {
				p.scope(false, func() {
					o := p.task(create(1 << 10))
					p.task(in(o.Tensors[0]))
				})
			}
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for policy := sim.FIFO; policy <= sim.Newest; policy++ {
				p := newProg(t, sim.Config{
					Policy: policy, Seed: 3, Limits: sim.Limits{Heap: 16 << 10},
					Kernels: rows{}, Dirs: [][]ir.ParamDir{nil, {ir.Out}, {ir.In}},
				})
				x, y := p.ext(ir.FP32, 16, 16), p.ext(ir.FP32, 16, 16)
				p.scope(false, func() { tt.run(p, x, y) })
				if err := p.Finish(); err != nil {
					t.Fatal(err)
				}
				got := racesOf(p)
				if len(got) != len(tt.want) {
					t.Fatalf("policy %d: %d reports, want %d:\n%v", policy, len(got), len(tt.want), got)
				}
				for i, want := range tt.want {
					d := got[i]
					text := fmt.Sprint(d.Error(), d.Related)
					if exact := strings.Contains(want, "exact"); exact == (d.Severity == diag.Warning) || exact == strings.Contains(text, "as declared") {
						t.Errorf("severity of %s", text)
					}
					if !d.Span.IsValid() || len(d.Related) != 1 || !d.Related[0].Span.IsValid() {
						t.Errorf("places missing in %s", text)
					}
					for _, w := range strings.Split(strings.TrimSuffix(want, " | exact"), " | ") {
						if !strings.Contains(text, w) {
							t.Errorf("policy %d: %q does not say %q", policy, text, w)
						}
					}
				}
			}
		})
	}
}

func TestOffByDefault(t *testing.T) {
	rt, err := sim.New(sim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if Run(rt, Names{}) != nil {
		t.Error("reports without a graph")
	}
}

// Random programs against a plain search: all pairs, the transitive closure of the edges.
func TestRacesAgainstAllPairs(t *testing.T) {
	racy := 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 21))
		p := newProg(t, sim.Config{Policy: sim.Policy(seed % 5)})
		bufs := []sim.Tensor{p.ext(ir.FP32, 8, 8), p.ext(ir.FP32, 8, 8)}
		tags := []sim.ArgTag{sim.Input, sim.InOut, sim.OutputExisting}
		var ids []sim.TaskID
		for range 1 + rng.IntN(12) {
			p.scope(rng.IntN(4) == 0, func() {
				for range rng.IntN(4) {
					if rng.IntN(12) == 0 {
						p.Read(bufs[rng.IntN(2)], u(rng.Uint32N(8), rng.Uint32N(8)), p.site())
						continue
					}
					if rng.IntN(16) == 0 {
						p.Write(bufs[rng.IntN(2)], u(rng.Uint32N(8), rng.Uint32N(8)), 0, p.site())
						continue
					}
					var args []any
					for range 1 + rng.IntN(2) {
						off := u(rng.Uint32N(8), rng.Uint32N(8))
						v := p.view(bufs[rng.IntN(2)], u(1+rng.Uint32N(8-off[0]), 1+rng.Uint32N(8-off[1])), off)
						args = append(args, sim.Arg{Tag: tags[rng.IntN(3)], Tensor: v})
					}
					for range rng.IntN(4) {
						if len(ids) > 0 {
							args = append(args, ids[max(0, len(ids)-1-rng.IntN(4))])
						}
					}
					ids = append(ids, p.task(args...).Task)
				}
			})
		}
		if err := p.Finish(); err != nil {
			t.Fatal(err)
		}
		want := allPairs(p.Graph())
		var got [][2]int32
		for _, d := range racesOf(p) {
			pair := [2]int32{d.Related[0].Span.Line, d.Span.Line}
			if !slices.Contains(want, pair) {
				t.Errorf("seed %d: %v is no race", seed, d)
			}
			got = append(got, pair)
		}
		if len(want) > 0 {
			racy++
			if len(got) == 0 {
				t.Errorf("seed %d: races not found: %v", seed, want)
			}
		}
	}
	if racy < 50 || racy > 290 {
		t.Errorf("%d of 300 programs have races: the generator is no test", racy)
	}
}

// allPairs lists the lines of conflicting accesses without a path.
func allPairs(g *sim.Graph) (pairs [][2]int32) {
	n := len(g.Nodes)
	before := make([]map[int]bool, n)
	lastAccess := -1
	for i := range g.Nodes {
		before[i] = map[int]bool{}
		add := func(k int) {
			before[i][k] = true
			for x := range before[k] {
				before[i][x] = true
			}
		}
		for _, e := range g.Nodes[i].Preds {
			add(int(e.From))
			if g.Nodes[i].Kind == sim.NodeWrite {
				for k := range i {
					if g.Nodes[k].Kind == sim.NodeTask && slices.ContainsFunc(g.Nodes[k].Preds, func(x sim.Edge) bool { return x.From == e.From && x.Held }) {
						add(k)
					}
				}
			}
		}
		if lastAccess >= 0 {
			add(lastAccess)
		}
		if k := g.Nodes[i].Kind; k == sim.NodeRead || k == sim.NodeWrite {
			lastAccess = i
		}
	}
	type use struct {
		t      sim.Tensor
		writes bool
	}
	uses := func(n *sim.Node) (l []use) {
		switch n.Kind {
		case sim.NodeRead, sim.NodeWrite:
			return []use{{element(&n.Access.Tensor, n.Access.Index), n.Kind == sim.NodeWrite}}
		}
		for _, a := range n.Args {
			l = append(l, use{a.Tensor, a.Tag != sim.Input})
		}
		return l
	}
	for i := range g.Nodes {
		for k := range i {
			if before[i][k] {
				continue
			}
			hit := false
			for _, a := range uses(&g.Nodes[k]) {
				for _, b := range uses(&g.Nodes[i]) {
					hit = hit || (a.writes || b.writes) && sim.Overlap(&a.t, &b.t)
				}
			}
			if hit {
				pairs = append(pairs, [2]int32{g.Nodes[k].Site.Line, g.Nodes[i].Site.Line})
			}
		}
	}
	return pairs
}

func TestLifetimes(t *testing.T) {
	alloc := func(p *prog) sim.Outputs {
		return p.Alloc([]sim.CreateInfo{{Shape: u(16), DType: ir.FP32}}, p.site())
	}
	gate := func(a sim.Outputs) *sim.Predicate {
		return &sim.Predicate{Tensor: a.Tensors[0], Index: u(0), Op: ir.Gt}
	}
	tests := []struct {
		name string
		run  func(p *prog, x sim.Tensor)
		want int
	}{
		{"every user names the allocation", func(p *prog, x sim.Tensor) {
			a := alloc(p)
			w := p.task(out(a.Tensors[0]), a.Task)
			p.task(in(a.Tensors[0]), a.Task, w.Task)
		}, 0},
		{"a reader that names only the writer", func(p *prog, x sim.Tensor) {
			a := alloc(p)
			w := p.task(out(a.Tensors[0]), a.Task)
			p.task(in(a.Tensors[0]), w.Task)
		}, 1},
		{"kept by a later task that names the allocation", func(p *prog, x sim.Tensor) {
			a := alloc(p)
			w := p.task(out(a.Tensors[0]), a.Task)
			r := p.task(in(a.Tensors[0]), w.Task)
			p.task(dummy, a.Task, r.Task)
		}, 0},
		{"a later task that is not ordered keeps nothing", func(p *prog, x sim.Tensor) {
			a := alloc(p)
			w := p.task(out(a.Tensors[0]), a.Task)
			p.task(in(a.Tensors[0]), w.Task)
			p.task(dummy, a.Task)
		}, 1},
		{"an edge for the order only", func(p *prog, x sim.Tensor) {
			a := alloc(p)
			p.task(out(a.Tensors[0]), a.Task, orderOnly(1))
		}, 1},
		{"an edge for the order, and for the buffer", func(p *prog, x sim.Tensor) {
			a := alloc(p)
			p.task(out(a.Tensors[0]), a.Task, a.Task, orderOnly(1))
			p.task(out(a.Tensors[0]), a.Task, a.Task, orderOnly(2))
		}, 0},
		{"entry tensors live for ever", func(p *prog, x sim.Tensor) { p.task(in(x)) }, 0},
		{"the operand of a predicate", func(p *prog, x sim.Tensor) {
			a := alloc(p)
			w := p.task(out(a.Tensors[0]), a.Task)
			p.task(out(x), w.Task, gate(a))
		}, 1},
		{"the operand of a predicate that names the allocation", func(p *prog, x sim.Tensor) {
			a := alloc(p)
			w := p.task(out(a.Tensors[0]), a.Task)
			p.task(out(x), w.Task, a.Task, gate(a))
		}, 0},
	}
	for _, tt := range tests {
		for k := range 4 {
			manual := k%2 == 0
			if !manual && !strings.Contains(tt.name, "predicate") { // AUTO scopes keep what arguments use
				continue
			}
			p := newProg(t, sim.Config{})
			x := p.ext(ir.FP32, 16)
			p.scope(manual, func() { tt.run(p, x) })
			if more := k < 2; more { // somebody asks for the memory again
				p.scope(false, func() { alloc(p) })
			}
			if err := p.Finish(); err != nil {
				t.Fatal(err)
			}
			want := tt.want
			l := (&Report{Lifetimes: Run(p.Runtime, Names{}).Lifetimes}).Diags()
			if len(l) != want {
				t.Errorf("%s: %v", tt.name, l)
			}
			for _, d := range l {
				if d.Severity != diag.Warning || d.Code != CodeLifetime || !strings.Contains(d.Error(), "the buffer made at prog.py:2:1") || !strings.Contains(d.Hint, "deps=") {
					t.Errorf("%s: %v", tt.name, d)
				}
			}
		}
	}
}

// A run with its graph kept, and the race check: tiles that are updated in turn, readers of everything, ordering over long paths.
func BenchmarkRaces(b *testing.B) {
	p := newProg(b, sim.Config{})
	x := p.ext(ir.FP32, 64, 16)
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; {
		p.scope(false, func() {
			for k := uint32(0); k < 64 && i < b.N; k++ {
				p.task(inout(p.view(x, u(1, 16), u(k, 0))))
				i++
			}
			p.task(inout(x))
		})
	}
	if err := p.Finish(); err != nil {
		b.Fatal(err)
	}
	if l := racesOf(p); len(l) > 0 {
		b.Fatal(l)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
}
