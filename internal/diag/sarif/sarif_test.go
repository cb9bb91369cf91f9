package sarif

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
)

var update = flag.Bool("update", false, "rewrite golden files")

var reports = diag.List{
	diag.Errorf("PTO-D001", diag.Span{File: "a b.py", Line: 4, Col: 11, EndLine: 4, EndCol: 16}, "Undefined variable 'inptu'").
		WithHint("did you mean 'input'?").WithRelated(diag.Span{File: "a b.py", Line: 2, Col: 5}, "defined here"),
	diag.Warningf("PTO-D030", diag.Span{File: "a b.py", Line: 3, Col: 1}, "the value is <not> used"),
	diag.Errorf("PTO-W001", diag.Span{}, "no Pto.toml"),
	diag.Errorf("ACME-7", diag.Span{File: "/tmp/x.py"}, "a plugin's own code"),
	diag.Errorf("PTO-P001", diag.Span{File: "m.py<P>", Line: 1, Col: 1, EndLine: 1, EndCol: 1}, "in a text of pl.parse"),
	diag.Errorf("PTO-W001", diag.Span{}, "no Pto.toml"), // a repeat
	diag.Errorf("PTO-D012", diag.Span{File: "a b.py", Line: 4, Col: 11}, "another at the same place"),
	{Severity: diag.Error, Code: "PTO-R080", Span: diag.Span{File: "m.py", Line: 5, Col: 9}, Message: "a race", Hint: "make one wait", Edits: []diag.Edit{
		{Span: diag.Span{File: "m.py", Line: 5, Col: 20, EndLine: 5, EndCol: 20}, Text: ", deps=[a]"},
		{Span: diag.Span{File: "m.py", Line: 6, Col: 1, EndLine: 6, EndCol: 5}},
	}},
}

func TestGolden(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, "1.0", reports); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/reports.sarif"
	if *update {
		if err := os.WriteFile(golden, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), want) {
		t.Errorf("got\n%s", b.String())
	}
}

// The order in which reports come does not matter.
func TestDeterministic(t *testing.T) {
	turned := slices.Clone(reports)
	slices.Reverse(turned)
	var a, b bytes.Buffer
	if err := Write(&a, "1.0", reports); err != nil {
		t.Fatal(err)
	}
	if err := Write(&b, "1.0", turned); err != nil {
		t.Fatal(err)
	}
	if a.String() != b.String() {
		t.Errorf("%s\nand\n%s", a.String(), b.String())
	}
}

// What the schema of SARIF 2.1.0 requires: the properties that must be there, their types, and the properties that are allowed at all (the
// schema forbids others).
func TestSchema(t *testing.T) {
	for name, ds := range map[string]diag.List{"none": nil, "reports": reports} {
		var b bytes.Buffer
		if err := Write(&b, "1.0", ds); err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(b.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		check(t, name, v, "log")
		run := v.(map[string]any)["runs"].([]any)[0].(map[string]any)
		rules := run["tool"].(map[string]any)["driver"].(map[string]any)["rules"].([]any)
		for _, r := range run["results"].([]any) {
			r := r.(map[string]any)
			if i, ok := r["ruleIndex"].(float64); ok && rules[int(i)].(map[string]any)["id"] != r["ruleId"] {
				t.Errorf("%s: ruleIndex %v is not %v", name, i, r["ruleId"])
			}
			if !slices.Contains([]any{"none", "note", "warning", "error"}, r["level"]) {
				t.Errorf("%s: level %v", name, r["level"])
			}
		}
	}
}

// shapes are the objects of the schema that we write: property → kind of its value; a leading "!" marks a required one, "[]" a list.
var shapes = map[string]map[string]string{
	"log":         {"$schema": "string", "version": "!2.1.0", "runs": "![]run"},
	"run":         {"tool": "!tool", "originalUriBaseIds": "bases", "columnKind": "string", "results": "![]result"}, // results: required where a scan took place
	"bases":       {"SRCROOT": "artifact"},
	"tool":        {"driver": "!driver"},
	"driver":      {"name": "!string", "version": "string", "rules": "[]rule"},
	"rule":        {"id": "!string", "shortDescription": "message", "fullDescription": "message", "help": "message"},
	"message":     {"text": "!string", "markdown": "string"},
	"result":      {"ruleId": "string", "ruleIndex": "index", "level": "string", "message": "!message", "locations": "[]location", "relatedLocations": "[]location", "fixes": "[]fix"},
	"fix":         {"description": "message", "artifactChanges": "![]change"},
	"change":      {"artifactLocation": "!artifact", "replacements": "![]replacement"},
	"replacement": {"deletedRegion": "!region", "insertedContent": "content"},
	"content":     {"text": "!string"},
	"location":    {"id": "index", "physicalLocation": "physical", "message": "message"},
	"physical":    {"artifactLocation": "!artifact", "region": "region"},
	"artifact":    {"uri": "string", "uriBaseId": "string", "description": "message"},
	"region":      {"startLine": "!positive", "startColumn": "positive", "endLine": "positive", "endColumn": "positive"},
}

func check(t *testing.T, at string, v any, kind string) {
	t.Helper()
	if len(kind) > 2 && kind[:2] == "[]" {
		list, ok := v.([]any)
		if !ok {
			t.Errorf("%s is no list", at)
		}
		for _, x := range list {
			check(t, at+"[]", x, kind[2:])
		}
		return
	}
	n, isNumber := v.(float64)
	s, isString := v.(string)
	switch kind {
	case "string":
		if !isString || s == "" {
			t.Errorf("%s = %v is no text", at, v)
		}
	case "2.1.0":
		if s != kind {
			t.Errorf("%s = %v", at, v)
		}
	case "index", "positive":
		if !isNumber || n < 0 || kind == "positive" && n < 1 {
			t.Errorf("%s = %v is not %s", at, v, kind)
		}
	default:
		m, ok := v.(map[string]any)
		if !ok {
			t.Errorf("%s is no object", at)
		}
		for name, x := range m {
			k, known := shapes[kind][name]
			if !known {
				t.Errorf("%s.%s: the schema has no such property", at, name)
				continue
			}
			if k[0] == '!' {
				k = k[1:]
			}
			check(t, at+"."+name, x, k)
		}
		for name, k := range shapes[kind] {
			if _, given := m[name]; k[0] == '!' && !given {
				t.Errorf("%s lacks %s", at, name)
			}
		}
	}
}
