package trace

import (
	"slices"
	"strconv"
	"strings"
)

// Normal is the normal form in which conformance traces of different tools compare: allocations, queries, notes, empty scopes and dependencies on
// allocations are left out; local buffers are numbered by first use, and each appears there as an allocation of its own. So neither batching nor
// the place of a create matters, but a fresh buffer per trip differs from one buffer for all. Compare with Diff.
func Normal(events []Event) []Event {
	n := normalizer{info: map[string]NewTensor{}, names: map[string]string{}}
	for _, e := range events {
		n.add(e)
	}
	return n.out
}

type normalizer struct {
	out   []Event
	info  map[string]NewTensor // of buffers by original name
	names map[string]string    // new name by original name
}

func (n *normalizer) add(e Event) {
	switch e := e.(type) {
	case *Run:
		clear(n.info)
		clear(n.names)
		n.out = append(n.out, e)
	case *Alloc:
		for _, t := range e.Tensors {
			n.info[t.Buf] = t
		}
	case *Query, *Note, *Retire:
	case *ScopeEnd:
		if k := len(n.out) - 1; k >= 0 {
			if _, empty := n.out[k].(*ScopeBegin); empty {
				n.out = n.out[:k]
				return
			}
		}
		n.out = append(n.out, e)
	case *Submit:
		c := *e
		c.AllocDeps = nil
		c.Args = slices.Clone(e.Args)
		for i := range c.Args {
			if c.Args[i].New == nil {
				c.Args[i].T = n.tensor(c.Args[i].T)
			}
		}
		if e.Pred != nil {
			p := *e.Pred
			p.T = n.tensor(p.T)
			c.Pred = &p
		}
		n.out = append(n.out, &c)
	case *Read:
		c := *e
		c.T = n.tensor(e.T)
		n.out = append(n.out, &c)
	case *Write:
		c := *e
		c.T = n.tensor(e.T)
		n.out = append(n.out, &c)
	default:
		n.out = append(n.out, e)
	}
}

// tensor renames the buffer of a handle; at its first use the buffer is announced.
func (n *normalizer) tensor(t Tensor) Tensor {
	if !strings.HasPrefix(t.Buf, "alloc:") {
		return t
	}
	name, seen := n.names[t.Buf]
	if !seen {
		k := len(n.names)
		name = "alloc:" + strconv.Itoa(k)
		n.names[t.Buf] = name
		made := n.info[t.Buf]
		made.Buf = name
		n.out = append(n.out, &Alloc{Call: k, First: k, Tensors: []NewTensor{made}})
	}
	t.Buf = name
	return t
}
