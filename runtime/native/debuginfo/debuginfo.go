// Package debuginfo finds lines of user code in the shared objects that it was compiled to.
package debuginfo

import (
	"bytes"
	"debug/dwarf"
	"debug/elf"
	"path"
	"slices"
	"strings"
)

// apiHeader is no code of the user.
const apiHeader = "pto_orchestration_api.h"

// SourceLine finds the line of user code for the instruction that lies delta bytes after a symbol of a shared object: where it died. Of code of others that was inlined,
// such as that of the C++ library, it is the line that calls it.
func SourceLine(object []byte, symbol string, delta uint64) (file string, line int32) {
	f, err := elf.NewFile(bytes.NewReader(object))
	if err != nil {
		return "", 0
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return "", 0
	}
	at := uint64(0)
	for _, s := range symbols {
		if s.Name == symbol {
			at = s.Value + delta
		}
	}
	if text := f.Section(".text"); at == 0 || text == nil || at < text.Addr || at >= text.Addr+text.Size {
		return "", 0
	}
	d, err := f.DWARF()
	if err != nil {
		return "", 0
	}
	units := d.Reader()
	unit, err := units.SeekPC(at)
	if err != nil {
		return "", 0
	}
	lines, err := d.LineReader(unit)
	if err != nil || lines == nil {
		return "", 0
	}
	users := func(f *dwarf.LineFile) (string, bool) {
		if f == nil {
			return "", false
		}
		name := fileName(unit, f)
		return name, !path.IsAbs(name) && name[0] != '<' && path.Base(name) != apiHeader
	}
	if row, ok := rowOf(lines, at); !ok {
		return "", 0
	} else if name, ok := users(row.File); ok {
		return name, int32(row.Line)
	}
	files := lines.Files()
	for _, call := range slices.Backward(inlinedAt(d, units, at)) {
		n, _ := call.Val(dwarf.AttrCallFile).(int64)
		line, _ := call.Val(dwarf.AttrCallLine).(int64)
		if n < 0 || int(n) >= len(files) {
			continue
		}
		if name, ok := users(files[n]); ok {
			return name, int32(line)
		}
	}
	return "", 0
}

// fileName is the name of a file as the compiler got it.
func fileName(unit *dwarf.Entry, f *dwarf.LineFile) string {
	name := f.Name
	if dir, _ := unit.Val(dwarf.AttrCompDir).(string); dir != "" && strings.HasPrefix(name, dir+"/") {
		name = name[len(dir)+1:]
	}
	return path.Clean(name)
}

// FunctionLine is the line of a source in which a function begins, 0 when that cannot be told.
func FunctionLine(object []byte, name, source string) int32 {
	f, err := elf.NewFile(bytes.NewReader(object))
	if err != nil {
		return 0
	}
	defer f.Close()
	d, err := f.DWARF()
	if err != nil {
		return 0
	}
	r := d.Reader()
	var lines *dwarf.LineReader
	var unit *dwarf.Entry
	var inlined dwarf.Offset // what a copy of the function that is not inlined refers to
	for e, err := r.Next(); e != nil && err == nil; e, err = r.Next() {
		switch e.Tag {
		case dwarf.TagCompileUnit:
			unit, inlined = e, 0
			if lines, err = d.LineReader(e); err != nil || lines == nil {
				r.SkipChildren()
			}
			continue
		case dwarf.TagNamespace, 0:
			continue
		}
		r.SkipChildren()
		if n, _ := e.Val(dwarf.AttrName).(string); e.Tag != dwarf.TagSubprogram || n != name && (inlined == 0 || e.Val(dwarf.AttrAbstractOrigin) != inlined) {
			continue
		}
		line, _ := e.Val(dwarf.AttrDeclLine).(int64)
		n, _ := e.Val(dwarf.AttrDeclFile).(int64)
		if files := lines.Files(); line > 0 && n >= 0 && int(n) < len(files) && files[n] != nil && fileName(unit, files[n]) == source {
			return int32(line)
		}
		if pc, ok := e.Val(dwarf.AttrLowpc).(uint64); ok {
			lines.Reset()
			if row, ok := rowOf(lines, pc); ok && row.File != nil && fileName(unit, row.File) == source {
				return int32(row.Line)
			}
		}
		inlined = e.Offset
	}
	return 0
}

// rowOf finds the row of an instruction. The sequences of a table are in no order, which LineReader.SeekPC needs.
func rowOf(lines *dwarf.LineReader, at uint64) (row dwarf.LineEntry, ok bool) {
	var e dwarf.LineEntry
	for before := (dwarf.LineEntry{EndSequence: true}); lines.Next(&e) == nil; before = e {
		if !before.EndSequence && before.Address <= at && at < e.Address {
			return before, true
		}
	}
	return row, false
}

// inlinedAt are the inlined calls that an instruction is part of, outermost first. The reader stands behind the entry of the unit.
func inlinedAt(d *dwarf.Data, r *dwarf.Reader, at uint64) (calls []*dwarf.Entry) {
	for {
		e, err := r.Next()
		if err != nil || e == nil || e.Tag == dwarf.TagCompileUnit {
			return calls
		}
		switch e.Tag {
		case dwarf.TagSubprogram, dwarf.TagInlinedSubroutine, dwarf.TagLexDwarfBlock:
			ranges, err := d.Ranges(e)
			in := err == nil && slices.ContainsFunc(ranges, func(r [2]uint64) bool { return r[0] <= at && at < r[1] })
			if in && e.Tag == dwarf.TagInlinedSubroutine {
				calls = append(calls, e)
			}
			if !in {
				r.SkipChildren()
			}
		}
	}
}
