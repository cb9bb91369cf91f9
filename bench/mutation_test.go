package bench

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// BenchmarkMutationScore breaks correct random programs in one place each and counts how many of those that misbehave the checks report:
// caught/misbehaving is the score, and 1 is what it should be. It is as slow as CROSSCHECK_MUTANTS programs with CROSSCHECK_BREAKS mutants each.
func BenchmarkMutationScore(b *testing.B) {
	for b.Loop() {
		cmd := exec.Command("go", "test", "-count=1", "-timeout=1h", "-run", "TestMutants$", "-v", "../internal/crosscheck")
		cmd.Env = os.Environ()
		for _, v := range []string{"CROSSCHECK_MUTANTS=200", "CROSSCHECK_BREAKS=14"} {
			if name, _, _ := strings.Cut(v, "="); os.Getenv(name) == "" {
				cmd.Env = append(cmd.Env, v)
			}
		}
		out, err := cmd.CombinedOutput()
		m := regexp.MustCompile(`mutation score (\d+)/(\d+): (\d+) correct programs, (\d+) mutants`).FindSubmatch(out)
		if m == nil {
			b.Fatalf("%v\n%s", err, out)
		}
		n := [4]float64{}
		for i := range n {
			n[i], _ = strconv.ParseFloat(string(m[i+1]), 64) // digits, by the pattern
		}
		b.ReportMetric(n[0]/n[1], "score")
		b.ReportMetric(n[1], "misbehaving")
		b.ReportMetric(n[2], "programs")
		b.ReportMetric(n[3], "mutants")
		if err != nil {
			b.Errorf("%v\n%s", err, out)
		}
	}
}
