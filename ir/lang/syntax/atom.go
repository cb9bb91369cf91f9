package syntax

import (
	"strconv"
	"strings"
)

// Atoms: names, literals and bracketed expressions.

// atom reads a name, a literal or a bracketed expression.
func (p *parser) atom() Expr {
	switch p.tok {
	case tName:
		n := p.names.new()
		*n = Name{p.here(), p.text()}
		p.next()
		return n
	case tInt, tFloat, tImag:
		return p.number()
	case tString:
		return p.strings()
	case tLParen:
		return p.paren()
	case tLBracket:
		return p.list()
	case tLBrace:
		return p.braces()
	case tTrue:
		return p.constant(True)
	case tFalse:
		return p.constant(False)
	case tNone:
		return p.constant(None)
	case tEllipsis:
		return p.constant(Ellipsis)
	case tStar, tStarStar:
		if len(p.opens) > 0 {
			p.fail(p.here(), CodeSyntax, "invalid syntax: cannot use %s here", p.tok)
		}
	}
	p.unexpected("an expression")
	return nil
}

func (p *parser) constant(k ConstKind) Expr {
	c := p.consts.new()
	c.Range, c.Kind = p.here(), k
	p.next()
	return c
}

// number converts a number literal.
func (p *parser) number() Expr {
	c := p.consts.new()
	c.Range = p.here()
	text := p.text()
	if strings.IndexByte(text, '_') >= 0 {
		text = strings.ReplaceAll(text, "_", "")
	}
	switch p.tok {
	case tInt:
		c.Kind, c.Int = Int, text
	case tFloat:
		c.Kind = Float
		c.Float, _ = strconv.ParseFloat(text, 64) // out of range gives the infinity that Python gives
	default:
		c.Kind = Imag
		c.Float, _ = strconv.ParseFloat(text[:len(text)-1], 64)
	}
	p.next()
	return c
}

// paren reads "(…)": a group, a tuple, a generator or a yield.
func (p *parser) paren() Expr {
	start := p.pos
	p.next()
	if p.tok == tRParen {
		p.next()
		return &Tuple{Range: p.since(start), Paren: true}
	}
	at := p.pos
	if p.tok == tYield {
		x := p.yield()
		p.closing(tRParen, at)
		return x
	}
	x := p.starNamed()
	switch p.tok {
	case tComma:
		t := p.tupleRest(at, x, true).(*Tuple)
		p.closing(tRParen, t.Elems[len(t.Elems)-1].At().Start)
		t.Range, t.Paren = p.since(start), true
		return t
	case tFor, tAsync:
		p.noStar(x)
		x = p.comprehension(start, GeneratorExp, nil, x)
		p.expect(tRParen, " after the comprehension")
		x.(*Comprehension).Range = p.since(start)
		return x
	}
	p.closing(tRParen, at)
	if s, ok := x.(*Starred); ok {
		p.fail(s.Range, CodeSyntax, "cannot use starred expression here")
	}
	return x
}

// closing reads the bracket t after a last element that began at start.
func (p *parser) closing(t token, start Pos) {
	if p.tok != t {
		p.missingComma(start, "',' or "+t.String())
	}
	p.next()
}

func (p *parser) noStar(x Expr) {
	if s, ok := x.(*Starred); ok {
		p.fail(s.Range, CodeSyntax, "iterable unpacking cannot be used in comprehension")
	}
}

func (p *parser) list() Expr {
	start := p.pos
	p.next()
	base := len(p.elems)
	at := p.pos
	for p.tok != tRBracket {
		at = p.pos
		x := p.starNamed()
		if len(p.elems) == base && (p.tok == tFor || p.tok == tAsync) {
			p.noStar(x)
			x = p.comprehension(start, ListComp, nil, x)
			p.expect(tRBracket, " after the comprehension")
			x.(*Comprehension).Range = p.since(start)
			return x
		}
		p.elems = append(p.elems, x)
		if !p.got(tComma) {
			break
		}
	}
	p.closing(tRBracket, at)
	elems := p.takeElems(base)
	return &List{Range: p.since(start), Elems: elems}
}

// braces reads a set, a dict or a comprehension of one.
func (p *parser) braces() Expr {
	start := p.pos
	p.next()
	if p.got(tRBrace) {
		return &Dict{Range: p.since(start)}
	}
	at := p.pos
	if p.tok == tStarStar {
		return p.dict(start, nil)
	}
	x := p.starNamed()
	if p.tok == tColon {
		return p.dict(start, x)
	}
	if p.tok == tFor || p.tok == tAsync {
		p.noStar(x)
		x = p.comprehension(start, SetComp, nil, x)
		p.expect(tRBrace, " after the comprehension")
		x.(*Comprehension).Range = p.since(start)
		return x
	}
	base := len(p.elems)
	p.elems = append(p.elems, x)
	for p.got(tComma) && p.tok != tRBrace {
		at = p.pos
		p.elems = append(p.elems, p.starNamed())
	}
	p.closing(tRBrace, at)
	elems := p.takeElems(base)
	return &Set{Range: p.since(start), Elems: elems}
}

// dict reads a dict from the ':' after its first key, or from its first "**" when key is nil.
func (p *parser) dict(start Pos, key Expr) Expr {
	base := len(p.elems) // keys and values in turn
	at := p.pos
	for first := true; p.tok != tRBrace; first = false {
		at = p.pos
		if p.tok == tStarStar {
			p.next()
			p.elems = append(p.elems, nil, p.binary(precBitOr))
			if p.tok == tFor || p.tok == tAsync {
				p.fail(p.since(at), CodeSyntax, "dict unpacking cannot be used in dict comprehension")
			}
		} else {
			if !first {
				key = p.test()
			}
			if p.tok != tColon {
				if p.tok == tComma || p.tok == tRBrace {
					p.fail(p.here(), CodeColon, "':' expected after dictionary key")
				}
				p.unexpected("':' after the dictionary key")
			}
			colon := p.here()
			p.next()
			if p.tok == tRBrace || p.tok == tComma {
				p.fail(colon, CodeSyntax, "expression expected after dictionary key and ':'")
			}
			v := p.test()
			if first && (p.tok == tFor || p.tok == tAsync) {
				x := p.comprehension(start, DictComp, key, v)
				p.expect(tRBrace, " after the comprehension")
				x.(*Comprehension).Range = p.since(start)
				return x
			}
			p.elems = append(p.elems, key, v)
		}
		if !p.got(tComma) {
			break
		}
	}
	p.closing(tRBrace, at)
	n := (len(p.elems) - base) / 2
	d := &Dict{Range: p.since(start), Keys: make([]Expr, n), Values: make([]Expr, n)}
	for i := range n {
		d.Keys[i], d.Values[i] = p.elems[base+2*i], p.elems[base+2*i+1]
	}
	p.elems = p.elems[:base]
	return d
}

// comprehension reads the for and if clauses after the element; the caller reads the closing bracket.
func (p *parser) comprehension(start Pos, kind CompKind, key, elem Expr) Expr {
	c := &Comprehension{Kind: kind, Key: key, Elem: elem}
	for p.tok == tFor || p.tok == tAsync {
		var cl CompClause
		if p.got(tAsync) {
			cl.Async = true
			if p.tok != tFor {
				p.unexpected("'for'")
			}
		}
		p.next()
		cl.Target = p.targets("for")
		if p.tok != tIn {
			p.unexpected("'in'")
		}
		p.next()
		cl.Iter = p.binary(precOr)
		for p.got(tIf) {
			if p.tok == tLambda {
				p.unexpected("a condition")
			}
			cl.Ifs = append(cl.Ifs, p.binary(precOr))
		}
		if p.tok == tElse && len(cl.Ifs) > 0 {
			p.fail(p.here(), CodeSyntax, "invalid syntax: a comprehension's 'if' takes no 'else'")
		}
		c.Clauses = append(c.Clauses, cl)
	}
	c.Range = p.since(start)
	return c
}

// yield reads "yield", "yield x" or "yield from x".
func (p *parser) yield() Expr {
	y := &Yield{}
	start := p.pos
	p.next()
	if p.got(tFrom) {
		y.From = true
		y.X = p.test()
	} else if p.tok.startsExpr() || p.tok == tStar {
		y.X = p.starExprs()
	}
	y.Range = p.since(start)
	return y
}
