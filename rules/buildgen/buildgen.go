// Package buildgen writes BUILD files with the rules of rules_ptobuild from the targets of a workspace, and updates those that exist:
//
//   - a source with orchestration functions gets a pto_orchestration, any other source a pto_library, each function with tests in Pto.toml a pto_sim_test;
//   - deps are what the front end read for a source, data the files that Pto.toml names, plugins the pto_plugin rules of those that have a hand in it;
//   - rules are found by their source, so they may be renamed; new ones come at the end of the file, those whose source is gone are removed.
//
// Everything else stays as it is: comments, order, other rules, other attributes. A comment "# keep" protects an entry of a list, an attribute or a rule;
// "# ptobuild:ignore" in a file protects all of it. A list that is not a plain list (a glob, a select) is left alone. A second run changes nothing.
package buildgen

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bazelbuild/buildtools/build"

	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/diag"
)

// Reports of this package.
const (
	CodeBuildFile diag.Code = "PTO-W101" // a BUILD file cannot be read or parsed
	CodeSetting   diag.Code = "PTO-W102" // a setting of Pto.toml that the rules do not take
	CodeOutside   diag.Code = "PTO-W103" // a source outside of the Bazel workspace
)

// A File is a BUILD file before and after.
type File struct {
	Path     string // slash-separated, from the root of the Bazel workspace
	Old, New []byte // Old is nil for a new file
}

// Changed reports whether there is anything to write.
func (f *File) Changed() bool { return !bytes.Equal(f.Old, f.New) }

// Root is the Bazel workspace that dir belongs to: the nearest folder in it or above with MODULE.bazel, REPO.bazel or WORKSPACE, else dir itself.
func Root(dir string) string {
	for d := dir; ; d = filepath.Dir(d) {
		for _, name := range []string{"MODULE.bazel", "REPO.bazel", "WORKSPACE.bazel", "WORKSPACE"} {
			if st, err := os.Stat(filepath.Join(d, name)); err == nil && st.Mode().IsRegular() {
				return d
			}
		}
		if d == filepath.Dir(d) {
			return dir
		}
	}
}

// Generate computes the BUILD files of a workspace, those that need no change included, by path. Nothing is written. Sources and BUILD files with errors are reported
// and their rules left as they are.
func Generate(b *graph.Builder) ([]*File, diag.List) {
	g := &generator{b: b, root: Root(b.WS.Root), packages: map[string]*pkg{}, sources: map[string]*source{}}
	if rel, err := filepath.Rel(g.root, b.WS.Root); err == nil && rel != "." {
		g.prefix = filepath.ToSlash(rel)
	}
	g.readSources()
	g.readBuildFiles()
	g.plan()
	var files []*File
	for _, p := range sorted(g.packages) {
		if f := p.merge(g); f != nil {
			files = append(files, f)
		}
	}
	return files, g.ds.Sort()
}

// Write writes a file that changed.
func (f *File) Write(root string) error {
	name := filepath.Join(root, filepath.FromSlash(f.Path))
	if err := os.WriteFile(name, f.New, 0o666); err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return diag.Errorf(graph.CodeOutput, diag.Span{File: f.Path}, "cannot be written: %v", err)
	}
	return nil
}

type generator struct {
	b        *graph.Builder
	root     string // of the Bazel workspace
	prefix   string // from it to the root of the ptobuild workspace, "" for the same
	packages map[string]*pkg
	sources  map[string]*source // by path from the Bazel root
	ds       diag.List
}

// pkg is a Bazel package: a folder with a BUILD file, there already or to be.
type pkg struct {
	dir     string // from the Bazel root, "" for the root
	file    string // name of the BUILD file
	old     []byte
	tree    *build.File // nil: the file has errors
	ignore  bool
	want    []*rule
	exports []string // files that other packages refer to
}

// source is a DSL source.
type source struct {
	file      string // from the Bazel root
	label     string // from the ptobuild root, without .py
	broken    bool
	functions []string // orchestration functions in order of definition
	plugins   []string // that have a hand in them
	imports   []string // files that it reads, from the Bazel root
	rule      *rule    // that it belongs to
}

func (g *generator) report(d *diag.Diagnostic) { g.ds.Add(d) }

// fromRoot turns a path from the ptobuild root into one from the Bazel root.
func (g *generator) fromRoot(p string) string {
	if filepath.IsAbs(p) {
		if rel, err := filepath.Rel(g.root, p); err == nil {
			return filepath.ToSlash(rel)
		}
	}
	return path.Join(g.prefix, p)
}

func (g *generator) readSources() {
	files, ds := g.b.WS.SourceFiles()
	g.ds.Add(ds...)
	var add func(file string)
	add = func(file string) {
		at := g.fromRoot(file)
		if g.sources[at] != nil {
			return
		}
		if strings.HasPrefix(at, "../") {
			g.report(diag.Errorf(CodeOutside, diag.Span{File: file}, "the source is outside of the Bazel workspace").
				WithHint("Bazel reads nothing there; move it below the folder of MODULE.bazel"))
			return
		}
		s := &source{file: at, label: strings.TrimSuffix(file, ".py")}
		g.sources[at] = s
		unit, ds := g.b.Load(file)
		g.ds.Add(ds...)
		if s.broken = unit == nil || ds.HasErrors(); s.broken {
			return
		}
		targets, _ := g.b.FileTargets(file)
		for _, t := range targets {
			s.functions = append(s.functions, t.Label.Func)
			s.plugins = append(s.plugins, g.b.PluginsOf(t)...)
		}
		for _, f := range unit.Files {
			if f != file && strings.HasSuffix(f, ".py") {
				s.imports = append(s.imports, g.fromRoot(f))
				add(f)
			}
		}
	}
	for _, f := range files {
		add(f)
	}
}

// readBuildFiles reads the BUILD files of the packages that get rules, and all others that have some: these may have to go.
func (g *generator) readBuildFiles() {
	err := filepath.WalkDir(g.root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if skip(g.root, p, g.b.WS) {
			return fs.SkipDir
		}
		rel, err := filepath.Rel(g.root, p)
		if err != nil {
			return err
		}
		if rel = filepath.ToSlash(rel); rel == "." {
			rel = ""
		}
		for _, name := range []string{"BUILD.bazel", "BUILD"} {
			src, err := os.ReadFile(filepath.Join(p, name))
			if err == nil {
				g.addPackage(rel, name, src)
				break
			}
		}
		return nil
	})
	if err != nil {
		g.report(diag.Errorf(CodeBuildFile, diag.Span{File: g.root}, "listing BUILD files: %v", err))
	}
}

// skip reports folders that hold neither sources nor BUILD files: those of tools, and outputs.
func skip(root, p string, ws *graph.Workspace) bool {
	name := filepath.Base(p)
	return p != root && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "bazel-") || name == "node_modules" || p == ws.Abs(graph.OutDir))
}

func (g *generator) addPackage(dir, name string, src []byte) *pkg {
	p := &pkg{dir: dir, file: name, old: src}
	g.packages[dir] = p
	at := path.Join(dir, name)
	tree, err := build.ParseBuild(at, src)
	if err != nil {
		if bytes.Contains(src, []byte("pto_")) {
			d := diag.Errorf(CodeBuildFile, diag.Span{File: at}, "cannot be parsed: %v", err)
			var pe build.ParseError
			if errors.As(err, &pe) {
				d.Span.Line, d.Span.Col, d.Message = int32(pe.Pos.Line), int32(pe.Pos.LineRune), "cannot be parsed: "+pe.Message
			}
			g.report(d)
		}
		return p
	}
	tree.Pkg = dir
	p.tree, p.ignore = tree, bytes.Contains(src, []byte("# ptobuild:ignore"))
	return p
}

// packageOf is the package that a file belongs to; the root is always one.
func (g *generator) packageOf(file string) *pkg {
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		if dir == "." {
			dir = ""
		}
		if p := g.packages[dir]; p != nil {
			return p
		}
		if dir == "" {
			return g.addPackage("", "BUILD.bazel", nil)
		}
	}
}

// fileLabel names a file in an attribute of a rule of p, and exports it from its package if that is another.
func (g *generator) fileLabel(p *pkg, file string) string {
	q := g.packageOf(file)
	rest := strings.TrimPrefix(strings.TrimPrefix(file, q.dir), "/")
	if p == q {
		return rest
	}
	if !slices.Contains(q.exports, rest) {
		q.exports = append(q.exports, rest)
	}
	return "//" + q.dir + ":" + rest
}

// ruleLabel names a rule in an attribute of a rule of p.
func ruleLabel(p *pkg, r *rule) string {
	if r.pkg == p {
		return ":" + r.name
	}
	return "//" + r.pkg.dir + ":" + r.name
}

func sorted[V any](m map[string]V) []V {
	var out []V
	for _, k := range sortedKeys(m) {
		out = append(out, m[k])
	}
	return out
}
