package python

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestLibrary runs the tests of the library, which are in Python, on the files that plugins get.
func TestLibrary(t *testing.T) {
	dir := t.TempDir()
	copyAll := func(from fs.FS, pattern string) {
		names, err := fs.Glob(from, pattern)
		for _, n := range names {
			var text []byte
			if text, err = fs.ReadFile(from, n); err == nil {
				err = os.WriteFile(filepath.Join(dir, n), text, 0o644)
			}
			if err != nil {
				break
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	copyAll(Files, "*.py")
	copyAll(os.DirFS("testdata"), "*.py")
	cmd := exec.Command("python3", "test_library.py")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
