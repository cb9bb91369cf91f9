// Package lock reads and writes Pto.lock, which pins the plugins of a workspace: the version of each and the SHA-256 of its file, by platform. The file is
// generated (`ptobuild plugin lock`), stands beside Pto.toml and is committed. A plugin that the workspace builds itself is not pinned: its sources are.
package lock

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/plugins"
)

// Name of the file.
const Name = "Pto.lock"

// File is Pto.lock.
type File struct {
	Version int              `toml:"version"` // of this format
	Plugins map[string]Entry `toml:"plugins"`
}

// Entry pins one plugin.
type Entry struct {
	Version string            `toml:"version"`
	SHA256  map[string]string `toml:"sha256"` // platform → digest in hex
}

const format = 1

// Platform is the key of this machine's digests: linux_amd64.
func Platform() string { return runtime.GOOS + "_" + runtime.GOARCH }

var hexDigest = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{64}$`) })

// Read reads the file of a workspace; nil without one.
func Read(root string) (*File, *diag.Diagnostic) {
	b, err := os.ReadFile(filepath.Join(root, Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	bad := func(line int, format string, args ...any) *diag.Diagnostic {
		return diag.Errorf(plugins.CodeLock, diag.Span{File: Name, Line: int32(line), Col: 1}, format, args...).
			WithHint("restore it from version control, or write it anew: ptobuild plugin lock")
	}
	if err != nil {
		return nil, bad(0, "cannot be read: %v", err)
	}
	f := &File{}
	meta, err := toml.Decode(string(b), f)
	var pe toml.ParseError
	switch {
	case errors.As(err, &pe):
		return nil, bad(pe.Position.Line, "is no lock file: %s", pe.Message)
	case err != nil:
		return nil, bad(1, "is no lock file: %v", err)
	case f.Version != format:
		return nil, bad(1, "has format %d, this ptobuild knows format %d", f.Version, format)
	case len(meta.Undecoded()) > 0:
		return nil, bad(1, "has the unknown key %q", meta.Undecoded()[0].String())
	}
	for _, name := range slices.Sorted(maps.Keys(f.Plugins)) {
		for _, platform := range slices.Sorted(maps.Keys(f.Plugins[name].SHA256)) {
			if !hexDigest().MatchString(f.Plugins[name].SHA256[platform]) {
				return nil, bad(1, "the digest of plugin %s for %s is no SHA-256", name, platform)
			}
		}
	}
	return f, nil
}

// Pin sets what a plugin is on this platform. The digests of other platforms stay as long as the version does.
func (f *File) Pin(name, version, sha256 string) {
	if f.Plugins == nil {
		f.Plugins = map[string]Entry{}
	}
	e := f.Plugins[name]
	if e.Version != version {
		e = Entry{Version: version}
	}
	if e.SHA256 = maps.Clone(e.SHA256); e.SHA256 == nil {
		e.SHA256 = map[string]string{}
	}
	e.SHA256[Platform()] = sha256
	f.Plugins[name] = e
}

// Bytes is the file's content: sorted, so that equal pins are equal bytes.
func (f *File) Bytes() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Written by `ptobuild plugin lock`; commit it.\nversion = %d\n", format)
	for _, name := range slices.Sorted(maps.Keys(f.Plugins)) {
		e := f.Plugins[name]
		fmt.Fprintf(&b, "\n[plugins.%s]\nversion = %q\n", name, e.Version)
		for _, platform := range slices.Sorted(maps.Keys(e.SHA256)) {
			fmt.Fprintf(&b, "sha256.%s = %q\n", platform, e.SHA256[platform])
		}
	}
	return b.Bytes()
}

// Write replaces the file of a workspace atomically and reports whether it changed.
func (f *File) Write(root string) (bool, error) {
	name := filepath.Join(root, Name)
	data := f.Bytes()
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, data) {
		return false, nil
	}
	tmp, err := os.CreateTemp(root, ".Pto.lock-*")
	if err != nil {
		return false, err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Chmod(0o644)
	}
	if closing := tmp.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return false, err
	}
	return true, os.Rename(tmp.Name(), name)
}

// Apply pins a configuration: its file must have the digest that the lock names for this platform, and its version the locked one.
func (f *File) Apply(c *plugins.Config) *diag.Diagnostic {
	e, ok := f.Plugins[c.Name]
	if !ok {
		return diag.Errorf(plugins.CodeLock, c.Pos, "plugin %s is not in %s", c.Name, Name).WithHint("pin it: ptobuild plugin lock %s", c.Name)
	}
	sum := e.SHA256[Platform()]
	if sum == "" {
		return diag.Errorf(plugins.CodeLock, c.Pos, "%s has no digest of plugin %s for %s, only for %s", Name, c.Name, Platform(), strings.Join(slices.Sorted(maps.Keys(e.SHA256)), ", ")).
			WithHint("pin it on this platform: ptobuild plugin lock %s", c.Name)
	}
	if !plugins.VersionFits(c.Version, e.Version) {
		return diag.Errorf(plugins.CodeLock, c.Pos, "%s pins plugin %s at version %s, but Pto.toml wants %s", Name, c.Name, e.Version, c.Version).
			WithHint("install a version that fits and pin it: ptobuild plugin lock %s", c.Name)
	}
	if c.SHA256 != "" && !strings.EqualFold(c.SHA256, sum) {
		return diag.Errorf(plugins.CodeLock, c.Pos, "Pto.toml and %s pin different files for plugin %s", Name, c.Name).WithHint("remove sha256 from Pto.toml; %s is enough", Name)
	}
	c.SHA256 = sum
	return nil
}
