package ops

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// Single elements, extents, and where a kernel runs.
func accessSpecs() []*Spec {
	index := listP("indices")
	read := &Spec{Name: "tensor.read", Doc: "one element; waits for the producers in an orchestration", Params: params(tensorP("tensor"), index),
		Where: OnHost | InCore, Result: value, Infer: elementRule, Emit: emitRead}
	write := &Spec{Name: "tensor.write", Doc: "sets one element", Params: params(tensorP("tensor"), index, scalarP("value")),
		Where: OnHost | InCore, Result: inPlace(0), Effects: []Effect{Write}, Infer: writeRule, Emit: emitWrite}
	tread := &Spec{Name: "tile.read", Doc: "one element", Params: params(tileP("tile", ir.Vec), index), Where: InCore, Core: VectorCore, Result: value, Infer: elementRule}
	twrite := &Spec{Name: "tile.write", Doc: "sets one element", Params: params(tileP("tile", ir.Vec), index, scalarP("value")), Where: InCore, Core: VectorCore,
		Result: inPlace(0), Effects: []Effect{ReadWrite}, ResultMem: ir.Vec, Infer: writeRule}
	dim := &Spec{Name: "tensor.dim", Doc: "the extent of an axis", Params: params(tensorP("tensor"), scalarP("axis")), Where: OnHost | InCore, Result: value,
		Effects: []Effect{Untouched}, Pure: true, Infer: dimRule, Emit: emitDim}
	block := Spec{Where: InCore, Result: value, Pure: true, Infer: constant(ir.IndexType)}
	lane := block
	lane.Core = VectorCore
	specs := []*Spec{read, write, tread, twrite, dim}
	for _, ns := range [...]string{"tensor", "tile"} {
		specs = append(specs, each(ns, block, "get_block_idx", "index of this block in its launch", "get_block_num", "number of blocks of the launch")...)
		specs = append(specs, each(ns, lane, "get_subblock_idx", "vector lane of this core: 0 or 1")...)
	}
	return specs
}

func writeRule(s *Site) (ir.Type, *diag.Diagnostic) {
	if d := s.indexRank(0, 1); d != nil {
		return nil, d
	}
	want, got := ir.ElemDType(s.Args[0].Type()), ir.ElemDType(s.Args[2].Type())
	if want.IsInt() && got.IsFloat() {
		return nil, s.argError(CodeDType, 2, "cannot write a %s value into %s elements", got, want).WithHint("convert it: pl.cast(value, pl.%s)", want.Name())
	}
	return s.Args[0].Type(), nil
}

func dimRule(s *Site) (ir.Type, *diag.Diagnostic) {
	if _, d := s.axisOf(1, len(ir.ShapeOf(s.Args[0].Type())), "axis"); d != nil && !s.Lenient {
		return nil, d
	}
	return ir.IndexType, nil
}
