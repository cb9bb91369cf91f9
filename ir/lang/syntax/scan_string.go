package syntax

import (
	"strings"
	"unicode/utf8"
)

// str reads a string literal from its opening quote; its text with prefix is src[start:off].
func (s *scanner) str(f, raw bool) {
	quote := s.src[s.off]
	triple := s.src[s.off+1] == quote && s.src[s.off+2] == quote
	body := s.off + 1
	if triple {
		body += 2
	} else if s.src[body] == quote { // empty
		s.off = body + 1
		s.end = s.place()
		s.tok = tString
		return
	}
	end, ok := 0, false
	if f {
		end, ok = fstringEnd(s.src, body, quote, triple, raw, 0)
	}
	if !ok {
		end, ok = stringEnd(s.src, body, quote, triple)
	}
	s.tok = tString
	from := s.off
	for i := from; i < end; i++ {
		if c := s.src[i]; c == '\n' {
			s.off = i + 1
			s.newline()
		} else if c >= utf8.RuneSelf && c&0xC0 == 0x80 {
			s.wide++
		}
	}
	s.off = end
	s.end = s.place()
	if ok {
		return
	}
	if triple {
		last := s.line
		if s.lineStart == s.off && last > s.pos.Line {
			last-- // the file ends with a line end
		}
		s.fail(s.pos, CodeString, "unterminated triple-quoted string literal (detected at line %d)", last).
			WithHint("close it with %s", strings.Repeat(string(quote), 3))
		return
	}
	what := "string"
	if f {
		what = "f-string"
	}
	s.fail(s.pos, CodeString, "unterminated %s literal (detected at line %d)", what, s.line).
		WithHint("close it with %c before the end of the line, or use three quotes for a text of several lines", quote)
}

// stringEnd finds the offset past the closing quote of a string whose body begins at i. When there is none it gives the end of the line,
// or of the file for a triple-quoted string.
func stringEnd(src string, i int, quote byte, triple bool) (int, bool) {
	for {
		switch c := src[i]; {
		case c == quote:
			if !triple {
				return i + 1, true
			}
			if src[i+1] == quote && src[i+2] == quote {
				return i + 3, true
			}
		case c == '\\':
			if src[i+1] != 0 {
				i++
			}
		case c == '\n':
			if !triple {
				return i, false
			}
		case c == 0:
			return i, false
		}
		i++
	}
}

// maxFStrings bounds f-strings inside f-strings.
const maxFStrings = 100

// fstringEnd does the same for an f-string, passing over the quotes inside its {…} fields. It fails where fields are malformed: then the
// plain rule finds an end, and the parser reports what is wrong inside.
func fstringEnd(src string, i int, quote byte, triple, raw bool, level int) (int, bool) {
	for {
		switch c := src[i]; {
		case c == quote:
			if !triple {
				return i + 1, true
			}
			if src[i+1] == quote && src[i+2] == quote {
				return i + 3, true
			}
		case c == '\\':
			if !raw && src[i+1] == 'N' && src[i+2] == '{' {
				n := strings.IndexAny(src[i:], "}\n\x00")
				i += n
				if src[i] != '}' {
					return i, false
				}
			} else if src[i+1] != 0 && src[i+1] != '{' {
				i++
			}
		case c == '\n' && !triple, c == 0:
			return i, false
		case c == '{' && src[i+1] == '{':
			i++
		case c == '{':
			end, ok := fieldEnd(src, i+1, quote, triple, level)
			if !ok {
				return end, false
			}
			i = end - 1
		}
		i++
	}
}

// fieldEnd finds the offset past the '}' of a replacement field that begins at i.
func fieldEnd(src string, i int, quote byte, triple bool, level int) (int, bool) {
	if level > maxFStrings {
		return i, false
	}
	depth, format := 0, false
	for {
		c := src[i]
		if c == 0 || c == '\n' && !triple {
			return i, false
		}
		switch {
		case format && c == quote && (!triple || src[i+1] == quote && src[i+2] == quote):
			return i, false
		case c == '{' && format:
			end, ok := fieldEnd(src, i+1, quote, triple, level+1)
			if !ok {
				return end, false
			}
			i = end - 1
		case c == '}' && depth == 0:
			return i + 1, true
		case format:
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth--
		case c == ':' && depth == 0:
			format = true
		case c == '#':
			if !triple {
				return i, false
			}
			for src[i+1] != '\n' && src[i+1] != 0 {
				i++
			}
		case c == '"' || c == '\'':
			j := i
			for j > 0 && classes[src[j-1]] == cIdent {
				j--
			}
			f, raw, _ := stringPrefix(src[j:i])
			tri := src[i+1] == c && src[i+2] == c
			body := i + 1
			if tri {
				body += 2
			}
			end, ok := 0, false
			if f {
				end, ok = fstringEnd(src, body, c, tri, raw, level+1)
			} else {
				end, ok = stringEnd(src, body, c, tri)
			}
			if !ok {
				return end, false
			}
			i = end - 1
		}
		i++
	}
}
