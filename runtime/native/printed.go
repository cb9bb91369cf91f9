package native

import (
	"bytes"
	"io"
	"sync"
)

// printed passes on what the child prints, and keeps the end of it. A dump of the Go runtime, which comes last when user code raises a signal, is kept for the report
// and not passed on.
type printed struct {
	mu   sync.Mutex
	to   io.Writer // nil: nobody
	end  []byte
	held []byte // begins a line, and may begin a dump
	mid  bool   // what was passed on ends inside of a line
	dump bool   // the rest is a dump
}

const keepPrinted = 64 << 10

// dumps are how the first and the second line of a dump begin. GOTRACEBACK does not silence these.
var dumps = [...]struct{ first, second string }{
	{"SIG", "PC=0x"},
	{"fatal error: ", "[signal "},
	{"fatal error: ", "\nruntime stack:"},
	{"fatal error: ", "\ngoroutine "},
}

// maxFirst is longer than the first line of any dump.
const maxFirst = 4 << 10

func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end = append(p.end, b...)
	if len(p.end) > 2*keepPrinted {
		p.end = append(p.end[:0], p.end[len(p.end)-keepPrinted:]...)
	}
	if p.to != nil && !p.dump {
		p.held = append(p.held, b...)
		p.pass()
	}
	return len(b), nil
}

// divert gives what is printed from now on to a writer, too.
func (p *printed) divert(to io.Writer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to = to
}

// pass passes on what is no dump.
func (p *printed) pass() {
	n := 0
	for n < len(p.held) {
		if !p.mid {
			is, may := beginsDump(p.held[n:])
			if p.dump = is; is || may {
				break
			}
		}
		line := bytes.IndexByte(p.held[n:], '\n') + 1
		if p.mid = line == 0; p.mid {
			line = len(p.held) - n
		}
		n += line
	}
	_, _ = p.to.Write(p.held[:n]) // what the user prints to must not end the run
	p.held = append(p.held[:0], p.held[n:]...)
}

// beginsDump reports text that begins a dump, and text that may once more of it is there.
func beginsDump(text []byte) (is, may bool) {
	line, rest, whole := bytes.Cut(text, []byte{'\n'})
	for _, d := range dumps {
		first, second := []byte(d.first), []byte(d.second)
		switch {
		case !whole:
			may = may || len(line) < maxFirst && (bytes.HasPrefix(line, first) || bytes.HasPrefix(first, line))
		case bytes.HasPrefix(line, first):
			is = is || bytes.HasPrefix(rest, second)
			may = may || bytes.HasPrefix(second, rest)
		}
	}
	return is, may
}

// close passes on what is left.
func (p *printed) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.to != nil && !p.dump && len(p.held) > 0 {
		_, _ = p.to.Write(p.held)
		p.held = nil
	}
}

func (p *printed) last() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.end)
}
