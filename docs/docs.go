// Package docs embeds the pages of the manual that the tool itself reads.
package docs

import _ "embed"

// Errors is errors.md: one section per report code (package catalogue reads it).
//
//go:embed errors.md
var Errors string
