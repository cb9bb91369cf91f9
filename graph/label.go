package graph

import (
	"cmp"
	"path"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
)

// Label names a target: //examples/softmax:softmax_rows is the function softmax_rows in examples/softmax.py (design: labels and files).
type Label struct {
	File string // source path without ".py", slash-separated, relative to the workspace root
	Func string
}

func (l Label) String() string {
	if l.Func == "" { // a C++ file
		return "//" + l.File
	}
	return "//" + l.File + ":" + l.Func
}

// ParseLabel reads a whole label.
func ParseLabel(text string) (Label, bool) {
	rest, ok := strings.CutPrefix(text, "//")
	file, fn, hasFn := strings.Cut(rest, ":")
	return Label{strings.TrimSuffix(file, ".py"), fn}, ok && hasFn && file != "" && fn != "" && path.Clean(file) == file
}

// Compare orders labels by file, then function.
func (l Label) Compare(m Label) int {
	return cmp.Or(cmp.Compare(l.File, m.File), cmp.Compare(l.Func, m.Func))
}

// Pattern selects targets: a label, "//dir/...", "//dir/file:all", "//dir/file", or a path of a file or folder relative to where the command runs.
type Pattern struct {
	text      string
	prefix    string // File must be prefix or below it ("" with recursive: all)
	recursive bool
	fn        string // "" or "all": every function
}

// ParsePattern reads a pattern; here is the folder of the command relative to the workspace root ("" for the root).
func ParsePattern(text, here string) (Pattern, error) {
	p := Pattern{text: text}
	rest, absolute := strings.CutPrefix(text, "//")
	file, fn, hasFn := strings.Cut(rest, ":")
	if hasFn && fn == "" {
		return p, diag.Errorf(CodePattern, diag.Span{}, "pattern %q names no function after ':'", text).WithHint("write //dir/file:function, or //dir/file:all for every function of the file")
	}
	p.fn = fn
	if fn == "all" {
		p.fn = ""
	}
	if f, ok := strings.CutSuffix(file, "..."); ok {
		if hasFn {
			return p, diag.Errorf(CodePattern, diag.Span{}, "pattern %q combines '...' with a function", text).WithHint("write //dir/... for everything below a folder")
		}
		file, p.recursive = strings.TrimSuffix(f, "/"), true
	}
	file = strings.TrimSuffix(file, ".py")
	if !absolute {
		file = path.Join(here, file)
	}
	file = path.Clean("/" + file)[1:]
	if strings.HasPrefix(path.Clean(here+"/"+rest), "..") && !absolute {
		return p, diag.Errorf(CodePattern, diag.Span{}, "pattern %q leads out of the workspace", text)
	}
	p.prefix = file
	return p, nil
}

// Match reports whether the pattern selects l.
func (p Pattern) Match(l Label) bool {
	if p.fn != "" && p.fn != l.Func {
		return false
	}
	return p.MatchFile(l.File)
}

// MatchFile reports whether the pattern may select targets of a source file (without ".py"). A plain folder selects what is directly or deeper in it.
func (p Pattern) MatchFile(file string) bool {
	if p.prefix == "" {
		return true
	}
	return file == p.prefix || strings.HasPrefix(file, p.prefix+"/")
}

func (p Pattern) String() string { return p.text }
