package eval

import (
	"fmt"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// fault ends an evaluation. It is thrown with panic inside the package and caught by try statements, by module statements, and at the API.
type fault struct {
	exc    *Instance // a Python exception; nil when the value just cannot be known
	reason string    // for messages
	at     diag.Span
	from   *Poison // the poisoned name that was read
	limit  bool    // beyond a limit
	raised bool    // by raise or assert, not by an operation
	node   syntax.Node
}

// raise throws a Python exception.
func (l *Loader) raise(class *Class, format string, args ...any) {
	msg := fmt.Sprintf(format, args...)
	l.throw(newException(class, Str(msg)))
}

// throw throws an exception instance.
func (l *Loader) throw(exc *Instance) {
	panic(&fault{exc: exc, reason: exceptionText(exc), at: l.span(), node: l.node})
}

// unknown throws what cannot be known before the program runs; the text completes "cannot be evaluated statically: ".
func (l *Loader) unknown(format string, args ...any) {
	panic(&fault{reason: fmt.Sprintf(format, args...), at: l.span(), node: l.node})
}

// over throws a limit.
func (l *Loader) over(format string, args ...any) {
	panic(&fault{reason: fmt.Sprintf(format, args...), at: l.span(), limit: true, node: l.node})
}

// span is the place of the operation that runs.
func (l *Loader) span() diag.Span {
	if l.node == nil || l.module == nil {
		return diag.Span{}
	}
	return l.node.At().Span(l.module.Path)
}

// caught turns a panic value into a fault; the Go runtime's own errors, which are defects of this package, become faults as well, so that
// a defect costs one name and not the build.
func (l *Loader) caught(r any) *fault {
	switch r := r.(type) {
	case nil:
		return nil
	case *fault:
		if !r.at.IsValid() { // thrown where no Loader is at hand
			r.at, r.node = l.span(), l.node
		}
		return r
	case error:
		return &fault{reason: "internal error of the evaluator: " + r.Error(), at: l.span(), node: l.node}
	}
	panic(r)
}

// poison makes the value of a name whose statement failed.
func (f *fault) poison(name string, stmt diag.Span) *Poison {
	p := &Poison{Name: name, Span: stmt, Reason: f.reason, At: f.at, From: f.from}
	return p
}

// Limits, beside Options.MaxSteps. They bound memory and Go stack.
const (
	defaultSteps = 5_000_000
	totalFactor  = 20
	maxFrames    = 1000      // Python calls inside calls, as in Python
	maxDepth     = 100_000   // nodes inside nodes, over all frames
	maxBits      = 1 << 20   // of an integer
	maxElems     = 4_000_000 // of a list, tuple, set, dict or string
	maxNested    = 2_000     // containers inside containers, for printing, comparing and hashing
)

// charge counts n steps.
func (l *Loader) charge(n int) {
	l.steps += n
	if l.steps > l.MaxSteps {
		l.over("more than %d steps", l.MaxSteps)
	}
	if l.total+l.steps > l.MaxSteps*totalFactor {
		l.over("all module code together takes more than %d steps", l.MaxSteps*totalFactor)
	}
}

// size checks the size of a container or string before it is made, and charges for making it.
func (l *Loader) size(n int) {
	if n > maxElems {
		l.over("a value of %d elements (the limit is %d)", n, maxElems)
	}
	l.charge(n / 32)
}

// text does the same for a string of n bytes, which is cheaper to make.
func (l *Loader) text(n int) {
	l.checkSize(n)
	l.charge(n / 256)
}

// nest counts nested containers; the caller calls unnest when it is done.
func (l *Loader) nest() {
	if l.nested >= maxNested {
		l.raise(excRecursion, "maximum recursion depth exceeded")
	}
	l.nested++
}

func (l *Loader) unnest() { l.nested-- }

// diagnostic reports a fault for the use of an expression at a place.
func (f *fault) diagnostic(use diag.Span) *diag.Diagnostic {
	if f.from != nil {
		at := f.at
		if at.File != use.File {
			at = use
		}
		return f.from.Diagnostic(at)
	}
	at := f.at
	if at.File != use.File || !at.IsValid() {
		at = use
	}
	var d *diag.Diagnostic
	switch {
	case f.limit:
		d = diag.Errorf(CodeLimit, at, "evaluation goes beyond its limits: %s", f.reason).
			WithHint("module code must be small enough to be evaluated for every build")
	case f.exc != nil && f.exc.Class == excName:
		d = diag.Errorf(CodeUndefined, at, "%s", f.undefined())
		if near, ok := f.exc.attrs.get("near"); ok {
			d.WithHint("did you mean '%s'?", string(near.(Str)))
		} else {
			d.WithHint("define it before this line, or import it")
		}
	case f.exc != nil:
		d = diag.Errorf(CodeStatic, at, "expression raises %s", f.reason)
	default:
		d = diag.Errorf(CodeStatic, at, "expression cannot be evaluated statically: %s", f.reason)
	}
	if at != f.at && f.at.IsValid() {
		d.WithRelated(f.at, "%s", f.reason)
	}
	return d
}

// undefined words a NameError as the DSL's own reports do.
func (f *fault) undefined() string {
	if n, ok := f.exc.attrs.get("name"); ok {
		return fmt.Sprintf("Undefined variable '%s'", string(n.(Str)))
	}
	return f.reason
}

// checkSize checks the size of a container that grows by one, without a charge.
func (l *Loader) checkSize(n int) {
	if n > maxElems {
		l.size(n)
	}
}
