// Package pack lays out what a build hands on: the orchestration C++, the kernel table for our tools (kernels.json) and for the public runtime's
// (kernel_config.py), and the source map. Paths use slashes and are relative to the output folder; the order of the files and every byte depend on the
// input alone (spec: passes-codegen 2.3).
package pack

import (
	"strconv"

	"github.com/ptobuild/ptobuild/codegen/orch"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
)

// A File is one output.
type File struct {
	Path    string
	Content []byte
}

// A Unit is one orchestration function taken to C++. Units of one Program belong together.
type Unit struct {
	Program *ir.Program
	Plan    *plan.File
	Code    string
	Lines   []orch.LineSpan
}

// Files are the outputs of one orchestration function.
func Files(f *plan.File, code string, lines []orch.LineSpan) []File {
	return unit("", Unit{Plan: f, Code: code, Lines: lines})
}

// Source are the outputs of all orchestration functions of a source file. Those of one program stand at the top; of several programs, each gets a
// folder of its name, or <name>_2, <name>_3… when programs before it have that name, in the order of their first units.
func Source(units []Unit) []File {
	var programs []*ir.Program
	of := map[*ir.Program][]Unit{}
	for _, u := range units {
		if of[u.Program] == nil {
			programs = append(programs, u.Program)
		}
		of[u.Program] = append(of[u.Program], u)
	}
	if len(programs) == 1 {
		return program("", units)
	}
	var files []File
	folders := map[string]bool{}
	for _, p := range programs {
		folder := p.Name
		for n := 2; folders[folder]; n++ {
			folder = p.Name + "_" + strconv.Itoa(n)
		}
		folders[folder] = true
		files = append(files, program(folder+"/", of[p])...)
	}
	return files
}

// program are the outputs of one program. One orchestration function stands at the top; of several, each gets a folder next_levels/<function> with a
// configuration of its own and the kernels that it launches.
func program(prefix string, units []Unit) []File {
	if len(units) == 1 {
		return unit(prefix, units[0])
	}
	var files []File
	for _, u := range units {
		files = append(files, unit(prefix+"next_levels/"+u.Plan.Func+"/", u)...)
	}
	return files
}

func unit(prefix string, u Unit) []File {
	files := Unplaced(u.Plan, u.Code)
	m := MapOf(u.Plan, u.Lines)
	files = append(files, File{m.Name(), m.JSON()})
	for i := range files {
		files[i].Path = prefix + files[i].Path
	}
	return files
}

// Unplaced are the outputs of one orchestration function that are the same wherever its source stands: all but the source map.
func Unplaced(f *plan.File, code string) []File {
	return []File{
		{"orchestration/" + f.Func + ".cpp", []byte(code)},
		{"kernels.json", kernelsJSON(f)},
		{"kernel_config.py", kernelConfig(f)},
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
