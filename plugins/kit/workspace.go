package kit

import (
	"fmt"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/plugins"
)

// Workspace is one that uses the plugin.
type Workspace struct {
	Calls []*ir.OpCall // of the plugin's ops in its programs, as the front end gives them
	// Compare runs the workspace's tests with and without a pass of the plugin.
	Compare func(pass string) (*Comparison, error)
}

// Comparison says what the tests of a workspace do without a pass.
type Comparison struct {
	Same      int      // compute the same
	Different []string // compute something else: which and what
	Cannot    []string // cannot run without it
}

// onAndOff runs the workspace's tests with each pass on and off: a pass may change how something is computed, not what.
func (k *Kit) onAndOff() (string, error) {
	if len(k.about.Passes) == 0 {
		return "no passes", nil
	}
	var ds diag.List
	same, cannot := 0, 0
	for _, p := range k.about.Passes {
		c, err := k.ws.Compare(p.Name)
		if err != nil {
			return "", err
		}
		same, cannot = same+c.Same, cannot+len(c.Cannot)
		for _, d := range c.Different {
			ds.Add(diag.Errorf(plugins.CodeConformance, diag.Span{}, "pass %s changes what is computed: %s", p.Name, d))
		}
	}
	text := fmt.Sprintf("%d passes, %d runs of the workspace's tests compute the same without them", len(k.about.Passes), same)
	if cannot > 0 {
		text += fmt.Sprintf(", %d need them", cannot)
	}
	return text, ds.Err()
}

// most is how many calls of one op in the workspace's programs are looked at.
const most = 16

// like are the calls of an op in the workspace's programs and some like them: other dtypes, twice the extents. A workspace that is not there has none.
func (w *Workspace) like(op string) []*ir.OpCall {
	if w == nil {
		return nil
	}
	var out []*ir.OpCall
	var seen []string
	for _, c := range w.Calls {
		if c.Op != op || len(seen) == most || slices.Contains(seen, show(c)) {
			continue
		}
		seen = append(seen, show(c))
		out = append(out, variant(c, ir.NoDType, 1), variant(c, ir.NoDType, 2))
		for _, d := range []ir.DType{ir.FP32, ir.FP16, ir.INT32} {
			out = append(out, variant(c, d, 1))
		}
	}
	return out
}

// variant is a call whose operands are variables and literals: those of elements have another dtype, unless it is NoDType, and all extents and integers in lists are
// multiplied.
func variant(c *ir.OpCall, d ir.DType, times int64) *ir.OpCall {
	var was ir.DType // of the first operand with elements; others with the same change along with it
	for _, a := range c.Args {
		if t := a.Type(); was == ir.NoDType && ir.ShapeOf(t) != nil {
			was = ir.ElemDType(t)
		}
	}
	dtype := func(x ir.DType) ir.DType {
		if d != ir.NoDType && x == was {
			return d
		}
		return x
	}
	multiplied := func(es []ir.Expr) []ir.Expr {
		out := slices.Clone(es)
		for i, e := range es {
			if n, known := ir.IntValue(e); known && times > 1 {
				out[i] = ir.Int(n * times)
			}
		}
		return out
	}
	plain := d == ir.NoDType && times == 1
	n := &ir.OpCall{Op: c.Op, Kwargs: c.Kwargs, Typ: ir.Unknown, Pos: c.Pos, Args: make([]ir.Expr, len(c.Args))}
	for i, a := range c.Args {
		t := a.Type()
		switch x := a.(type) {
		case *ir.MakeTuple:
			if plain {
				n.Args[i] = x
			} else {
				n.Args[i] = &ir.MakeTuple{Elems: multiplied(x.Elems), Pos: x.Pos}
			}
			continue
		case *ir.ConstInt, *ir.ConstFloat, *ir.ConstBool:
			n.Args[i] = a
			continue
		}
		switch x := t.(type) {
		case *ir.TensorType:
			if !plain {
				t = &ir.TensorType{Shape: multiplied(x.Shape), DType: dtype(x.DType)}
			}
		case *ir.TileType:
			if !plain {
				t = &ir.TileType{Shape: multiplied(x.Shape), DType: dtype(x.DType), Mem: x.Mem}
			}
		}
		n.Args[i] = &ir.Var{Hint: "x", Typ: t, Pos: a.Span()}
	}
	return n
}
