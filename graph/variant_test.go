package graph

import (
	"testing"
	"time"
)

// Values of Pto.toml reach the program as Python literals.
func TestLiteral(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{true, "True"}, {false, "False"}, {int64(-4), "-4"}, {2.0, "2.0"}, {1e30, "1e+30"}, {0.5, "0.5"},
		{"a\"b\\c\n\x01é", `"a\"b\\c\n\x01é"`}, {[]any{int64(1), []any{"x"}}, `[1, ["x"]]`},
		{map[string]any{"b": int64(1), "a": true}, `{"a": True, "b": 1}`}, {[]any{}, "[]"},
	} {
		if got, err := literal(c.value); err != nil || got != c.want {
			t.Errorf("literal(%#v) = %s, %v; want %s", c.value, got, err, c.want)
		}
	}
	for _, v := range []any{time.Time{}, []any{time.Time{}}, map[string]any{"a": time.Time{}}} {
		if got, err := literal(v); err == nil {
			t.Errorf("literal(%#v) = %s, want an error", v, got)
		}
	}
}

func TestParseLabel(t *testing.T) {
	for text, want := range map[string]Label{"//a/b:f": {"a/b", "f"}, "//a:f": {"a", "f"}} {
		if l, ok := ParseLabel(text); !ok || l != want || l.String() != text {
			t.Errorf("%s: %v, %v", text, l, ok)
		}
	}
	for _, text := range []string{"", "a:f", "//a", "//a:", "//:f", "//a/../b:f", "//a/:f"} {
		if l, ok := ParseLabel(text); ok {
			t.Errorf("%q is taken for %v", text, l)
		}
	}
}
