package native

import (
	"io"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/runtime/native/protocol"
)

// foreignOps are the ops of a registry that the host has to ask for.
func foreignOps(reg *ops.Registry) []protocol.ForeignOp {
	if reg == nil {
		return nil
	}
	var out []protocol.ForeignOp
	for _, s := range reg.All() {
		if s.Evaluate != nil {
			out = append(out, protocol.ForeignOp{Name: s.Name, Params: s.Params, Result: s.Result, Effects: s.Effects})
		}
	}
	return out
}

// answerChild serves the host's questions until it ends.
func answerChild(reg *ops.Registry, ask io.Reader, answer io.Writer) {
	w := protocol.Writer{W: answer}
	for {
		var e ops.Evaluation
		if protocol.Read(ask, &e) != nil {
			return
		}
		var a protocol.Evaluated
		if s := reg.Lookup(e.Op); s != nil && s.Evaluate != nil {
			a.Failure = s.Evaluate(&e)
		} else {
			a.Failure = diag.Errorf(protocol.CodeProtocol, diag.Span{}, "the host asked for op %q", e.Op)
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
		if w.Write(&a) != nil {
			return
		}
	}
}
