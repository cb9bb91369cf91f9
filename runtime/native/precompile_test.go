package native

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/cache"
	"github.com/ptobuild/ptobuild/runtime/trace"
)

// Sources compile to the same with and without the precompiled header, and so do their mistakes; when a header of the system changes it is made anew.
func TestPrecompiledHeader(t *testing.T) {
	store, err := cache.NewDisk(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := FindToolchain("g++", nil)
	if err != nil {
		t.Fatal(err)
	}
	tc, err := FindToolchain("g++", store)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	const good = `#include <stddef.h>
#include <stdint.h>

#include "pto_orchestration_api.h"
#include <vector>
void aicpu_orchestration_entry(const ChipStorageTaskArgs& args) {
    std::vector<uint32_t> at{0, 0};
    set_tensor_data(args.tensor(0), 2, at.data(), static_cast<float>(args.tensor_count()));
    rt_report_fatal(9, "line %d", __LINE__);
}
`
	const bad = `#include "pto_orchestration_api.h"
void aicpu_orchestration_entry(const ChipStorageTaskArgs& args) { Arg a; a.add_input(args.tensor(0).view()); }
`
	run := func(object []byte) string {
		e := engineFor(t, "twice.cpp", good)
		results, err := (&Engine{Children: e.Children, Object: object, Source: "twice.cpp"}).Run(ctx, callsOnly(tiles(1), nil))
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		for e := range results[0].Trace.All() {
			text.WriteString(trace.Describe(e))
		}
		return text.String() + results[0].Diags.Error() + string(results[0].Outputs[0][:4])
	}
	var runs, mistakes []string
	for i := range precompileAfter + 2 {
		object, err := tc.Compile(ctx, "twice.cpp", []byte(good))
		if err != nil {
			t.Fatal(err)
		}
		if _, made := tc.findPrecompiled(ctx); made != (i >= precompileAfter) {
			t.Errorf("after compilation %d there is one: %v", i+1, made)
		}
		runs = append(runs, run(object))
	}
	for _, tc := range []*Toolchain{plain, tc} {
		_, err := tc.Compile(ctx, "bad.cpp", []byte(bad))
		if err == nil {
			t.Fatal("no error")
		}
		mistakes = append(mistakes, err.Error())
	}
	if tc.headers.off {
		t.Error("it does not work")
	}
	for _, r := range runs[1:] {
		if r != runs[0] {
			t.Errorf("it runs as\n%s\nwithout as\n%s", r, runs[0])
		}
	}
	if mistakes[0] != mistakes[1] {
		t.Errorf("reports\n%s\nwithout\n%s", mistakes[1], mistakes[0])
	}

	key := tc.precompileKey("header")
	r, err := store.GetAction(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range r.Outputs {
		if o.Path == precompiledFiles {
			list, err := store.Get(ctx, o.Digest)
			if err != nil || !strings.Contains(string(list), "/string.h\t") {
				t.Fatalf("files %.2000s: %v", list, err)
			}
			if r.Outputs[i].Digest, err = store.Put(ctx, append(list, "/usr/include/was.h\t1 1\n"...)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := store.PutAction(ctx, key, r); err != nil {
		t.Fatal(err)
	}
	if _, ok := tc.findPrecompiled(ctx); ok {
		t.Error("a header that went into it is gone, and it is used")
	}
	if _, err := tc.Compile(ctx, "twice.cpp", []byte(good)); err != nil {
		t.Error(err)
	}
	if _, ok := tc.findPrecompiled(ctx); !ok {
		t.Error("it was not made anew")
	}
}

// Only what cannot change the meaning of the API header may stand before it.
func TestPrecompiledOpening(t *testing.T) {
	for src, want := range map[string]bool{
		"#include \"pto_orchestration_api.h\"\n":                                      true,
		"// text\n\n#include <stddef.h>\n#include \"orchestration_api.h\"\nint x;":    true,
		"#define PTO_SSTREAM\n#include \"pto_orchestration_api.h\"\n":                 false,
		"#include \"mine.h\"\n#include \"pto_orchestration_api.h\"\n":                 false,
		"// \\\n#include <stddef.h>\n#if 0\n#include \"pto_orchestration_api.h\"\n":   false,
		"int x;\n#include \"pto_orchestration_api.h\"\n":                              false,
		"/* #include */\n#include \"pto_orchestration_api.h\"\n":                      false,
		"#include <stddef.h>\n#undef NULL\n#include \"pto_orchestration_api.h\"\nint": false,
	} {
		if got := opening().MatchString(src); got != want {
			t.Errorf("%q: %v", src, got)
		}
	}
}

// The version of a compiler is asked again when its file changes, and always of a script, which may stand for another one at any time.
func TestCompilerVersion(t *testing.T) {
	store, err := cache.NewDisk(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	script := t.TempDir() + "/fake-g++"
	for _, want := range []string{"g++ 1", "g++ 2"} {
		info, _ := os.Stat(script)
		if err := os.WriteFile(script, []byte("#!/bin/sh\necho '"+want+"'\n"), 0o777); err != nil {
			t.Fatal(err)
		}
		if info != nil { // even if it looks the same
			if err := os.Chtimes(script, info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
		}
		if tc, err := FindToolchain(script, store); err != nil || tc.ID != want {
			t.Errorf("%v, %v", tc, err)
		}
	}
	first, err := FindToolchain("g++", store)
	if err != nil {
		t.Fatal(err)
	}
	again, err := FindToolchain("g++", store)
	if err != nil || again.ID != first.ID || store.Written() == 0 {
		t.Errorf("%q, then %q: %v", first.ID, again.ID, err)
	}
}
