package remote

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ptobuild/ptobuild/cache"
	"github.com/ptobuild/ptobuild/internal/diag"
)

// Config is one [[cache.remote]] of Pto.toml. docs/caching.md explains the keys.
type Config struct {
	URL      string            `toml:"url"`
	Mode     string            `toml:"mode"`    // ModeRead or ModeReadWrite (the default)
	Headers  map[string]string `toml:"headers"` // ${PTOBUILD_CACHE_…} stands for a variable of the environment
	Timeout  string            `toml:"timeout"` // default DefaultTimeout
	Compress *bool             `toml:"compress"`
	TLSCA    string            `toml:"tls_ca"` // PEM files; a path that is not absolute is one from the workspace root
	TLSCert  string            `toml:"tls_cert"`
	TLSKey   string            `toml:"tls_key"`
}

// Modes of a remote.
const (
	ModeRead      = "read"
	ModeReadWrite = "read-write"
)

// DefaultTimeout is how long a round of calls may take, plus a second for each MiB, before a remote is given up: a build must not wait for a cache
// longer than its actions would take.
const DefaultTimeout = 5 * time.Second

// Remote is a Config that was checked, as the helper program gets it.
type Remote struct {
	URL      string // for reports: without user and password
	Scheme   string // grpc, grpcs, http or https
	Host     string
	Path     string // instance name, or the path before /ac/ and /cas/
	User     *User
	Write    bool
	Headers  []Header
	Timeout  time.Duration
	Compress bool
	TLSCA    string // PEM files
	TLSCert  string
	TLSKey   string
}

// User is who asks, for HTTP's basic authentication.
type User struct{ Name, Password string }

// Header is sent with every call. Names are in lower case, as gRPC wants them.
type Header struct{ Name, Value string }

// Resolve checks c. File names are made absolute with abs; the error is one line about a value.
func (c *Config) Resolve(abs func(string) string) (*Remote, error) {
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, fmt.Errorf("url: %q is no URL", c.URL)
	}
	r := &Remote{URL: u.Redacted(), Scheme: u.Scheme, Host: u.Host, Path: strings.Trim(u.Path, "/"), Timeout: DefaultTimeout,
		Compress: c.Compress == nil || *c.Compress}
	if u.User != nil {
		password, _ := u.User.Password()
		r.User = &User{u.User.Username(), password}
	}
	switch u.Scheme {
	case "grpc", "grpcs":
		if u.Port() == "" {
			r.Host += map[string]string{"grpc": ":80", "grpcs": ":443"}[u.Scheme]
		}
	case "http", "https":
	default:
		return nil, fmt.Errorf("url: %q begins with none of grpc://, grpcs://, http:// and https://", c.URL)
	}
	if u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("url: %q must have the form SCHEME://HOST:PORT/PATH", c.URL)
	}
	switch c.Mode {
	case ModeReadWrite, "":
		r.Write = true
	case ModeRead:
	default:
		return nil, fmt.Errorf("mode: %q is neither %s nor %s", c.Mode, ModeRead, ModeReadWrite)
	}
	if c.Timeout != "" {
		if r.Timeout, err = time.ParseDuration(c.Timeout); err != nil || r.Timeout <= 0 {
			return nil, fmt.Errorf("timeout: %q is no time: write it like 5s or 500ms", c.Timeout)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		value, err := expand(c.Headers[name])
		if err != nil {
			return nil, fmt.Errorf("headers: %s: %w", name, err)
		}
		if !validHeader(name, value) {
			return nil, fmt.Errorf("headers: %q is no header", name)
		}
		r.Headers = append(r.Headers, Header{strings.ToLower(name), value})
	}
	for _, f := range []struct{ from, to *string }{{&c.TLSCA, &r.TLSCA}, {&c.TLSCert, &r.TLSCert}, {&c.TLSKey, &r.TLSKey}} {
		if *f.from != "" {
			*f.to = abs(*f.from)
		}
	}
	if (r.TLSCert == "") != (r.TLSKey == "") {
		return nil, fmt.Errorf("tls_cert and tls_key belong together")
	}
	if r.TLSCA+r.TLSCert != "" && (r.Scheme == "http" || r.Scheme == "grpc") {
		return nil, fmt.Errorf("url: %s:// has no TLS: write %ss://", r.Scheme, r.Scheme)
	}
	return r, nil
}

// HeaderEnv begins the names of the variables that headers of Pto.toml may use. Pto.toml also names the URL that they are sent to, and is often written by
// somebody else than the one who builds: only what was set for this purpose leaves the machine.
const HeaderEnv = "PTOBUILD_CACHE_"

// expand puts variables of the environment into a header's value: secrets have no place in Pto.toml.
func expand(s string) (string, error) {
	var failed error
	s = os.Expand(s, func(name string) string {
		v, ok := os.LookupEnv(name)
		switch {
		case !strings.HasPrefix(name, HeaderEnv):
			failed = cmp.Or(failed, fmt.Errorf("${%s} is not sent to servers: only variables named %s… are", name, HeaderEnv))
		case !ok:
			failed = cmp.Or(failed, fmt.Errorf("the environment has no variable %s", name))
		}
		return v
	})
	if failed != nil {
		return "", failed
	}
	return s, nil
}

// Variables of the environment that go before Pto.toml, for CI.
const (
	URLEnv     = "PTOBUILD_REMOTE_CACHE"         // the one remote to use; "off" for none
	ModeEnv    = "PTOBUILD_REMOTE_CACHE_MODE"    // of every remote
	HeadersEnv = "PTOBUILD_REMOTE_CACHE_HEADERS" // more headers, a NAME=VALUE in each line
	// Off is the URL of no remote.
	Off = "off"
)

// Flags are what the command line says about remotes; it goes before the environment.
type Flags struct {
	URL, Mode string
	Headers   []string // NAME=VALUE
}

// Check reports a mistake in f.
func (f *Flags) Check() error {
	if f.URL == Off {
		return nil
	}
	c := Config{URL: cmp.Or(f.URL, "http://localhost"), Mode: f.Mode}
	r, err := c.Resolve(func(s string) string { return s })
	if err == nil {
		err = r.addHeaders(f.Headers)
	}
	return err
}

// Choose says which remotes a command uses: those of Pto.toml unless the environment or the command line names another.
func Choose(configured []Config, flags Flags, abs func(string) string) ([]*Remote, error) {
	only := cmp.Or(flags.URL, os.Getenv(URLEnv))
	mode := cmp.Or(flags.Mode, os.Getenv(ModeEnv))
	switch only {
	case Off:
		return nil, nil
	case "":
	default:
		one := Config{URL: only}
		for _, c := range configured { // what else Pto.toml says of it holds
			if c.URL == only {
				one = c
			}
		}
		configured = []Config{one}
	}
	headers := slices.Clone(flags.Headers)
	for line := range strings.Lines(os.Getenv(HeadersEnv)) {
		if line = strings.TrimSpace(line); line != "" {
			headers = append(headers, line)
		}
	}
	var rs []*Remote
	for _, c := range configured {
		c.Mode = cmp.Or(mode, c.Mode)
		r, err := c.Resolve(abs)
		if err == nil {
			err = r.addHeaders(headers)
		}
		if err != nil {
			return nil, diag.Errorf(cache.CodeConfig, diag.Span{}, "remote cache: %v", err)
		}
		rs = append(rs, r)
	}
	return rs, nil
}

func (r *Remote) addHeaders(list []string) error {
	for _, h := range list {
		name, value, ok := strings.Cut(h, "=")
		if !ok || !validHeader(name, value) {
			return fmt.Errorf("headers: write NAME=VALUE, not %q", name) // a value may be secret
		}
		r.Headers = append(r.Headers, Header{strings.ToLower(name), value})
	}
	return nil
}

func validHeader(name, value string) bool {
	return name != "" && !strings.ContainsAny(name, " \t\r\n:") && !strings.ContainsAny(value, "\r\n")
}
