// Package rules holds the Bazel rules of ptobuild: the folder is a Bazel module of its own, rules_ptobuild, whose .bzl files Bazel 4.2 and later load.
// Package buildgen below it writes BUILD files that use them.
package rules

// The rules and where BUILD files load them from.
const (
	Defs          = "@rules_ptobuild//:defs.bzl"
	Library       = "pto_library"
	Orchestration = "pto_orchestration"
	SimTest       = "pto_sim_test"
)
