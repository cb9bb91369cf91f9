package cache

import (
	"bytes"
	"crypto/sha256"

	"google.golang.org/protobuf/encoding/protowire"
)

// Where nothing else protects it (on disk, on HTTP servers) an action result carries a seal, so that a file cut short, overwritten or moved to another key is never taken for a result: a blob proves
// itself by its digest, a result by nothing. The seal is one more field at the end of the message, which other readers of the format skip.

const (
	sealField = 0x5054
	sealSize  = sha256.Size
)

// sealTag is what precedes the seal's bytes.
var sealTag = protowire.AppendVarint(protowire.AppendTag(nil, sealField, protowire.BytesType), sealSize)

// Seal encodes a result for the entry of a key.
func Seal(key Digest, r *ActionResult) []byte {
	b := r.Marshal()
	sum := sealOf(key, b)
	return append(append(b, sealTag...), sum[:]...)
}

// Unseal decodes what Seal wrote for the same key, and nothing else.
func Unseal(key Digest, b []byte) (*ActionResult, error) {
	at := len(b) - sealSize - len(sealTag)
	if at < 0 || !bytes.Equal(b[at:at+len(sealTag)], sealTag) {
		return nil, errMalformed
	}
	if sum := sealOf(key, b[:at]); !bytes.Equal(sum[:], b[at+len(sealTag):]) {
		return nil, errMalformed
	}
	return UnmarshalActionResult(b[:at])
}

func sealOf(key Digest, message []byte) [sealSize]byte {
	h := sha256.New()
	h.Write(key.Hash[:])
	h.Write(message)
	return [sealSize]byte(h.Sum(nil))
}
