package check

import "github.com/ptobuild/ptobuild/internal/diag"

// Codes of the reports about the graph of a run.
const (
	CodeRace      diag.Code = "PTO-R080" // two tasks touch the same memory, one writes, and nothing orders them
	CodeHostRace  diag.Code = "PTO-R081" // the orchestration touches an element while a task may still use it
	CodeLifetime  diag.Code = "PTO-R082" // nothing keeps a buffer alive until its last user has run
	CodeTooMuch   diag.Code = "PTO-R083" // the search was given up
	CodeDirection diag.Code = "PTO-R084" // a kernel does to an argument what its direction does not say
	CodeAdvice    diag.Code = "PTO-R085" // something makes the program slower than it has to be
	CodeBarrier   diag.Code = "PTO-R086" // blocks wait for each other, and nothing starts them together
)
