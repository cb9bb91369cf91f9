// Command acme is the plugin of the tests: an op of its own, a pass of its own, every built-in op and pass once more, and passes that misbehave in all ways.
package main

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/plugins"
	"github.com/ptobuild/ptobuild/plugins/serve"
	"github.com/ptobuild/ptobuild/plugins/template"
)

func main() {
	p := serve.Plugin{Name: "acme", Version: "1.2.0", Configure: configure, Ops: []serve.Op{{Spec: rope}, {Spec: sum}, {Spec: row, Template: emitRow}}, Passes: []serve.Pass{after("FlattenCallExpr", lowerRope)}}
	p.Ops = append(p.Ops, echoOps()...)
	p.Passes = append(p.Passes, echoPasses()...)
	for _, name := range slices.Sorted(maps.Keys(misbehave)) {
		p.Passes = append(p.Passes, after("Simplify", &passes.Pass{Name: name, Run: misbehave[name]}))
	}
	for _, name := range slices.Sorted(maps.Keys(broken)) {
		p.Passes = append(p.Passes, after("Simplify", &passes.Pass{Name: name, Run: broken[name]}))
	}
	p.Passes = append(p.Passes, trespass, overclaim, liar, renamer)
	if filepath.Base(os.Args[0]) == "faulty" { // a link to this program
		p.Ops = append(p.Ops, serve.Op{Spec: rope}, serve.Op{Spec: &ops.Spec{Name: "acme.add", Params: row.Params, Where: ops.InCore, Result: ops.Result{Kind: ops.InPlace}}})
	}
	serve.Serve(p)
}

// trespass changes a kernel although it may only change orchestrations, renamer names in an orchestration although it may only change kernels; overclaim says that it derives directions and does not; liar claims a fusion that is none.
var (
	trespass = serve.Pass{Pass: plugins.Pass{After: "Simplify", Grant: &plugins.Grant{Functions: []ir.FuncType{ir.Orchestration}}, Pass: &passes.Pass{Name: "Trespass",
		Run: func(_ *passes.Context, p *ir.Program) (*ir.Program, error) {
			k := *p.Funcs[0]
			k.Body = k.Body[1:]
			return &ir.Program{Name: p.Name, Funcs: append([]*ir.Function{&k}, p.Funcs[1:]...)}, nil
		}}}}
	renamer   = serve.Pass{Pass: plugins.Pass{After: "Simplify", Grant: &plugins.Grant{Functions: []ir.FuncType{ir.AIV}}, Pass: &passes.Pass{Name: "Renamer", Run: broken["NameOfVersion"]}}}
	overclaim = serve.Pass{Pass: plugins.Pass{After: "Simplify", Pass: &passes.Pass{Name: "Overclaim", Produces: []ir.Property{ir.CallDirectionsResolved},
		Run: func(_ *passes.Context, p *ir.Program) (*ir.Program, error) { return p, nil }}}}
	liar = serve.Pass{Pass: plugins.Pass{After: "NormalizeReturnOrder", Pass: &passes.Pass{Name: "Liar"}},
		Fuse: func(_ *passes.Context, p *ir.Program) (*ir.Program, []passes.Fusion, error) {
			k := *p.Funcs[0]
			k.Name = "both"
			return &ir.Program{Name: p.Name, Funcs: append([]*ir.Function{&k}, p.Funcs...)},
				[]passes.Fusion{{Kernel: "both", First: p.Funcs[0].Name, Second: p.Funcs[0].Name, FirstParams: []int{0, 1}, SecondParams: []int{0, 1}}}, nil
		}}
)

func after(name string, p *passes.Pass) serve.Pass {
	return serve.Pass{Pass: plugins.Pass{Pass: p, After: name}}
}

// rope turns pairs of columns of a tile; the numbers are not the point here.
var rope = &ops.Spec{
	Name:      "acme.rope",
	Doc:       "rotary embedding over pairs of columns",
	Params:    []ops.Param{{Name: "x", Kind: ops.TileArg, Mem: []ir.Mem{ir.Vec}}, {Name: "position", Kind: ops.ScalarArg}},
	Kwargs:    []ops.Kwarg{{Name: "base", Kind: ops.FloatKw, Default: 10000.0}},
	Where:     ops.InCore,
	Result:    ops.Result{Kind: ops.Fresh},
	Core:      ops.VectorCore,
	Pure:      true,
	ResultMem: ir.Vec,
	Infer: func(s *ops.Site) (ir.Type, *diag.Diagnostic) {
		t, ok := s.Args[0].Type().(*ir.TileType)
		if !ok {
			return ir.Unknown, nil
		}
		if n, ok := ir.IntValue(t.Shape[len(t.Shape)-1]); ok && n%2 != 0 {
			return nil, diag.Errorf("ACME-001", s.Args[0].Span(), "acme.rope: the last axis must have an even extent, got %d", n).WithHint("pad it by one column")
		}
		return t, nil
	},
}

// lowerRope replaces acme.rope(x, position) by x * position: an op of the core.
var lowerRope = &passes.Pass{
	Name: "LowerRope",
	Doc:  "replace acme.rope by core ops",
	Run: func(ctx *passes.Context, p *ir.Program) (*ir.Program, error) {
		out := &ir.Program{Name: p.Name, Pos: p.Pos}
		changed := false
		for _, f := range p.Funcs {
			r := ir.Rewriter{Expr: func(e ir.Expr) ir.Expr {
				c, ok := e.(*ir.OpCall)
				if !ok || c.Op != rope.Name {
					return e
				}
				changed = true
				ctx.Note(c.Pos, "acme.rope becomes tile.muls")
				n := *c
				n.Op, n.Kwargs = "tile.muls", nil
				return &n
			}}
			g := *f
			g.Body = r.Block(f.Body)
			out.Funcs = append(out.Funcs, &g)
		}
		if !changed {
			return p, nil
		}
		return out, nil
	},
}

// echoOps are the built-in ops under names like acme.tensor_add.
func echoOps() []serve.Op {
	var out []serve.Op
	for _, s := range ops.Builtin().All() {
		if strings.HasPrefix(s.Name, "acme.") || hasEnumOperand(s) {
			continue
		}
		n := *s
		n.Name = "acme." + strings.ReplaceAll(s.Name, ".", "_")
		if s.Infer != nil {
			n.Infer = func(site *ops.Site) (ir.Type, *diag.Diagnostic) {
				as := *site
				as.Spec = s
				return s.Infer(&as)
			}
		}
		out = append(out, serve.Op{Spec: &n})
	}
	return out
}

func hasEnumOperand(s *ops.Spec) bool {
	for _, p := range s.Params {
		if p.Kind&ops.EnumArg != 0 {
			return true
		}
	}
	return false
}

func echoPasses() []serve.Pass {
	var out []serve.Pass
	seen := map[string]bool{}
	for _, p := range passes.Default() {
		if !seen[p.Name] {
			out = append(out, after(p.Name, p))
		}
		seen[p.Name] = true
	}
	return out
}

// sum is an op with numbers and a check of its own; what it counts besides shows how often it was asked.
var sum = &ops.Spec{
	Name:   "acme.sum",
	Params: []ops.Param{{Name: "x", Kind: ops.TileArg}, {Name: "into", Kind: ops.TensorArg}, {Name: "at", Kind: ops.TupleArg}},
	Kwargs: []ops.Kwarg{{Name: "scale", Kind: ops.FloatKw, Default: 1.0}},
	Where:  ops.InCore, Result: ops.Result{Kind: ops.InPlace, Arg: 1}, Effects: []ops.Effect{ops.Read, ops.ReadWrite},
	Infer: func(s *ops.Site) (ir.Type, *diag.Diagnostic) { return s.Args[1].Type(), nil },
	Verify: func(f *ir.Function, calls []*ir.OpCall) diag.List {
		if v, _ := calls[0].Kwargs.Get("scale"); v == 0.0 {
			return diag.List{diag.Warningf("ACME-003", calls[0].Pos, "the sum in %s counts nothing", f.Name)}
		} else if v == -1.0 {
			return diag.List{diag.Errorf("ACME-006", calls[0].Args[1].Span(), "nothing is taken away from this")}
		}
		return nil
	},
	Evaluate: func(e *ops.Evaluation) *diag.Diagnostic {
		total := float32(0)
		for i := range e.Operands[0].Elements.Len() {
			total += math.Float32frombits(binary.LittleEndian.Uint32(e.Operands[0].Elements.Data[4*i:]))
		}
		scale, _ := e.Kwargs.Get("scale")
		into, at := e.Operands[1].Elements, e.Operands[2].List
		if at[0] >= int64(into.Shape[0]) {
			return diag.Errorf("ACME-004", diag.Span{}, "row %d of %d", at[0], into.Shape[0])
		}
		cell := into.Data[4*(at[0]*int64(into.Shape[1])+at[1]):]
		total = math.Float32frombits(binary.LittleEndian.Uint32(cell)) + total*float32(scale.(float64))
		binary.LittleEndian.PutUint32(cell, math.Float32bits(total))
		return nil
	},
}

// row is a view with C++ that an option spoils.
var row = &ops.Spec{
	Name:   "acme.row",
	Params: []ops.Param{{Name: "x", Kind: ops.TensorArg}, {Name: "n", Kind: ops.ScalarArg}},
	Where:  ops.OnHost, Result: ops.Result{Kind: ops.View}, Effects: []ops.Effect{ops.Untouched}, Pure: true,
	Infer: func(s *ops.Site) (ir.Type, *diag.Diagnostic) {
		t := s.Args[0].Type().(*ir.TensorType)
		return &ir.TensorType{Shape: []ir.Expr{ir.Int(1), t.Shape[1]}, DType: t.DType}, nil
	},
}

func emitRow(c *ir.OpCall, _ bool) (*template.Template, *diag.Diagnostic) {
	if n, known := ir.IntValue(c.Args[1]); known && n == 700 {
		os.Exit(7)
	} else if known && n == 800 {
		return nil, diag.Errorf("ACME-007", c.Args[0].Span(), "this has no row %d", n)
	} else if known && n == 666 {
		panic("the number of the beast")
	}
	t, err := template.Parse(template.Operands{Names: []string{"x", "n"}}, rowCode...)
	if err != nil {
		return nil, diag.Errorf("ACME-005", diag.Span{}, "%v", err)
	}
	return t, nil
}

var rowCode = []string{"uint32_t $offset[] = {$n, 0};", "uint32_t $shape[] = {1, $x.dim(1)};", "Tensor $result = $x.view($shape, $offset);"}

// once is a file whose absence makes a pass misbehave; it makes the file first.
var once string

func configure(options map[string]any) error {
	once, _ = options["once"].(string)
	if code, ok := options["code"].(string); ok {
		rowCode = strings.Split(code, "\n")
	}
	if v, bad := options["colour"]; bad {
		return diag.Errorf("ACME-002", diag.Span{}, "colour cannot be %v", v)
	}
	return nil
}

// tally adds a byte to the file once, if it is asked for.
func tally() {
	if f, err := os.OpenFile(once, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err == nil {
		f.WriteString(".")
		f.Close()
	}
}

type run = func(*passes.Context, *ir.Program) (*ir.Program, error)

var misbehave = map[string]run{
	"Crash": func(*passes.Context, *ir.Program) (*ir.Program, error) {
		tally()
		fmt.Fprintln(os.Stderr, "the disk is on fire")
		os.Exit(3)
		return nil, nil
	},
	"Hang":  func(*passes.Context, *ir.Program) (*ir.Program, error) { tally(); select {} },
	"Panic": func(*passes.Context, *ir.Program) (*ir.Program, error) { panic("out of cheese") },
	"CrashOnce": func(_ *passes.Context, p *ir.Program) (*ir.Program, error) {
		if f, err := os.OpenFile(once, os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			f.Close()
			os.Exit(3)
		}
		return p, nil
	},
	"Huge": func(ctx *passes.Context, p *ir.Program) (*ir.Program, error) {
		ctx.Report(diag.Warningf("", diag.Span{}, "%s", strings.Repeat("a", 100<<20)))
		return p, nil
	},
	"Greedy": func(_ *passes.Context, p *ir.Program) (*ir.Program, error) {
		for kept := [][]byte{}; ; {
			kept = append(kept, slices.Repeat([]byte{1}, 64<<20))
		}
	},
	"Print": func(_ *passes.Context, p *ir.Program) (*ir.Program, error) {
		fmt.Println("looking at", p.Name)
		return p, nil
	},
	"Impostor": func(ctx *passes.Context, p *ir.Program) (*ir.Program, error) {
		ctx.Report(diag.Errorf("PTO-R080", p.Funcs[0].Pos, "a race"))
		return p, nil
	},
	"Nothing": func(*passes.Context, *ir.Program) (*ir.Program, error) { return nil, nil },
	// Unbound uses a variable that nothing defines.
	"Unbound": func(_ *passes.Context, p *ir.Program) (*ir.Program, error) {
		f := *p.Funcs[0]
		ghost := &ir.Var{Hint: "ghost", Typ: ir.IndexType}
		y := &ir.Var{Hint: "y", Typ: ir.IndexType}
		f.Body = append(ir.Block{&ir.Assign{Var: y, Value: ghost}}, f.Body...)
		return &ir.Program{Name: p.Name, Funcs: append([]*ir.Function{&f}, p.Funcs[1:]...)}, nil
	},
	"Refuse": func(ctx *passes.Context, p *ir.Program) (*ir.Program, error) {
		ctx.Report(diag.Errorf("", p.Funcs[0].Pos, "this function is not to acme's taste"))
		return p, nil
	},
	"Stdin": func(ctx *passes.Context, p *ir.Program) (*ir.Program, error) {
		b := make([]byte, 10)
		n, err := os.Stdin.Read(b)
		ctx.Report(diag.Warningf("", diag.Span{}, "%d %v", n, err))
		return p, nil
	},
}
