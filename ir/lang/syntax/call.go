package syntax

// call reads the parenthesised arguments of a call of fun.
func (p *parser) call(start Pos, fun Expr) Expr {
	args, kws := p.arguments()
	c := p.calls.new()
	*c = Call{Range: p.since(start), Fun: fun, Args: args, Keywords: kws}
	return c
}

// arguments reads "(a, *b, c=d, **e)", of a call or of a class header.
func (p *parser) arguments() ([]Expr, []Keyword) {
	open := p.here()
	p.next()
	base, kwBase := len(p.elems), len(p.kws)
	for p.tok != tRParen {
		start := p.pos
		switch p.tok {
		case tStar:
			p.next()
			x := p.test()
			if n := len(p.kws); n > kwBase && p.kws[n-1].Name == "" {
				p.report(p.since(start), CodeArguments, "iterable argument unpacking follows keyword argument unpacking").
					WithHint("put the *argument before the **argument")
			}
			p.elems = append(p.elems, &Starred{Range: p.since(start), X: x})
		case tStarStar:
			p.next()
			x := p.test()
			p.kws = append(p.kws, Keyword{Range: p.since(start), Value: x})
		default:
			isName := p.tok == tName
			x := p.named()
			switch {
			case p.tok == tAssign:
				name, ok := x.(*Name)
				if !ok || !isName {
					p.badKeyword(start, x)
				}
				p.next()
				v := p.test()
				if p.tok == tFor || p.tok == tAsync {
					p.fail(p.since(start), CodeArguments, "invalid syntax. Maybe you meant '==' or ':=' instead of '='?")
				}
				for _, k := range p.kws[kwBase:] {
					if k.Name == name.ID {
						p.report(p.since(start), CodeArguments, "keyword argument repeated: %s", name.ID).
							WithHint("give '%s' once", name.ID).WithRelated(k.Span(p.path), "given first here")
						break
					}
				}
				p.kws = append(p.kws, Keyword{Range: p.since(start), Name: name.ID, Value: v})
			case p.tok == tFor || p.tok == tAsync:
				x = p.comprehension(start, GeneratorExp, nil, x)
				if len(p.elems) > base || len(p.kws) > kwBase || p.tok == tComma {
					p.report(x.At(), CodeArguments, "Generator expression must be parenthesized").WithHint("write f((x for x in xs), y)")
				} else {
					x.(*Comprehension).Range = Range{open.Start, p.end} // the parentheses are its own
				}
				p.elems = append(p.elems, x)
			default:
				if n := len(p.kws); n > kwBase {
					d := p.report(x.At(), CodeArguments, "positional argument follows keyword argument")
					if p.kws[n-1].Name == "" {
						d.Message += " unpacking"
					}
					d.WithHint("put positional arguments first, or name this one").WithRelated(p.kws[n-1].Span(p.path), "the keyword argument")
				}
				p.elems = append(p.elems, x)
			}
		}
		if !p.got(tComma) {
			if p.tok != tRParen {
				p.missingComma(start, "',' or ')'")
			}
			break
		}
	}
	p.next()
	return p.takeElems(base), p.takeKeywords(kwBase)
}

func (p *parser) badKeyword(start Pos, x Expr) {
	r := p.since(start)
	if c, ok := x.(*Constant); ok && (c.Kind == True || c.Kind == False || c.Kind == None) {
		p.fail(r, CodeArguments, "cannot assign to %s", kindOf(x))
	}
	panic(p.errorf(r, CodeArguments, "expression cannot contain assignment, perhaps you meant \"==\"?").
		WithHint("the name of a keyword argument is a plain name"))
}

// missingComma reports an element of a bracketed list, begun at start, after which neither a comma nor the closing bracket follows.
func (p *parser) missingComma(start Pos, want string) {
	if p.tok.startsExpr() && p.tok != tNot && len(p.opens) > 0 && p.opens[len(p.opens)-1].pos.Line != 0 &&
		(p.pos.Line == p.opens[len(p.opens)-1].pos.Line || p.closes()) {
		panic(p.errorf(Range{start, p.end}, CodeSyntax, "invalid syntax. Perhaps you forgot a comma?").
			WithHint("put ',' before %s", p.found()))
	}
	if p.tok == tAssign && (p.pos.Line == p.opens[len(p.opens)-1].pos.Line || p.closes()) {
		p.fail(p.since(start), CodeSyntax, "invalid syntax. Maybe you meant '==' or ':=' instead of '='?")
	}
	p.unexpected(want)
}
