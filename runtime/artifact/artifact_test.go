package artifact

import (
	"encoding/binary"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

var update = flag.Bool("update", false, "rewrite testdata")

type runner func(m *sim.Memory, c *sim.KernelCall)

func (f runner) Run(m *sim.Memory, c *sim.KernelCall) error { f(m, c); return nil }

// program has everything that the files tell apart: scopes, a manual one, created outputs, blocks, a mixed task, a dummy, a false predicate.
func program(t *testing.T, dump *ArgsDump) *sim.Runtime {
	t.Helper()
	rt, err := sim.New(sim.Config{
		Clusters: 2, Record: true, Check: true, Observe: dump.Observe, Names: []string{"fill", "cube", "vec"},
		Kernels: runner(func(m *sim.Memory, c *sim.KernelCall) {
			for _, a := range c.Args {
				if a.Tag != sim.Input {
					m.Bytes(a.Tensor.Addr+4*a.Tensor.Start, 4)[0] += byte(c.Ordinal + 1)
				}
			}
			c.Work = sim.Work{Ops: uint64(10 * (c.Kernel + 1))}
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(rt.Close)
	line := int32(0)
	site := func() sim.Site {
		line++
		return diag.Span{File: "p.py", Line: line, Col: 5}
	}
	x, err := rt.NewTensor(ir.FP32, 4, 4)
	if err != nil {
		t.Fatal(err)
	}
	gate, err := rt.NewTensor(ir.INT32, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := rt.Entry([]sim.Tensor{x, gate}); err != nil {
		t.Fatal(err)
	}
	none := [3]int32{-1, -1, -1}
	submit := func(a sim.TaskArgs) sim.Outputs {
		a.TimingSlot = -1
		return rt.Submit(&a, site())
	}
	rt.ScopeBegin(false, site())
	b := rt.Alloc([]sim.CreateInfo{{Shape: []uint32{4, 4}, DType: ir.FP32}}, site()).Tensors[0]
	fill := submit(sim.TaskArgs{Kind: sim.KindAIV, Kernels: [3]int32{-1, 0, -1}, Blocks: 3, Args: []sim.Arg{{Tag: sim.OutputExisting, Tensor: b}}, Scalars: []sim.Scalar{{Bits: 7, Type: "i64"}}})
	left, err := b.View([]uint32{4, 2}, []uint32{0, 0}, false)
	if err != nil {
		t.Fatal(err)
	}
	rt.ScopeBegin(true, site())
	mixed := submit(sim.TaskArgs{Kind: sim.KindMixed, Kernels: [3]int32{1, 2, 2}, Deps: []sim.TaskID{fill.Task}, EarlyResolve: true,
		Args: []sim.Arg{{Tag: sim.InOut, Tensor: left}, {Tag: sim.Output, Create: &sim.CreateInfo{Shape: []uint32{2}, DType: ir.INT32}}}, Dump: []int{0}})
	dummy := submit(sim.TaskArgs{Kind: sim.KindDummy, Kernels: none, Deps: []sim.TaskID{mixed.Task}})
	rt.ScopeEnd(site())
	submit(sim.TaskArgs{Kind: sim.KindAIV, Kernels: [3]int32{-1, 2, -1}, Deps: []sim.TaskID{dummy.Task}, Args: []sim.Arg{{Tag: sim.Input, Tensor: left}, {Tag: sim.InOut, Tensor: x}}})
	submit(sim.TaskArgs{Kind: sim.KindAIC, Kernels: [3]int32{1, -1, -1}, Pred: &sim.Predicate{Tensor: gate, Index: []uint32{0}, Op: ir.Gt}, Args: []sim.Arg{{Tag: sim.Input, Tensor: x}, {Tag: sim.NoDep, Tensor: b}}})
	rt.ScopeEnd(site())
	if err := rt.Finish(); err != nil {
		t.Fatal(err)
	}
	return rt
}

// The files are as they were reviewed, and the same in every run.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	dump := &ArgsDump{Level: Marked}
	if err := Write(dir, "main", program(t, dump), dump); err != nil {
		t.Fatal(err)
	}
	golden := "testdata/files"
	if *update {
		if err := os.RemoveAll(golden); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(golden, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
	}
	want := os.DirFS(golden)
	var files []string
	if err := fs.WalkDir(want, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if len(files) != 8 {
		t.Errorf("files %v", files)
	}
	for _, f := range files {
		a, err := fs.ReadFile(want, f)
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(dir, f))
		if err != nil {
			t.Fatal(err)
		}
		if string(a) != string(b) {
			t.Errorf("%s differs (run with -update and look at the difference):\n%s", f, b)
		}
		if strings.HasSuffix(f, ".json") && !json.Valid(b) {
			t.Errorf("%s is no JSON", f)
		}
	}
}

// Arguments are dumped before and after their task, as the level has it.
func TestArgsDump(t *testing.T) {
	for level, want := range map[Level]string{
		Marked: "1.0 before inout;1.0 after inout",
		All: "0.1 before input;0.0 after output;" + // the scalar goes in, the buffer comes out
			"1.0 before inout;1.0 after inout;1.1 after output;3.0 before input;3.1 before inout;3.1 after inout",
		Metadata: "0.1 before input;0.0 after output;1.0 before inout;1.0 after inout;1.1 after output;3.0 before input;3.1 before inout;3.1 after inout",
	} {
		dump := &ArgsDump{Level: level}
		rt := program(t, dump)
		var got []string
		for _, a := range dump.args {
			ord := slices.IndexFunc(rt.Graph().Nodes, func(n sim.Node) bool { return n.ID.String() == idOf(t, a.Task).String() })
			got = append(got, strings.Join([]string{itoa(rt.Graph().Nodes[ord].Ordinal) + "." + itoa(a.Index), strings.Split(a.Stage, "_")[0], a.Role}, " "))
			if (a.Size > 0) != (level != Metadata) || a.Offset+a.Size > len(dump.data) {
				t.Errorf("level %d: %+v of %d bytes", level, a, len(dump.data))
			}
		}
		if s := strings.Join(got, ";"); s != want {
			t.Errorf("level %d: %s\nwant %s", level, s, want)
		}
		if level == Marked { // the left half of a buffer, packed; the mixed task added 2 three times
			before, after := dump.data[:32], dump.data[32:]
			if len(dump.data) != 64 || after[0] != before[0]+6 || !slices.Equal(before[1:], after[1:]) {
				t.Errorf("% x / % x", before, after)
			}
		}
	}
}

func idOf(t *testing.T, hex string) sim.TaskID {
	b := make([]byte, 8)
	if len(hex) != 18 {
		t.Fatalf("task id %q", hex)
	}
	for i := range b {
		for _, c := range hex[2+2*i : 4+2*i] {
			b[i] = b[i]<<4 | byte(strings.IndexRune("0123456789abcdef", c))
		}
	}
	return sim.TaskID(binary.BigEndian.Uint64(b))
}

func itoa(n int) string { return string(rune('0' + n)) }

func TestWriteErrors(t *testing.T) {
	dump := &ArgsDump{Level: All}
	rt := program(t, dump)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := Write(file, "main", rt, dump); err == nil {
		t.Error("wrote below a file")
	}
}
