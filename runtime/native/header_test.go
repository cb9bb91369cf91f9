package native

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Every fragment of the mission documents and every naming generation compiles against the header, without a warning, under each compiler that is there.
func Test65HeaderAcceptsEveryGeneration(t *testing.T) {
	sources, err := filepath.Glob("testdata/*.cpp")
	if err != nil || len(sources) < 4 {
		t.Fatalf("%d sources, %v", len(sources), err)
	}
	dir := t.TempDir()
	for _, h := range headers() {
		if err := os.WriteFile(filepath.Join(dir, h.name), h.text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	compilers := 0
	for _, cxx := range []string{"g++", "clang++"} {
		path, err := exec.LookPath(cxx)
		if err != nil {
			continue
		}
		compilers++
		for _, src := range sources {
			t.Run(cxx+"/"+filepath.Base(src), func(t *testing.T) {
				t.Parallel()
				out, err := exec.Command(path, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", dir, src).CombinedOutput()
				if err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
	if compilers == 0 {
		t.Fatal("no C++ compiler")
	}
}
