package crosscheck

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryBehaviour checks that every entry of the acceptance list has a test that carries its id: in the name of a test or case, in the comment of a test, or
// in the title of a test archive. testdata/behaviours.txt has a line for each group of entries, with the number of them.
func TestEveryBehaviour(t *testing.T) {
	tested := idsInTests(t)
	listed := map[string]bool{}
	for line := range strings.Lines(read(t, "testdata/behaviours.txt")) {
		var group string
		var n int
		if _, err := fmt.Sscan(line, &group, &n); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		for i := range n {
			listed[fmt.Sprintf("%s-%02d", group, i+1)] = true
		}
	}
	var missing, unknown []string
	for id := range listed {
		if !tested[id] {
			missing = append(missing, id)
		}
	}
	for id := range tested {
		if !listed[id] {
			unknown = append(unknown, id)
		}
	}
	slices.Sort(missing)
	slices.Sort(unknown)
	if len(missing) > 0 {
		t.Errorf("without a test: %s", strings.Join(missing, " "))
	}
	if len(unknown) > 0 {
		t.Errorf("not on the list: %s", strings.Join(unknown, " "))
	}
}

// An id, or the first and last one of several: C-PKG-01 to C-PKG-04.
var (
	idPattern    = regexp.MustCompile(`\b(?:[PC]-[A-Z]{2,3}|[EX])-\d\d\b`)
	rangePattern = regexp.MustCompile(`\b((?:[PC]-[A-Z]{2,3}|[EX])-)(\d\d) to (?:(?:[PC]-[A-Z]{2,3}|[EX])-)?(\d\d)\b`)
)

func idsInTests(t *testing.T) map[string]bool {
	ids := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		slashed := filepath.ToSlash(path)
		switch {
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || d.Name() == "build"):
			return fs.SkipDir
		case d.IsDir() || slashed == "../crosscheck/testdata/behaviours.txt":
			return nil
		case !strings.HasSuffix(slashed, "_test.go") && !strings.HasSuffix(slashed, ".txtar"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range rangePattern.FindAllStringSubmatch(string(text), -1) {
			var first, last int
			fmt.Sscan(m[2], &first)
			fmt.Sscan(m[3], &last)
			for i := first; i <= last; i++ {
				ids[fmt.Sprintf("%s%02d", m[1], i)] = true
			}
		}
		for _, id := range idPattern.FindAllString(string(text), -1) {
			ids[id] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}
