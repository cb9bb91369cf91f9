package template

import (
	"fmt"
	"strings"
)

// lexeme is an identifier, a number, a sign, or a slot.
type lexeme struct {
	text string // "" for a slot
	slot *Token
	line int
}

func (l lexeme) String() string {
	switch {
	case l.slot != nil:
		return l.slot.String()
	case l.text == "":
		return "the end"
	}
	return fmt.Sprintf("%q", l.text)
}

// signs of more than one character, longest first.
var signs = []string{"<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=", "::"}

// Scanned is a template in lexemes, for many calls. It may be used from several goroutines.
type Scanned struct {
	locals []string
	lines  []Line // for messages
	in     []lexeme
}

// Unreadable is the error about text that has no lexemes.
type Unreadable string

func (u Unreadable) Error() string { return string(u) }

// Scan cuts a template into lexemes.
func Scan(t *Template) (*Scanned, error) {
	var out []lexeme
	for i, l := range t.Lines {
	line:
		for k := range l {
			if l[k].Kind != Text {
				out = append(out, lexeme{slot: &l[k], line: i + 1})
				continue
			}
			for text := strings.TrimLeft(l[k].Text, " \t"); text != ""; text = strings.TrimLeft(text, " \t") {
				if strings.HasPrefix(text, "//") {
					break line
				}
				n := lexemeLen(text)
				if n == 0 {
					return nil, Unreadable(fmt.Sprintf("line %d: %q cannot stand in a template%s", i+1, text[:1], instead[text[0]]))
				}
				out = append(out, lexeme{text: text[:n], line: i + 1})
				text = text[n:]
			}
		}
	}
	return &Scanned{t.Locals, t.Lines, out}, nil
}

// instead says what to write for what C++ has and templates have not.
var instead = map[byte]string{'?': "; use if, std::min or std::max", '"': ": there are no strings", '\'': ": there are no characters", '#': ": there is no preprocessor"}

func lexemeLen(text string) int {
	if c := text[0]; c >= '0' && c <= '9' {
		n := 1
		for n < len(text) && (isWord(text[n]) || text[n] == '.' || (text[n] == '+' || text[n] == '-') && (text[n-1] == 'e' || text[n-1] == 'E')) {
			n++
		}
		return n
	}
	if id := identifier(text); id != "" {
		return len(id)
	}
	for _, s := range signs {
		if strings.HasPrefix(text, s) {
			return len(s)
		}
	}
	if strings.IndexByte("+-*/%<>=!&|^~()[]{},;.", text[0]) >= 0 {
		return 1
	}
	return 0
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
