package native

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ptobuild/ptobuild/cache"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/include"
)

// Toolchain is a host C++ compiler.
type Toolchain struct {
	CXX string // absolute path
	ID  string // what its --version says first: part of every compile key

	headers precompiler
	static  func() bool // the C++ library can be linked in
}

// flags make a position-independent shared object whose only exports are the entry points of the header: one that exports inline functions of the C++
// library can be bound to by that library, and is then never unloaded. Optimisation is low: orchestration code is
// executed once, so compile time is what a user waits for. Narrowing in generated braces is legal in older emitters. Hand-written code may throw.
var flags = append(slices.Clip(compileFlags), "-shared", "-Wl,-z,defs", "-Wl,--wrap=__cxa_throw", "-Wl,--version-script="+exportsName)

var compileFlags = []string{"-std=c++17", "-O1", "-g1", "-fPIC", "-fvisibility=hidden", "-ffile-prefix-map=.=", "-Wno-narrowing"}

// staticFlags link the C++ library in, where it is installed in that form: every run loads the object anew, and would load and bind the whole library
// with it, which takes longer than five tasks. They are not part of keys, because they change nothing else.
var staticFlags = []string{"-static-libstdc++", "-static-libgcc", "-Wl,--gc-sections"}

const (
	exportsName = "exports.map"
	exports     = "{ global: pto_bind; pto_expected_args; pto_run; pto_thrown; pto_entry; local: *; };\n"
)

// FindToolchain resolves the compiler: the named one, else g++, else clang++. What it finds out about the compiler is kept in the store, and so is its
// precompiled header; nil keeps nothing.
func FindToolchain(name string, store *cache.Disk) (*Toolchain, error) {
	candidates := []string{"g++", "clang++"}
	if name != "" {
		candidates = []string{name}
	}
	for _, c := range candidates {
		p, err := exec.LookPath(c)
		if err != nil {
			continue
		}
		id, err := version(p, store)
		if err != nil {
			return nil, diag.Errorf(CodeToolchain, diag.Span{}, "%s does not run: %v", p, err)
		}
		t := &Toolchain{CXX: p, ID: id, headers: precompiler{store: store}}
		t.static = sync.OnceValue(func() bool {
			const library = "libstdc++.a"
			out, err := exec.Command(p, "-print-file-name="+library).Output()
			return err == nil && filepath.IsAbs(strings.TrimSpace(string(out))) // the bare name: there is none
		})
		return t, nil
	}
	return nil, diag.Errorf(CodeToolchain, diag.Span{}, "no C++ compiler: %s not found", strings.Join(candidates, " and ")).
		WithHint("install one (apt-get install g++), or name it with cxx in the [build] section of Pto.toml")
}

// version is the first line of a compiler's --version. It is asked once for each state of a file that is itself a compiler; a script or ccache may stand for
// another one at any time.
func version(compiler string, store *cache.Disk) (string, error) {
	ask := func() (string, error) {
		out, err := exec.Command(compiler, "--version").Output()
		id, _, _ := strings.Cut(string(out), "\n")
		return id, err
	}
	file, err := filepath.EvalSymlinks(compiler)
	s, ok := stamp(file)
	if name := filepath.Base(file); store == nil || err != nil || !ok || !strings.Contains(name, "g++") && !strings.Contains(name, "clang") {
		return ask()
	}
	ctx := context.Background()
	const output = "version"
	key := cache.NewKey("CompilerVersion").Str("file", file).Str("stamp", s).Sum()
	if r, err := store.GetAction(ctx, key); err == nil {
		d, _ := r.Output(output)
		if b, err := store.Get(ctx, d); err == nil {
			return string(b), nil
		}
	}
	id, err := ask()
	if err != nil || !isProgram(file) {
		return id, err
	}
	if d, err := store.Put(ctx, []byte(id)); err == nil {
		_ = store.PutAction(ctx, key, &cache.ActionResult{Outputs: []cache.OutputFile{{Path: output, Digest: d}}}) // else it is asked again
	}
	return id, nil
}

// isProgram tells a binary from a script.
func isProgram(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	magic := make([]byte, 4)
	_, err = io.ReadFull(f, magic)
	return err == nil && string(magic) == "\x7fELF"
}

// Key is the action key of compiling src.
func (t *Toolchain) Key(src []byte) cache.Digest {
	k := cache.NewKey("Compile").Str("compiler", t.ID).Str("flags", strings.Join(flags, " ")+exports+include.Entry).Bytes("source", src)
	for _, h := range headers() {
		k.Bytes(h.name, h.text)
	}
	return k.Sum()
}

type header struct {
	name string
	text []byte
}

var headers = sync.OnceValue(func() []header {
	names, _ := fs.Glob(include.Files, "*.h") // the pattern is valid
	hs := make([]header, len(names))
	for i, n := range names {
		text, _ := include.Files.ReadFile(n) // just listed
		hs[i] = header{n, text}
	}
	return hs
})

// Compile turns one orchestration source into a shared object. name appears in reports and in the object's line table; compiler errors come back as
// reports at C++ lines.
func (t *Toolchain) Compile(ctx context.Context, name string, src []byte) ([]byte, error) {
	return t.object(ctx, name, withEntry(src, ""), "c++", headers())
}

// noStreams spares code that does not name a stream, in the source or in a header of the workspace, the header that costs more than all others.
var noStreams = []string{"-DPTO_NO_SSTREAM"}

const streamName = "stringstream"

// withEntry adds to an orchestration what the tool calls in it.
func withEntry(src []byte, entry string) []byte {
	if entry == "" {
		entry = "aicpu_orchestration_entry"
	}
	return slices.Concat(src, []byte("\n# 1 \""+entryFile+"\"\n"+strings.ReplaceAll(include.Entry, "ENTRY", entry)))
}

// entryFile is the name under which the compiler knows that text.
const entryFile = "<entry>"

// CompilePreprocessed is Compile for what Preprocess gave.
func (t *Toolchain) CompilePreprocessed(ctx context.Context, name string, text []byte) ([]byte, error) {
	return t.object(ctx, name, text, "c++-cpp-output", nil)
}

// Preprocess makes one text of a hand-written orchestration of the workspace at root and all that it includes: what is next to it, and the headers of
// this package and of the folders dirs. entry names its entry function, "" for the usual one. It also gives the files of the workspace that were read.
func (t *Toolchain) Preprocess(ctx context.Context, root, name, entry string, dirs []string) (text []byte, reads []string, err error) {
	return t.preprocess(ctx, root, name, entry, dirs, nil)
}

// PreprocessText is Preprocess for a changed text of the file.
func (t *Toolchain) PreprocessText(ctx context.Context, root, name, entry string, dirs []string, src []byte) ([]byte, error) {
	text, _, err := t.preprocess(ctx, root, name, entry, dirs, src)
	return text, err
}

func (t *Toolchain) preprocess(ctx context.Context, root, name, entry string, dirs []string, changed []byte) (text []byte, reads []string, err error) {
	dir, err := os.MkdirTemp("", "ptobuild-cxx-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	for _, h := range headers() {
		if err := os.WriteFile(filepath.Join(dir, h.name), h.text, 0o666); err != nil {
			return nil, nil, err
		}
	}
	args := []string{flags[0], "-E", "-I" + dir} // our headers are found before others of the same name
	for _, d := range dirs {
		args = append(args, "-I"+filepath.FromSlash(d))
	}
	input := filepath.FromSlash(name)
	src := changed
	if changed == nil {
		src, _ = os.ReadFile(filepath.Join(root, input)) // the compiler says what is wrong with it
	} else {
		args, input = append(args, "-iquote", filepath.Dir(input)), "-"
	}
	run := func(more []string) error {
		cmd := t.command(ctx, dir, slices.Concat(args, more, []string{"-x", "c++", input})...)
		cmd.Dir = root
		if changed != nil {
			cmd.Stdin = io.MultiReader(strings.NewReader("# 1 \""+name+"\"\n"), bytes.NewReader(changed))
		}
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			return t.failed(ctx, err, func() error { return compilerErrors(name, stderr.String()) })
		}
		text, reads = preprocessed(stdout.Bytes(), dir+"/")
		return nil
	}
	names := func(file string) bool { // a stream
		b, _ := os.ReadFile(filepath.Join(root, filepath.FromSlash(file))) // the compiler has just read it
		return bytes.Contains(b, []byte(streamName))
	}
	var more []string
	if !bytes.Contains(src, []byte(streamName)) {
		more = noStreams
	}
	if err = run(more); err == nil && more != nil && slices.ContainsFunc(reads, names) {
		err = run(nil)
	}
	if err != nil {
		return nil, nil, err
	}
	return withEntry(text, entry), reads, nil
}

// failed is the error of a compiler run: that of the user's code only when the compiler itself ended normally.
func (t *Toolchain) failed(ctx context.Context, err error, report func() error) error {
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !errors.As(err, &exit):
		return diag.Errorf(CodeToolchain, diag.Span{}, "%s: %v", t.CXX, err)
	}
	return report()
}

// command is a run of the compiler in a fixed environment: what it sees is in the key or not at all.
func (t *Toolchain) command(ctx context.Context, tmp string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, t.CXX, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + tmp, "LC_ALL=C", "PWD=" + tmp}
	return cmd
}

// preprocessed cleans what a preprocessor wrote of everything that depends on where it ran, and finds the files of the workspace in it. Most of the
// text is that of the standard library, so that only its line markers are looked at: # 12 "file" flags.
func preprocessed(text []byte, headers string) (clean []byte, reads []string) {
	text = bytes.ReplaceAll(text, []byte(headers), []byte("<include>/"))
	clean = make([]byte, 0, len(text))
	for rest := text; len(rest) > 0; {
		line := rest
		if i := bytes.Index(rest, []byte("\n# ")); i >= 0 {
			line = rest[:i+1]
		}
		rest = rest[len(line):]
		before, after, marked := bytes.Cut(line, []byte(` "`))
		if !marked || !bytes.HasPrefix(before, []byte("# ")) || !digits(before[2:]) {
			clean = append(clean, line...)
			continue
		}
		after = bytes.TrimPrefix(after, []byte("./")) // clang++ names files of the folder so
		clean = append(append(append(clean, before...), ` "`...), after...)
		end := bytes.IndexAny(after, "\"\n")
		if end <= 0 || after[end] != '"' {
			continue
		}
		if f := string(after[:end]); !filepath.IsAbs(f) && !strings.HasPrefix(f, "<") && !slices.Contains(reads, f) {
			reads = append(reads, f)
		}
	}
	slices.Sort(reads)
	return clean, reads
}

func digits(b []byte) bool {
	return len(b) > 0 && !bytes.ContainsFunc(b, func(r rune) bool { return r < '0' || r > '9' })
}

func (t *Toolchain) object(ctx context.Context, name string, src []byte, language string, headers []header) ([]byte, error) {
	dir, err := os.MkdirTemp("", "ptobuild-cxx-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for _, h := range append([]header{{name, src}, {exportsName, []byte(exports)}}, headers...) {
		p := filepath.Join(dir, filepath.FromSlash(h.name))
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			return nil, err
		}
		if err := os.WriteFile(p, h.text, 0o666); err != nil {
			return nil, err
		}
	}
	const object = "out.so"
	link := slices.Clone(flags)
	if t.static() {
		link = append(link, staticFlags...)
	}
	compile := func(more []string) (string, error) {
		cmd := t.command(ctx, dir, append(append(slices.Clip(link), more...), "-I.", "-x", language, name, "-o", object)...)
		cmd.Dir = dir
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		err := cmd.Run()
		return stderr.String(), err
	}
	var first []string
	if len(headers) > 0 {
		first = t.precompiled(ctx, dir, src)
	}
	text, err := compile(first)
	if err != nil && first != nil && ctx.Err() == nil { // the reports must not depend on it
		_ = os.Remove(filepath.Join(dir, precompiledName)) // or the compiler takes it, or not
		text, err = compile(nil)
	}
	if err != nil {
		return nil, t.failed(ctx, err, func() error { return compilerErrors(name, text) })
	}
	return os.ReadFile(filepath.Join(dir, object))
}

// Patterns are compiled when they are needed: every child process would pay for them.
var (
	compilerError = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([^\s:]+):(\d+):(\d+): (?:fatal )?error: (.*)$`) })
	// An error inside a template of the header is caused by the line that uses it: g++ names it before the error, clang++ after.
	usedBefore = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([^\s:]+):(\d+):(\d+):   required from here$`) })
	usedAfter  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([^\s:]+):(\d+):(\d+): note: in instantiation of .* requested here$`)
	})
	// g++ and clang++ write the text of a failed static_assert each in a way of its own.
	staticAssertion = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^static(?:_assert| assertion) failed(?: due to requirement '.*?')?:? "?(.*?)"?$`)
	})
	undefined = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("undefined reference to [`']([^']*)'") })
)

// compilerErrors turns what the compiler wrote into reports, at most five.
func compilerErrors(name, text string) diag.List {
	place := func(m []string) diag.Span {
		line, _ := strconv.Atoi(m[2]) // digits, by the pattern
		col, _ := strconv.Atoi(m[3])
		return diag.Span{File: m[1], Line: int32(line), Col: int32(col)}
	}
	var ds diag.List
	var use diag.Span
	for line := range strings.Lines(text) {
		line = strings.TrimPrefix(strings.TrimRight(line, "\n"), "./") // clang++
		if m := usedBefore().FindStringSubmatch(line); m != nil && m[1] == name {
			use = place(m)
		} else if m := usedAfter().FindStringSubmatch(line); m != nil && m[1] == name && len(ds) > 0 && ds[len(ds)-1].Span.File != name {
			ds[len(ds)-1].Span = place(m)
		} else if m := compilerError().FindStringSubmatch(line); m != nil {
			if len(ds) == 5 {
				break
			}
			at := place(m)
			switch {
			case at.File == entryFile && staticAssertion().MatchString(m[4]):
				at = diag.Span{File: name}
			case at.File == entryFile && len(ds) > 0: // follows from what is wrong before
				continue
			case at.File == entryFile:
				return append(ds, diag.Errorf(CodeCompile, diag.Span{File: name}, "the orchestration does not include pto_orchestration_api.h").
					WithHint("all that it can call is declared there"))
			case at.File != name && use.IsValid():
				at = use
			}
			ds.Add(diag.Errorf(CodeCompile, at, "C++ compiler: %s", staticAssertion().ReplaceAllString(m[4], "$1")))
			use = diag.Span{}
		} else if m := undefined().FindStringSubmatch(line); m != nil && len(ds) < 5 {
			ds.Add(diag.Errorf(CodeCompile, diag.Span{File: name}, "C++ linker: %s is used but not defined", m[1]).
				WithHint("an orchestration is one file: it defines aicpu_orchestration_config and aicpu_orchestration_entry and links against nothing"))
		}
	}
	if len(ds) == 0 {
		ds.Add(diag.Errorf(CodeCompile, diag.Span{File: name}, "C++ compiler failed: %s", strings.TrimSpace(fmt.Sprintf("%.2000s", text))))
	}
	return slices.CompactFunc(ds, func(a, b *diag.Diagnostic) bool { return a.Span == b.Span && a.Message == b.Message })
}
