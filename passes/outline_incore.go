package passes

import (
	"github.com/ptobuild/ptobuild/ir"
)

// OutlineIncoreScopes turns each `with pl.at(level=pl.Level.CORE_GROUP):` block of an orchestration into a kernel and a launch of it.
//
//   - The kernel is called {parent}_incore_{n}, or by its name_hint; n counts the parent's blocks, named ones too. It stands before its parent.
//   - Parameters are the Vars that the block reads from outside, in the order of first read. A tensor that is only written is Out, one that is read
//     and written InOut, at top level and in loops alike.
//   - Results are what the block defines and later code reads, in definition order; several versions of one captured tensor are one result. A
//     captured tensor that is written without a new version gets one, and later reads use it.
//   - A scalar that later code reads is computed again by the orchestration when it depends on nothing from the device.
//   - A scalar that a kernel returns is computed by its launchers, when it is arithmetic on the kernel's arguments (scalar_results.go).
//   - `as tid`, deps, early resolve, predicate and timing slot make the launch a submit (mission document 004); otherwise it is a plain call.
//   - A predicate or dependency that names what an earlier block wrote refers to that block's result, because results keep their Vars.
//
// Tensor-level code inside a block stays as it is.
var outlineIncore = &Pass{
	Name:     "OutlineIncoreScopes",
	Doc:      "turn pl.at blocks into kernels and launches",
	Requires: []ir.Property{ir.SSAForm},
	Produces: []ir.Property{ir.SSAForm, ir.SplitIncoreOrch},
	Run: func(ctx *Context, p *ir.Program) (*ir.Program, error) {
		return runOutline(ctx, settleScalarResults(ctx, p), outlineKind{
			target: func(s *ir.Scope) bool { return s.Kind == ir.InCoreScope },
			base:   func(*ir.Scope) string { return "incore" },
			hint:   func(s *ir.Scope) string { return s.NameHint },
			typ:    func(*ir.Scope) ir.FuncType { return ir.InCore },
			what:   "pl.at",
			device: true,
		})
	},
}
