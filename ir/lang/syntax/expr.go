package syntax

// Precedences of binary operators, loosest first.
const (
	precOr  = iota + 1
	precXor // printed IR has "a xor b", which Python has not
	precAnd
	precNot
	precCompare
	precBitOr
	precBitXor
	precBitAnd
	precShift
	precAdd
	precMul
)

var precOf = [numTokens]int8{
	tOr: precOr, tAnd: precAnd,
	tEqEq: precCompare, tNotEq: precCompare, tLess: precCompare, tLessEq: precCompare, tGreater: precCompare, tGreaterEq: precCompare,
	tIn: precCompare, tIs: precCompare, tNot: precCompare,
	tPipe: precBitOr, tCaret: precBitXor, tAmp: precBitAnd, tShl: precShift, tShr: precShift,
	tPlus: precAdd, tMinus: precAdd, tStar: precMul, tSlash: precMul, tSlashSlash: precMul, tPercent: precMul, tAt: precMul,
}

// starExprs reads "a, *b, c": an expression, or a tuple without parentheses.
func (p *parser) starExprs() Expr {
	start := p.pos
	x := p.starExpr()
	if p.tok != tComma {
		return x
	}
	return p.tupleRest(start, x, false)
}

// tupleRest reads ", b, c" after the first element of a tuple without parentheses.
func (p *parser) tupleRest(start Pos, x Expr, named bool) Expr {
	base := len(p.elems)
	p.elems = append(p.elems, x)
	for p.got(tComma) {
		if !p.tok.startsExpr() && p.tok != tStar {
			break
		}
		if named {
			p.elems = append(p.elems, p.starNamed())
		} else {
			p.elems = append(p.elems, p.starExpr())
		}
	}
	elems := p.takeElems(base)
	return &Tuple{Range: p.since(start), Elems: elems}
}

// starExpr reads "*x" or an expression.
func (p *parser) starExpr() Expr {
	if p.tok == tStar {
		return p.starred()
	}
	return p.test()
}

// starNamed reads an element of a display: "*x", "n := x" or an expression.
func (p *parser) starNamed() Expr {
	if p.tok == tStar {
		return p.starred()
	}
	return p.named()
}

func (p *parser) starred() Expr {
	start := p.pos
	p.next()
	x := p.binary(precBitOr)
	return &Starred{Range: p.since(start), X: x}
}

// named reads an expression that may be "n := x".
func (p *parser) named() Expr {
	start := p.pos
	x := p.test()
	if p.tok != tWalrus {
		return x
	}
	n, ok := x.(*Name)
	if !ok {
		p.fail(Range{start, p.prevEnd}, CodeTarget, "cannot use assignment expressions with %s", kindOf(x))
	}
	p.next()
	v := p.test()
	return &NamedExpr{Range: p.since(start), Target: n, Value: v}
}

// test reads an expression without ":=" or top-level commas: a conditional, a lambda or an operator expression.
func (p *parser) test() Expr {
	if p.pattern {
		return p.patternTest()
	}
	p.enter()
	x := p.conditional()
	p.leave()
	return x
}

func (p *parser) conditional() Expr {
	if p.tok == tLambda {
		return p.lambda()
	}
	start := p.pos
	x := p.binary(precOr)
	if p.tok != tIf {
		return x
	}
	p.next()
	cond := p.binary(precOr)
	if p.tok != tElse {
		if p.tok == tColon || p.tok == tNewline || p.tok == tRParen || p.tok == tComma || p.tok == tRBracket {
			p.fail(p.since(start), CodeSyntax, "expected 'else' after 'if' expression")
		}
		p.unexpected("'else'")
	}
	p.next()
	other := p.test()
	return &IfExp{Range: p.since(start), Cond: cond, Body: x, Else: other}
}

func (p *parser) lambda() Expr {
	start := p.pos
	p.next()
	params := p.params(tColon, false)
	p.expect(tColon, " after the parameters of lambda")
	body := p.test()
	return &Lambda{Range: p.since(start), Params: params, Body: body}
}

// binary reads operators of at least precedence least.
func (p *parser) binary(least int8) Expr {
	start := p.pos
	outer := p.chain
	p.chain = 0
	var x Expr
	if p.tok == tNot {
		if least > precNot {
			p.unexpected("an expression")
		}
		p.enter()
		p.next()
		y := p.binary(precNot)
		p.leave()
		x = &UnaryOp{Range: p.since(start), Op: "not", X: y}
	} else {
		x = p.unary()
	}
	links := 0
	for {
		t := p.tok
		prec := precOf[t]
		if t == tName && p.text() == "xor" {
			prec = precXor
		}
		if prec < least || prec == 0 {
			break
		}
		switch prec {
		case precOr, precAnd:
			base := len(p.elems)
			p.elems = append(p.elems, x)
			for p.tok == t {
				p.next()
				p.elems = append(p.elems, p.binary(prec+1))
			}
			values := p.takeElems(base)
			x = &BoolOp{Range: p.since(start), Op: tokenNames[t], Values: values}
		case precCompare:
			x = p.comparison(start, x)
		default:
			links++
			p.link(links)
			p.next()
			y := p.binary(prec + 1)
			op := tokenNames[t]
			if prec == precXor {
				op = "xor"
			}
			b := p.bins.new()
			*b = BinOp{Range: p.since(start), Op: op, X: x, Y: y}
			x = b
		}
	}
	p.chain = max(outer, p.chain+links)
	return x
}

func (p *parser) comparison(start Pos, x Expr) Expr {
	base := len(p.elems)
	var ops []string
	for precOf[p.tok] == precCompare {
		op := tokenNames[p.tok]
		switch p.tok {
		case tNot:
			p.next()
			if p.tok != tIn {
				p.unexpected("'in' after 'not'")
			}
			op = "not in"
		case tIs:
			p.next()
			if p.tok == tNot {
				op = "is not"
				p.next()
			}
			p.elems = append(p.elems, p.binary(precBitOr))
			ops = append(ops, op)
			continue
		}
		at := p.pos
		p.next()
		if op == "<" && p.tok == tGreater && p.pos.Col == at.Col+1 {
			panic(p.errorf(Range{at, p.end}, CodeSyntax, "invalid syntax: '<>' is not an operator").WithHint("Python writes '!='"))
		}
		p.elems = append(p.elems, p.binary(precBitOr))
		ops = append(ops, op)
	}
	ys := p.takeElems(base)
	return &Compare{Range: p.since(start), X: x, Ops: ops, Ys: ys}
}

// unary reads "-x", "+x", "~x" or a power.
func (p *parser) unary() Expr {
	switch p.tok {
	case tMinus, tPlus, tTilde:
		start, op := p.pos, tokenNames[p.tok]
		p.enter()
		p.next()
		x := p.unary()
		p.leave()
		return &UnaryOp{Range: p.since(start), Op: op, X: x}
	}
	start := p.pos
	x := p.primary()
	if p.tok != tStarStar {
		return x
	}
	p.enter()
	p.next()
	y := p.unary()
	p.leave()
	return &BinOp{Range: p.since(start), Op: "**", X: x, Y: y}
}

// primary reads an atom with its attributes, calls and subscripts, or "await" of one.
func (p *parser) primary() Expr {
	start := p.pos
	if p.tok == tAwait {
		p.next()
		at := p.pos
		x := p.primary1(at, p.atom())
		return &Await{Range: p.since(start), X: x}
	}
	x := p.atom()
	if p.tok != tDot && p.tok != tLParen && p.tok != tLBracket {
		return x
	}
	return p.primary1(start, x)
}

func (p *parser) primary1(start Pos, x Expr) Expr {
	outer := p.chain
	p.chain = 0
	for links := 1; ; links++ {
		switch p.tok {
		case tDot:
			p.next()
			name, at := p.ident("a name after '.'")
			a := p.attrs.new()
			*a = Attribute{Range: p.since(start), X: x, Name: name, NamePos: at}
			x = a
		case tLParen:
			x = p.call(start, x)
		case tLBracket:
			x = p.subscript(start, x)
		default:
			p.chain = max(outer, p.chain+links)
			return x
		}
		p.link(links)
	}
}

// subscript reads "[i, j:k]" after x.
func (p *parser) subscript(start Pos, x Expr) Expr {
	p.next()
	if p.tok == tRBracket {
		p.fail(p.here(), CodeSyntax, "invalid syntax: a subscript needs an index")
	}
	at := p.pos
	index := p.index()
	if p.tok == tComma {
		base := len(p.elems)
		p.elems = append(p.elems, index)
		for p.got(tComma) {
			if p.tok == tRBracket {
				break
			}
			p.elems = append(p.elems, p.index())
		}
		elems := p.takeElems(base)
		index = &Tuple{Range: p.since(at), Elems: elems}
	} else if s, ok := index.(*Starred); ok {
		index = &Tuple{Range: s.Range, Elems: []Expr{s}}
	}
	if p.tok != tRBracket {
		p.missingComma(at, "',' or ']'")
	}
	p.next()
	s := p.subs.new()
	*s = Subscript{Range: p.since(start), X: x, Index: index}
	return s
}

// index reads an expression or a slice.
func (p *parser) index() Expr {
	start := p.pos
	var s Slice
	if p.tok != tColon {
		x := p.starNamed()
		if p.tok != tColon {
			return x
		}
		s.Lo = x
	}
	p.next()
	end := func() bool { return p.tok == tRBracket || p.tok == tComma }
	if p.tok != tColon && !end() {
		s.Hi = p.test()
	}
	if p.got(tColon) && !end() {
		s.Step = p.test()
	}
	s.Range = p.since(start)
	return &s
}
