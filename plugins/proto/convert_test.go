package proto_test

import (
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/plugins"
	pb "github.com/ptobuild/ptobuild/plugins/proto"
)

// Every built-in spec survives the way to the other side, over the wire, but for its functions and for operands that are symbolic constants.
func TestSpecRoundTrip(t *testing.T) {
	for _, s := range ops.Builtin().All() {
		m, err := pb.FromSpec(s, plugins.Can{Infer: s.Infer != nil})
		if err != nil {
			t.Error(err)
			continue
		}
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		back := &pb.OpSpec{}
		if err := proto.Unmarshal(b, back); err != nil {
			t.Fatal(err)
		}
		got, err := back.Spec()
		if err != nil {
			t.Error(err)
			continue
		}
		want := *s
		want.Infer, want.Emit, want.Verify, want.Evaluate = nil, nil, nil, nil
		want.Params = append([]ops.Param(nil), s.Params...)
		for i := range want.Params {
			want.Params[i].Kind &= ops.TensorArg | ops.TileArg | ops.ScalarArg | ops.ArrayArg | ops.TupleArg | ops.TaskArg | ops.OtherArg
		}
		if !reflect.DeepEqual(got, &want) {
			t.Errorf("%s: got\n%+v\nwant\n%+v", s.Name, got, &want)
		}
		if back.Infers != (s.Infer != nil) {
			t.Errorf("%s: infers %v", s.Name, back.Infers)
		}
	}
}

// A number or name that this version does not know is an error that names the op, not a guess.
func TestUnknownNumbers(t *testing.T) {
	for want, m := range map[string]*pb.OpSpec{
		`op "acme.x": result 9 is not known`:                         {Name: "acme.x", Result: 9},
		`op "acme.x": effect -1 is not known`:                        {Name: "acme.x", Effects: []pb.OpSpec_Effect{-1}},
		`op "acme.x": kind of operand 77 is not known`:               {Name: "acme.x", Params: []*pb.Param{{Name: "a", Kinds: []pb.Param_Kind{77}}}},
		`op "acme.x": "Attic" is no memory space`:                    {Name: "acme.x", ResultMem: "Attic"},
		`op "acme.x": "FP7" is no dtype`:                             {Name: "acme.x", Keywords: []*pb.Keyword{{Name: "k", Default: &pb.Value{Value: &pb.Value_Dtype{Dtype: "FP7"}}}}},
		`op "acme.x": a default of a kind that is not known to this`: {Name: "acme.x", Keywords: []*pb.Keyword{{Name: "k", Default: &pb.Value{}}}},
	} {
		if s, err := m.Spec(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, %v, want %q", s, err, want)
		}
	}
}

func TestDiagRoundTrip(t *testing.T) {
	d := diag.Warningf("ACME-1", diag.Span{File: "a.py", Line: 1, Col: 2, EndLine: 3, EndCol: 4}, "m").WithHint("h").WithRelated(diag.Span{File: "b.py", Line: 9}, "r")
	if got := pb.FromDiag(d).Diag(); !reflect.DeepEqual(got, d) {
		t.Errorf("got %+v", got)
	}
}

// IRVersion is the version that package ir writes.
func TestIRVersion(t *testing.T) {
	b, err := ir.MarshalFunctions(nil, ir.NewVarTable())
	if err != nil || len(b) < 5 || string(b[:4]) != "PTIR" || b[4] != pb.IRVersion {
		t.Errorf("the wire form begins with %q, %v", b[:min(len(b), 5)], err)
	}
}
