package graph

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ptobuild/ptobuild/cache"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// SimulatorConfig is the machine on which tests run. Zero fields take the platform's values.
type SimulatorConfig struct {
	Clusters     int              `toml:"clusters"`
	TaskWindow   perRing          `toml:"task_window"`
	Heap         perRing          `toml:"heap"`
	DepPool      perRing          `toml:"dep_pool"`
	MapEntries   int              `toml:"map_entries"`
	ScopeDepth   int              `toml:"scope_depth"`
	ScopeTasks   int              `toml:"scope_tasks"`
	ExactOverlap bool             `toml:"exact_overlap"`
	Timeout      string           `toml:"timeout"` // of the compiled engine, like "60s"
	Costs        map[string]int64 `toml:"costs"`
	Kernels      map[string]int64 `toml:"kernels"` // ns per block, by kernel
}

// perRing is a number for all rings, or one for each: a count or a size like "64MiB".
type perRing [4]uint64

// UnmarshalTOML implements toml.Unmarshaler.
func (p *perRing) UnmarshalTOML(v any) error {
	list, ok := v.([]any)
	if !ok {
		list = []any{v, v, v, v}
	}
	if len(list) != len(p) {
		return fmt.Errorf("has %d values, it must be one for all rings or one for each of the %d", len(list), len(p))
	}
	for i, x := range list {
		switch x := x.(type) {
		case int64:
			if x <= 0 {
				return fmt.Errorf("is %d, it must be positive", x)
			}
			p[i] = uint64(x)
		case string:
			n, err := cache.ParseSize(x)
			if err != nil {
				return err
			}
			if n <= 0 {
				return fmt.Errorf("is %q, it must be positive", x)
			}
			p[i] = uint64(n)
		default:
			return fmt.Errorf("is a %T, it must be a number or a size like \"64MiB\"", x)
		}
	}
	return nil
}

// costKeys are the keys of [simulator.costs].
var costKeys = map[string]func(*sim.Costs) *uint64{
	"submit": func(c *sim.Costs) *uint64 { return &c.Submit },
	"access": func(c *sim.Costs) *uint64 { return &c.Access },
	"launch": func(c *sim.Costs) *uint64 { return &c.Launch },
	"op":     func(c *sim.Costs) *uint64 { return &c.Op },

	"bytes_per_ns":        func(c *sim.Costs) *uint64 { return &c.Bytes },
	"vector_bytes_per_ns": func(c *sim.Costs) *uint64 { return &c.Vector },
	"macs_per_ns":         func(c *sim.Costs) *uint64 { return &c.Multiply },
}

// machine is what the configuration asks the simulator for.
func (c *Config) machine() sim.Config {
	s := &c.Simulator
	m := sim.Config{Platform: c.Build.Platform, Clusters: s.Clusters, ExactOverlap: s.ExactOverlap,
		Limits: sim.Limits{MapEntries: s.MapEntries, ScopeDepth: s.ScopeDepth, ScopeTasks: s.ScopeTasks}}
	for i := range m.Limits.Rings {
		m.Limits.Rings[i] = sim.Rings{TaskWindow: int(s.TaskWindow[i]), Heap: s.Heap[i], DepPool: int(s.DepPool[i])}
	}
	if len(s.Costs) > 0 {
		costs := sim.PlatformCosts(c.Build.Platform)
		for key, v := range s.Costs {
			if field := costKeys[key]; field != nil {
				*field(&costs) = uint64(v)
			}
		}
		m.Costs = &costs
	}
	if len(s.Kernels) > 0 {
		m.Times = map[string]uint64{}
		for name, v := range s.Kernels {
			m.Times[name] = uint64(v)
		}
	}
	return m
}

// timeout is how long compiled code may run; 0 when it is not configured.
func (c *Config) timeout() time.Duration {
	d, err := time.ParseDuration(c.Simulator.Timeout)
	if err != nil {
		return 0 // empty, or reported by check
	}
	return d
}

// checkSimulator reports what is wrong with the [simulator] table.
func (c *Config) checkSimulator(path string, lines []string) diag.List {
	var ds diag.List
	s := &c.Simulator
	if s.Timeout != "" {
		if d, err := time.ParseDuration(s.Timeout); err != nil || d <= 0 {
			ds.Add(diag.Errorf(CodeConfig, lineOf(path, lines, "timeout"), "timeout = %q is no duration", s.Timeout).WithHint(`write it like "30s" or "5m"`))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.Costs)) {
		at := lineOf(path, lines, key)
		if costKeys[key] == nil {
			d := diag.Errorf(CodeUnknownKey, at, "unknown key %q of [simulator.costs]", key)
			if near := diag.Nearest(key, slices.Sorted(maps.Keys(costKeys))); near != "" {
				d.WithHint("did you mean %q?", near)
			} else {
				d.WithHint("docs/pto-toml.md lists the keys")
			}
			ds.Add(d)
		} else if s.Costs[key] < 0 {
			ds.Add(diag.Errorf(CodeConfig, at, "%s = %d: a cost is not negative", key, s.Costs[key]).WithHint("0 makes it free"))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Kernels)) {
		if v := s.Kernels[name]; v <= 0 {
			ds.Add(diag.Errorf(CodeConfig, lineOf(path, lines, name), "kernel %s takes %d ns per block: give a positive number", name, v).WithHint("leave the kernel out to have its time computed"))
		}
	}
	if _, err := sim.Complete(c.machine()); err != nil {
		for _, d := range diag.AsList(err, CodeConfig) {
			d.Span = lineOf(path, lines, "[simulator")
			if d.Span.Line == 0 { // the platform is the only other thing that can be wrong
				d.Span = lineOf(path, lines, "platform")
			}
			ds.Add(d)
		}
	}
	return ds
}
