// Command reference computes what the example programs should give, in float64 and without any of ptobuild's own machinery. ptobuild runs it as
//
//	reference NAME INPUT_DIR OUTPUT_DIR
//
// with one .npy file per parameter and scalars.json in INPUT_DIR; it writes the outputs into OUTPUT_DIR.
package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/ptobuild/ptobuild/internal/npy"
	"github.com/ptobuild/ptobuild/ir"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: reference NAME INPUT_DIR OUTPUT_DIR")
		os.Exit(2)
	}
	f, ok := programs[os.Args[1]]
	if !ok {
		fmt.Fprintf(os.Stderr, "reference: unknown program %q\n", os.Args[1])
		os.Exit(2)
	}
	if err := f(&files{in: os.Args[2], out: os.Args[3]}); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

var programs = map[string]func(*files) error{
	"add": func(f *files) error {
		a, b := f.read("a"), f.read("b")
		return f.write("out", a.each(func(i int) float64 { return a.v[i] + b.v[i] }))
	},
	"orch_basic": func(f *files) error { // d = (a + b) + b
		a, b := f.read("a"), f.read("b")
		return f.write("d", a.each(func(i int) float64 { return a.v[i] + b.v[i] + b.v[i] }))
	},
	"softmax":     softmax,
	"matmul_bias": matmulBias,
	"loop": func(f *files) error { // acc += 2^1 x + 2^2 x + … + 2^trips x
		x, acc, trips := f.read("x"), f.read("acc"), f.scalar("trips")
		factor := math.Pow(2, trips+1) - 2
		return f.write("acc", acc.each(func(i int) float64 { return acc.v[i] + factor*x.v[i] }))
	},
	"branch": func(f *files) error { // the first rows are halved, of 2x when n > 3
		x, n := f.read("x"), f.scalar("n")
		factor, rows := 1.0, n
		if n > 3 {
			factor, rows = 2, 2*n
		}
		return f.write("out", x.each(func(i int) float64 {
			if float64(i/x.shape[1]) < rows {
				return factor * x.v[i] / 2
			}
			return factor * x.v[i]
		}))
	},
	"phases": func(f *files) error { // out = (out + 1) * data, once per phase
		data, out := f.read("data"), f.read("out")
		return f.write("out", out.each(func(i int) float64 {
			v := out.v[i]
			for p := 0; p < len(data.v); p += len(out.v) {
				v = (v + 1) * data.v[p+i]
			}
			return v
		}))
	},
	"experts": experts,
	"pipeline_cpp": func(f *files) error {
		x, bias, steps := f.read("x"), f.read("bias"), f.scalar("steps")
		return f.write("y", x.each(func(i int) float64 { return math.Pow(2, steps)*x.v[i] + steps*bias.v[i] }))
	},
	"gelu": func(f *files) error {
		x, bias := f.read("x"), f.read("bias")
		return f.write("out", x.each(func(i int) float64 {
			v := x.v[i] + bias.v[i%x.shape[1]]
			return v / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(v+0.044715*v*v*v)))
		}))
	},
	"chain": func(f *files) error { // of examples/plugins: out = 2 (a + b)
		a, b := f.read("a"), f.read("b")
		return f.write("out", a.each(func(i int) float64 { return 2 * (a.v[i] + b.v[i]) }))
	},
	"layer": func(f *files) error { // of examples/plugins: each row over its root mean square, halved
		x := f.read("x")
		cols := x.shape[1]
		return f.write("out", x.each(func(i int) float64 {
			squares := 0.0
			for _, v := range x.v[i/cols*cols : i/cols*cols+cols] {
				squares += v * v
			}
			return x.v[i] / 2 / math.Sqrt(squares/float64(cols)+1e-6)
		}))
	},
	"rotary": func(f *files) error { // of examples/plugins: columns k and k + half of a row turn by the angles of its position
		x, table, start := f.read("x"), f.read("table"), int(f.scalar("start"))
		cols := x.shape[1]
		half := cols / 2
		return f.write("out", x.each(func(i int) float64 {
			row, k := i/cols, i%cols
			angles := table.v[(start+row)*cols : (start+row+1)*cols]
			if k < half {
				return x.v[i]*angles[k] - x.v[i+half]*angles[k+half]
			}
			return x.v[i]*angles[k-half] + x.v[i-half]*angles[k]
		}))
	},
}

func softmax(f *files) error {
	x := f.read("x")
	cols := x.shape[1]
	return f.write("out", x.each(func(i int) float64 {
		row := x.v[i/cols*cols : i/cols*cols+cols]
		top, sum := math.Inf(-1), 0.0
		for _, v := range row {
			top = max(top, v)
		}
		for _, v := range row {
			sum += math.Exp(v - top)
		}
		return math.Exp(x.v[i]-top) / sum
	}))
}

func matmulBias(f *files) error {
	a, b, bias := f.read("a"), f.read("b"), f.read("bias")
	m, k, n := a.shape[0], a.shape[1], b.shape[1]
	out := tensor{dtype: ir.FP32, shape: []int{m, n}, v: make([]float64, m*n)}
	for i := range m {
		for j := range n {
			s := bias.v[j]
			for l := range k {
				s += a.v[i*k+l] * b.v[l*n+j]
			}
			out.v[i*n+j] = s
		}
	}
	return f.write("out", out)
}

// experts: expert e gives max(x * w[e], 0), unless no row is assigned to it.
func experts(f *files) error {
	x, w, assignment, out := f.read("x"), f.read("w"), f.read("assignment"), f.read("out")
	rows, width := x.shape[0], x.shape[1]
	for e := range w.shape[0] {
		if assignment.v[e*8] <= 0 {
			continue
		}
		for i := range rows {
			for j := range width {
				out.v[(e*rows+i)*width+j] = max(x.v[i*width+j]*w.v[e*width+j], 0)
			}
		}
	}
	return f.write("out", out)
}

type tensor struct {
	dtype ir.DType
	shape []int
	v     []float64
}

func (t tensor) each(f func(i int) float64) tensor {
	r := tensor{t.dtype, t.shape, make([]float64, len(t.v))}
	for i := range r.v {
		r.v[i] = f(i)
	}
	return r
}

// files reads and writes the parameters; the first error sticks and comes out of write.
type files struct {
	in, out string
	err     error
}

func (f *files) read(name string) (t tensor) {
	b, err := os.ReadFile(filepath.Join(f.in, name+".npy"))
	if err == nil {
		var a *npy.Array
		if a, err = npy.Unmarshal(b); err == nil {
			t, err = decode(a)
		}
	}
	if err != nil && f.err == nil {
		f.err = fmt.Errorf("%s: %w", name, err)
	}
	return t
}

func (f *files) scalar(name string) float64 {
	b, err := os.ReadFile(filepath.Join(f.in, "scalars.json"))
	var m map[string]float64
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	if err != nil && f.err == nil {
		f.err = fmt.Errorf("scalars.json: %w", err)
	}
	return m[name]
}

func (f *files) write(name string, t tensor) error {
	if f.err != nil {
		return f.err
	}
	b, err := npy.Marshal(encode(t))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(f.out, name+".npy"), b, 0o666)
}

func decode(a *npy.Array) (tensor, error) {
	t := tensor{dtype: a.DType}
	n := 1
	for _, d := range a.Shape {
		t.shape = append(t.shape, int(d))
		n *= int(d)
	}
	t.v = make([]float64, n)
	for i := range t.v {
		switch a.DType {
		case ir.FP32:
			t.v[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(a.Data[4*i:])))
		case ir.INT32:
			t.v[i] = float64(int32(binary.LittleEndian.Uint32(a.Data[4*i:])))
		case ir.FP16:
			t.v[i] = half(binary.LittleEndian.Uint16(a.Data[2*i:]))
		default:
			return t, fmt.Errorf("dtype %s is not read here", a.DType)
		}
	}
	return t, nil
}

func half(h uint16) float64 {
	sign := 1 - 2*float64(h>>15)
	exp, man := int(h>>10&31), float64(h&1023)
	switch exp {
	case 0:
		return sign * math.Ldexp(man, -24)
	case 31:
		if man == 0 {
			return math.Inf(int(sign))
		}
		return math.NaN()
	}
	return sign * math.Ldexp(1+man/1024, exp-15)
}

// encode writes FP32, the dtype of every output here.
func encode(t tensor) *npy.Array {
	a := &npy.Array{DType: ir.FP32, Data: make([]byte, 4*len(t.v))}
	for _, d := range t.shape {
		a.Shape = append(a.Shape, int64(d))
	}
	for i, v := range t.v {
		binary.LittleEndian.PutUint32(a.Data[4*i:], math.Float32bits(float32(v)))
	}
	return a
}
