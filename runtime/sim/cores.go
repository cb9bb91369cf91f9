package sim

import "slices"

// cores is the virtual machine: when each core is free again. Time has no unit of its own; one block of a kernel takes 1.
type cores struct {
	host     uint64   // how far the orchestration has come: it advances only when it waits
	aic, aiv []uint64 // cluster c is aic[c], aiv[2c], aiv[2c+1]
}

func newCores(clusters int) cores {
	return cores{aic: make([]uint64, clusters), aiv: make([]uint64, 2*clusters)}
}

// book reserves cores for all blocks of a task and sets when it starts and finishes.
func (c *cores) book(t *task) {
	at := t.readyAt
	if t.sync && t.blocks > 1 { // all blocks start together: when the last of the cores they need is free
		aic, aiv := slices.Clone(c.aic), slices.Clone(c.aiv)
		for range t.blocks {
			at = max(at, c.place(t, t.readyAt))
		}
		c.aic, c.aiv = aic, aiv
	}
	t.start, t.finish = ^uint64(0), 0
	for range t.blocks {
		s := c.place(t, at)
		t.start, t.finish = min(t.start, s), max(t.finish, s+1)
	}
}

// place puts one block on the cores that are free first.
func (c *cores) place(t *task, at uint64) uint64 {
	if t.kernels[0] < 0 && t.kernels[2] < 0 {
		return take(c.aiv, at)
	}
	if t.kernels[1] < 0 && t.kernels[2] < 0 {
		return take(c.aic, at)
	}
	best, when := 0, ^uint64(0)
	for i := range c.aic {
		s := max(at, c.aiv[2*i])
		if t.kernels[0] >= 0 {
			s = max(s, c.aic[i])
		}
		if t.kernels[2] >= 0 {
			s = max(s, c.aiv[2*i+1])
		}
		if s < when {
			best, when = i, s
		}
		if when == at {
			break
		}
	}
	c.aiv[2*best] = when + 1
	if t.kernels[0] >= 0 {
		c.aic[best] = when + 1
	}
	if t.kernels[2] >= 0 {
		c.aiv[2*best+1] = when + 1
	}
	return when
}

func take(free []uint64, at uint64) uint64 {
	best := 0
	for i, f := range free {
		if f <= at {
			best = i
			break
		}
		if f < free[best] {
			best = i
		}
	}
	s := max(at, free[best])
	free[best] = s + 1
	return s
}
