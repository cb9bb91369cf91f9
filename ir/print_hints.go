package ir

import "strings"

// Two Vars with one hint print under two names, but generated C++ names come from hints: `for (int64_t i = …` twice. So that a dump that is read back
// gives the same C++, its last lines give the hints of names that differ from them, one line a function:
//
//	# pypto.names main: i_1=i, __1=_

const hintsHeader = "# pypto.names "

// hintsLine is the line of one function, "" when every name is its hint.
func (p *printer) hintsLine(f *Function) string {
	var b strings.Builder
	done := map[*Var]bool{}
	note := func(v *Var) {
		name := p.names[v]
		if v == nil || done[v] || name == "" || name == v.Hint || v.Dyn || v.Hint != identifier(v.Hint) {
			return
		}
		done[v] = true
		if b.Len() == 0 {
			b.WriteString(hintsHeader + f.Name + ": ")
		} else {
			b.WriteString(", ")
		}
		b.WriteString(name + "=" + v.Hint)
	}
	eachDef(f, note)
	return b.String()
}

// RestoreHints gives the Vars of a program that was just read from printed text the hints that they had when it was printed.
func RestoreHints(p *Program, text string) {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), hintsHeader)
		if !ok {
			continue
		}
		name, list, _ := strings.Cut(rest, ": ")
		f := p.Lookup(name)
		if f == nil {
			continue
		}
		hints := map[string]string{}
		for item := range strings.SplitSeq(list, ", ") {
			if printed, hint, ok := strings.Cut(item, "="); ok {
				hints[printed] = hint
			}
		}
		done := map[*Var]bool{}
		eachDef(f, func(v *Var) {
			if v == nil || v.Dyn || done[v] {
				return
			}
			done[v] = true
			if h, ok := hints[v.Hint]; ok {
				v.Hint = h
			}
		})
	}
}

// eachDef calls f for every Var that a function defines, in the order of the text; Vars that are assigned again come again.
func eachDef(fn *Function, f func(*Var)) {
	for i := range fn.Params {
		f(fn.Params[i].Var)
	}
	Inspect(fn.Body, func(s Stmt) bool {
		if x, ok := s.(*For); ok {
			f(x.Var)
		}
		for _, c := range carriesOf(s) {
			f(c.Iter)
		}
		for _, v := range Defs(s) {
			f(v)
		}
		return true
	})
}
