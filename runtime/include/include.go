// Package include holds the C++ headers that user code compiles against, embedded in the tool: the orchestration API, and under kernel/ what
// hand-written kernels include. Neither links against anything.
package include

import "embed"

// Files are the headers of orchestrations, by the name that user code includes.
//
//go:embed *.h
var Files embed.FS

// Entry is C++ text that follows an orchestration: what the tool calls in it. ENTRY stands for the name of its entry function.
//
//go:embed entry/entry.cpp
var Entry string

// Kernel are the headers of kernels, below the folder "kernel".
//
//go:embed kernel/*.h
var Kernel embed.FS
