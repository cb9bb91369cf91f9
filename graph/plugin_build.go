package graph

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ptobuild/ptobuild/cache"
	"github.com/ptobuild/ptobuild/graph/state"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/plugins"
)

// A plugin whose sources lie in the workspace is built by it: [plugins.X] build = ["go", "build", …]. The command runs when the command itself or a file that
// `files` matches changed, or when what it made is gone.

// pluginBuilt is what is remembered of such a build.
type pluginBuilt struct {
	Inputs string    `json:"inputs"` // digest of command and files
	Output string    `json:"output"` // of what it made
	At     time.Time `json:"at"`
}

func (w *Workspace) buildPlugin(ctx context.Context, c *plugins.Config, p *PluginConfig) (d *diag.Diagnostic) {
	fail := func(format string, args ...any) *diag.Diagnostic {
		return diag.Errorf(plugins.CodeBuild, c.Pos, "plugin "+c.Name+" cannot be built: "+format, args...)
	}
	w.pluginDeps.always = w.pluginDeps.always || len(p.Files) == 0
	inputs, err := w.pluginInputs(p)
	if err != nil {
		d := fail("%v", err).WithHint("files lists globs from the workspace root")
		if w.detached {
			d.WithHint("outside of a workspace, globs and paths count from the current folder")
		}
		return d
	}
	note := filepath.Join(w.pluginDir(), c.Name+".built")
	began := time.Now()
	if w.pluginIsBuilt(c, p, note, inputs, began) {
		return nil
	}
	unlock, err := lockFile(ctx, filepath.Join(w.pluginDir(), c.Name+".lock"))
	if err != nil {
		return fail("%v", unwrapPath(err))
	}
	defer unlock()
	if w.pluginIsBuilt(c, p, note, inputs, began) { // meanwhile, by another command
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(c.Path), 0o777); err != nil {
		return fail("%v", unwrapPath(err))
	}
	// A file that runs can be replaced, but not written to. What was there is kept until there is something better.
	before := filepath.Join(filepath.Dir(c.Path), "."+filepath.Base(c.Path)+".before")
	if err := os.Rename(c.Path, before); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail("%v", unwrapPath(err))
	}
	defer func() {
		if d != nil {
			_ = os.Rename(before, c.Path) // there may have been none
		} else {
			_ = os.Remove(before)
		}
	}()
	cmd := osexec.CommandContext(ctx, p.Build[0], p.Build[1:]...)
	cmd.Dir = w.Root
	out, err := runCommand(cmd)
	if err != nil {
		d := fail("`%s`: %v", strings.Join(p.Build, " "), cmp.Or(context.Cause(ctx), err))
		if text := lastLines(out, 8); text != "" {
			d.Message += "\n" + text
		}
		return d.WithHint("the command runs in the folder of Pto.toml")
	}
	now, err := w.digest(c.Path)
	if err != nil {
		return fail("`%s` did not make %s", strings.Join(p.Build, " "), c.Path)
	}
	c.SHA256 = now
	if b, err := json.Marshal(pluginBuilt{inputs, now, time.Now()}); err == nil {
		_ = state.Update(note, b) // without it the command runs again
	}
	return nil
}

// pluginIsBuilt reports that the command would make what is there, and takes it: by the note of its last run, which without `files` only counts when it came after began.
func (w *Workspace) pluginIsBuilt(c *plugins.Config, p *PluginConfig, note, inputs string, began time.Time) bool {
	var was pluginBuilt
	if b, err := os.ReadFile(note); err == nil {
		_ = json.Unmarshal(b, &was) // a damaged note only builds once more
	}
	if was.Inputs != inputs || len(p.Files) == 0 && !was.At.After(began) {
		return false
	}
	now, err := w.digest(c.Path)
	if err != nil || now != was.Output {
		return false
	}
	c.SHA256 = now
	return true
}

// lockFile takes the lock of a file; it waits until ctx ends.
func lockFile(ctx context.Context, name string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return nil, err
	}
	for {
		unlock, err = cache.LockFile(name, false)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return unlock, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(len(lines)-n, 0):], "\n")
}

// PluginFiles are the files from the root that decide what plugins the workspace builds: a change of one builds its plugin anew.
func (w *Workspace) PluginFiles() []string {
	var out []string
	for _, p := range w.Config.Plugins {
		files, _ := w.pluginSources(&p) // the build reports a bad pattern
		out = append(out, files...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (w *Workspace) pluginSources(p *PluginConfig) ([]string, error) {
	var out []string
	for _, g := range p.Files {
		if w.pluginDeps != nil {
			w.pluginDeps.addPattern(g)
		}
		found, err := globFiles(w.Root, g)
		if err != nil {
			return nil, fmt.Errorf("files pattern %q: %w", g, err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("files pattern %q matches nothing", g)
		}
		out = append(out, found...)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func (w *Workspace) pluginInputs(p *PluginConfig) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%q\n", p.Build)
	files, err := w.pluginSources(p)
	if err != nil {
		return "", err
	}
	for _, f := range files {
		b, err := w.ReadFile(f)
		w.pluginDeps.addText(w.Abs(f), b, err)
		if err != nil {
			return "", fmt.Errorf("%s: %w", f, unwrapPath(err))
		}
		fmt.Fprintf(h, "%q %d\n", f, len(b))
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// digestNote remembers the digest of a large file by what stat says of it.
type digestNote struct {
	Size    int64  `json:"size"`
	ModTime int64  `json:"mtime"`
	Inode   uint64 `json:"inode"`
	SHA256  string `json:"sha256"`
}

// settled is how old a file must be for its time to be trusted: a file written twice within the grain of the clock looks unchanged.
const settled = 2 * time.Second

// digest is the SHA-256 of a plugin's file. Reading 20 MB takes 15 ms, so it is remembered as long as the file looks the same.
func (w *Workspace) digest(name string) (string, error) {
	st, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	id := sha256.Sum256([]byte(name))
	path := filepath.Join(w.pluginDir(), hex.EncodeToString(id[:8])+".digest")
	now := digestNote{Size: st.Size(), ModTime: st.ModTime().UnixNano(), Inode: inode(st)}
	var was digestNote
	if b, err := os.ReadFile(path); err == nil && json.Unmarshal(b, &was) == nil && was.SHA256 != "" {
		now.SHA256 = was.SHA256
		if now == was {
			return was.SHA256, nil
		}
	}
	if now.SHA256, err = fileSHA256(name); err != nil {
		return "", err
	}
	if time.Since(st.ModTime()) > settled {
		if b, err := json.Marshal(now); err == nil {
			_ = state.Update(path, b) // without it the file is read again
		}
	}
	return now.SHA256, nil
}

func fileSHA256(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
