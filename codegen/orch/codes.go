package orch

import "github.com/ptobuild/ptobuild/internal/diag"

const (
	// CodeNoTimingSlot: the API profile has no call for timing_slot=.
	CodeNoTimingSlot diag.Code = "PTO-G060"
	// CodeNoInitValue: the API profile has no call for init_value=.
	CodeNoInitValue diag.Code = "PTO-G061"
)
