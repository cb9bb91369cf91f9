package buildgen

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ptobuild/ptobuild/graph"
)

// Memo remembers that the BUILD files are up to date with what they are generated from, so that a run that has nothing to do parses nothing. It is a file in the
// state folder of the workspace; without it, or when it is not to be trusted, everything is looked at.
type Memo struct {
	ws   *graph.Workspace
	tool string
	root string
	name string
}

const memoHeader = "ptobuild bazel 1\n"

// NewMemo makes the memo of a workspace for a tool: another tool may generate something else.
func NewMemo(ws *graph.Workspace, tool string) *Memo {
	return &Memo{ws, tool, Root(ws.Root), ws.Abs(graph.StateDir + "/bazel")}
}

// Fresh gives the number of BUILD files if nothing changed since Keep.
func (m *Memo) Fresh() (int, bool) {
	text, err := os.ReadFile(m.name)
	if err != nil || len(m.ws.Config.Plugins) > 0 { // a plugin may change what a source means
		return 0, false
	}
	lines := strings.Split(strings.TrimPrefix(string(text), memoHeader), "\n")
	if !strings.HasPrefix(string(text), memoHeader) || len(lines) < 2 {
		return 0, false
	}
	n, err := strconv.Atoi(lines[1])
	if err != nil {
		return 0, false
	}
	key, err := m.key(lines[2:])
	return n, err == nil && key == lines[0]
}

// Keep records that the n BUILD files are as they should be. A memo that cannot be written costs time, nothing else.
func (m *Memo) Keep(n int, b *graph.Builder) {
	var others []string // what the sources read that is no source
	files, _ := b.WS.SourceFiles()
	for _, f := range files {
		unit, _ := b.Load(f)
		for _, name := range unit.Files {
			if !strings.HasSuffix(name, ".py") || filepath.IsAbs(name) || strings.HasPrefix(name, "../") {
				others = append(others, name)
			}
		}
	}
	slices.Sort(others)
	others = slices.Compact(others)
	key, err := m.key(others)
	if err != nil || os.MkdirAll(filepath.Dir(m.name), 0o777) != nil {
		return
	}
	_ = os.WriteFile(m.name, []byte(memoHeader+strings.Join(append([]string{key, strconv.Itoa(n)}, others...), "\n")), 0o666)
}

// key is a digest of everything that BUILD files are generated from: Pto.toml, every Python and BUILD file, and the other files.
func (m *Memo) key(others []string) (string, error) {
	h := sha256.New()
	add := func(name string, text []byte) {
		sum := sha256.Sum256(text)
		_, _ = io.WriteString(h, name+"\x00"+string(sum[:])) // a hash takes everything
	}
	add("tool", []byte(m.tool))
	add(graph.ConfigName, m.ws.Source(graph.ConfigName))
	err := filepath.WalkDir(m.root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if skip(m.root, p, m.ws) {
				return fs.SkipDir
			}
			return nil
		}
		switch name := d.Name(); {
		case name == "BUILD", name == "BUILD.bazel", strings.HasSuffix(name, ".py"):
			text, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(m.root, p)
			add(rel, text)
			return err
		}
		return nil
	})
	for _, name := range others {
		text, err := os.ReadFile(m.ws.Abs(name))
		if err != nil {
			return "", err
		}
		add(name, text)
	}
	return hex.EncodeToString(h.Sum(nil)), err
}
