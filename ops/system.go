package ops

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
)

// Task ids and launch queries of orchestrations; synchronisation and pipes of kernels.
func systemSpecs() []*Spec {
	host := func(name, doc string, t ir.Type, emit emitter, ps ...Param) *Spec {
		return &Spec{Name: "system." + name, Doc: doc, Params: ps, Where: OnHost, Result: value, Infer: constant(t), Emit: emit}
	}
	invalid := host("task_invalid", "the task id that names no task", ir.TaskIDType, emitTaskInvalid)
	invalid.Pure = true
	dummy := host("task_dummy", "a task that only waits for others", ir.TaskIDType, nil) // emitted by the core: it is a task
	dummy.Kwargs = []Kwarg{{Name: "deps", Kind: DepsKw, Required: true}}
	valid := host("task_is_valid", "whether a task id names a task", ir.BoolType, emitTaskIsValid, kindP("task_id", TaskArg))
	valid.Pure = true

	act := Spec{Where: InCore, Result: noneR, Infer: noResult}
	cube, vector := act, act
	cube.Core, vector.Core = CubeCore, VectorCore
	with := func(proto Spec, kws []Kwarg, ps ...Param) Spec { proto.Kwargs, proto.Params = kws, ps; return proto }
	pipe := []Kwarg{rangeKw("dir_mask", 0, 3), intKw("slot_size"), intKw("slot_num"), intKw("local_slot_num"), intKw("id")}
	buffers := []Param{optional(kindP("c2v_consumer_buf", ScalarArg|OtherArg)), optional(kindP("v2c_consumer_buf", ScalarArg|OtherArg))}
	cubePipe, vectorPipe := with(cube, pipe, buffers...), with(vector, pipe, buffers...)
	cubePipe.Infer, vectorPipe.Infer = pipeEnd, pipeEnd
	pipeType := func(name string) Kwarg {
		return Kwarg{Name: name, Kind: EnumKw, Enum: "PipeType"}
	}
	flags := []Kwarg{pipeType("set_pipe"), pipeType("wait_pipe"), intKw("event_id")}
	coreType := strKw("core_type")
	free := []Kwarg{splitKw, intKw("id")}
	any := OtherArg | TensorArg | TileArg | ScalarArg
	buffer := constant(ir.Scalar(ir.INT32)) // an address

	specs := []*Spec{
		invalid, dummy, valid,
		host("available_cluster_count", "how many clusters the device has", ir.Scalar(ir.INT32), emitQuery(false)),
		host("available_aiv_count", "how many vector cores the device has", ir.Scalar(ir.INT32), emitQuery(true)),
		{Name: "system.reserve_buffer", Doc: "a named buffer for a pipe", Kwargs: []Kwarg{strKw("name"), intKw("size"), intKw("base")}, Where: InCore, Result: value, Infer: buffer},
		{Name: "system.import_peer_buffer", Doc: "the buffer that the other core reserved", Kwargs: []Kwarg{strKw("name"), strKw("peer_func")}, Where: InCore, Result: value, Infer: buffer},
	}
	specs = append(specs, each("system", act, "bar_all", "waits for all pipes", "bar_m", "waits for the cube pipe", "bar_v", "waits for the vector pipe", "fence", "orders memory accesses")...)
	specs = append(specs, each("system", with(act, flags), "sync_src", "sets a flag between pipes", "sync_dst", "waits for a flag between pipes")...)
	specs = append(specs, each("system", with(act, nil, tensorP("tensor"), optional(listP("shapes")), optional(listP("offsets"))), "cacheinvalid", "drops cached lines of a tensor")...)
	specs = append(specs, each("system", with(act, nil, kindP("workspace", any)), "set_ffts", "sets the cross-core flag workspace")...)
	specs = append(specs, each("system", with(act, []Kwarg{pipeType("pipe"), intKw("event_id"), intKw("ffts_mode"), coreType}, optional(scalarP("event_id_dyn"))), "sync_set", "sets a cross-core flag")...)
	specs = append(specs, each("system", with(act, []Kwarg{pipeType("pipe"), intKw("event_id"), coreType}, optional(scalarP("event_id_dyn"))), "sync_wait", "waits for a cross-core flag")...)
	specs = append(specs, each("system", with(act, []Kwarg{coreType, strKw("mode")}, optional(kindP("gm_workspace", any)), optional(kindP("scratch", any)), optional(scalarP("used_cores"))),
		"syncall", "waits for all cores of the launch")...)
	specs = append(specs, each("system", cubePipe, "aic_initialize_pipe", "opens the pipe between the cube and vector cores")...)
	specs = append(specs, each("system", vectorPipe, "aiv_initialize_pipe", "opens the pipe between the cube and vector cores")...)
	specs = append(specs, each("system", with(vector, free, tileP("tile")), "tfree_to_aic", "gives a received tile's slot back")...)
	return append(specs, each("system", with(cube, free, tileP("tile")), "tfree_to_aiv", "gives a received tile's slot back")...)
}

// pipeEnd gives an end that only sends or only receives address 0 for the buffer it has no use for.
func pipeEnd(s *Site) (ir.Type, *diag.Diagnostic) {
	for i := range s.Spec.Params {
		if i >= len(s.Args) {
			s.Args = append(s.Args, nil)
		}
		if t, left := s.Args[i].(*ir.MakeTuple); s.Args[i] == nil || left && len(t.Elems) == 0 {
			s.Args[i] = &ir.ConstInt{DType: ir.INT32, Pos: s.Pos}
		}
	}
	return noResult(s)
}

// pipeSpecs are the tile ends of the pipes, and lane splitting.
func pipeSpecs() []*Spec {
	kws := []Kwarg{splitKw, intKw("id")}
	split := []Kwarg{splitKw}
	push := Spec{Params: params(tileP("tile")), Kwargs: kws, Where: InCore, Result: noneR, Infer: noResult}
	pop := Spec{Kwargs: kws, Where: InCore, Result: fresh, Infer: noResult} // its type is that of the annotation
	vpush, cpush, vpop, cpop := push, push, pop, pop
	vpush.Core, vpop.Core, cpush.Core, cpop.Core = VectorCore, VectorCore, CubeCore, CubeCore
	shard := Spec{Params: params(tileP("tile")), Kwargs: split, Where: InCore, Result: fresh, Infer: shardRule(false)}
	tileShard, tileGather := shard, shard
	tileShard.ResultMem, tileGather.ResultMem, tileGather.Infer = ir.Vec, ir.Mat, shardRule(true)
	tensorShard := shard
	tensorShard.Params = params(tensorP("tensor"))
	tensorGather := tensorShard
	tensorGather.Infer = shardRule(true)
	specs := each("tile", vpush, "tpush_to_aic", "sends a tile to the cube core")
	specs = append(specs, each("tile", cpush, "tpush_to_aiv", "sends a tile to the vector cores")...)
	specs = append(specs, each("tile", vpop, "tpop_from_aic", "receives a tile from the cube core")...)
	specs = append(specs, each("tile", cpop, "tpop_from_aiv", "receives a tile from the vector cores")...)
	specs = append(specs, each("tile", tileShard, "aiv_shard", "this lane's half of a tile")...)
	specs = append(specs, each("tile", tileGather, "aic_gather", "both lanes' halves as one tile")...)
	specs = append(specs, each("tensor", tensorShard, "aiv_shard", "this lane's half of a tensor")...)
	specs = append(specs, each("tensor", tensorGather, "aic_gather", "both lanes' halves as one tensor")...)
	scale := Spec{Params: params(tileP("dst_scale"), tileP("src")), Where: InCore, Result: inPlace(0), Effects: []Effect{Write, Read}, ResultMemFrom: MemInherit, Core: CubeCore, Infer: sameAs(0)}
	return append(specs, each("tile", scale, "tget_scale_addr", "binds a scale tile to the tile that it scales")...)
}

// shardRule halves (or doubles) rows for split 1 and 3, columns for split 2 and 4.
func shardRule(gather bool) rule {
	return func(s *Site) (ir.Type, *diag.Diagnostic) {
		a := s.Args[0].Type()
		if !isRegion(a) {
			return ir.Unknown, nil
		}
		shape, valid := append([]ir.Expr(nil), ir.ShapeOf(a)...), append([]ir.Expr(nil), validOf(a)...)
		axis := -1
		switch s.intKw("split", 0) {
		case 1, 3:
			axis = len(shape) - 2
		case 2, 4:
			axis = len(shape) - 1
		}
		if axis >= 0 {
			if gather {
				shape[axis] = mulDim(shape[axis], ir.Int(2))
				valid[axis] = shape[axis]
			} else {
				if v, ok := ir.IntValue(shape[axis]); ok && v%2 != 0 {
					return nil, s.argError(CodeShape, 0, "axis %d of %s cannot be halved", axis, typeText(a))
				}
				shape[axis] = binaryDim(ir.FloorDiv, shape[axis], ir.Int(2))
				valid[axis] = minDim(valid[axis], shape[axis])
			}
		}
		return s.like(a, shape, ir.ElemDType(a), valid), nil
	}
}

func emitTaskInvalid(e *EmitSite) ([]plan.Stmt, *diag.Diagnostic) {
	return e.declare(ir.TASK_ID, &plan.InvalidTask{}), nil
}

func emitTaskIsValid(e *EmitSite) ([]plan.Stmt, *diag.Diagnostic) {
	return e.declare(ir.BOOL, &plan.IsValid{X: e.Args[0]}), nil
}

func emitQuery(aiv bool) emitter {
	return func(e *EmitSite) ([]plan.Stmt, *diag.Diagnostic) {
		if e.Result == nil {
			return nil, nil
		}
		return []plan.Stmt{&plan.Decl{At: e.at(), Name: e.Result, Type: plan.CType{Kind: plan.Int32T}, Init: &plan.Query{AIV: aiv}}}, nil
	}
}
