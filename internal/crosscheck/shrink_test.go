package crosscheck

import "slices"

// shrink drops statements, and puts the contents of blocks in their place, for as long as the program fails in the same way, with so many tries.
func shrink(body []*node, tries int, fails func([]*node) bool) []*node {
	for again := true; again; {
		again = false
		for _, smaller := range candidates(body) {
			if tries--; tries < 0 {
				return body
			}
			if fails(smaller) {
				body, again = smaller, true
				break
			}
		}
	}
	return body
}

// candidates are all programs one step smaller, the smallest first.
func candidates(ns []*node) [][]*node {
	var out [][]*node
	with := func(i int, instead ...*node) {
		out = append(out, slices.Concat(ns[:i], instead, ns[i+1:]))
	}
	for i := range ns {
		with(i)
	}
	for i, n := range ns {
		if n.body == nil {
			continue
		}
		with(i, n.body...)
		if n.els != nil {
			with(i, n.els...)
			with(i, &node{line: n.line, body: n.body})
		}
		for _, b := range candidates(n.body) {
			with(i, &node{line: n.line, body: b, els: n.els})
		}
		for _, b := range candidates(n.els) {
			with(i, &node{line: n.line, body: n.body, els: b})
		}
	}
	return out
}
