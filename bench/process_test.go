package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkColdBuild is `ptobuild build` of all examples as a whole process without any state, beside the start of a Python that does nothing: what
// every tool written in Python pays before its first line.
func BenchmarkColdBuild(b *testing.B) {
	exe, dir := tool(b), workspace(b)
	against(b, func() {
		for _, state := range []string{"build", ".ptobuild"} {
			if err := os.RemoveAll(filepath.Join(dir, state)); err != nil {
				b.Fatal(err)
			}
		}
		runCommand(b, dir, exe, "build")
	}, command(b, "python-start", dir, "python3", "-c", "pass"))
}

// BenchmarkNoopBuild is `ptobuild build` when nothing changed, beside ninja with as many files and nothing to do.
func BenchmarkNoopBuild(b *testing.B) {
	exe, dir := tool(b), workspace(b)
	runCommand(b, dir, exe, "build")
	ninja := b.TempDir()
	var rules strings.Builder
	rules.WriteString("rule copy\n  command = cp $in $out\n")
	for i, f := range examples(b) {
		src, err := filepath.Abs(f)
		if err != nil {
			b.Fatal(err)
		}
		for _, out := range []string{"cpp", "json", "py"} { // about the number of outputs
			fmt.Fprintf(&rules, "build out%d.%s: copy %s\n", i, out, src)
		}
	}
	if err := os.WriteFile(filepath.Join(ninja, "build.ninja"), []byte(rules.String()), 0o666); err != nil {
		b.Fatal(err)
	}
	against(b, func() { runCommand(b, dir, exe, "build") }, command(b, "ninja-noop", ninja, "ninja"))
}
