package lock

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/plugins"
)

var a, b = strings.Repeat("a", 64), strings.Repeat("b", 64)

// What is written is read again; equal pins are equal bytes; other platforms stay as long as the version does.
func TestWriteAndRead(t *testing.T) {
	dir := t.TempDir()
	if f, d := Read(dir); f != nil || d != nil {
		t.Fatal(f, d)
	}
	f := &File{}
	f.Pin("rope", "1.0.0", a)
	f.Plugins["rope"].SHA256["plan9_mips"] = b
	f.Pin("fuse", "0.1.0", b)
	for _, changed := range []bool{true, false} {
		if got, err := f.Write(dir); err != nil || got != changed {
			t.Fatal(got, err)
		}
	}
	back, d := Read(dir)
	if d != nil || string(back.Bytes()) != string(f.Bytes()) {
		t.Fatalf("%v\n%s", d, back.Bytes())
	}
	back.Pin("rope", "1.0.0", b)
	if e := back.Plugins["rope"]; e.SHA256["plan9_mips"] != b || e.SHA256[Platform()] != b || f.Plugins["rope"].SHA256[Platform()] != a {
		t.Error(e)
	}
	back.Pin("rope", "1.1.0", a)
	if e := back.Plugins["rope"]; len(e.SHA256) != 1 || e.Version != "1.1.0" {
		t.Error(e)
	}
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"version = 2":             "has format 2",
		"version = [":             "is no lock file",
		"version = 1\ncolour = 1": `unknown key "colour"`,
		"version = 1\n[plugins.x.sha256]\nl=\"\"": "is no SHA-256",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, Name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, d := Read(dir); d == nil || d.Code != plugins.CodeLock || !strings.Contains(d.Message, want) {
			t.Errorf("%q: got %v, want %q", text, d, want)
		}
	}
}

func TestApply(t *testing.T) {
	f := &File{}
	f.Pin("rope", "1.2.0", a)
	f.Plugins["far"] = Entry{Version: "1.0.0", SHA256: map[string]string{"plan9_mips": a}}
	for _, c := range []struct {
		conf plugins.Config
		want string
	}{
		{plugins.Config{Name: "rope", Version: "^1.1"}, ""},
		{plugins.Config{Name: "rope", SHA256: strings.ToUpper(a)}, ""},
		{plugins.Config{Name: "fuse"}, "is not in Pto.lock"},
		{plugins.Config{Name: "far"}, "has no digest of plugin far for " + Platform() + ", only for plan9_mips"},
		{plugins.Config{Name: "rope", Version: ">=2"}, "pins plugin rope at version 1.2.0, but Pto.toml wants >=2"},
		{plugins.Config{Name: "rope", SHA256: b}, "pin different files"},
	} {
		d := f.Apply(&c.conf)
		switch {
		case c.want == "" && (d != nil || c.conf.SHA256 != a):
			t.Errorf("%+v: %v", c.conf, d)
		case c.want != "" && (d == nil || !strings.Contains(d.Message, c.want)):
			t.Errorf("%+v: got %v, want %q", c.conf, d, c.want)
		}
	}
}
