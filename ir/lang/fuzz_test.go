package lang_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
)

// FuzzLower feeds damaged programs to the front end: it must neither panic nor hang, every error must know its place, and a program that has none must print
// and read back as an Equal one.
func FuzzLower(f *testing.F) {
	for _, pattern := range []string{"testdata/golden/*.py", "testdata/dumps/*.py"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(src))
		}
	}
	f.Fuzz(func(t *testing.T, src string) {
		unit, errs := load(src)
		for _, d := range errs {
			if !d.Span.IsValid() && strings.HasPrefix(string(d.Code), "PTO-D") && !strings.HasPrefix(string(d.Code), "PTO-D1") {
				t.Errorf("no place: %v", d)
			}
			if d.Message == "" {
				t.Errorf("no message: %v", d)
			}
		}
		for _, p := range unit.Programs {
			text := ir.Print(p, ir.PrintOptions{})
			back, errs := load(text)
			if errs.HasErrors() || len(back.Programs) != 1 {
				t.Fatalf("cannot read back: %v\n%s", errs, text)
			}
			if d := ir.Diff(p, back.Programs[0]); d != "" {
				t.Errorf("reading back differs: %s\n%s", d, text)
			}
		}
	})
}
