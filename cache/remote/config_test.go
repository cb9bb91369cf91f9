package remote

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func same(s string) string { return s }

func TestResolve(t *testing.T) {
	t.Setenv("PTOBUILD_CACHE_TOKEN", "s3cret")
	r, err := (&Config{URL: "grpcs://cache.example/team/a", Mode: "read", Timeout: "1.5s", Headers: map[string]string{"Authorization": "Bearer ${PTOBUILD_CACHE_TOKEN}", "b": "x"}, TLSCA: "ca.pem"}).
		Resolve(func(s string) string { return "/root/" + s })
	if err != nil {
		t.Fatal(err)
	}
	if r.Host != "cache.example:443" || r.Path != "team/a" || r.Write || r.Timeout != 1500*time.Millisecond || !r.Compress || r.TLSCA != "/root/ca.pem" ||
		!slices.Equal(r.Headers, []Header{{"authorization", "Bearer s3cret"}, {"b", "x"}}) {
		t.Errorf("%+v", r)
	}
	r, err = (&Config{URL: "https://me:my%20password@cache.example:8443/x/"}).Resolve(same)
	if err != nil || *r.User != (User{"me", "my password"}) || strings.Contains(r.URL, "password") || !r.Write || r.Path != "x" || r.Timeout != DefaultTimeout {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestMistakes(t *testing.T) {
	for want, c := range map[string]Config{
		`"cache:1234" begins with none of`:             {URL: "cache:1234"},
		`"" begins with none of`:                       {},
		`is no URL`:                                    {URL: "http://[::1"},
		`must have the form SCHEME://HOST:PORT/PATH`:   {URL: "grpc:///instance"},
		`must have the form SCHEME://HOST:PORT/PATH `:  {URL: "http://host/?a=b"},
		`mode: "write" is neither read nor read-write`: {URL: "http://h", Mode: "write"},
		`timeout: "5" is no time`:                      {URL: "http://h", Timeout: "5"},
		`timeout: "-1s" is no time`:                    {URL: "http://h", Timeout: "-1s"},
		`no variable PTOBUILD_CACHE_NO_SUCH`:           {URL: "http://h", Headers: map[string]string{"a": "${PTOBUILD_CACHE_NO_SUCH}"}},
		`a: ${HOME} is not sent to servers`:            {URL: "http://h", Headers: map[string]string{"a": "x${HOME}"}},
		`${PTOBUILD_REMOTE_CACHE_HEADERS} is not sent`: {URL: "http://h", Headers: map[string]string{"a": "$PTOBUILD_REMOTE_CACHE_HEADERS"}},
		`headers: "a b" is no header`:                  {URL: "http://h", Headers: map[string]string{"a b": "c"}},
		`headers: "a" is no header`:                    {URL: "http://h", Headers: map[string]string{"a": "x\ny"}},
		`tls_cert and tls_key belong together`:         {URL: "https://h", TLSCert: "x"},
		`grpc:// has no TLS: write grpcs://`:           {URL: "grpc://h", TLSCA: "x"},
	} {
		if _, err := c.Resolve(same); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("%+v: %v, want %s", c, err, want)
		}
	}
}

// The command line goes before the environment, which goes before Pto.toml.
func TestChoose(t *testing.T) {
	configured := []Config{{URL: "http://one", Timeout: "7s"}, {URL: "http://two", Mode: "read"}}
	choose := func(f Flags) string {
		t.Helper()
		rs, err := Choose(configured, f, same)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, r := range rs {
			b.WriteString(r.URL)
			if r.Write {
				b.WriteString(" rw")
			}
			for _, h := range r.Headers {
				b.WriteString(" " + h.Name + "=" + h.Value)
			}
			if r.Timeout != DefaultTimeout {
				b.WriteString(" " + r.Timeout.String())
			}
			b.WriteString("; ")
		}
		return strings.TrimSuffix(b.String(), "; ")
	}
	for _, x := range []struct {
		env   map[string]string
		flags Flags
		want  string
	}{
		{nil, Flags{}, "http://one rw 7s; http://two"},
		{nil, Flags{URL: "off"}, ""},
		{map[string]string{URLEnv: "off"}, Flags{}, ""},
		{map[string]string{URLEnv: "http://three"}, Flags{}, "http://three rw"},
		{map[string]string{URLEnv: "http://one"}, Flags{}, "http://one rw 7s"},
		{map[string]string{URLEnv: "off"}, Flags{URL: "http://four"}, "http://four rw"},
		{map[string]string{ModeEnv: "read-write"}, Flags{}, "http://one rw 7s; http://two rw"},
		{map[string]string{ModeEnv: "read-write"}, Flags{Mode: "read"}, "http://one 7s; http://two"},
		{map[string]string{HeadersEnv: "a=1\n b=2=3 \n", URLEnv: "http://one"}, Flags{Headers: []string{"C=4"}}, "http://one rw c=4 a=1 b=2=3 7s"},
	} {
		for _, name := range []string{URLEnv, ModeEnv, HeadersEnv} {
			t.Setenv(name, x.env[name])
		}
		if got := choose(x.flags); got != x.want {
			t.Errorf("%v, %+v: %q, want %q", x.env, x.flags, got, x.want)
		}
	}
}

// A mistake in a header does not show its value, which may be secret.
func TestSecretsStaySecret(t *testing.T) {
	f := Flags{Headers: []string{"bad name=s3cret"}}
	if err := f.Check(); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("%v", err)
	}
}
