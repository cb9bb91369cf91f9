package eval

import "strings"

// What programs do to texts before they give them to pl.parse.

func textwrapModule() map[string]Value {
	return map[string]Value{
		"dedent": builtinFunc("dedent", func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want("dedent", args, kws, 1, 1)
			return Str(dedent(l.argStr(args[0], "dedent")))
		}),
		"indent": builtinFunc("indent", func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want("indent", args, kws, 2, 2)
			text, prefix := l.argStr(args[0], "indent"), l.argStr(args[1], "indent")
			l.size(len(text) + len(prefix)*strings.Count(text, "\n"))
			var b strings.Builder
			for line := range strings.Lines(text) {
				if strings.TrimSpace(line) != "" {
					b.WriteString(prefix)
				}
				b.WriteString(line)
			}
			return Str(b.String())
		}),
	}
}

func inspectModule() map[string]Value {
	return map[string]Value{
		"cleandoc": builtinFunc("cleandoc", func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want("cleandoc", args, kws, 1, 1)
			first, rest, more := strings.Cut(l.argStr(args[0], "cleandoc"), "\n")
			if !more {
				return Str(strings.TrimSpace(first))
			}
			return Str(strings.Trim(strings.TrimLeft(first, " \t")+"\n"+dedent(rest), "\n \t"))
		}),
	}
}

// dedent removes the white space that all lines begin with. Lines of nothing but white space do not count, and become empty.
func dedent(text string) string {
	margin, first := "", true
	for line := range strings.Lines(text) {
		rest := strings.TrimLeft(line, " \t")
		if strings.TrimRight(rest, "\n") == "" {
			continue
		}
		lead := line[:len(line)-len(rest)]
		if first {
			margin, first = lead, false
			continue
		}
		n := 0
		for n < len(margin) && n < len(lead) && margin[n] == lead[n] {
			n++
		}
		margin = margin[:n]
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			if strings.HasSuffix(line, "\n") {
				b.WriteByte('\n')
			}
			continue
		}
		b.WriteString(line[len(margin):])
	}
	return b.String()
}
