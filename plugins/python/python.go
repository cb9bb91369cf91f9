// Package python is the Python side of plugins: the two files that a plugin in Python imports. `ptobuild plugin new --lang python` copies them into the plugin.
package python

import "embed"

// Files are ptobuild_plugin.py and ptobuild_grpc.py.
//
//go:embed ptobuild_plugin.py ptobuild_grpc.py
var Files embed.FS
