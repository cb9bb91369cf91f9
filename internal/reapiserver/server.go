// Package reapiserver is a server of the Remote Execution API for tests: capabilities, content-addressed storage, action cache, byte streams, and execution
// of commands on this machine. It keeps everything in memory, counts its calls, and misbehaves when it is told to. That it speaks the API as others do is
// proved by Bazel, which builds against it (bazel_test.go).
package reapiserver

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"maps"
	"net"
	"path"
	"sync"
	"time"

	repb "github.com/bazelbuild/remote-apis/build/bazel/remote/execution/v2"
	"github.com/bazelbuild/remote-apis/build/bazel/semver"
	"google.golang.org/genproto/googleapis/bytestream"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Options say what the server offers. They do not change while it runs.
type Options struct {
	Instance string // the one instance name that is served
	MaxBatch int64  // limit of batches; 0: none announced, gRPC's own applies
	Zstd     bool   // offer compression
	ReadOnly bool   // action results cannot be recorded
	// Metadata that every call must carry, name → value.
	Metadata map[string]string
	TLS      *tls.Config // nil: plain text
	// ScratchDir is where commands are executed; "": there is no execution service.
	ScratchDir string
}

// Faults make the server misbehave. They may be changed while it runs.
type Faults struct {
	Delay time.Duration               // before each call is answered
	Fail  func(method string) error   // what a call answers instead; nil: nothing
	Lie   func(content []byte) []byte // what is given out instead of a blob
	Full  bool                        // nothing can be stored
}

// Server is a running server.
type Server struct {
	repb.UnimplementedCapabilitiesServer
	repb.UnimplementedContentAddressableStorageServer
	repb.UnimplementedActionCacheServer
	repb.UnimplementedExecutionServer
	bytestream.UnimplementedByteStreamServer

	opts Options
	grpc *grpc.Server
	addr string

	mu      sync.Mutex // guards what follows
	faults  Faults
	blobs   map[string][]byte // by "hash/size"
	actions map[string]*repb.ActionResult
	calls   map[string]int // by method, like "BatchReadBlobs"
	writing map[string]*upload
}

// Start starts a server on a free port of the loopback interface. Stop it when done.
func Start(opts Options) (*Server, error) {
	s := &Server{opts: opts, blobs: map[string][]byte{}, actions: map[string]*repb.ActionResult{}, calls: map[string]int{}, writing: map[string]*upload{}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.addr = l.Addr().String()
	o := []grpc.ServerOption{grpc.UnaryInterceptor(s.unary), grpc.StreamInterceptor(s.stream)}
	if opts.TLS != nil {
		o = append(o, grpc.Creds(credentials.NewTLS(opts.TLS)))
	}
	s.grpc = grpc.NewServer(o...)
	repb.RegisterCapabilitiesServer(s.grpc, s)
	repb.RegisterContentAddressableStorageServer(s.grpc, s)
	repb.RegisterActionCacheServer(s.grpc, s)
	bytestream.RegisterByteStreamServer(s.grpc, s)
	if opts.ScratchDir != "" {
		repb.RegisterExecutionServer(s.grpc, s)
	}
	go func() { _ = s.grpc.Serve(l) }() // ends with Stop
	return s, nil
}

// Stop ends the server and all calls.
func (s *Server) Stop() { s.grpc.Stop() }

// Addr is its host:port.
func (s *Server) Addr() string { return s.addr }

// URL is what a client is configured with.
func (s *Server) URL() string {
	scheme := "grpc"
	if s.opts.TLS != nil {
		scheme = "grpcs"
	}
	u := scheme + "://" + s.addr
	if s.opts.Instance != "" {
		u += "/" + s.opts.Instance
	}
	return u
}

// SetFaults changes how it misbehaves.
func (s *Server) SetFaults(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

// Calls returns how often each method was called, and forgets that.
func (s *Server) Calls() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := maps.Clone(s.calls)
	clear(s.calls)
	return c
}

// Blobs is the number of blobs, Actions that of action results.
func (s *Server) Blobs() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.blobs)
}

// Actions is the number of action results.
func (s *Server) Actions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.actions)
}

// Evict forgets blobs, as a server that needs room does. Action results stay.
func (s *Server) Evict(which func(content []byte) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.blobs, func(_ string, b []byte) bool { return which(b) })
}

// enter counts a call and decides whether it is served.
func (s *Server) enter(ctx context.Context, method string) error {
	method = path.Base(method)
	s.mu.Lock()
	s.calls[method]++
	f := s.faults
	s.mu.Unlock()
	md, _ := metadata.FromIncomingContext(ctx)
	for name, want := range s.opts.Metadata {
		if got := md.Get(name); len(got) != 1 || got[0] != want {
			return status.Errorf(codes.Unauthenticated, "%s is missing or wrong", name)
		}
	}
	if f.Delay > 0 {
		select {
		case <-time.After(f.Delay):
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
	}
	if f.Fail != nil {
		return f.Fail(method)
	}
	return nil
}

func (s *Server) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if err := s.enter(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	if r, ok := req.(interface{ GetInstanceName() string }); ok {
		if err := s.instance(r.GetInstanceName()); err != nil {
			return nil, err
		}
	}
	return handler(ctx, req)
}

func (s *Server) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if err := s.enter(ss.Context(), info.FullMethod); err != nil {
		return err
	}
	return handler(srv, ss)
}

func (s *Server) instance(name string) error {
	if name != s.opts.Instance {
		return status.Errorf(codes.InvalidArgument, "no instance %q here", name)
	}
	return nil
}

// GetCapabilities tells what the options say.
func (s *Server) GetCapabilities(context.Context, *repb.GetCapabilitiesRequest) (*repb.ServerCapabilities, error) {
	sha := []repb.DigestFunction_Value{repb.DigestFunction_SHA256}
	c := &repb.ServerCapabilities{
		CacheCapabilities: &repb.CacheCapabilities{
			DigestFunctions:               sha,
			ActionCacheUpdateCapabilities: &repb.ActionCacheUpdateCapabilities{UpdateEnabled: !s.opts.ReadOnly},
			MaxBatchTotalSizeBytes:        s.opts.MaxBatch,
			SymlinkAbsolutePathStrategy:   repb.SymlinkAbsolutePathStrategy_ALLOWED,
		},
		LowApiVersion:  &semver.SemVer{Major: 2},
		HighApiVersion: &semver.SemVer{Major: 2, Minor: 3},
	}
	if s.opts.Zstd {
		c.CacheCapabilities.SupportedCompressors = []repb.Compressor_Value{repb.Compressor_ZSTD}
		c.CacheCapabilities.SupportedBatchUpdateCompressors = []repb.Compressor_Value{repb.Compressor_ZSTD}
	}
	if s.opts.ScratchDir != "" {
		c.ExecutionCapabilities = &repb.ExecutionCapabilities{DigestFunction: repb.DigestFunction_SHA256, DigestFunctions: sha, ExecEnabled: true}
	}
	return c, nil
}

// digestOf is the digest of content.
func digestOf(b []byte) *repb.Digest {
	sum := sha256.Sum256(b)
	return &repb.Digest{Hash: hex.EncodeToString(sum[:]), SizeBytes: int64(len(b))}
}

func name(d *repb.Digest) string { return fmt.Sprintf("%s/%d", d.GetHash(), d.GetSizeBytes()) }
