// Command ptobuild-plugin-host runs plugins for ptobuild, which starts it when it needs one and talks to it over standard input and output. It is a
// program of its own because linking gRPC costs every start of a program milliseconds.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"golang.org/x/term"

	"github.com/ptobuild/ptobuild/plugins/host"
)

func main() {
	if term.IsTerminal(int(os.Stdin.Fd())) || len(os.Args) > 1 {
		fmt.Fprintln(os.Stderr, "ptobuild starts this program when it needs a plugin; there is nothing to do by hand.")
		os.Exit(2)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // when ptobuild was killed, there are still plugins to end and files to remove
	debug.SetGCPercent(400)                                 // it passes messages on and keeps nothing: the default costs a tenth of its time
	out := os.Stdout
	os.Stdout = os.Stderr // standard output carries answers and nothing else
	if err := host.Serve(os.Stdin, out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
