// Package include holds the C++ headers that user code compiles against, embedded in the tool: the orchestration API, and under kernel/ what
// hand-written kernels include. Neither links against anything.
package include

import "embed"

// Files are the headers of orchestrations, by the name that user code includes.
//
//go:embed *.h
var Files embed.FS

var (
	//go:embed entry/thrown.cpp
	thrown string
	//go:embed entry/entry.cpp
	entry string
	//go:embed entry/kernel.cpp
	kernel string
)

// Entry and Guard are C++ text that follows an orchestration and a kernel: what the tool calls in them. ENTRY stands for the name of the entry function of an
// orchestration.
var (
	Entry = thrown + entry
	Guard = thrown + kernel
)

// Kernel are the headers of kernels, below the folder "kernel".
//
//go:embed kernel/*.h
var Kernel embed.FS
