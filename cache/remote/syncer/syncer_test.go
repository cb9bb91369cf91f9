package syncer_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	repb "github.com/bazelbuild/remote-apis/build/bazel/remote/execution/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/ptobuild/ptobuild/cache"
	"github.com/ptobuild/ptobuild/cache/remote"
	"github.com/ptobuild/ptobuild/cache/remote/httpcache"
	"github.com/ptobuild/ptobuild/cache/remote/reapi"
	"github.com/ptobuild/ptobuild/cache/remote/syncer"
	"github.com/ptobuild/ptobuild/internal/davserver"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/internal/reapiserver"
)

var ctx = context.Background()

// machine is a computer with a local cache, empty at first, and one remote.
type machine struct {
	*syncer.Syncer
	disk *cache.Disk

	mu       sync.Mutex
	warnings []remote.Warning
}

func newMachine(t testing.TB, c remote.Config) *machine {
	t.Helper()
	m := &machine{}
	if c.Timeout == "" {
		c.Timeout = "2m" // the machine that tests run on may be busy
	}
	var err error
	if m.disk, err = cache.NewDisk(t.TempDir(), func(err error) { t.Error(err) }); err != nil {
		t.Fatal(err)
	}
	r, err := c.Resolve(func(s string) string { return s })
	if err != nil {
		t.Fatal(err)
	}
	var b syncer.Backend
	if strings.HasPrefix(r.Scheme, "http") {
		b, err = httpcache.Dial(r)
	} else {
		var client *reapi.Client
		client, err = reapi.Dial(r)
		t.Cleanup(func() { _ = client.Close() })
		b = client
	}
	if err != nil {
		t.Fatal(err)
	}
	m.Syncer = syncer.New(m.disk, "workspace", []*remote.Remote{r}, []syncer.Backend{b}, func(w remote.Warning) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.warnings = append(m.warnings, w)
	})
	t.Cleanup(m.Close)
	return m
}

func (m *machine) warned() []remote.Warning {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.warnings)
}

// action runs an action on the machine: it has an output of so many bytes, another of few, and an empty one.
func (m *machine) action(t testing.TB, name string, size int) cache.Digest {
	t.Helper()
	key := cache.NewKey(name).Sum()
	r := &cache.ActionResult{}
	rnd := mathrand.New(mathrand.NewPCG(uint64(size), uint64(len(name))))
	large := []byte(name)
	for len(large) < size {
		large = append(large, fmt.Sprintf("%s %x\n", name, rnd.Uint64())...)
	}
	for path, b := range map[string][]byte{"out": large, "log": []byte(name), "empty": nil} {
		d, err := m.disk.Put(ctx, b)
		if err != nil {
			t.Fatal(err)
		}
		r.Outputs = append(r.Outputs, cache.OutputFile{Path: path, Digest: d, Executable: path == "out"})
	}
	if err := m.disk.PutAction(ctx, key, r); err != nil {
		t.Fatal(err)
	}
	return key
}

// build runs n actions, uploads them and waits for that.
func (m *machine) build(t testing.TB, n, size int) []cache.Digest {
	t.Helper()
	var keys []cache.Digest
	for i := range n {
		keys = append(keys, m.action(t, fmt.Sprint("action ", i, " of size ", size), size))
	}
	for _, key := range keys { // as fast as they can come
		m.Upload([]cache.Digest{key})
	}
	m.Drain(ctx, keys)
	return keys
}

// check reads all results and blobs of keys.
func (m *machine) check(t *testing.T, from *machine, keys []cache.Digest) {
	t.Helper()
	for i, key := range keys {
		want, err := from.disk.GetAction(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.disk.GetAction(ctx, key)
		if err != nil {
			t.Fatalf("result %d: %v", i, err)
		}
		if !bytes.Equal(got.Marshal(), want.Marshal()) {
			t.Fatalf("result %d differs", i)
		}
		for _, o := range got.Outputs {
			if _, err := m.disk.Get(ctx, o.Digest); err != nil {
				t.Errorf("blob %s of result %d: %v", o.Path, i, err)
			}
		}
	}
}

func startREAPI(t *testing.T, opts reapiserver.Options) *reapiserver.Server {
	t.Helper()
	s, err := reapiserver.Start(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

func startDAV(t *testing.T, opts davserver.Options) *davserver.Server {
	t.Helper()
	s, err := davserver.Start(t.TempDir(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// certificate makes a certificate for the loopback interface, and files with it and its key for clients.
func certificate(t *testing.T) (conf *tls.Config, certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "cache"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, certFile, keyFile
}

// webServer is a web server over TLS that keeps what is put, for those who know the password and send the header.
func webServer(t *testing.T, conf *tls.Config) *httptest.Server {
	t.Helper()
	var files sync.Map
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "ci" || password != "pass word" || r.Header.Get("X-Team") != "blue" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		switch r.Method {
		case http.MethodPut:
			b, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			files.Store(r.URL.Path, b)
		case http.MethodGet, http.MethodHead:
			b, ok := files.Load(r.URL.Path)
			if !ok {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			w.Header().Set("Content-Length", fmt.Sprint(len(b.([]byte))))
			_, _ = w.Write(b.([]byte))
		}
	}))
	s.TLS = conf
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// What one machine built another one finds, whatever the protocol and what the server offers.
func TestShare(t *testing.T) {
	conf, cert, key := certificate(t)
	mutual := conf.Clone()
	mutual.ClientAuth, mutual.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
	if pem, err := os.ReadFile(cert); err != nil || !mutual.ClientCAs.AppendCertsFromPEM(pem) {
		t.Fatal(err)
	}
	t.Setenv("PTOBUILD_CACHE_TOKEN", "s3cret")
	grpc := func(opts reapiserver.Options, c remote.Config) func(*testing.T) remote.Config {
		return func(t *testing.T) remote.Config {
			c.URL = startREAPI(t, opts).URL()
			return c
		}
	}
	no := false
	for name, config := range map[string]func(*testing.T) remote.Config{
		"grpc":                  grpc(reapiserver.Options{}, remote.Config{}),
		"zstd":                  grpc(reapiserver.Options{Zstd: true}, remote.Config{}),
		"zstd refused":          grpc(reapiserver.Options{Zstd: true}, remote.Config{Compress: &no}),
		"small batches, stream": grpc(reapiserver.Options{MaxBatch: 100_000}, remote.Config{}),
		"zstd stream":           grpc(reapiserver.Options{MaxBatch: 100_000, Zstd: true}, remote.Config{}),
		"instance":              grpc(reapiserver.Options{Instance: "team/a", MaxBatch: 100_000}, remote.Config{}),
		"headers": grpc(reapiserver.Options{Metadata: map[string]string{"authorization": "Bearer s3cret"}},
			remote.Config{Headers: map[string]string{"Authorization": "Bearer ${PTOBUILD_CACHE_TOKEN}"}}),
		"tls":        grpc(reapiserver.Options{TLS: conf}, remote.Config{TLSCA: cert}),
		"mutual tls": grpc(reapiserver.Options{TLS: mutual}, remote.Config{TLSCA: cert, TLSCert: cert, TLSKey: key}),
		"https": func(t *testing.T) remote.Config {
			url := strings.Replace(webServer(t, conf).URL, "https://", "https://ci:pass%20word@", 1)
			return remote.Config{URL: url, TLSCA: cert, Headers: map[string]string{"X-Team": "blue"}}
		},
		"http": func(t *testing.T) remote.Config {
			return remote.Config{URL: startDAV(t, davserver.Options{}).URL + "/some/folder"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := config(t)
			a, b := newMachine(t, c), newMachine(t, c)
			keys := slices.Concat(a.build(t, 40, 3000), a.build(t, 3, 150_000), a.build(t, 1, 5<<20))
			if w := a.warned(); len(w) > 0 {
				t.Fatalf("uploading: %v", w)
			}
			if n := b.Fetch(ctx, append(keys, cache.NewKey("unknown").Sum())); n != len(keys) {
				t.Errorf("%d of %d results came", n, len(keys))
			}
			b.check(t, a, keys)
			single := newMachine(t, c)
			for i, key := range keys {
				if n := single.Fetch(ctx, []cache.Digest{key}); n != 1 {
					t.Errorf("asked singly, result %d did not come", i)
				}
			}
			single.check(t, a, keys)
			if w := slices.Concat(b.warned(), single.warned()); len(w) > 0 {
				t.Errorf("downloading: %v", w)
			}
		})
	}
}

func total(calls map[string]int) (n int) {
	for _, c := range calls {
		n += c
	}
	return n
}

// A thousand results come in one round of batched calls: announced, or asked for one after the other.
func TestThousandResultsInOneRound(t *testing.T) {
	s := startREAPI(t, reapiserver.Options{})
	c := remote.Config{URL: s.URL()}
	a := newMachine(t, c)
	keys := a.build(t, 1000, 2000)
	if up := s.Calls(); up["FindMissingBlobs"] > 12 || up["BatchUpdateBlobs"] > 12 || up["UpdateActionResult"] != 1001 {
		t.Errorf("uploading took %v", up)
	}
	b := newMachine(t, c)
	if n := b.Fetch(ctx, keys); n != 1000 {
		t.Fatalf("%d results", n)
	}
	if down := s.Calls(); down["GetActionResult"] != 1 || total(down) > 5 {
		t.Errorf("announced: %v", down)
	}
	b.check(t, a, keys)
	single := newMachine(t, c)
	for _, key := range keys {
		if _, err := single.disk.GetAction(ctx, key); err == nil {
			continue // came ahead
		}
		if n := single.Fetch(ctx, []cache.Digest{key}); n != 1 {
			t.Fatal("a result did not come")
		}
	}
	if down := s.Calls(); total(down) > 40 {
		t.Errorf("one after the other: %v", down)
	}
	// A build that misses one result does not read an index.
	s.Calls()
	newMachine(t, c).Fetch(ctx, keys[:1])
	if down := s.Calls(); down["GetActionResult"] != 1 || total(down) != 3 {
		t.Errorf("one: %v", down)
	}
}

// The first build of all finds nothing, and does not ask for each of its actions.
func TestNothingToBeFound(t *testing.T) {
	s := startREAPI(t, reapiserver.Options{})
	c := remote.Config{URL: s.URL()}
	a := newMachine(t, c)
	key := func(i int) []cache.Digest { return []cache.Digest{cache.NewKey(fmt.Sprint(i)).Sum()} }
	for i := range 300 {
		a.Fetch(ctx, key(i))
	}
	if n := s.Calls()["GetActionResult"]; n > 16+300/16+2 {
		t.Errorf("%d lookups", n)
	}
	// When something turns up, it asks again.
	newMachine(t, c).build(t, 100, 10)
	var keys []cache.Digest
	for i := range 100 {
		keys = append(keys, cache.NewKey(fmt.Sprint("action ", i, " of size 10")).Sum())
	}
	found := 0
	for _, k := range keys {
		found += a.Fetch(ctx, []cache.Digest{k})
	}
	if found < 80 {
		t.Errorf("%d of 100 found", found)
	}
}

// An index is a hint: what it does not know, or knows wrongly, is found all the same.
func TestStaleIndex(t *testing.T) {
	s := startREAPI(t, reapiserver.Options{})
	c := remote.Config{URL: s.URL()}
	a := newMachine(t, c)
	keys := a.build(t, 20, 1000)
	// Another machine makes one of the actions again, with another output, and an action that the index lacks; it is killed before it writes an index.
	other := newMachine(t, c)
	again := other.action(t, "action 3 of size 1000", 2000)
	extra := other.action(t, "extra", 500)
	if again != keys[3] {
		t.Fatal("the test is wrong about keys")
	}
	other.Upload([]cache.Digest{again, extra})
	waitFor(t, func() bool { return s.Actions() == 22 }) // 20, the index and the extra one
	r, err := a.disk.GetAction(ctx, again)
	if err != nil {
		t.Fatal(err)
	}
	old, _ := r.Output("out")
	s.Evict(func(b []byte) bool { return cache.Of(b) == old })
	b := newMachine(t, c)
	if n := b.Fetch(ctx, append(keys, extra)); n != 21 {
		t.Errorf("%d of 21", n)
	}
	b.check(t, other, []cache.Digest{again, extra})
	if w := b.warned(); len(w) > 0 {
		t.Errorf("%v", w)
	}
}

func waitFor(t *testing.T, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it did not happen in 20 s")
		}
	}
}

// The index keeps what other builds used, most recent first.
func TestIndexGrows(t *testing.T) {
	s := startREAPI(t, reapiserver.Options{})
	c := remote.Config{URL: s.URL()}
	first := newMachine(t, c).build(t, 20, 100)
	second := newMachine(t, c).build(t, 20, 200)
	s.Calls()
	if n := newMachine(t, c).Fetch(ctx, append(first, second...)); n != 40 {
		t.Errorf("%d", n)
	}
	if down := s.Calls(); down["GetActionResult"] != 1 {
		t.Errorf("%v", down)
	}
	// A build that used nothing new leaves it.
	a := newMachine(t, c)
	a.Fetch(ctx, first)
	s.Calls()
	a.Drain(ctx, first)
	if up := s.Calls(); total(up) != 0 {
		t.Errorf("%v", up)
	}
}

// Blobs that the server had to forget make no hit, and come back with the next upload.
func TestEvictedBlobs(t *testing.T) {
	s := startREAPI(t, reapiserver.Options{})
	c := remote.Config{URL: s.URL()}
	a := newMachine(t, c)
	keys := a.build(t, 30, 1000)
	s.Evict(func(b []byte) bool { return len(b) >= 1000 && bytes.Contains(b, []byte("action 7 ")) })
	b := newMachine(t, c)
	if n := b.Fetch(ctx, keys); n != 29 {
		t.Errorf("%d of 29", n)
	}
	if w := b.warned(); len(w) > 0 {
		t.Errorf("%v", w)
	}
	b.Upload([]cache.Digest{b.action(t, "action 7 of size 1000", 1000)})
	b.Drain(ctx, keys)
	if n := newMachine(t, c).Fetch(ctx, keys); n != 30 {
		t.Errorf("afterwards %d of 30", n)
	}
}

// Whatever a server does, what it gave is right or absent, it costs one warning, and it is left alone then.
func TestBadServers(t *testing.T) {
	flip := func(b []byte) []byte {
		b = bytes.Clone(b)
		if len(b) > 0 {
			b[len(b)/2] ^= 1
		}
		return b
	}
	for name, x := range map[string]struct {
		opts   reapiserver.Options
		faults reapiserver.Faults
		code   diag.Code
		text   string
	}{
		"slow":        {faults: reapiserver.Faults{Delay: time.Minute}, code: cache.CodeRemote, text: "did not answer in time"},
		"failing":     {faults: fail(codes.Internal), code: cache.CodeRemote, text: "Internal: broken"},
		"down":        {faults: fail(codes.Unavailable), code: cache.CodeRemote, text: "cannot be reached"},
		"forbidden":   {opts: reapiserver.Options{Metadata: map[string]string{"token": "x"}}, code: cache.CodeRemote, text: "refused access"},
		"other":       {faults: fail(codes.Unimplemented), code: cache.CodeRemote, text: "is no cache of the Remote Execution API"},
		"flipped bit": {faults: reapiserver.Faults{Lie: flip}, code: cache.CodeLied, text: "wrong content for blob"},
		"cut":         {faults: reapiserver.Faults{Lie: func(b []byte) []byte { return b[:len(b)/2] }}, code: cache.CodeLied, text: "wrong content"},
		"longer":      {faults: reapiserver.Faults{Lie: func(b []byte) []byte { return append(bytes.Clone(b), 0) }}, code: cache.CodeLied, text: "wrong content"},
		"zstd, longer": {opts: reapiserver.Options{Zstd: true}, faults: reapiserver.Faults{Lie: func(b []byte) []byte { return make([]byte, 3<<20) }},
			code: cache.CodeRemote, text: "longer than its digest says"},
		"stream, cut": {opts: reapiserver.Options{MaxBatch: 66_000}, faults: reapiserver.Faults{Lie: func(b []byte) []byte { return b[:len(b)/2] }}, code: cache.CodeLied,
			text: "wrong content"},
	} {
		t.Run(name, func(t *testing.T) {
			s := startREAPI(t, x.opts)
			good := remote.Config{URL: s.URL()}
			if x.opts.Metadata != nil {
				good.Headers = map[string]string{"token": "x"}
			}
			keys := newMachine(t, good).build(t, 20, 1000)
			s.SetFaults(x.faults)
			b := newMachine(t, remote.Config{URL: s.URL(), Timeout: "1s"})
			start := time.Now()
			b.Fetch(ctx, keys)
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("it was waited for %s", took)
			}
			w := b.warned()
			if len(w) != 1 || w[0].Code != x.code || !strings.Contains(w[0].Message, x.text) || !strings.HasSuffix(w[0].Message, "; building without it") {
				t.Errorf("warnings %+v", w)
			}
			if v, err := b.disk.Verify(ctx); err != nil || v.Damaged.Entries+v.Dangling.Entries > 0 {
				t.Errorf("the local cache: %+v, %v", v, err)
			}
			s.Calls()
			b.Fetch(ctx, keys)
			b.Upload([]cache.Digest{b.action(t, "more", 10)})
			b.Drain(ctx, keys)
			if n := total(s.Calls()); n > 0 || len(b.warned()) != 1 {
				t.Errorf("%d more calls, warnings %v", n, b.warned())
			}
		})
	}
}

func fail(code codes.Code) reapiserver.Faults {
	return reapiserver.Faults{Fail: func(string) error { return status.Error(code, "broken") }}
}

// A server that answers each question late costs more than it gives.
func TestSluggishServer(t *testing.T) {
	s := startREAPI(t, reapiserver.Options{})
	s.SetFaults(reapiserver.Faults{Delay: 100 * time.Millisecond})
	b := newMachine(t, remote.Config{URL: s.URL(), Timeout: "400ms"})
	for i := range 40 {
		b.Fetch(ctx, []cache.Digest{cache.NewKey(fmt.Sprint(i)).Sum()})
	}
	if w := b.warned(); len(w) != 1 || !strings.Contains(w[0].Message, "is too slow: ") {
		t.Errorf("%v", w)
	}
	if n := s.Calls()["GetActionResult"]; n > 16 {
		t.Errorf("%d lookups", n)
	}
}

// A server that takes nothing is read all the same.
func TestServersThatTakeNothing(t *testing.T) {
	for name, x := range map[string]struct {
		opts   reapiserver.Options
		faults reapiserver.Faults
		text   string
	}{
		"full":      {faults: reapiserver.Faults{Full: true}, text: "is full"},
		"read-only": {opts: reapiserver.Options{ReadOnly: true}, text: "does not let us record results"},
	} {
		t.Run(name, func(t *testing.T) {
			s := startREAPI(t, x.opts)
			c := remote.Config{URL: s.URL()}
			var keys []cache.Digest
			if !x.opts.ReadOnly {
				keys = newMachine(t, c).build(t, 5, 1000)
			}
			s.SetFaults(x.faults)
			b := newMachine(t, c)
			b.build(t, 3, 2000)
			b.build(t, 3, 3000)
			w := b.warned()
			if len(w) != 1 || w[0].Code != cache.CodeUpload || !strings.Contains(w[0].Message, x.text) || !strings.HasSuffix(w[0].Message, "; nothing more is uploaded") {
				t.Errorf("%+v", w)
			}
			if n := b.Fetch(ctx, keys); n != len(keys) {
				t.Errorf("%d of %d", n, len(keys))
			}
		})
	}
}

func TestReadMode(t *testing.T) {
	s := startREAPI(t, reapiserver.Options{})
	newMachine(t, remote.Config{URL: s.URL(), Mode: remote.ModeRead}).build(t, 5, 1000)
	if n := total(s.Calls()); n != 0 {
		t.Errorf("%d calls", n)
	}
}

// What is put on a web server is what Bazel would put there: an ActionResult below ac/, content below cas/.
func TestHTTPLayout(t *testing.T) {
	s := startDAV(t, davserver.Options{})
	a := newMachine(t, remote.Config{URL: s.URL + "/shared"})
	key := a.build(t, 1, 1000)[0]
	b, err := os.ReadFile(filepath.Join(s.Root, "shared", "ac", key.Hex()))
	if err != nil {
		t.Fatal(err)
	}
	var r repb.ActionResult
	if err := proto.Unmarshal(b, &r); err != nil || len(r.GetOutputFiles()) != 3 {
		t.Fatalf("%v, %v", &r, err)
	}
	for _, o := range r.GetOutputFiles() {
		b, err := os.ReadFile(filepath.Join(s.Root, "shared", "cas", o.GetDigest().GetHash()))
		if err != nil || cache.Of(b).Hex() != o.GetDigest().GetHash() || int64(len(b)) != o.GetDigest().GetSizeBytes() {
			t.Errorf("%s: %d bytes, %v", o.GetPath(), len(b), err)
		}
	}
}

func TestBadHTTPServers(t *testing.T) {
	corrupt := func(t *testing.T, root, kind string, f func([]byte) []byte) {
		t.Helper()
		err := filepath.WalkDir(filepath.Join(root, kind), func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			return os.WriteFile(p, f(b), 0o666)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	page := func([]byte) []byte { return []byte("<html>Please log in</html>") }
	cut := func(b []byte) []byte { return b[:len(b)/2] }
	for name, x := range map[string]struct {
		opts davserver.Options
		kind string
		f    func([]byte) []byte
		code diag.Code
		text string
	}{
		"results are a login page": {kind: "ac", f: page, code: cache.CodeLied, text: "wrong content for result"},
		"results cut":              {kind: "ac", f: cut, code: cache.CodeLied, text: "wrong content for result"},
		"blobs cut":                {kind: "cas", f: cut, code: cache.CodeLied, text: "wrong content for blob"},
		"read-only":                {opts: davserver.Options{ReadOnly: true}, code: cache.CodeUpload, text: "answered 40"},
		"small limit":              {opts: davserver.Options{MaxBody: "1k"}, code: cache.CodeUpload, text: "is full: answered 413"},
	} {
		t.Run(name, func(t *testing.T) {
			s := startDAV(t, x.opts)
			c := remote.Config{URL: s.URL}
			a := newMachine(t, c)
			keys := a.build(t, 10, 3000)
			b := a
			if x.f != nil {
				corrupt(t, s.Root, x.kind, x.f)
				b = newMachine(t, c)
				b.Fetch(ctx, keys)
				b.Fetch(ctx, keys)
			}
			if w := b.warned(); len(w) != 1 || w[0].Code != x.code || !strings.Contains(w[0].Message, x.text) {
				t.Errorf("%+v", w)
			}
			if v, err := b.disk.Verify(ctx); err != nil || v.Damaged.Entries+v.Dangling.Entries > 0 {
				t.Errorf("the local cache: %+v, %v", v, err)
			}
		})
	}
	t.Run("nobody there", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
		b := newMachine(t, remote.Config{URL: "http://" + l.Addr().String()})
		b.Fetch(ctx, []cache.Digest{cache.NewKey("x").Sum()})
		if w := b.warned(); len(w) != 1 || w[0].Code != cache.CodeRemote || !strings.Contains(w[0].Message, "cannot be reached") {
			t.Errorf("%+v", w)
		}
	})
}

// BenchmarkThousandResults fetches a thousand results over a connection on which each call takes 20 ms. "calls" counts them.
func BenchmarkThousandResults(b *testing.B) {
	s, err := reapiserver.Start(reapiserver.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Stop()
	c := remote.Config{URL: s.URL()}
	keys := newMachine(b, c).build(b, 1000, 2000)
	s.SetFaults(reapiserver.Faults{Delay: 20 * time.Millisecond})
	for name, fetch := range map[string]func(m *machine){
		"announced": func(m *machine) { m.Fetch(ctx, keys) },
		"as they are asked for": func(m *machine) {
			for _, key := range keys {
				if _, err := m.disk.GetAction(ctx, key); err != nil {
					m.Fetch(ctx, []cache.Digest{key})
				}
			}
		},
	} {
		b.Run(name, func(b *testing.B) {
			calls := 0
			for b.Loop() {
				b.StopTimer()
				m := newMachine(b, c)
				s.Calls()
				b.StartTimer()
				fetch(m)
				calls += total(s.Calls())
			}
			b.ReportMetric(float64(calls)/float64(b.N), "calls/op")
		})
	}
}
