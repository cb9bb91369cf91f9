package proto

import (
	"fmt"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/plugins"
	"github.com/ptobuild/ptobuild/plugins/template"
)

// FromOptionSchema and OptionSchema convert what a plugin accepts. Kinds have the same numbers on both sides.
func FromOptionSchema(os []plugins.Option) []*Option {
	var out []*Option
	for _, o := range os {
		out = append(out, &Option{Name: o.Name, Kind: Option_Kind(o.Kind), Doc: o.Doc, Required: o.Required, Choices: o.Choices, Min: o.Min, Max: o.Max})
	}
	return out
}

func OptionSchema(ms []*Option) []plugins.Option {
	var out []plugins.Option
	for _, m := range ms {
		out = append(out, plugins.Option{Name: m.Name, Kind: plugins.OptionKind(m.Kind), Doc: m.Doc, Required: m.Required, Choices: m.Choices, Min: m.Min, Max: m.Max})
	}
	return out
}

// FromTemplate and Template.Template convert templates.
func FromTemplate(t *template.Template) *Template {
	if t == nil {
		return nil
	}
	m := &Template{Locals: t.Locals}
	for _, l := range t.Lines {
		line := &Line{}
		for _, x := range l {
			line.Tokens = append(line.Tokens, fromToken(x))
		}
		m.Lines = append(m.Lines, line)
	}
	return m
}

func fromToken(t template.Token) *Token {
	switch t.Kind {
	case template.Operand:
		return &Token{Token: &Token_Operand{uint32(t.N)}}
	case template.Element:
		return &Token{Token: &Token_Element{&Token_Pair{Operand: uint32(t.N), Index: uint32(t.K)}}}
	case template.Dim:
		return &Token{Token: &Token_Dim{&Token_Pair{Operand: uint32(t.N), Index: uint32(t.K)}}}
	case template.Result:
		return &Token{Token: &Token_Result{true}}
	case template.Local:
		return &Token{Token: &Token_Local{uint32(t.N)}}
	}
	return &Token{Token: &Token_Text{t.Text}}
}

func (m *Template) Template() (*template.Template, error) {
	t := &template.Template{Locals: m.GetLocals()}
	for _, l := range m.GetLines() {
		var line template.Line
		for _, x := range l.GetTokens() {
			tok, err := x.token()
			if err != nil {
				return nil, err
			}
			line = append(line, tok)
		}
		t.Lines = append(t.Lines, line)
	}
	return t, nil
}

func (m *Token) token() (template.Token, error) {
	switch x := m.GetToken().(type) {
	case *Token_Text:
		return template.Token{Text: x.Text}, nil
	case *Token_Operand:
		return template.Token{Kind: template.Operand, N: int(x.Operand)}, nil
	case *Token_Element:
		return template.Token{Kind: template.Element, N: int(x.Element.GetOperand()), K: int(x.Element.GetIndex())}, nil
	case *Token_Dim:
		return template.Token{Kind: template.Dim, N: int(x.Dim.GetOperand()), K: int(x.Dim.GetIndex())}, nil
	case *Token_Result:
		return template.Token{Kind: template.Result}, nil
	case *Token_Local:
		return template.Token{Kind: template.Local, N: int(x.Local)}, nil
	}
	return template.Token{}, fmt.Errorf("a token of a template is of a kind that is not known to this version")
}

// FromEvaluation is the message of an evaluation whose elements are in a file.
func FromEvaluation(e *ops.Evaluation, file string) (*EvaluateRequest, error) {
	m := &EvaluateRequest{Op: e.Op, File: file}
	for _, k := range e.Kwargs {
		v, err := fromValue(k.Value)
		if err != nil {
			return nil, fmt.Errorf("keyword argument %q: %w", k.Name, err)
		}
		m.Keywords = append(m.Keywords, &KeywordValue{Name: k.Name, Value: v})
	}
	offsets := plugins.Offsets(e)
	elements := func(x *ops.Elements) *Operand {
		at := offsets[0]
		offsets = offsets[1:]
		return &Operand{Operand: &Operand_Elements_{&Operand_Elements{Dtype: x.DType.Name(), Shape: numbers[int64](x.Shape), Valid: numbers[int64](x.Valid), Offset: at, Writable: x.Writable}}}
	}
	for i, o := range e.Operands {
		x := &Operand{}
		switch {
		case o.Elements != nil:
			x = elements(o.Elements)
		case o.Scalar != nil:
			v, err := fromValue(o.Scalar)
			if err != nil {
				return nil, fmt.Errorf("operand %d: %w", i, err)
			}
			x.Operand = &Operand_Scalar{v}
		case o.List != nil:
			x.Operand = &Operand_List{&Operand_Ints{Values: o.List}}
		}
		m.Operands = append(m.Operands, x)
	}
	if e.Result != nil {
		m.Result = elements(e.Result)
	}
	return m, nil
}

// Evaluation is what a message asks for, with zeros for elements, and the offsets of these in the file.
func (m *EvaluateRequest) Evaluation() (*ops.Evaluation, []int64, error) {
	e := &ops.Evaluation{Op: m.Op}
	var err error
	for _, k := range m.Keywords {
		e.Kwargs = append(e.Kwargs, ir.Kwarg{Name: k.Name, Value: k.Value.value(&err)})
	}
	var offsets []int64
	elements := func(x *Operand_Elements) *ops.Elements {
		d, ok := ir.DTypeNamed(x.GetDtype())
		if !ok && err == nil {
			err = fmt.Errorf("%q is no dtype", x.GetDtype())
		}
		out := &ops.Elements{DType: d, Shape: numbers[int](x.GetShape()), Valid: numbers[int](x.GetValid()), Writable: x.GetWritable()}
		n := 1
		for _, s := range out.Shape {
			if s < 0 || s > 0 && n > (1<<31)/s {
				err = fmt.Errorf("%v is no shape", out.Shape)
				return out
			}
			n *= s
		}
		out.Data = make([]byte, n*out.Size())
		offsets = append(offsets, x.GetOffset())
		return out
	}
	for _, o := range m.Operands {
		var x ops.Operand
		switch v := o.GetOperand().(type) {
		case *Operand_Elements_:
			x.Elements = elements(v.Elements)
		case *Operand_Scalar:
			x.Scalar = v.Scalar.value(&err)
		case *Operand_List:
			x.List = v.List.GetValues()
			if x.List == nil {
				x.List = []int64{}
			}
		}
		e.Operands = append(e.Operands, x)
	}
	if r, ok := m.Result.GetOperand().(*Operand_Elements_); ok {
		e.Result = elements(r.Elements)
	}
	return e, offsets, err
}

// FromScalar and ScalarOf convert the value of a scalar, nil for none.
func FromScalar(v any) (*Value, error) { return fromValue(v) }

func ScalarOf(m *Value) (v any, err error) {
	v = m.value(&err)
	return v, err
}

// FromCallErrors and CallErrors convert reports about calls.
func FromCallErrors(es []plugins.CallError) []*CallError {
	var out []*CallError
	for _, e := range es {
		out = append(out, &CallError{Call: uint32(e.Call), Diagnostic: FromDiag(e.Diag)})
	}
	return out
}

func CallErrors(ms []*CallError) []plugins.CallError {
	var out []plugins.CallError
	for _, m := range ms {
		out = append(out, plugins.CallError{Call: int(m.Call), Diag: m.Diagnostic.Diag()})
	}
	return out
}
