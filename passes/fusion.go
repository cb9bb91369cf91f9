package passes

import (
	"errors"
	"fmt"

	"github.com/ptobuild/ptobuild/ir"
)

// Fusion claims that a kernel of a new program does what calls of two kernels, one right after the other, did in the old one (see CheckFusions).
type Fusion struct {
	Kernel        string // the new kernel
	First, Second string // what it replaces
	// By parameter of First and Second: the parameter of Kernel that takes its place.
	FirstParams, SecondParams []int
}

// CheckFusions proves the claims that a pass makes about its result. Two tasks on the same core, submitted one right after the other, may become one when that one
// runs their bodies in the same order on the same arguments. So, for each claim:
//
//   - both kernels are of one type, have bodies, run on one lane, and write and return one parameter each; the new kernel is like them;
//   - its body is the body of the first, then that of the second, with its parameters in the places of theirs;
//   - a parameter that both kernels only read is In, one that both only write is Out, any other that one of them writes is InOut.
//
// And for the program as a whole: when every call of a new kernel is taken apart into a call of the first and a call of the second kernel, all functions are what
// they were before. So nothing was between the two calls, and nothing else changed.
func CheckFusions(before, after *ir.Program, claims []Fusion) error {
	fusions := map[string]*fusion{}
	for i := range claims {
		f, err := newFusion(before, after, &claims[i])
		if err != nil {
			return err
		}
		if fusions[f.kernel.Name] != nil {
			return fmt.Errorf("there are two claims about kernel %s", f.kernel.Name)
		}
		fusions[f.kernel.Name] = f
	}
	for _, f := range after.Funcs {
		old := before.Lookup(f.Name)
		switch {
		case fusions[f.Name] != nil:
			if old != nil {
				return fmt.Errorf("%s is no new kernel", f.Name)
			}
		case old == nil:
			return fmt.Errorf("there is no claim about the new function %s", f.Name)
		case old == f:
		default:
			g := *f
			var err error
			if g.Body, err = takeApart(f.Body, fusions); err != nil {
				return fmt.Errorf("in function %s: %w", f.Name, err)
			}
			if d := ir.DiffFunctions(&g, old); d != "" {
				return fmt.Errorf("function %s with its fused calls taken apart is not what it was: %s", f.Name, d)
			}
		}
	}
	for _, f := range before.Funcs {
		if after.Lookup(f.Name) == nil && !isPart(claims, f.Name) {
			return fmt.Errorf("function %s is gone without having been fused", f.Name)
		}
	}
	return nil
}

func isPart(claims []Fusion, name string) bool {
	for i := range claims {
		if claims[i].First == name || claims[i].Second == name {
			return true
		}
	}
	return false
}

// fusion is a claim whose kernels are found and fit.
type fusion struct {
	*Fusion
	kernel, first, second *ir.Function
	firstOut, secondOut   int // by parameter of the kernel: what each writes
	results               int // of the kernel: the second's, or the first's and the second's
}

func newFusion(before, after *ir.Program, c *Fusion) (*fusion, error) {
	f := &fusion{Fusion: c, kernel: after.Lookup(c.Kernel), first: before.Lookup(c.First), second: before.Lookup(c.Second)}
	if f.kernel == nil || f.first == nil || f.second == nil {
		return nil, fmt.Errorf("%s, %s or %s does not exist", c.Kernel, c.First, c.Second)
	}
	for _, k := range []*ir.Function{f.kernel, f.first, f.second} {
		switch {
		case k.Type != f.first.Type || !k.Type.IsKernel() || k.Level != f.first.Level || k.Role != f.first.Role:
			return nil, fmt.Errorf("%s is another kind of function than %s", k.Name, c.First)
		case k.External != nil || k.DualAIV || k.Split != f.first.Split || len(k.Attrs) > 0:
			return nil, fmt.Errorf("kernel %s has no body to fuse, or runs on several lanes", k.Name)
		case len(k.Body) == 0:
			return nil, fmt.Errorf("kernel %s is empty", k.Name)
		}
	}
	var err error
	if f.firstOut, err = f.place(f.first, c.FirstParams); err != nil {
		return nil, err
	}
	if f.secondOut, err = f.place(f.second, c.SecondParams); err != nil {
		return nil, err
	}
	if err := f.checkDirections(); err != nil {
		return nil, err
	}
	returned, err := f.returned()
	if err != nil {
		return nil, err
	}
	f.results = len(returned)
	want := *f.kernel
	want.Body = append(append(ir.Block{}, f.inPlace(f.first, c.FirstParams)...), f.inPlace(f.second, c.SecondParams)...)
	want.Body = append(want.Body, f.kernel.Body[len(f.kernel.Body)-1])
	if d := ir.DiffFunctions(f.kernel, &want); d != "" {
		return nil, fmt.Errorf("the body of %s is not that of %s and then that of %s: %s", c.Kernel, c.First, c.Second, d)
	}
	return f, nil
}

// place checks the parameters of one of the two and gives the kernel's parameter that it writes.
func (f *fusion) place(k *ir.Function, to []int) (out int, err error) {
	if len(to) != len(k.Params) {
		return 0, fmt.Errorf("the claim has %d parameters for the %d of %s", len(to), len(k.Params), k.Name)
	}
	out = -1
	for i, p := range k.Params {
		if to[i] < 0 || to[i] >= len(f.kernel.Params) {
			return 0, fmt.Errorf("%s has no parameter %d", f.kernel.Name, to[i])
		}
		if !ir.EqualTypes(p.Var.Typ, f.kernel.Params[to[i]].Var.Typ) {
			return 0, fmt.Errorf("parameter %d of %s has another type than parameter %d of %s", to[i], f.kernel.Name, i, k.Name)
		}
		if p.Dir != ir.In {
			if out >= 0 {
				return 0, fmt.Errorf("kernel %s writes more than one parameter", k.Name)
			}
			out = i
		}
	}
	r, ok := k.Body[len(k.Body)-1].(*ir.Return)
	if out < 0 || !ok || len(r.Values) != 1 || r.Values[0] != ir.Expr(k.Params[out].Var) {
		return 0, fmt.Errorf("kernel %s does not return the one parameter that it writes", k.Name)
	}
	return to[out], nil
}

// checkDirections holds the declared directions of the kernel against those of the two.
func (f *fusion) checkDirections() error {
	reads, writes := make([]bool, len(f.kernel.Params)), make([]bool, len(f.kernel.Params))
	for _, part := range []struct {
		k  *ir.Function
		to []int
	}{{f.first, f.FirstParams}, {f.second, f.SecondParams}} {
		for i, p := range part.k.Params {
			reads[part.to[i]] = reads[part.to[i]] || p.Dir != ir.Out
			writes[part.to[i]] = writes[part.to[i]] || p.Dir != ir.In
		}
	}
	for i, p := range f.kernel.Params {
		want := ir.In
		switch {
		case reads[i] && writes[i]:
			want = ir.InOut
		case writes[i]:
			want = ir.Out
		case !reads[i]:
			return fmt.Errorf("parameter %d of %s stands for nothing", i, f.kernel.Name)
		}
		if p.Dir != want {
			return fmt.Errorf("parameter %d of %s must be %s, not %s", i, f.kernel.Name, want, p.Dir)
		}
	}
	return nil
}

// returned checks what the kernel returns: what the second writes, after what the first writes if that is another parameter.
func (f *fusion) returned() ([]ir.Expr, error) {
	r, ok := f.kernel.Body[len(f.kernel.Body)-1].(*ir.Return)
	second := ir.Expr(f.kernel.Params[f.secondOut].Var)
	switch {
	case ok && len(r.Values) == 1 && r.Values[0] == second:
	case ok && len(r.Values) == 2 && f.firstOut != f.secondOut && r.Values[0] == ir.Expr(f.kernel.Params[f.firstOut].Var) && r.Values[1] == second:
	default:
		return nil, fmt.Errorf("kernel %s must return what %s writes, or what %s and %s write", f.kernel.Name, f.Second, f.First, f.Second)
	}
	return r.Values, nil
}

// inPlace is the body of a kernel without its return, over the parameters of the new kernel and variables of its own.
func (f *fusion) inPlace(k *ir.Function, to []int) ir.Block {
	vars := map[*ir.Var]*ir.Var{}
	for i, p := range k.Params {
		vars[p.Var] = f.kernel.Params[to[i]].Var
	}
	r := ir.Rewriter{}
	r.Var = func(v *ir.Var) *ir.Var {
		if v.Dyn {
			return v
		}
		n := vars[v]
		if n == nil {
			n = &ir.Var{Hint: v.Hint, Pos: v.Pos}
			vars[v] = n
			n.Typ = r.Type(v.Typ)
		}
		return n
	}
	return r.Block(k.Body[:len(k.Body)-1])
}

var errFusedCall = errors.New("a call of a fused kernel must be a plain one whose results are bound right after it")

// takeApart takes every call of a fused kernel apart.
func takeApart(b ir.Block, fusions map[string]*fusion) (ir.Block, error) {
	var out ir.Block
	for i := 0; i < len(b); i++ {
		f, call := fusedCall(b[i], fusions)
		if f == nil {
			s, err := takeApartStmt(b[i], fusions)
			if err != nil {
				return nil, err
			}
			out = append(out, s)
			continue
		}
		a, ok := b[i].(*ir.Assign)
		if !ok || !isPlain(call) || len(call.Args) != len(f.kernel.Params) {
			return nil, errFusedCall
		}
		mid, end := &ir.Var{Hint: "mid", Typ: call.Args[f.firstOut].Type()}, a.Var
		if f.results == 2 {
			if i+2 >= len(b) {
				return nil, errFusedCall
			}
			first, ok1 := resultOf(b[i+1], a.Var, 0)
			second, ok2 := resultOf(b[i+2], a.Var, 1)
			if !ok1 || !ok2 {
				return nil, errFusedCall
			}
			mid, end = first, second
			i += 2
		}
		one := &ir.Call{Callee: f.First, Typ: mid.Typ}
		for _, k := range f.FirstParams {
			one.Args = append(one.Args, call.Args[k])
		}
		two := &ir.Call{Callee: f.Second, Typ: end.Typ}
		for _, k := range f.SecondParams {
			if k == f.firstOut {
				two.Args = append(two.Args, mid)
			} else {
				two.Args = append(two.Args, call.Args[k])
			}
		}
		out = append(out, &ir.Assign{Var: mid, Value: one}, &ir.Assign{Var: end, Value: two})
	}
	return out, nil
}

// takeApartStmt does so in the blocks of a statement.
func takeApartStmt(s ir.Stmt, fusions map[string]*fusion) (ir.Stmt, error) {
	var err error
	inner := func(b ir.Block) ir.Block {
		if b == nil || err != nil {
			return b
		}
		n, e := takeApart(b, fusions)
		err = e
		return n
	}
	switch s := s.(type) {
	case *ir.If:
		n := *s
		n.Then, n.Else = inner(s.Then), inner(s.Else)
		return &n, err
	case *ir.For:
		n := *s
		n.Body = inner(s.Body)
		return &n, err
	case *ir.While:
		n := *s
		n.Body = inner(s.Body)
		return &n, err
	case *ir.Scope:
		n := *s
		n.Body = inner(s.Body)
		return &n, err
	}
	return s, nil
}

// fusedCall finds the call of a fused kernel that a statement is or holds.
func fusedCall(s ir.Stmt, fusions map[string]*fusion) (f *fusion, call *ir.Call) {
	ir.Exprs(s, func(e ir.Expr) bool {
		if c, ok := e.(*ir.Call); ok && fusions[c.Callee] != nil {
			f, call = fusions[c.Callee], c
		}
		return true
	})
	return f, call
}

func isPlain(c *ir.Call) bool {
	return !c.Submit && c.Launch.IsZero() && len(c.NoDep) == 0 && c.Dirs == nil && len(c.CompilerDeps) == 0 && c.Device == nil && len(c.Attrs) == 0
}

// resultOf reads x = tuple[i].
func resultOf(s ir.Stmt, tuple *ir.Var, i int) (*ir.Var, bool) {
	a, ok := s.(*ir.Assign)
	if !ok {
		return nil, false
	}
	g, ok := a.Value.(*ir.TupleGet)
	return a.Var, ok && g.X == ir.Expr(tuple) && g.Index == i
}
