package diag

import (
	"encoding/json"
	"reflect"
	"testing"
)

// A cached report reads back as it was written.
func TestReportsSurviveJSON(t *testing.T) {
	at := Span{File: "a.py", Line: 3, Col: 5, EndLine: 3, EndCol: 9}
	in := List{
		Errorf("PTO-W001", at, "one").WithHint("do it").WithRelated(Span{File: "b.py", Line: 1, Col: 1}, "here"),
		Warningf("PTO-W002", Span{}, "two"),
		{Severity: Note, Code: "PTO-W003", Message: "three"},
	}
	b, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var out List
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(in, out) {
		t.Errorf("%s\ngave %v", b, out)
	}
}
