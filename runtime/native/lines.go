package native

import (
	"bytes"
	"debug/dwarf"
	"debug/elf"
	"path"
)

// sourceLine finds the source line of the instruction that lies delta bytes after a symbol of a shared object: where user code died.
func sourceLine(object []byte, symbol string, delta uint64) (file string, line int32) {
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
	var e dwarf.LineEntry
	if lines.SeekPC(at, &e) != nil || e.File == nil {
		return "", 0
	}
	name := e.File.Name
	if dir, _ := unit.Val(dwarf.AttrCompDir).(string); dir != "" && len(name) > len(dir) && name[:len(dir)] == dir {
		name = name[len(dir)+1:]
	}
	return path.Clean(name), int32(e.Line)
}
