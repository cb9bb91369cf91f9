package client_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/plugins"
	"github.com/ptobuild/ptobuild/plugins/client"
	"github.com/ptobuild/ptobuild/plugins/template"
)

// rows is a file with a function that asks for the C++ of many calls, no two of which are alike.
func rows(t *testing.T, n int) string {
	t.Helper()
	text, _, _ := strings.Cut(rowProgram, "        for i in")
	for i := range n {
		text += fmt.Sprintf("        w%[1]d = pl.acme.row(a, %[1]d)\n        o = self.k(w%[1]d, o)\n", i)
	}
	file := filepath.Join(t.TempDir(), "rows.py")
	if err := os.WriteFile(file, []byte(text+"        return o\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A function's C++ is asked for in one message, and comes out as it does call by call.
func TestEmitTogether(t *testing.T) {
	file := rows(t, 12)
	emit := func(ahead bool) (code string, requests uint64) {
		c := open(t, acme())
		specs, _ := load(t, c)
		for _, s := range specs {
			if !ahead {
				s.EmitAhead = nil
			}
		}
		reg, before := ops.Builtin().With(specs...), c.Requests()
		code = cpp(t, reg, file)
		requests = c.Requests() - before
		if again := cpp(t, reg, file); again != code || c.Requests()-before != requests {
			t.Error("what is known was asked again, or came out differently")
		}
		return code, requests
	}
	together, few := emit(true)
	alone, many := emit(false)
	if together != alone {
		t.Errorf("together:\n%s\nalone:\n%s", together, alone)
	}
	if many-few != 11 {
		t.Errorf("%d requests, and %d one by one", few, many)
	}
}

// Questions that fail together are asked one by one: the plugin answers those that it can, and the report of the other one has the place of its call.
func TestOneOfABatchFails(t *testing.T) {
	specs, _ := load(t, open(t, acme()))
	row := ops.NewRegistry(specs...).Lookup("acme.row")
	for n := range int64(4) {
		row.EmitAhead(view(row, 666+n), true)
	}
	for n := range int64(4) {
		_, d := row.Emit(siteOf(view(row, 666+n)))
		if n == 0 && (d == nil || d.Code != plugins.CodeFailed || d.Span.Line != 666) || n > 0 && d != nil {
			t.Errorf("row %d: %v", 666+n, d)
		}
	}
}

// So are those that travelled with one at which the plugin ends; it is used further.
func TestOneOfABatchCrashes(t *testing.T) {
	specs, _ := load(t, open(t, acme()))
	row := ops.NewRegistry(specs...).Lookup("acme.row")
	for n := range int64(4) {
		row.EmitAhead(view(row, 699+n), true)
	}
	for n := range int64(5) { // the last one is asked later
		_, d := row.Emit(siteOf(view(row, 699+n)))
		if n == 1 && (d == nil || d.Code != plugins.CodeCrash || d.Span.Line != 700 || !strings.Contains(d.Message, "exit status 7")) || n != 1 && d != nil {
			t.Errorf("row %d: %v", 699+n, d)
		}
	}
}

// view is the n-th row of a tensor.
func view(s *ops.Spec, n int64) *ir.OpCall {
	rows := &ir.Var{Hint: "rows", Typ: ir.IndexType, Dyn: true}
	a := &ir.Var{Hint: "a", Typ: &ir.TensorType{Shape: []ir.Expr{rows, num(16)}, DType: ir.FP32}}
	return &ir.OpCall{Op: s.Name, Args: []ir.Expr{a, num(n)}, Typ: &ir.TensorType{Shape: []ir.Expr{num(1), num(16)}, DType: ir.FP32}, Pos: diag.Span{File: "r.py", Line: int32(n), Col: 1}}
}

func siteOf(c *ir.OpCall) *ops.EmitSite {
	return &ops.EmitSite{Call: c, Args: []plan.Expr{&plan.Ref{Name: &plan.Name{Text: "a"}}, &plan.Int{Value: 1, DType: ir.INDEX}}, Lists: make([][]plan.Expr, 2), Result: &plan.Name{Text: "r"},
		Local: func(affix string) *plan.Name { return &plan.Name{Text: affix} }, EntryTensor: func(int) (int, bool) { return 0, false }}
}

// An answer that does not fit what was asked about is refused for every call in it, since nothing says which part of it is right.
func TestBadBatches(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for how, want := range map[string]string{
		"emit: good":         "",
		"emit: few":          "2 templates for 3 calls",
		"emit: many":         "4 templates for 3 calls",
		"emit: none":         "parts are missing",
		"emit: beyond":       "they are not the calls that were asked about",
		"emit: no report":    "they are not the calls that were asked about",
		"emit: report twice": "the same question got two answers",
		"infer: good":        "",
		"infer: few":         "they are not the calls that were asked about",
		"infer: many":        "they are not the calls that were asked about",
		"infer: junk":        "malformed IR data",
		"infer: swapped":     "they are not the calls that were asked about",
		"infer: mixed":       "the type holds a variable of another call",
		"infer: beyond":      "they are not the calls that were asked about",
	} {
		t.Run(how, func(t *testing.T) {
			t.Setenv("FAKE_HELPER", how)
			c := client.New(t.Context(), exe, []plugins.Config{acme()}, "")
			defer c.Close()
			specs, _ := load(t, c)
			reg := ops.NewRegistry(specs...)
			var calls []*ir.OpCall
			for i, name := range []string{"acme.a", "acme.b", "acme.a"} {
				calls = append(calls, view(reg.Lookup(name), int64(i)+1))
			}
			emit := strings.HasPrefix(how, "emit")
			for _, x := range calls {
				if emit {
					reg.Lookup(x.Op).EmitAhead(x, true)
				} else if err := c.ForeseeType("acme", x); err != nil {
					t.Fatal(err)
				}
			}
			for i, x := range calls {
				s := reg.Lookup(x.Op)
				var d *diag.Diagnostic
				if emit {
					_, d = s.Emit(siteOf(x))
				} else {
					_, d = s.Infer(&ops.Site{Spec: s, Args: x.Args, Pos: x.Pos})
				}
				right := want == "" || i > 0 && (how == "emit: report twice" || how == "infer: mixed") // wrong for the first call only
				if right && d != nil || !right && (d == nil || d.Code != plugins.CodeAnswer || !strings.Contains(d.Message, want)) {
					t.Errorf("call %d: %v, want %q", i, d, want)
				}
			}
			if n := c.Requests(); how != "emit: report twice" && n != 2 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// answerBatch plays a plugin whose ops acme.a and acme.b are views.
func answerBatch(how string, r *plugins.Request, resp *plugins.Response) {
	_, how, _ = strings.Cut(how, ": ")
	report := &diag.Diagnostic{Message: "no"}
	switch {
	case r.Emit != nil:
		t := &template.Template{Lines: []template.Line{{{Text: "Tensor "}, {Kind: template.Result}, {Text: " = "}, {Kind: template.Operand}, {Text: ";"}}}}
		n := len(r.Emit.Bound)
		resp.Emit = &plugins.EmitResponse{}
		switch how {
		case "few":
			n--
		case "many":
			n++
		case "none":
			resp.Emit = nil
			return
		case "beyond":
			resp.Emit.Errors = []plugins.CallError{{Call: n, Diag: report}}
		case "no report":
			resp.Emit.Errors = []plugins.CallError{{Call: 0}}
		case "report twice":
			if n > 1 {
				resp.Emit.Errors = []plugins.CallError{{Diag: report}, {Diag: report}}
			}
		}
		resp.Emit.Templates = slices.Repeat([]*template.Template{t}, n)
	case r.Infer != nil:
		table := ir.NewVarTable()
		calls, err := plugins.DecodeCalls(r.Infer.Calls, table)
		if err != nil {
			panic(err)
		}
		for _, c := range calls {
			c.Typ = c.Args[0].Type()
		}
		resp.Infer = &plugins.InferResponse{}
		switch how {
		case "few":
			calls = calls[1:]
		case "many":
			calls = append(calls, calls[0])
		case "swapped":
			calls[0], calls[1], calls[2] = calls[1], calls[0], calls[1]
		case "mixed":
			calls[0].Typ = calls[1].Typ
		case "beyond":
			resp.Infer.Errors = []plugins.CallError{{Call: -1, Diag: report}}
		}
		if resp.Infer.Calls, err = plugins.EncodeCalls(calls, table); err != nil {
			panic(err)
		}
		if how == "junk" {
			resp.Infer.Calls = resp.Infer.Calls[:len(resp.Infer.Calls)/2]
		}
	default:
		resp.Desc = &plugins.Description{Name: "acme"}
		for _, name := range []string{"acme.a", "acme.b"} {
			resp.Desc.Ops = append(resp.Desc.Ops, &ops.Spec{Name: name, Where: ops.OnHost, Result: ops.Result{Kind: ops.View}, Effects: []ops.Effect{ops.Untouched},
				Params: []ops.Param{{Name: "x", Kind: ops.TensorArg}, {Name: "n", Kind: ops.ScalarArg}}})
			resp.Desc.Can = append(resp.Desc.Can, plugins.Can{Infer: true, Emit: true})
		}
	}
}
