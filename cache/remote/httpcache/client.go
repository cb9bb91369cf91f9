// Package httpcache talks to a cache in the layout of Bazel's HTTP cache: GET and PUT of /ac/KEY and /cas/HASH below a URL. Any web server that lets files be
// put is one: nginx with its DAV module, or an object store.
package httpcache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ptobuild/ptobuild/cache"
	"github.com/ptobuild/ptobuild/cache/remote"
	"github.com/ptobuild/ptobuild/cache/remote/reapi"
	"github.com/ptobuild/ptobuild/cache/remote/syncer"
)

const (
	// parallel is how many requests are under way at once: HTTP has no batches, but its connections are kept.
	parallel = 32
	// maxResult is the size from which something cannot be an action result of ours.
	maxResult = 16 << 20
)

// Client is a connection to one server.
type Client struct {
	http   *http.Client
	base   string
	remote *remote.Remote
}

// Dial makes a client; it connects with the first request.
func Dial(r *remote.Remote) (*Client, error) {
	t := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: r.Timeout, KeepAlive: 30 * time.Second}).DialContext,
		MaxIdleConnsPerHost: parallel, MaxConnsPerHost: parallel, IdleConnTimeout: time.Minute,
		DisableCompression: true, // what is stored is what is digested
		ForceAttemptHTTP2:  true,
	}
	if r.Scheme == "https" {
		conf, err := reapi.TLS(r)
		if err != nil {
			return nil, err
		}
		t.TLSClientConfig = conf
	}
	base := r.Scheme + "://" + r.Host
	if r.Path != "" {
		base += "/" + r.Path
	}
	return &Client{http: &http.Client{Transport: t}, base: base, remote: r}, nil
}

// do sends a request. The body of the response must be closed; it is nil when the answer was 404.
func (c *Client) do(ctx context.Context, method, kind string, d cache.Digest, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+"/"+kind+"/"+d.Hex(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if u := c.remote.User; u != nil {
		req.SetBasicAuth(u.Name, u.Password)
	}
	for _, h := range c.remote.Headers {
		req.Header.Add(h.Name, h.Value)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, &syncer.Hinted{Err: errors.New("did not answer in time"), Hint: "timeout of the [[cache.remote]] allows more time"}
		}
		var inner interface{ Unwrap() error } // the URL is in the report already
		if errors.As(err, &inner) && inner.Unwrap() != nil {
			err = inner.Unwrap()
		}
		return nil, &syncer.Hinted{Err: fmt.Errorf("cannot be reached: %w", err), Hint: "is the server running, and the address right?"}
	}
	switch {
	case resp.StatusCode == http.StatusNotFound:
		drain(resp)
		return nil, nil
	case resp.StatusCode/100 == 2:
		return resp, nil
	}
	drain(resp)
	err = fmt.Errorf("answered %s to %s", resp.Status, method)
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		err = &syncer.Hinted{Err: err, Hint: "headers of the [[cache.remote]] carry tokens; mode = \"read\" if only reading is allowed"}
	case http.StatusMethodNotAllowed:
		err = &syncer.Hinted{Err: err, Hint: "it lets nothing be put; set mode = \"read\" for it"}
	case http.StatusInsufficientStorage, http.StatusRequestEntityTooLarge:
		err = fmt.Errorf("is full: %w", err)
	}
	return nil, err
}

// drain reads the rest of a small body, so that the connection can be used again.
func drain(resp *http.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // of no interest
	_ = resp.Body.Close()
}

// read gets an entry, nil when it is not there. An entry longer than limit is cut.
func (c *Client) read(ctx context.Context, kind string, d cache.Digest, limit int64) ([]byte, error) {
	resp, err := c.do(ctx, http.MethodGet, kind, d, nil)
	if resp == nil || err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, fmt.Errorf("broke off an answer: %w", err)
	}
	return b, nil
}

// each calls f for the numbers below n, many at once.
func each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i := range n {
		g.Go(func() error { return f(ctx, i) })
	}
	return g.Wait()
}

// Actions looks up results.
func (c *Client) Actions(ctx context.Context, keys []cache.Digest) ([]*cache.ActionResult, error) {
	rs := make([]*cache.ActionResult, len(keys))
	return rs, each(ctx, len(keys), func(ctx context.Context, i int) error {
		b, err := c.read(ctx, "ac", keys[i], maxResult)
		if b == nil || err != nil {
			return err
		}
		if rs[i], err = cache.Unseal(keys[i], b); err != nil {
			return fmt.Errorf("%w for result %s", syncer.ErrLied, keys[i].Hex())
		}
		return nil
	})
}

// PutActions records results.
func (c *Client) PutActions(ctx context.Context, entries []syncer.Entry) error {
	return each(ctx, len(entries), func(ctx context.Context, i int) error {
		return c.put(ctx, "ac", entries[i].Key, cache.Seal(entries[i].Key, entries[i].Result))
	})
}

func (c *Client) put(ctx context.Context, kind string, d cache.Digest, b []byte) error {
	resp, err := c.do(ctx, http.MethodPut, kind, d, b)
	if err != nil {
		return err
	}
	if resp == nil {
		return errors.New("answered 404 to PUT: is the path of the URL right?")
	}
	drain(resp)
	return nil
}

// Blobs downloads.
func (c *Client) Blobs(ctx context.Context, ds []cache.Digest, got func(cache.Digest, []byte) error) error {
	var mu sync.Mutex
	return each(ctx, len(ds), func(ctx context.Context, i int) error {
		b, err := c.read(ctx, "cas", ds[i], ds[i].Size)
		if b == nil || err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		return got(ds[i], b)
	})
}

// Missing asks which blobs the server lacks.
func (c *Client) Missing(ctx context.Context, ds []cache.Digest) ([]cache.Digest, error) {
	there := make([]bool, len(ds))
	err := each(ctx, len(ds), func(ctx context.Context, i int) error {
		resp, err := c.do(ctx, http.MethodHead, "cas", ds[i], nil)
		if resp != nil {
			there[i] = resp.ContentLength < 0 || resp.ContentLength == ds[i].Size
			_ = resp.Body.Close()
		}
		return err
	})
	var missing []cache.Digest
	for i, d := range ds {
		if !there[i] {
			missing = append(missing, d)
		}
	}
	return missing, err
}

// Upload uploads.
func (c *Client) Upload(ctx context.Context, ds []cache.Digest, read func(cache.Digest) ([]byte, error)) error {
	return each(ctx, len(ds), func(ctx context.Context, i int) error {
		b, err := read(ds[i])
		if errors.Is(err, cache.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return c.put(ctx, "cas", ds[i], b)
	})
}
