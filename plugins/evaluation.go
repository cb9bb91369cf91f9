package plugins

import (
	"io"

	"github.com/ptobuild/ptobuild/ops"
)

// The elements of an evaluation travel in a file that both processes can see, on a memory file system where there is one: tiles are too large to be passed on
// by two processes in messages.

// elementsOf lists what travels in the file: operands in order, then the result.
func elementsOf(e *ops.Evaluation) []*ops.Elements {
	var out []*ops.Elements
	for _, o := range e.Operands {
		if o.Elements != nil {
			out = append(out, o.Elements)
		}
	}
	if e.Result != nil {
		out = append(out, e.Result)
	}
	return out
}

// Offsets are the places of the elements in the file, in the order of the operands and then the result, each a multiple of 8.
func Offsets(e *ops.Evaluation) []int64 {
	var out []int64
	at := int64(0)
	for _, x := range elementsOf(e) {
		out = append(out, at)
		at += (int64(x.Len()*x.Size()) + 7) &^ 7
	}
	return out
}

// WriteElements writes the elements to the file, and zeros for the result.
func WriteElements(w io.WriterAt, e *ops.Evaluation) error {
	for i, at := range Offsets(e) {
		x := elementsOf(e)[i]
		if _, err := w.WriteAt(x.Data, at); err != nil {
			return err
		}
	}
	return nil
}

// ReadAll reads all elements: the plugin's side.
func ReadAll(r io.ReaderAt, e *ops.Evaluation) error {
	for i, at := range Offsets(e) {
		x := elementsOf(e)[i]
		if n, err := r.ReadAt(x.Data, at); n < len(x.Data) && err != nil {
			return err
		}
	}
	return nil
}

// WriteBack writes what may have changed: the plugin's side.
func WriteBack(w io.WriterAt, e *ops.Evaluation) error {
	for i, at := range Offsets(e) {
		x := elementsOf(e)[i]
		if x != e.Result && !x.Writable {
			continue
		}
		if _, err := w.WriteAt(x.Data, at); err != nil {
			return err
		}
	}
	return nil
}

// ReadElements reads back what may have changed: the result and writable operands.
func ReadElements(r io.ReaderAt, e *ops.Evaluation) error {
	for i, at := range Offsets(e) {
		x := elementsOf(e)[i]
		if x != e.Result && !x.Writable {
			continue
		}
		if n, err := r.ReadAt(x.Data, at); n < len(x.Data) {
			return err
		}
	}
	return nil
}
