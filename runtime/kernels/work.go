package kernels

import (
	"slices"

	"github.com/ptobuild/ptobuild/ir"
)

// What ops cost on the simulated core: each is an instruction, vector ops besides take the bytes of their biggest operand or result, and matrix ops
// their multiply-accumulates. Bytes of global memory are counted where they are touched.

// charge makes the accountant of an op call. It sees the operands and the result after the op.
func (o *opCtx) charge() func(m *machine, out *region) {
	if !isVectorOp(o.leaf) {
		return func(m *machine, _ *region) { m.work.Ops++ }
	}
	var operands []int
	for _, a := range o.call.Args {
		v, ok := a.(*ir.Var)
		if !ok { // rare: a nested call, whose own cost counts
			continue
		}
		if s, ok := o.c.env[v]; ok && s.kind == regionSlot {
			operands = append(operands, s.i)
		}
	}
	return func(m *machine, out *region) {
		n := validBytes(out)
		for _, i := range operands {
			n = max(n, validBytes(&m.regs[i]))
		}
		m.work.Ops++
		m.work.Vector += uint64(n)
	}
}

func isVectorOp(leaf string) bool {
	return slices.ContainsFunc(vectorFamilies, func(f map[string]func(o *opCtx) evalFn) bool { return f[leaf] != nil })
}

// fillOps are the createOps that write something.
var fillOps = map[string]func(o *opCtx) evalFn{"full": buildFull, "ci": buildCi, "tri": buildTri, "random": buildRandom}

var vectorFamilies []map[string]func(o *opCtx) evalFn

func init() {
	vectorFamilies = []map[string]func(o *opCtx) evalFn{elementwiseOps, unaryOps, reduceOps, expandOps, gatherOps, sortOps, fillOps}
}

func validBytes(r *region) int {
	if r.st == nil && r.mem == nil {
		return 0
	}
	return product(r.rank, &r.valid) * r.dt.Bytes()
}

// multiplied counts the multiply-accumulates of a matrix product, in units of 16-bit ones: 8-bit ones run at twice the rate, 32-bit ones at a quarter.
func (m *machine) multiplied(n, bytes int) {
	switch {
	case bytes >= 4:
		n *= 4
	case bytes == 1:
		n /= 2
	}
	m.work.Multiply += uint64(n)
}
