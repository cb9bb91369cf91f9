package graph

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"

	"github.com/ptobuild/ptobuild/codegen/pack"
	"github.com/ptobuild/ptobuild/graph/state"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// A target's outputs are kept without places, so that they stay good when its source is moved about: by a line inserted above it, in another file, on
// another branch. Places are kept as numbers. The number of a place of the closure is its index among those that ir.Fingerprint gives, and equal fingerprints
// have corresponding places. The source map speaks of the interface of the target, whose places are some of the closure's.
type made struct {
	Interface state.Digest // fingerprint of what the C++ was printed from
	From      []int        // for each place of the interface, its number among those of the closure
	Map       *pack.Map    // places left out
	MapAt     []int        // numbers in the interface
	Reports   diag.List    // places left out
	ReportsAt []int        // numbers in the closure
	// Fixed is the hash of the closure's places when a report speaks of other ones: the outputs are good only there. 0: everywhere.
	Fixed uint64
	Files []madeFile

	content []byte
}

type madeFile struct {
	Path string
	Size int
}

// numbers gives the numbers of places in a sorted list, -1 for none; ok is false when one is not in it.
func numbers(places []diag.Span, each func(func(*diag.Span))) (at []int, ok bool) {
	ok = true
	each(func(s *diag.Span) {
		n := -1
		if *s != (diag.Span{}) {
			var found bool
			if n, found = slices.BinarySearchFunc(places, *s, ir.ComparePlaces); !found {
				ok = false
				return
			}
			*s = diag.Span{}
		}
		at = append(at, n)
	})
	return at, ok
}

// place puts places back.
func place(places []diag.Span, at []int, each func(func(*diag.Span))) bool {
	i, ok := 0, true
	each(func(s *diag.Span) {
		switch {
		case i >= len(at) || at[i] >= len(places) || at[i] < -1:
			ok = false
		case at[i] >= 0:
			*s = places[at[i]]
		}
		i++
	})
	return ok && i == len(at)
}

// spansOf calls f for every place of reports.
func spansOf(ds diag.List) func(func(*diag.Span)) {
	return func(f func(*diag.Span)) {
		for _, d := range ds {
			f(&d.Span)
			for i := range d.Related {
				f(&d.Related[i].Span)
			}
		}
	}
}

// copyReports copies reports, so that their places can be changed.
func copyReports(ds diag.List) diag.List {
	out := make(diag.List, len(ds))
	for i, d := range ds {
		c := *d
		c.Related = slices.Clone(d.Related)
		out[i] = &c
	}
	return out
}

// newMade makes the record of what was printed from an interface that stands at places.
func newMade(built *Built, face state.Digest, interfaceAt []diag.Span) *made {
	m := &made{Interface: face, Map: pack.MapOf(built.Plan, built.Lines)}
	for _, f := range pack.Unplaced(built.Plan, built.Code) {
		m.Files = append(m.Files, madeFile{f.Path, len(f.Content)})
		m.content = append(m.content, f.Content...)
	}
	var ok bool
	if m.MapAt, ok = numbers(interfaceAt, m.Map.Spans); !ok {
		m.Map, m.MapAt = pack.MapOf(built.Plan, built.Lines), nil
	}
	return m
}

// bind says where the interface stands in the closure, and what is to be reported.
func (m *made) bind(interfaceAt, closureAt []diag.Span, reports diag.List) {
	m.Reports = copyReports(reports)
	var ok, ok2 bool
	from := slices.Clone(interfaceAt)
	m.From, ok = numbers(closureAt, func(f func(*diag.Span)) {
		for i := range from {
			f(&from[i])
		}
	})
	m.ReportsAt, ok2 = numbers(closureAt, spansOf(m.Reports))
	if !ok || !ok2 || m.MapAt == nil {
		m.Map, _ = m.placed(interfaceAt)
		m.From, m.MapAt, m.ReportsAt, m.Reports, m.Fixed = nil, nil, nil, reports, hashPlaces(closureAt)
	}
}

// encode gives the bytes that a cache keeps.
func (m *made) encode() []byte {
	head, _ := json.Marshal(m) // cannot fail: texts and numbers
	b := binary.AppendUvarint(nil, uint64(len(head)))
	return append(append(b, head...), m.content...)
}

var errMade = errors.New("malformed outputs")

// decodeMade reads what encode wrote.
func decodeMade(b []byte) (*made, error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return nil, errMade
	}
	m := &made{}
	if err := json.Unmarshal(b[size:size+int(n)], m); err != nil {
		return nil, err
	}
	m.content = b[size+int(n):]
	total := 0
	for _, f := range m.Files {
		if f.Size < 0 {
			return nil, errMade
		}
		total += f.Size
	}
	if m.Map == nil || total != len(m.content) {
		return nil, errMade
	}
	return m, nil
}

// outputs gives the files, with the source map for a closure that stands at places, and the reports. It fails when the record does not fit there.
func (m *made) outputs(closureAt []diag.Span) ([]pack.File, diag.List, bool) {
	reports := copyReports(m.Reports)
	if m.Fixed != 0 {
		return m.files(m.Map), reports, m.Fixed == hashPlaces(closureAt)
	}
	at := make([]diag.Span, len(m.From))
	if !place(closureAt, m.From, func(f func(*diag.Span)) {
		for i := range at {
			f(&at[i])
		}
	}) || !place(closureAt, m.ReportsAt, spansOf(reports)) {
		return nil, nil, false
	}
	placed, ok := m.placed(at)
	return m.files(placed), reports, ok
}

// placed gives the source map for an interface that stands at places.
func (m *made) placed(interfaceAt []diag.Span) (*pack.Map, bool) {
	if m.MapAt == nil {
		return m.Map, true
	}
	c := *m.Map
	c.Lines, c.Tasks, c.Barriers = slices.Clone(c.Lines), slices.Clone(c.Tasks), slices.Clone(c.Barriers)
	ok := place(interfaceAt, m.MapAt, c.Spans)
	return &c, ok
}

func (m *made) files(placed *pack.Map) []pack.File {
	var files []pack.File
	at := 0
	for _, f := range m.Files {
		files = append(files, pack.File{Path: f.Path, Content: m.content[at : at+f.Size]})
		at += f.Size
	}
	return append(files, pack.File{Path: placed.Name(), Content: placed.JSON()})
}
