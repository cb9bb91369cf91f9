package buildgen

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bazelbuild/buildtools/build"
	"github.com/bazelbuild/buildtools/warn"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/diag"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// generate runs the generator on a workspace below dir.
func generate(t *testing.T, dir string) ([]*File, diag.List) {
	t.Helper()
	ws, ds := graph.Open(dir)
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	b, err := graph.NewBuilder(t.Context(), ws, "")
	if err != nil {
		t.Fatal(err)
	}
	return Generate(b)
}

// TestGolden runs each archive of testdata: its files are the workspace, those below want/ the BUILD files after a run, want/reports the reports.
// A second run changes nothing.
func TestGolden(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("%v, %v", archives, err)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			pto := dir
			in := &txtar.Archive{Comment: ar.Comment}
			want := map[string]string{}
			for _, f := range ar.Files {
				if rest, ok := strings.CutPrefix(f.Name, "want/"); ok {
					want[rest] = string(f.Data)
					continue
				}
				in.Files = append(in.Files, f)
				if filepath.Base(f.Name) == graph.ConfigName {
					pto = filepath.Join(dir, filepath.Dir(f.Name))
				}
			}
			if err := txtar.Write(in, dir); err != nil {
				t.Fatal(err)
			}
			files, ds := generate(t, pto)
			got := map[string]string{}
			for _, f := range files {
				if f.Changed() {
					got[f.Path] = string(f.New)
					if err := f.Write(dir); err != nil {
						t.Fatal(err)
					}
				}
			}
			if len(ds) > 0 {
				got["reports"] = ds.Error() + "\n"
			}
			if *update {
				for _, name := range sortedKeys(got) {
					in.Files = append(in.Files, txtar.File{Name: "want/" + name, Data: []byte(got[name])})
				}
				if err := os.WriteFile(name, txtar.Format(in), 0o666); err != nil {
					t.Fatal(err)
				}
			} else {
				for _, name := range sortedKeys(got) {
					if got[name] != want[name] {
						t.Errorf("%s is\n%s\nwant\n%s", name, got[name], want[name])
					}
				}
				for _, name := range sortedKeys(want) {
					if _, ok := got[name]; !ok {
						t.Errorf("%s is unchanged, want\n%s", name, want[name])
					}
				}
			}
			again, _ := generate(t, pto)
			for _, f := range again {
				if f.Changed() {
					t.Errorf("a second run changes %s to\n%s", f.Path, f.New)
				}
			}
			for _, f := range files {
				lint(t, f)
			}
		})
	}
}

// lint checks that what was written is formatted and has no warnings of buildifier about loads.
func lint(t *testing.T, f *File) {
	t.Helper()
	tree, err := build.ParseBuild(f.Path, f.New)
	if err != nil {
		t.Error(err)
		return
	}
	if f.Changed() && !bytes.Equal(build.Format(tree), f.New) {
		t.Errorf("%s is not formatted:\n%s", f.Path, f.New)
	}
	for _, w := range warn.FileWarnings(tree, []string{"load", "duplicated-name"}, nil, warn.ModeWarn, nil) {
		t.Errorf("%s:%d: %s", f.Path, w.Start.Line, w.Message)
	}
}
