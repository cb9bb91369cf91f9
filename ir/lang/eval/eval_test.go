package eval

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// load evaluates files given as name, text, name, text…; the first is the entry.
func load(t testing.TB, files ...string) (*Loader, *Module) {
	t.Helper()
	l := loader(files...)
	m, errs := l.Load(files[0])
	if len(errs) > 0 {
		t.Fatalf("Load: %v", errs)
	}
	return l, m
}

func loader(files ...string) *Loader {
	fs := make(map[string]string)
	for i := 0; i < len(files); i += 2 {
		fs[files[i]] = files[i+1]
	}
	return NewLoader(Options{ReadFile: func(path string) ([]byte, error) {
		if text, ok := fs[path]; ok {
			return []byte(text), nil
		}
		return nil, os.ErrNotExist
	}})
}

// show is the repr of a name of the module, or the reason why there is none.
func show(l *Loader, m *Module, name string) string {
	v, ok := m.Get(name)
	if !ok {
		return "unbound"
	}
	if p, ok := v.(*Poison); ok {
		return "poisoned: " + p.Reason
	}
	l.steps, l.total = 0, 0
	return l.repr(v)
}

// TestValues evaluates testdata/values.py. After "#>" stands what Python itself prints; the file runs under Python too.
func TestValues(t *testing.T) {
	src, err := os.ReadFile("testdata/values.py")
	if err != nil {
		t.Fatal(err)
	}
	l, m := load(t, "values.py", string(src))
	expectation := regexp.MustCompile(`^(\w+) = .*  #> (.*)$`)
	n := 0
	for i, line := range strings.Split(string(src), "\n") {
		if w := expectation.FindStringSubmatch(line); w != nil {
			n++
			if got := show(l, m, w[1]); got != w[2] {
				t.Errorf("values.py:%d: %s\n got %s\nwant %s", i+1, w[1], got, w[2])
			}
		}
	}
	if n < 55 {
		t.Errorf("only %d expectations found", n)
	}
}
