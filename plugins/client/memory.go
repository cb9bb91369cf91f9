package client

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/gob"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/plugins"
)

// What plugins answer depends on their file, their options and the question, so answers are kept from one command to the next: a build in which nothing is new
// starts no process. One file per plugin, read whole when the plugin is first asked for something, replaced atomically when there is something new.

type key = [sha256.Size]byte

// keyOf is the key of a question.
func keyOf(parts ...string) key {
	h := sha256.New()
	var n [8]byte
	for _, p := range parts {
		binary.LittleEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
	return key(h.Sum(nil))
}

// memory is the answers of one plugin.
type memory struct {
	path string

	mu      sync.Mutex
	loaded  bool
	answers map[key][]byte
	used    map[key]bool // in this command
	size    int
	fresh   bool // there is something new
}

// maxMemory bounds a file of answers. One that would be larger keeps only what this command used.
const maxMemory = 64 << 20

const memoryMagic = "ptobuild plugin answers 1\n"

// memoryPath is the file for a plugin's answers in a folder. Answers also depend on what this version of ptobuild tells a plugin it can, and keep only what it understood.
func memoryPath(dir string, c *plugins.Config) string {
	id := sha256.Sum256(fmt.Append(nil, c.Identity(), plugins.PipeVersion, plugins.Minor, plugins.CoreCapabilities))
	return filepath.Join(dir, c.Name+"-"+hex.EncodeToString(id[:8])+".answers")
}

func (m *memory) load() {
	m.loaded = true
	m.answers, m.used = map[key][]byte{}, map[key]bool{}
	data, err := os.ReadFile(m.path)
	if err != nil || len(data) < len(memoryMagic)+sha256.Size {
		return
	}
	body, sum := data[:len(data)-sha256.Size], data[len(data)-sha256.Size:]
	if got := sha256.Sum256(body); !bytes.Equal(got[:], sum) || !bytes.HasPrefix(body, []byte(memoryMagic)) {
		return // damaged: as if there were none
	}
	for b := body[len(memoryMagic):]; len(b) > sha256.Size; {
		k := key(b[:sha256.Size])
		n, w := binary.Uvarint(b[sha256.Size:])
		b = b[sha256.Size:]
		if w <= 0 || n > uint64(len(b)-w) {
			return
		}
		m.answers[k] = b[w : w+int(n)]
		m.size += int(n) + sha256.Size
		b = b[w+int(n):]
	}
}

func (m *memory) get(k key) ([]byte, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.loaded {
		m.load()
	}
	v, ok := m.answers[k]
	if ok {
		m.used[k] = true
	}
	return v, ok
}

func (m *memory) put(k key, v []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.loaded {
		m.load()
	}
	m.answers[k], m.used[k], m.fresh = v, true, true
	m.size += len(v) + sha256.Size
}

// save writes what is new. A folder that cannot be written only costs time in the next command.
func (m *memory) save() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.fresh {
		return
	}
	m.fresh = false
	keys := make([]key, 0, len(m.answers))
	for k := range m.answers {
		if m.size <= maxMemory || m.used[k] {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b key) int { return bytes.Compare(a[:], b[:]) })
	b := []byte(memoryMagic)
	for _, k := range keys {
		b = append(b, k[:]...)
		b = binary.AppendUvarint(b, uint64(len(m.answers[k])))
		b = append(b, m.answers[k]...)
	}
	if len(b) > 2*maxMemory {
		return
	}
	sum := sha256.Sum256(b)
	b = append(b, sum[:]...)
	if os.MkdirAll(filepath.Dir(m.path), 0o777) != nil {
		return
	}
	tmp, err := os.CreateTemp(filepath.Dir(m.path), ".answers-*")
	if err != nil {
		return
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(b)
	if closing := tmp.Close(); err != nil || closing != nil {
		return
	}
	_ = os.Rename(tmp.Name(), m.path)
	m.forgetOlder()
}

// keepFiles is how many files of answers a plugin keeps: its builds of late.
const keepFiles = 4

// forgetOlder removes the answers of older builds of the same plugin.
func (m *memory) forgetOlder() {
	name := filepath.Base(m.path)
	stem := name[:len(name)-len("-0123456789abcdef.answers")]
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(m.path), stem+"-????????????????.answers")) // the pattern is well-formed
	if len(files) <= keepFiles {
		return
	}
	age := map[string]int64{}
	for _, f := range files {
		if st, err := os.Stat(f); err == nil {
			age[f] = st.ModTime().UnixNano()
		}
	}
	slices.SortFunc(files, func(a, b string) int { return int(min(max(age[b]-age[a], -1), 1)) })
	for _, f := range files[keepFiles:] {
		_ = os.Remove(f)
	}
}

// recall finds the answer to a question; remember keeps one. Without a folder nothing is kept.
func (c *Client) recall(plugin string, k key, into any) bool {
	m := c.memories[plugin]
	if m == nil {
		return false
	}
	data, ok := m.get(k)
	return ok && gob.NewDecoder(bytes.NewReader(data)).Decode(into) == nil
}

func (c *Client) remember(plugin string, k key, value any) {
	m := c.memories[plugin]
	if m == nil {
		return
	}
	var b bytes.Buffer
	if gob.NewEncoder(&b).Encode(value) == nil {
		m.put(k, b.Bytes())
	}
}

// numbers keeps the results of evaluations within one command.
type numbers struct {
	mu   sync.Mutex
	kept map[key]*ops.Evaluation
	size int
}

// maxNumbers bounds what evaluations keep in memory.
const maxNumbers = 256 << 20

func (n *numbers) get(k key) *result {
	n.mu.Lock()
	defer n.mu.Unlock()
	if e := n.kept[k]; e != nil {
		return &result{e}
	}
	return nil
}

func (n *numbers) put(k key, e *ops.Evaluation) {
	c := &ops.Evaluation{Scalar: e.Scalar, Origin: e.Origin, Operands: make([]ops.Operand, len(e.Operands))}
	size := 0
	clone := func(x *ops.Elements) *ops.Elements {
		size += len(x.Data)
		return &ops.Elements{Data: bytes.Clone(x.Data)}
	}
	if e.Result != nil {
		c.Result = clone(e.Result)
	}
	for i, o := range e.Operands {
		if o.Elements != nil && o.Elements.Writable {
			c.Operands[i].Elements = clone(o.Elements)
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.kept == nil || n.size+size > maxNumbers {
		n.kept, n.size = map[key]*ops.Evaluation{}, 0
	}
	n.kept[k] = c
	n.size += size
}

// result is a kept evaluation.
type result struct{ e *ops.Evaluation }

func (r *result) into(e *ops.Evaluation) {
	e.Scalar, e.Origin = r.e.Scalar, r.e.Origin
	if e.Result != nil && r.e.Result != nil {
		copy(e.Result.Data, r.e.Result.Data)
	}
	for i, o := range r.e.Operands {
		if o.Elements != nil {
			copy(e.Operands[i].Elements.Data, o.Elements.Data)
		}
	}
}
