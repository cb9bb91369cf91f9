package client_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/passes/lower"
)

func floatBytes(v float32) []byte { return binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)) }

func digest(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// lowered gives the reports about a file up to its plan.
func lowered(t *testing.T, reg *ops.Registry, file string) diag.List {
	t.Helper()
	u, ds := lang.Load(file, lang.Options{Ops: reg, ReadFile: os.ReadFile})
	if ds.HasErrors() {
		return ds
	}
	p, ds := passes.Run(&passes.Context{Ops: reg}, u.Programs[0], passes.Default(), passes.Hooks{})
	for _, f := range p.Funcs {
		if f.Type == ir.Orchestration && !ds.HasErrors() {
			_, more := lower.Lower(p, f, reg, lower.Options{})
			ds = append(ds, more...)
		}
	}
	return ds
}

func listen() net.Listener {
	dir, err := os.MkdirTemp("", "fake-")
	if err != nil {
		panic(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		panic(err)
	}
	return l
}
