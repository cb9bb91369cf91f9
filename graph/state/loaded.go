package state

import "github.com/ptobuild/ptobuild/internal/diag"

// Loaded is the result of loading a source: what a cache keeps of it.
type Loaded struct {
	Unit   Unit
	Inputs []File        // with the digests they had; Unit.Inputs is not set
	Places [][]diag.Span // of the closure of each target
}

// Encode gives the bytes of a result.
func (l *Loaded) Encode() []byte {
	c := &coder{write: true, known: map[string]uint64{}}
	c.loaded(l)
	return c.b
}

// DecodeLoaded reads what Encode wrote.
func DecodeLoaded(b []byte) (*Loaded, error) {
	c := &coder{b: b}
	l := &Loaded{}
	c.loaded(l)
	if c.bad || len(c.b) > 0 || len(l.Places) != len(l.Unit.Targets) {
		return nil, errMalformed
	}
	return l, nil
}

func (c *coder) loaded(l *Loaded) {
	v := uint64(version)
	if c.uint(&v); v != version {
		c.bad, c.b = true, nil
		return
	}
	c.unit(&l.Unit)
	list(c, &l.Inputs, nil, func(f *File) {
		c.text(&f.Path)
		c.digest(&f.Digest)
	})
	list(c, &l.Places, nil, func(places *[]diag.Span) {
		line := int32(0) // places are in order
		list(c, places, nil, func(s *diag.Span) {
			c.shared(&s.File)
			c.delta(&s.Line, line)
			c.delta(&s.Col, 0)
			c.delta(&s.EndLine, s.Line)
			c.delta(&s.EndCol, s.Col)
			line = s.Line
		})
	})
}
