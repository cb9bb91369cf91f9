package syntax

import (
	"strings"
	"testing"
)

// Nesting up to the limits parses; beyond them there is one report and no crash.
func TestNesting(t *testing.T) {
	rep := strings.Repeat
	blocks := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(rep(" ", i) + "if x:\n")
		}
		b.WriteString(rep(" ", n) + "pass\n")
		return b.String()
	}
	for _, c := range []struct {
		name, src string
		ok        bool
	}{
		{"900 brackets", "x = " + rep("(", 900) + "1" + rep(")", 900), true},
		{"2000 brackets", "x = " + rep("[", 2000) + rep("]", 2000), false},
		{"a million open brackets", "x = " + rep("(", 1e6), false},
		{"900 unary operators", "x = " + rep("-", 900) + "1", true},
		{"a million unary operators", "x = " + rep("-", 1e6) + "1", false},
		{"a million nots", "x = " + rep("not ", 1e6) + "1", false},
		{"a million powers", "x = " + rep("2**", 1e6) + "1", false},
		{"100,000 lambdas", "x = " + rep("lambda: ", 1e5) + "1", false},
		{"100,000 conditionals", "x = " + rep("1 if 2 else ", 1e5) + "1", false},
		{"10,000 sums", "x = 1" + rep(" + 1", 10000), true},
		{"a million sums", "x = 1" + rep("+1", 1e6), false},
		{"a million attributes", "x = a" + rep(".b", 1e6), false},
		{"a million calls", "x = a" + rep("()", 1e6), false},
		{"long chains in long chains", "x = " + rep("(", 900) + "1" + rep(rep("+1", 15000)+")", 900), false},
		{"300,000 ors", "x = 1" + rep(" or 1", 3e5), true},
		{"300,000 compares", "x = 1" + rep(" < 1", 3e5), true},
		{"500 blocks", blocks(500), true},
		{"1,500 blocks", blocks(1500), false},
		{"10,000 elifs", "if x: pass\n" + rep("elif x: pass\n", 10000), true},
		{"100,000 elifs", "if x: pass\n" + rep("elif x: pass\n", 1e5), false},
		{"30 f-strings in f-strings", "x = " + rep(`f"{`, 30) + "1" + rep(`}"`, 30), true},
		{"1,000 f-strings in f-strings", "x = " + rep(`f"{`, 1000) + "1" + rep(`}"`, 1000), false},
		{"100,000 decorators", rep("@a\n", 1e5) + "def f(): pass", true},
		{"100,000 targets", rep("a = ", 1e5) + "1", true},
	} {
		f, errs := Parse("a.py", []byte(c.src))
		if (len(errs) == 0) != c.ok || f == nil || len(errs) > 10 {
			t.Errorf("%s: ok=%v, got %d reports, the first %v", c.name, c.ok, len(errs), first(errs))
		}
		Walk(f, func(Node) bool { return true })
	}
}

func first[T any](list []T) any {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// The work of a parse grows with the size of the source, for valid and for broken source.
func TestLinear(t *testing.T) {
	rep := strings.Repeat
	for _, c := range []struct {
		name string
		src  func(n int) string
	}{
		{"statements in a function", func(n int) string { return "def f():\n" + rep("    x = pl.add(a, b[i : i + 16, :])\n", n) }},
		{"one long line", func(n int) string { return "x = [" + rep("12345, 'text', a.b, ", n) + "]\n" }},
		{"implicit concatenation", func(n int) string { return "x = (" + rep("'abc' ", n) + ")\n" }},
		{"f-strings in a row", func(n int) string { return "x = (" + rep("f'{a}b' ", n) + ")\n" }},
		{"one f-string", func(n int) string { return "x = f'" + rep("{a!r:>5}b", n) + "'\n" }},
		{"comments", func(n int) string { return rep("# comment\n", n) + "x = 1\n" }},
		{"bad lines", func(n int) string { return rep("a b\n", n) }},
		{"unclosed brackets", func(n int) string { return rep("f(a,\n", n) }},
		{"unclosed brackets with closing lines", func(n int) string { return rep("f(a, b\ndef g(): pass\n", n) }},
		{"broken triple f-strings", func(n int) string { return rep("f\"\"\"{x\"\"\"\n", n) }},
		{"match as a name", func(n int) string { return rep("match (a) [b]: c\n", n) }},
		{"with items", func(n int) string { return rep("with (a, b) as c: pass\n", n) }},
	} {
		run := func(n int) int {
			text, bad := sourceText("a.py", []byte(c.src(n)))
			if bad != nil {
				t.Fatal(bad)
			}
			p := parser{scanner: newScanner("a.py", text)}
			p.next()
			p.file()
			return p.reads
		}
		// Ten times the source takes ten times the work; a quadratic parser takes a hundred times.
		if small, large := run(1000), run(10000); large > 15*small {
			t.Errorf("%s: %d tokens read for 1,000, %d for 10,000", c.name, small, large)
		}
	}
}
