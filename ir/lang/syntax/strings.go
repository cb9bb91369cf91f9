package syntax

import (
	"strings"
	"unicode/utf8"
)

// strings reads adjacent string literals, which concatenate.
func (p *parser) strings() Expr {
	start := p.pos
	var (
		text   pieces // the literal text since the last field
		parts  []Expr
		isF    bool
		tokens int
		bytes  bool
	)
	for p.tok == tString {
		lit := p.src[p.start:p.off]
		f, raw, isBytes := false, false, false
		i := 0
		for ; classes[lit[i]] == cIdent; i++ {
			switch lit[i] | 0x20 {
			case 'f':
				f = true
			case 'r':
				raw = true
			case 'b':
				isBytes = true
			}
		}
		n := 1
		if len(lit) >= i+6 && lit[i+1] == lit[i] && lit[i+2] == lit[i] {
			n = 3
		}
		body := lit[i+n : len(lit)-n]
		if tokens > 0 && isBytes != bytes {
			p.fail(Range{start, p.end}, CodeString, "cannot mix bytes and nonbytes literals")
		}
		tokens++
		bytes = isBytes
		switch {
		case f:
			isF = true
			cur := cursor{body + "\x00", 0, Pos{p.pos.Line, p.pos.Col + int32(i+n)}}
			p.fstring(&cur, &text, &parts, raw, 0)
		case raw || strings.IndexByte(body, '\\') < 0:
			if isBytes {
				p.onlyASCII(body)
			}
			text.add(body, p.here())
		default:
			if isBytes {
				p.onlyASCII(body)
			}
			text.add(p.unescape(body, isBytes, &text.named), p.here())
		}
		p.next()
	}
	if isF {
		text.flush(&parts)
		return &FString{Range: p.since(start), Parts: parts}
	}
	c := p.consts.new()
	c.Range, c.Kind, c.Str, c.Named = p.since(start), Str, text.s, text.named
	if bytes {
		c.Kind = Bytes
	}
	return c
}

func (p *parser) onlyASCII(body string) {
	for i := range len(body) {
		if body[i] >= utf8.RuneSelf {
			p.fail(p.here(), CodeString, "bytes can only contain ASCII literal characters")
		}
	}
}

// pieces joins literal text, and tells where it came from.
type pieces struct {
	s     string
	at    Range
	named bool
}

func (t *pieces) add(s string, at Range) {
	if t.at.Start.Line == 0 {
		t.at = at
	}
	t.at.End = at.End
	if t.s == "" {
		t.s = s
	} else if s != "" {
		t.s += s
	}
}

// flush moves the text to parts, unless it is empty.
func (t *pieces) flush(parts *[]Expr) {
	if t.s != "" {
		*parts = append(*parts, &Constant{Range: t.at, Kind: Str, Str: t.s, Named: t.named})
	}
	*t = pieces{}
}

// cursor is a place in the body of an f-string.
type cursor struct {
	s   string // ends with a NUL, so that fields can be scanned in place
	i   int
	pos Pos
}

func (c *cursor) done() bool { return c.i >= len(c.s)-1 }

// at is the byte n places ahead, 0 at the end.
func (c *cursor) at(n int) byte {
	if c.i+n < len(c.s) {
		return c.s[c.i+n]
	}
	return 0
}

func (c *cursor) advance(n int) {
	for ; n > 0; n-- {
		switch b := c.s[c.i]; {
		case b == '\n':
			c.pos = Pos{c.pos.Line + 1, 1}
		case b&0xC0 != 0x80:
			c.pos.Col++
		}
		c.i++
	}
}

// fstring reads literal text and fields. At level 0 it reads to the end of the body, in a format to the '}' that ends it.
func (p *parser) fstring(c *cursor, text *pieces, parts *[]Expr, raw bool, level int) {
	lit, from := c.i, c.pos
	emit := func() {
		if s := c.s[lit:c.i]; s != "" {
			if !raw && strings.IndexByte(s, '\\') >= 0 {
				s = p.unescape(s, false, &text.named)
			}
			text.add(s, Range{from, c.pos})
		}
	}
	for !c.done() {
		switch b := c.at(0); {
		case b == '\\' && !raw:
			if c.at(1) == 'N' && c.at(2) == '{' {
				if n := strings.IndexByte(c.s[c.i:], '}'); n > 0 {
					c.advance(n + 1)
					continue
				}
			}
			c.advance(1)
			if !c.done() && c.at(0) != '{' && c.at(0) != '}' {
				c.advance(1)
			}
		case b == '{' && c.at(1) == '{' && level == 0, b == '}' && c.at(1) == '}' && level == 0:
			c.advance(1)
			emit()
			c.advance(1)
			lit, from = c.i, c.pos
		case b == '{':
			emit()
			p.replacement(c, text, parts, raw, level)
			lit, from = c.i, c.pos
		case b == '}':
			if level > 0 {
				emit()
				return
			}
			p.fail(Range{c.pos, c.pos}, CodeString, "f-string: single '}' is not allowed")
		default:
			c.advance(1)
		}
	}
	emit()
}

// replacement reads one {…} field. Its expression is scanned from the body of the literal, with positions of the file.
func (p *parser) replacement(c *cursor, text *pieces, parts *[]Expr, raw bool, level int) {
	start := c.pos
	p.enter()
	c.advance(1)
	outer, read := p.scanner, false
	defer func() {
		if !read { // an error: go on behind the whole literal
			p.scanner = outer
		}
	}()
	p.scanner = newScanner(outer.path, c.s)
	p.off, p.line, p.lineStart, p.bol, p.field = c.i, c.pos.Line, c.i-int(c.pos.Col-1), false, true
	p.opens = append(p.opens, opening{tLBrace, 0, start})
	p.next()
	if p.tok == tRBrace || p.tok == tBang || p.tok == tColon {
		panic(p.errorf(Range{start, p.end}, CodeString, "f-string: empty expression not allowed").WithHint("put an expression between the braces, or write '{{' for a brace"))
	}
	v := &FValue{}
	if p.tok == tYield {
		v.X = p.yield()
	} else {
		v.X = p.starExprs()
	}
	if p.tok == tAssign {
		p.next()
		v.Debug = true
		if p.tok != tEOF {
			text.add(c.s[c.i:p.start], Range{c.pos, p.pos}) // the text of the expression with '=' and blanks is part of the result
		}
	}
	text.flush(parts)
	if p.tok == tBang {
		p.next()
		conv, at := p.text(), p.here()
		if p.tok != tName || conv != "s" && conv != "r" && conv != "a" {
			p.fail(at, CodeString, "f-string: invalid conversion character: expected 's', 'r', or 'a'")
		}
		v.Conv = conv[0]
		p.next()
	}
	switch p.tok {
	case tColon, tRBrace:
	case tError:
		panic(p.err)
	default:
		panic(p.errorf(p.here(), CodeString, "f-string: expecting '}'").WithHint("the field that begins at column %d is not closed", start.Col))
	}
	format := p.tok == tColon
	c.advance(p.off - c.i)
	p.scanner, read = outer, true
	if format {
		var sub []Expr
		var t pieces
		at := c.pos
		p.fstring(c, &t, &sub, raw, level+1)
		t.flush(&sub)
		v.Format = &FString{Range: Range{at, c.pos}, Parts: sub}
		if c.at(0) != '}' {
			p.fail(Range{start, c.pos}, CodeString, "f-string: expecting '}'")
		}
		c.advance(1)
	}
	v.Range = Range{start, c.pos}
	*parts = append(*parts, v)
	p.leave()
}

// unescape decodes the backslash escapes of a literal. Unknown ones stay as written, as in Python; \N{name} also does, and sets named.
func (p *parser) unescape(s string, isBytes bool, named *bool) string {
	var b strings.Builder
	b.Grow(len(s))
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 || i+1 >= len(s) {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		c := s[i+1]
		s = s[i+2:]
		switch c {
		case '\n':
		case '\\', '\'', '"':
			b.WriteByte(c)
		case 'a':
			b.WriteByte('\a')
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'v':
			b.WriteByte('\v')
		case '0', '1', '2', '3', '4', '5', '6', '7':
			v := int(c - '0')
			n := 0
			for n < 2 && n < len(s) && isOctal(s[n]) {
				v = v*8 + int(s[n]-'0')
				n++
			}
			s = s[n:]
			writeCode(&b, v, isBytes)
		case 'x':
			v, n := hexDigits(s, 2)
			if n < 2 {
				if isBytes {
					panic(p.errorf(p.here(), CodeString, "invalid \\x escape in bytes literal").WithHint("\\x takes two hexadecimal digits"))
				}
				p.badEscape("\\xXX")
			}
			s = s[n:]
			writeCode(&b, v, isBytes)
		case 'u', 'U':
			if isBytes {
				b.WriteByte('\\')
				b.WriteByte(c)
				continue
			}
			want := 4
			if c == 'U' {
				want = 8
			}
			v, n := hexDigits(s, want)
			if n < want {
				p.badEscape("\\" + string(c) + strings.Repeat("X", want))
			}
			if v > utf8.MaxRune {
				p.fail(p.here(), CodeString, "(unicode error) illegal Unicode character U+%X", v)
			}
			s = s[n:]
			writeCode(&b, v, false)
		default:
			*named = *named || c == 'N' && !isBytes
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
}

func (p *parser) badEscape(form string) {
	panic(p.errorf(p.here(), CodeString, "(unicode error) truncated %s escape", form).
		WithHint(`write '\\' for a backslash, or put r before the quote`))
}

func hexDigits(s string, most int) (v, n int) {
	for n < most && n < len(s) && isHex(s[n]) {
		d := int(s[n] | 0x20)
		if d >= 'a' {
			d = d - 'a' + 10
		} else {
			d -= '0'
		}
		v = v*16 + d
		n++
	}
	return v, n
}

// writeCode writes a code point, or a byte. Surrogates, which Python strings can hold and UTF-8 cannot, get the three bytes that the
// encoding scheme would give them.
func writeCode(b *strings.Builder, v int, isByte bool) {
	switch {
	case isByte:
		b.WriteByte(byte(v))
	case 0xD800 <= v && v < 0xE000:
		b.WriteByte(0xE0 | byte(v>>12))
		b.WriteByte(0x80 | byte(v>>6)&0x3F)
		b.WriteByte(0x80 | byte(v)&0x3F)
	default:
		b.WriteRune(rune(v))
	}
}
