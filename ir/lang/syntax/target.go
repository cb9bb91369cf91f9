package syntax

// targets reads the targets of a for clause: "a, *b".
func (p *parser) targets(context string) Expr {
	start := p.pos
	one := func() Expr {
		if p.tok == tStar {
			return p.starred()
		}
		return p.binary(precBitOr)
	}
	x := one()
	if p.tok == tComma {
		base := len(p.elems)
		p.elems = append(p.elems, x)
		for p.got(tComma) && (p.tok.startsExpr() || p.tok == tStar) {
			p.elems = append(p.elems, one())
		}
		elems := p.takeElems(base)
		x = &Tuple{Range: p.since(start), Elems: elems}
	}
	p.assignable(x, "")
	return x
}

// assignable reports the parts of x that nothing can be assigned to; hint may suggest what was meant.
func (p *parser) assignable(x Expr, hint string) {
	switch x := x.(type) {
	case *Name, *Attribute, *Subscript:
	case *Starred:
		p.assignable(x.X, hint)
	case *Tuple:
		for _, e := range x.Elems {
			p.assignable(e, "")
		}
	case *List:
		for _, e := range x.Elems {
			p.assignable(e, "")
		}
	default:
		d := p.errorf(x.At(), CodeTarget, "cannot assign to %s", kindOf(x))
		if c, ok := x.(*Constant); hint != "" && (!ok || c.Kind != True && c.Kind != False && c.Kind != None && c.Kind != Ellipsis) {
			d.Message += " here. " + hint
		}
		p.diags.Add(d.WithHint("the left side of '=' is a name, an attribute, a subscript, or a list of these"))
	}
}

// deletable does the same for del.
func (p *parser) deletable(x Expr) {
	switch x := x.(type) {
	case *Name, *Attribute, *Subscript:
	case *Tuple:
		for _, e := range x.Elems {
			p.deletable(e)
		}
	case *List:
		for _, e := range x.Elems {
			p.deletable(e)
		}
	default:
		p.report(x.At(), CodeTarget, "cannot delete %s", kindOf(x)).WithHint("del takes names, attributes and subscripts")
	}
}

// kindOf names the kind of an expression for a message.
func kindOf(x Expr) string {
	switch x := x.(type) {
	case *Name:
		return "name"
	case *Constant:
		switch x.Kind {
		case True:
			return "True"
		case False:
			return "False"
		case None:
			return "None"
		case Ellipsis:
			return "ellipsis"
		}
		return "literal"
	case *FString:
		return "f-string expression"
	case *Compare:
		return "comparison"
	case *Call:
		return "function call"
	case *Attribute:
		return "attribute"
	case *Subscript:
		return "subscript"
	case *Tuple:
		return "tuple"
	case *List:
		return "list"
	case *Set:
		return "set display"
	case *Dict:
		return "dict literal"
	case *Comprehension:
		return [...]string{"list comprehension", "set comprehension", "dict comprehension", "generator expression"}[x.Kind]
	case *IfExp:
		return "conditional expression"
	case *Lambda:
		return "lambda"
	case *NamedExpr:
		return "named expression"
	case *Starred:
		return "starred"
	case *Await:
		return "await expression"
	case *Yield:
		return "yield expression"
	}
	return "expression"
}
