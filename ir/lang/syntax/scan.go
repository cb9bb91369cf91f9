package syntax

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ptobuild/ptobuild/internal/diag"
)

// maxBrackets bounds how deep brackets nest; it keeps every recursion over the tree shallow.
const maxBrackets = 1000

// scanner turns source text into tokens. It never fails: what it cannot read becomes a tError token whose report is in err, and
// each call of next consumes something, so that a caller which skips tokens gets to the end.
type scanner struct {
	path string
	src  string // ends with a NUL, which occurs nowhere else
	off  int    // next unread byte

	line      int32 // current line
	lineStart int   // offset of its first byte
	wide      int   // bytes of the line before off that do not begin a character

	opens   []opening // open brackets
	indents []indent  // open blocks; the first is always 0
	dedents int       // tDedent tokens still to give
	bol     bool      // at the beginning of a logical line
	// misaligned: this statement has an indentation that fits no block.
	misaligned bool
	field      bool // inside {…} of an f-string: ':' is never part of ':='

	tok     token
	start   int // offset of tok
	pos     Pos // its place
	end     Pos
	prevEnd Pos  // end of the token before
	first   bool // tok is the first of its line
	err     *diag.Diagnostic

	comments []Comment
	reports  diag.List // of the errors that scanning survives
}

// opening is an open bracket.
type opening struct {
	tok token
	off int
	pos Pos
}

// indent is the width of an indentation with tabs to the next multiple of 8, and with tabs of width 1. Where the two disagree on
// an order, the meaning would depend on the width of a tab, which is an error.
type indent struct{ col, alt int }

func newScanner(path, src string) scanner {
	return scanner{path: path, src: src, line: 1, indents: []indent{{}}, bol: true, tok: tNewline, pos: Pos{1, 1}, end: Pos{1, 1}, prevEnd: Pos{1, 1}}
}

// place is the position of offset off, which must be on the current line, not before a wide character already counted.
func (s *scanner) place() Pos { return Pos{s.line, int32(s.off - s.lineStart - s.wide + 1)} }

func (s *scanner) newline() { // s.off is just past a '\n'
	s.line++
	s.lineStart = s.off
	s.wide = 0
}

// fail makes the current token an error; the caller has moved s.off past it.
func (s *scanner) fail(from Pos, code diag.Code, format string, args ...any) *diag.Diagnostic {
	s.tok = tError
	s.end = s.place()
	r := Range{from, s.end}
	if r.End.Line != from.Line {
		r.End = Pos{from.Line, from.Col + 1}
	}
	s.err = diag.Errorf(code, r.Span(s.path), format, args...)
	return s.err
}

// Byte classes: what a token can begin with.
const (
	cOther = iota
	cBlank
	cIdent
	cDigit
	cQuote
)

var classes = func() (t [256]uint8) {
	for c := range t {
		switch {
		case c == ' ' || c == '\t' || c == '\f':
			t[c] = cBlank
		case c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
			t[c] = cIdent
		case '0' <= c && c <= '9':
			t[c] = cDigit
		case c == '"' || c == '\'':
			t[c] = cQuote
		}
	}
	return t
}()

// next reads the next token into s.tok and its place.
func (s *scanner) next() {
	s.prevEnd = s.end
	s.first = false
	if s.dedents > 0 {
		s.dedents--
		s.tok = tDedent
		return
	}
	if s.bol {
		s.bol = false
		s.first = true
		if s.indentation() {
			return
		}
	}
	for {
		c := s.src[s.off]
		switch classes[c] {
		case cBlank:
			s.off++
			continue
		case cIdent:
			s.begin()
			s.name()
			return
		case cDigit:
			s.begin()
			s.number()
			return
		case cQuote:
			s.begin()
			s.str(false, false)
			return
		}
		switch {
		case c == '\n':
			if len(s.opens) == 0 {
				s.begin()
				s.off++
				s.tok = tNewline
				s.end = Pos{s.pos.Line, s.pos.Col + 1}
				s.newline()
				s.bol = true
				return
			}
			s.off++
			s.newline()
			s.first = true
		case c == '#':
			s.comment(false)
		case c == '\\':
			s.begin()
			s.off++
			if s.src[s.off] != '\n' {
				s.fail(s.pos, CodeSyntax, "unexpected character after line continuation character").
					WithHint("a '\\' that continues a line must be the last character of the line")
				return
			}
			s.off++
			s.newline()
			if s.atEOF() {
				s.fail(s.pos, CodeSyntax, "unexpected EOF after line continuation character").WithHint("remove the '\\'")
				return
			}
		case c == 0:
			s.begin()
			s.end = s.pos
			if len(s.opens) == 0 && s.tok != tNewline && s.tok != tDedent && s.tok != tEOF && s.tok != tIndent {
				s.tok = tNewline // the last line need not end with one
				s.bol = true
				return
			}
			s.tok = tEOF
			return
		case c < utf8.RuneSelf:
			s.begin()
			s.operator(c)
			return
		default:
			s.begin()
			s.name()
			return
		}
	}
}

func (s *scanner) atEOF() bool { return s.off >= len(s.src)-1 }

func (s *scanner) begin() {
	s.start = s.off
	s.pos = s.place()
}

// indentation reads the blanks at the beginning of a line, passing over lines without a statement. It reports whether that gave a token.
func (s *scanner) indentation() bool {
	in, continued := indent{}, false
	for {
		switch s.src[s.off] {
		case ' ':
			in.col++
			in.alt++
		case '\t':
			in.col = (in.col/8 + 1) * 8
			in.alt++
		case '\f':
			in = indent{}
		case '#':
			s.comment(true)
			continue
		case '\n':
			s.off++
			s.newline()
			in, continued = indent{}, false
			continue
		case '\\':
			if s.src[s.off+1] != '\n' {
				return s.reindent(in)
			}
			// An escaped line end: the width so far counts, what the next line begins with does not.
			s.off += 2
			s.newline()
			if !continued {
				continued = true
				for s.src[s.off] == ' ' || s.src[s.off] == '\t' {
					s.off++
				}
			}
			continue
		case 0:
			return s.reindent(indent{})
		default:
			return s.reindent(in)
		}
		s.off++
	}
}

// reindent compares the indentation of a line with the open blocks.
func (s *scanner) reindent(in indent) bool {
	s.begin()
	top := s.indents[len(s.indents)-1]
	if in == top {
		return false
	}
	s.end = s.pos
	if in.col > top.col {
		if in.alt <= top.alt {
			s.tabs()
		}
		s.indents = append(s.indents, in)
		s.tok = tIndent
		return true
	}
	for in.col < s.indents[len(s.indents)-1].col {
		s.indents = s.indents[:len(s.indents)-1]
		s.dedents++
	}
	if found := s.indents[len(s.indents)-1]; in.col != found.col {
		s.reports.Add(diag.Errorf(CodeIndent, Range{s.pos, s.pos}.Span(s.path), "unindent does not match any outer indentation level").
			WithHint("indent this line like one of the blocks around it: %s", s.widths()))
		s.misaligned = true
		s.indents = append(s.indents, in) // go on as if the inner block had this width
		s.dedents--
	} else if in.alt != found.alt {
		s.tabs()
	}
	if s.dedents == 0 {
		return false
	}
	s.dedents--
	s.tok = tDedent
	return true
}

func (s *scanner) tabs() {
	s.reports.Add(diag.Errorf(CodeIndent, Range{Pos{s.line, 1}, s.pos}.Span(s.path), "inconsistent use of tabs and spaces in indentation").
		WithHint("indent with spaces only"))
}

// widths lists the open indentations for a message.
func (s *scanner) widths() string {
	var b strings.Builder
	for i, in := range s.indents[max(0, len(s.indents)-4):] {
		if i > 0 {
			b.WriteString(" or ")
		}
		b.WriteString(itoa(in.col))
	}
	b.WriteString(" columns")
	return b.String()
}

func (s *scanner) comment(own bool) {
	from := s.place()
	start := s.off
	n := strings.IndexByte(s.src[s.off:], '\n')
	if n < 0 {
		n = len(s.src) - 1 - s.off
	}
	text := s.src[start : start+n]
	s.off += n
	s.wide += continuations(text)
	s.comments = append(s.comments, Comment{Range{from, s.place()}, strings.TrimSpace(text[1:]), own || s.first})
}

// continuations counts the bytes of t that do not begin a character.
func continuations(t string) int {
	n := 0
	for i := range len(t) {
		if t[i]&0xC0 == 0x80 {
			n++
		}
	}
	return n
}

// name reads an identifier, a keyword, or the prefix of a string.
func (s *scanner) name() {
	i := s.off
	for classes[s.src[i]] == cIdent || classes[s.src[i]] == cDigit {
		i++
	}
	if s.src[i] >= utf8.RuneSelf {
		s.wideName(i)
		return
	}
	text := s.src[s.off:i]
	if len(text) <= 2 && classes[s.src[i]] == cQuote {
		if f, raw, ok := stringPrefix(text); ok {
			s.off = i
			s.str(f, raw)
			return
		}
	}
	s.off = i
	s.end = s.place()
	s.tok = tName
	if len(text) >= 2 && len(text) <= 8 {
		if k, ok := keyword(text); ok {
			s.tok = k
		}
	}
}

// keyword is the map lookup behind a cheap test that most names fail.
func keyword(text string) (token, bool) {
	switch text[0] {
	case 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'i', 'l', 'n', 'o', 'p', 'r', 't', 'w', 'y', 'F', 'N', 'T':
		switch text[1] {
		case 'n', 's', 'w', 'r', 'l', 'o', 'e', 'x', 'a', 'i', 'f', 'm', 'h':
			k, ok := keywords[text]
			return k, ok
		}
	}
	return 0, false
}

// stringPrefix reads the letters before a quote.
func stringPrefix(text string) (f, raw, ok bool) {
	switch text {
	case "r", "R", "br", "Br", "bR", "BR", "rb", "Rb", "rB", "RB":
		return false, true, true
	case "u", "U", "b", "B":
		return false, false, true
	case "f", "F":
		return true, false, true
	case "fr", "fR", "Fr", "FR", "rf", "rF", "Rf", "RF":
		return true, true, true
	}
	return false, false, false
}

// wideName reads an identifier with characters outside ASCII, the first of which is at i.
func (s *scanner) wideName(i int) {
	for {
		c := s.src[i]
		if classes[c] == cIdent || classes[c] == cDigit {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			break
		}
		r, n := utf8.DecodeRuneInString(s.src[i:])
		if i == s.off && !identStart(r) || !identPart(r) {
			if i == s.off { // nothing read: the character itself is the error
				s.off += n
				s.wide += n - 1
				s.badChar(r)
				return
			}
			break
		}
		i += n
	}
	s.wide += continuations(s.src[s.off:i])
	s.off = i
	s.end = s.place()
	s.tok = tName
}

func (s *scanner) badChar(r rune) {
	if !unicode.IsPrint(r) {
		s.fail(s.pos, CodeSource, "invalid non-printable character U+%04X", r).WithHint("replace it with an ordinary blank or remove it")
		return
	}
	d := s.fail(s.pos, CodeSource, "invalid character '%c' (U+%04X)", r, r)
	if ascii, ok := lookalikes[r]; ok {
		d.WithHint("did you mean %s", ascii)
	}
}

// lookalikes are characters that editors and web pages put in the place of ASCII ones.
var lookalikes = map[rune]string{
	'“': `'"'`, '”': `'"'`, '„': `'"'`, '‘': `"'"`, '’': `"'"`, '′': `"'"`, '–': "'-'", '—': "'-'", '−': "'-'", '×': "'*'", '÷': "'/'", '≤': "'<='", '≥': "'>='",
	'≠': "'!='", '，': "','", '：': "':'", '；': "';'", '（': "'('", '）': "')'", '［': "'['", '］': "']'", '＝': "'='", '…': "'...'", '→': "'->'",
}

func identStart(r rune) bool {
	return unicode.IsLetter(r) || unicode.Is(unicode.Nl, r) || unicode.Is(unicode.Other_ID_Start, r)
}

func identPart(r rune) bool {
	return identStart(r) || unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue)
}

// operator reads an operator or delimiter that begins with c.
func (s *scanner) operator(c byte) {
	s.off++
	d := s.src[s.off]
	pick := func(plain, assign token) {
		if d == '=' {
			s.off++
			s.tok = assign
		} else {
			s.tok = plain
		}
	}
	double := func(plain, assign, twice, twiceAssign token) {
		if d != c {
			pick(plain, assign)
			return
		}
		s.off++
		d = s.src[s.off]
		pick(twice, twiceAssign)
	}
	switch c {
	case '(':
		s.open(tLParen)
	case '[':
		s.open(tLBracket)
	case '{':
		s.open(tLBrace)
	case ')':
		s.close(tRParen, tLParen)
	case ']':
		s.close(tRBracket, tLBracket)
	case '}':
		s.close(tRBrace, tLBrace)
	case ',':
		s.tok = tComma
	case '.':
		switch {
		case d == '.' && s.src[s.off+1] == '.':
			s.off += 2
			s.tok = tEllipsis
		case classes[d] == cDigit:
			s.off--
			s.number()
			return
		default:
			s.tok = tDot
		}
	case ':':
		if s.field && len(s.opens) == 1 {
			s.tok = tColon
		} else {
			pick(tColon, tWalrus)
		}
	case ';':
		s.tok = tSemicolon
	case '=':
		pick(tAssign, tEqEq)
	case '!':
		pick(tBang, tNotEq)
	case '+':
		pick(tPlus, tPlusAssign)
	case '-':
		if d == '>' {
			s.off++
			s.tok = tArrow
		} else {
			pick(tMinus, tMinusAssign)
		}
	case '*':
		double(tStar, tStarAssign, tStarStar, tStarStarAssign)
	case '/':
		double(tSlash, tSlashAssign, tSlashSlash, tSlashSlashAssign)
	case '%':
		pick(tPercent, tPercentAssign)
	case '@':
		pick(tAt, tAtAssign)
	case '&':
		pick(tAmp, tAmpAssign)
	case '|':
		pick(tPipe, tPipeAssign)
	case '^':
		pick(tCaret, tCaretAssign)
	case '~':
		s.tok = tTilde
	case '<':
		double(tLess, tLessEq, tShl, tShlAssign)
	case '>':
		double(tGreater, tGreaterEq, tShr, tShrAssign)
	default:
		d := s.fail(s.pos, CodeSource, "invalid syntax: character '%c' has no meaning here", rune(c))
		if c == '?' {
			d.WithHint("Python writes 'b if a else c'")
		}
		if c < ' ' || c == 0x7f {
			d.Message = "invalid non-printable character U+00" + hex(c>>4) + hex(c&15)
		}
		return
	}
	if s.tok != tError {
		s.end = s.place()
	}
}

func hex(c byte) string { return "0123456789ABCDEF"[c : c+1] }

func (s *scanner) open(t token) {
	s.tok = t
	s.opens = append(s.opens, opening{t, s.start, s.pos})
	if len(s.opens) > maxBrackets {
		s.opens = s.opens[:len(s.opens)-1]
		s.fail(s.pos, CodeNesting, "too many nested brackets (more than %d)", maxBrackets).WithHint("split the expression with intermediate names")
	}
}

func (s *scanner) close(t, want token) {
	if len(s.opens) == 0 {
		s.fail(s.pos, CodeBracket, "unmatched %s", t).WithHint("remove it, or open the bracket that it should close")
		return
	}
	top := s.opens[len(s.opens)-1]
	if top.tok != want {
		where := ""
		if top.pos.Line != s.pos.Line {
			where = " on line " + itoa(int(top.pos.Line))
		}
		s.fail(s.pos, CodeBracket, "closing parenthesis %s does not match opening parenthesis %s%s", t, top.tok, where).
			WithHint("close %s before this", top.tok).
			WithRelated(Range{top.pos, Pos{top.pos.Line, top.pos.Col + 1}}.Span(s.path), "%s is opened here", top.tok)
		return
	}
	s.opens = s.opens[:len(s.opens)-1]
	s.tok = t
}
