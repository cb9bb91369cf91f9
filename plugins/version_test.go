package plugins_test

import (
	"testing"

	"github.com/ptobuild/ptobuild/plugins"
)

func TestVersionFits(t *testing.T) {
	for _, c := range []struct {
		constraint, version string
		fits                bool
	}{
		{"", "anything", true}, {"1.2.0", "1.2.0", true}, {"1.2.0", "1.2.1", false}, {"=1.2.0", "1.2.0", true},
		{">=1.2, <2", "1.2.0", true}, {">=1.2, <2", "1.10.3", true}, {">=1.2, <2", "2.0.0", false}, {">=1.2, <2", "1.1.9", false},
		{"^1.2", "1.9.0", true}, {"^1.2", "2.0.0", false}, {"^0.2", "0.2.7", true}, {"^0.2", "0.3.0", false},
		{"~1.2", "1.2.9", true}, {"~1.2", "1.3.0", false}, {">1", "1.0.0", false}, {"<=1.0.0", "1.0.0", true},
		{">=1.2", "1.2.0-rc1", false}, {"nightly", "nightly", true}, {">=1", "nightly", false},
	} {
		if got := plugins.VersionFits(c.constraint, c.version); got != c.fits {
			t.Errorf("%q fits %q: %v", c.version, c.constraint, got)
		}
	}
	for _, bad := range []string{"newest", ">=", "1.2.", ">=1, <two"} {
		if plugins.CheckVersion(bad) == "" {
			t.Errorf("%q counts as a constraint", bad)
		}
	}
}

func TestCheckOptions(t *testing.T) {
	schema := []plugins.Option{{Name: "mode", Kind: plugins.StringOption, Choices: []string{"fast", "exact"}}, {Name: "base", Kind: plugins.FloatOption, Required: true},
		{Name: "n", Kind: plugins.IntOption, Min: 1, Max: 8}, {Name: "on", Kind: plugins.BoolOption}, {Name: "files", Kind: plugins.StringsOption}}
	for text, want := range map[string]string{
		`{"base": 1, "mode": "fast", "n": 8, "on": true, "files": ["a"]}`: "",
		`{}`:                          "plugin p needs option base, a number",
		`{"base": 1, "mode": "slow"}`: "option mode of plugin p must be a string out of fast, exact",
		`{"base": "x"}`:               "option base of plugin p must be a number",
		`{"base": 1, "n": 9}`:         "option n of plugin p must be an integer between 1 and 8",
		`{"base": 1, "n": 1.5}`:       "option n of plugin p must be an integer between 1 and 8",
		`{"base": 1, "files": [1]}`:   "option files of plugin p must be a list of strings",
		`{"base": 1, "bass": 2}`:      `plugin p has no option "bass"`,
	} {
		values, err := plugins.DecodeOptions(text)
		if err != nil {
			t.Fatal(err)
		}
		ds := plugins.CheckOptions("p", schema, values)
		if got := len(ds) > 0; got != (want != "") || got && ds[0].Message != want {
			t.Errorf("%s: got %v, want %q", text, ds, want)
		}
	}
	if ds := plugins.CheckOptions("p", nil, map[string]any{"x": 1.0}); len(ds) > 0 {
		t.Errorf("without a schema: %v", ds)
	}
}
