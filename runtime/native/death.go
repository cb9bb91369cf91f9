package native

import (
	"errors"
	"fmt"
	osexec "os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/native/debuginfo"
	"github.com/ptobuild/ptobuild/runtime/native/protocol"
)

// death is what is known of a child that ended before its answer was complete.
type death struct {
	engine   *Engine
	job      *exec.Job
	progress *protocol.Progress
	output   string // the end of what it printed
	err      error  // of Wait
	timeout  time.Duration
	hang     bool
}

// report says what happened: which kernel, or else after which call of the orchestration, at the line where it died when that is known, and under which
// schedule. When the orchestration had already failed with a fatal error, that is the cause, and the death only a related place.
func (d *death) report(fatal *diag.Diagnostic) error {
	call, in, line := d.progress.Last()
	at := diag.Span{File: d.engine.Source, Line: line, Col: min(line, 1)}
	if s, ok := protocol.Place(d.engine.Lines, line); ok && line > 0 {
		at = s
	}
	how := d.how()
	r := diag.Errorf(CodeCrash, at, "the orchestration %s", how)
	if d.hang {
		r = diag.Errorf(CodeHang, at, "the orchestration did not end within %s", d.timeout)
	}
	switch {
	case d.kernel() != "":
		d.ofKernel(r, how)
		if in && at != r.Span {
			r.WithRelated(at, "%s let the task run here", call)
		}
	case d.progress.Stack.Load() == 0:
		r.Message += ", outside of its entry function"
		r.Hint = "look at constructors and destructors of static variables"
	case call == protocol.NoCall:
		r.Message += ", before it made its first runtime call"
		r.Hint = "the fault is between the start of the entry function and its first call"
	case in && strings.Contains(how, badAddress):
		r.Code, r.Message, r.Hint = protocol.CodePointer, protocol.PointerMessage, protocol.PointerHint
	case in:
		r.Message += fmt.Sprintf(", inside %s", call)
		r.Hint = "look at what this call was given"
	default:
		r.Message += fmt.Sprintf(", after %s", call)
		r.Hint = "this is the last runtime call that it made; the fault is in the C++ after it"
		if here := d.line(); here.IsValid() && here != at {
			r.Span, r.Hint = here, "the fault is in this line, or in what it was given"
			r.WithRelated(at, "the last runtime call")
		}
	}
	if len(d.job.Schedules) > 1 {
		if i := d.progress.Schedule.Load(); i >= 0 && int(i) < len(d.job.Schedules) {
			r.Message += fmt.Sprintf(" (%s)", d.job.Schedules[i])
		}
	}
	if fatal != nil {
		return diag.List{fatal.WithRelated(r.Span, "%s", r.Message)}
	}
	return r
}

// ofKernel makes r the report of the kernel that ran: at the submit of its task, with the line of its source where that is known.
func (d *death) ofKernel(r *diag.Diagnostic, how string) {
	p := d.progress.Running()
	r.Message = fmt.Sprintf("kernel '%s' of task %d, block %d of %d, %s", d.kernel(), p.Task, p.Block, p.Blocks, how)
	r.Hint = "look at what the task gives to the kernel, and at the kernel's own indices"
	if d.hang {
		r.Message = fmt.Sprintf("kernel '%s' of task %d, block %d of %d, did not end within %s", d.kernel(), p.Task, p.Block, p.Blocks, d.timeout)
		r.Hint = "look for a loop without an end in the kernel"
	}
	if s := p.Site(); s.IsValid() {
		r.Span = s
	}
	if p.Code.Load() == 0 {
		return
	}
	if m := d.signalText(); m != nil && strings.HasPrefix(m.name, "SIG") && strings.Contains(how, badAddress) {
		addr, _ := strconv.ParseUint(m.addr, 16, 64) // hex digits, by the pattern
		params := protocol.ArgNames(exec.KernelParams(d.job.Program, d.job.Plan.Kernels))
		if where := p.Next(addr, func(arg int) string { return params.Of(int(p.Kernel.Load())-1, arg) }); where != "" {
			r.Message = strings.Replace(r.Message, "memory that is not there", "memory "+where, 1)
		}
	}
	if p.Probe != 0 {
		r.Message += "; this was a repetition with other values in its outputs, so it reads one before it has written it"
		r.Hint = "give that argument with add_inout (pl.InOut in the DSL)"
	}
	if here := d.line(); here.IsValid() {
		r.WithRelated(here, "in the kernel")
		return
	}
	for _, k := range d.engine.Kernels {
		if int64(k.ID)+1 == p.Kernel.Load() {
			r.WithRelated(diag.Span{File: k.Source}, "in the kernel")
		}
	}
}

// line is where user code died: a line of a kernel, or of the orchestration (of the DSL, where that is known).
func (d *death) line() diag.Span {
	m := d.signalText()
	if m == nil || d.hang {
		return diag.Span{}
	}
	pc, _ := strconv.ParseUint(m.pc, 16, 64) // hex digits, by the pattern
	if code := uint64(d.progress.Running().Code.Load()); code != 0 {
		for _, k := range d.engine.Kernels {
			if int64(k.ID)+1 != d.progress.Running().Kernel.Load() {
				continue
			}
			if file, line := debuginfo.SourceLine(k.Object, protocol.KernelSymbol, pc-code); line > 0 {
				return diag.Span{File: file, Line: line, Col: 1}
			}
		}
		return diag.Span{}
	}
	file, line := debuginfo.SourceLine(d.engine.Object, "pto_run", pc-uint64(d.progress.Run.Load()))
	if line == 0 {
		return diag.Span{}
	}
	if s, ok := protocol.Place(d.engine.Lines, line); ok && file == d.engine.Source {
		return s
	}
	return diag.Span{File: file, Line: line, Col: 1}
}

// kernel is the name of the kernel that ran.
func (d *death) kernel() string {
	id := d.progress.Running().Kernel.Load() - 1
	if names := exec.KernelNames(d.job.Plan.Kernels); id >= 0 && int(id) < len(names) {
		return names[id]
	}
	return ""
}

// runtimeSignal is how the Go runtime reports a signal that user code raised.
var runtimeSignal = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(SIG[A-Z]+)[^\n]*\nPC=0x([0-9a-f]+) m=\d+ sigcode=-?\d+(?: addr=0x([0-9a-f]+))?`)
})

// signalText is what the Go runtime printed of a signal.
type signalText struct{ name, pc, addr, before string }

func (d *death) signalText() *signalText {
	all := runtimeSignal().FindAllStringSubmatchIndex(d.output, -1)
	if all == nil {
		return nil
	}
	m := all[len(all)-1] // user code may print anything, but not after it died
	t := &signalText{name: d.output[m[2]:m[3]], pc: d.output[m[4]:m[5]], before: d.output[:m[0]]}
	if m[6] >= 0 {
		t.addr = d.output[m[6]:m[7]]
	}
	return t
}

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
		if t := d.signalText(); t != nil {
			addr, _ := strconv.ParseUint(t.addr, 16, 64) // hex digits, by the pattern, or none
			return d.signal(t.name, addr, t.before)
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

const badAddress = "(address "

func (d *death) signal(name string, addr uint64, before string) string {
	switch name {
	case "SIGSEGV", "SIGBUS":
		const page, room = 4096, 64 << 10
		stack := uint64(d.progress.Stack.Load())
		var limit syscall.Rlimit
		if syscall.Getrlimit(syscall.RLIMIT_STACK, &limit) != nil || limit.Cur > 1<<30 {
			limit.Cur = 8 << 20
		}
		switch {
		case addr < page:
			return fmt.Sprintf("died of %s: it used a null pointer %s%#x)", name, badAddress, addr)
		case addr < stack && stack-addr < limit.Cur+room && stack-addr > limit.Cur/2:
			return fmt.Sprintf("died of %s: its stack overflowed; look for a recursion without an end or very large local arrays", name)
		}
		return fmt.Sprintf("died of %s: it used memory that is not there %s%#x)", name, badAddress, addr)
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
