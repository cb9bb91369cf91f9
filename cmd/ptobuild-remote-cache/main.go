// Command ptobuild-remote-cache moves results between the local cache and caches on other machines for ptobuild, which starts it when the local cache has not
// what it needs, and talks to it over standard input and output. It is a program of its own because linking gRPC costs every start of a program milliseconds.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"github.com/ptobuild/ptobuild/cache/remote"
	"github.com/ptobuild/ptobuild/cache/remote/httpcache"
	"github.com/ptobuild/ptobuild/cache/remote/reapi"
	"github.com/ptobuild/ptobuild/cache/remote/syncer"
)

func main() {
	if term.IsTerminal(int(os.Stdin.Fd())) || len(os.Args) > 1 {
		fmt.Fprintln(os.Stderr, "ptobuild starts this program when it needs a remote cache; there is nothing to do by hand.")
		os.Exit(2)
	}
	signal.Ignore(syscall.SIGPIPE) // the tool may leave before everything is uploaded
	if err := syncer.Serve(os.Stdin, os.Stdout, dial); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func dial(r *remote.Remote) (syncer.Backend, error) {
	switch r.Scheme {
	case "http", "https":
		return httpcache.Dial(r)
	}
	return reapi.Dial(r)
}
