package passes

import (
	"errors"

	"github.com/ptobuild/ptobuild/ir"
)

// Fusion claims that a kernel of a new program does what calls of two kernels, one right after the other, did in the old one (see CheckFusions).
type Fusion struct {
	Kernel        string // the new kernel
	First, Second string // what it replaces
	// By parameter of First and Second: the parameter of Kernel that takes its place.
	FirstParams, SecondParams []int
}

// CheckFusions proves the claims about a new program.
func CheckFusions(before, after *ir.Program, claims []Fusion) error {
	return errors.New("not implemented")
}
