package native

import (
	"bufio"
	"encoding/gob"
	"io"
	"os"
	"sync"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
)

// Kernels in the child may use ops whose Evaluate is code of the parent's (a plugin's). The child asks for each call over two more descriptors, so that one
// process of a plugin serves both engines.

// foreignOp is what the evaluator has to know of such an op.
type foreignOp struct {
	Name    string
	Params  []ops.Param
	Result  ops.Result
	Effects []ops.Effect
}

// evaluated is what an evaluation changed.
type evaluated struct {
	Failure  *diag.Diagnostic
	Result   []byte
	Scalar   any
	Origin   []int64
	Operands [][]byte // of writable operands
}

// registerValues makes the values of keyword arguments known.
var registerValues = sync.OnceFunc(func() {
	gob.Register(ir.DType(0))
	gob.Register(ir.Enum{})
})

// foreignOps are the ops of a registry that the child has to ask for.
func foreignOps(reg *ops.Registry) []foreignOp {
	if reg == nil {
		return nil
	}
	var out []foreignOp
	for _, s := range reg.All() {
		if s.Evaluate != nil {
			out = append(out, foreignOp{s.Name, s.Params, s.Result, s.Effects})
		}
	}
	return out
}

// answerChild serves the child's questions until it ends.
func answerChild(reg *ops.Registry, ask io.Reader, answer io.Writer) {
	registerValues()
	dec, w := gob.NewDecoder(bufio.NewReaderSize(ask, 64<<10)), bufio.NewWriterSize(answer, 64<<10)
	enc := gob.NewEncoder(w)
	for {
		var e ops.Evaluation
		if dec.Decode(&e) != nil {
			return
		}
		var a evaluated
		if s := reg.Lookup(e.Op); s != nil && s.Evaluate != nil {
			a.Failure = s.Evaluate(&e)
		} else {
			a.Failure = diag.Errorf(CodeProtocol, diag.Span{}, "the child asked for op %q", e.Op)
		}
		if e.Result != nil {
			a.Result = e.Result.Data
		}
		a.Scalar, a.Origin = e.Scalar, e.Origin
		for _, o := range e.Operands {
			var data []byte
			if o.Elements != nil && o.Elements.Writable {
				data = o.Elements.Data
			}
			a.Operands = append(a.Operands, data)
		}
		if enc.Encode(&a) != nil || w.Flush() != nil {
			return
		}
	}
}

// childOps is the registry of the child: the built-in ops and those that the parent evaluates.
func childOps(foreign []foreignOp) *ops.Registry {
	if len(foreign) == 0 {
		return ops.Builtin()
	}
	registerValues()
	p := &parentOps{enc: gob.NewEncoder(os.NewFile(fdAsk, "ask")), dec: gob.NewDecoder(bufio.NewReaderSize(os.NewFile(fdAnswer, "answer"), 64<<10))}
	var specs []*ops.Spec
	for _, f := range foreign {
		specs = append(specs, &ops.Spec{Name: f.Name, Params: f.Params, Result: f.Result, Effects: f.Effects, Where: ops.InCore, Evaluate: p.evaluate})
	}
	return ops.Builtin().With(specs...)
}

type parentOps struct {
	mu  sync.Mutex
	enc *gob.Encoder
	dec *gob.Decoder
}

func (p *parentOps) evaluate(e *ops.Evaluation) *diag.Diagnostic {
	p.mu.Lock()
	defer p.mu.Unlock()
	var a evaluated
	err := p.enc.Encode(e)
	if err == nil {
		err = p.dec.Decode(&a)
	}
	switch {
	case err != nil:
		return diag.Errorf(CodeProtocol, diag.Span{}, "asking for %s: %v", e.Op, err)
	case a.Failure != nil:
		return a.Failure
	}
	if e.Result != nil {
		e.Result.Data = a.Result
	}
	e.Scalar, e.Origin = a.Scalar, a.Origin
	for i, data := range a.Operands {
		if data != nil && i < len(e.Operands) && e.Operands[i].Elements != nil {
			e.Operands[i].Elements.Data = data
		}
	}
	return nil
}
