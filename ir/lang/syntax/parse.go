package syntax

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/ptobuild/ptobuild/internal/diag"
)

// Limits. They keep the recursion of the parser, and of everything that walks its trees, within a few megabytes of stack.
const (
	maxNesting = 1000  // expressions inside expressions
	maxBlocks  = 1000  // blocks inside blocks
	maxChain   = 20000 // operators, calls or elifs in one chain, summed over the chains that enclose each other
	maxErrors  = 100
	maxRewinds = 30 // returns to the line after an unclosed bracket
)

// parser is a recursive-descent parser over the tokens of its scanner. A function that meets an error panics with a *diag.Diagnostic;
// statement recovers, reports it, and goes on with the next statement.
type parser struct {
	scanner
	reads   int // tokens read, with those read twice: what the work of a parse is measured in
	diags   diag.List
	depth   int  // nesting of expressions
	blocks  int  // nesting of blocks
	chain   int  // longest chain of operators below the expression being read
	elifs   int  // elif branches around the current statement
	pattern bool // reading the pattern of a case
	broken  bool // the statement before this one had an error
	rewinds int
	resumed bool // rewind has put the scanner at the next statement

	elems []Expr // scratch: the lists being read, innermost last
	kws   []Keyword
	stmts []Stmt

	names  slab[Name] // nodes are carved from slabs: they live and die together
	consts slab[Constant]
	attrs  slab[Attribute]
	calls  slab[Call]
	subs   slab[Subscript]
	bins   slab[BinOp]
	assign slab[Assign]
	expr   slab[ExprStmt]

	exprLists slab[Expr]
	kwLists   slab[Keyword]
	stmtLists slab[Stmt]
}

// slab hands out addresses of zeroed values, allocated many at a time.
type slab[T any] struct {
	free []T
	size int
}

func (s *slab[T]) new() *T {
	if len(s.free) == 0 {
		s.size = min(2*s.size+8, 256)
		s.free = make([]T, s.size)
	}
	p := &s.free[0]
	s.free = s.free[1:]
	return p
}

// copy gives a copy of a list, whose capacity is its length. Long ones are not cut from the slab.
func (s *slab[T]) copy(list []T) []T {
	n := len(list)
	switch {
	case n == 0:
		return nil
	case n > 32:
		return slices.Clone(list)[:n:n]
	case n > len(s.free):
		s.size = min(2*s.size+32, 512)
		s.free = make([]T, s.size)
	}
	out := s.free[:n:n]
	s.free = s.free[n:]
	copy(out, list)
	return out
}

// Parse reads a source file. The File is never nil: after errors it holds every statement that could be read.
func Parse(path string, src []byte) (*File, diag.List) {
	f := &File{Path: path}
	text, bad := sourceText(path, src)
	if bad != nil {
		return f, diag.List{bad}
	}
	f.source = text[:len(text)-1]
	p := parser{scanner: newScanner(path, text)}
	p.next()
	f.Body = p.file()
	f.Comments = p.comments
	return f, p.finish()
}

// next reads the next token.
func (p *parser) next() {
	p.reads++
	p.scanner.next()
}

// ParseExpr reads one expression, which may span lines as it does between parentheses. The Expr is nil after an error.
func ParseExpr(path string, src []byte) (x Expr, errs diag.List) {
	text, bad := sourceText(path, src)
	if bad != nil {
		return nil, diag.List{bad}
	}
	p := parser{scanner: newScanner(path, text)}
	p.bol = false
	p.opens = append(p.opens, opening{}) // so that line ends do not count
	defer func() {
		if d := recovered(recover()); d != nil {
			p.diags.Add(d)
			x = nil
		}
		errs = p.finish()
	}()
	p.next()
	x = p.starExprs()
	if p.tok != tEOF {
		p.unexpected("the end of the expression")
	}
	return x, nil
}

// recovered tells the parser's own panics from all others.
func recovered(r any) *diag.Diagnostic {
	if r == nil {
		return nil
	}
	if d, ok := r.(*diag.Diagnostic); ok {
		return d
	}
	panic(r)
}

func (p *parser) finish() diag.List {
	p.diags.Add(p.reports...)
	return p.diags.Sort()
}

var utf8BOM = []byte("\xef\xbb\xbf")

var cookie = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)`) })

// sourceText prepares bytes for scanning: no byte order mark, '\n' line ends, UTF-8, and a NUL at the end.
func sourceText(path string, src []byte) (string, *diag.Diagnostic) {
	src = bytes.TrimPrefix(src, utf8BOM)
	if i := bytes.IndexByte(src, 0); i >= 0 {
		return "", diag.Errorf(CodeSource, placeOf(src, i).Span(path), "source code cannot contain null bytes")
	}
	if !utf8.Valid(src) {
		text, name := latin1(src)
		if text == nil {
			i := 0
			for i < len(src) {
				r, n := utf8.DecodeRune(src[i:])
				if r == utf8.RuneError && n == 1 {
					break
				}
				i += n
			}
			d := diag.Errorf(CodeSource, placeOf(src, i).Span(path), "source is not valid UTF-8: byte 0x%02x", src[i]).WithHint("save the file as UTF-8")
			if name != "" {
				d.Message = "source encoding " + strconv.Quote(name) + " is not supported: byte " + "0x" + strconv.FormatInt(int64(src[i]), 16)
			}
			return "", d
		}
		src = text
	}
	var b strings.Builder
	b.Grow(len(src) + 1)
	if bytes.IndexByte(src, '\r') < 0 {
		b.Write(src)
	} else {
		for i, c := range src {
			if c != '\r' {
				b.WriteByte(c)
			} else if i+1 == len(src) || src[i+1] != '\n' {
				b.WriteByte('\n')
			}
		}
	}
	b.WriteByte(0)
	return b.String(), nil
}

// latin1 decodes a file that declares that encoding in one of its first two lines; else it gives the name declared.
func latin1(src []byte) (text []byte, name string) {
	for line := range bytes.Lines(src[:min(len(src), 400)]) {
		if m := cookie().FindSubmatch(line); m != nil {
			name = string(m[1])
			break
		}
		if len(name) > 0 {
			break
		}
	}
	switch strings.ReplaceAll(strings.ToLower(name), "_", "-") {
	case "latin-1", "latin1", "iso-8859-1", "iso8859-1", "iso-latin-1":
		text = make([]byte, 0, len(src)+len(src)/8)
		for _, c := range src {
			text = utf8.AppendRune(text, rune(c))
		}
	}
	return text, name
}

// placeOf is the position of byte i.
func placeOf(src []byte, i int) Range {
	bol := bytes.LastIndexByte(src[:i], '\n') + 1
	at := Pos{int32(bytes.Count(src[:i], []byte("\n")) + 1), int32(utf8.RuneCount(src[bol:i]) + 1)}
	return Range{at, at}
}

// Helpers of the parsing functions.

func (p *parser) errorf(r Range, code diag.Code, format string, args ...any) *diag.Diagnostic {
	return diag.Errorf(code, r.Span(p.path), format, args...)
}

// fail ends the statement with an error.
func (p *parser) fail(r Range, code diag.Code, format string, args ...any) {
	panic(p.errorf(r, code, format, args...))
}

// report records an error after which parsing can go on in place.
func (p *parser) report(r Range, code diag.Code, format string, args ...any) *diag.Diagnostic {
	d := p.errorf(r, code, format, args...)
	p.diags.Add(d)
	return d
}

// here is the range of the current token.
func (p *parser) here() Range { return Range{p.pos, p.end} }

// since is the range from start to the end of the last token read.
func (p *parser) since(start Pos) Range { return Range{start, p.prevEnd} }

func (p *parser) text() string { return p.src[p.start:p.off] }

// got reads the token t if it is next.
func (p *parser) got(t token) bool {
	if p.tok == t {
		p.next()
		return true
	}
	return false
}

func (p *parser) expect(t token, context string) {
	if p.tok != t {
		p.unexpected(t.String() + context)
	}
	p.next()
}

// found names the current token for a message.
func (p *parser) found() string {
	switch p.tok {
	case tName:
		return "'" + clip(p.text()) + "'"
	case tInt, tFloat, tImag:
		return "number " + clip(p.text())
	}
	return p.tok.String()
}

func clip(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "…"
	}
	return s
}

// unexpected ends the statement because the current token cannot stand here; want says what could.
func (p *parser) unexpected(want string) {
	if p.tok == tError {
		panic(p.err)
	}
	if n := len(p.opens); n > 0 && p.opens[n-1].pos.Line > 0 && (p.tok == tEOF || p.pos.Line > p.opens[n-1].pos.Line) && !(p.field && n == 1) && !p.closes() {
		p.neverClosed()
	}
	if p.field && p.tok == tEOF {
		p.fail(p.here(), CodeString, "f-string: expecting '}'")
	}
	d := p.errorf(p.here(), CodeSyntax, "invalid syntax: unexpected %s, expected %s", p.found(), want)
	switch p.tok {
	case tBang:
		d.WithHint("Python writes 'not x'")
	case tAmp, tPipe:
		if p.src[p.off-1] == p.src[max(0, p.start-1)] {
			d.WithHint("Python writes 'and' and 'or'")
		}
	}
	if before := strings.TrimRight(p.src[:p.start], " \t"); p.tok == tNewline && (strings.HasSuffix(before, "++") || strings.HasSuffix(before, "--")) {
		d.WithHint("Python writes 'x += 1' and 'x -= 1'")
	}
	if p.tok.isKeyword() && strings.HasPrefix(want, "a name") {
		d.Hint = p.tok.String() + " is a keyword and cannot be used as a name"
	}
	panic(d)
}

func (p *parser) neverClosed() {
	o := p.opens[len(p.opens)-1]
	d := diag.Errorf(CodeBracket, Range{o.pos, Pos{o.pos.Line, o.pos.Col + 1}}.Span(p.path), "%s was never closed", o.tok).
		WithHint("add %s where the expression ends", closer(o.tok))
	p.rewind(o.off, o.pos.Line)
	panic(d)
}

func closer(t token) token { return t + 1 } // the brackets stand in pairs

// closes reports whether the innermost open bracket is closed before a line that looks like the next statement.
func (p *parser) closes() bool {
	if p.rewinds > maxRewinds {
		return true
	}
	s := p.scanner
	s.opens, s.indents, s.comments = slices.Clone(s.opens), slices.Clone(s.indents), nil
	col := p.indents[len(p.indents)-1].col
	depth := len(s.opens)
	for {
		if s.tok == tEOF || s.tok == tError && s.err.Code == CodeBracket {
			return false
		}
		if s.first && s.tok.startsOnlyStmt() && int(s.pos.Col) <= col+1 {
			return false
		}
		if len(s.opens) < depth {
			return true
		}
		s.next()
	}
}

// rewind arranges for scanning to go on at the first line after the given one that is not part of a bracketed expression, by its looks.
func (p *parser) rewind(off int, line int32) {
	if p.rewinds++; p.rewinds > maxRewinds {
		p.off, p.opens = len(p.src)-1, p.opens[:0]
		p.tok = tNewline
		return
	}
	col := p.indents[len(p.indents)-1].col
	for {
		n := strings.IndexByte(p.src[off:], '\n')
		if n < 0 {
			off = len(p.src) - 1
			break
		}
		off += n + 1
		line++
		width, i := 0, off
		for ; p.src[i] == ' ' || p.src[i] == '\t'; i++ {
			if width++; p.src[i] == '\t' {
				width = (width + 7) / 8 * 8
			}
		}
		if c := p.src[i]; width <= col && c != '\n' && c != '#' && c != ')' && c != ']' && c != '}' {
			break
		}
	}
	for n := len(p.comments); n > 0 && p.comments[n-1].Start.Line >= line; n-- {
		p.comments = p.comments[:n-1]
	}
	p.off, p.line, p.lineStart, p.wide = off, line, off, 0
	p.opens = p.opens[:0]
	p.bol = true
	p.tok = tNewline
	p.pos, p.end = Pos{line, 1}, Pos{line, 1}
	p.next()
	p.resumed = true
}

// sync skips to the beginning of the next statement.
func (p *parser) sync() {
	if p.resumed { // rewind has found it
		p.resumed = false
		return
	}
	if len(p.opens) > 0 {
		p.rewind(p.start, p.pos.Line)
		p.resumed = false
		return
	}
	for p.tok != tNewline && p.tok != tEOF && !(p.first && (p.tok == tDedent || p.tok == tIndent)) {
		p.next()
		if len(p.opens) > 0 && !p.closes() {
			p.rewind(p.start, p.pos.Line)
			p.resumed = false
			return
		}
	}
	p.got(tNewline)
}

// enter and leave bound the nesting of expressions.
func (p *parser) enter() {
	if p.depth++; p.depth > maxNesting {
		p.fail(p.here(), CodeNesting, "expression is nested too deeply (more than %d levels)", maxNesting)
	}
}

func (p *parser) leave() { p.depth-- }

// link counts one more operator in a chain that has n so far, on top of the chains inside its operands.
func (p *parser) link(n int) {
	if p.chain+n > maxChain {
		p.fail(p.here(), CodeNesting, "expression is too long (more than %d operators in a chain)", maxChain)
	}
}

func (p *parser) takeElems(base int) []Expr {
	out := p.exprLists.copy(p.elems[base:])
	p.elems = p.elems[:base]
	return out
}

func (p *parser) takeKeywords(base int) []Keyword {
	out := p.kwLists.copy(p.kws[base:])
	p.kws = p.kws[:base]
	return out
}

// ident reads a name.
func (p *parser) ident(want string) (string, Range) {
	if p.tok != tName {
		p.unexpected(want)
	}
	id, at := p.text(), p.here()
	p.next()
	return id, at
}

func itoa(n int) string { return strconv.Itoa(n) }
