package graph

import (
	"context"

	"github.com/ptobuild/ptobuild/cache"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/runtime/native"
)

// kernelSources preprocesses the kernels of a target that are written in C++, which also tells what they include. Without a toolchain there are none.
func (t *Tester) kernelSources(ctx context.Context, built *Built) ([]*native.KernelSource, error) {
	if t.Toolchain == nil {
		return nil, nil
	}
	table := native.External(built.Plan.Kernels)
	sources := make([]*native.KernelSource, len(table))
	err := Each(0, table, func(i int, k plan.Kernel) error {
		s, err := t.Toolchain.Kernel(ctx, t.Builder.WS.Root, k)
		if err != nil {
			return t.kernelError(built, k.Func, err)
		}
		for _, f := range s.Reads {
			_, _ = t.Builder.WS.ReadFile(f) // for reports, and so that `ptobuild watch` looks at it
		}
		sources[i] = s
		return nil
	})
	return sources, err
}

// kernelObjects compiles what kernelSources gave.
func (t *Tester) kernelObjects(ctx context.Context, built *Built, sources []*native.KernelSource) ([]native.KernelObject, error) {
	objects := make([]native.KernelObject, len(sources))
	err := Each(0, sources, func(i int, s *native.KernelSource) error {
		res, err := t.Engine.Do(ctx, &Action{Mnemonic: "CompileKernel", Target: built.Target.Label, Key: t.Toolchain.KernelKey(s),
			Run: func(ctx context.Context) (map[string][]byte, error) {
				object, err := t.Toolchain.CompileKernel(ctx, s)
				return map[string][]byte{"kernel.so": object}, err
			}})
		if err != nil {
			return t.kernelError(built, s.Kernel.Func, err)
		}
		objects[i] = native.KernelObject{ID: s.Kernel.ID, Source: s.Name, Object: res.Outputs["kernel.so"]}
		return nil
	})
	return objects, err
}

// kernelError adds where the program names the kernel.
func (t *Tester) kernelError(built *Built, function string, err error) error {
	ds := diag.AsList(err, native.CodeCompile)
	if f := built.Program.Lookup(function); f != nil && f.Pos.IsValid() {
		for _, d := range ds {
			_, _ = t.Builder.WS.ReadFile(d.Span.File) // to quote the line
			d.WithRelated(f.Pos, "the kernel is declared here")
		}
	}
	return ds
}

// compiled makes the engine that runs a target as C++.
func (t *Tester) compiled(ctx context.Context, built *Built) (*native.Engine, error) {
	object, err := t.compile(ctx, built)
	if err != nil {
		return nil, err
	}
	e := t.nativeEngine(built, object)
	e.Forget = built.Target.Hand != nil
	sources, err := t.kernelSources(ctx, built)
	if err != nil {
		return nil, err
	}
	e.Kernels, err = t.kernelObjects(ctx, built, sources)
	return e, err
}

// addKernels puts the kernels that are written in C++ into an action key.
func (t *Tester) addKernels(ctx context.Context, k *cache.KeyBuilder, built *Built) error {
	sources, err := t.kernelSources(ctx, built)
	for _, s := range sources {
		k.Str("kernel", s.Name).Digest("compile", t.Toolchain.KernelKey(s))
	}
	return err
}
