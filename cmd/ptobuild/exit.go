package main

import (
	"context"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/runtime/native"
	"github.com/ptobuild/ptobuild/runtime/native/protocol"
)

// Exit codes (docs/commands.md).
const (
	exitOK       = 0
	exitSources  = 1   // the sources have errors
	exitUsage    = 2   // the command line or Pto.toml is wrong
	exitTests    = 3   // tests ran and failed
	exitInternal = 4   // something else went wrong: a full disk, no compiler, a fault of ptobuild
	exitSignal   = 130 // interrupted
)

// exitError ends the process with a code after everything was reported.
type exitError struct{ code int }

func (e exitError) Error() string { return "exit" }

// exitOf is the exit code for the errors among reports: what is wrong with the sources counts first, then what the user asked for, then the world
// around us, then what a run showed.
func exitOf(ctx context.Context, ds diag.List) int {
	if ctx.Err() != nil {
		return exitSignal
	}
	found := map[int]bool{}
	for _, d := range ds {
		if d.Severity == diag.Error {
			found[exitOfCode(d.Code)] = true
		}
	}
	for _, code := range []int{exitSources, exitUsage, exitInternal, exitTests} {
		if found[code] {
			return code
		}
	}
	return exitOK
}

func exitOfCode(c diag.Code) int {
	switch c {
	case passes.CodeInternal, graph.CodeOutput, graph.CodeTrace, native.CodeToolchain, native.CodeCompile, native.CodeHost, protocol.CodeProtocol:
		return exitInternal
	case graph.CodeMismatch, graph.CodeReference:
		return exitTests
	}
	switch letter := strings.TrimPrefix(string(c), "PTO-"); {
	case strings.HasPrefix(letter, "W"), strings.HasPrefix(letter, "C"):
		return exitUsage
	case strings.HasPrefix(letter, "R"), strings.HasPrefix(letter, "K"):
		return exitTests
	case slices.Contains(pluginFaults, c):
		return exitInternal
	case strings.HasPrefix(letter, "L"):
		return exitUsage
	}
	return exitSources
}
