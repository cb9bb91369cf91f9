package reapi

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"sync"

	repb "github.com/bazelbuild/remote-apis/build/bazel/remote/execution/v2"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"
	"google.golang.org/genproto/googleapis/bytestream"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ptobuild/ptobuild/cache"
)

const (
	// chunk is what one message of a stream carries.
	chunk = 1 << 20
	// compressFrom is the size from which compressing is worth it.
	compressFrom = 256
)

var (
	encoder = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
		if err != nil {
			panic(err) // the options are constant
		}
		return e
	})
	errTooLong = errors.New("longer than its digest says")
)

// batches splits digests into groups that fit into one message, and those that need a stream.
func batches(ds []cache.Digest, limit int64) (groups [][]cache.Digest, large []cache.Digest) {
	limit -= slack
	var group []cache.Digest
	var size int64
	for _, d := range ds {
		n := d.Size + perBlob
		if n > limit {
			large = append(large, d)
			continue
		}
		if size+n > limit {
			groups = append(groups, group)
			group, size = nil, 0
		}
		group = append(group, d)
		size += n
	}
	if len(group) > 0 {
		groups = append(groups, group)
	}
	return groups, large
}

// Blobs downloads.
func (c *Client) Blobs(ctx context.Context, ds []cache.Digest, got func(cache.Digest, []byte) error) error {
	caps, err := c.capabilities(ctx)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	one := func(d cache.Digest, b []byte) error {
		mu.Lock()
		defer mu.Unlock()
		return got(d, b)
	}
	groups, large := batches(ds, caps.batch)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelBatches)
	for _, group := range groups {
		g.Go(func() error { return c.readBatch(ctx, caps, group, one) })
	}
	for _, d := range large {
		g.Go(func() error {
			b, err := c.readStream(ctx, caps, d)
			if err != nil || b == nil {
				return err
			}
			return one(d, b)
		})
	}
	return g.Wait()
}

func (c *Client) readBatch(ctx context.Context, caps *capabilities, ds []cache.Digest, got func(cache.Digest, []byte) error) error {
	req := &repb.BatchReadBlobsRequest{InstanceName: c.instance}
	if caps.zstdStream { // what it can stream compressed it may answer compressed, or not
		req.AcceptableCompressors = []repb.Compressor_Value{repb.Compressor_ZSTD}
	}
	for _, d := range ds {
		req.Digests = append(req.Digests, digestOf(d))
	}
	resp, err := repb.NewContentAddressableStorageClient(c.conn).BatchReadBlobs(c.with(ctx), req)
	if err != nil {
		return explain(err)
	}
	for _, r := range resp.GetResponses() {
		switch code := codes.Code(r.GetStatus().GetCode()); code {
		case codes.OK:
		case codes.NotFound:
			continue
		default:
			return explain(status.Error(code, r.GetStatus().GetMessage()))
		}
		d, err := digestFrom(r.GetDigest())
		if err != nil || !slices.Contains(ds, d) {
			return errors.New("gave a blob that nobody asked for")
		}
		b := r.GetData()
		if r.GetCompressor() == repb.Compressor_ZSTD {
			if b, err = decompress(bytes.NewReader(b), d.Size); err != nil {
				return fmt.Errorf("blob %s: %w", d, err)
			}
		}
		if err := got(d, b); err != nil {
			return err
		}
	}
	return nil
}

// decompress reads a compressed blob of a known size, and no more than that.
func decompress(r io.Reader, size int64) ([]byte, error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<30))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	return readSized(z, size)
}

// readSized reads a blob of a known size; a longer one is an error, whatever its length.
func readSized(r io.Reader, size int64) ([]byte, error) {
	var b bytes.Buffer
	if _, err := io.Copy(&b, io.LimitReader(r, size+1)); err != nil {
		return nil, err
	}
	if int64(b.Len()) > size {
		return nil, errTooLong
	}
	return b.Bytes(), nil
}

// resource is the name of a blob in ByteStream calls.
func (c *Client) resource(d cache.Digest, compressed bool, before ...string) string {
	parts := append([]string{c.instance}, before...)
	if compressed {
		parts = append(parts, "compressed-blobs", "zstd")
	} else {
		parts = append(parts, "blobs")
	}
	return path.Join(append(parts, d.Hex(), strconv.FormatInt(d.Size, 10))...)
}

// readStream downloads one blob; nil when it is not there.
func (c *Client) readStream(ctx context.Context, caps *capabilities, d cache.Digest) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends a stream that is not read to its end
	stream, err := bytestream.NewByteStreamClient(c.conn).Read(c.with(ctx), &bytestream.ReadRequest{ResourceName: c.resource(d, caps.zstdStream)})
	if err != nil {
		return nil, explain(err)
	}
	r := &streamReader{stream: stream}
	var b []byte
	if caps.zstdStream {
		b, err = decompress(r, d.Size)
	} else {
		b, err = readSized(r, d.Size)
	}
	switch {
	case status.Code(r.err) == codes.NotFound:
		return nil, nil
	case r.err != nil && !errors.Is(r.err, io.EOF):
		return nil, explain(r.err)
	case err != nil:
		return nil, fmt.Errorf("blob %s: %w", d, err)
	}
	return b, nil
}

// streamReader reads what a stream carries.
type streamReader struct {
	stream bytestream.ByteStream_ReadClient
	rest   []byte
	err    error
}

func (r *streamReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		var m *bytestream.ReadResponse
		if m, r.err = r.stream.Recv(); r.err == nil {
			r.rest = m.GetData()
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Upload uploads.
func (c *Client) Upload(ctx context.Context, ds []cache.Digest, read func(cache.Digest) ([]byte, error)) error {
	caps, err := c.capabilities(ctx)
	if err != nil {
		return err
	}
	groups, large := batches(ds, caps.batch)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelBatches)
	for _, group := range groups {
		g.Go(func() error { return c.writeBatch(ctx, caps, group, read) })
	}
	for _, d := range large {
		g.Go(func() error {
			b, err := read(d)
			if errors.Is(err, cache.ErrNotFound) {
				return nil
			}
			if err != nil {
				return err
			}
			return c.writeStream(ctx, caps, d, b)
		})
	}
	return g.Wait()
}

func (c *Client) writeBatch(ctx context.Context, caps *capabilities, ds []cache.Digest, read func(cache.Digest) ([]byte, error)) error {
	req := &repb.BatchUpdateBlobsRequest{InstanceName: c.instance}
	for _, d := range ds {
		b, err := read(d)
		if errors.Is(err, cache.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		r := &repb.BatchUpdateBlobsRequest_Request{Digest: digestOf(d), Data: b}
		if caps.zstdBatch && len(b) >= compressFrom {
			if z := encoder().EncodeAll(b, nil); len(z) < len(b) {
				r.Data, r.Compressor = z, repb.Compressor_ZSTD
			}
		}
		req.Requests = append(req.Requests, r)
	}
	resp, err := repb.NewContentAddressableStorageClient(c.conn).BatchUpdateBlobs(c.with(ctx), req)
	if err != nil {
		return explain(err)
	}
	for _, r := range resp.GetResponses() {
		if code := codes.Code(r.GetStatus().GetCode()); code != codes.OK {
			return explain(status.Error(code, r.GetStatus().GetMessage()))
		}
	}
	return nil
}

// uuid makes a random UUID (RFC 9562, version 4): servers insist on one for each upload.
func uuid() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (c *Client) writeStream(ctx context.Context, caps *capabilities, d cache.Digest, b []byte) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := bytestream.NewByteStreamClient(c.conn).Write(c.with(ctx))
	if err != nil {
		return explain(err)
	}
	name := c.resource(d, caps.zstdStream, "uploads", uuid())
	if caps.zstdStream {
		b = encoder().EncodeAll(b, nil)
	}
	for sent := 0; ; {
		n := min(len(b)-sent, chunk)
		last := sent+n == len(b)
		err := stream.Send(&bytestream.WriteRequest{ResourceName: name, WriteOffset: int64(sent), FinishWrite: last, Data: b[sent : sent+n]})
		if errors.Is(err, io.EOF) {
			break // the server said something: that it has the blob already, or what is wrong
		}
		if err != nil {
			return explain(err)
		}
		if sent += n; last {
			break
		}
		name = "" // only the first message needs it
	}
	resp, err := stream.CloseAndRecv()
	if err != nil {
		return explain(err)
	}
	// Of a compressed blob servers tell its size before or after, or -1 when they had it already.
	if n := resp.GetCommittedSize(); n != d.Size && !caps.zstdStream {
		return fmt.Errorf("kept %d of the %d bytes of a blob", n, d.Size)
	}
	return nil
}
