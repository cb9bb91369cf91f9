package graph

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
)

// Handwritten is an orchestration that is a C++ file instead of a function of the DSL, together with what a file cannot say of itself.
type Handwritten struct {
	Source    string   // path from the root
	Entry     string   // of the entry function; "": aicpu_orchestration_entry
	Signature string   // "a: FP32[16, 16], out b: FP32[N, 16], n: INT64", in argument order
	Kernels   []string // "aiv kernels/add.cpp", by kernel id; none: kernels are not run
	Includes  []string // folders of headers, from the root
}

// isHandwritten reports that a target of Pto.toml or the command line is a C++ file.
func isHandwritten(target string) bool {
	return strings.HasSuffix(target, ".cpp") || strings.HasSuffix(target, ".cc")
}

// stem is the name of a file without folder and extension.
func stem(file string) string { return strings.TrimSuffix(path.Base(file), path.Ext(file)) }

// HandwrittenTarget makes a target of a C++ file.
func HandwrittenTarget(h *Handwritten) *Target {
	return &Target{Label: Label{File: h.Source}, Source: h.Source, Hand: h, Pos: diag.Span{File: h.Source}}
}

// handTarget is the target of a test whose target is a C++ file.
func (t *TestConfig) handTarget() *Target {
	return HandwrittenTarget(&Handwritten{Source: strings.TrimPrefix(t.Target, "//"), Entry: t.Entry, Signature: t.Signature, Kernels: t.Kernels, Includes: t.Includes})
}

// HandwrittenTest finds the first test of a C++ file, or the one of a name.
func (b *Builder) HandwrittenTest(source, name string) *TestConfig {
	for i := range b.WS.Config.Tests {
		if t := &b.WS.Config.Tests[i]; t.Target == "//"+source && (name == "" || t.Name == name) {
			return t
		}
	}
	return nil
}

// matchesHandwritten reports that a pattern names a test of a C++ file.
func (b *Builder) matchesHandwritten(p Pattern) bool {
	return slices.ContainsFunc(b.WS.Config.Tests, func(t TestConfig) bool {
		return isHandwritten(t.Target) && p.MatchFile(strings.TrimPrefix(t.Target, "//"))
	})
}

var handParam = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(in|out|inout)\s+)?([A-Za-z_]\w*)\s*:\s*([A-Za-z0-9]+)\s*(?:\[([^\]]*)\])?$`)
})

// handwritten makes what a build gives of a C++ file: its interface and its text.
func (b *Builder) handwritten(t *Target) (*Built, diag.List) {
	h := t.Hand
	src, err := b.WS.ReadFile(h.Source)
	if err != nil {
		return nil, diag.List{diag.Errorf(CodeRead, diag.Span{File: h.Source}, "cannot be read: %v", unwrapPath(err))}
	}
	f := &plan.File{Func: stem(h.Source), Pos: t.Pos}
	var ds diag.List
	for _, text := range splitParams(h.Signature) {
		m := handParam().FindStringSubmatch(text)
		var dt ir.DType
		known := false
		if m != nil {
			if dt, known = ir.DTypeNamed(m[3]); !known {
				dt, known = ir.DTypeNamed(strings.ToUpper(m[3]))
			}
			if !known {
				dt, known = ir.DTypeNamed(strings.ToLower(m[3]))
			}
		}
		if !known {
			ds.Add(diag.Errorf(CodeTestSetup, t.Pos, "%q is no parameter", text).WithHint(`write "a: FP32[16, 16]" for a tensor, with in, out or inout ahead, and "n: INT64" for a scalar`))
			continue
		}
		if !strings.Contains(text, "[") {
			f.Scalars = append(f.Scalars, plan.Scalar{Param: m[2], DType: dt})
			continue
		}
		p := plan.Tensor{Param: m[2], DType: dt, Dir: map[string]ir.ParamDir{"": ir.InOut, "in": ir.In, "out": ir.Out, "inout": ir.InOut}[m[1]]}
		for _, d := range strings.Split(m[4], ",") {
			switch d = strings.TrimSpace(d); {
			case d == "" && strings.TrimSpace(m[4]) == "": // a tensor of rank 0
			case d != "" && strings.Trim(d, "0123456789") == "":
				n, err := strconv.ParseInt(d, 10, 32)
				if err != nil {
					ds.Add(diag.Errorf(CodeTestSetup, t.Pos, "%s: the extent %s is too large", m[2], d).WithHint("extents have 32 bits"))
				}
				p.Shape = append(p.Shape, ir.Int(n))
			default:
				p.Shape = append(p.Shape, &ir.Var{Hint: d, Typ: &ir.ScalarType{DType: ir.INDEX}})
			}
		}
		f.Tensors = append(f.Tensors, p)
	}
	prog := &ir.Program{Name: f.Func}
	for i, text := range h.Kernels {
		core, source, ok := strings.Cut(strings.TrimSpace(text), " ")
		k := plan.Kernel{ID: i, Core: plan.AIV, External: &ir.External{Source: path.Clean(strings.TrimSpace(source)), IncludeDirs: h.Includes}}
		if core == "aic" {
			k.Core = plan.AIC
		}
		if !ok || core != "aic" && core != "aiv" {
			ds.Add(diag.Errorf(CodeTestSetup, t.Pos, "%q is no kernel", text).WithHint(`write "aiv kernels/add.cpp": the core and the source, in the order of the kernel ids`))
			continue
		}
		if !b.WS.exists(k.External.Source) {
			ds.Add(diag.Errorf(CodeRead, diag.Span{File: k.External.Source}, "the source of kernel %d cannot be read: it does not exist", i))
			continue
		}
		k.Name = stem(source)
		k.Func = k.Name
		f.Kernels = append(f.Kernels, k)
	}
	if ds.HasErrors() {
		return nil, ds
	}
	return &Built{Target: t, Program: prog, Plan: f, Code: string(src)}, ds
}

// splitParams splits a signature at the commas outside of brackets.
func splitParams(s string) []string {
	var parts []string
	depth, from := 0, 0
	for i, c := range s + "," {
		switch c {
		case '[':
			depth++
		case ']':
			depth--
		case ',':
			if p := strings.TrimSpace(s[from:min(i, len(s))]); depth <= 0 || i == len(s) {
				if p != "" {
					parts = append(parts, p)
				}
				from = i + 1
			}
		}
	}
	return parts
}
