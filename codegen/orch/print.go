// Package orch prints a plan as orchestration C++ under an API profile. It is the strict 1-to-1 mapping of mission document 000: a plan statement has
// one text, a name has one spelling per profile, and nothing here looks at what the program means. The layout follows section 2.2 of the code
// generation facts; the file starts with its comment line, so that Print's text is the whole file.
package orch

import (
	"strconv"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
)

// LineSpan says which DSL place the lines First to Last (from 1, inclusive) of a file come from. Entries are in line order and do not overlap.
type LineSpan struct {
	First, Last int
	Span        diag.Span
}

// Check reports what the profile has no call for.
func Check(f *plan.File, prof *Profile) diag.List {
	var l diag.List
	plan.Walk(f.Body, func(s plan.Stmt) bool {
		switch s := s.(type) {
		case *plan.Task:
			if s.TimingSlot != nil && prof.TimingSlot == "" {
				l.Add(diag.Errorf(CodeNoTimingSlot, s.Pos, "the runtime API %q has no timing slots", prof.Name).
					WithHint("leave out timing_slot= or choose a newer API profile"))
			}
		case *plan.Create:
			if s.Init != nil && prof.InitValue == "" {
				l.Add(diag.Errorf(CodeNoInitValue, s.Pos, "the runtime API %q cannot fill a tensor at creation", prof.Name).
					WithHint("leave out init_value= and fill the tensor with a kernel, or choose an older API profile"))
			}
		}
		return true
	})
	return l
}

// Print returns the C++ file of a plan and where its lines come from.
func Print(f *plan.File, prof *Profile) (string, []LineSpan) {
	p := &printer{prof: prof, line: 1}
	p.b.Grow(1024 + 64*len(f.Body))
	p.file(f)
	return p.b.String(), p.spans
}

type printer struct {
	prof  *Profile
	b     strings.Builder
	depth int
	line  int
	spans []LineSpan
}

const indents = "                                                                                "

// ln prints one line; without parts it is empty.
func (p *printer) ln(parts ...string) {
	if len(parts) > 0 {
		p.begin().s(parts...)
	}
	p.end()
}

// begin starts a line.
func (p *printer) begin() *printer {
	n := 4 * p.depth
	for ; n > len(indents); n -= len(indents) {
		p.b.WriteString(indents)
	}
	p.b.WriteString(indents[:n])
	return p
}

// end ends a line.
func (p *printer) end() {
	p.b.WriteByte('\n')
	p.line++
}

func (p *printer) s(parts ...string) *printer {
	for _, s := range parts {
		p.b.WriteString(s)
	}
	return p
}

func (p *printer) int(v int64) *printer {
	var buf [20]byte
	p.b.Write(strconv.AppendInt(buf[:0], v, 10))
	return p
}

func (p *printer) sep(i int) *printer {
	if i > 0 {
		p.s(", ")
	}
	return p
}

// mark notes that the lines since first come from a place.
func (p *printer) mark(first int, at diag.Span) {
	if at.IsValid() && first < p.line {
		p.spans = append(p.spans, LineSpan{first, p.line - 1, at})
	}
}

func (p *printer) file(f *plan.File) {
	prof := p.prof
	p.ln("// Orchestration Function: ", f.Func)
	p.ln("#include <stddef.h>")
	p.ln("#include <stdint.h>")
	p.ln("#include <stdio.h>")
	if f.NeedsVector {
		p.ln("#include <vector>")
	}
	if f.Helpers&plan.MathHelper != 0 {
		p.ln("#include <cmath>")
	}
	if prof.HeaderApart {
		p.ln()
	}
	p.ln(`#include "`, prof.Header, `"`)
	p.ln()
	p.helpers(f.Helpers)
	p.ln(`extern "C" {`)
	p.ln()
	p.config(f)
	p.ln()
	first := p.line
	p.export()
	p.ln("void ", prof.EntryFunc, "(const ", prof.EntryArgs, "& ", prof.EntryParam, ") {")
	p.mark(first, f.Pos)
	p.depth++
	p.params(f)
	p.block(f.Body)
	p.depth--
	p.ln("}")
	p.ln()
	p.ln(`}  // extern "C"`)
}

func (p *printer) export() {
	if p.prof.Export != "" {
		p.ln(p.prof.Export)
	}
}

func (p *printer) config(f *plan.File) {
	prof := p.prof
	n := strconv.Itoa(len(f.Tensors) + len(f.Scalars))
	p.export()
	p.ln(prof.Config, " ", prof.ConfigFunc, "(const ", prof.EntryArgs, "& ", prof.EntryParam, ") {")
	p.depth++
	p.ln("(void)", prof.EntryParam, ";")
	if prof.ConfigOneLine {
		p.ln("return ", prof.Config, "{ .expected_arg_count = ", n, " };")
	} else {
		p.ln("return ", prof.Config, "{")
		p.depth++
		p.ln(".expected_arg_count = ", n, ",")
		p.depth--
		p.ln("};")
	}
	p.depth--
	p.ln("}")
}

func (p *printer) params(f *plan.File) {
	prof := p.prof
	p.ln(prof.TensorsComment)
	for i, t := range f.Tensors {
		first := p.line
		p.begin().s(prof.Bind, t.Name.Text, " = ", prof.BindOpen).entryTensor(i).s(prof.BindClose, ";").end()
		p.mark(first, t.Name.Pos)
	}
	if len(f.Scalars) > 0 {
		p.ln()
		p.ln("// Scalar params")
	}
	for i, s := range f.Scalars {
		first := p.line
		p.entryScalar(i, &s)
		p.mark(first, s.Name.Pos)
	}
	if len(f.Dims) > 0 {
		p.ln()
		p.ln("// Dynamic-dim symbols (extent of the declaring argument)")
	}
	for _, d := range f.Dims {
		first := p.line
		p.begin().s("int64_t ", d.Name.Text, " = ").expr(&plan.EntryExtent{Ordinal: d.Tensor, Axis: d.Axis}).s(";").end()
		p.mark(first, d.Name.Pos)
	}
	p.ln()
}

func (p *printer) entryTensor(i int) *printer {
	return p.s(p.prof.EntryParam, ".", p.prof.EntryTensor, "(").int(int64(i)).s(")")
}

func (p *printer) entryScalar(i int, s *plan.Scalar) {
	prof, ctype, ordinal := p.prof, CTypes[s.DType], strconv.Itoa(i)
	switch {
	case s.DType == ir.NoDType:
		p.ln(ctype, " ", s.Name.Text, " = ", prof.EntryParam, ".", prof.EntryScalar, "(", ordinal, ");")
	case prof.UnionTypes[s.DType]:
		p.ln("union { uint64_t u64; ", ctype, " val; } ", s.Union.Text, ";")
		p.ln(s.Union.Text, ".u64 = ", prof.EntryParam, ".", prof.EntryScalar, "(", ordinal, ");")
		p.ln(ctype, " ", s.Name.Text, " = ", s.Union.Text, ".val;")
	default:
		p.ln(ctype, " ", s.Name.Text, " = ", prof.FromBits, "<", ctype, ">(", prof.EntryParam, ".", prof.EntryScalar, "(", ordinal, "));")
	}
}
