package reapiserver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	repb "github.com/bazelbuild/remote-apis/build/bazel/remote/execution/v2"
	"github.com/klauspost/compress/zstd"
	"google.golang.org/genproto/googleapis/bytestream"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// grpcLimit is the limit of a message that clients expect when no limit of batches is announced.
const grpcLimit = 4 << 20

// get returns the content of a blob; the empty one is always there.
func (s *Server) get(d *repb.Digest) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.GetSizeBytes() == 0 {
		return nil, true
	}
	b, ok := s.blobs[name(d)]
	return b, ok
}

// give is get for clients: it may lie.
func (s *Server) give(d *repb.Digest) ([]byte, bool) {
	b, ok := s.get(d)
	s.mu.Lock()
	lie := s.faults.Lie
	s.mu.Unlock()
	if ok && lie != nil {
		b = lie(b)
	}
	return b, ok
}

// put stores a blob under the digest that the client says, which must be right.
func (s *Server) put(d *repb.Digest, b []byte) error {
	if !proto.Equal(d, digestOf(b)) {
		return status.Errorf(codes.InvalidArgument, "content of %s has digest %s", name(d), name(digestOf(b)))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.faults.Full {
		return status.Error(codes.ResourceExhausted, "no room")
	}
	s.blobs[name(d)] = bytes.Clone(b)
	return nil
}

// FindMissingBlobs tells which blobs are not there.
func (s *Server) FindMissingBlobs(_ context.Context, req *repb.FindMissingBlobsRequest) (*repb.FindMissingBlobsResponse, error) {
	resp := &repb.FindMissingBlobsResponse{}
	for _, d := range req.GetBlobDigests() {
		if _, ok := s.get(d); !ok {
			resp.MissingBlobDigests = append(resp.MissingBlobDigests, d)
		}
	}
	return resp, nil
}

// tooLarge checks a batch against the limit.
func (s *Server) tooLarge(total int64) error {
	limit := s.opts.MaxBatch
	if limit == 0 {
		limit = grpcLimit
	}
	if total > limit {
		return status.Errorf(codes.InvalidArgument, "a batch of %d bytes is above the limit of %d", total, limit)
	}
	return nil
}

// BatchUpdateBlobs stores small blobs.
func (s *Server) BatchUpdateBlobs(_ context.Context, req *repb.BatchUpdateBlobsRequest) (*repb.BatchUpdateBlobsResponse, error) {
	var total int64
	resp := &repb.BatchUpdateBlobsResponse{}
	for _, r := range req.GetRequests() {
		b, err := s.decoded(r.GetData(), r.GetCompressor())
		total += int64(len(b))
		if err == nil {
			err = s.put(r.GetDigest(), b)
		}
		resp.Responses = append(resp.Responses, &repb.BatchUpdateBlobsResponse_Response{Digest: r.GetDigest(), Status: statusOf(err)})
	}
	return resp, s.tooLarge(total)
}

func statusOf(err error) *statuspb.Status { return status.Convert(err).Proto() }

func (s *Server) decoded(b []byte, c repb.Compressor_Value) ([]byte, error) {
	switch {
	case c == repb.Compressor_IDENTITY:
		return b, nil
	case c == repb.Compressor_ZSTD && s.opts.Zstd:
		d, err := zstd.NewReader(nil)
		if err != nil {
			return nil, err
		}
		defer d.Close()
		if b, err = d.DecodeAll(b, nil); err != nil {
			return nil, status.Error(codes.InvalidArgument, err.Error())
		}
		return b, nil
	}
	return nil, status.Errorf(codes.InvalidArgument, "no compressor %v here", c)
}

func encoded(b []byte) ([]byte, error) {
	e, err := zstd.NewWriter(nil)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	return e.EncodeAll(b, nil), nil
}

// BatchReadBlobs gives small blobs.
func (s *Server) BatchReadBlobs(_ context.Context, req *repb.BatchReadBlobsRequest) (*repb.BatchReadBlobsResponse, error) {
	compress := s.opts.Zstd && len(req.GetAcceptableCompressors()) > 0 && req.GetAcceptableCompressors()[0] == repb.Compressor_ZSTD
	var total int64
	resp := &repb.BatchReadBlobsResponse{}
	for _, d := range req.GetDigests() {
		r := &repb.BatchReadBlobsResponse_Response{Digest: d}
		b, ok := s.give(d)
		if !ok {
			r.Status = statusOf(status.Errorf(codes.NotFound, "no blob %s", name(d)))
		} else if total += int64(len(b)); compress {
			z, err := encoded(b)
			if err != nil {
				return nil, err
			}
			r.Data, r.Compressor = z, repb.Compressor_ZSTD
		} else {
			r.Data = b
		}
		resp.Responses = append(resp.Responses, r)
	}
	return resp, s.tooLarge(total)
}

// GetTree gives all folders below one.
func (s *Server) GetTree(req *repb.GetTreeRequest, out repb.ContentAddressableStorage_GetTreeServer) error {
	if err := s.instance(req.GetInstanceName()); err != nil {
		return err
	}
	resp := &repb.GetTreeResponse{}
	todo := []*repb.Digest{req.GetRootDigest()}
	for len(todo) > 0 {
		dir, err := s.directory(todo[0])
		if err != nil {
			return err
		}
		todo = todo[1:]
		resp.Directories = append(resp.Directories, dir)
		for _, d := range dir.GetDirectories() {
			todo = append(todo, d.GetDigest())
		}
	}
	return out.Send(resp)
}

// GetActionResult gives a result whose blobs are all there.
func (s *Server) GetActionResult(_ context.Context, req *repb.GetActionResultRequest) (*repb.ActionResult, error) {
	s.mu.Lock()
	r, ok := s.actions[name(req.GetActionDigest())]
	s.mu.Unlock()
	if !ok {
		return nil, status.Errorf(codes.NotFound, "no result of %s", name(req.GetActionDigest()))
	}
	return r, nil
}

// UpdateActionResult records a result whose blobs must be there.
func (s *Server) UpdateActionResult(_ context.Context, req *repb.UpdateActionResultRequest) (*repb.ActionResult, error) {
	if s.opts.ReadOnly {
		return nil, status.Error(codes.PermissionDenied, "results cannot be recorded")
	}
	r := req.GetActionResult()
	for _, f := range r.GetOutputFiles() {
		if _, ok := s.get(f.GetDigest()); !ok {
			return nil, status.Errorf(codes.FailedPrecondition, "output %s was not uploaded", f.GetPath())
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.faults.Full {
		return nil, status.Error(codes.ResourceExhausted, "no room")
	}
	s.actions[name(req.GetActionDigest())] = r
	return r, nil
}

// resource is a parsed name of a ByteStream call.
type resource struct {
	upload   string // its id; "": a download
	digest   *repb.Digest
	compress bool
}

// parse reads [instance/][uploads/ID/](blobs|compressed-blobs/zstd)/HASH/SIZE[/anything].
func (s *Server) parse(text string) (*resource, error) {
	bad := status.Errorf(codes.InvalidArgument, "malformed resource name %q", text)
	rest := text
	if s.opts.Instance != "" {
		var ok bool
		if rest, ok = strings.CutPrefix(text, s.opts.Instance+"/"); !ok {
			return nil, status.Errorf(codes.InvalidArgument, "%q is of no instance here", text)
		}
	}
	parts := strings.Split(rest, "/")
	r := &resource{}
	if len(parts) > 2 && parts[0] == "uploads" {
		r.upload, parts = parts[1], parts[2:]
	}
	switch {
	case len(parts) >= 3 && parts[0] == "blobs":
		parts = parts[1:]
	case len(parts) >= 4 && parts[0] == "compressed-blobs" && parts[1] == "zstd" && s.opts.Zstd:
		r.compress, parts = true, parts[2:]
	default:
		return nil, bad
	}
	size, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || len(parts[0]) != 64 || size < 0 {
		return nil, bad
	}
	r.digest = &repb.Digest{Hash: parts[0], SizeBytes: size}
	return r, nil
}

// Read streams a blob.
func (s *Server) Read(req *bytestream.ReadRequest, out bytestream.ByteStream_ReadServer) error {
	r, err := s.parse(req.GetResourceName())
	if err != nil {
		return err
	}
	b, ok := s.give(r.digest)
	if !ok {
		return status.Errorf(codes.NotFound, "no blob %s", name(r.digest))
	}
	if req.GetReadOffset() < 0 || req.GetReadOffset() > int64(len(b)) {
		return status.Errorf(codes.OutOfRange, "offset %d of %d bytes", req.GetReadOffset(), len(b))
	}
	b = b[req.GetReadOffset():]
	if n := req.GetReadLimit(); n > 0 && n < int64(len(b)) {
		b = b[:n]
	}
	if r.compress {
		if b, err = encoded(b); err != nil {
			return err
		}
	}
	for len(b) > 0 {
		n := min(len(b), 64<<10)
		if err := out.Send(&bytestream.ReadResponse{Data: b[:n]}); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// upload is a blob on its way.
type upload struct {
	data []byte
	done bool
}

// Write takes a blob. An upload that broke off may be taken up again at the offset that QueryWriteStatus tells.
func (s *Server) Write(in bytestream.ByteStream_WriteServer) error {
	first, err := in.Recv()
	if err != nil {
		return err
	}
	r, err := s.parse(first.GetResourceName())
	if err != nil {
		return err
	}
	if r.upload == "" {
		return status.Errorf(codes.InvalidArgument, "%q is no upload", first.GetResourceName())
	}
	if _, ok := s.get(r.digest); ok { // nothing more is read
		size := r.digest.GetSizeBytes()
		if r.compress {
			size = -1
		}
		return in.SendAndClose(&bytestream.WriteResponse{CommittedSize: size})
	}
	s.mu.Lock()
	u := s.writing[first.GetResourceName()]
	if u == nil {
		u = &upload{}
		s.writing[first.GetResourceName()] = u
	}
	s.mu.Unlock()
	for m := first; ; {
		if m.GetWriteOffset() != int64(len(u.data)) {
			return status.Errorf(codes.InvalidArgument, "write at %d, not at %d", m.GetWriteOffset(), len(u.data))
		}
		if n := m.GetResourceName(); n != "" && n != first.GetResourceName() {
			return status.Error(codes.InvalidArgument, "the resource name changed")
		}
		s.mu.Lock()
		u.data = append(u.data, m.GetData()...)
		s.mu.Unlock()
		if m.GetFinishWrite() {
			break
		}
		if m, err = in.Recv(); errors.Is(err, io.EOF) {
			return status.Error(codes.InvalidArgument, "the stream ended without finish_write")
		} else if err != nil {
			return err
		}
	}
	b := u.data
	if r.compress {
		if b, err = s.decoded(b, repb.Compressor_ZSTD); err != nil {
			return err
		}
	}
	if err := s.put(r.digest, b); err != nil {
		return err
	}
	s.mu.Lock()
	u.done = true
	s.mu.Unlock()
	return in.SendAndClose(&bytestream.WriteResponse{CommittedSize: int64(len(u.data))})
}

// QueryWriteStatus tells how much of an upload came.
func (s *Server) QueryWriteStatus(_ context.Context, req *bytestream.QueryWriteStatusRequest) (*bytestream.QueryWriteStatusResponse, error) {
	if _, err := s.parse(req.GetResourceName()); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.writing[req.GetResourceName()]
	if u == nil {
		return nil, status.Error(codes.NotFound, "no such upload")
	}
	return &bytestream.QueryWriteStatusResponse{CommittedSize: int64(len(u.data)), Complete: u.done}, nil
}
