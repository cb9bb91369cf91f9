package syntax

// file reads statements to the end of the file.
func (p *parser) file() []Stmt {
	for p.tok != tEOF {
		p.statement()
	}
	return p.takeStmts(0)
}

func (p *parser) takeStmts(base int) []Stmt {
	out := p.stmtLists.copy(p.stmts[base:])
	p.stmts = p.stmts[:base]
	return out
}

// statement reads one line of simple statements, or one compound statement, onto p.stmts. It recovers from errors: those of a nested
// block are caught by the statement of that block.
func (p *parser) statement() {
	elems, kws, depth, blocks, elifs, stmts := len(p.elems), len(p.kws), p.depth, p.blocks, p.elifs, len(p.stmts)
	defer func() {
		d := recovered(recover())
		if d == nil {
			return
		}
		p.diags.Add(d)
		p.elems, p.kws, p.depth, p.blocks, p.elifs, p.pattern = p.elems[:elems], p.kws[:kws], depth, blocks, elifs, false
		p.stmts = p.stmts[:stmts]
		p.sync()
		p.broken = true
		if len(p.diags) >= maxErrors {
			p.giveUp()
		}
	}()
	p.chain = 0
	p.broken = p.broken || p.misaligned
	p.misaligned = false
	switch p.tok {
	case tIndent:
		if !p.broken {
			p.report(p.here(), CodeIndent, "unexpected indent").WithHint("align this line with the statement before it")
		}
		p.next()
		broken := p.broken
		p.nested()
		p.broken = broken // an "else" may follow
		return
	case tDedent: // of a block that an error has hidden
		p.next()
		return
	case tElif, tElse, tExcept, tFinally:
		if p.broken { // of a statement whose header was in error
			p.skipClause()
			return
		}
	}
	p.compound()
	p.broken = false
}

func (p *parser) giveUp() {
	p.report(p.here(), CodeTooMany, "too many errors; giving up on this file")
	p.stop()
}

// stop ends the parse here.
func (p *parser) stop() {
	p.scanner.off = len(p.src) - 1
	p.scanner.opens, p.scanner.indents, p.scanner.dedents = p.opens[:0], p.indents[:1], 0
	p.tok = tEOF
}

// nested reads the statements of an indented block up to its end.
func (p *parser) nested() {
	p.blocks++
	if p.blocks > maxBlocks {
		p.report(p.here(), CodeNesting, "too many levels of indentation (more than %d)", maxBlocks).WithHint("move the inner blocks to functions")
		p.stop()
	}
	for p.tok != tDedent && p.tok != tEOF {
		p.statement()
	}
	p.got(tDedent)
	p.blocks--
}

// skipClause passes over "else: …" without a report of its own.
func (p *parser) skipClause() {
	for p.tok != tNewline && p.tok != tEOF {
		p.next()
	}
	p.got(tNewline)
	if p.got(tIndent) {
		n := len(p.stmts)
		p.nested()
		p.stmts = p.stmts[:n]
	}
	p.broken = true
}

// simpleLine reads "a; b; c" and the end of the line.
func (p *parser) simpleLine() {
	for {
		start := p.pos
		s := p.simple()
		p.stmts = append(p.stmts, s)
		if p.got(tSemicolon) {
			if p.tok == tNewline {
				break
			}
			continue
		}
		if p.tok == tNewline {
			break
		}
		if p.tok == tEOF {
			return
		}
		p.afterSimple(start, s)
	}
	p.next()
}

// afterSimple reports what follows a complete statement on its line.
func (p *parser) afterSimple(start Pos, s Stmt) {
	if p.tok == tError {
		panic(p.err)
	}
	if e, ok := s.(*ExprStmt); ok {
		if n, ok := e.X.(*Name); ok && p.tok.startsExpr() {
			switch n.ID {
			case "print", "exec":
				panic(p.errorf(Range{start, p.end}, CodeSyntax, "Missing parentheses in call to '%s'. Did you mean %s(...)?", n.ID, n.ID))
			}
			if k, ok := nearKeyword(n.ID); ok {
				panic(p.errorf(n.Range, CodeSyntax, "invalid syntax: unexpected %s after '%s'", p.found(), n.ID).WithHint("did you mean '%s'?", k))
			}
		}
		if c, ok := e.X.(*Compare); ok && p.tok == tColon && c.Start == start {
			p.fail(p.here(), CodeSyntax, "invalid syntax: unexpected ':', expected the end of the statement")
		}
	}
	p.unexpected("the end of the statement")
}

// nearKeyword finds a keyword that begins statements and is one edit from s.
func nearKeyword(s string) (string, bool) {
	for _, t := range []token{tIf, tElif, tElse, tFor, tWhile, tWith, tDef, tClass, tReturn, tImport, tFrom, tAssert, tRaise, tTry, tExcept, tDel} {
		k := tokenNames[t]
		if len(k) > 2 && OneEdit(s, k) {
			return k, true
		}
	}
	return "", false
}

// OneEdit reports whether a and b differ by one insertion, deletion, replacement or swap of neighbours.
func OneEdit(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 || a == b {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	return a[i+1:] == b[i+1:] || i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

// simple reads one statement without a block.
func (p *parser) simple() Stmt {
	start := p.pos
	switch p.tok {
	case tPass, tBreak, tContinue:
		k := tokenNames[p.tok]
		p.next()
		return &Simple{p.since(start), k}
	case tReturn:
		p.next()
		var x Expr
		if !p.atEnd() {
			x = p.starExprs()
		}
		return &Return{p.since(start), x}
	case tImport:
		return p.importStmt()
	case tFrom:
		return p.fromStmt()
	case tRaise:
		p.next()
		r := &Raise{}
		if !p.atEnd() {
			r.Exc = p.test()
			if p.got(tFrom) {
				r.Cause = p.test()
			}
		}
		r.Range = p.since(start)
		return r
	case tAssert:
		p.next()
		a := &Assert{Cond: p.test()}
		if p.got(tComma) {
			a.Msg = p.test()
		}
		a.Range = p.since(start)
		return a
	case tDel:
		p.next()
		x := p.starExprs()
		p.deletable(x)
		d := &Delete{Range: p.since(start), Targets: []Expr{x}}
		if t, ok := x.(*Tuple); ok && !t.Paren {
			d.Targets = t.Elems
		}
		return d
	case tGlobal, tNonlocal:
		s := &Scoped{Keyword: tokenNames[p.tok]}
		p.next()
		for {
			id, _ := p.ident("a name")
			s.Names = append(s.Names, id)
			if !p.got(tComma) {
				break
			}
		}
		s.Range = p.since(start)
		return s
	case tYield:
		x := p.yield()
		if p.tok != tAssign {
			s := p.expr.new()
			*s = ExprStmt{p.since(start), x}
			return s
		}
		return p.assignment(start, x)
	}
	x := p.starExprs()
	switch {
	case p.tok == tAssign:
		return p.assignment(start, x)
	case p.tok == tColon:
		return p.annotated(start, x)
	case p.tok >= tPlusAssign && p.tok <= tCaretAssign:
		return p.augmented(start, x)
	case p.tok == tWalrus:
		if _, ok := x.(*Name); ok {
			panic(p.errorf(p.here(), CodeSyntax, "invalid syntax: ':=' cannot stand on its own").WithHint("use '=' for a statement"))
		}
	}
	s := p.expr.new()
	*s = ExprStmt{p.since(start), x}
	return s
}

// atEnd reports whether the statement ends here.
func (p *parser) atEnd() bool { return p.tok == tNewline || p.tok == tSemicolon || p.tok == tEOF }

// yieldOrExprs reads the right side of an assignment.
func (p *parser) yieldOrExprs() Expr {
	if p.tok == tYield {
		return p.yield()
	}
	return p.starExprs()
}

func (p *parser) assignment(start Pos, first Expr) Stmt {
	a := p.assign.new()
	base := len(p.elems)
	p.elems = append(p.elems, first)
	for {
		p.next()
		x := p.yieldOrExprs()
		if p.tok != tAssign {
			a.Value = x
			break
		}
		p.elems = append(p.elems, x)
	}
	a.Targets = p.takeElems(base)
	for _, t := range a.Targets {
		p.assignable(t, "Maybe you meant '==' instead of '='?")
	}
	a.Range = p.since(start)
	return a
}

func (p *parser) annotated(start Pos, target Expr) Stmt {
	switch t := target.(type) {
	case *Name, *Attribute, *Subscript:
	case *Tuple, *List:
		p.fail(t.At(), CodeTarget, "only single target (not %s) can be annotated", kindOf(target))
	default:
		panic(p.errorf(target.At(), CodeTarget, "illegal target for annotation").
			WithHint("a line that ends with ':' begins with if, for, while, with, def or class"))
	}
	p.next()
	if p.tok == tNewline {
		panic(p.errorf(p.here(), CodeSyntax, "invalid syntax: expected an annotation after ':'").
			WithHint("if this begins a block, the line needs a keyword such as if, for or else"))
	}
	a := &AnnAssign{Target: target, Annotation: p.test()}
	if p.got(tAssign) {
		a.Value = p.yieldOrExprs()
	}
	a.Range = p.since(start)
	return a
}

func (p *parser) augmented(start Pos, target Expr) Stmt {
	switch target.(type) {
	case *Name, *Attribute, *Subscript:
	default:
		p.report(target.At(), CodeTarget, "'%s' is an illegal expression for augmented assignment", kindOf(target))
	}
	op := tokenNames[p.tok]
	p.next()
	v := p.yieldOrExprs()
	return &AugAssign{Range: p.since(start), Target: target, Op: op[:len(op)-1], Value: v}
}

// dotted reads "a.b.c".
func (p *parser) dotted() string {
	id, _ := p.ident("a name of a module")
	for p.got(tDot) {
		part, _ := p.ident("a name after '.'")
		id += "." + part
	}
	return id
}

// asName reads "as name" if it is next.
func (p *parser) asName() string {
	if !p.got(tAs) {
		return ""
	}
	id, _ := p.ident("a name after 'as'")
	return id
}

func (p *parser) importStmt() Stmt {
	start := p.pos
	p.next()
	s := &Import{}
	for {
		at := p.pos
		a := Alias{Name: p.dotted()}
		a.As = p.asName()
		a.Range = p.since(at)
		s.Names = append(s.Names, a)
		if !p.got(tComma) {
			break
		}
	}
	s.Range = p.since(start)
	return s
}

func (p *parser) fromStmt() Stmt {
	start := p.pos
	p.next()
	s := &ImportFrom{}
	for {
		if p.got(tDot) {
			s.Level++
		} else if p.got(tEllipsis) {
			s.Level += 3
		} else {
			break
		}
	}
	if p.tok != tImport || s.Level == 0 {
		s.Module = p.dotted()
	}
	p.expect(tImport, " after the module")
	if p.tok == tStar {
		at := p.pos
		p.next()
		s.Names = []Alias{{Range: p.since(at), Name: "*"}}
		s.Range = p.since(start)
		return s
	}
	paren := p.got(tLParen)
	for {
		at := p.pos
		id, _ := p.ident("a name to import")
		a := Alias{Name: id}
		a.As = p.asName()
		a.Range = p.since(at)
		s.Names = append(s.Names, a)
		if !p.got(tComma) {
			break
		}
		if paren && p.tok == tRParen {
			break
		}
		if p.tok == tNewline {
			p.fail(p.here(), CodeSyntax, "trailing comma not allowed without surrounding parentheses")
		}
	}
	if paren {
		p.expect(tRParen, " after the names to import")
	}
	s.Range = p.since(start)
	return s
}
