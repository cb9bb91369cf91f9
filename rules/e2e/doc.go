// Package e2e tries the rules on the real Bazel: Debian's 4.2.3, offline. What newer versions do with them is tested in package rules, with fakes.
//
// Its tests have the build tag e2e, since they need Bazel; `make test` runs them.
package e2e
