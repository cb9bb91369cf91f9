package protocol

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// fill sets everything in v to something of its own, so that what is forgotten shows. Each type that holds itself ends after a few levels.
func fill(v reflect.Value, n *int64, depth int) {
	*n++
	switch v.Kind() {
	case reflect.Pointer:
		if depth < 8 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), n, depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if sent(v.Type(), i) {
				fill(v.Field(i), n, depth+1)
			}
		}
	case reflect.Slice:
		if depth < 8 {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			fill(v.Index(0), n, depth+1)
			fill(v.Index(1), n, depth+1)
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), n, depth+1)
		}
	case reflect.Map:
		key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, n, depth+1)
		fill(elem, n, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, elem)
	case reflect.Interface:
		if v.NumMethod() == 0 {
			x := reflect.New(dynamic[*n%int64(len(dynamic))]).Elem()
			fill(x, n, depth+1)
			v.Set(x)
		}
	case reflect.String:
		v.SetString(strings.Repeat("x", int(*n%200)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(*n) / 4)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(*n))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(-*n)
	}
}

type runner struct{ sim.KernelRunner }

func TestMessages(t *testing.T) {
	for _, zero := range []any{Request{}, Message{}, Message{Result: &Result{}}, ops.Evaluation{}, Evaluated{}} {
		for _, full := range []bool{false, true} {
			v := reflect.New(reflect.TypeOf(zero))
			v.Elem().Set(reflect.ValueOf(zero))
			if full {
				fill(v.Elem(), new(int64), 0)
			}
			var b bytes.Buffer
			if err := (&Writer{W: &b}).Write(v.Interface()); err != nil {
				t.Fatal(err)
			}
			whole := b.Bytes()
			got := reflect.New(reflect.TypeOf(zero))
			if err := Read(&b, got.Interface()); err != nil || !reflect.DeepEqual(got.Interface(), v.Interface()) {
				t.Errorf("%T: %v\n got %+v\nwant %+v", zero, err, got.Interface(), v.Interface())
			}
			for i := 0; i < len(whole); i += 1 + len(whole)/200 { // a damaged one is an error or another value
				cut := reflect.New(reflect.TypeOf(zero)).Interface()
				if err := Read(bytes.NewReader(whole[:i]), cut); err == nil {
					t.Fatalf("%T: %d of %d bytes are a message", zero, i, len(whole))
				}
				bad := bytes.Clone(whole)
				bad[i] ^= 0x55
				_ = Read(bytes.NewReader(bad), reflect.New(reflect.TypeOf(zero)).Interface())
			}
		}
	}
	if err := (&Writer{W: new(bytes.Buffer)}).Write(&Request{Machine: sim.Config{Kernels: new(runner)}}); err == nil {
		t.Error("an interface was sent")
	}
	if err := (&Writer{W: new(bytes.Buffer)}).Write(&Evaluated{Scalar: []int{1}}); err == nil {
		t.Error("a list was sent as a scalar")
	}
}

// Programs with other messages do not take each other for their own.
func TestShape(t *testing.T) {
	h := fnv.New64a()
	seen := map[reflect.Type]bool{}
	for _, t := range []reflect.Type{reflect.TypeFor[Request](), reflect.TypeFor[Message](), reflect.TypeFor[ops.Evaluation](), reflect.TypeFor[Evaluated]()} {
		describe(h, t, seen)
	}
	if now := fmt.Sprintf("%x", h.Sum64()); now != shape {
		t.Errorf("messages have changed: shape is %q now", now)
	}
}

// describe writes the shape of a type as messages carry it.
func describe(w io.Writer, t reflect.Type, seen map[reflect.Type]bool) {
	io.WriteString(w, t.String())
	if seen[t] {
		return
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		if t.Kind() == reflect.Map {
			describe(w, t.Key(), seen)
		}
		describe(w, t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if sent(t, i) {
				io.WriteString(w, t.Field(i).Name)
				describe(w, t.Field(i).Type, seen)
			}
		}
	}
}
