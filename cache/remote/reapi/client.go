// Package reapi talks to a cache of the Remote Execution API (build.bazel.remote.execution.v2) over gRPC: batches where they fit, streams for what is larger,
// zstd where the server offers it.
package reapi

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	repb "github.com/bazelbuild/remote-apis/build/bazel/remote/execution/v2"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/ptobuild/ptobuild/cache"
	"github.com/ptobuild/ptobuild/cache/remote"
	"github.com/ptobuild/ptobuild/cache/remote/syncer"
)

const (
	// defaultBatch is the size of batches when the server sets no limit: gRPC's default limit of a message.
	defaultBatch = 4 << 20
	// perBlob is what a blob costs in a batch beyond its content: digest, status and framing.
	perBlob = 128
	// slack is what a message may have beyond the blobs.
	slack = 1 << 16
	// parallel bounds the calls under way of one batch. Lookups of single actions are small, so many may be.
	parallelBatches = 4
	parallelActions = 64
	// digestsPerCall bounds FindMissingBlobs, which the batch limit does not: about 80 bytes each.
	digestsPerCall = 20000
)

// retry makes gRPC repeat calls that a server that restarts or a proxy refused.
const retry = `{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 3, "initialBackoff": "0.1s", "maxBackoff": "1s", "backoffMultiplier": 3,
	"retryableStatusCodes": ["UNAVAILABLE"]}}]}`

// Client is a connection to one server.
type Client struct {
	conn     *grpc.ClientConn
	instance string
	headers  metadata.MD
	compress bool // when the server can

	mu   sync.Mutex // guards caps
	caps *capabilities
}

// capabilities is what the server can do.
type capabilities struct {
	batch      int64
	updates    bool // of action results
	zstdBatch  bool
	zstdStream bool
}

// Dial makes a client; it connects with the first call.
func Dial(r *remote.Remote) (*Client, error) {
	creds := insecure.NewCredentials()
	if r.Scheme == "grpcs" {
		conf, err := TLS(r)
		if err != nil {
			return nil, err
		}
		creds = credentials.NewTLS(conf)
	}
	conn, err := grpc.NewClient(r.Host, grpc.WithTransportCredentials(creds), grpc.WithDefaultServiceConfig(retry),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))
	if err != nil {
		return nil, err
	}
	md := metadata.MD{}
	for _, h := range r.Headers {
		md.Append(h.Name, h.Value)
	}
	if r.User != nil {
		md.Append("authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(r.User.Name+":"+r.User.Password)))
	}
	if tool, err := proto.Marshal(&repb.RequestMetadata{ToolDetails: &repb.ToolDetails{ToolName: "ptobuild"}}); err == nil {
		md.Append("build.bazel.remote.execution.v2.requestmetadata-bin", string(tool))
	}
	return &Client{conn: conn, instance: r.Path, headers: md, compress: r.Compress}, nil
}

// TLS is the configuration for the certificates that a remote names.
func TLS(r *remote.Remote) (*tls.Config, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if r.TLSCA != "" {
		pem, err := os.ReadFile(r.TLSCA)
		if err != nil {
			return nil, fmt.Errorf("tls_ca: %w", err)
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls_ca: %s holds no certificate", r.TLSCA)
		}
	}
	if r.TLSCert != "" {
		cert, err := tls.LoadX509KeyPair(r.TLSCert, r.TLSKey)
		if err != nil {
			return nil, fmt.Errorf("tls_cert: %w", err)
		}
		conf.Certificates = []tls.Certificate{cert}
	}
	return conf, nil
}

func (c *Client) with(ctx context.Context) context.Context {
	return metadata.NewOutgoingContext(ctx, c.headers)
}

// capabilities asks the server what it can do, once.
func (c *Client) capabilities(ctx context.Context) (*capabilities, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.caps != nil {
		return c.caps, nil
	}
	got, err := repb.NewCapabilitiesClient(c.conn).GetCapabilities(c.with(ctx), &repb.GetCapabilitiesRequest{InstanceName: c.instance})
	if err != nil {
		return nil, explain(err)
	}
	cc := got.GetCacheCapabilities()
	if !contains(cc.GetDigestFunctions(), repb.DigestFunction_SHA256) {
		return nil, errors.New("the server does not offer SHA-256")
	}
	caps := &capabilities{batch: cc.GetMaxBatchTotalSizeBytes(), updates: cc.GetActionCacheUpdateCapabilities().GetUpdateEnabled(),
		zstdBatch:  c.compress && contains(cc.GetSupportedBatchUpdateCompressors(), repb.Compressor_ZSTD),
		zstdStream: c.compress && contains(cc.GetSupportedCompressors(), repb.Compressor_ZSTD)}
	if caps.batch <= 0 || caps.batch > defaultBatch {
		caps.batch = defaultBatch
	}
	c.caps = caps
	return caps, nil
}

func contains[T comparable](list []T, x T) bool {
	for _, y := range list {
		if x == y {
			return true
		}
	}
	return false
}

// explain turns a gRPC error into a sentence.
func explain(err error) error {
	s, ok := status.FromError(err)
	if !ok {
		return err
	}
	text := s.Message()
	if i := strings.LastIndex(text, " desc = "); i >= 0 { // retries wrap the error of the last try
		text = text[i+len(" desc = "):]
	}
	plain := errors.New(text)
	switch s.Code() {
	case codes.Unavailable:
		return &syncer.Hinted{Err: fmt.Errorf("cannot be reached: %w", plain), Hint: "is the server running, and the address right?"}
	case codes.DeadlineExceeded, codes.Canceled:
		return &syncer.Hinted{Err: errors.New("did not answer in time"), Hint: "timeout of the [[cache.remote]] allows more time"}
	case codes.Unauthenticated, codes.PermissionDenied:
		return &syncer.Hinted{Err: fmt.Errorf("refused access: %w", plain), Hint: "headers of the [[cache.remote]] carry tokens; mode = \"read\" if only reading is allowed"}
	case codes.ResourceExhausted:
		return fmt.Errorf("is full: %w", plain)
	case codes.Unimplemented:
		return fmt.Errorf("is no cache of the Remote Execution API: %w", plain)
	}
	return fmt.Errorf("%s: %w", s.Code(), plain)
}

func digestOf(d cache.Digest) *repb.Digest { return &repb.Digest{Hash: d.Hex(), SizeBytes: d.Size} }

func digestFrom(d *repb.Digest) (cache.Digest, error) {
	return cache.ParseDigest(fmt.Sprintf("%s/%d", d.GetHash(), d.GetSizeBytes()))
}

// Actions looks up results. The API has no call for several, so they are under way at once on one connection.
func (c *Client) Actions(ctx context.Context, keys []cache.Digest) ([]*cache.ActionResult, error) {
	if _, err := c.capabilities(ctx); err != nil {
		return nil, err
	}
	rs := make([]*cache.ActionResult, len(keys))
	ac := repb.NewActionCacheClient(c.conn)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelActions)
	for i, key := range keys {
		g.Go(func() error {
			got, err := ac.GetActionResult(c.with(ctx), &repb.GetActionResultRequest{InstanceName: c.instance, ActionDigest: digestOf(key)})
			if status.Code(err) == codes.NotFound {
				return nil
			}
			if err != nil {
				return explain(err)
			}
			rs[i], err = resultFrom(got)
			return err
		})
	}
	return rs, g.Wait()
}

func resultFrom(m *repb.ActionResult) (*cache.ActionResult, error) {
	r := &cache.ActionResult{ExitCode: m.GetExitCode()}
	for _, f := range m.GetOutputFiles() {
		d, err := digestFrom(f.GetDigest())
		if err != nil {
			return nil, fmt.Errorf("gave a malformed result: %w", err)
		}
		r.Outputs = append(r.Outputs, cache.OutputFile{Path: f.GetPath(), Digest: d, Executable: f.GetIsExecutable()})
	}
	return r, nil
}

// PutActions records results.
func (c *Client) PutActions(ctx context.Context, entries []syncer.Entry) error {
	caps, err := c.capabilities(ctx)
	if err != nil {
		return err
	}
	if !caps.updates {
		return &syncer.Hinted{Err: errors.New("does not let us record results"), Hint: "set mode = \"read\" for it"}
	}
	ac := repb.NewActionCacheClient(c.conn)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelActions)
	for _, e := range entries {
		g.Go(func() error {
			m := &repb.ActionResult{ExitCode: e.Result.ExitCode}
			for _, o := range e.Result.Outputs {
				m.OutputFiles = append(m.OutputFiles, &repb.OutputFile{Path: o.Path, Digest: digestOf(o.Digest), IsExecutable: o.Executable})
			}
			_, err := ac.UpdateActionResult(c.with(ctx), &repb.UpdateActionResultRequest{InstanceName: c.instance, ActionDigest: digestOf(e.Key), ActionResult: m})
			return explainNil(err)
		})
	}
	return g.Wait()
}

func explainNil(err error) error {
	if err == nil {
		return nil
	}
	return explain(err)
}

// Missing asks which blobs the server lacks.
func (c *Client) Missing(ctx context.Context, ds []cache.Digest) ([]cache.Digest, error) {
	if _, err := c.capabilities(ctx); err != nil {
		return nil, err
	}
	cas := repb.NewContentAddressableStorageClient(c.conn)
	var missing []cache.Digest
	for len(ds) > 0 {
		n := min(len(ds), digestsPerCall)
		req := &repb.FindMissingBlobsRequest{InstanceName: c.instance}
		for _, d := range ds[:n] {
			req.BlobDigests = append(req.BlobDigests, digestOf(d))
		}
		ds = ds[n:]
		got, err := cas.FindMissingBlobs(c.with(ctx), req)
		if err != nil {
			return nil, explain(err)
		}
		for _, m := range got.GetMissingBlobDigests() {
			d, err := digestFrom(m)
			if err != nil {
				return nil, fmt.Errorf("gave a malformed digest: %w", err)
			}
			missing = append(missing, d)
		}
	}
	return missing, nil
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }
