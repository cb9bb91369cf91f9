package interp

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/runtime/sim"
	"github.com/ptobuild/ptobuild/runtime/trace"
)

// b builds plans with little text.
type b struct {
	line  int32
	tasks int
}

func (b *b) at() plan.At {
	b.line++
	return plan.At{Pos: diag.Span{File: "prog.py", Line: b.line, Col: 5}}
}

func name(s string) *plan.Name        { return &plan.Name{Hint: s, Text: s} }
func ref(n *plan.Name) *plan.Ref      { return &plan.Ref{Name: n} }
func num(v int64) *plan.Int           { return &plan.Int{Value: v, DType: ir.INDEX} }
func in(n *plan.Name) plan.Arg        { return plan.Arg{Tag: plan.Input, Tensor: n} }
func inout(n *plan.Name) plan.Arg     { return plan.Arg{Tag: plan.InOut, Tensor: n} }
func out(n *plan.Name) plan.Arg       { return plan.Arg{Tag: plan.OutputExisting, Tensor: n} }
func create(info *plan.Name) plan.Arg { return plan.Arg{Tag: plan.Output, Info: info} }

func bin(op ir.BinOp, x, y plan.Expr) *plan.Binary {
	return &plan.Binary{Op: op, X: x, Y: y, DType: ir.INDEX}
}

func (b *b) task(args ...plan.Arg) *plan.Task {
	b.tasks++
	return &plan.Task{At: b.at(), Kind: plan.SubmitAIV, Kernels: [3]int{0, -1, -1}, Args: args}
}

func (b *b) scope(manual bool, body ...plan.Stmt) *plan.Scope {
	return &plan.Scope{At: b.at(), Manual: manual, Body: body}
}

func numberOf(d ir.DType) plan.CType { return plan.CType{Kind: plan.Number, DType: d} }

// run executes a plan over fresh entry tensors of FP32 or INT32 and gives its orchestration events as JSON lines.
func run(t *testing.T, f *plan.File, cfg sim.Config, scalars []uint64, shapes ...[]uint32) (string, *sim.Runtime, error) {
	t.Helper()
	cfg.Record = true
	rt, err := sim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(rt.Close)
	args := Args{Scalars: scalars, MaxSteps: 100000}
	for i, s := range shapes {
		x, err := rt.NewTensor(f.Tensors[i].DType, s...)
		if err != nil {
			t.Fatal(err)
		}
		args.Tensors = append(args.Tensors, x)
	}
	err = Run(f, args, rt)
	var text bytes.Buffer
	if err := trace.WriteJSON(&text, slices.Values(trace.Orchestration(rt.Trace().Events()))); err != nil {
		t.Fatal(err)
	}
	return text.String(), rt, err
}

func entry(names ...*plan.Name) []plan.Tensor {
	ts := make([]plan.Tensor, len(names))
	for i, n := range names {
		ts[i] = plan.Tensor{Name: n, Param: n.Text, DType: ir.FP32, Shape: []ir.Expr{ir.Int(16), ir.Int(16)}}
	}
	return ts
}

// The example of the mission document: an internal tensor, two tasks.
func TestCompleteExample(t *testing.T) {
	var b b
	xa, xb, xd, c := name("ext_a"), name("ext_b"), name("ext_d"), name("c")
	info := name("c_ci")
	f := &plan.File{
		Func: "orch_basic", Tensors: entry(xa, xb, xd),
		Body: []plan.Stmt{b.scope(false,
			&plan.Create{At: b.at(), Info: info, Shapes: name("c_ci_shapes"), Dims: []plan.Expr{&plan.Uint32{X: num(16)}, num(16)}, DType: ir.FP32},
			&plan.Alloc{At: b.at(), Outs: name("alloc_0"), Infos: []*plan.Name{info}, Refs: []*plan.Name{c}},
			b.task(in(xa), in(xb), out(c)),
			b.task(in(c), in(xb), out(xd)),
		)},
	}
	got, rt, err := run(t, f, sim.Config{Names: []string{"kernel_add"}, Check: true}, nil, []uint32{16, 16}, []uint32{16, 16}, []uint32{16, 16})
	if err != nil {
		t.Fatal(err)
	}
	handle := func(buf string) string {
		return `{"buf":"` + buf + `","off":0,"shape":[16,16],"strides":[16,1],"dtype":"FLOAT32","ops":[]}`
	}
	want := `{"ev":"config","args":3}
{"ev":"scope_begin","mode":"AUTO"}
{"ev":"alloc","call":0,"tensors":[{"id":0,"shape":[16,16],"dtype":"FLOAT32","manual_dep":false,"init":null}]}
{"ev":"submit","n":0,"kind":"aiv","kernels":["kernel_add"],"args":[{"dir":"in","t":` + handle("ext:0") + `},{"dir":"in","t":` + handle("ext:1") + `},{"dir":"out","t":` + handle("alloc:0") + `}],"scalars":[],"deps":[]}
{"ev":"submit","n":1,"kind":"aiv","kernels":["kernel_add"],"args":[{"dir":"in","t":` + handle("alloc:0") + `},{"dir":"in","t":` + handle("ext:1") + `},{"dir":"out","t":` + handle("ext:2") + `}],"scalars":[],"deps":[]}
{"ev":"scope_end"}
{"ev":"end","tasks":2}
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if n := rt.Graph().Nodes; len(n) != 3 || len(n[2].Preds) != 2 {
		t.Errorf("graph %+v", n)
	}
}

// events gives one short line per event of a run: what the tests below look at.
func events(rt *sim.Runtime) string {
	var s []string
	for _, e := range trace.Orchestration(rt.Trace().Events()) {
		switch e := e.(type) {
		case *trace.ScopeBegin:
			s = append(s, map[bool]string{false: "{", true: "M{"}[e.Manual])
		case *trace.ScopeEnd:
			s = append(s, "}")
		case *trace.Submit:
			x := fmt.Sprintf("%s%d", e.Kind, e.N)
			for _, a := range e.Args {
				if a.New != nil {
					x += fmt.Sprintf(" new%v", a.New.Shape)
				} else {
					x += fmt.Sprintf(" %s+%d%v", a.T.Buf, a.T.Off, a.T.Shape)
				}
			}
			for _, v := range e.Scalars {
				x += fmt.Sprintf(" #%d:%s", int64(v.Bits), v.Type)
			}
			if len(e.Deps) > 0 {
				x += fmt.Sprintf(" deps%v", e.Deps)
			}
			if e.Blocks != 0 {
				x += fmt.Sprintf(" x%d", e.Blocks)
			}
			if e.Pred != nil {
				x += fmt.Sprintf(" if %s%v %s %d", e.Pred.T.Buf, e.Pred.Idx, e.Pred.Op, e.Pred.Target)
			}
			if len(e.Dump) > 0 {
				x += fmt.Sprintf(" dump%v", e.Dump)
			}
			s = append(s, x)
		case *trace.Read:
			s = append(s, fmt.Sprintf("read %s@%d=%d", e.T.Buf, e.At, e.Value))
		case *trace.Write:
			s = append(s, fmt.Sprintf("write %s@%d=%d", e.T.Buf, e.At, e.Value))
		case *trace.Query:
			s = append(s, e.What)
		}
	}
	return strings.Join(s, "; ")
}

func TestStatements(t *testing.T) {
	x, y := name("ext_x"), name("ext_y")
	tests := []struct {
		name string
		body func(b *b) []plan.Stmt
		want string
	}{
		{"loops in both directions", func(b *b) []plan.Stmt {
			i, j := name("i"), name("j")
			up, down := b.task(in(x)), b.task(in(y))
			up.Scalars, down.Scalars = []plan.Expr{ref(i)}, []plan.Expr{bin(ir.Mul, ref(j), num(2))}
			return []plan.Stmt{
				&plan.For{At: b.at(), Var: i, Start: num(1), Stop: num(6), Step: num(2), Body: []plan.Stmt{up}},
				&plan.For{At: b.at(), Var: j, Start: num(2), Stop: num(-1), Step: num(-2), Down: true, Body: []plan.Stmt{down}},
				&plan.For{At: b.at(), Var: name("k"), Start: num(0), Stop: num(9), Step: num(0), Never: true, Body: []plan.Stmt{b.task()}},
			}
		}, "aiv0 ext:0+0[16 16] #1:i64; aiv1 ext:0+0[16 16] #3:i64; aiv2 ext:0+0[16 16] #5:i64; aiv3 ext:1+0[16 16] #4:i64; aiv4 ext:1+0[16 16] #0:i64"},
		{"a step whose sign is known at run time", func(b *b) []plan.Stmt {
			var l []plan.Stmt
			for _, step := range []int64{3, -3, 0} {
				s, i := name("s"), name("i")
				task := b.task()
				task.Scalars = []plan.Expr{ref(i)}
				l = append(l, &plan.Decl{At: b.at(), Name: s, Type: numberOf(ir.INDEX), Init: num(step)},
					&plan.For{At: b.at(), Var: i, Start: num(0), Stop: bin(ir.Mul, ref(s), num(2)), Step: ref(s), Signed: true, Body: []plan.Stmt{task}})
			}
			return l
		}, "aiv0 #0:i64; aiv1 #3:i64; aiv2 #0:i64; aiv3 #-3:i64"},
		{"swapped tensor carries", func(b *b) []plan.Stmt {
			p, q, tmp := name("p"), name("q"), name("tmp")
			tensor := plan.CType{Kind: plan.TensorT}
			return []plan.Stmt{
				&plan.Decl{At: b.at(), Name: p, Type: tensor, Init: ref(x)},
				&plan.Decl{At: b.at(), Name: q, Type: tensor, Init: ref(y)},
				&plan.For{At: b.at(), Var: name("i"), Start: num(0), Stop: num(2), Step: num(1), Body: []plan.Stmt{
					b.task(in(p), out(q)),
					&plan.Decl{At: b.at(), Name: tmp, Type: tensor, Init: ref(p)},
					&plan.Assign{At: b.at(), Dst: p, Value: ref(q)},
					&plan.Assign{At: b.at(), Dst: q, Value: ref(tmp)},
				}},
			}
		}, "aiv0 ext:0+0[16 16] ext:1+0[16 16]; aiv1 ext:1+0[16 16] ext:0+0[16 16]"},
		{"a const reference follows its variable", func(b *b) []plan.Stmt {
			p, r := name("p"), name("r")
			return []plan.Stmt{
				&plan.Decl{At: b.at(), Name: p, Type: plan.CType{Kind: plan.TensorT}, Init: ref(x)},
				&plan.Decl{At: b.at(), Name: r, Type: plan.CType{Kind: plan.TensorT, Ref: true}, Init: ref(p)},
				&plan.Assign{At: b.at(), Dst: p, Value: ref(y)},
				b.task(in(r)),
			}
		}, "aiv0 ext:1+0[16 16]"},
		{"clamped windows", func(b *b) []plan.Stmt {
			i := name("i")
			offs, shapes, v := name("offs"), name("shapes"), name("v")
			return []plan.Stmt{&plan.For{At: b.at(), Var: i, Start: num(0), Stop: num(3), Step: num(1), Body: []plan.Stmt{
				&plan.DeclArray{At: b.at(), Name: offs, Type: plan.CType{Kind: plan.Uint32T}, Elems: []plan.Expr{&plan.Uint32{X: bin(ir.Mul, ref(i), num(10))}, num(0)}},
				&plan.DeclArray{At: b.at(), Name: shapes, Type: plan.CType{Kind: plan.Uint32T}, Elems: []plan.Expr{
					&plan.Clamped{Size: num(10), Tensor: x, Offsets: offs, Axis: 0}, &plan.Clamped{Size: num(16), Tensor: x, Offsets: offs, Axis: 1}}},
				&plan.Decl{At: b.at(), Name: v, Type: plan.CType{Kind: plan.TensorT}, Init: &plan.View{Tensor: x, Shapes: shapes, Offsets: offs}},
				b.task(in(v)),
			}}}
		}, "aiv0 ext:0+0[10 16]; aiv1 ext:0+160[6 16]; aiv2 ext:0+0[0 16]"},
		{"reshape and transpose", func(b *b) []plan.Stmt {
			s, v, w := name("s"), name("v"), name("w")
			return []plan.Stmt{
				&plan.DeclArray{At: b.at(), Name: s, Type: plan.CType{Kind: plan.Uint32T}, Elems: []plan.Expr{num(4), num(64)}},
				&plan.Decl{At: b.at(), Name: v, Type: plan.CType{Kind: plan.TensorT}, Init: &plan.Reshape{Tensor: x, Shapes: s, N: 2}},
				&plan.Decl{At: b.at(), Name: w, Type: plan.CType{Kind: plan.TensorT}, Init: &plan.Transpose{Tensor: v, A: 0, B: 1}},
				b.task(in(v), in(w)),
			}
		}, "aiv0 ext:0+0[4 64] ext:0+0[64 4]"},
		{"an array of task ids with guarded dependencies", func(b *b) []plan.Stmt {
			tids, i, outs, dep := name("tids"), name("i"), name("task_0_outs"), name("prev")
			first, second := b.task(in(x)), b.task(in(y))
			first.Outs = outs
			second.Deps = &plan.Deps{Array: name("d"), Count: name("n")}
			for k := range int64(4) {
				second.Deps.Entries = append(second.Deps.Entries, plan.Dep{ID: &plan.Elem{Array: tids, I: num(k)}, Guarded: true})
			}
			ids := plan.CType{Kind: plan.TaskT}
			return []plan.Stmt{
				&plan.DeclSlots{At: b.at(), Name: tids, Type: ids, N: 4, Fill: &plan.InvalidTask{}},
				&plan.For{At: b.at(), Var: i, Start: num(0), Stop: num(2), Step: num(1), Body: []plan.Stmt{
					first,
					&plan.SetElem{At: b.at(), Array: tids, I: bin(ir.Mul, ref(i), num(3)), Value: &plan.TaskIDOf{Outs: outs}},
				}},
				&plan.Decl{At: b.at(), Name: dep, Type: ids, Init: &plan.Elem{Array: tids, I: num(1)}},
				&plan.If{At: b.at(), Cond: &plan.IsValid{X: ref(dep)}, Then: []plan.Stmt{b.task()}, Else: []plan.Stmt{second}},
			}
		}, "aiv0 ext:0+0[16 16]; aiv1 ext:0+0[16 16]; aiv2 ext:1+0[16 16] deps[0 1]"},
		{"dummies, guarded and not", func(b *b) []plan.Stmt {
			id, after := name("barrier"), b.task()
			after.Deps = &plan.Deps{Entries: []plan.Dep{{ID: ref(id), Guarded: true}}}
			id2, after2 := name("barrier2"), b.task()
			after2.Deps = &plan.Deps{Entries: []plan.Dep{{ID: ref(id2)}}}
			return []plan.Stmt{
				&plan.Dummy{At: b.at(), Deps: &plan.Deps{Entries: []plan.Dep{{ID: &plan.InvalidTask{}, Guarded: true}}}, Guarded: true, Outs: name("o"), ID: id},
				after,
				&plan.Dummy{At: b.at(), Outs: name("o2"), ID: id2},
				after2,
			}
		}, "aiv0; dummy1; aiv2 deps[1]"},
		{"gathered ids", func(b *b) []plan.Stmt {
			list, id, i, outs, after := name("list"), name("all"), name("i"), name("outs"), b.task()
			after.Deps = &plan.Deps{Entries: []plan.Dep{{ID: ref(id), Guarded: true}}}
			trip := b.task()
			trip.Outs = outs
			return []plan.Stmt{
				&plan.DeclIDs{At: b.at(), Name: list},
				&plan.For{At: b.at(), Var: i, Start: num(0), Stop: num(2), Step: num(1), Body: []plan.Stmt{
					trip,
					&plan.AppendID{At: b.at(), IDs: list, ID: &plan.TaskIDOf{Outs: outs}},
					&plan.AppendID{At: b.at(), IDs: list, ID: &plan.InvalidTask{}, Guarded: true},
				}},
				&plan.Dummy{At: b.at(), Gathered: list, Guarded: true, Outs: name("o"), ID: id},
				after,
			}
		}, "aiv0; aiv1; dummy2 deps[0 1]; aiv3 deps[2]"},
		{"copied slots", func(b *b) []plan.Stmt {
			p, q, task := name("p"), name("q"), b.task()
			task.Scalars = []plan.Expr{&plan.Elem{Array: q, I: num(1)}, &plan.Elem{Array: q, I: num(2)}, &plan.Cast{X: &plan.Elem{Array: p, I: num(1)}, DType: ir.INT8}}
			return []plan.Stmt{
				&plan.DeclSlots{At: b.at(), Name: p, Type: numberOf(ir.INT32), N: 3},
				&plan.DeclSlots{At: b.at(), Name: q, Type: numberOf(ir.INT32), N: 3, Fill: num(7)},
				&plan.SetElem{At: b.at(), Array: p, I: num(1), Value: num(511)},
				&plan.CopySlots{At: b.at(), Dst: q, Src: p, N: 2},
				task,
			}
		}, "aiv0 #511:i32 #7:i32 #255:i8"},
		{"reads, writes, while, created outputs", func(b *b) []plan.Stmt {
			n, idx, info, outs, o := name("n"), name("idx"), name("ci"), name("task_outs"), name("o")
			read := &plan.Read{Tensor: x, DType: ir.FP32, N: 2, Indices: idx}
			task := b.task(create(info))
			task.Outs = outs
			return []plan.Stmt{
				&plan.DeclArray{At: b.at(), Name: idx, Type: plan.CType{Kind: plan.Uint32T}, Elems: []plan.Expr{num(1), num(2)}},
				&plan.Write{At: b.at(), Tensor: x, DType: ir.FP32, Indices: name("wi"), Index: []plan.Expr{num(1), num(2)}, Value: &plan.Float{Value: 2, DType: ir.FP32}},
				&plan.Decl{At: b.at(), Name: n, Type: numberOf(ir.INT64), Init: read},
				&plan.Create{At: b.at(), Info: info, Dims: []plan.Expr{&plan.Uint32{X: bin(ir.Add, ref(n), num(1))}}, DType: ir.FP32, Init: &plan.Float{Value: 1, DType: ir.FP32}},
				&plan.While{At: b.at(), Cond: &plan.Binary{Op: ir.Gt, X: ref(n), Y: num(0), DType: ir.BOOL}, Body: []plan.Stmt{
					task,
					&plan.Decl{At: b.at(), Name: o, Type: plan.CType{Kind: plan.TensorT, Ref: true}, Init: &plan.OutRef{Outs: outs, I: 0}},
					b.task(in(o)),
					&plan.Assign{At: b.at(), Dst: n, Value: bin(ir.Sub, ref(n), num(1))},
				}},
			}
		}, "write ext:0@18=1073741824; read ext:0@18=1073741824; aiv0 new[3]; aiv1 out:0.0+0[3]; aiv2 new[3]; aiv3 out:2.0+0[3]"},
		{"launch, predicate, dump, scalars", func(b *b) []plan.Stmt {
			n := name("n")
			task := b.task(in(x), inout(y))
			task.BlockNum, task.SyncStart = bin(ir.Add, ref(n), num(1)), true
			task.Pred = &plan.Predicate{Tensor: x, Index: []plan.Expr{num(0), ref(n)}, Op: ir.Ne, Target: -3}
			task.Dump = []plan.Expr{ref(y)}
			task.Scalars = []plan.Expr{num(-1), &plan.Bool{Value: true}, &plan.Bits{X: &plan.Float{Value: 1.5, DType: ir.FP32}}, &plan.Int{Value: -1, DType: ir.INT32}}
			return []plan.Stmt{
				&plan.Decl{At: b.at(), Name: n, Type: plan.CType{Kind: plan.Int32T}, Init: &plan.Query{}},
				&plan.Decl{At: b.at(), Name: name("m"), Type: plan.CType{Kind: plan.Int32T}, Init: &plan.Query{AIV: true}},
				&plan.Braces{At: b.at(), Body: []plan.Stmt{task}},
			}
		}, "cluster_count; aiv_count; aiv0 ext:0+0[16 16] ext:1+0[16 16] #-1:u64 #1:u64 #1069547520:u64 #-1:u64 x9 if ext:0[0 8] NE -3 dump[1]"},
		{"scopes", func(b *b) []plan.Stmt {
			return []plan.Stmt{b.scope(false, b.task(), b.scope(true, b.task(), b.scope(true)))}
		}, "{; aiv0; M{; aiv1; M{; }; }; }"},
		{"mixed kernels", func(b *b) []plan.Stmt {
			task := b.task(in(x))
			task.Kind, task.Kernels = plan.SubmitMixed, [3]int{0, 1, 1}
			cube := b.task(in(x))
			cube.Kind = plan.SubmitAIC
			return []plan.Stmt{task, cube}
		}, "mixed0 ext:0+0[16 16]; aic1 ext:0+0[16 16]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := &plan.File{Func: "f", Tensors: entry(x, y), Body: tt.body(&b{})}
			for _, policy := range []sim.Policy{sim.FIFO, sim.Sequential, sim.Random} {
				_, rt, err := run(t, f, sim.Config{Policy: policy}, nil, []uint32{16, 16}, []uint32{16, 16})
				if err != nil && !strings.Contains(err.Error(), "never") {
					t.Fatal(err)
				}
				if got := events(rt); got != tt.want {
					t.Errorf("policy %d:\n got %s\nwant %s", policy, got, tt.want)
				}
			}
		})
	}
}

func TestEntryScalarsAndDims(t *testing.T) {
	var b b
	x, m := name("ext_x"), name("M")
	sym := &ir.Var{Hint: "M", Typ: ir.IndexType, Dyn: true}
	s, g, u := name("s"), name("g"), name("u")
	task := b.task(in(x))
	task.Scalars = []plan.Expr{ref(m), ref(s), &plan.Bits{X: ref(g)}, ref(u), &plan.Extent{Tensor: x, Axis: 1}}
	f := &plan.File{
		Func:    "f",
		Tensors: []plan.Tensor{{Name: x, Param: "x", DType: ir.INT32, Shape: []ir.Expr{sym, ir.Int(4)}}},
		Scalars: []plan.Scalar{{Name: s, DType: ir.INT32}, {Name: g, DType: ir.FP32}, {Name: u, DType: ir.NoDType}},
		Dims:    []plan.Dim{{Name: m, Tensor: 0, Axis: 0}},
		Body:    []plan.Stmt{task},
	}
	_, rt, err := run(t, f, sim.Config{}, []uint64{0xFFFFFFFB, 0x3fc00000, 1 << 63}, []uint32{9, 4})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := events(rt), "aiv0 ext:0+0[9 4] #9:i64 #4294967291:i32 #1069547520:u64 #-9223372036854775808:u64 #4:i64"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestErrors(t *testing.T) {
	x := name("ext_x")
	tests := []struct {
		name string
		body func(b *b) []plan.Stmt
		code diag.Code
		line int32
	}{
		{"division by zero", func(b *b) []plan.Stmt {
			return []plan.Stmt{&plan.Decl{At: b.at(), Name: name("a"), Type: numberOf(ir.INDEX), Init: bin(ir.FloorDiv, num(1), num(0))}}
		}, CodeDivide, 1},
		{"shift", func(b *b) []plan.Stmt {
			return []plan.Stmt{&plan.Decl{At: b.at(), Name: name("a"), Type: numberOf(ir.INDEX), Init: bin(ir.Shl, num(1), num(-1))}}
		}, CodeShift, 1},
		{"endless loop", func(b *b) []plan.Stmt {
			return []plan.Stmt{&plan.While{At: b.at(), Cond: num(1)}}
		}, CodeEndless, 1},
		{"array index", func(b *b) []plan.Stmt {
			a := name("a")
			return []plan.Stmt{
				&plan.DeclSlots{At: b.at(), Name: a, Type: numberOf(ir.INT32), N: 4},
				&plan.SetElem{At: b.at(), Array: a, I: num(4), Value: num(0)},
			}
		}, CodeIndex, 2},
		{"view out of bounds", func(b *b) []plan.Stmt {
			o, s := name("o"), name("s")
			uint := plan.CType{Kind: plan.Uint32T}
			return []plan.Stmt{
				&plan.DeclArray{At: b.at(), Name: o, Type: uint, Elems: []plan.Expr{num(8), num(0)}},
				&plan.DeclArray{At: b.at(), Name: s, Type: uint, Elems: []plan.Expr{num(9), num(16)}},
				&plan.Decl{At: b.at(), Name: name("v"), Type: plan.CType{Kind: plan.TensorT}, Init: &plan.View{Tensor: x, Shapes: s, Offsets: o}},
			}
		}, sim.CodeView, 3},
		{"AUTO in MANUAL", func(b *b) []plan.Stmt {
			inner := b.scope(false)
			return []plan.Stmt{b.scope(true, inner)}
		}, sim.CodeScopeNesting, 1},
		{"block count", func(b *b) []plan.Stmt {
			task := b.task()
			task.BlockNum = num(0)
			return []plan.Stmt{task}
		}, CodeBlockNum, 1},
		{"invalid dependency", func(b *b) []plan.Stmt {
			task := b.task()
			task.Deps = &plan.Deps{Entries: []plan.Dep{{ID: &plan.InvalidTask{}}}}
			return []plan.Stmt{task}
		}, sim.CodeDepInvalid, 1},
		{"output index", func(b *b) []plan.Stmt {
			task := b.task()
			task.Outs = name("o")
			return []plan.Stmt{task, &plan.Decl{At: b.at(), Name: name("t"), Type: plan.CType{Kind: plan.TensorT}, Init: &plan.OutRef{Outs: task.Outs}}}
		}, sim.CodeOutputIndex, 2},
		{"placeholder used before it is assigned", func(b *b) []plan.Stmt {
			v := name("v")
			return []plan.Stmt{&plan.Decl{At: b.at(), Name: v, Type: plan.CType{Kind: plan.TensorT}}, b.task(in(v))}
		}, sim.CodeTensor, 2},
		{"a kernel fails", func(b *b) []plan.Stmt {
			b.line = 9
			return []plan.Stmt{b.task(in(x))}
		}, sim.CodeKernelFailed, 10},
		{"undeclared name", func(b *b) []plan.Stmt { return []plan.Stmt{b.task(in(name("z")))} }, CodeBadPlan, 1},
		{"wrong kind of name", func(b *b) []plan.Stmt {
			task := b.task()
			task.Scalars = []plan.Expr{ref(x)}
			return []plan.Stmt{task}
		}, CodeBadPlan, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := &plan.File{Func: "f", Tensors: entry(x), Body: tt.body(&b{})}
			cfg := sim.Config{Kernels: failing{}}
			_, _, err := run(t, f, cfg, nil, []uint32{16, 16})
			var d *diag.Diagnostic
			if !errors.As(err, &d) {
				t.Fatalf("error %v", err)
			}
			if d.Code != tt.code || d.Span.Line != tt.line || d.Span.File != "prog.py" {
				t.Errorf("got %v, want %s at line %d", d, tt.code, tt.line)
			}
		})
	}
}

type failing struct{}

func (failing) Run(*sim.Memory, *sim.KernelCall) error { return errors.New("bad tile") }

func TestArguments(t *testing.T) {
	x, y := name("x"), name("y")
	sym := &ir.Var{Hint: "N", Typ: ir.IndexType, Dyn: true}
	x.Pos = diag.Span{File: "prog.py", Line: 3, Col: 1}
	y.Pos = x.Pos
	f := &plan.File{Func: "f", Pos: x.Pos, Tensors: []plan.Tensor{
		{Name: x, Param: "x", DType: ir.FP32, Shape: []ir.Expr{sym, ir.Int(4)}},
		{Name: y, Param: "y", DType: ir.INDEX, Shape: []ir.Expr{sym}},
	}}
	rt, err := sim.New(sim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	make := func(d ir.DType, shape ...uint32) sim.Tensor {
		x, err := rt.NewTensor(d, shape...)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	tests := []struct {
		args []sim.Tensor
		want []string
	}{
		{[]sim.Tensor{make(ir.FP32, 3, 4), make(ir.INT64, 3)}, nil},
		{[]sim.Tensor{make(ir.FP32, 3, 4)}, []string{"takes 2 tensors"}},
		{[]sim.Tensor{make(ir.FP16, 3, 5), make(ir.INT64, 2)}, []string{"declared as fp32 and got fp16", "extent 4 in dimension 1 and got 5", "where N is already 3"}},
		{[]sim.Tensor{make(ir.FP32, 12), make(ir.INT64, 3)}, []string{"declared with 2 dimensions"}},
	}
	for _, tt := range tests {
		err := checkArgs(f, Args{Tensors: tt.args})
		l := diag.AsList(err, "x")
		if len(l) != len(tt.want) {
			t.Errorf("%v", err)
			continue
		}
		for i, w := range tt.want {
			if !strings.Contains(l[i].Message, w) || !l[i].Span.IsValid() {
				t.Errorf("%v does not say %q", l[i], w)
			}
		}
	}
}

// A second run of one plan on another runtime gives the same trace: compiled plans keep nothing.
func TestRunsDoNotShareState(t *testing.T) {
	var bb b
	x, tids, i, outs := name("x"), name("tids"), name("i"), name("o")
	task := bb.task(inout(x))
	task.Outs = outs
	task.Deps = &plan.Deps{Entries: []plan.Dep{{ID: &plan.Elem{Array: tids, I: num(0)}, Guarded: true}}}
	f := &plan.File{Func: "f", Tensors: entry(x), Body: []plan.Stmt{
		&plan.DeclSlots{At: bb.at(), Name: tids, Type: plan.CType{Kind: plan.TaskT}, N: 1, Fill: &plan.InvalidTask{}},
		&plan.For{At: bb.at(), Var: i, Start: num(0), Stop: num(3), Step: num(1), Body: []plan.Stmt{task, &plan.SetElem{At: bb.at(), Array: tids, I: num(0), Value: &plan.TaskIDOf{Outs: outs}}}},
	}}
	var texts []string
	for range 2 {
		text, _, err := run(t, f, sim.Config{}, nil, []uint32{16, 16})
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	if len(slices.Compact(texts)) != 1 {
		t.Errorf("two runs differ:\n%s\n%s", texts[0], texts[1])
	}
}

func BenchmarkLoop(bb *testing.B) {
	var b b
	x, i, offs, shapes, v := name("x"), name("i"), name("offs"), name("shapes"), name("v")
	uint := plan.CType{Kind: plan.Uint32T}
	task := b.task(inout(v))
	task.Scalars = []plan.Expr{ref(i)}
	f := &plan.File{Func: "f", Tensors: entry(x), Body: []plan.Stmt{
		&plan.For{At: b.at(), Var: i, Start: num(0), Stop: num(int64(bb.N)), Step: num(1), Body: []plan.Stmt{b.scope(false,
			&plan.DeclArray{At: b.at(), Name: offs, Type: uint, Elems: []plan.Expr{&plan.Uint32{X: bin(ir.FloorMod, ref(i), num(16))}, num(0)}},
			&plan.DeclArray{At: b.at(), Name: shapes, Type: uint, Elems: []plan.Expr{&plan.Clamped{Size: num(1), Tensor: x, Offsets: offs, Axis: 0}, num(16)}},
			&plan.Decl{At: b.at(), Name: v, Type: plan.CType{Kind: plan.TensorT}, Init: &plan.View{Tensor: x, Shapes: shapes, Offsets: offs}},
			task,
		)}},
	}}
	rt, err := sim.New(sim.Config{})
	if err != nil {
		bb.Fatal(err)
	}
	defer rt.Close()
	t, err := rt.NewTensor(ir.FP32, 16, 16)
	if err != nil {
		bb.Fatal(err)
	}
	bb.ReportAllocs()
	bb.ResetTimer()
	if err := Run(f, Args{Tensors: []sim.Tensor{t}, MaxSteps: int64(bb.N) + 1}, rt); err != nil {
		bb.Fatal(err)
	}
	bb.ReportMetric(float64(bb.N)/bb.Elapsed().Seconds(), "tasks/s")
}
