package syntax

// compound reads a compound statement, or a line of simple ones.
func (p *parser) compound() {
	var s Stmt
	switch p.tok {
	case tIf:
		s = p.ifStmt()
	case tFor:
		s = p.forStmt(p.pos, false)
	case tWhile:
		s = p.whileStmt()
	case tWith:
		s = p.withStmt(p.pos, false)
	case tTry:
		s = p.tryStmt()
	case tDef:
		s = p.def(p.pos, nil, false)
	case tClass:
		s = p.class(nil)
	case tAt:
		s = p.decorated()
	case tAsync:
		s = p.async(nil)
	case tElif, tElse, tExcept, tFinally:
		p.orphan()
	case tName:
		if p.text() == "match" && p.isMatch() {
			s = p.match()
			break
		}
		p.simpleLine()
		return
	default:
		p.simpleLine()
		return
	}
	p.stmts = append(p.stmts, s)
}

// orphan reports a clause without the statement that it belongs to.
func (p *parser) orphan() {
	of := map[token]string{tElif: "'if'", tElse: "'if', 'for', 'while' or 'try'", tExcept: "'try'", tFinally: "'try'"}[p.tok]
	panic(p.errorf(p.here(), CodeSyntax, "invalid syntax: %s without %s", p.tok, of).
		WithHint("indent it like the %s that it belongs to", of))
}

// colon reads the ':' at the end of a header. A missing one at the end of the line is reported, and taken as read.
func (p *parser) colon(of string) {
	if p.got(tColon) {
		return
	}
	if p.tok == tError {
		panic(p.err)
	}
	if n := len(p.opens); n > 0 {
		p.unexpected("':'")
	}
	d := p.report(p.here(), CodeColon, "expected ':'").WithHint("put ':' at the end of the %s line", of)
	if p.tok != tNewline {
		p.diags = p.diags[:len(p.diags)-1]
		panic(d)
	}
}

// block reads the body of a compound statement after its ':'.
func (p *parser) block(of string, header Pos) []Stmt {
	base := len(p.stmts)
	if p.tok != tNewline {
		switch p.tok {
		case tIf, tFor, tWhile, tWith, tTry, tDef, tClass, tAt, tAsync:
			panic(p.errorf(p.here(), CodeSyntax, "invalid syntax: %s cannot stand on the line of another statement", p.tok).
				WithHint("put it on a line of its own, indented"))
		}
		p.simpleLine()
		return p.takeStmts(base)
	}
	p.next()
	if p.tok != tIndent {
		p.report(p.here(), CodeBlock, "expected an indented block after %s on line %d", of, header.Line).
			WithHint("indent the body, or write 'pass' when there is nothing to do").
			WithRelated(Range{header, header}.Span(p.path), "%s begins here", of)
		return nil
	}
	p.next()
	p.broken = false
	p.nested()
	return p.takeStmts(base)
}

func (p *parser) ifStmt() Stmt {
	start, word := p.pos, tokenNames[p.tok]
	p.next()
	s := &If{Cond: p.condition()}
	p.colon("'" + word + "'")
	s.Body = p.block("'"+word+"' statement", start)
	switch p.tok {
	case tElif:
		if p.elifs++; p.elifs > maxChain {
			p.fail(p.here(), CodeNesting, "too many 'elif' branches (more than %d)", maxChain)
		}
		s.Else = []Stmt{p.ifStmt()}
		p.elifs--
	default:
		s.Else = p.elseBlock()
	}
	s.Range = p.since(start)
	s.End = endOf(s.Body, s.Else, s.End)
	return s
}

// condition reads the condition of an if or while.
func (p *parser) condition() Expr {
	start := p.pos
	x := p.named()
	if p.tok == tAssign {
		p.next()
		p.test()
		panic(p.errorf(p.since(start), CodeSyntax, "invalid syntax. Maybe you meant '==' or ':=' instead of '='?").
			WithHint("'==' compares, '=' assigns"))
	}
	return x
}

// endOf is the end of the last statement of the blocks of a compound statement.
func endOf(body, last []Stmt, end Pos) Pos {
	if len(last) > 0 {
		return last[len(last)-1].At().End
	}
	if len(body) > 0 {
		return body[len(body)-1].At().End
	}
	return end
}

// elseBlock reads "else: …" if it is next.
func (p *parser) elseBlock() []Stmt {
	if p.tok != tElse {
		return nil
	}
	at := p.pos
	p.next()
	if p.tok == tIf {
		panic(p.errorf(p.here(), CodeColon, "expected ':'").WithHint("Python writes 'elif' for 'else if'"))
	}
	p.colon("'else'")
	return p.block("'else' statement", at)
}

func (p *parser) forStmt(start Pos, async bool) Stmt {
	at := p.pos
	p.next()
	s := &For{Target: p.targets("for"), Async: async}
	if p.tok != tIn {
		p.unexpected("'in'")
	}
	p.next()
	s.Iter = p.starExprs()
	p.colon("'for'")
	s.Body = p.block("'for' statement", at)
	s.Else = p.elseBlock()
	s.Range = p.since(start)
	s.End = endOf(s.Body, s.Else, s.End)
	return s
}

func (p *parser) whileStmt() Stmt {
	start := p.pos
	p.next()
	s := &While{Cond: p.condition()}
	p.colon("'while'")
	s.Body = p.block("'while' statement", start)
	s.Else = p.elseBlock()
	s.Range = p.since(start)
	s.End = endOf(s.Body, s.Else, s.End)
	return s
}

func (p *parser) withStmt(start Pos, async bool) Stmt {
	at := p.pos
	p.next()
	s := &With{Async: async}
	if p.tok == tLParen && p.parenthesizedItems() {
		p.next()
		for p.tok != tRParen {
			s.Items = append(s.Items, p.withItem())
			if !p.got(tComma) {
				break
			}
		}
		p.expect(tRParen, " after the items")
	} else {
		for {
			s.Items = append(s.Items, p.withItem())
			if !p.got(tComma) {
				break
			}
		}
		// "with (a, b):" is two items, not a tuple.
		if t, ok := s.Items[0].Context.(*Tuple); ok && len(s.Items) == 1 && s.Items[0].Target == nil && t.Paren && len(t.Elems) > 0 && itemsOnly(t.Elems) {
			s.Items = s.Items[:0]
			for _, e := range t.Elems {
				s.Items = append(s.Items, WithItem{Range: e.At(), Context: e})
			}
		}
	}
	p.colon("'with'")
	s.Body = p.block("'with' statement", at)
	s.Range = p.since(start)
	s.End = endOf(s.Body, nil, s.End)
	return s
}

func itemsOnly(elems []Expr) bool {
	for _, e := range elems {
		switch e.(type) {
		case *Starred, *NamedExpr:
			return false
		}
	}
	return true
}

// parenthesizedItems looks for an "as" between the parenthesis here and its end.
func (p *parser) parenthesizedItems() bool {
	s := p.scanner
	s.comments, s.indents, s.opens = nil, nil, append([]opening(nil), s.opens...)
	for n := len(s.opens); ; {
		s.next()
		if s.tok == tEOF || s.tok == tError || len(s.opens) < n {
			return false
		}
		if s.tok == tAs && len(s.opens) == n {
			return true
		}
	}
}

func (p *parser) withItem() WithItem {
	start := p.pos
	it := WithItem{Context: p.test()}
	if p.got(tAs) {
		if p.tok == tStar {
			it.Target = p.starred()
		} else {
			it.Target = p.primary()
		}
		p.assignable(it.Target, "")
	}
	it.Range = p.since(start)
	return it
}

func (p *parser) tryStmt() Stmt {
	start := p.pos
	p.next()
	p.colon("'try'")
	s := &Try{Body: p.block("'try' statement", start)}
	for p.tok == tExcept {
		at := p.pos
		p.next()
		h := Handler{Star: p.got(tStar)}
		if p.tok != tColon {
			h.Type = p.test()
			if p.tok == tComma {
				first := h.Type.At().Start
				p.next()
				p.test()
				p.fail(p.since(first), CodeSyntax, "multiple exception types must be parenthesized")
			}
			if p.got(tAs) {
				h.Name, _ = p.ident("a name after 'as'")
			}
		} else if h.Star {
			p.fail(p.here(), CodeSyntax, "expected one or more exception types")
		}
		p.colon("'except'")
		what := "'except' statement"
		if h.Star {
			what = "'except*' statement"
		}
		h.Body = p.block(what, at)
		h.Range = Range{at, endOf(h.Body, nil, p.prevEnd)}
		if n := len(s.Handlers); n > 0 && s.Handlers[n-1].Star != h.Star {
			p.report(h.Range, CodeSyntax, "cannot have both 'except' and 'except*' on the same 'try'")
		}
		s.Handlers = append(s.Handlers, h)
	}
	if len(s.Handlers) > 0 {
		s.Else = p.elseBlock()
	}
	if p.tok == tFinally {
		at := p.pos
		p.next()
		p.colon("'finally'")
		s.Finally = p.block("'finally' statement", at)
	} else if len(s.Handlers) == 0 && !p.broken {
		p.report(p.here(), CodeSyntax, "expected 'except' or 'finally' block").
			WithRelated(Range{start, start}.Span(p.path), "of the 'try' that begins here")
	}
	s.Range = p.since(start)
	for _, b := range [][]Stmt{s.Body, s.Else, s.Finally} {
		s.End = endOf(b, nil, s.End)
		if len(s.Handlers) > 0 && len(s.Else)+len(s.Finally) == 0 {
			s.End = s.Handlers[len(s.Handlers)-1].End
		}
	}
	return s
}

func (p *parser) decorated() Stmt {
	var decorators []Expr
	for p.got(tAt) {
		decorators = append(decorators, p.named())
		if p.tok != tNewline {
			p.unexpected("the end of the line after a decorator")
		}
		p.next()
	}
	switch p.tok {
	case tDef:
		return p.def(p.pos, decorators, false)
	case tClass:
		return p.class(decorators)
	case tAsync:
		return p.async(decorators)
	}
	p.unexpected("'def' or 'class' after a decorator")
	return nil
}

func (p *parser) async(decorators []Expr) Stmt {
	start := p.pos
	p.next()
	switch {
	case p.tok == tDef:
		return p.def(start, decorators, true)
	case p.tok == tFor && decorators == nil:
		return p.forStmt(start, true)
	case p.tok == tWith && decorators == nil:
		return p.withStmt(start, true)
	}
	p.unexpected("'def', 'for' or 'with' after 'async'")
	return nil
}

func (p *parser) def(start Pos, decorators []Expr, async bool) Stmt {
	at := p.pos
	p.next()
	s := &FunctionDef{Decorators: decorators, Async: async}
	s.Name, s.NamePos = p.ident("a name of a function")
	if p.tok == tLBracket {
		panic(p.errorf(p.here(), CodeSyntax, "expected '('").WithHint("type parameters are not in Python 3.10"))
	}
	if p.tok != tLParen {
		if p.tok == tError {
			panic(p.err)
		}
		panic(p.errorf(p.here(), CodeSyntax, "expected '('").WithHint("write def %s():", s.Name))
	}
	p.next()
	s.Params = p.params(tRParen, true)
	if p.tok != tRParen {
		p.unexpected("',' or ')'")
	}
	p.next()
	if p.got(tArrow) {
		s.Returns = p.test()
	}
	p.colon("'def'")
	s.Body = p.block("function definition", at)
	s.Range = p.since(start)
	s.End = endOf(s.Body, nil, s.End)
	return s
}

func (p *parser) class(decorators []Expr) Stmt {
	start := p.pos
	p.next()
	s := &ClassDef{Decorators: decorators}
	s.Name, s.NamePos = p.ident("a name of a class")
	if p.tok == tLParen {
		s.Bases, s.Keywords = p.arguments()
	}
	p.colon("'class'")
	s.Body = p.block("class definition", start)
	s.Range = p.since(start)
	s.End = endOf(s.Body, nil, s.End)
	return s
}
