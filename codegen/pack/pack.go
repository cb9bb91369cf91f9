// Package pack lays out what a build hands on: the orchestration C++, the kernel table for our tools (kernels.json) and for the public runtime's
// (kernel_config.py), and the source map. Paths use slashes and are relative to the output folder; the order of the files and every byte depend on the
// input alone (spec: passes-codegen 2.3).
package pack

import (
	"github.com/ptobuild/ptobuild/codegen/orch"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
)

// A File is one output.
type File struct {
	Path    string
	Content []byte
}

// A Unit is one orchestration function taken to C++.
type Unit struct {
	Plan  *plan.File
	Code  string
	Lines []orch.LineSpan
}

// Files are the outputs of one orchestration function.
func Files(f *plan.File, code string, lines []orch.LineSpan) []File {
	return unit("", Unit{f, code, lines})
}

// Program are the outputs of all orchestration functions of a program. One stands at the top; of several, each gets a folder next_levels/<function> with
// a configuration of its own and the kernels that it launches.
func Program(units []Unit) []File {
	if len(units) == 1 {
		return unit("", units[0])
	}
	var files []File
	for _, u := range units {
		files = append(files, unit("next_levels/"+u.Plan.Func+"/", u)...)
	}
	return files
}

func unit(prefix string, u Unit) []File {
	name := u.Plan.Func
	return []File{
		{prefix + "orchestration/" + name + ".cpp", []byte(u.Code)},
		{prefix + "kernels.json", kernelsJSON(u.Plan)},
		{prefix + "kernel_config.py", kernelConfig(u.Plan)},
		{prefix + name + ".map.json", sourceMap(u)},
	}
}

// direction is the spelling of a tensor's direction in kernel signatures.
func direction(t plan.ArgTag) string {
	switch t {
	case plan.Input:
		return "IN"
	case plan.Output, plan.OutputExisting:
		return "OUT"
	}
	return "INOUT" // a tensor outside of tracking may be read and written
}

// entryDirection is the same for the orchestration function's own parameters.
func entryDirection(d ir.ParamDir) string {
	return [...]string{ir.In: "IN", ir.Out: "OUT", ir.InOut: "INOUT"}[d]
}
