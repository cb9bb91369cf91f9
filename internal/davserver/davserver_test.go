package davserver

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestPutAndGet(t *testing.T) {
	s, err := Start(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	do := func(method, path, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequest(method, s.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	if code, _ := do("GET", "/ac/abc", ""); code != http.StatusNotFound {
		t.Errorf("nothing there yet: %d", code)
	}
	if code, _ := do("PUT", "/ac/abc", "hello"); code != http.StatusCreated {
		t.Errorf("PUT: %d", code)
	}
	if code, body := do("GET", "/ac/abc", ""); code != http.StatusOK || body != "hello" {
		t.Errorf("GET: %d %q", code, body)
	}
}
