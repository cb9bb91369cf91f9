package syntax

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// number reads a number; its text is src[start:off].
func (s *scanner) number() {
	i := s.off
	s.tok = tInt
	base, digits := "decimal", isDecimal
	if s.src[i] == '0' {
		switch s.src[i+1] {
		case 'x', 'X':
			base, digits = "hexadecimal", isHex
		case 'o', 'O':
			base, digits = "octal", isOctal
		case 'b', 'B':
			base, digits = "binary", isBinary
		}
	}
	ok := true
	if base != "decimal" {
		i += 2
		if s.src[i] == '_' {
			i++
		}
		i, ok = digitRun(s.src, i, digits)
		if ok && classes[s.src[i]] == cDigit {
			s.off = i + 1
			s.fail(s.pos, CodeNumber, "invalid digit '%c' in %s literal", s.src[i], base)
			return
		}
	} else {
		if s.src[i] != '.' {
			i, ok = digitRun(s.src, i, digits)
		}
		if ok && s.src[i] == '.' {
			s.tok = tFloat
			i++
			if isDecimal(s.src[i]) {
				i, ok = digitRun(s.src, i, digits)
			}
		}
		if ok && (s.src[i] == 'e' || s.src[i] == 'E') {
			j := i + 1
			if s.src[j] == '+' || s.src[j] == '-' {
				j++
			}
			if isDecimal(s.src[j]) {
				s.tok = tFloat
				i, ok = digitRun(s.src, j, digits)
			}
		}
		text := s.src[s.off:i]
		if ok && (s.src[i] == 'j' || s.src[i] == 'J') {
			s.tok = tImag
			i++
		} else if s.tok == tInt && len(text) > 1 && text[0] == '0' && strings.Trim(text, "0_") != "" {
			s.off = i
			s.fail(s.pos, CodeNumber, "leading zeros in decimal integer literals are not permitted; use an 0o prefix for octal integers").
				WithHint("write %s, or 0o%s for an octal number", strings.TrimLeft(text, "0_"), strings.TrimLeft(text, "0_"))
			return
		}
	}
	if !ok || identByte(s.src[i]) && !operatorWord(s.src[i:]) {
		for identByte(s.src[i]) {
			i++
		}
		s.off = i
		s.wide += continuations(s.src[s.start:i])
		s.fail(s.pos, CodeNumber, "invalid %s literal", base).WithHint("a name cannot begin with a digit, and '_' stands between two digits only")
		return
	}
	s.off = i
	s.end = s.place()
}

// digitRun reads digits with single underscores between them; it reports whether they are well formed.
func digitRun(src string, i int, digit func(byte) bool) (int, bool) {
	if !digit(src[i]) {
		return i, false
	}
	for {
		for digit(src[i]) {
			i++
		}
		if src[i] != '_' {
			return i, true
		}
		i++
		if !digit(src[i]) {
			return i, false
		}
	}
}

func isDecimal(c byte) bool { return '0' <= c && c <= '9' }
func isOctal(c byte) bool   { return '0' <= c && c <= '7' }
func isBinary(c byte) bool  { return c == '0' || c == '1' }
func isHex(c byte) bool     { return isDecimal(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }
func identByte(c byte) bool {
	return classes[c] == cIdent || classes[c] == cDigit || c >= utf8.RuneSelf
}

// operatorWord tells the keywords that may follow a number without a blank, as in "1if x else 2".
func operatorWord(s string) bool {
	return slices.ContainsFunc([]string{"and", "else", "for", "if", "in", "is", "not", "or"}, func(w string) bool { return strings.HasPrefix(s, w) })
}
