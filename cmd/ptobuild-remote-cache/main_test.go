package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ptobuild/ptobuild/internal/davserver"
	"github.com/ptobuild/ptobuild/internal/reapiserver"
)

// server is what the script command `remote` started.
type server struct{ *reapiserver.Server }

// remoteCommand is the script command `remote`:
//
//	remote grpc        start a server of the Remote Execution API and set REMOTE to its URL
//	remote http        start nginx and set REMOTE to its URL
//	remote calls FILE  write how often each method was called since the last time
//	remote fault KIND  make it misbehave: down, lie, full, slow or none
func remoteCommand(ts *testscript.TestScript, _ bool, args []string) {
	state := ts.Value(server{}).(*server)
	switch args[0] {
	case "grpc":
		s, err := reapiserver.Start(reapiserver.Options{Instance: "main"})
		ts.Check(err)
		ts.Defer(s.Stop)
		state.Server = s
		ts.Setenv("REMOTE", s.URL())
	case "http":
		s, err := davserver.Start(ts.MkAbs("nginx"), davserver.Options{})
		ts.Check(err)
		ts.Defer(s.Stop)
		ts.Setenv("REMOTE", s.URL)
	case "calls":
		calls := state.Calls()
		var b strings.Builder
		for _, method := range slices.Sorted(maps.Keys(calls)) {
			fmt.Fprintf(&b, "%s %d\n", method, calls[method])
		}
		ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(b.String()), 0o666))
	case "fault":
		faults, ok := map[string]reapiserver.Faults{
			"none": {},
			"down": {Fail: func(string) error { return status.Error(codes.Unavailable, "closed for today") }},
			"lie":  {Lie: func(b []byte) []byte { return append(slices.Clone(b), 0) }},
			"full": {Full: true},
			"slow": {Delay: time.Minute},
		}[args[1]]
		if !ok {
			ts.Fatalf("no fault %q", args[1])
		}
		state.SetFaults(faults)
	default:
		ts.Fatalf("no command remote %s", args[0])
	}
}

// TestScripts runs testdata/script/*.txtar with the programs as they are installed.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       os.Getenv("UPDATE") != "",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"remote": remoteCommand},
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", bin(t)+string(filepath.ListSeparator)+e.Getenv("PATH"))
			e.Values[server{}] = &server{}
			return nil
		},
	})
}
