package artifact

import (
	"encoding/binary"
	"hash/fnv"
	"io"

	"github.com/ptobuild/ptobuild/runtime/sim"
)

// The dependency graph. Numbers of 64 bits are decimal strings, as JSON readers lose their last bits.

type depsTask struct {
	ID        string    `json:"task_id"`
	Scope     string    `json:"scope"` // auto or manual
	Early     bool      `json:"early_dispatch"`
	KernelIDs [3]int32  `json:"kernel_ids"`
	BlockNum  int32     `json:"block_num"`
	Args      []depsArg `json:"args"`
	Name      string    `json:"name"`
	Site      string    `json:"site"`
}

type depsArg struct {
	Index   int      `json:"idx"`
	Type    string   `json:"type"`
	Tensor  string   `json:"tensor_id"`
	DType   string   `json:"dtype"`
	Shape   []uint32 `json:"shape"`
	Start   string   `json:"start_offset"`
	Strides []uint32 `json:"strides"`
}

type depsTensor struct {
	ID      string `json:"tensor_id"`
	Address string `json:"buffer_addr"`
	Version int32  `json:"version"`
	DType   string `json:"dtype"`
	Numel   string `json:"buffer_numel"`
}

type depsEdge struct {
	Pred    string `json:"pred"`
	Succ    string `json:"succ"`
	Arg     int16  `json:"arg"` // -1: explicit
	Source  string `json:"source"`
	Overlap string `json:"overlap,omitempty"` // of a tensormap edge: covered when the argument contains all that the producer wrote
}

var argTypes = [...]string{sim.Input: "INPUT", sim.Output: "OUTPUT", sim.InOut: "INOUT", sim.OutputExisting: "OUTPUT_EXISTING", sim.NoDep: "NO_DEP"}

func writeDeps(w io.Writer, v *view) error {
	var tasks []depsTask
	var tensors []depsTensor
	var edges []depsEdge
	known := map[string]bool{}
	for i := range v.nodes {
		n := &v.nodes[i]
		if !isTask(n) {
			continue
		}
		t := depsTask{ID: decimal(uint64(n.ID)), Scope: "auto", Early: n.Early, KernelIDs: n.Kernels, BlockNum: n.Blocks, Args: []depsArg{}, Name: v.name(n), Site: place(n.Site)}
		if n.Manual {
			t.Scope = "manual"
		}
		for k := range n.Args {
			x := &n.Args[k].Tensor
			id := v.tensorID(x)
			t.Args = append(t.Args, depsArg{k, argTypes[n.Args[k].Tag], id, sim.TypeName(x.DType), x.Shape, decimal(x.Start), x.Strides})
			if !known[id] {
				known[id] = true
				tensors = append(tensors, depsTensor{id, decimal(v.rt.Memory().Stable(x.Addr)), x.Version, sim.TypeName(x.DType), decimal(x.Size / uint64(max(x.DType.Bytes(), 1)))})
			}
		}
		tasks = append(tasks, t)
		for _, e := range n.Preds {
			pred := &v.nodes[e.From]
			d := depsEdge{Pred: decimal(uint64(pred.ID)), Succ: t.ID, Arg: e.Arg}
			switch e.Kind {
			case sim.EdgeExplicit:
				d.Source = "explicit"
			case sim.EdgeCreator:
				d.Source = "creator"
			case sim.EdgeOverlap:
				d.Source, d.Overlap = "tensormap", "other"
				if covered(&n.Args[e.Arg].Tensor, pred) {
					d.Overlap = "covered"
				}
			}
			edges = append(edges, d)
		}
	}
	return writeObject(w, []member{{"tasks", tasks}, {"tensors", tensors}, {"edges", edges}})
}

// covered reports that x contains all that a task wrote of it.
func covered(x *sim.Tensor, pred *sim.Node) bool {
	for i := range pred.Args {
		a := &pred.Args[i]
		if (a.Tag == sim.InOut || a.Tag == sim.OutputExisting) && sim.Overlap(x, &a.Tensor) && !sim.Covers(x, &a.Tensor) {
			return false
		}
	}
	return true
}

// tensorID is the FNV-1a hash of a buffer's address and version.
func (v *view) tensorID(t *sim.Tensor) string {
	h := fnv.New64a()
	b := binary.LittleEndian.AppendUint64(nil, v.rt.Memory().Stable(t.Addr))
	_, _ = h.Write(binary.LittleEndian.AppendUint32(b, uint32(t.Version))) // never fails
	return decimal(h.Sum64())
}
