package native

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ptobuild/ptobuild/cache"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/runtime/include"
)

// Kernels written in C++ (spec: runtime 3.2): one source, one shared object, one symbol `extern "C" void kernel_entry(int64_t* args)`.
//
// A source is first preprocessed. The text that comes out is all that the compiler then sees, so its digest is the whole content of the kernel with
// everything that it includes, and names what was included.

// KernelSource is a kernel ready to be compiled.
type KernelSource struct {
	Kernel plan.Kernel
	Name   string   // path of the source as reports show it
	Reads  []string // files of the workspace that it consists of, the source included
	text   []byte   // after the preprocessor
}

// KernelObject is a compiled kernel.
type KernelObject struct {
	ID     int
	Source string // path as reports show it
	Object []byte
}

// External lists the kernels of a table that are written in C++.
func External(table []plan.Kernel) []plan.Kernel {
	return slices.DeleteFunc(slices.Clone(table), func(k plan.Kernel) bool { return k.External == nil })
}

var (
	// Kernel sources of the reference runtime are C++23 that compiles as C++20; their core macros choose what a source contains.
	kernelFlags = []string{"-std=gnu++20", "-D__CPU_SIM", "-DPTO_CPU_MAX_THREADS=1", "-DNDEBUG", "-D__gm__=", "-D__aicore__=", "-D__global__=", "-Wno-macro-redefined", "-Wno-ignored-attributes"}
	// Kernels are what runs, so they are optimised.
	kernelObjectFlags = []string{"-std=gnu++20", "-O2", "-g1", "-fPIC", "-shared", "-fvisibility=hidden", "-w", "-Wl,-z,defs", "-Wl,--wrap=__cxa_throw",
		"-Wl,--version-script=" + exportsName, "-x", "c++-cpp-output"}
)

const kernelExports = "{ global: pto_kernel; pto_thrown; local: *; };\n"

// Kernel preprocesses the source of a kernel. Paths are those of the workspace at root.
func (t *Toolchain) Kernel(ctx context.Context, root string, k plan.Kernel) (*KernelSource, error) {
	dir, err := os.MkdirTemp("", "ptobuild-cxx-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, include.Kernel); err != nil {
		return nil, err
	}
	core := "-D__DAV_VEC__"
	if k.Core == plan.AIC {
		core = "-D__DAV_CUBE__"
	}
	args := append(slices.Clone(kernelFlags), core, "-E", "-I"+filepath.Join(dir, "kernel"))
	for _, d := range k.External.IncludeDirs {
		args = append(args, "-I"+filepath.FromSlash(d))
	}
	cmd := t.command(ctx, dir, append(args, "-x", "c++", "-")...)
	cmd.Dir = root
	cmd.Stdin = strings.NewReader("#include \"" + k.External.Source + "\"\n#include <exception>\n# 1 \"<guard>\"\n" + include.Guard)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, t.kernelErrors(ctx, err, k, stderr.String())
	}
	s := &KernelSource{Kernel: k, Name: k.External.Source}
	s.text, s.Reads = preprocessed(stdout.Bytes(), dir+"/kernel/")
	return s, nil
}

// KernelKey is the action key of compiling a kernel.
func (t *Toolchain) KernelKey(s *KernelSource) cache.Digest {
	return cache.NewKey("CompileKernel").Str("compiler", t.ID).Str("flags", strings.Join(append(slices.Clip(kernelObjectFlags), staticFlags...), " ")+kernelExports).Bytes("source", s.text).Sum()
}

// CompileKernel turns a kernel into a shared object.
func (t *Toolchain) CompileKernel(ctx context.Context, s *KernelSource) ([]byte, error) {
	dir, err := os.MkdirTemp("", "ptobuild-cxx-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string][]byte{"kernel.ii": s.text, exportsName: []byte(kernelExports)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			return nil, err
		}
	}
	const object = "out.so"
	args := append(slices.Clone(kernelObjectFlags), "kernel.ii", "-o", object)
	if t.static() { // what the library throws has a place in the kernel, too: see pto_throws
		args = append(args, staticFlags...)
	}
	cmd := t.command(ctx, dir, args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return nil, t.kernelErrors(ctx, err, s.Kernel, stderr.String())
	}
	return os.ReadFile(filepath.Join(dir, object))
}

// noEntry is how a linker says that there is no kernel_entry.
var noEntry = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`undefined (?:reference to|symbol:?) .?kernel_entry|conflicting declaration.*kernel_entry|declaration of 'kernel_entry' has a different language linkage`)
})

// kernelErrors turns a failed compilation of a kernel into reports.
func (t *Toolchain) kernelErrors(ctx context.Context, err error, k plan.Kernel, text string) error {
	return t.failed(ctx, err, func() error {
		if noEntry().MatchString(text) {
			return diag.Errorf(CodeKernelEntry, diag.Span{File: k.External.Source}, "kernel '%s' defines no kernel_entry with C linkage", k.Name).
				WithHint(`define extern "C" void kernel_entry(int64_t* args)`)
		}
		ds := compilerErrors(k.External.Source, text)
		for _, d := range ds {
			d.Message = "kernel '" + k.Name + "': " + d.Message
			if d.Hint == "" {
				d.WithHint("a kernel is one C++ source; its headers are tensor.h, intrinsic.h and those of its include_dirs")
			}
		}
		return ds
	})
}
