package state

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// The file: magic, version, the size of the glance, CRC-32C of what is before it and of the glance, the glance, CRC-32C of the rest, the rest. Numbers are
// varints, texts have their length before them, texts that repeat are written once.
const (
	magic   = "ptostate"
	version = 6
	header  = len(magic) + 12
)

var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// errMalformed is what decoding ends with for any text that Encode did not write.
var errMalformed = errors.New("malformed state")

// Encode gives the content of the file.
func (s *State) Encode() []byte {
	glance := s.glance()
	c := &coder{b: make([]byte, 0, len(glance)+512+80*len(s.Files)+600*len(s.Sources)), write: true, known: map[string]uint64{}}
	c.b = binary.LittleEndian.AppendUint32(append(c.b, magic...), version)
	c.b = binary.LittleEndian.AppendUint32(c.b, uint32(len(glance)))
	c.b = append(binary.LittleEndian.AppendUint32(c.b, sum(c.b, glance)), glance...)
	rest := len(c.b) + 4
	c.b = append(c.b, 0, 0, 0, 0)
	c.state(s)
	binary.LittleEndian.PutUint32(c.b[rest-4:], sum(nil, c.b[rest:]))
	return c.b
}

func sum(a, b []byte) uint32 { return crc32.Update(crc32.Checksum(a, castagnoli()), castagnoli(), b) }

// A Reader is an open file that Write wrote.
type Reader struct {
	*Glance
	file *os.File
	size int64 // of the rest
}

// Open reads the glance of a file; nil when there is none that can be used. Close it when done.
func Open(name string) *Reader {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	r := &Reader{file: f, size: LookFile(f.Fd()).Size - int64(header)}
	head := make([]byte, header)
	if _, err := io.ReadFull(f, head); err == nil {
		if n := glanceSize(head); n >= 0 && n <= r.size {
			b := make([]byte, n)
			if _, err := io.ReadFull(f, b); err == nil {
				r.Glance = checkGlance(head, b)
				r.size -= n
			}
		}
	}
	if r.Glance == nil {
		r.Close()
		return nil
	}
	return r
}

// Close closes the file.
func (r *Reader) Close() { _ = r.file.Close() } // opened for reading: nothing can be lost

// State reads the rest of the file.
func (r *Reader) State() (*State, error) {
	b := make([]byte, r.size)
	if _, err := io.ReadFull(r.file, b); err != nil {
		return nil, err
	}
	return decodeRest(b)
}

// glanceSize gives the size of the glance behind a header, -1 for a text that is none.
func glanceSize(head []byte) int64 {
	if string(head[:len(magic)]) != magic || binary.LittleEndian.Uint32(head[len(magic):]) != version {
		return -1
	}
	return int64(binary.LittleEndian.Uint32(head[len(magic)+4:]))
}

// checkGlance reads a glance; nil when the checksum does not fit.
func checkGlance(head, b []byte) *Glance {
	if binary.LittleEndian.Uint32(head[header-4:]) != sum(head[:header-4], b) {
		return nil
	}
	g, ok := readGlance(b)
	if !ok {
		return nil
	}
	return g
}

// Decode reads the content of the file. The state keeps b.
func Decode(b []byte) (*State, error) {
	if len(b) < header {
		return nil, errMalformed
	}
	n := glanceSize(b)
	if n < 0 || n > int64(len(b)-header) || checkGlance(b[:header], b[header:header+int(n)]) == nil {
		return nil, errMalformed
	}
	return decodeRest(b[header+int(n):])
}

func decodeRest(b []byte) (*State, error) {
	if len(b) < 4 || binary.LittleEndian.Uint32(b) != sum(nil, b[4:]) {
		return nil, errMalformed
	}
	c, s := &coder{b: b[4:], chunk: 1024}, &State{}
	c.state(s)
	if c.bad || len(c.b) > 0 {
		return nil, errMalformed
	}
	for _, src := range s.Sources {
		for _, u := range src.Units {
			for _, i := range u.Inputs {
				if int(i) >= len(s.Files) || i < 0 {
					return nil, errMalformed
				}
			}
		}
	}
	return s, nil
}

// Write replaces the file.
func (s *State) Write(name string) error {
	sweep(filepath.Dir(name))
	_, err := Replace(name, s.Encode())
	return err
}

// A coder writes or reads the fields of a state, in one order for both.
type coder struct {
	b     []byte // written so far, or still to be read
	write bool
	bad   bool

	known map[string]uint64 // texts written so far
	texts []string          // read so far

	chunk   uint64 // elements of the arrays that slabs take pieces of
	units   slab[Unit]
	targets slab[Target]
	outputs slab[Output]
	funcs   slab[Func]
	inputs  slab[int32]
	names   slab[string]
}

// A slab gives pieces of larger arrays: a state holds many short lists.
type slab[T any] struct{ free []T }

func (s *slab[T]) take(n, chunk uint64) []T {
	if n > uint64(len(s.free)) {
		if n > chunk/4 {
			return make([]T, n)
		}
		s.free = make([]T, chunk)
	}
	piece := s.free[:n:n]
	s.free = s.free[n:]
	return piece
}

func (c *coder) state(s *State) {
	c.text(&s.Tool)
	c.stamp(&s.Exe)
	c.digest(&s.Request)
	c.uint(&s.Builds)
	c.flag(&s.Partial)
	list(c, &s.Files, nil, func(f *File) {
		c.text(&f.Path)
		c.stamp(&f.Stamp)
		c.digest(&f.Digest)
		c.flag(&f.DSL)
	})
	list(c, &s.Dirs, nil, func(d *Dir) {
		c.text(&d.Path)
		c.stamp(&d.Stamp)
		c.flag(&d.Listed)
		list(c, &d.Names, &c.names, c.text)
	})
	list(c, &s.Sources, nil, func(src *Source) {
		c.text(&src.Path)
		list(c, &src.Units, &c.units, c.unit)
	})
	list(c, &s.Tests, nil, func(t *Test) {
		c.text(&t.Name)
		c.flag(&t.Compiled)
		c.text(&t.Target)
		c.digest(&t.Key)
		c.digest(&t.Settings)
		list(c, &t.Files, nil, func(f *File) {
			c.shared(&f.Path)
			c.stamp(&f.Stamp)
			c.digest(&f.Digest)
		})
		c.flag(&t.Passed)
		c.shared(&t.Why)
		c.flag(&t.Ran)
		c.uint(&t.Build)
	})
}

func (c *coder) unit(u *Unit) {
	c.shared(&u.Variant)
	c.flag(&u.Stale)
	c.digest(&u.Key)
	list(c, &u.Env, &c.names, c.shared)
	list(c, &u.Plugins, &c.names, c.shared)
	list(c, &u.Inputs, &c.inputs, func(i *int32) {
		n := uint64(uint32(*i))
		c.uint(&n)
		*i = int32(n)
	})
	list(c, &u.Missing, &c.names, c.shared)
	list(c, &u.Params, &c.names, c.shared)
	list(c, &u.Funcs, &c.funcs, func(f *Func) {
		c.shared(&f.Name)
		c.stamp((*Stamp)(&f.Hash))
	})
	c.bytes(&u.Warnings)
	list(c, &u.Targets, &c.targets, c.target)
	c.shared(&u.Why)
	c.flag(&u.Ran)
	c.uint(&u.Build)
}

func (c *coder) target(t *Target) {
	c.shared(&t.Func)
	c.shared(&t.File)
	for i := range t.Span {
		n := uint64(uint32(t.Span[i]))
		c.uint(&n)
		t.Span[i] = int32(n)
	}
	c.digest(&t.Closure)
	c.stamp((*Stamp)(&t.Places))
	c.flag(&t.Moved)
	c.flag(&t.Behind)
	c.shared(&t.Changed)
	c.digest(&t.Key)
	c.digest(&t.Interface)
	list(c, &t.Calls, &c.names, c.shared)
	list(c, &t.External, &c.names, c.shared)
	list(c, &t.Plugins, &c.names, c.shared)
	c.bytes(&t.Warnings)
	list(c, &t.Outputs, &c.outputs, func(o *Output) {
		c.shared(&o.Path)
		c.stamp(&o.Stamp)
		c.digest(&o.Digest)
	})
	c.shared(&t.Why)
	c.byte((*byte)(&t.Ran))
	c.uint(&t.Build)
}

// take gives the next n bytes to be read, nil when there are fewer.
func (c *coder) take(n uint64) []byte {
	if n > uint64(len(c.b)) {
		c.bad, c.b = true, nil
		return nil
	}
	b := c.b[:n:n]
	c.b = c.b[n:]
	return b
}

func (c *coder) uint(v *uint64) {
	if c.write {
		c.b = binary.AppendUvarint(c.b, *v)
		return
	}
	n, size := binary.Uvarint(c.b)
	if size <= 0 {
		c.bad, c.b = true, nil
		return
	}
	*v, c.b = n, c.b[size:]
}

// delta writes a number that is likely to be near another.
func (c *coder) delta(v *int32, near int32) {
	d := *v - near
	n := uint64(uint32(d<<1) ^ uint32(d>>31))
	c.uint(&n)
	*v = near + (int32(uint32(n)>>1) ^ -int32(n&1))
}

func (c *coder) byte(v *byte) {
	if c.write {
		c.b = append(c.b, *v)
	} else if b := c.take(1); b != nil {
		*v = b[0]
	}
}

func (c *coder) flag(v *bool) {
	var b byte
	if *v {
		b = 1
	}
	c.byte(&b)
	*v = b != 0
}

// stamp writes numbers whose bits are evenly spread.
func (c *coder) stamp(v *Stamp) {
	if c.write {
		c.b = binary.LittleEndian.AppendUint64(c.b, uint64(*v))
	} else if b := c.take(8); b != nil {
		*v = Stamp(binary.LittleEndian.Uint64(b))
	}
}

func (c *coder) digest(v *Digest) {
	if c.write {
		c.b = append(c.b, v[:]...)
	} else {
		copy(v[:], c.take(uint64(len(v))))
	}
}

func (c *coder) bytes(v *[]byte) {
	n := uint64(len(*v))
	c.uint(&n)
	if c.write {
		c.b = append(c.b, *v...)
	} else if n > 0 {
		*v = c.take(n)
	}
}

func (c *coder) text(v *string) {
	n := uint64(len(*v))
	c.uint(&n)
	if c.write {
		c.b = append(c.b, *v...)
	} else if b := c.take(n); len(b) > 0 {
		*v = textOf(b) // the state keeps the bytes
	}
}

// shared is a text that is likely to come again.
func (c *coder) shared(v *string) {
	if c.write {
		if n, ok := c.known[*v]; ok {
			c.uint(&n)
			return
		}
		c.known[*v] = uint64(len(c.known) + 1)
		c.b = append(c.b, 0)
		c.text(v)
		return
	}
	var n uint64
	c.uint(&n)
	switch {
	case n == 0:
		c.text(v)
		c.texts = append(c.texts, *v)
	case n <= uint64(len(c.texts)):
		*v = c.texts[n-1]
	default:
		c.bad, c.b = true, nil
	}
}

// list writes the length of a list and its elements.
func list[T any](c *coder, v *[]T, from *slab[T], f func(*T)) {
	n := uint64(len(*v))
	c.uint(&n)
	if !c.write {
		if n > uint64(len(c.b)) { // every element takes a byte at least
			c.bad, c.b = true, nil
		}
		if c.bad || n == 0 {
			return
		}
		if from == nil {
			*v = make([]T, n)
		} else {
			*v = from.take(n, c.chunk)
		}
	}
	for i := range *v {
		if c.bad {
			return
		}
		f(&(*v)[i])
	}
}
