package syncer

import (
	"errors"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ptobuild/ptobuild/cache"
)

// The Remote Execution API has no call that looks up many actions at once, so a build of a thousand actions would make a thousand calls. Therefore each
// build that uploads something also uploads an index: the results of its actions in the order in which they were used, as one blob, which one more action
// result names. The next build reads it and knows what a thousand lookups would tell; it also knows what will probably be asked for next, and fetches
// blobs ahead. An index may be out of date or lost without harm: what it does not know is looked up singly.

const (
	// indexEntries bounds an index, to about 6 MB. The most recently used entries stay.
	indexEntries = 32 << 10
	// indexBytes is the size from which a blob cannot be an index of ours.
	indexBytes = 64 << 20
	indexName  = "index"
)

// index is the content of an index blob. It does not change.
type index struct {
	entries []Entry
	at      map[cache.Digest]int
}

// indexKey is the key under which the index of a group is recorded.
func indexKey(group string) cache.Digest {
	return cache.NewKey("ptobuild index 1").Str("group", group).Sum()
}

func newIndex(entries []Entry) *index {
	x := &index{entries: entries, at: make(map[cache.Digest]int, len(entries))}
	for i, e := range entries {
		x.at[e.Key] = i
	}
	return x
}

func (x *index) lookup(key cache.Digest) (i int, ok bool) {
	if x == nil {
		return 0, false
	}
	i, ok = x.at[key]
	return i, ok
}

// with is the index that has first, in order, before the entries of x. It is nil when x has all of them already.
func (x *index) with(first []Entry) *index {
	if !slices.ContainsFunc(first, func(e Entry) bool { _, ok := x.lookup(e.Key); return !ok }) {
		return nil
	}
	all := slices.Clone(first[:min(len(first), indexEntries)])
	y := newIndex(all)
	if x != nil {
		for _, e := range x.entries {
			if _, ok := y.at[e.Key]; !ok && len(y.entries) < indexEntries {
				y.at[e.Key] = len(y.entries)
				y.entries = append(y.entries, e)
			}
		}
	}
	return y
}

// An index blob is the message Index{entries = 1 repeated Entry}, Entry{hash = 1 bytes, size = 2, result = 3 ActionResult}.

func (x *index) marshal() []byte {
	var b, e []byte
	for _, entry := range x.entries {
		e = protowire.AppendTag(e[:0], 1, protowire.BytesType)
		e = protowire.AppendBytes(e, entry.Key.Hash[:])
		e = protowire.AppendTag(e, 2, protowire.VarintType)
		e = protowire.AppendVarint(e, uint64(entry.Key.Size))
		e = protowire.AppendTag(e, 3, protowire.BytesType)
		e = protowire.AppendBytes(e, entry.Result.Marshal())
		b = protowire.AppendTag(b, 1, protowire.BytesType)
		b = protowire.AppendBytes(b, e)
	}
	return b
}

var errIndex = errors.New("malformed index")

func unmarshalIndex(b []byte) (*index, error) {
	var entries []Entry
	for len(b) > 0 {
		msg, n := consumeField(b, 1, protowire.BytesType)
		if n < 0 {
			return nil, errIndex
		}
		b = b[n:]
		hash, n := consumeField(msg, 1, protowire.BytesType)
		if n < 0 || len(hash) != len(cache.Digest{}.Hash) {
			return nil, errIndex
		}
		msg = msg[n:]
		num, t, k := protowire.ConsumeTag(msg)
		if k < 0 || num != 2 || t != protowire.VarintType {
			return nil, errIndex
		}
		size, n := protowire.ConsumeVarint(msg[k:])
		if n < 0 || int64(size) < 0 {
			return nil, errIndex
		}
		result, n2 := consumeField(msg[k+n:], 3, protowire.BytesType)
		if n2 < 0 {
			return nil, errIndex
		}
		r, err := cache.UnmarshalActionResult(result)
		if err != nil {
			return nil, errIndex
		}
		entries = append(entries, Entry{cache.Digest{Hash: [32]byte(hash), Size: int64(size)}, r})
	}
	return newIndex(entries), nil
}

// consumeField reads a length-delimited field that must have a number; n is negative when it is another.
func consumeField(b []byte, want protowire.Number, typ protowire.Type) (content []byte, n int) {
	num, t, k := protowire.ConsumeTag(b)
	if k < 0 || num != want || t != typ {
		return nil, -1
	}
	content, n = protowire.ConsumeBytes(b[k:])
	if n < 0 {
		return nil, -1
	}
	return content, k + n
}
