package native

import (
	"errors"
	"fmt"
	osexec "os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/exec"
)

// death is what is known of a child that ended before its answer was complete.
type death struct {
	engine   *Engine
	job      *exec.Job
	progress *progress
	output   string // the end of what it printed
	err      error  // of Wait
	timeout  time.Duration
	hang     bool
}

// report says what happened, after which call, and under which schedule. When the orchestration had already failed with a fatal error, that is the
// cause, and the death only a related place.
func (d *death) report(fatal *diag.Diagnostic) error {
	call, in, line := d.progress.last()
	at := diag.Span{File: d.engine.Source, Line: line, Col: min(line, 1)}
	if s, ok := place(d.engine.Lines, line); ok && line > 0 {
		at = s
	}
	r := diag.Errorf(CodeCrash, at, "the orchestration %s", d.how())
	if d.hang {
		r = diag.Errorf(CodeHang, at, "the orchestration did not end within %s", d.timeout)
	}
	switch {
	case d.progress.stack.Load() == 0:
		r.Message += ", outside of its entry function"
		r.Hint = "look at constructors and destructors of static variables"
	case call == noCall:
		r.Message += ", before it made its first runtime call"
		r.Hint = "the fault is between the start of the entry function and its first call"
	case in && d.kernel() != "":
		r.Message += fmt.Sprintf(", while kernel '%s' ran inside %s", d.kernel(), call)
		r.Hint = "this is the runtime call that let the task run; look for a loop without an end in the kernel"
	case in:
		r.Message += fmt.Sprintf(", inside %s", call)
		r.Hint = "look at what this call was given"
	default:
		r.Message += fmt.Sprintf(", after %s", call)
		r.Hint = "this is the last runtime call that it made; the fault is in the C++ after it"
	}
	if len(d.job.Schedules) > 1 {
		if i := d.progress.schedule.Load(); i >= 0 && int(i) < len(d.job.Schedules) {
			r.Message += fmt.Sprintf(" (%s)", d.job.Schedules[i])
		}
	}
	if fatal != nil {
		return diag.List{fatal.WithRelated(at, "%s", r.Message)}
	}
	return r
}

// kernel is the name of the kernel that ran.
func (d *death) kernel() string {
	id := d.progress.kernel.Load() - 1
	if names := exec.KernelNames(d.job.Plan.Kernels); id >= 0 && int(id) < len(names) {
		return names[id]
	}
	return ""
}

// runtimeSignal is how the Go runtime reports a signal that user code raised.
var runtimeSignal = regexp.MustCompile(`(SIG[A-Z]+)[^\n]*\nPC=0x[0-9a-f]+ m=\d+ sigcode=-?\d+(?: addr=0x([0-9a-f]+))?`)

// how says how the process ended.
func (d *death) how() string {
	var exit *osexec.ExitError
	if errors.As(d.err, &exit) {
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			if ws.Signal() == syscall.SIGKILL {
				return "was killed (SIGKILL): the machine may have run out of memory"
			}
			return "died of signal " + ws.Signal().String()
		}
		if all := runtimeSignal.FindAllStringSubmatchIndex(d.output, -1); all != nil {
			m := all[len(all)-1] // user code may print anything, but not after it died
			addr := uint64(0)
			if m[4] >= 0 {
				addr, _ = strconv.ParseUint(d.output[m[4]:m[5]], 16, 64) // hex digits, by the pattern
			}
			return d.signal(d.output[m[2]:m[3]], addr, d.output[:m[0]])
		}
		if strings.Contains(d.output, "stack overflow") {
			return "overflowed its stack: a recursion without an end, or very large local arrays"
		}
	}
	if d.err == nil || exit != nil {
		code := 0
		if exit != nil {
			code = exit.ExitCode()
		}
		return fmt.Sprintf("ended the process: it called exit(%d)", code)
	}
	return "ended without an answer: " + d.err.Error()
}

func (d *death) signal(name string, addr uint64, before string) string {
	switch name {
	case "SIGSEGV", "SIGBUS":
		const page, room = 4096, 64 << 10
		stack := uint64(d.progress.stack.Load())
		var limit syscall.Rlimit
		if syscall.Getrlimit(syscall.RLIMIT_STACK, &limit) != nil || limit.Cur > 1<<30 {
			limit.Cur = 8 << 20
		}
		switch {
		case addr < page:
			return fmt.Sprintf("died of %s: it used a null pointer (address %#x)", name, addr)
		case addr < stack && stack-addr < limit.Cur+room && stack-addr > limit.Cur/2:
			return fmt.Sprintf("died of %s: its stack overflowed; look for a recursion without an end or very large local arrays", name)
		}
		return fmt.Sprintf("died of %s: it used memory that is not there (address %#x)", name, addr)
	case "SIGFPE":
		return "died of SIGFPE: an integer division by zero"
	case "SIGILL", "SIGTRAP":
		return fmt.Sprintf("died of %s: it reached code that must not be reached, such as the end of a function that returns nothing", name)
	case "SIGABRT":
		if line := lastLine(before); line != "" {
			return "died of SIGABRT: it called abort; the last line it printed is: " + line
		}
		return "died of SIGABRT: it called abort"
	}
	return "died of " + name
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	line := s[strings.LastIndexByte(s, '\n')+1:]
	const limit = 200
	if len(line) > limit {
		line = line[:limit] + "…"
	}
	return strings.ToValidUTF8(line, "�")
}
