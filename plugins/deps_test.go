package plugins_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Linking gRPC costs every start of a program milliseconds, so neither the tool nor what it imports of plugins and remote caches may; the same goes for what comes
// with it.
func TestNoGRPC(t *testing.T) {
	heavy := []string{"google.golang.org/grpc", "google.golang.org/genproto", "github.com/hashicorp/", "github.com/bazelbuild/remote-apis", "github.com/klauspost/", "net/http"}
	for _, pkg := range []string{"./cmd/ptobuild", "./plugins/client", "./cache/remote"} {
		cmd := exec.Command("go", "list", "-deps", pkg)
		cmd.Dir = ".."
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list %s: %v", pkg, err)
		}
		for p := range strings.FieldsSeq(string(out)) {
			if slices.ContainsFunc(heavy, func(h string) bool { return strings.HasPrefix(p, h) }) {
				t.Errorf("%s imports %s", pkg, p)
			}
		}
	}
}
