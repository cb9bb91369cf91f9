package cache

import (
	"cmp"
	"errors"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// ActionResult is what an action gave: the subset of the Remote Execution API's message of that name that ptobuild uses.
type ActionResult struct {
	Outputs  []OutputFile // by path
	ExitCode int32
}

// OutputFile is one output of an action.
type OutputFile struct {
	Path       string
	Digest     Digest
	Executable bool
}

// Output returns the digest of an output path.
func (r *ActionResult) Output(path string) (Digest, bool) {
	for _, o := range r.Outputs {
		if o.Path == path {
			return o.Digest, true
		}
	}
	return Digest{}, false
}

// Field numbers of build.bazel.remote.execution.v2: ActionResult{output_files = 2, exit_code = 4}, OutputFile{path = 1, digest = 2,
// is_executable = 4}, Digest{hash = 1, size_bytes = 2}. Written by hand with protowire: the generated messages would cost every start of
// the tool their registration.

// Marshal encodes r; outputs are sorted by path, so equal results give equal bytes.
func (r *ActionResult) Marshal() []byte {
	outs := slices.SortedFunc(slices.Values(r.Outputs), func(a, b OutputFile) int { return cmp.Compare(a.Path, b.Path) })
	var b []byte
	for _, o := range outs {
		var d, f []byte
		d = protowire.AppendTag(d, 1, protowire.BytesType)
		d = protowire.AppendString(d, o.Digest.Hex())
		d = protowire.AppendTag(d, 2, protowire.VarintType)
		d = protowire.AppendVarint(d, uint64(o.Digest.Size))
		f = protowire.AppendTag(f, 1, protowire.BytesType)
		f = protowire.AppendString(f, o.Path)
		f = protowire.AppendTag(f, 2, protowire.BytesType)
		f = protowire.AppendBytes(f, d)
		if o.Executable {
			f = protowire.AppendTag(f, 4, protowire.VarintType)
			f = protowire.AppendVarint(f, 1)
		}
		b = protowire.AppendTag(b, 2, protowire.BytesType)
		b = protowire.AppendBytes(b, f)
	}
	if r.ExitCode != 0 {
		b = protowire.AppendTag(b, 4, protowire.VarintType)
		b = protowire.AppendVarint(b, uint64(r.ExitCode))
	}
	return b
}

var errMalformed = errors.New("malformed action result")

// UnmarshalActionResult decodes what Marshal or another tool wrote; fields it does not know are skipped.
func UnmarshalActionResult(b []byte) (*ActionResult, error) {
	r := &ActionResult{}
	err := fields(b, func(n protowire.Number, v uint64, s []byte) error {
		switch n {
		case 2:
			o, err := unmarshalOutput(s)
			if err != nil {
				return err
			}
			r.Outputs = append(r.Outputs, o)
		case 4:
			r.ExitCode = int32(v)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

func unmarshalOutput(b []byte) (OutputFile, error) {
	var o OutputFile
	err := fields(b, func(n protowire.Number, v uint64, s []byte) error {
		switch n {
		case 1:
			o.Path = string(s)
		case 2:
			var hash string
			var size uint64
			if err := fields(s, func(n protowire.Number, v uint64, s []byte) error {
				switch n {
				case 1:
					hash = string(s)
				case 2:
					size = v
				}
				return nil
			}); err != nil {
				return err
			}
			d, err := digestFrom(hash, int64(size))
			o.Digest = d
			return err
		case 4:
			o.Executable = v != 0
		}
		return nil
	})
	return o, err
}

// fields calls f for each field of a message: v for varints, s for length-delimited ones.
func fields(b []byte, f func(n protowire.Number, v uint64, s []byte) error) error {
	for len(b) > 0 {
		n, t, k := protowire.ConsumeTag(b)
		if k < 0 {
			return errMalformed
		}
		b = b[k:]
		var v uint64
		var s []byte
		switch t {
		case protowire.VarintType:
			v, k = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			s, k = protowire.ConsumeBytes(b)
		default:
			k = protowire.ConsumeFieldValue(n, t, b)
		}
		if k < 0 {
			return errMalformed
		}
		b = b[k:]
		if err := f(n, v, s); err != nil {
			return err
		}
	}
	return nil
}
