package remote

import (
	"time"

	"github.com/ptobuild/ptobuild/cache"
	"github.com/ptobuild/ptobuild/internal/diag"
)

// The conversation with the helper: gob values over its standard input and output. It begins with a Hello and its Reply; then requests are answered in
// any order. Blobs do not travel here: the helper moves them between the local cache's folder and the remotes.

// Version changes with every change of what follows.
const Version = 2

// Hello begins the conversation.
type Hello struct {
	Version int
	Dir     string // of the local cache
	Group   string // names the index of results that are used together (see package syncer)
	Remotes []*Remote
}

// HelloReply answers it.
type HelloReply struct{ Version int }

// Op is what a request wants.
type Op int

const (
	// Fetch brings results and their blobs into the local cache. The response says which of the keys were found.
	Fetch Op = iota
	// Upload sends results of the local cache to the remotes that may be written. It is answered at once.
	Upload
	// Drain waits for the uploads. Keys are all results that were used, in order: they make the index.
	Drain
	// Probe asks every remote whether it answers.
	Probe
)

// Request is one request.
type Request struct {
	ID   uint64 // from 1
	Op   Op
	Keys []cache.Digest
}

// Response answers one request; ID 0 carries warnings only.
type Response struct {
	ID       uint64
	Found    int
	Warnings []Warning
	Health   []Health // of the remotes, in order
}

// Health is how a remote answered a question.
type Health struct {
	URL   string        `json:"url"`
	Write bool          `json:"write"`
	Took  time.Duration `json:"took_ns"`
	Error string        `json:"error,omitempty"` // "": it answered
	Hint  string        `json:"hint,omitempty"`
}

// Warning is a report of the helper.
type Warning struct {
	Code          diag.Code
	Message, Hint string
}

// Diagnostic makes the report.
func (w *Warning) Diagnostic() *diag.Diagnostic {
	d := diag.Warningf(w.Code, diag.Span{}, "%s", w.Message)
	d.Hint = w.Hint
	return d
}
