package ops

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// Distributed ops: communication windows, remote access, collectives. The compiler-internal forms of the collectives stand at the end.
func distributedSpecs() []*Spec {
	any := OtherArg | TensorArg | ScalarArg
	ctxType := &ir.OpaqueType{Name: "pld.CommCtxType"}
	op := intKw("op")
	atomic := Kwarg{Name: "atomic", Kind: EnumKw, Enum: "AtomicType", Names: []string{"None_", "Add"}}
	chunks := []Kwarg{intKw("chunk_rows"), intKw("chunk_cols"), boolKw("pipeline")}
	signal := tensorP("signal")
	ctx := kindP("ctx", any)
	offsets, peer := listP("offsets"), scalarP("peer")
	op.Names = []string{"Sum", "Max", "Min", "Prod"}

	scalar := func(name, doc string, t ir.Type, where Where, ps ...Param) *Spec {
		return &Spec{Name: "pld.system." + name, Doc: doc, Params: ps, Where: where, Result: value, Infer: constant(t)}
	}
	act := func(name, doc string, kws []Kwarg, effects []Effect, ps ...Param) *Spec {
		return &Spec{Name: "pld." + name, Doc: doc, Params: ps, Kwargs: kws, Where: OnHost | InCore, Result: noneR, Effects: effects, Infer: noResult}
	}
	collective := func(name, doc string, kws []Kwarg, effects []Effect, ps ...Param) *Spec {
		s := act("tensor."+name, doc, kws, effects, ps...)
		for i, e := range effects {
			if e == Write || e == ReadWrite {
				s.Result, s.Infer = inPlace(i), sameAs(i)
				break
			}
		}
		return s
	}
	rw := []Effect{ReadWrite, ReadWrite}
	io := []Effect{Read, Write, ReadWrite}
	notify := act("system.notify", "sets or adds to a signal of a peer", []Kwarg{{Name: "op", Kind: IntKw, Names: []string{"AtomicAdd", "Set"}}}, []Effect{Write}, tensorP("target"), peer, offsets, scalarP("value"))
	wait := act("system.wait", "waits until a signal compares with a value", []Kwarg{{Name: "cmp", Kind: IntKw, Names: []string{"Eq", "Ge"}}}, nil, signal, offsets, scalarP("expected"))
	deferred := act("system.defer_wait", "lets the task complete when a signal compares with a value", wait.Kwargs, nil, signal, offsets, scalarP("expected"))
	window := &Spec{Name: "pld.tensor.window", Doc: "a window buffer as a distributed tensor", Params: params(kindP("buf", any), listP("shape")), Kwargs: []Kwarg{dtypeKw},
		Where: OnHost | InCore, Result: viewOf(0), Effects: []Effect{Untouched}, Infer: windowRule}
	alloc := &Spec{Name: "pld.tensor.alloc_window_buffer", Doc: "a buffer that peers can reach", Params: params(kindP("size", ScalarArg|TupleArg)),
		Kwargs: []Kwarg{strKw("name"), {Name: "dtype", Kind: DTypeKw}}, Where: OnHost, Result: fresh, Infer: constant(&ir.OpaqueType{Name: "pld.WindowBufferType"})}
	remoteLoad := &Spec{Name: "pld.tile.remote_load", Doc: "a window of a peer's tensor as a tile", Params: params(tensorP("target"), peer, offsets, listP("shape"), optional(listP("valid_shape"))),
		Kwargs: []Kwarg{boolKw("allow_physical_tail_padding")}, Where: InCore, Result: fresh, ResultMem: ir.Vec, Infer: remoteLoadRule}
	remoteStore := &Spec{Name: "pld.tile.remote_store", Doc: "writes a tile into a peer's tensor", Params: params(tileP("src_tile", ir.Vec, ir.Acc), tensorP("target"), peer, offsets),
		Kwargs: []Kwarg{atomic}, Where: InCore, Result: inPlace(1), Effects: []Effect{Read, Write}, Infer: sameAs(1)}
	tensorStore := &Spec{Name: "pld.tensor.remote_store", Doc: "writes a tensor into a peer's tensor", Params: params(tensorP("src"), tensorP("target"), peer, offsets),
		Kwargs: []Kwarg{atomic}, Where: InCore, Result: inPlace(1), Effects: []Effect{Read, Write}, Infer: sameAs(1)}
	transfer := func(name, doc string, kws []Kwarg, ps ...Param) *Spec {
		s := act(name, doc, kws, []Effect{Write, Read, Read}, ps...)
		s.Where, s.Core = InCore, VectorCore
		s.Result, s.Infer = inPlace(0), sameAs(0)
		return s
	}
	lists := []Param{listP("dst_offsets"), listP("src_offsets"), listP("shape")}
	stages := append([]Param{tensorP("dst"), peer, tensorP("src"), tileP("stage", ir.Vec), optional(tileP("stage2", ir.Vec))}, lists...)
	// The optional second stage stands before required lists; an empty list takes its place.
	whole := append([]Param{tensorP("dst"), peer, tensorP("src")}, optional(lists[0]), optional(lists[1]), optional(lists[2]))

	specs := []*Spec{
		scalar("get_comm_ctx", "the communication context of a distributed tensor", ctxType, OnHost|InCore, tensorP("dist_tensor")),
		scalar("nranks", "number of ranks", ir.Scalar(ir.INT32), OnHost|InCore, ctx),
		scalar("rank", "this rank", ir.Scalar(ir.INT32), OnHost|InCore, ctx),
		scalar("world_size", "number of ranks of the host program", ir.IndexType, OnHost),
		notify, wait, deferred, window, alloc, remoteLoad, remoteStore, tensorStore,
		collective("all_to_all", "every rank sends a part to every other", nil, io, tensorP("input"), tensorP("target"), signal),
		collective("allgather", "every rank receives all inputs", nil, io, tensorP("input"), tensorP("target"), signal),
		collective("all_to_all_v", "all_to_all with counts", nil, io, tensorP("input"), tensorP("target"), signal, tensorP("send_counts"), tensorP("recv_counts")),
		collective("allreduce", "every rank receives the reduction of all", []Kwarg{op, strKw("mode"), intKw("core_num")}, rw, tensorP("target"), optional(signal)),
		collective("barrier", "all ranks wait for each other", nil, []Effect{ReadWrite}, signal),
		collective("broadcast", "every rank receives the root's data", []Kwarg{intKw("root")}, rw, tensorP("target"), signal),
		collective("reduce_scatter", "every rank receives its part of the reduction", []Kwarg{op}, rw, tensorP("target"), signal),
		transfer("tensor.get", "copies a peer's window", chunks, whole...),
		transfer("tensor.put", "copies a window to a peer", append([]Kwarg{atomic}, chunks...), whole...),
		transfer("tile.get", "copies a peer's window through tiles", nil, stages...),
		transfer("tile.put", "copies a window to a peer through tiles", []Kwarg{atomic}, stages...),
	}
	return append(specs, internalSpecs()...)
}

func windowRule(s *Site) (ir.Type, *diag.Diagnostic) {
	return &ir.TensorType{Shape: s.list(1), DType: s.dtypeKw("dtype", ir.FP32), Distributed: true}, nil
}

func remoteLoadRule(s *Site) (ir.Type, *diag.Diagnostic) {
	t, ok := s.Args[0].Type().(*ir.TensorType)
	if !ok {
		return ir.Unknown, nil
	}
	shape := s.list(3)
	valid, d := s.window(t, s.list(2), shape, s.list(4), 2, 3, 4)
	if d != nil && !s.boolKw("allow_physical_tail_padding") {
		return nil, d
	}
	return newTile(shape, t.DType, s.resultMem(nil), valid), nil
}

// internalSpecs are the forms that distributed passes make of collectives, and host futures. The front end never builds them; dumps have them.
func internalSpecs() []*Spec {
	free := Param{Name: "args", Kind: ^ParamKind(0), Variadic: true}
	proto := Spec{Params: params(free), Where: OnHost | InCore, Result: noneR, Infer: noResult}
	doc := "internal form of a collective"
	specs := each("builtin.tensor", proto, "all_to_all", doc, "all_to_all_v", doc, "allgather", doc, "allreduce", doc, "allreduce_ring", doc, "barrier", doc, "broadcast", doc, "reduce_scatter", doc)
	host := proto
	host.Where, host.Result = OnHost, value
	return append(specs, each("dist", host, "future_get", "the result of a submitted worker", "make_tensor", "a host tensor", "submit_orchestrator", "starts an orchestrator",
		"submit_worker", "starts a worker", "tree_reduce", "a reduction over workers")...)
}

// prefetchSpecs are the asynchronous prefetches of kernels.
func prefetchSpecs() []*Spec {
	ctx, event, session := &ir.OpaqueType{Name: "pl.PrefetchAsyncContext"}, &ir.OpaqueType{Name: "pl.AsyncEvent"}, &ir.OpaqueType{Name: "pl.AsyncSession"}
	make := func(name, doc string, t ir.Type, ps ...Param) *Spec {
		return &Spec{Name: "prefetch." + name, Doc: doc, Params: ps, Where: InCore, Core: VectorCore, Result: value, Infer: constant(t)}
	}
	wait := make("wait", "waits for a prefetch", ir.Unknown, kindP("event", OtherArg), kindP("session", OtherArg))
	wait.Result = noneR
	return []*Spec{
		make("make_context", "a prefetch context", ctx),
		make("session", "the session of a context", session, kindP("ctx", OtherArg)),
		make("async_prefetch", "starts fetching a tensor into the cache", event, tensorP("src"), kindP("ctx", OtherArg)),
		wait,
	}
}
