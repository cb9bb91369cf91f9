package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
)

// WriteJSON prints events as JSON lines.
func WriteJSON(w io.Writer, events iter.Seq[Event]) error {
	b := bufio.NewWriter(w)
	var line []byte
	for e := range events {
		line = append(Append(line[:0], e), '\n')
		if _, err := b.Write(line); err != nil {
			return err
		}
	}
	return b.Flush()
}

// Append adds the JSON object of e to b, without a line end. The order of the members is fixed.
func Append(b []byte, e Event) []byte {
	o := object{b: b, first: true}
	switch e := e.(type) {
	case *Run:
		o.open("run")
		o.str("name", e.Name)
	case *Config:
		o.open("config")
		o.int("args", int64(e.Args))
	case *ScopeBegin:
		o.open("scope_begin")
		mode := "AUTO"
		if e.Manual {
			mode = "MANUAL"
		}
		o.str("mode", mode)
		o.site(e.Site)
	case *ScopeEnd:
		o.open("scope_end")
		o.site(e.Site)
	case *Alloc:
		o.open("alloc")
		o.int("call", int64(e.Call))
		o.key("tensors")
		o.b = append(o.b, '[')
		for i, t := range e.Tensors {
			if i > 0 {
				o.b = append(o.b, ',')
			}
			o.push()
			o.int("id", int64(e.First+i))
			o.created(&t)
			o.pop()
		}
		o.b = append(o.b, ']')
		o.site(e.Site)
	case *Submit:
		o.submit(e)
	case *Read:
		o.open("read")
		o.access(&e.T, e.At, e.Type, e.Value, e.Site)
	case *Write:
		o.open("write")
		o.access(&e.T, e.At, e.Type, e.Value, e.Site)
	case *Query:
		o.open("query")
		o.str("what", e.What)
		o.site(e.Site)
	case *Note:
		o.open("note")
		o.str("what", e.What)
		o.str("buf", e.Buf)
	case *Error:
		o.open("error")
		o.str("what", e.What)
		if e.Detail != "" {
			o.str("detail", e.Detail)
		}
	case *End:
		o.open("end")
		o.int("tasks", int64(e.Tasks))
	case *Retire:
		o.open("retire")
		o.int("n", int64(e.N))
		o.int("submitted", int64(e.Submitted))
		o.int("ready", int64(e.Ready))
		o.int("start", int64(e.Start))
		o.int("finish", int64(e.Finish))
		if e.Skipped {
			o.yes("skipped")
		}
		if len(e.Blocks) > 0 {
			o.key("cores")
			o.b = append(o.b, '[')
			for i, x := range e.Blocks {
				if i > 0 {
					o.b = append(o.b, ',')
				}
				o.b = fmt.Appendf(o.b, "[%d,%d,%d,%d,%d]", x.Core, x.Block, x.Lane, x.Start, x.Finish)
			}
			o.b = append(o.b, ']')
		}
	}
	return append(o.b, '}')
}

// object writes the members of JSON objects.
type object struct {
	b     []byte
	first bool
}

func (o *object) open(ev string) {
	o.push()
	o.str("ev", ev)
}

func (o *object) push() { o.b, o.first = append(o.b, '{'), true }
func (o *object) pop()  { o.b, o.first = append(o.b, '}'), false }

func (o *object) key(k string) {
	if !o.first {
		o.b = append(o.b, ',')
	}
	o.first = false
	o.b = append(append(append(o.b, '"'), k...), '"', ':')
}

func (o *object) str(k, v string) {
	o.key(k)
	o.b = appendString(o.b, v)
}

func (o *object) int(k string, v int64) {
	o.key(k)
	o.b = strconv.AppendInt(o.b, v, 10)
}

func (o *object) uint(k string, v uint64) {
	o.key(k)
	o.b = strconv.AppendUint(o.b, v, 10)
}

func (o *object) yes(k string) {
	o.key(k)
	o.b = append(o.b, "true"...)
}

func (o *object) site(s diag.Span) {
	if s.IsValid() {
		o.str("site", s.String())
	}
}

// parseSite reads "file:line:col"; anything else is no site.
func parseSite(s string) (at diag.Span) {
	i := strings.LastIndexByte(s, ':')
	j := strings.LastIndexByte(s[:max(i, 0)], ':')
	if j < 0 {
		return
	}
	line, err1 := strconv.ParseInt(s[j+1:i], 10, 32)
	col, err2 := strconv.ParseInt(s[i+1:], 10, 32)
	if err1 != nil || err2 != nil {
		return
	}
	return diag.Span{File: s[:j], Line: int32(line), Col: int32(col)}
}

func (o *object) ints(k string, v []int) {
	o.key(k)
	o.b = append(o.b, '[')
	for i, x := range v {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = strconv.AppendInt(o.b, int64(x), 10)
	}
	o.b = append(o.b, ']')
}

func (o *object) u32s(k string, v []uint32) {
	o.key(k)
	o.b = append(o.b, '[')
	for i, x := range v {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = strconv.AppendUint(o.b, uint64(x), 10)
	}
	o.b = append(o.b, ']')
}

func (o *object) created(t *NewTensor) {
	o.u32s("shape", t.Shape)
	o.str("dtype", t.DType)
	o.key("manual_dep")
	o.b = strconv.AppendBool(o.b, t.ManualDep)
	o.key("init")
	if t.Init == "" {
		o.b = append(o.b, "null"...)
	} else {
		o.b = appendString(o.b, t.Init)
	}
}

func (o *object) tensor(k string, t *Tensor) {
	o.key(k)
	o.push()
	o.str("buf", t.Buf)
	if t.Buf != "uninit" {
		o.uint("off", t.Off)
		o.u32s("shape", t.Shape)
		o.u32s("strides", t.Strides)
		o.str("dtype", t.DType)
		if t.ManualDep {
			o.yes("manual_dep")
		}
		o.key("ops")
		o.b = append(o.b, '[')
		for i, x := range t.Ops {
			if i > 0 {
				o.b = append(o.b, ',')
			}
			o.b = appendString(o.b, x)
		}
		o.b = append(o.b, ']')
	}
	o.pop()
}

func (o *object) access(t *Tensor, at uint64, typ string, value uint64, site diag.Span) {
	o.tensor("t", t)
	o.uint("at", at)
	o.str("type", typ)
	o.uint("value", value)
	o.site(site)
}

func (o *object) submit(e *Submit) {
	o.open("submit")
	o.int("n", int64(e.N))
	o.str("kind", e.Kind)
	o.key("kernels")
	o.b = append(o.b, '[')
	for i, k := range e.Kernels {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		if k == "" {
			o.b = append(o.b, "null"...)
		} else {
			o.b = appendString(o.b, k)
		}
	}
	o.b = append(o.b, ']')
	o.key("args")
	o.b = append(o.b, '[')
	for i := range e.Args {
		a := &e.Args[i]
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.push()
		o.str("dir", a.Dir)
		if a.New != nil {
			o.key("new")
			o.push()
			o.str("buf", a.New.Buf)
			o.created(a.New)
			o.pop()
		} else {
			o.tensor("t", &a.T)
		}
		o.pop()
	}
	o.b = append(o.b, ']')
	o.key("scalars")
	o.b = append(o.b, '[')
	for i, s := range e.Scalars {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = strconv.AppendUint(append(o.b, '['), s.Bits, 10)
		o.b = append(appendString(append(o.b, ','), s.Type), ']')
	}
	o.b = append(o.b, ']')
	o.ints("deps", e.Deps)
	if len(e.AllocDeps) > 0 {
		o.ints("alloc_deps", e.AllocDeps)
	}
	if e.DupDeps {
		o.yes("dup_deps")
	}
	if e.Blocks != 0 {
		o.int("blocks", int64(e.Blocks))
	}
	if e.SyncStart {
		o.yes("sync_start")
	}
	if e.Early {
		o.yes("early")
	}
	if e.TimingSlot >= 0 {
		o.int("timing_slot", int64(e.TimingSlot))
	}
	if p := e.Pred; p != nil {
		o.key("pred")
		o.push()
		o.tensor("t", &p.T)
		o.u32s("idx", p.Idx)
		o.str("op", p.Op)
		o.int("target", p.Target)
		o.pop()
	}
	if e.DumpAll {
		o.str("dump", "all")
	} else if len(e.Dump) > 0 {
		o.ints("dump", e.Dump)
	}
	o.site(e.Site)
}

// appendString quotes s as JSON. Names and paths are plain text nearly always.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			q, _ := json.Marshal(s) // a string always marshals
			return append(b, q...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// ReadJSON reads JSON lines; empty lines are skipped. The error names the line.
func ReadJSON(r io.Reader) ([]Event, error) {
	var events []Event
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 64<<20)
	for n := 1; sc.Scan(); n++ {
		line := bytes.TrimSpace(sc.Bytes())
		if len(line) == 0 {
			continue
		}
		e, err := parse(line)
		if err != nil {
			return nil, fmt.Errorf("trace line %d: %w", n, err)
		}
		events = append(events, e)
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("reading a trace: %w", err)
	}
	return events, nil
}

type jsonNew struct {
	ID        int
	Buf       string
	Shape     []uint32
	DType     string
	ManualDep bool `json:"manual_dep"`
	Init      *string
}

type jsonTensor struct {
	Buf       string
	Off       uint64
	Shape     []uint32
	Strides   []uint32
	DType     string
	ManualDep bool `json:"manual_dep"`
	Ops       []string
}

type jsonEvent struct {
	Ev      string
	Name    string
	Args    json.RawMessage // a count in config, a list in submit
	Mode    string
	Call    int
	Tensors []jsonNew
	N       int
	Kind    string
	Kernels []any
	Scalars [][2]any
	Deps    []int
	Alloc   []int `json:"alloc_deps"`
	Dup     bool  `json:"dup_deps"`
	Blocks  int
	Sync    bool `json:"sync_start"`
	Early   bool
	Slot    *int `json:"timing_slot"`
	Pred    *struct {
		T      jsonTensor
		Idx    []uint32
		Op     string
		Target int64
	}
	Dump   json.RawMessage // "all" or positions
	T      jsonTensor
	At     uint64
	Type   string
	Value  uint64
	What   string
	Buf    string
	Detail string
	Tasks  int
	Cores  [][5]uint64 // of a block: core, block, lane, start, finish

	Submitted, Ready, Start, Finish uint64
	Skipped                         bool
	Site                            string
}

func (t *jsonNew) event() NewTensor {
	n := NewTensor{Buf: t.Buf, Shape: t.Shape, DType: t.DType, ManualDep: t.ManualDep}
	if t.Init != nil {
		n.Init = *t.Init
	}
	return n
}

func parse(line []byte) (Event, error) {
	var j jsonEvent
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	if err := d.Decode(&j); err != nil {
		return nil, err
	}
	switch j.Ev {
	case "run":
		return &Run{j.Name}, nil
	case "config":
		n, err := strconv.Atoi(string(j.Args))
		return &Config{n}, err
	case "scope_begin":
		return &ScopeBegin{j.Mode == "MANUAL", parseSite(j.Site)}, nil
	case "scope_end":
		return &ScopeEnd{parseSite(j.Site)}, nil
	case "alloc":
		a := &Alloc{Call: j.Call, Site: parseSite(j.Site)}
		for i := range j.Tensors {
			if i == 0 {
				a.First = j.Tensors[0].ID
			}
			n := j.Tensors[i].event()
			n.Buf = "alloc:" + strconv.Itoa(j.Tensors[i].ID)
			a.Tensors = append(a.Tensors, n)
		}
		return a, nil
	case "submit":
		return parseSubmit(&j)
	case "read":
		return &Read{Tensor(j.T), j.At, j.Type, j.Value, parseSite(j.Site)}, nil
	case "write":
		return &Write{Tensor(j.T), j.At, j.Type, j.Value, parseSite(j.Site)}, nil
	case "query":
		return &Query{j.What, parseSite(j.Site)}, nil
	case "note":
		return &Note{j.What, j.Buf}, nil
	case "error":
		return &Error{j.What, j.Detail}, nil
	case "end":
		return &End{j.Tasks}, nil
	case "retire":
		r := &Retire{N: j.N, Submitted: j.Submitted, Ready: j.Ready, Start: j.Start, Finish: j.Finish, Skipped: j.Skipped}
		for _, x := range j.Cores {
			r.Blocks = append(r.Blocks, Block{int32(x[0]), int32(x[1]), int8(x[2]), x[3], x[4]})
		}
		return r, nil
	}
	return nil, fmt.Errorf("unknown event %q", j.Ev)
}

func parseSubmit(j *jsonEvent) (Event, error) {
	s := &Submit{N: j.N, Kind: j.Kind, Deps: j.Deps, AllocDeps: j.Alloc, DupDeps: j.Dup, Blocks: j.Blocks, SyncStart: j.Sync, Early: j.Early, TimingSlot: -1, Site: parseSite(j.Site)}
	for _, k := range j.Kernels {
		switch k := k.(type) {
		case nil:
			s.Kernels = append(s.Kernels, "")
		case string:
			s.Kernels = append(s.Kernels, k)
		default: // an id without a name table; -1 is an unused lane of the recorder
			if id := fmt.Sprint(k); id == "-1" {
				s.Kernels = append(s.Kernels, "")
			} else {
				s.Kernels = append(s.Kernels, "#"+id)
			}
		}
	}
	var args []struct {
		Dir string
		T   jsonTensor
		New *jsonNew
	}
	if len(j.Args) > 0 {
		if err := json.Unmarshal(j.Args, &args); err != nil {
			return nil, err
		}
	}
	for _, a := range args {
		arg := Arg{Dir: a.Dir, T: Tensor(a.T)}
		if a.New != nil {
			n := a.New.event()
			arg = Arg{Dir: a.Dir, New: &n}
		}
		s.Args = append(s.Args, arg)
	}
	for _, x := range j.Scalars {
		bits, err := strconv.ParseUint(fmt.Sprint(x[0]), 10, 64)
		if err != nil {
			return nil, err
		}
		s.Scalars = append(s.Scalars, Scalar{bits, fmt.Sprint(x[1])})
	}
	if j.Slot != nil {
		s.TimingSlot = *j.Slot
	}
	if p := j.Pred; p != nil {
		s.Pred = &Pred{Tensor(p.T), p.Idx, p.Op, p.Target}
	}
	if len(j.Dump) > 0 && j.Dump[0] == '"' {
		s.DumpAll = true
	} else if len(j.Dump) > 0 {
		if err := json.Unmarshal(j.Dump, &s.Dump); err != nil {
			return nil, err
		}
	}
	slices.Sort(s.Deps)
	return s, nil
}
