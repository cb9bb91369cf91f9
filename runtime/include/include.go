// Package include holds the C++ headers that user code compiles against, embedded in the tool: the orchestration API, and under kernel/ what
// hand-written kernels include. Neither links against anything.
package include

import "embed"

// Files are the headers of orchestrations, by the name that user code includes.
//
//go:embed *.h
var Files embed.FS

// Kernel are the headers of kernels, below the folder "kernel".
//
//go:embed kernel/*.h
var Kernel embed.FS
