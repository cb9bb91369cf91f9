package graph

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/ptobuild/ptobuild/graph/state"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/include"
)

// commandsFile tells clangd and other C++ tools how to compile the generated files; they look for it in the folders above a file.
const commandsFile = OutDir + "/compile_commands.json"

// headerDir is where the API header is put for them.
const headerDir = StateDir + "/include"

// writeCommands writes compile_commands.json, and the API header, when a target came or went or somebody changed them.
func (r *round) writeCommands(sources []state.Source) diag.List {
	known, remembered := r.s.old.Find(commandsFile)
	if remembered && !r.retargeted && r.files.same(known) {
		return nil
	}
	cxx := r.b.WS.Config.Build.CXX
	if cxx == "" {
		cxx = "g++"
	}
	var b bytes.Buffer
	b.WriteString("[")
	n := 0
	for _, src := range sources {
		for _, u := range src.Units {
			for _, t := range u.Targets {
				o := Outcome{Label: Label{trimPy(src.Path), t.Func}}
				for _, out := range t.Outputs {
					if !strings.HasSuffix(out.Path, ".cpp") {
						continue
					}
					file := o.Output() + "/" + out.Path
					entry, _ := json.Marshal(map[string]any{ // cannot fail: texts
						"directory": r.s.Root, "file": file, "arguments": []string{cxx, "-std=c++17", "-I" + headerDir, "-c", file},
					})
					if n++; n > 1 {
						b.WriteString(",")
					}
					b.WriteString("\n")
					b.Write(entry)
				}
			}
		}
	}
	b.WriteString("\n]\n")
	if err := r.writeHeaders(); err != nil {
		return diag.List{diag.Errorf(CodeOutput, diag.Span{File: headerDir}, "cannot be written: %v", unwrapPath(err))}
	}
	abs := filepath.Join(r.s.Root, filepath.FromSlash(commandsFile))
	now := fileNow{File: state.File{Path: commandsFile, Digest: sha256.Sum256(b.Bytes())}}
	if text, there := readStamped(abs); there.err != nil || !bytes.Equal(text, b.Bytes()) {
		var err error
		if now.Stamp, err = state.ReplaceFrom(filepath.Join(r.s.Root, StateDir), abs, b.Bytes()); err != nil {
			return diag.List{diag.Errorf(CodeOutput, diag.Span{File: commandsFile}, "cannot be written: %v", unwrapPath(err))}
		}
	} else {
		now.Stamp = there.Stamp
	}
	r.files.now[commandsFile] = now
	return nil
}

func (r *round) writeHeaders() error {
	return fs.WalkDir(include.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := include.Files.ReadFile(name)
		if err != nil {
			return err
		}
		return state.Update(filepath.Join(r.s.Root, filepath.FromSlash(headerDir), filepath.FromSlash(name)), text)
	})
}
