package cache

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"
	"strings"
)

// Digest names content: its SHA-256 and its length, as in the Remote Execution API.
type Digest struct {
	Hash [sha256.Size]byte
	Size int64
}

// Of returns the digest of b.
func Of(b []byte) Digest { return Digest{sha256.Sum256(b), int64(len(b))} }

// Hex is the lower-case hash, the name of a blob in stores.
func (d Digest) Hex() string { return hex.EncodeToString(d.Hash[:]) }

// String is "hash/size", as the Remote Execution API writes it.
func (d Digest) String() string { return fmt.Sprintf("%s/%d", d.Hex(), d.Size) }

// ParseDigest reads what String wrote.
func ParseDigest(s string) (Digest, error) {
	h, n, _ := strings.Cut(s, "/")
	size, err := strconv.ParseInt(n, 10, 64)
	if err != nil {
		return Digest{}, fmt.Errorf("malformed digest %q", s)
	}
	d, err := digestFrom(h, size)
	if err != nil {
		return Digest{}, fmt.Errorf("malformed digest %q", s)
	}
	return d, nil
}

func digestFrom(hexHash string, size int64) (Digest, error) {
	var d Digest
	b, err := hex.DecodeString(hexHash)
	if err != nil || len(b) != len(d.Hash) || size < 0 {
		return d, errMalformed
	}
	copy(d.Hash[:], b)
	d.Size = size
	return d, nil
}

// KeyBuilder makes the key of an action from everything that decides its result. Each field is written with its name and length, so no two
// different lists of fields give the same bytes.
type KeyBuilder struct {
	h hash.Hash
	n int64
}

// NewKey starts a key for one kind of action.
func NewKey(mnemonic string) *KeyBuilder {
	k := &KeyBuilder{h: sha256.New()}
	k.Str("mnemonic", mnemonic)
	return k
}

func (k *KeyBuilder) write(b []byte) {
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], uint64(len(b)))
	k.h.Write(n[:])
	k.h.Write(b)
	k.n += int64(len(b)) + 8
}

// Str adds a named string.
func (k *KeyBuilder) Str(name, value string) *KeyBuilder {
	k.write([]byte(name))
	k.write([]byte(value))
	return k
}

// Bytes adds named content by its digest.
func (k *KeyBuilder) Bytes(name string, b []byte) *KeyBuilder { return k.Digest(name, Of(b)) }

// Digest adds a named digest.
func (k *KeyBuilder) Digest(name string, d Digest) *KeyBuilder {
	k.write([]byte(name))
	k.write(d.Hash[:])
	return k
}

// Sum returns the key.
func (k *KeyBuilder) Sum() Digest {
	d := Digest{Size: k.n}
	k.h.Sum(d.Hash[:0])
	return d
}
