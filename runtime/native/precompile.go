package native

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ptobuild/ptobuild/cache"
)

// The API header in a form that g++ reads faster. Half of the time to compile an orchestration goes into the header and the standard library below it;
// g++ maps a precompiled header into memory instead. It is an entry of the local cache like any other (some 30 MB), made when a user compiles
// for the third time, since it takes as long as two compilations.
//
// g++ ignores a precompiled header of another g++ or other flags, but does not look at the files that went into it: the entry lists them with size and
// time of change, and when one has changed the header is precompiled anew. Whatever goes wrong, the source is compiled without.

const (
	apiHeader        = "pto_orchestration_api.h"
	precompiledName  = apiHeader + ".gch"
	precompiledFiles = "files"
	// precompileAfter is how many compilations come before.
	precompileAfter = 2
)

// precompiler finds and makes precompiled headers. The zero one has none.
type precompiler struct {
	store *cache.Disk
	busy  sync.Mutex
	off   bool // it does not work here
}

// opening is what a generated source begins with: nothing before the API header that could change what it says, so that it may as well be read first.
var opening = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:\s|//[^\n]*\n|#include <[^>\n]*>\n)*#include "(?:pto_)?orchestration_api\.h"`)
})

// precompiled puts the precompiled header into the folder in which src is compiled, and returns the flags that use it; none when there is none.
func (t *Toolchain) precompiled(ctx context.Context, dir string, src []byte) []string {
	p := &t.headers
	if p.store == nil || !strings.Contains(t.ID, "g++") || !opening().Match(src) || !p.busy.TryLock() {
		return nil
	}
	defer p.busy.Unlock()
	if p.off {
		return nil
	}
	file, ok := t.findPrecompiled(ctx)
	if !ok && t.often(ctx) {
		if err := t.precompile(ctx, dir); err != nil {
			p.off = true
			return nil
		}
		file, ok = t.findPrecompiled(ctx)
	}
	if !ok || os.Symlink(file, filepath.Join(dir, precompiledName)) != nil {
		return nil
	}
	return []string{"-include", apiHeader}
}

func (t *Toolchain) precompileKey(what string) cache.Digest {
	k := cache.NewKey("Precompile").Str("what", what).Str("compiler", t.CXX).Str("version", t.ID).Str("flags", strings.Join(compileFlags, " "))
	for _, h := range headers() {
		k.Bytes(h.name, h.text)
	}
	return k.Sum()
}

// often counts a compilation; true when there were enough before.
func (t *Toolchain) often(ctx context.Context) bool {
	for i := range precompileAfter {
		key := t.precompileKey(fmt.Sprint("compilation ", i))
		if _, err := t.headers.store.GetAction(ctx, key); err != nil {
			_ = t.headers.store.PutAction(ctx, key, &cache.ActionResult{}) // the store tells the user
			return false
		}
	}
	return true
}

// findPrecompiled is the file of the precompiled header, when nothing that went into it has changed.
func (t *Toolchain) findPrecompiled(ctx context.Context) (string, bool) {
	store := t.headers.store
	r, err := store.GetAction(ctx, t.precompileKey("header"))
	if err != nil {
		return "", false
	}
	image, _ := r.Output(precompiledName)
	list, _ := r.Output(precompiledFiles)
	files, err := store.Get(ctx, list)
	if err != nil {
		return "", false
	}
	for line := range strings.Lines(string(files)) {
		name, was, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if now, ok := stamp(name); !ok || now != was {
			return "", false
		}
	}
	return store.File(image)
}

// stamp tells one state of a file from another.
func stamp(file string) (string, bool) {
	info, err := os.Stat(file)
	if err != nil {
		return "", false
	}
	return fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano()), true
}

// precompile makes the entry. The headers are in dir.
func (t *Toolchain) precompile(ctx context.Context, dir string) error {
	const image, rule = "api.gch", "api.d"
	cmd := t.command(ctx, dir, append(slices.Clone(compileFlags), "-w", "-I.", "-MD", "-MF", rule, "-x", "c++-header", apiHeader, "-o", image)...)
	cmd.Dir = dir
	if err := cmd.Run(); err != nil {
		return err
	}
	b, err := os.ReadFile(filepath.Join(dir, image))
	if err != nil {
		return err
	}
	files, err := os.ReadFile(filepath.Join(dir, rule))
	if err != nil {
		return err
	}
	_, files, _ = bytes.Cut(files, []byte(": "))
	var list []byte
	for _, f := range strings.Fields(strings.ReplaceAll(string(files), "\\\n", " ")) {
		if !filepath.IsAbs(f) { // ours, which is in the key
			continue
		}
		s, ok := stamp(f)
		if !ok {
			return fmt.Errorf("%s is not there", f)
		}
		list = fmt.Appendf(list, "%s\t%s\n", f, s)
	}
	r := &cache.ActionResult{}
	for _, o := range []struct {
		path    string
		content []byte
	}{{precompiledName, b}, {precompiledFiles, list}} {
		d, err := t.headers.store.Put(ctx, o.content)
		if err != nil {
			return err
		}
		r.Outputs = append(r.Outputs, cache.OutputFile{Path: o.path, Digest: d})
	}
	return t.headers.store.PutAction(ctx, t.precompileKey("header"), r)
}
