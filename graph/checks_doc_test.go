package graph

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
)

var update = flag.Bool("update", false, "write the reports of docs/checks.md anew")

// TestChecksPage holds the reports of docs/checks.md against what is really said about its programs.
func TestChecksPage(t *testing.T) {
	const page = "../docs/checks.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```")
	body, kernels, kind := "", "", ""
	n := 0
	for i := 1; i < len(blocks); i += 2 { // the odd pieces are inside of fences
		head, content, _ := strings.Cut(blocks[i], "\n")
		switch head {
		case "python", "python advice":
			body, kernels, kind = content, "", head
		case "python kernel":
			kernels = content
		case "console":
			n++
			src := checkedProgram(body, kernels)
			v := testProgram(t, src, func(x *Tester) { x.Advice = kind == "python advice" })
			var b strings.Builder
			ds := v.Diags
			if v.Advice != nil {
				for _, l := range v.Advice.Lines() {
					b.WriteString(l + "\n")
				}
				ds = append(ds, v.Advice.Notes...)
			}
			(&diag.Renderer{Source: func(string) []byte { return []byte(src) }}).Render(&b, ds)
			if content != b.String() && !*update {
				t.Errorf("the page says\n%s\nand the tool\n%s\nrun go test ./graph -run ChecksPage -update", content, b.String())
			}
			blocks[i] = head + "\n" + b.String()
		}
	}
	if n < 6 {
		t.Errorf("%d reports on the page", n)
	}
	if *update {
		if err := os.WriteFile(page, []byte(strings.Join(blocks, "```")), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
