package graph

import (
	"container/list"
	"crypto/sha256"
	"sync"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// maxTreeBytes bounds the source text whose trees are kept. A tree takes about eight times its text.
const maxTreeBytes = 16 << 20

// Trees keeps the syntax trees of the sources that a long-lived process reads again and again, those used last. A tree belongs to a path and a content, so
// it is never out of date.
type Trees struct {
	mu    sync.Mutex
	byKey map[treeKey]*list.Element
	order list.List // of *tree, the one used last in front
	bytes int
}

type treeKey struct {
	path string
	text [sha256.Size]byte
}

type tree struct {
	key   treeKey
	file  *syntax.File
	bytes int
}

// NewTrees makes an empty store.
func NewTrees() *Trees { return &Trees{byKey: map[treeKey]*list.Element{}} }

// Parse is syntax.Parse. A text with errors is parsed each time, since its reports belong to the caller.
func (t *Trees) Parse(path string, text []byte) (*syntax.File, diag.List) {
	key := treeKey{path, sha256.Sum256(text)}
	t.mu.Lock()
	if e, ok := t.byKey[key]; ok {
		t.order.MoveToFront(e)
		t.mu.Unlock()
		return e.Value.(*tree).file, nil
	}
	t.mu.Unlock()
	file, ds := syntax.Parse(path, text)
	if len(ds) > 0 {
		return file, ds
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.byKey[key]; ok { // parsed by two at once
		return file, nil
	}
	t.byKey[key] = t.order.PushFront(&tree{key, file, len(text)})
	t.bytes += len(text)
	for t.bytes > maxTreeBytes && t.order.Len() > 1 {
		last := t.order.Remove(t.order.Back()).(*tree)
		delete(t.byKey, last.key)
		t.bytes -= last.bytes
	}
	return file, nil
}
