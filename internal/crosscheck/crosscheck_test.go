// Package crosscheck holds tests that run whole random programs through every stage and compare what each stage means: the front end's program as Python
// would run it, the plan on the simulator, and the compiled C++.
package crosscheck

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/codegen/orch"
	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/runtime/native"
	"github.com/ptobuild/ptobuild/runtime/native/host"
	"github.com/ptobuild/ptobuild/runtime/native/protocol"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == protocol.Arg {
		host.Main()
	}
	os.Exit(m.Run())
}

// number reads how many programs to try from the environment; CROSSCHECK_FIRST is the first seed. More of them than CI runs find more:
//
//	CROSSCHECK_FIRST=1000 CROSSCHECK_RESULTS=10000 go test -run TestResults ./internal/crosscheck
func number(t testing.TB, name string, normal int) uint64 {
	if s := os.Getenv(name); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return uint64(n)
	}
	return uint64(normal)
}

func optionsOf(seed uint64) passes.Options {
	return passes.Options{AutoDeps: seed%4 == 3, NoManualAllocDeps: seed%8 == 5, StoreTargetInOut: seed%8 == 6}
}

// TestResults compares plans with the reference (X-03, and that no pass or lowering changes the meaning).
func TestResults(t *testing.T) {
	t.Parallel()
	refused := map[diag.Code]int{}
	ran, failed := 0, 0
	first := number(t, "CROSSCHECK_FIRST", 0)
	for seed := first; seed < first+number(t, "CROSSCHECK_RESULTS", 300); seed++ {
		opt := optionsOf(seed)
		check := func(src string) (diag.Code, *problem) {
			b, code, p := build(src, opt)
			if b == nil {
				return code, p
			}
			return b.checkResults(!opt.AutoDeps)
		}
		body := generate(seed)
		code, p := check(source(body))
		switch {
		case p != nil:
			small := shrink(body, 5000, func(body []*node) bool {
				_, q := check(source(body))
				return q != nil && q.kind == p.kind
			})
			_, p = check(source(small))
			t.Errorf("seed %d, %+v: %v\n%s", seed, opt, p, source(small)[len(kernels):])
			if failed++; failed == 10 {
				t.Fatal("enough")
			}
		case code != "":
			refused[code]++
		default:
			ran++
		}
	}
	t.Logf("%d ran, refused: %v", ran, refused)
	if total := number(t, "CROSSCHECK_RESULTS", 300); uint64(ran) < total/2 {
		t.Errorf("the generator is too wild: only %d of %d programs ran", ran, total)
	}
}

// TestDerivedOrder checks that derived dependencies that cover a body order all its conflicts: every order of the tasks gives the same result. The trips of
// pl.parallel are left out: the program says that they do not conflict, and these do.
func TestDerivedOrder(t *testing.T) {
	t.Parallel()
	covered, failed := 0, 0
	first := number(t, "CROSSCHECK_FIRST", 0)
	for seed := first; seed < first+number(t, "CROSSCHECK_ORDERS", 200); seed++ {
		check := func(body []*node) *problem {
			src := source(body)
			if strings.Contains(src, "pl.parallel") {
				return nil
			}
			b, _, p := build(src, passes.Options{AutoDeps: true})
			if b == nil || !b.covered {
				return p
			}
			if _, p := b.checkResults(false); p != nil {
				return p
			}
			covered++
			return b.checkOrders()
		}
		body := generate(seed)
		if p := check(body); p != nil {
			small := shrink(body, 2000, func(body []*node) bool {
				q := check(body)
				return q != nil && q.kind == p.kind
			})
			t.Errorf("seed %d: %v\n%s", seed, check(small), source(small)[len(kernels):])
			if failed++; failed == 10 {
				break
			}
		}
	}
	t.Logf("%d covered", covered)
	if covered == 0 {
		t.Error("no body was covered")
	}
}

// TestCompiled holds the compiled C++ of each API profile against its plan: both make the same calls and leave the same memory, in any order of the tasks.
func TestCompiled(t *testing.T) {
	t.Parallel()
	tools, err := native.FindToolchain("", nil)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	everyProfile(t, "CROSSCHECK_COMPILED", 12, func(b *built) bool { return true }, func(b *built, profile *orch.Profile) *problem { return b.checkCompiled(tools, exe, profile) })
}

// everyProfile checks random programs that fit, as many as env says, under each profile in turn, and shows the smallest forms of those that fail.
func everyProfile(t *testing.T, env string, most int, fits func(*built) bool, check func(*built, *orch.Profile) *problem) {
	t.Helper()
	first := number(t, "CROSSCHECK_FIRST", 0)
	n := number(t, env, most)
	var seeds []uint64
	for seed := first; uint64(len(seeds)) < n; seed++ {
		if b, _, _ := build(source(generate(seed)), optionsOf(seed)); b != nil && fits(b) {
			seeds = append(seeds, seed)
		}
	}
	profiles := orch.Names()
	problems := make([]*problem, n)
	_ = graph.Each(0, seeds, func(i int, seed uint64) error { // problems has the errors
		profile := orch.Named(profiles[i%len(profiles)])
		try := func(body []*node) *problem {
			b, _, p := build(source(body), optionsOf(seed))
			if b == nil {
				return p
			}
			return check(b, profile)
		}
		body := generate(seed)
		p := try(body)
		if p == nil {
			return nil
		}
		small := shrink(body, 60, func(body []*node) bool {
			q := try(body)
			return q != nil && q.kind == p.kind
		})
		problems[i] = try(small)
		problems[i].text += fmt.Sprintf("\nprofile %s\n%s", profile.Name, source(small)[len(kernels):])
		return nil
	})
	for i, p := range problems {
		if p != nil {
			t.Errorf("seed %d, %+v: %v", seeds[i], optionsOf(seeds[i]), p)
		}
	}
}
