package plugins

import (
	"bufio"
	"encoding/gob"
	"fmt"
	"io"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// Pipe carries messages as gob, which frames them itself. What a request or a response is about comes as a message of its own, so that both ends prepare for the types
// that are really sent: for all, that would be a tenth of the time in which a plugin starts.
type Pipe struct {
	w   *bufio.Writer
	enc *gob.Encoder
	dec *gob.Decoder
}

// NewPipe makes a pipe out of its two directions. One goroutine may send and one may receive at a time.
func NewPipe(r io.Reader, w io.Writer) *Pipe {
	b := bufio.NewWriter(w)
	return &Pipe{b, gob.NewEncoder(b), gob.NewDecoder(r)}
}

func init() {
	gob.Register(ir.DType(0)) // values of ops.Kwarg.Default
	gob.Register(ir.Enum{})
}

// Send sends a message of any type.
func (p *Pipe) Send(m any) error {
	if err := p.enc.Encode(m); err != nil {
		return err
	}
	return p.w.Flush()
}

// Receive receives a message of a type.
func (p *Pipe) Receive(m any) error { return p.dec.Decode(m) }

// head says which part of a request or a response follows; 0: none.
type head struct {
	ID     uint64
	Plugin string
	Part   int
}

// part is a field of a request or a response, of which at most one is set.
type part interface {
	isSet() bool
	value() any
	make() any // sets it to something that can be received
}

type pointer[T any] struct{ field **T }

func (p pointer[T]) isSet() bool { return *p.field != nil }
func (p pointer[T]) value() any  { return *p.field }
func (p pointer[T]) make() any {
	*p.field = new(T)
	return *p.field
}

type list[T any] struct{ field *[]T }

func (l list[T]) isSet() bool { return *l.field != nil }
func (l list[T]) value() any  { return *l.field }
func (l list[T]) make() any   { return l.field }

func (r *Request) parts() []part {
	return []part{pointer[Exit]{&r.Exit}, pointer[InferRequest]{&r.Infer}, pointer[VerifyRequest]{&r.Verify}, pointer[EmitRequest]{&r.Emit},
		pointer[EvaluateRequest]{&r.Evaluate}, pointer[RunRequest]{&r.Run}}
}

func (r *Response) parts() []part {
	return []part{list[*diag.Diagnostic]{(*[]*diag.Diagnostic)(&r.Failure)}, pointer[Description]{&r.Desc}, pointer[InferResponse]{&r.Infer}, pointer[VerifyResponse]{&r.Verify},
		pointer[EmitResponse]{&r.Emit}, pointer[EvaluateResponse]{&r.Evaluate}, pointer[RunResponse]{&r.Run}}
}

// SendRequest and SendResponse send one, ReceiveRequest and ReceiveResponse fill in one that is empty.
func (p *Pipe) SendRequest(r *Request) error {
	return p.send(head{ID: r.ID, Plugin: r.Plugin}, r.parts())
}
func (p *Pipe) SendResponse(r *Response) error { return p.send(head{ID: r.ID}, r.parts()) }

func (p *Pipe) ReceiveRequest(r *Request) error {
	h, err := p.receive(r.parts())
	r.ID, r.Plugin = h.ID, h.Plugin
	return err
}

func (p *Pipe) ReceiveResponse(r *Response) error {
	h, err := p.receive(r.parts())
	r.ID = h.ID
	return err
}

func (p *Pipe) send(h head, parts []part) error {
	i := slices.IndexFunc(parts, part.isSet)
	h.Part = i + 1
	err := p.enc.Encode(h)
	if err == nil && i >= 0 {
		err = p.enc.Encode(parts[i].value())
	}
	if err != nil {
		return err
	}
	return p.w.Flush()
}

func (p *Pipe) receive(parts []part) (h head, err error) {
	if err = p.dec.Decode(&h); err != nil || h.Part == 0 {
		return h, err
	}
	if h.Part < 0 || h.Part > len(parts) {
		return h, fmt.Errorf("a message with part %d", h.Part)
	}
	return h, p.dec.Decode(parts[h.Part-1].make())
}
