package serve

import (
	"fmt"
	"path"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// Place is where in the plugin's own code the panic that is being recovered from began, as " (main.go:31)", "" when that is not known. A deferred
// function calls it.
func Place() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		f, more := frames.Next()
		if isOwn(f.Function) {
			return fmt.Sprintf(" (%s:%d)", path.Base(f.File), f.Line)
		}
		if !more {
			return ""
		}
	}
}

const core = "github.com/ptobuild/ptobuild"

// isOwn reports a function of the plugin: of package main or of its module.
func isOwn(function string) bool {
	own := ownModule()
	return strings.HasPrefix(function, "main.") || own != "" && own != core && (strings.HasPrefix(function, own+"/") || strings.HasPrefix(function, own+"."))
}

var ownModule = sync.OnceValue(func() string {
	if bi, ok := debug.ReadBuildInfo(); ok {
		return bi.Main.Path
	}
	return ""
})
