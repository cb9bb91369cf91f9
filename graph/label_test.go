package graph

import "testing"

func TestPatterns(t *testing.T) {
	softmax := Label{"examples/softmax", "softmax_rows"}
	deep := Label{"examples/nn/mlp", "forward"}
	top := Label{"hello", "main"}
	for _, c := range []struct {
		pattern, here string
		want          []Label
	}{
		{"//examples/softmax:softmax_rows", "", []Label{softmax}},
		{"//examples/softmax:all", "", []Label{softmax}},
		{"//examples/softmax", "", []Label{softmax}},
		{"//examples/...", "", []Label{softmax, deep}},
		{"//...", "", []Label{softmax, deep, top}},
		{"...", "examples/nn", []Label{deep}},
		{"...", "", []Label{softmax, deep, top}},
		{"softmax.py", "examples", []Label{softmax}},
		{"softmax:softmax_rows", "examples", []Label{softmax}},
		{"examples/softmax.py:softmax_rows", "", []Label{softmax}},
		{"nn", "examples", []Label{deep}},
		{"../hello", "examples", []Label{top}},
		{"//hello:main", "examples/nn", []Label{top}},
		{"//examples/soft", "", nil},
		{"//examples/softmax:other", "", nil},
	} {
		p, err := ParsePattern(c.pattern, c.here)
		if err != nil {
			t.Errorf("%q in %q: %v", c.pattern, c.here, err)
			continue
		}
		var got []Label
		for _, l := range []Label{softmax, deep, top} {
			if p.Match(l) {
				got = append(got, l)
			}
		}
		if len(got) != len(c.want) {
			t.Errorf("%q in %q selects %v, want %v", c.pattern, c.here, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%q in %q selects %v, want %v", c.pattern, c.here, got, c.want)
			}
		}
	}
	for _, bad := range []string{"//a:", "//a/...:f", "../../x"} {
		if _, err := ParsePattern(bad, "a"); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestLabelText(t *testing.T) {
	if s := (Label{"examples/softmax", "softmax_rows"}).String(); s != "//examples/softmax:softmax_rows" {
		t.Error(s)
	}
}
