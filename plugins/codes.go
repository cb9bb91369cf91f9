package plugins

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ptobuild/ptobuild/internal/diag"
)

// Reports about plugins. What a plugin itself reports about a program has the plugin's own codes, or CodeReport.
const (
	CodeConfig      diag.Code = "PTO-L001" // a plugin is not configured rightly
	CodeStart       diag.Code = "PTO-L002" // its program cannot be started
	CodeChecksum    diag.Code = "PTO-L003" // its file is not the one that was pinned
	CodeHandshake   diag.Code = "PTO-L004" // its program is no plugin, or ended before it was ready
	CodeProtocol    diag.Code = "PTO-L005" // it speaks another version of the protocol or of the IR
	CodeIdentity    diag.Code = "PTO-L006" // it has another name or version than configured
	CodeCrash       diag.Code = "PTO-L007" // it ended during a call, and again after a restart
	CodeHang        diag.Code = "PTO-L008" // it did not answer in time, and again after a restart
	CodeAnswer      diag.Code = "PTO-L009" // its answer breaks the protocol
	CodeFailed      diag.Code = "PTO-L010" // it failed to answer: a panic, or an error of its own
	CodeHelper      diag.Code = "PTO-L011" // ptobuild-plugin-host is missing, of another version, or ended
	CodeDescription diag.Code = "PTO-L012" // it describes an op or pass that the core cannot accept
	CodeReport      diag.Code = "PTO-L013" // a report of the plugin about the program, without a code of its own
	CodeOption      diag.Code = "PTO-L014" // an option that the plugin does not accept
	CodeMemory      diag.Code = "PTO-L015" // it wanted more memory than it may have
	CodeTemplate    diag.Code = "PTO-L016" // it emitted what the core cannot accept
	CodeGrant       diag.Code = "PTO-L017" // a pass changed what it was not granted
	CodeProof       diag.Code = "PTO-L018" // a pass claims something that does not hold
	CodeLock        diag.Code = "PTO-L019" // Pto.lock is missing an entry, unreadable or out of date
	CodeBuild       diag.Code = "PTO-L020" // its build command failed
	CodeDev         diag.Code = "PTO-L021" // a plugin is replaced on the command line
	CodeConformance diag.Code = "PTO-L022" // it fails a conformance check
	CodeStopped     diag.Code = "PTO-L023" // the command was stopped before it answered
)

// WithoutStopped leaves out reports that a plugin was not waited for when the command was stopped: nothing is wrong with the plugin, and of several one says it. When there is
// nothing else one stays, for what was asked is not done.
func WithoutStopped(ds diag.List) diag.List {
	stopped := func(d *diag.Diagnostic) bool { return d.Code == CodeStopped }
	i := slices.IndexFunc(ds, stopped)
	if i < 0 {
		return ds
	}
	if others := slices.DeleteFunc(slices.Clone(ds), stopped); others.HasErrors() {
		return others
	}
	first := ds[i]
	return slices.DeleteFunc(slices.Clone(ds), func(d *diag.Diagnostic) bool { return stopped(d) && d != first })
}

// ReportCode is the code of a report that a plugin makes: its own when it has the form of one and is none of ptobuild's, which mean something else, but for those about
// plugins.
func ReportCode(code string) diag.Code {
	if !reportCode().MatchString(code) || strings.HasPrefix(strings.ToUpper(code), "PTO-") && !strings.HasPrefix(code, "PTO-L") {
		return CodeReport
	}
	return diag.Code(code)
}

var reportCode = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*-[A-Za-z]?[0-9]+$`) })
