package host

import (
	"os"
	"sync"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/runtime/native/protocol"
)

// hostOps is the registry of the host: the built-in ops and those that the parent evaluates.
func hostOps(foreign []protocol.ForeignOp) *ops.Registry {
	if len(foreign) == 0 {
		return ops.Builtin()
	}
	p := &parentOps{ask: protocol.Writer{W: os.NewFile(protocol.AskFD, "ask")}, answer: os.NewFile(protocol.AnswerFD, "answer")}
	var specs []*ops.Spec
	for _, f := range foreign {
		specs = append(specs, &ops.Spec{Name: f.Name, Params: f.Params, Result: f.Result, Effects: f.Effects, Where: ops.InCore, Evaluate: p.evaluate})
	}
	return ops.Builtin().With(specs...)
}

type parentOps struct {
	mu     sync.Mutex
	ask    protocol.Writer
	answer *os.File
}

func (p *parentOps) evaluate(e *ops.Evaluation) *diag.Diagnostic {
	p.mu.Lock()
	defer p.mu.Unlock()
	var a protocol.Evaluated
	err := p.ask.Write(e)
	if err == nil {
		err = protocol.Read(p.answer, &a)
	}
	switch {
	case err != nil:
		return diag.Errorf(protocol.CodeProtocol, diag.Span{}, "asking for %s: %v", e.Op, err)
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
