// Package arch holds the tests that the code keeps to the import table of docs/architecture.md, and that programs link only what they need.
package arch

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/ptobuild/ptobuild/"

var row = regexp.MustCompile("^\\| `([^`]+)` \\| [^|]* \\|([^|]*)\\|$")

// table reads the rows of the import table: folder → folders that it may import; "everything" allows all.
func table(t *testing.T) map[string][]string {
	b, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for line := range strings.Lines(string(b)) {
		m := row.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		allowed := []string{"internal/diag", m[1]}
		for f := range strings.SplitSeq(m[2], ",") {
			allowed = append(allowed, strings.Trim(strings.TrimSpace(f), "`"))
		}
		rows[m[1]] = allowed
	}
	if len(rows) < 20 {
		t.Fatalf("docs/architecture.md has only %d rows that look like the import table", len(rows))
	}
	return rows
}

// owner is the most specific row that a package belongs to.
func owner(rows map[string][]string, pkg string) string {
	best := ""
	for folder := range rows {
		if (pkg == folder || strings.HasPrefix(pkg, folder+"/")) && len(folder) > len(best) {
			best = folder
		}
	}
	return best
}

func TestImportTable(t *testing.T) {
	rows := table(t)
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = "../.."
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for dec := json.NewDecoder(out); ; n++ {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		pkg := strings.TrimPrefix(p.ImportPath, module)
		o := owner(rows, pkg)
		if o == "" {
			t.Errorf("%s has no row in the import table of docs/architecture.md", pkg)
			continue
		}
		for _, imp := range p.Imports {
			dep, ours := strings.CutPrefix(imp, module)
			if !ours || slices.Contains(rows[o], "everything") {
				continue
			}
			if !slices.ContainsFunc(rows[o], func(a string) bool {
				return dep == a || strings.HasPrefix(dep, a+"/") && owner(rows, dep) == owner(rows, a) || a == "runtime" && strings.HasPrefix(dep, "runtime/")
			}) {
				t.Errorf("%s imports %s; its row %q allows %s", pkg, dep, o, strings.Join(rows[o][1:], ", "))
			}
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if n < 20 {
		t.Errorf("go list found only %d packages", n)
	}
}
