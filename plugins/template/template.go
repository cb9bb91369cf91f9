// Package template is how a plugin says what C++ an op becomes: statements whose names are slots, written in a small part of C++.
//
// A Template never becomes text by pasting. The core reads it into statements of the plan (Plan), the same that built-in ops emit, so it prints under every
// API profile, runs in the interpreter as well as compiled, and can do nothing that a plan cannot: unbalanced braces, names that nobody declared and
// calls that are not on the list below are errors. Parse makes a Template of the text that authors write; Of makes one of plan statements, by which
// the built-in ops are served out of process in the tests.
//
// The text, line by line or several statements a line:
//
//	T $name = e;                 a number, Tensor or TaskId: declares the result or a local
//	T $name[] = {e, e};          an array with these elements
//	T $name[4];  … = fill(e);    an array of 4 zeros (invalid ids), or of 4 times e
//	$name = e;  $name[e] = e;    assigns
//	if (e) { … } else { … }
//	for (int64_t $i = e; $i < e; $i += e) { … }
//	set_tensor_data<T>($x, {e, e}, e);
//
// Types T are bool, int8_t … uint64_t, float, double, half, bfloat16_t, Tensor, TaskId. Expressions have C's operators, numbers, slots and
//
//	$x.view($shape, $offset)  $x.reshape($shape, 2)  $x.transpose(0, 1)  $x.shapes[0]  $id.is_valid()  $array[e]  get_tensor_data<T>($x, 2, $index)
//	TaskId::invalid()  rt_available_cluster_count()  rt_available_aiv_count()  static_cast<T>(e)  std::min<T>(e, e)  std::max<T>(e, e)
//	floor_div(e, e)  floor_mod(e, e)  clamp_extent(e, $x, $offset, 0)
//
// where clamp_extent is the extent of a window clamped to its source.
package template

import (
	"fmt"
	"strconv"
	"strings"
)

// Template is the statements of one call of an op.
type Template struct {
	Locals []string // affixes of helper variables: "_shape" is a suffix to the result's name, "indices_" a prefix
	Lines  []Line
}

// Line is text with slots.
type Line []Token

// Token is a piece of text or a slot.
type Token struct {
	Kind Kind
	Text string
	N    int // operand or local
	K    int // element of a list operand, or axis
}

// Kind tells the tokens apart.
type Kind uint8

const (
	Text    Kind = iota
	Operand      // operand N
	Element      // element K of list operand N
	Dim          // extent K of tensor operand N at run time
	Result
	Local // local N
)

// Operands says how the text may name the operands of an op.
type Operands struct {
	Names []string
	List  []bool // by operand: it is a list, whose elements are $name[0], $name[1], …
}

// Parse makes a template of lines of text. $result is the result; $name an operand; $name[2] an element of a list operand; $name.dim(1) an extent of a
// tensor operand at run time; any other $name a local of that name.
func Parse(operands Operands, lines ...string) (*Template, error) {
	t := &Template{}
	locals := map[string]int{}
	for i, text := range lines {
		var line Line
		for text != "" {
			j := strings.IndexByte(text, '$')
			if j < 0 {
				line = append(line, Token{Text: text})
				break
			}
			if j > 0 {
				line = append(line, Token{Text: text[:j]})
			}
			name := identifier(text[j+1:])
			if name == "" {
				return nil, fmt.Errorf("line %d: a name must follow '$'", i+1)
			}
			text = text[j+1+len(name):]
			tok, rest, err := slot(operands, name, text)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			if tok.Kind == Local {
				n, ok := locals[name]
				if !ok {
					n = len(locals)
					locals[name] = n
					t.Locals = append(t.Locals, "_"+name)
				}
				tok.N = n
			}
			line, text = append(line, tok), rest
		}
		t.Lines = append(t.Lines, line)
	}
	return t, nil
}

// slot reads what follows a name.
func slot(operands Operands, name, text string) (Token, string, error) {
	if name == "result" {
		return Token{Kind: Result}, text, nil
	}
	n := -1
	for i, x := range operands.Names {
		if x == name {
			n = i
		}
	}
	if n < 0 {
		return Token{Kind: Local}, text, nil
	}
	open, end, kind := ".dim(", ")", Dim
	if n < len(operands.List) && operands.List[n] {
		open, end, kind = "[", "]", Element
		if !strings.HasPrefix(text, open) {
			return Token{}, "", fmt.Errorf("$%s is a list: write $%s[0]", name, name)
		}
	}
	inner, found := strings.CutPrefix(text, open)
	if !found {
		return Token{Kind: Operand, N: n}, text, nil
	}
	number, rest, ok := strings.Cut(inner, end)
	k, err := strconv.Atoi(strings.TrimSpace(number))
	if !ok || err != nil || k < 0 {
		return Token{}, "", fmt.Errorf("$%s%s…%s needs a number", name, open, end)
	}
	return Token{Kind: kind, N: n, K: k}, rest, nil
}

func identifier(s string) string {
	for i, c := range s {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return s[:i]
		}
	}
	return s
}

// String is the template as text, with operands by number: $0, $1[2], $0.dim(1), $local0.
func (t *Template) String() string {
	var b strings.Builder
	for _, l := range t.Lines {
		for _, x := range l {
			b.WriteString(x.String())
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (t Token) String() string {
	switch t.Kind {
	case Operand:
		return "$" + strconv.Itoa(t.N)
	case Element:
		return fmt.Sprintf("$%d[%d]", t.N, t.K)
	case Dim:
		return fmt.Sprintf("$%d.dim(%d)", t.N, t.K)
	case Result:
		return "$result"
	case Local:
		return "$local" + strconv.Itoa(t.N)
	}
	return t.Text
}
