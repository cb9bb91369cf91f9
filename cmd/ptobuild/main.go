// Command ptobuild builds and tests PyPTO orchestration programs. Each command is one file of this package; all of them parse flags, call packages
// and print.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ptobuild/ptobuild/cache/remote"
	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/internal/ui"
	"github.com/ptobuild/ptobuild/runtime/native"
)

func main() { os.Exit(Main()) }

// Main runs the command line and returns its exit code.
func Main() int {
	debug.SetGCPercent(400) // processes are short: memory is cheaper than collecting it
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	app := &app{}
	defer app.closeBuilder()
	defer app.closeChildren()
	defer func() { app.closeStore(ctx) }()
	if len(os.Args) > 1 && os.Args[1] == "run" && !slices.Contains(os.Args, "--no-compile") {
		if children, err := app.childProcesses(); err == nil { // or the command says why not
			children.Ahead() // what is run waits for it in the end
		}
	}
	root := app.root()
	args, err := os.Args[1:], error(nil)
	if slices.Contains(args, "emit") {
		args, err = expandArgs(args)
	}
	if err == nil {
		root.SetArgs(args)
		err = root.ExecuteContext(ctx)
	}
	code := app.exitCode(ctx, err)
	if err := app.writeSarif(); err != nil {
		app.ui.Report(diag.AsList(err, ""), nil)
		return exitInternal
	}
	if code != exitOK && code != exitSignal {
		app.tellMore()
	}
	return code
}

// exitCode reports the error of a command that could not start, and gives the exit code for it or any other outcome.
func (a *app) exitCode(ctx context.Context, err error) int {
	var exit exitError
	switch {
	case ctx.Err() != nil:
		return exitSignal
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		return exit.code
	}
	if a.ui == nil {
		a.ui = ui.New(slices.Contains(os.Args, "--json")) // the command line itself could not be read
	}
	ds := diag.AsList(err, "")
	if len(ds) == 1 && ds[0].Code == "" && ds[0].Hint == "" {
		ds[0].WithHint("`ptobuild --help` and `ptobuild COMMAND --help` tell how to use it")
	}
	if a.ui.JSON {
		_ = a.ui.Result(failure{Diagnostics: ds}) // the exit code tells the same
	}
	a.note(ds)
	a.ui.Report(ds, sourceOf(a.ws))
	return startCode(ds)
}

// app is what the commands share.
type app struct {
	ui   *ui.UI
	json bool
	dir  string
	dev  []string // --plugin-dev

	running *graph.RunningPlugins // plugins of a watch, nil in other commands

	ws      *graph.Workspace // of the running command, for reports; nil before there is one
	current *graph.Builder   // that of the running command
	trees   *graph.Trees     // shared by the requests of a worker; nil for other commands

	sarif string    // the file that reports are written to, as SARIF
	noted diag.List // what was reported so far

	children *native.Children // of the running command; nil: none was needed yet

	store *openStore // what results are kept in; nil: not opened yet

	remotes remote.Flags // of the command line
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "ptobuild",
		Short: "Build, run and test PyPTO orchestration programs",
		Long: "ptobuild parses PyPTO programs, generates their orchestration C++, and runs it on a simulated Ascend runtime.\n" +
			"A folder with a Pto.toml is a workspace; `ptobuild init` makes one.",
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRun: func(*cobra.Command, []string) {
			if a.ui == nil { // the requests of a worker have one
				a.ui = ui.New(a.json)
			}
		},
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print results as JSON")
	root.PersistentFlags().StringArrayVar(&a.dev, "plugin-dev", nil, "`NAME=FILE`: use another executable for a plugin in this run, whatever Pto.lock says (may be repeated)")
	root.PersistentFlags().StringVarP(&a.dir, "directory", "C", ".", "run as if started in `DIR`")
	root.AddCommand(
		a.initCommand(),
		a.buildCommand(),
		a.testCommand(),
		a.runCommand(),
		a.watchCommand(),
		a.irCommand(),
		a.passesCommand(),
		a.graphCommand(),
		a.queryCommand(),
		a.emitCommand(),
		a.headerCommand(),
		a.explainCommand(),
		a.pluginCommand(),
		a.bazelCommand(),
		a.cacheCommand(),
		a.versionCommand(),
	)
	return root
}

// failure is the JSON of a command that could not start.
type failure struct {
	Diagnostics diag.List `json:"diagnostics"`
}
