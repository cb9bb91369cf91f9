package syntax

// match and case are names elsewhere. A statement that begins with the name match is a match statement exactly when its line ends with
// ':' and an indented line that begins with the name case follows.
func (p *parser) isMatch() bool {
	s := p.scanner
	s.comments, s.opens, s.indents = nil, append([]opening(nil), s.opens...), append([]indent(nil), s.indents...)
	s.reports = nil
	s.next()
	if !s.tok.startsExpr() && s.tok != tStar {
		return false
	}
	colon := false
	for s.tok != tNewline {
		if s.tok == tEOF || s.tok == tError {
			return false
		}
		colon = s.tok == tColon && len(s.opens) == 0
		s.next()
	}
	if !colon {
		return false
	}
	s.next()
	if s.tok != tIndent {
		return false
	}
	s.next()
	return s.tok == tName && s.src[s.start:s.off] == "case"
}

func (p *parser) match() Stmt {
	start := p.pos
	p.next()
	at := p.pos
	s := &Match{}
	if p.tok == tStar {
		s.Subject = p.tupleRest(at, p.starred(), true)
	} else if s.Subject = p.named(); p.tok == tComma {
		s.Subject = p.tupleRest(at, s.Subject, true)
	}
	p.colon("'match'")
	p.next() // end of line
	p.next() // indent
	p.blocks++
	for p.tok != tDedent && p.tok != tEOF {
		if p.tok != tName || p.text() != "case" {
			p.unexpected("'case'")
		}
		s.Cases = append(s.Cases, p.matchCase())
	}
	p.got(tDedent)
	p.blocks--
	s.Range = p.since(start)
	if n := len(s.Cases); n > 0 {
		s.End = s.Cases[n-1].End
	}
	return s
}

func (p *parser) matchCase() MatchCase {
	start := p.pos
	p.next()
	var c MatchCase
	p.pattern = true
	at := p.pos
	c.Pattern = p.starPattern()
	if p.tok == tComma {
		base := len(p.elems)
		p.elems = append(p.elems, c.Pattern)
		for p.got(tComma) && p.tok != tColon && p.tok != tIf {
			p.elems = append(p.elems, p.starPattern())
		}
		elems := p.takeElems(base)
		c.Pattern = &Tuple{Range: p.since(at), Elems: elems}
	}
	p.pattern = false
	if p.got(tIf) {
		c.Guard = p.named()
	}
	p.colon("'case'")
	c.Body = p.block("'case' statement", start)
	c.Range = Range{start, endOf(c.Body, nil, p.prevEnd)}
	return c
}

func (p *parser) starPattern() Expr {
	if p.tok == tStar {
		return p.starred()
	}
	return p.test()
}

// patternTest reads "a | b as name"; the name binding is kept as the NamedExpr it means.
func (p *parser) patternTest() Expr {
	p.enter()
	start := p.pos
	x := p.binary(precBitOr)
	if p.got(tAs) {
		id, at := p.ident("a name after 'as'")
		x = &NamedExpr{Range: p.since(start), Target: &Name{at, id}, Value: x}
	}
	p.leave()
	return x
}
