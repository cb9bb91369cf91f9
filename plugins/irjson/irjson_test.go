package irjson_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/irtest"
	"github.com/ptobuild/ptobuild/plugins/irjson"
)

// TestRoundTrip: what comes back is the same to the byte of the wire form, which has everything, and its variables are the ones that were sent.
func TestRoundTrip(t *testing.T) {
	for seed := range uint64(60) {
		for name, p := range map[string]*ir.Program{"any": irtest.AnyProgram(seed), "random": irtest.RandomProgram(seed)} {
			table := ir.NewVarTable()
			want, err := ir.MarshalFunctions(p.Funcs, table)
			if err != nil {
				t.Fatal(err)
			}
			data, vars, err := irjson.Marshal(p.Funcs)
			if err != nil {
				t.Fatalf("%s %d: %v", name, seed, err)
			}
			fs, err := vars.Unmarshal(data)
			if err != nil {
				t.Fatalf("%s %d: %v", name, seed, err)
			}
			got, err := ir.MarshalFunctions(fs, table)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("%s %d: %s", name, seed, ir.Diff(p, &ir.Program{Name: p.Name, Funcs: fs}))
			}
		}
	}
}

func TestUnmarshalRefuses(t *testing.T) {
	x := &ir.Var{Hint: "x", Typ: ir.IndexType}
	data, vars, err := irjson.Marshal([]*ir.Function{{Name: "f", Body: ir.Block{&ir.Eval{X: x}}}})
	if err != nil {
		t.Fatal(err)
	}
	document := func(body string) string { return `{"functions": [{"name": "f", "body": [` + body + `]}]}` }
	for _, tt := range []struct{ text, want string }{
		{string(data) + "x", "text after the document"},
		{string(data[:len(data)-1]), "it is no JSON: it ends in the middle"},
		{`{"functions": [{"name": "f", "body": [NaN]}]}`, "it is no JSON at byte 38, before \"NaN]}]}\" and after \"{\\\"functions\\\": [{\\\"name\\\": \\\"f\\\", \\\"body\\\": [\""},
		{`{"functions": "f"}`, "functions: a string where a list has to be"},
		{`[]`, "a list where a document has to be"},
		{`{"vars": 1, "functions": []}`, "vars: a number where a list has to be"},
		{`{"vars": [{"id": 0, "hint": "y"}], "functions": []}`, "vars[0] (y): the variable of this id was sent as x"},
		{`{"vars": [{"id": 0, "hint": "x", "type": {"node": "ScalarType", "dtype": "FP16"}}], "functions": []}`, "vars[0] (x): the variable of this id was sent as x, with another name or type"},
		{document(`{"nod": "Eval"}`), `function f, body[0]: an object that is neither a node, which says its kind in "node", nor a variable`},
		{document(`{"node": "Eval", "x": {"node": "Call", "calee": "k"}}`), `function f, body[0].x: Call has no field "calee"; was "callee" meant?`},
		{document(`{"node": "Evil"}`), `function f, body[0]: "Evil" is no kind of node; was "Eval" meant?`},
		{`{"functions": [7]}`, "functions[0]: a number where an object has to be"},
		{`{"vars": [{"id": 1}, {"id": 1}], "functions": []}`, "vars[1]: id 1 comes twice"},
		{`{"vars": [{"id": "a"}], "functions": []}`, "vars[0].id: a string where a whole number has to be"},
		{document(`{"node": "Nonsense"}`), `function f, body[0]: "Nonsense" is no kind of node`},
		{document(`{"node": "ConstInt", "value": 1}`), "function f, body[0]: ConstInt cannot stand where a statement has to be"},
		{document(`{"node": "Eval", "x": {"var": 9}}`), "function f, body[0].x: variable 9 has no entry in vars"},
		{document(`{"node": "Eval", "y": 1}`), "function f, body[0]: Eval has no field \"y\": there are x, comments, pos"},
		{document(`{"node": "Eval", "x": {"node": "ConstInt", "dtype": "FP99"}}`), `function f, body[0].x.dtype: "FP99" is no dtype`},
		{document(`{"node": "Eval", "x": {"node": "OpCall", "type": {"node": "TileType", "shape": []}}}`), "a TileType without dtype"},
		{document(`{"node": "Eval", "x": {"node": "Binary", "op": "?"}}`), `function f, body[0].x.op: "?" is none of +, -`},
		{document(`{"node": "Eval", "x": {"node": "ConstInt", "value": 1.5}}`), "function f, body[0].x.value: 1.5 is no whole number of 64 bits"},
		{document(`{"node": "Eval", "x": {"node": "ConstInt", "pos": [1]}}`), "function f, body[0].x.pos: a place is"},
		{document(`{"node": "Eval", "x": {"node": "OpCall", "kwargs": [{"name": "k", "value": 3}]}}`), "function f, body[0].x.kwargs[0].value: a value is an object with one key"},
	} {
		if _, err := vars.Unmarshal([]byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.text, err)
		}
	}
	if fs, err := vars.Unmarshal([]byte(document(`{"node": "Eval", "x": {"var": 0}}`))); err != nil || fs[0].Body[0].(*ir.Eval).X != x {
		t.Errorf("the variable came back as another one: %v", err)
	}
}

// FuzzUnmarshal: no answer is worse than an error.
func FuzzUnmarshal(f *testing.F) {
	for seed := range uint64(5) {
		data, _, err := irjson.Marshal(irtest.AnyProgram(seed).Funcs)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fs, err := new(irjson.Vars).Unmarshal(data)
		if err == nil {
			_, err = ir.MarshalFunctions(fs, ir.NewVarTable()) // refuses what is no program
		}
		_ = fmt.Sprint(err)
	})
}
