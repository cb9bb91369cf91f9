package irjson

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// schema is what documents hold: by kind of node or record the fields, "name:what", with * before what of a list.
func schema() map[string][]string {
	out := map[string][]string{}
	var add func(t reflect.Type)
	what := func(t reflect.Type) string {
		if name, ok := map[reflect.Type]string{reflect.TypeFor[ir.Expr](): "expr", reflect.TypeFor[ir.Stmt](): "stmt", reflect.TypeFor[ir.Type](): "type",
			varType: "var", dtypeType: "dtype", reflect.TypeFor[diag.Span](): "pos"}[t]; ok {
			return name
		}
		if _, ok := enums[t]; ok {
			return t.Name()
		}
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch t.Kind() {
		case reflect.Struct:
			add(t)
			return t.Name()
		case reflect.String:
			return "str"
		case reflect.Bool:
			return "bool"
		case reflect.Int, reflect.Int64:
			return "int"
		case reflect.Float64:
			return "float"
		case reflect.Interface:
			return "value"
		}
		panic(t)
	}
	add = func(t reflect.Type) {
		if out[t.Name()] != nil {
			return
		}
		fields := []string{}
		out[t.Name()] = fields
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Type.Kind() == reflect.Slice {
				fields = append(fields, fieldName(f)+":*"+what(f.Type.Elem()))
			} else {
				fields = append(fields, fieldName(f)+":"+what(f.Type))
			}
		}
		out[t.Name()] = fields
	}
	for _, t := range nodes {
		add(t)
	}
	add(reflect.TypeFor[ir.Function]())
	return out
}

// TestLibraryInPython: its tables of fields, enumerations and dtypes are those of the IR.
func TestLibraryInPython(t *testing.T) {
	text, err := os.ReadFile("../python/ptobuild_plugin.py")
	if err != nil {
		t.Fatal(err)
	}
	joined := regexp.MustCompile(`"\s*\n\s*"([a-z_])`).ReplaceAllString(string(text), "$1") // strings over several lines
	table := func(name string) map[string]string {
		_, rest, _ := strings.Cut(joined, "\n"+name+" = {")
		body, _, ok := strings.Cut(rest, "}.items()}")
		if !ok {
			t.Fatalf("there is no table %s", name)
		}
		out := map[string]string{}
		for _, m := range regexp.MustCompile(`"(\w+)": "([^"]*)"`).FindAllStringSubmatch(body, -1) {
			out[m[1]] = m[2]
		}
		return out
	}
	want := map[string]string{}
	for name, fields := range schema() {
		want[name] = strings.Join(fields, " ")
	}
	differ(t, "FIELDS", table("FIELDS"), want)
	want = map[string]string{}
	for typ, names := range enums {
		want[typ.Name()] = strings.Join(names, " ")
	}
	differ(t, "ENUMS", table("ENUMS"), want)
	if list := strings.Join(ir.DTypeNames(), " "); !strings.Contains(joined, `DTYPES = "`+list+`".split()`) {
		t.Errorf("DTYPES should be %s", list)
	}
}

func differ(t *testing.T, table string, got, want map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			t.Errorf("%s: %q should be\n%q, is\n%q", table, name, want[name], got[name])
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("%s: the IR has no %q", table, name)
	}
}

// TestManual: the table of nodes in docs/plugins-python.md has every kind with its fields.
func TestManual(t *testing.T) {
	text, err := os.ReadFile("../../docs/plugins-python.md")
	if err != nil {
		t.Fatal(err)
	}
	all := schema()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		var fields []string
		for _, f := range all[name] {
			field, what, _ := strings.Cut(f, ":")
			if element, list := strings.CutPrefix(what, "*"); list {
				what = "[" + element + "]"
			}
			switch {
			case field == "pos", field == "comments", field == "attrs": // said once for all
			case field == what || what == "str" && field == "name":
				fields = append(fields, "`"+field+"`")
			default:
				fields = append(fields, "`"+field+"` "+what)
			}
		}
		if row := fmt.Sprintf("| `%s` | %s |", name, strings.Join(fields, ", ")); !strings.Contains(string(text), "\n"+row) {
			t.Errorf("docs/plugins-python.md lacks\n%s", row)
		}
	}
	for typ, names := range enums {
		if row := fmt.Sprintf("| %s | `%s` |", typ.Name(), strings.ReplaceAll(strings.Join(names, "`, `"), "|", `\|`)); !strings.Contains(string(text), "\n"+row) {
			t.Errorf("docs/plugins-python.md lacks\n%s", row)
		}
	}
}
