package host

import (
	"os"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/native/debuginfo"
)

// thrown says where the exception that was thrown last in a shared object comes from: the first of its return addresses that lies in user code.
func thrown(handle uintptr, object, symbol string) diag.Span {
	addr, err := purego.Dlsym(handle, "pto_thrown")
	if err != nil {
		return diag.Span{}
	}
	base, err := purego.Dlsym(handle, symbol)
	if err != nil {
		return diag.Span{}
	}
	text, err := os.ReadFile(object)
	if err != nil {
		return diag.Span{}
	}
	for _, pc := range *(*[16]uintptr)(*(*unsafe.Pointer)(unsafe.Pointer(&addr))) {
		if pc == 0 {
			break
		}
		if file, line := debuginfo.SourceLine(text, symbol, uint64(pc-1-base)); line > 0 {
			return diag.Span{File: file, Line: line, Col: 1}
		}
	}
	return diag.Span{}
}
