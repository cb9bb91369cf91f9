// Package include holds the C++ header of the orchestration API, embedded in the tool: generated and hand-written orchestration code compiles
// against it and links against nothing.
package include

import "embed"

// Files are the headers, by the name that user code includes.
//
//go:embed *.h
var Files embed.FS
