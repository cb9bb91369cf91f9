package native

import (
	"bytes"
	"strings"
	"testing"
)

// What user code prints is passed on at once, however it is cut into pieces; the dump of a signal is not.
func TestPrinted(t *testing.T) {
	const dump = "SIGSEGV: segmentation violation\nPC=0x7f m=0 sigcode=1 addr=0x0\n\ngoroutine 1\n"
	for _, c := range []struct{ printed, shown string }{
		{"a\nb", "a\nb"},
		{"SIGNALS: 3\nPC", "SIGNALS: 3\nPC"},
		{"fatal error: mine\n\nyours\n", "fatal error: mine\n\nyours\n"},
		{"SIG", "SIG"},
		{"one\n" + dump, "one\n"},
		{dump, ""},
		{"one\nfatal error: unexpected signal\n[signal SIGBUS\nrest", "one\n"},
		{"fatal error: x\n\nruntime stack:\nrest", ""},
	} {
		for _, size := range []int{1, 7, len(c.printed)} {
			var shown bytes.Buffer
			p := &printed{to: &shown}
			for rest := []byte(c.printed); len(rest) > 0; rest = rest[min(size, len(rest)):] {
				_, _ = p.Write(rest[:min(size, len(rest))])
			}
			p.close()
			if shown.String() != c.shown || p.last() != c.printed {
				t.Errorf("%q in pieces of %d: shown %q, kept %q", c.printed, size, shown.String(), p.last())
			}
		}
	}
}

func TestPrintedAtOnce(t *testing.T) {
	var shown bytes.Buffer
	p := &printed{to: &shown}
	for _, piece := range []string{"progress: ", "1 ", "2 "} {
		_, _ = p.Write([]byte(piece))
	}
	if shown.String() != "progress: 1 2 " {
		t.Errorf("shown %q", shown.String())
	}
	_, _ = p.Write([]byte("\nSIG" + strings.Repeat("N", 1<<16)))
	if !strings.HasSuffix(shown.String(), "N") {
		t.Error("a long line that begins as a dump is kept back")
	}
}
