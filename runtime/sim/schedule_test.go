package sim

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/runtime/trace"
)

func TestPolicies(t *testing.T) {
	// 0 → 1, then 2, 3, 4 independent, 5 waits for 3.
	order := func(cfg Config) string {
		p := newProg(t, cfg)
		p.auto(func() {
			a := p.task()
			p.task(a.Task)
			p.task()
			b := p.task()
			p.task()
			p.task(b.Task)
		})
		p.finish()
		return fmt.Sprint(p.ran)
	}
	for policy, want := range map[Policy]string{
		FIFO:       "[0 2 3 4 1 5]",
		Parallel:   "[0 2 3 4 1 5]",
		OneCore:    "[0 2 3 4 1 5]",
		LIFO:       "[4 3 5 2 0 1]",
		Newest:     "[4 3 5 2 0 1]",
		Sequential: "[0 1 2 3 4 5]",
	} {
		if got := order(Config{Policy: policy, Costs: &Costs{Launch: 1}}); got != want {
			t.Errorf("policy %d ran %s, want %s", policy, got, want)
		}
	}
	seen := map[string]bool{}
	for seed := range uint64(50) {
		got := order(Config{Policy: Random, Seed: seed})
		if got != order(Config{Policy: Random, Seed: seed}) {
			t.Fatalf("seed %d does not repeat", seed)
		}
		seen[got] = true
	}
	if len(seen) < 20 {
		t.Errorf("50 seeds give only %d orders", len(seen))
	}
}

// randomProgram submits a random but race-free program: every writer is INOUT, every reader has an edge to what it read, and a write after reads
// goes through a dummy that waits for the readers. Kernel 0 sets its last argument to a mix of all.
func randomProgram(p *prog, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 5))
	bufs := []Tensor{p.ext(ir.FP32, 8, 8), p.ext(ir.FP32, 8, 8), p.ext(ir.FP32, 8, 8)}
	readers := make([][]any, len(bufs))
	for i, b := range bufs {
		setF32(p.Memory(), b, float32(i+1), float32(2*i+1))
	}
	window := func(t Tensor) Tensor {
		off := u(rng.Uint32N(8), rng.Uint32N(8))
		return p.view(t, u(1+rng.Uint32N(8-off[0]), 1+rng.Uint32N(8-off[1])), off)
	}
	var local func(depth int)
	local = func(depth int) {
		p.auto(func() {
			var made []Tensor
			for range 2 + rng.IntN(6) {
				i, j := rng.IntN(len(bufs)), rng.IntN(len(bufs))
				switch rng.IntN(6) {
				case 0:
					if depth < 5 {
						local(depth + 1)
					}
				case 1:
					o := p.task(in(window(bufs[i])), create(4, 4))
					readers[i] = append(readers[i], o.Task)
					made = append(made, o.Tensors[0])
				case 2:
					if len(made) > 0 {
						m := made[rng.IntN(len(made))]
						p.task(in(m), create(2))
					}
				case 3:
					v := p.Read(bufs[i], u(rng.Uint32N(8), rng.Uint32N(8)), p.site())
					p.task(Scalar{v, "u32"}, create(2))
				default:
					args := []any{in(window(bufs[j])), inout(window(bufs[i]))}
					if len(readers[i]) > 0 {
						d := p.task(append(readers[i], dummy)...).Task
						args = append(args, d)
						readers[i] = []any{d} // stands for them from now on
					}
					readers[j] = append(readers[j], p.task(args...).Task)
				}
			}
		})
	}
	local(1)
}

// mixKernel writes a value into every element of its written arguments that depends on all arguments and on what was there.
func mixKernel(m *Memory, c *KernelCall) error {
	h := float32(1)
	for _, a := range c.Args {
		if a.Tag != Output {
			for at := range each(a.Tensor) {
				h = h*0.75 + f32(m, at)[0]*0.125
			}
		}
	}
	for _, a := range c.Args {
		if a.Tag == InOut || a.Tag == OutputExisting || a.Tag == Output {
			for at := range each(a.Tensor) {
				setF32(m, at, h)
				h = h*0.5 + 1
			}
		}
	}
	return nil
}

// each yields one-element handles of a tensor.
func each(t Tensor) func(yield func(Tensor) bool) {
	return func(yield func(Tensor) bool) {
		one := Tensor{Addr: t.Addr, Size: t.Size, DType: t.DType}
		idx := make([]uint32, len(t.Shape))
		for range t.NumElems() {
			one.Start, _ = t.Flat(idx)
			if !yield(one) {
				return
			}
			for k := len(idx) - 1; k >= 0; k-- {
				if idx[k]++; idx[k] < t.Shape[k] {
					break
				}
				idx[k] = 0
			}
		}
	}
}

// Race-free programs give the same results, traces and graphs under every schedule.
func TestSchedulesAgree(t *testing.T) {
	for seed := range uint64(20) {
		run := func(cfg Config) (result, traceText, graph string) {
			cfg.Kernels, cfg.Record, cfg.Check = runner(mixKernel), true, true
			p := newProg(t, cfg)
			randomProgram(p, seed)
			p.finish()
			for _, e := range p.entries {
				result += fmt.Sprint(f32(p.Memory(), e))
			}
			var b bytes.Buffer
			if err := trace.WriteJSON(&b, slices.Values(trace.Orchestration(p.Trace().Events()))); err != nil {
				t.Fatal(err)
			}
			return result, b.String(), edgeText(p.Graph())
		}
		result, text, graph := run(Config{Policy: Sequential})
		if strings.Count(text, "submit") < 3 {
			continue
		}
		configs := []Config{{Policy: FIFO}, {Policy: LIFO}, {Policy: Newest}, {Policy: OneCore}, {Policy: Late, Seed: 1}, {Policy: Parallel}, {Policy: FIFO, Clusters: 1}, {Policy: FIFO, Costs: &Costs{Launch: 1}}, {Policy: Random, Limits: Limits{TaskWindow: 64}}}
		for s := range uint64(50) {
			configs = append(configs, Config{Policy: Random, Seed: s})
		}
		for _, cfg := range configs {
			r, x, g := run(cfg)
			if r != result {
				t.Errorf("program %d, policy %d, seed %d: other results", seed, cfg.Policy, cfg.Seed)
			}
			if x != text {
				t.Errorf("program %d, policy %d, seed %d: another trace", seed, cfg.Policy, cfg.Seed)
			}
			if g != graph {
				t.Errorf("program %d, policy %d, seed %d: another graph:\n%s\n%s", seed, cfg.Policy, cfg.Seed, g, graph)
			}
		}
	}
}

// Early resolve is a hint.
func Test55EarlyResolveChangesNothing(t *testing.T) {
	run := func(early bool) (string, []int) {
		p := newProg(t, Config{Check: true})
		x := p.ext(ir.FP32, 4)
		set := func(a *TaskArgs) { a.EarlyResolve = early }
		p.task(inout(x), set)
		p.task(inout(x), set)
		p.finish()
		return edgeText(p.Graph()), p.ran
	}
	e0, r0 := run(false)
	e1, r1 := run(true)
	if e0 != e1 || !slices.Equal(r0, r1) {
		t.Errorf("%s %v / %s %v", e0, r0, e1, r1)
	}
}
