package syntax

// params reads a parameter list up to the token end, which it leaves.
func (p *parser) params(end token, annotated bool) *Params {
	ps := &Params{}
	var cur []Param // before the '*'
	star, defaults := false, false
	var seen map[string]bool
	bareStar := Range{}
	take := func() Param {
		start := p.pos
		if p.tok == tLParen {
			p.fail(p.here(), CodeParams, "parameters cannot be parenthesized")
		}
		if p.tok.isKeyword() || p.tok != tName {
			p.unexpected("a name of a parameter")
		}
		q := Param{Name: p.text()}
		p.next()
		if annotated && p.got(tColon) {
			if p.tok == tStar {
				q.Annotation = p.starred()
			} else {
				q.Annotation = p.test()
			}
		}
		q.Range = p.since(start)
		return q
	}
	count := 0
	note := func(q Param) {
		count++
		twice := seen[q.Name]
		if seen == nil { // a short list is searched
			for o := range ps.All() {
				twice = twice || o.Name == q.Name
			}
			for i := range cur {
				twice = twice || cur[i].Name == q.Name
			}
		}
		if twice {
			p.report(Range{q.Start, Pos{q.Start.Line, q.Start.Col + int32(len(q.Name))}}, CodeParams, "duplicate argument '%s' in function definition", q.Name).
				WithHint("give every parameter its own name")
		}
		if count == 16 {
			seen = make(map[string]bool, 32)
			for o := range ps.All() {
				seen[o.Name] = true
			}
			for i := range cur {
				seen[cur[i].Name] = true
			}
		}
		if seen != nil {
			seen[q.Name] = true
		}
	}
	for p.tok != end {
		start := p.pos
		if ps.KwArg != nil {
			p.fail(p.here(), CodeParams, "arguments cannot follow var-keyword argument")
		}
		switch p.tok {
		case tSlash:
			if len(cur) == 0 && ps.PosOnly == nil {
				p.fail(p.here(), CodeParams, "at least one argument must precede /")
			}
			if ps.PosOnly != nil {
				p.fail(p.here(), CodeParams, "/ may appear only once")
			}
			if star {
				p.fail(p.here(), CodeParams, "/ must be ahead of *")
			}
			p.next()
			ps.PosOnly, cur = cur, nil
		case tStar:
			if star {
				p.fail(p.here(), CodeParams, "* argument may appear only once")
			}
			star = true
			p.next()
			if p.tok == tComma || p.tok == end {
				bareStar = p.since(start)
				break
			}
			q := take()
			note(q)
			q.Range = p.since(start)
			ps.VarArg = &q
			if p.tok == tAssign {
				p.fail(p.here(), CodeParams, "var-positional argument cannot have default value")
			}
		case tStarStar:
			p.next()
			q := take()
			note(q)
			q.Range = p.since(start)
			ps.KwArg = &q
			if p.tok == tAssign {
				p.fail(p.here(), CodeParams, "var-keyword argument cannot have default value")
			}
			if bareStar.Start.Line != 0 && len(ps.KwOnly) == 0 {
				p.fail(bareStar, CodeParams, "named arguments must follow bare *")
			}
		default:
			q := take()
			note(q)
			if eq := p.here(); p.got(tAssign) {
				if p.tok == end || p.tok == tComma {
					p.fail(eq, CodeParams, "expected default value expression")
				}
				q.Default = p.test()
				q.Range = p.since(start)
			}
			switch {
			case star:
				ps.KwOnly = append(ps.KwOnly, q)
			case q.Default == nil && defaults:
				p.report(q.Range, CodeParams, "non-default argument follows default argument").WithHint("put parameters with defaults last, or give '%s' a default", q.Name)
				fallthrough
			default:
				defaults = defaults || q.Default != nil
				cur = append(cur, q)
			}
		}
		if !p.got(tComma) {
			break
		}
	}
	if bareStar.Start.Line != 0 && len(ps.KwOnly) == 0 && p.tok == end {
		p.fail(bareStar, CodeParams, "named arguments must follow bare *")
	}
	if end == tRParen && p.tok != end && (p.tok.startsExpr() || p.tok.isKeyword()) && p.tok != tError && len(p.opens) > 0 &&
		(p.pos.Line == p.opens[len(p.opens)-1].pos.Line || p.closes()) {
		panic(p.errorf(p.here(), CodeParams, "invalid syntax. Perhaps you forgot a comma?").WithHint("put ',' before %s", p.found()))
	}
	ps.Args = cur
	return ps
}
