package artifact

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// Level says which arguments are dumped.
type Level int

const (
	Marked   Level = 1 // those that the program marks with dump(…)
	All      Level = 2
	Metadata Level = 3 // all, without their contents
)

// MaxDump bounds args.bin; what does not fit is marked as truncated.
const MaxDump = 1 << 30

// ArgsDump collects arguments of tasks while they run: inputs before a task, outputs after it, and those that are both at both times. Its Observe is
// for sim.Config.Observe.
type ArgsDump struct {
	Level Level
	Dirs  [][]ir.ParamDir // by kernel, of NO_DEP arguments

	args   []dumpedArg
	data   []byte
	counts dumpCounts
}

type dumpCounts struct {
	total, before, after    int
	inputs, outputs, inouts int
	truncated               int
}

type dumpedArg struct {
	Task        string   `json:"task_id"` // hexadecimal
	Funcs       []int32  `json:"func_id"`
	Role        string   `json:"role"`
	Stage       string   `json:"stage"`
	Index       int      `json:"arg_index"`
	Kind        string   `json:"kind"`
	DType       string   `json:"dtype"`
	Shape       []uint32 `json:"shape"`
	Strides     []uint32 `json:"strides"`
	Start       uint64   `json:"start_offset"`
	Contiguous  bool     `json:"is_contiguous"`
	Truncated   bool     `json:"truncated"`
	Overwritten bool     `json:"overwritten"`
	Offset      int      `json:"bin_offset"`
	Size        int      `json:"bin_size"`
}

// Observe takes the arguments of a task that is about to run, or has run.
func (d *ArgsDump) Observe(m *sim.Memory, n *sim.Node, done bool) {
	marked := func(i int) bool {
		if d.Level != Marked || n.DumpAll {
			return true
		}
		for _, k := range n.Dump {
			if k == i {
				return true
			}
		}
		return false
	}
	stage, count := "before_dispatch", &d.counts.before
	if done {
		stage, count = "after_completion", &d.counts.after
	}
	var funcs []int32
	for _, id := range n.Kernels {
		if id >= 0 {
			funcs = append(funcs, id)
		}
	}
	add := func(a dumpedArg, data func() []byte) {
		a.Task, a.Funcs, a.Stage, a.Offset = fmt.Sprintf("0x%016x", uint64(n.ID)), funcs, stage, len(d.data)
		switch {
		case d.Level == Metadata:
		case a.Size > MaxDump-len(d.data):
			a.Truncated, a.Size = true, 0
			d.counts.truncated++
		default:
			d.data = append(d.data, data()...)
		}
		if d.Level == Metadata {
			a.Size = 0
		}
		d.counts.total++
		*count++
		switch a.Role {
		case "input":
			d.counts.inputs++
		case "output":
			d.counts.outputs++
		case "inout":
			d.counts.inouts++
		}
		d.args = append(d.args, a)
	}
	for i := range n.Args {
		x := &n.Args[i]
		role := d.role(n, i)
		if !marked(i) || role == "input" && done || role == "output" && !done {
			continue
		}
		t := &x.Tensor
		add(dumpedArg{Role: role, Index: i, Kind: "tensor", DType: strings.ToLower(sim.TypeName(t.DType)), Shape: t.Shape, Strides: t.Strides, Start: t.Start,
			Contiguous: t.IsContiguous(), Size: int(min(t.NumElems()*uint64(t.DType.Bytes()), math.MaxInt32))}, func() []byte { return packed(m, t) })
	}
	for i, s := range n.Scalars {
		if at := len(n.Args) + i; marked(at) && !done {
			add(dumpedArg{Role: "input", Index: at, Kind: "scalar", DType: s.Type, Shape: []uint32{}, Strides: []uint32{}, Contiguous: true, Size: 8}, func() []byte {
				b := make([]byte, 8)
				for k := range b {
					b[k] = byte(s.Bits >> (8 * k))
				}
				return b
			})
		}
	}
}

// role is what a task does with an argument: as it was added, or as its kernel declares it when it takes no part in dependencies.
func (d *ArgsDump) role(n *sim.Node, i int) string {
	switch n.Args[i].Tag {
	case sim.Output, sim.OutputExisting:
		return "output"
	case sim.InOut:
		return "inout"
	case sim.NoDep:
		for _, id := range n.Kernels {
			if id >= 0 && int(id) < len(d.Dirs) && i < len(d.Dirs[id]) {
				return [...]string{ir.In: "input", ir.Out: "output", ir.InOut: "inout"}[d.Dirs[id][i]]
			}
		}
	}
	return "input"
}

// packed is the contents of a window in row-major order.
func packed(m *sim.Memory, t *sim.Tensor) []byte {
	es := uint64(t.DType.Bytes())
	if t.IsContiguous() {
		return m.Bytes(t.Addr+t.Start*es, t.NumElems()*es)
	}
	var out []byte
	var walk func(at uint64, dim int)
	walk = func(at uint64, dim int) {
		if dim == len(t.Shape) {
			out = append(out, m.Bytes(t.Addr+at*es, es)...)
			return
		}
		for i := range uint64(t.Shape[dim]) {
			walk(at+i*uint64(t.Strides[dim]), dim+1)
		}
	}
	walk(t.Start, 0)
	return out
}

func (d *ArgsDump) write(dir string) error {
	c := &d.counts
	if err := writeFile(filepath.Join(dir, "args_dump.json"), func(w io.Writer) error {
		return writeObject(w, []member{{"run_dir", "."}, {"bin_format", map[string]bool{"logical_contiguous": true, "little_endian": true}},
			{"total_args", c.total}, {"before_dispatch", c.before}, {"after_completion", c.after}, {"input_args", c.inputs}, {"output_args", c.outputs},
			{"inout_args", c.inouts}, {"truncated_args", c.truncated}, {"dropped_records", 0}, {"dropped_overwrite", 0}, {"bin_file", "args.bin"}, {"args", d.args}})
	}); err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, "args.bin"), func(w io.Writer) error {
		_, err := w.Write(d.data)
		return err
	})
}
