package graph

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// Random edits: after each step the outputs are those of a clean build, and nothing runs whose inputs were seen before.
func TestRandomEdits(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 1))
			s := newSite(t)
			s.build()
			seen := map[string]bool{}
			files := []string{"a.py", "sub/b.py", "c.py"}
			for step := range 25 {
				f := files[rng.IntN(len(files))]
				text := ""
				if b, err := os.ReadFile(s.abs(f)); err == nil {
					text = string(b)
				}
				what := rng.IntN(9)
				switch what {
				case 0: // a kernel's body
					s.write(f, strings.Replace(program, "1.0", fmt.Sprint(rng.IntN(3), ".5"), 1))
				case 1:
					s.write(f, "# a comment\n"+text)
				case 2: // an orchestration
					s.write(f, strings.Replace(program, "o = self.k(a, o)", strings.Repeat("o = self.k(a, o)\n        ", 1+rng.IntN(3))+"o = self.k(a, o)", 1))
				case 3:
					s.remove(f)
				case 4: // touch without change
					s.write(f, text)
				case 5: // two files change places
					g := files[rng.IntN(len(files))]
					if b, err := os.ReadFile(s.abs(g)); err == nil && text != "" {
						s.write(f, string(b))
						s.write(g, text)
					}
				case 6:
					s.write("config.py", fmt.Sprintf("SIZE = %d\n", 16<<rng.IntN(2)))
				case 7: // damage
					for name := range s.outputs() {
						if rng.IntN(3) == 0 {
							s.remove(name)
						} else if rng.IntN(3) == 0 {
							s.write(name, "mine")
						}
					}
				case 8: // what has an error is mended in a later step
					s.write(f, strings.Replace(program, "return o", "return q", 1))
				}
				r := s.build()
				if r.Diagnostics.HasErrors() {
					continue // outputs of what cannot be built stay as they were
				}
				if got, want := s.outputs(), s.clean(); !maps.Equal(got, want) {
					t.Fatalf("step %d (%d of %s): outputs differ from those of a clean build", step, what, f)
				}
				inputs := s.read("config.py")
				for _, f := range files {
					if b, err := os.ReadFile(s.abs(f)); err == nil {
						inputs += f + string(b)
					}
				}
				if seen[inputs] && len(r.Ran) > 0 {
					t.Errorf("step %d (%d of %s): %v ran although the same sources were built before", step, what, f, r.Ran)
				}
				seen[inputs] = true
				if again := s.build(); len(again.Ran) > 0 || written(again) != "" {
					t.Errorf("step %d (%d of %s): a second build ran %v", step, what, f, again.Ran)
				}
			}
		})
	}
}
