package main

import (
	"path/filepath"
	"runtime"
	"strings"

	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/plugins"
)

// open opens the workspace of the command's folder; its errors end the command.
func (a *app) open() (*graph.Workspace, error) {
	ws, ds := graph.Open(a.dir)
	if ds.HasErrors() {
		return nil, a.fail(ds, ws, exitUsage)
	}
	return ws, a.replacePlugins(ws)
}

// session opens the workspace of the command's folder without reading Pto.toml.
func (a *app) session() (*graph.Session, error) {
	return graph.OpenSession(a.dir, "/proc/self/exe", toolID)
}

// unchanged answers a build that has nothing to do. With a plugin that takes another's place for this run nothing is known.
func (a *app) unchanged(s *graph.Session, req graph.Request, ps []graph.Pattern) *graph.Report {
	if len(a.dev) > 0 {
		return nil
	}
	return s.Unchanged(req, ps)
}

// path is a path of the command line as seen from the command's folder.
func (a *app) path(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(a.dir, p)
}

// inWorkspace is the path of a file from the root of the workspace, when it is below it.
func (a *app) inWorkspace(ws *graph.Workspace, file string) string {
	abs, err := filepath.Abs(a.path(file))
	if err != nil {
		return file
	}
	rel, err := filepath.Rel(ws.Root, abs)
	if err != nil || strings.HasPrefix(rel, "..") {
		return file
	}
	return filepath.ToSlash(rel)
}

// fail reports ds and ends the command with a code.
func (a *app) fail(ds diag.List, ws *graph.Workspace, code int) error {
	ds = plugins.WithoutStopped(ds)
	a.note(ds)
	if a.ui.JSON {
		if err := a.ui.Result(failure{Diagnostics: ds}); err != nil {
			return err
		}
		return exitError{code}
	}
	a.ui.Report(ds, sourceOf(ws))
	return exitError{code}
}

// report prints reports for people.
func (a *app) report(ds diag.List, ws *graph.Workspace) {
	a.ui.Report(plugins.WithoutStopped(ds), sourceOf(ws))
}

// sourceOf gives the texts that reports quote, of no workspace none.
func sourceOf(ws *graph.Workspace) func(string) []byte {
	if ws == nil {
		return nil
	}
	return ws.Source
}

// patterns reads the command's patterns relative to its folder.
func (a *app) patterns(root string, args []string) ([]graph.Pattern, error) {
	abs, err := filepath.Abs(a.dir)
	if err != nil {
		return nil, err
	}
	here := graph.Here(root, abs)
	var ps []graph.Pattern
	for _, arg := range args {
		if filepath.IsAbs(arg) && !hasLabelPrefix(arg) {
			if rel, err := filepath.Rel(root, arg); err == nil {
				arg = "//" + filepath.ToSlash(rel)
			}
		}
		p, err := graph.ParsePattern(arg, here)
		if err != nil {
			return nil, err
		}
		ps = append(ps, p)
	}
	return ps, nil
}

func hasLabelPrefix(s string) bool { return len(s) > 1 && s[:2] == "//" }

// engine makes the action engine with the user's cache. Without a usable cache folder nothing is kept: a build never fails for it.
func (a *app) engine(jobs int) *graph.Engine {
	if jobs <= 0 {
		jobs = runtime.NumCPU()
	}
	return graph.NewEngine(a.openCache(), jobs)
}
