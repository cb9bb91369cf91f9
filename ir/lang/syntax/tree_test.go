package syntax

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite golden files")

// dump writes a tree: kinds, places and fields, one statement a line.
func dump(b *strings.Builder, v reflect.Value, indent string) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			b.WriteString("-")
			return
		}
		dump(b, v.Elem(), indent)
	case reflect.Slice:
		if v.Type().Elem() == reflect.TypeFor[Stmt]() {
			for i := range v.Len() {
				b.WriteString("\n" + indent)
				dump(b, v.Index(i), indent+"  ")
			}
			return
		}
		b.WriteString("[")
		for i := range v.Len() {
			if i > 0 {
				b.WriteString(" ")
			}
			dump(b, v.Index(i), indent)
		}
		b.WriteString("]")
	case reflect.Struct:
		if r, ok := v.Interface().(Range); ok {
			fmt.Fprintf(b, "%d:%d-%d:%d", r.Start.Line, r.Start.Col, r.End.Line, r.End.Col)
			return
		}
		fmt.Fprintf(b, "(%s", v.Type().Name())
		for i := range v.NumField() {
			f := v.Field(i)
			name := v.Type().Field(i).Name
			if f.IsZero() || name == "NamePos" {
				continue
			}
			b.WriteString(" ")
			if name != "Range" {
				b.WriteString(name + "=")
			}
			dump(b, f, indent)
		}
		b.WriteString(")")
	case reflect.String:
		fmt.Fprintf(b, "%q", v.String())
	default:
		fmt.Fprint(b, v.Interface())
	}
}

func dumpOf(body []Stmt) string {
	var b strings.Builder
	dump(&b, reflect.ValueOf(body), "")
	return strings.TrimPrefix(b.String(), "\n") + "\n"
}

// TestTree compares the trees of testdata/grammar.py, which has every production, with a golden file that was checked against CPython's own.
func TestTree(t *testing.T) {
	src, err := os.ReadFile("testdata/grammar.py")
	if err != nil {
		t.Fatal(err)
	}
	f, errs := Parse("grammar.py", src)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	got := dumpOf(f.Body)
	for _, c := range f.Comments {
		got += fmt.Sprintf("# %d:%d-%d %q own=%v\n", c.Start.Line, c.Start.Col, c.End.Col, c.Text, c.Own)
	}
	const golden = "testdata/grammar.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		a, b := strings.Split(got, "\n"), strings.Split(string(want), "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Fatalf("line %d of %s\n got %s\nwant %s", i+1, golden, a[i], b[i])
			}
		}
		t.Fatalf("got %d lines, want %d", len(a), len(b))
	}
}

// Precedence and associativity, as full parentheses.
func TestPrecedence(t *testing.T) {
	for src, want := range map[string]string{
		"a + b * c":                 "(a + (b * c))",
		"a - b - c":                 "((a - b) - c)",
		"a ** b ** c":               "(a ** (b ** c))",
		"-a ** -b":                  "(- (a ** (- b)))",
		"not a == b":                "(not (a == b))",
		"a or b and not c":          "(a or (b and (not c)))",
		"a | b ^ c & d << e":        "(a | (b ^ (c & (d << e))))",
		"a < b <= c":                "(a < b <= c)",
		"a not in b is not c":       "(a not in b is not c)",
		"~a @ b // c % d":           "((((~ a) @ b) // c) % d)",
		"a if b else c if d else e": "(a if b else (c if d else e))",
		"lambda: a, b":              "((lambda a), b)",
		"await a ** b":              "((await a) ** b)",
		"a.b[c](d).e":               "a.b[c](d).e",
		"a and b and c":             "(a and b and c)",
		"a, *b":                     "(a, *b)",
	} {
		x, errs := ParseExpr("a.py", []byte(src))
		if len(errs) > 0 {
			t.Errorf("%s: %v", src, errs)
		} else if got := paren(x); got != want {
			t.Errorf("%s: got %s, want %s", src, got, want)
		}
	}
}

func paren(x Expr) string {
	list := func(xs []Expr, sep string) string {
		var s []string
		for _, e := range xs {
			s = append(s, paren(e))
		}
		return strings.Join(s, sep)
	}
	switch x := x.(type) {
	case *Name:
		return x.ID
	case *UnaryOp:
		return "(" + x.Op + " " + paren(x.X) + ")"
	case *BinOp:
		return "(" + paren(x.X) + " " + x.Op + " " + paren(x.Y) + ")"
	case *BoolOp:
		return "(" + list(x.Values, " "+x.Op+" ") + ")"
	case *Compare:
		s := "(" + paren(x.X)
		for i, y := range x.Ys {
			s += " " + x.Ops[i] + " " + paren(y)
		}
		return s + ")"
	case *IfExp:
		return "(" + paren(x.Body) + " if " + paren(x.Cond) + " else " + paren(x.Else) + ")"
	case *Lambda:
		return "(lambda " + paren(x.Body) + ")"
	case *Await:
		return "(await " + paren(x.X) + ")"
	case *Attribute:
		return paren(x.X) + "." + x.Name
	case *Subscript:
		return paren(x.X) + "[" + paren(x.Index) + "]"
	case *Call:
		return paren(x.Fun) + "(" + list(x.Args, ", ") + ")"
	case *Tuple:
		return "(" + list(x.Elems, ", ") + ")"
	case *Starred:
		return "*" + paren(x.X)
	}
	return fmt.Sprintf("%T", x)
}

// Literals are decoded as Python decodes them.
func TestLiterals(t *testing.T) {
	for src, want := range map[string]string{
		`'a' "b" '''c'''`:                      "abc",
		`'\n\t\\\'\x41\101\u00e9\U0001F600\q'`: "\n\t\\'AAé😀\\q",
		`r'\n\''`:                              `\n\'`,
		`b'\xff\0'`:                            "\xff\x00",
		"'a\\\nb'":                             "ab",
		"'''a\nb'''":                           "a\nb",
		`'\N{DASH}'`:                           `\N{DASH}`,
		`'\ud800'`:                             "\xed\xa0\x80",
		`u"x"`:                                 "x",
	} {
		x, errs := ParseExpr("a.py", []byte(src))
		c, ok := x.(*Constant)
		if len(errs) > 0 || !ok || c.Str != want {
			t.Errorf("%s: got %#v %v, want %q", src, x, errs, want)
		}
	}
	for src, want := range map[string]string{"1_000": "1000", "0xFF_ff": "0xFFff", "0b_1": "0b1", "00": "00", "12345678901234567890": "12345678901234567890"} {
		x, errs := ParseExpr("a.py", []byte(src))
		if c, ok := x.(*Constant); len(errs) > 0 || !ok || c.Kind != Int || c.Int != want {
			t.Errorf("%s: got %#v %v, want %s", src, x, errs, want)
		}
	}
	for src, want := range map[string]float64{"1.5": 1.5, "1e3": 1000, ".5": 0.5, "5.": 5, "1_0.0_1e-1_0": 10.01e-10} {
		x, errs := ParseExpr("a.py", []byte(src))
		if c, ok := x.(*Constant); len(errs) > 0 || !ok || c.Kind != Float || c.Float != want {
			t.Errorf("%s: got %#v %v, want %g", src, x, errs, want)
		}
	}
}

func TestFString(t *testing.T) {
	x, errs := ParseExpr("a.py", []byte(`"p" f"{{a}} {x!r:>{w}.2f}|{y=}|{d["k"]}" 'q'`))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	f := x.(*FString)
	var got []string
	for _, p := range f.Parts {
		switch p := p.(type) {
		case *Constant:
			got = append(got, fmt.Sprintf("%q", p.Str))
		case *FValue:
			s := "{" + reflect.TypeOf(p.X).Elem().Name()
			if p.Conv != 0 {
				s += "!" + string(p.Conv)
			}
			if p.Format != nil {
				s += fmt.Sprintf(":%d", len(p.Format.Parts))
			}
			got = append(got, s+"}")
		}
	}
	want := `"p{a} " {Name!r:3} "|y=" {Name} "|" {Subscript} "q"`
	if s := strings.Join(got, " "); s != want {
		t.Errorf("got %s, want %s", s, want)
	}
	if at := f.Parts[1].(*FValue).X.At(); at.Start != (Pos{1, 14}) {
		t.Errorf("x in the first field is at %v, want column 14", at)
	}
}

// Text gives the source of a node, whatever the width of its characters.
func TestText(t *testing.T) {
	f, errs := Parse("a.py", []byte("é = 'ü'\n  # c\nδ = f(é,\n  ñ)  # d\n"))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for i, want := range []string{"é = 'ü'", "δ = f(é,\n  ñ)"} {
		if got := f.Text(f.Body[i].At()); got != want {
			t.Errorf("statement %d: got %q, want %q", i, got, want)
		}
	}
	if got := f.Text(f.Comments[1].At()); got != "# d" {
		t.Errorf("comment: got %q", got)
	}
	if span := f.Body[1].At().Span("a.py").String(); span != "a.py:3:1" {
		t.Errorf("span %s", span)
	}
}

// Walk reaches every node, in source order.
func TestWalk(t *testing.T) {
	src, err := os.ReadFile("testdata/grammar.py")
	if err != nil {
		t.Fatal(err)
	}
	f, _ := Parse("grammar.py", src)
	var walked int
	Walk(f, func(n Node) bool { walked++; return true })
	// Count the nodes that the fields hold, without Walk.
	var count func(v reflect.Value) int
	node := reflect.TypeFor[Node]()
	count = func(v reflect.Value) int {
		n := 0
		switch v.Kind() {
		case reflect.Interface, reflect.Pointer:
			if !v.IsNil() {
				if v.Kind() == reflect.Pointer && v.Type().Implements(node) && v.Type() != reflect.TypeFor[*Param]() {
					n++
				}
				n += count(v.Elem())
			}
		case reflect.Slice:
			for i := range v.Len() {
				n += count(v.Index(i))
			}
		case reflect.Struct:
			for i := range v.NumField() {
				n += count(v.Field(i))
			}
		}
		return n
	}
	if want := count(reflect.ValueOf(f)); walked != want {
		t.Errorf("walked %d nodes, the tree has %d", walked, want)
	}
}
