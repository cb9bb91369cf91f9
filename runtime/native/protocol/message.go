package protocol

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"

	"github.com/ptobuild/ptobuild/ir"
)

// Requests and answers go between two processes of one program, so a value is written as its fields in order, without a word about types: encoding/gob
// describes and compiles every type in every process, which takes longer than a run of five tasks. Functions are left out and interfaces with methods have to be nil; an any holds one of the types of dynamic, and
// what else the code does not know is an error.

// Writer sends values.
type Writer struct {
	W io.Writer
	b []byte // of the last one
}

// Write sends a value: its size, then the value.
func (m *Writer) Write(v any) error {
	b, err := appendValue(append(m.b[:0], make([]byte, 8)...), reflect.ValueOf(v).Elem())
	if err != nil {
		return err
	}
	binary.LittleEndian.PutUint64(b, uint64(len(b)-8))
	m.b = b
	_, err = m.W.Write(b)
	return err
}

// Read reads what a Writer sent into v, a pointer to a zero value. Other bytes are ErrDamaged.
func Read(r io.Reader, v any) error {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	size := binary.LittleEndian.Uint64(head[:])
	if size > maxMessage {
		return ErrDamaged
	}
	// The other side may be broken: room is made as bytes arrive.
	b := make([]byte, 0, min(size, 16<<20))
	for uint64(len(b)) < size {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := r.Read(b[len(b):min(uint64(cap(b)), size)])
		if b = b[:len(b)+n]; err != nil && uint64(len(b)) < size {
			return err
		}
	}
	m := reader{b}
	if m.value(reflect.ValueOf(v).Elem()); m.b == nil || len(m.b) > 0 {
		return ErrDamaged
	}
	return nil
}

// ErrDamaged is the error of Read when what arrived is no message.
var ErrDamaged = errors.New("a damaged message")

// maxMessage is more than any message has: a size that stands for text is bigger.
const maxMessage = 1 << 48

// dynamic are the types of what an any holds: values of keyword arguments and scalars.
var dynamic = [...]reflect.Type{reflect.TypeFor[int64](), reflect.TypeFor[bool](), reflect.TypeFor[string](), reflect.TypeFor[float64](), reflect.TypeFor[ir.DType](), reflect.TypeFor[ir.Enum]()}

// sent reports the fields of a struct that are written.
func sent(t reflect.Type, i int) bool {
	f := t.Field(i)
	return f.IsExported() && f.Type.Kind() != reflect.Func
}

func appendValue(b []byte, v reflect.Value) (_ []byte, err error) {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return append(b, 1), nil
		}
		return append(b, 0), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return binary.AppendVarint(b, v.Int()), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return binary.AppendUvarint(b, v.Uint()), nil
	case reflect.Float32, reflect.Float64:
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(v.Float())), nil
	case reflect.String:
		return append(binary.AppendUvarint(b, uint64(v.Len())), v.String()...), nil
	case reflect.Slice:
		if v.IsNil() {
			return append(b, 0), nil
		}
		b = binary.AppendUvarint(b, uint64(v.Len())+1)
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return append(b, v.Bytes()...), nil
		}
		fallthrough
	case reflect.Array:
		for i := 0; i < v.Len() && err == nil; i++ {
			b, err = appendValue(b, v.Index(i))
		}
		return b, err
	case reflect.Map:
		if v.IsNil() {
			return append(b, 0), nil
		}
		b = binary.AppendUvarint(b, uint64(v.Len())+1)
		for it := v.MapRange(); it.Next() && err == nil; {
			if b, err = appendValue(b, it.Key()); err == nil {
				b, err = appendValue(b, it.Value())
			}
		}
		return b, err
	case reflect.Pointer:
		if v.IsNil() {
			return append(b, 0), nil
		}
		return appendValue(append(b, 1), v.Elem())
	case reflect.Struct:
		t := v.Type()
		for i := 0; i < t.NumField() && err == nil; i++ {
			if sent(t, i) {
				b, err = appendValue(b, v.Field(i))
			}
		}
		return b, err
	case reflect.Interface:
		switch anything := v.Type().NumMethod() == 0; {
		case v.IsNil() && anything:
			return append(b, 0), nil
		case v.IsNil():
			return b, nil
		case anything:
			if i := slices.Index(dynamic[:], v.Elem().Type()); i >= 0 {
				return appendValue(append(b, byte(i+1)), v.Elem())
			}
		}
	}
	return nil, fmt.Errorf("a message with a %s", v.Type())
}

// reader reads values; b is nil when they make no sense.
type reader struct{ b []byte }

func (m *reader) uvarint() uint64 {
	x, n := binary.Uvarint(m.b)
	if n <= 0 {
		m.b = nil
		return 0
	}
	m.b = m.b[n:]
	return x
}

// take reads n bytes.
func (m *reader) take(n uint64) []byte {
	if n > uint64(len(m.b)) {
		m.b = nil
		return nil
	}
	b := m.b[:n:n]
	m.b = m.b[n:]
	return b
}

// length reads the length of a list that may be nil; each of its elements takes a byte at least.
func (m *reader) length() (n int, there bool) {
	x := m.uvarint()
	if x > uint64(len(m.b))+1 {
		m.b = nil
		return 0, false
	}
	return int(x) - 1, x > 0
}

func (m *reader) value(v reflect.Value) {
	if m.b == nil {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(m.uvarint() != 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		x, n := binary.Varint(m.b)
		if n <= 0 {
			m.b = nil
			return
		}
		m.b = m.b[n:]
		v.SetInt(x)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(m.uvarint())
	case reflect.Float32, reflect.Float64:
		if b := m.take(8); b != nil {
			v.SetFloat(math.Float64frombits(binary.LittleEndian.Uint64(b)))
		}
	case reflect.String:
		v.SetString(string(m.take(m.uvarint())))
	case reflect.Slice:
		n, there := m.length()
		if !there {
			return
		}
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes(m.take(uint64(n)))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			m.value(v.Index(i))
		}
	case reflect.Map:
		n, there := m.length()
		if !there {
			return
		}
		v.Set(reflect.MakeMap(v.Type()))
		for range n {
			key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			m.value(key)
			m.value(elem)
			v.SetMapIndex(key, elem)
		}
	case reflect.Interface:
		if v.Type().NumMethod() > 0 {
			return
		}
		if i := m.uvarint(); i > uint64(len(dynamic)) {
			m.b = nil
		} else if i > 0 {
			x := reflect.New(dynamic[i-1]).Elem()
			m.value(x)
			v.Set(x)
		}
	case reflect.Pointer:
		if m.uvarint() != 0 {
			v.Set(reflect.New(v.Type().Elem()))
			m.value(v.Elem())
		}
	case reflect.Struct:
		t := v.Type()
		for i := range t.NumField() {
			if sent(t, i) {
				m.value(v.Field(i))
			}
		}
	}
}
