package plugins_test

import (
	"os/exec"
	"strings"
	"testing"
)

// Linking gRPC costs every start of a program 16 ms, so neither the tool nor what it imports of plugins may.
func TestNoGRPC(t *testing.T) {
	for _, pkg := range []string{"./cmd/ptobuild", "./plugins/client"} {
		cmd := exec.Command("go", "list", "-deps", pkg)
		cmd.Dir = ".."
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list %s: %v", pkg, err)
		}
		for p := range strings.FieldsSeq(string(out)) {
			if strings.HasPrefix(p, "google.golang.org/grpc") || strings.HasPrefix(p, "github.com/hashicorp/") {
				t.Errorf("%s imports %s", pkg, p)
			}
		}
	}
}
