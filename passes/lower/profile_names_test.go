package lower

import (
	"reflect"
	"regexp"
	"testing"

	"github.com/ptobuild/ptobuild/codegen/orch"
)

// C-NAM-04: every identifier that a profile can print is reserved.
func TestProfileNamesAreReserved(t *testing.T) {
	word := regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)
	members := set(`ref tensor scalar get_ref task_id is_valid invalid shapes launch_spec view reshape transpose dump MANUAL visibility
		add_input add_output add_inout add_no_dep add_scalar set_dependencies set_block_num set_core_num set_require_sync_start set_allow_early_resolve
		set_predicate set_task_timing_slot set_initial_value __attribute__ EQ NE GT LT GE LE`)()
	for _, name := range orch.Names() {
		v := reflect.ValueOf(orch.Named(name)).Elem()
		for i := range v.NumField() {
			f := v.Field(i)
			field := v.Type().Field(i).Name
			if field == "Name" || field == "Header" || field == "TensorsComment" || field == "BatchAbove" {
				continue
			}
			var texts []string
			switch {
			case f.Kind() == reflect.String:
				texts = append(texts, f.String())
			case f.Kind() == reflect.Array:
				for k := range f.Len() {
					texts = append(texts, f.Index(k).String())
				}
			}
			for _, text := range texts {
				for _, w := range word.FindAllString(text, -1) {
					if !members[w] && !keywords()[w] && !runtimeNames()[w] {
						t.Errorf("%s: %s (%s) is not reserved", name, w, field)
					}
				}
			}
		}
	}
	for _, c := range orch.CTypes {
		if !keywords()[c] && !runtimeNames()[c] {
			t.Errorf("type %s is not reserved", c)
		}
	}
}
