package arch

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// grpc is what comes with gRPC.
var grpc = []string{"google.golang.org/grpc", "google.golang.org/genproto", "github.com/hashicorp/", "github.com/bazelbuild/remote-apis", "github.com/klauspost/", "net/http"}

// What a program links costs every start of it: gRPC milliseconds, purego the dynamic linker. ptobuild starts for every command and ptobuild-orchestration-host for
// every run of compiled C++, so neither links, and nothing for ptobuild imports, what only another program needs.
func TestLinks(t *testing.T) {
	for pkg, heavy := range map[string][]string{
		"cmd/ptobuild":   slices.Concat(grpc, []string{"github.com/ebitengine/purego", module + "runtime/native/host"}),
		"plugins/client": grpc,
		"cache/remote":   grpc,
		"cmd/ptobuild-orchestration-host": slices.Concat(grpc, []string{module + "ir/lang", module + "passes", module + "codegen", module + "graph", module + "cache", module + "plugins", module + "runtime/include",
			"github.com/BurntSushi/", "github.com/bazelbuild/", "github.com/spf13/", "google.golang.org/", "regexp", "os/exec", "encoding/gob"}),
	} {
		cmd := exec.Command("go", "list", "-deps", "./"+pkg)
		cmd.Dir = "../.."
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list %s: %v", pkg, err)
		}
		for p := range strings.FieldsSeq(string(out)) {
			if slices.ContainsFunc(heavy, func(h string) bool { return strings.HasPrefix(p, h) }) {
				t.Errorf("%s links %s", pkg, p)
			}
		}
	}
}
