package pack

import (
	"path"
	"strconv"
	"strings"

	"github.com/ptobuild/ptobuild/codegen/orch"
	"github.com/ptobuild/ptobuild/ir/plan"
)

// kernelConfig is kernel_config.py, as the public runtime's example runner reads it.
func kernelConfig(f *plan.File) []byte {
	var b strings.Builder
	put := func(ss ...string) {
		for _, s := range ss {
			b.WriteString(s)
		}
	}
	put("# Kernels and orchestration of ", f.Func, "\n\nfrom pathlib import Path\n\n")
	signed := len(f.Tensors) > 0
	for i := range f.Kernels {
		signed = signed || len(f.Kernels[i].Signature) > 0
	}
	if signed {
		put("from simpler.task_interface import ArgDirection as _D\n\n")
	}
	put("_ROOT_DIR = Path(__file__).parent\n\n")
	put("RUNTIME_CONFIG = {\n    \"runtime\": \"tensormap_and_ringbuffer\",\n    \"aicpu_thread_num\": 0,\n}\n\n")
	put("ORCHESTRATION = {\n    \"source\": ", rooted("orchestration", f.Func+".cpp"), ",\n    \"function_name\": ", pyString(orch.Default().EntryFunc), ",\n")
	dirs := make([]string, len(f.Tensors))
	for i := range f.Tensors {
		dirs[i] = entryDirection(f.Tensors[i].Dir)
	}
	put(signature(dirs), "}\n\nKERNELS = [\n")
	for i := range f.Kernels {
		k := &f.Kernels[i]
		put("    {\n        \"func_id\": ", strconv.Itoa(k.ID), ",\n        \"name\": ", pyString(k.Name), ",\n")
		switch {
		case k.External == nil:
			put("        \"source\": ", rooted("kernels", k.Core.String(), k.Name+".cpp"), ",\n")
		case path.IsAbs(k.External.Source):
			put("        \"source\": ", pyString(k.External.Source), ",\n")
		default:
			put("        \"source\": ", rooted(strings.Split(k.External.Source, "/")...), ",\n")
		}
		put("        \"core_type\": ", pyString(k.Core.String()), ",\n")
		if k.External != nil {
			put("        \"external\": True,\n")
			if len(k.External.IncludeDirs) > 0 {
				put("        \"extra_include_dirs\": [")
				for j, d := range k.External.IncludeDirs {
					if j > 0 {
						put(", ")
					}
					put(pyString(d))
				}
				put("],\n")
			}
		}
		dirs := make([]string, len(k.Signature))
		for j, t := range k.Signature {
			dirs[j] = direction(t)
		}
		if s := signature(dirs); s != "" {
			put("    ", s)
		}
		put("    },\n")
	}
	put("]\n")
	return []byte(b.String())
}

// signature is the entry of a dictionary, "" without directions.
func signature(dirs []string) string {
	if len(dirs) == 0 {
		return ""
	}
	return "    \"signature\": [_D." + strings.Join(dirs, ", _D.") + "],\n"
}

// rooted is a path below the folder of the configuration.
func rooted(parts ...string) string {
	s := "str(_ROOT_DIR"
	for _, p := range parts {
		s += " / " + pyString(p)
	}
	return s + ")"
}

// pyString is a Python string literal.
func pyString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r < ' ':
			b.WriteString(`\x` + strconv.FormatInt(int64(r)+0x100, 16)[1:])
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
