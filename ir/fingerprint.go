package ir

import (
	"cmp"
	"crypto/sha256"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
)

// Fingerprint digests everything of a program that a later stage may depend on except where it stands: the wire form without places and comments, and
// which places are equal and which come before which. The places themselves are the second result, each once, in order. Two programs of one
// fingerprint have as many places, and what a stage says about place i of the one holds for place i of the other.
func Fingerprint(p *Program) (digest [sha256.Size]byte, places []diag.Span, err error) {
	e := newEncoder(nil)
	e.abstract = true
	w := &writer{}
	e.str(w, p.Name)
	e.span(w, p.Pos)
	e.functions(w, p.Funcs)
	b, err := e.finish(formProgram, w)
	if err != nil {
		return digest, nil, err
	}
	places = slices.Clone(e.places)
	slices.SortFunc(places, ComparePlaces)
	places = slices.Compact(places)
	ranks := &writer{b: b}
	for _, s := range e.places {
		i, _ := slices.BinarySearchFunc(places, s, ComparePlaces)
		ranks.uint(uint64(i))
	}
	return sha256.Sum256(ranks.b), places, nil
}

// ComparePlaces orders spans by file, start and end.
func ComparePlaces(a, b diag.Span) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col), cmp.Compare(a.EndLine, b.EndLine), cmp.Compare(a.EndCol, b.EndCol))
}

// Closure is the part of a program that the named functions need: they and what they call, directly or not, in the order of the program. It is the program
// itself when that is all of it.
func Closure(p *Program, roots ...string) *Program {
	byName := make(map[string]*Function, len(p.Funcs))
	for _, f := range p.Funcs {
		byName[f.Name] = f
	}
	in := map[*Function]bool{}
	todo := roots
	for len(todo) > 0 {
		f := byName[todo[len(todo)-1]]
		todo = todo[:len(todo)-1]
		if f == nil || in[f] {
			continue
		}
		in[f] = true
		Inspect(f.Body, func(s Stmt) bool {
			Exprs(s, func(e Expr) bool {
				if c, ok := e.(*Call); ok {
					todo = append(todo, c.Callee)
				}
				return true
			})
			return true
		})
	}
	if len(in) == len(p.Funcs) {
		return p
	}
	out := &Program{Name: p.Name, Pos: p.Pos}
	for _, f := range p.Funcs {
		if in[f] {
			out.Funcs = append(out.Funcs, f)
		}
	}
	return out
}
