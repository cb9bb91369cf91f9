package trace

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
)

const sample = `{"ev":"run","name":"small"}
{"ev":"config","args":2}
{"ev":"scope_begin","mode":"AUTO","site":"dir/prog.py:3:5"}
{"ev":"alloc","call":0,"tensors":[{"id":0,"shape":[16,16],"dtype":"FLOAT32","manual_dep":false,"init":"1065353216/4"},{"id":1,"shape":[],"dtype":"INT32","manual_dep":true,"init":null}]}
{"ev":"submit","n":0,"kind":"aiv","kernels":["k"],"args":[{"dir":"in","t":{"buf":"ext:0","off":16,"shape":[1,16],"strides":[16,1],"dtype":"FLOAT32","ops":["view([1,16],[1,0])"]}},{"dir":"out_new","new":{"buf":"out:0.0","shape":[4],"dtype":"FLOAT32","manual_dep":false,"init":null}}],"scalars":[[5,"i64"],[4294967295,"i32"]],"deps":[],"retired":true}
{"ev":"submit","n":1,"kind":"mixed","kernels":["c","v",null],"args":[{"dir":"inout","t":{"buf":"alloc:1","off":0,"shape":[],"strides":[],"dtype":"INT32","manual_dep":true,"ops":[]}}],"scalars":[],"deps":[0],"alloc_deps":[0],"dup_deps":true,"blocks":4,"sync_start":true,"early":true,"timing_slot":0,"pred":{"t":{"buf":"alloc:1","off":0,"shape":[],"strides":[],"dtype":"INT32","manual_dep":true,"ops":[]},"idx":[],"op":"GT","target":-2},"dump":[0],"site":"dir/prog.py:4:9"}
{"ev":"submit","n":2,"kind":"dummy","kernels":[],"args":[],"scalars":[],"deps":[0,1],"dump":"all"}
{"ev":"scope_begin","mode":"MANUAL"}
{"ev":"scope_end"}
{"ev":"read","t":{"buf":"ext:0","off":0,"shape":[8],"strides":[1],"dtype":"INT32","ops":[]},"at":3,"type":"int32","value":18446744073709551615}
{"ev":"write","t":{"buf":"ext:0","off":0,"shape":[8],"strides":[1],"dtype":"INT32","ops":[]},"at":3,"type":"int32","value":7,"site":"prog.py:9:1"}
{"ev":"query","what":"aiv_count"}
{"ev":"retire","n":0,"submitted":1,"ready":2,"start":2,"finish":3,"cores":[[8,0,1,2,3]]}
{"ev":"retire","n":1,"submitted":1,"ready":3,"start":3,"finish":3,"skipped":true}
{"ev":"note","what":"tensor-outlives-scope","buf":"alloc:0"}
{"ev":"error","what":"invalid-id-in-deps","detail":"a \"quoted\" word"}
{"ev":"scope_end"}
{"ev":"end","tasks":3}
`

func parseSample(t *testing.T) []Event {
	t.Helper()
	ev, err := ReadJSON(strings.NewReader(sample))
	if err != nil {
		t.Fatal(err)
	}
	return ev
}

func TestRoundTrip(t *testing.T) {
	var b bytes.Buffer
	if err := WriteJSON(&b, slices.Values(parseSample(t))); err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(sample, `,"retired":true`, "", 1) // unknown members are skipped
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	if s := parseSample(t)[2].(*ScopeBegin).Site; s != (diag.Span{File: "dir/prog.py", Line: 3, Col: 5}) {
		t.Errorf("site %+v", s)
	}
}

func TestReadErrors(t *testing.T) {
	for _, s := range []string{"{", `{"ev":"dance"}`, `{"ev":"submit","args":{}}`, `{"ev":"submit","scalars":[["x","i64"]]}`, `{"ev":"config","args":"x"}`, `{"ev":"submit","dump":[true]}`} {
		if _, err := ReadJSON(strings.NewReader("\n" + s)); err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%s: error %v", s, err)
		}
	}
}

func TestKernelIDs(t *testing.T) { // a recorder without a kernel table writes numbers
	ev, err := ReadJSON(strings.NewReader(`{"ev":"submit","n":0,"kind":"mixed","kernels":[0,1,-1],"args":[],"scalars":[],"deps":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	if k := ev[0].(*Submit).Kernels; !reflect.DeepEqual(k, []string{"#0", "#1", ""}) {
		t.Errorf("kernels %q", k)
	}
}

func TestOrchestration(t *testing.T) {
	var b bytes.Buffer
	if err := WriteJSON(&b, slices.Values(Orchestration(parseSample(t)))); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); strings.Contains(s, "site") || strings.Contains(s, "retire\"") || strings.Count(s, "\n") != 16 {
		t.Errorf("left over:\n%s", s)
	}
	if parseSample(t)[2].(*ScopeBegin).Site.Line != 3 {
		t.Error("the original was changed")
	}
}

func TestDiff(t *testing.T) {
	submit := func(ev []Event, n int) *Submit { return ev[4+n].(*Submit) }
	tests := []struct {
		name   string
		change func(ev []Event) []Event
		want   []string // fragments; none: equal
	}{
		{"nothing", func(ev []Event) []Event { return ev }, nil},
		{"additions of the simulator", func(ev []Event) []Event { return Orchestration(ev) }, nil},
		{"view operations and scalar types", func(ev []Event) []Event {
			submit(ev, 0).Args[0].T.Ops = nil
			submit(ev, 0).Scalars[1] = Scalar{1<<64 - 1, "i64"}
			return ev
		}, nil},
		{"stride of a single row", func(ev []Event) []Event { submit(ev, 0).Args[0].T.Strides[0] = 99; return ev }, nil},
		{"missing", func(ev []Event) []Event { return ev[:len(ev)-1] }, []string{"event 15 is missing", "end after 3 tasks"}},
		{"too many", func(ev []Event) []Event { return append(ev, &Query{What: "x"}) }, []string{"one too many", "query of x"}},
		{"another event", func(ev []Event) []Event { ev[1] = &ScopeEnd{}; return ev }, []string{"event 1, end of a scope: expected configuration for 2 arguments"}},
		{"scope mode", func(ev []Event) []Event { ev[2] = &ScopeBegin{Manual: true}; return ev }, []string{"MANUAL scope: expected begin of an AUTO scope at dir/prog.py:3:5"}},
		{"buffer", func(ev []Event) []Event { submit(ev, 0).Args[0].T.Buf = "ext:1"; return ev }, []string{"task 0 of kernel k: argument 0 lies in ext:1, expected ext:0"}},
		{"offset", func(ev []Event) []Event { submit(ev, 0).Args[0].T.Off = 0; return ev }, []string{"argument 0 starts at element 0, expected 16"}},
		{"direction", func(ev []Event) []Event { submit(ev, 0).Args[0].Dir = "inout"; return ev }, []string{"argument 0 is passed as inout, expected in"}},
		{"created shape", func(ev []Event) []Event { submit(ev, 0).Args[1].New.Shape[0] = 5; return ev }, []string{"argument 1 has shape [5], expected [4]"}},
		{"scalar", func(ev []Event) []Event { submit(ev, 0).Scalars[0].Bits = 6; return ev }, []string{"scalar argument 0 is 6, expected 5"}},
		{"dependencies", func(ev []Event) []Event { submit(ev, 2).Deps = []int{0}; return ev }, []string{"dummy task 2: waits for tasks [0], expected [0 1]"}},
		{"lane", func(ev []Event) []Event { submit(ev, 1).Kernels[2] = "v"; return ev }, []string{"kernel c+v+v, expected c+v+none"}},
		{"predicate", func(ev []Event) []Event { submit(ev, 1).Pred.Target = 2; return ev }, []string{"predicate GT 2, expected GT -2"}},
		{"no predicate", func(ev []Event) []Event { submit(ev, 1).Pred = nil; return ev }, []string{"predicate present: false, expected true"}},
		{"blocks", func(ev []Event) []Event { submit(ev, 1).Blocks = 0; return ev }, []string{"block count 1, expected 4"}},
		{"value read", func(ev []Event) []Event { ev[9].(*Read).Value = 3; return ev }, []string{"read of ext:0[3]: value 3, expected"}},
		{"initial value", func(ev []Event) []Event { ev[3].(*Alloc).Tensors[0].Init = "0/4"; return ev }, []string{"buffer 0 has initial value 0/4, expected 1065353216/4"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Diff(tt.change(parseSample(t)), parseSample(t))
			if tt.want == nil && got != "" {
				t.Errorf("differs: %s", got)
			}
			for _, w := range tt.want {
				if !strings.Contains(got, w) {
					t.Errorf("%q does not say %q", got, w)
				}
			}
			if Equal(tt.change(parseSample(t)), parseSample(t)) != (got == "") {
				t.Error("Equal and Diff disagree")
			}
		})
	}
}

func TestNormal(t *testing.T) {
	read := func(text string) []Event {
		t.Helper()
		ev, err := ReadJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return ev
	}
	alloc := func(id string, n string) string {
		return `{"ev":"alloc","tensors":[{"id":` + id + `,"shape":[` + n + `],"dtype":"FLOAT32","manual_dep":false,"init":null}]}` + "\n"
	}
	use := func(n, buf string) string {
		return `{"ev":"submit","n":` + n + `,"kind":"aiv","kernels":["k"],"args":[{"dir":"in","t":{"buf":"` + buf + `","off":0,"shape":[4],"strides":[1],"dtype":"FLOAT32","ops":[]}}],"scalars":[],"deps":[],"alloc_deps":[0]}` + "\n"
	}
	scope := `{"ev":"scope_begin","mode":"AUTO"}` + "\n" + `{"ev":"scope_begin","mode":"AUTO"}` + "\n" + `{"ev":"scope_end"}` + "\n" + `{"ev":"scope_end"}` + "\n"
	same := [][2]string{
		{alloc("0", "4") + alloc("1", "8") + use("0", "alloc:1") + use("1", "alloc:0"), alloc("0", "8") + use("0", "alloc:0") + alloc("1", "4") + use("1", "alloc:1")},
		{scope + use("0", "ext:0"), use("0", "ext:0") + `{"ev":"query","what":"aiv_count"}`},
		{strings.ReplaceAll(use("0", "ext:0"), `,"alloc_deps":[0]`, ""), use("0", "ext:0")},
	}
	for i, p := range same {
		if d := Diff(Normal(read(p[0])), Normal(read(p[1]))); d != "" {
			t.Errorf("%d: %s", i, d)
		}
	}
	different := [][2]string{
		{alloc("0", "4") + alloc("1", "4") + use("0", "alloc:0") + use("1", "alloc:1"), alloc("0", "4") + use("0", "alloc:0") + use("1", "alloc:0")},
		{alloc("0", "4") + use("0", "alloc:0"), alloc("0", "8") + use("0", "alloc:0")},
	}
	for i, p := range different {
		if Diff(Normal(read(p[0])), Normal(read(p[1]))) == "" {
			t.Errorf("%d: no difference seen", i)
		}
	}
}

func FuzzReadJSON(f *testing.F) {
	for _, l := range strings.Split(sample, "\n") {
		f.Add(l)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ev, err := ReadJSON(strings.NewReader(s))
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := WriteJSON(&b, slices.Values(ev)); err != nil {
			t.Fatal(err)
		}
		again, err := ReadJSON(&b)
		if err != nil {
			t.Fatalf("cannot read back %q: %v", b.String(), err)
		}
		if d := Diff(again, ev); d != "" {
			t.Fatalf("changed on the way: %s", d)
		}
		Diff(Normal(ev), Normal(again))
	})
}
