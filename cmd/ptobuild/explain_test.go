package main

import (
	"bytes"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/internal/ui"
)

// On a terminal a failed command points at the explanation of its first error, once.
func TestTellMore(t *testing.T) {
	warning, plugins, first, second := diag.Warningf("PTO-D030", diag.Span{}, "w"), diag.Errorf("ACME-1", diag.Span{}, "p"), diag.Errorf("PTO-D001", diag.Span{}, "a"), diag.Errorf("PTO-D010", diag.Span{}, "b")
	for name, c := range map[string]struct {
		live  bool
		noted diag.List
		want  string
	}{
		"first error":   {true, diag.List{warning, plugins, first, second}, "`ptobuild explain PTO-D001` tells more\n"},
		"no terminal":   {false, diag.List{first}, ""},
		"warnings only": {true, diag.List{warning}, ""},
		"nothing":       {true, nil, ""},
	} {
		var b bytes.Buffer
		a := &app{ui: &ui.UI{Err: &b, Live: c.live}}
		a.note(c.noted)
		a.tellMore()
		if b.String() != c.want {
			t.Errorf("%s: got %q, want %q", name, b.String(), c.want)
		}
	}
}

func TestWrap(t *testing.T) {
	word := "ninechars"
	long := ""
	for range 11 {
		long += word + " "
	}
	if got := wrap(long + "\nsecond"); got != long[:99]+"\n"+word+"\n\nsecond" {
		t.Errorf("got %q", got)
	}
}
