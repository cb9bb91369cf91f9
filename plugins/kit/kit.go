// Package kit is the conformance kit of plugins, `ptobuild plugin test`: it asks a plugin the same things in different ways and checks that the answers fit
// together, and does to it what happens to processes.
package kit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/plugins"
	"github.com/ptobuild/ptobuild/plugins/client"
)

// Check is one thing that was tried.
type Check struct {
	Name   string    `json:"name"`
	Detail string    `json:"detail"` // what was tried, in numbers, or what went wrong
	Diags  diag.List `json:"diagnostics,omitempty"`
}

// OK reports that the plugin passed it.
func (c *Check) OK() bool { return !c.Diags.HasErrors() }

// Kit tests one plugin.
type Kit struct {
	ctx    context.Context
	helper string
	conf   plugins.Config
	ws     *Workspace
	tell   func(Check)
	failed int
	checks int

	ready time.Duration // what a start takes here and now
	about *plugins.Description
	calls []*ir.OpCall // that the plugin accepts, with types
}

// Run tests a plugin and tells about each check as it ends; ws, unless nil, is a workspace that uses it. It returns how many failed out of how many.
func Run(ctx context.Context, helper string, conf plugins.Config, ws *Workspace, tell func(Check)) (failed, checks int) {
	k := &Kit{ctx: ctx, helper: helper, conf: conf, ws: ws, tell: tell}
	k.conf.Timeout = cmpOr(conf.Timeout, 20*time.Second)
	if !k.check("start", k.start) {
		return k.failed, k.checks // nothing else can be tried
	}
	k.check("description", k.description)
	k.check("types", k.types)
	k.check("batch", k.batch)
	k.check("emission", k.emission)
	k.check("numbers", k.numbers)
	k.check("passes", k.passes)
	if ws != nil {
		k.check("on and off", k.onAndOff)
	}
	k.check("garbage", k.garbage)
	k.check("older ptobuild", k.older)
	k.check("other IR", k.otherIR)
	k.check("kill", k.kill)
	k.check("hang", k.hang)
	k.check("end", k.end)
	return k.failed, k.checks
}

func cmpOr(d, or time.Duration) time.Duration {
	if d == 0 {
		return or
	}
	return d
}

// check runs one check. f returns what it tried; what is wrong is its error.
func (k *Kit) check(name string, f func() (string, error)) bool {
	detail, err := f()
	c := Check{Name: name, Detail: detail, Diags: diag.AsList(err, plugins.CodeConformance)}
	for i, d := range c.Diags {
		if d.Code == plugins.CodeConformance {
			n := *d
			n.Message = fmt.Sprintf("plugin %s: %s: %s", k.conf.Name, name, d.Message)
			c.Diags[i] = &n
		}
	}
	k.checks++
	if !c.OK() {
		k.failed++
		i := slices.IndexFunc(c.Diags, func(d *diag.Diagnostic) bool { return d.Severity == diag.Error })
		c.Detail, _, _ = strings.Cut(strings.TrimPrefix(c.Diags[i].Message, fmt.Sprintf("plugin %s: %s: ", k.conf.Name, name)), "\n")
	}
	k.tell(c)
	return c.OK()
}

// open starts a plugin process of its own; nothing is remembered.
func (k *Kit) open(change func(*plugins.Config)) *client.Client {
	conf := k.conf
	if change != nil {
		change(&conf)
	}
	return client.New(k.ctx, k.helper, []plugins.Config{conf}, "")
}

// load is what a fresh process serves.
func (k *Kit) load(c *client.Client) (*client.Loaded, error) {
	l := c.Load()
	return l, l.Reports().Err()
}

func (k *Kit) start() (string, error) {
	c := k.open(nil)
	defer c.Close()
	began := time.Now()
	l, err := k.load(c)
	if err != nil {
		return "", err
	}
	k.about = l.About[k.conf.Name]
	k.ready = time.Since(began)
	return fmt.Sprintf("version %s, protocol 1.%d, ready after %s", k.about.Version, k.about.Minor, k.ready.Round(time.Millisecond)), nil
}

// description compares what two processes say of themselves, and what users will miss.
func (k *Kit) description() (string, error) {
	c := k.open(nil)
	defer c.Close()
	l, err := k.load(c)
	if err != nil {
		return "", err
	}
	a, b := describe(k.about), describe(l.About[k.conf.Name])
	if a != b {
		return "", errors.New("two processes describe themselves differently")
	}
	var ds diag.List
	warn := func(format string, args ...any) {
		ds.Add(diag.Warningf(plugins.CodeConformance, diag.Span{}, format, args...))
	}
	if k.about.Version == "" {
		warn("it has no version, so Pto.toml cannot ask for one")
	}
	for i, s := range k.about.Ops {
		can := k.about.Can[i]
		if s.Doc == "" {
			warn("op %s says nothing about itself (Doc)", s.Name)
		}
		if !can.Infer {
			warn("op %s has no type rule, so its result has no type", s.Name)
		}
		if s.IsHost() && !can.Emit && len(k.about.Passes) == 0 {
			warn("op %s may stand in orchestration functions, but emits nothing, and no pass of the plugin replaces it", s.Name)
		}
		if !s.IsHost() && !can.Evaluate && len(k.about.Passes) == 0 {
			warn("op %s has no numbers (Evaluate), and no pass of the plugin replaces it: kernels with it cannot be tested", s.Name)
		}
	}
	for _, p := range k.about.Passes {
		if p.Doc == "" {
			warn("pass %s says nothing about itself (Doc)", p.Name)
		}
		if p.Grant == nil {
			warn("pass %s may change everything; a Grant says what it really does", p.Name)
		}
	}
	text := fmt.Sprintf("%d ops, %d passes, %d options", len(k.about.Ops), len(k.about.Passes), len(k.about.Options))
	if len(ds) > 0 {
		return text, ds
	}
	return text, nil
}

// describe is a description as text, without functions.
func describe(d *plugins.Description) string {
	text := fmt.Sprintf("%s %s %s %v %v\n", d.Name, d.Version, d.Doc, d.Options, d.Can)
	for _, s := range d.Ops {
		text += fmt.Sprintf("%s %q %v %v %v %v %v %v %v %v %v\n", s.Name, s.Doc, s.Params, s.Kwargs, s.Where, s.Result, s.Effects, s.Core, s.Pure, s.ResultMem, s.ResultMemFrom)
	}
	for _, p := range d.Passes {
		text += fmt.Sprintf("%s %q %v %v %v %s %s %v\n", p.Name, p.Doc, p.Requires, p.Produces, p.Invalidates, p.After, p.Before, p.Grant)
	}
	return text
}

// garbage sends what is no request; the plugin refuses it and goes on.
func (k *Kit) garbage() (string, error) {
	c := k.open(nil)
	defer c.Close()
	l, err := k.load(c)
	if err != nil {
		return "", err
	}
	pid := l.About[k.conf.Name].PID
	n := 0
	for _, junk := range [][]byte{nil, []byte("PTIR"), []byte("\x00\x01\x02\xff"), []byte(strings.Repeat("x", 1<<20))} {
		for _, r := range []*plugins.Request{
			{Plugin: k.conf.Name, Infer: &plugins.InferRequest{Calls: junk}},
			{Plugin: k.conf.Name, Emit: &plugins.EmitRequest{Calls: junk}},
			{Plugin: k.conf.Name, Verify: &plugins.VerifyRequest{Calls: junk}},
			{Plugin: k.conf.Name, Run: &plugins.RunRequest{Pass: "Nothing", Functions: junk}},
		} {
			n++
			_, err := c.Ask(r)
			var d *diag.Diagnostic
			var ds diag.List
			if errors.As(err, &ds) && len(ds) > 0 {
				d = ds[0]
			}
			if d == nil {
				return "", fmt.Errorf("a request of %d bytes that are no IR was answered", len(junk))
			}
			if d.Code != plugins.CodeFailed && d.Code != plugins.CodeProtocol {
				return "", fmt.Errorf("a request of %d bytes that are no IR was too much for it: %s", len(junk), d.Message)
			}
		}
	}
	if again, err := k.load(c); err != nil {
		return "", err
	} else if now := again.About[k.conf.Name].PID; now != pid {
		return "", errors.New("it ended on a request that is no IR")
	}
	return fmt.Sprintf("%d requests refused", n), nil
}

// older plays a ptobuild of protocol 1.0.
func (k *Kit) older() (string, error) {
	c := k.open(func(c *plugins.Config) { c.OldCore = true })
	defer c.Close()
	l, err := k.load(c)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d ops and %d passes without any capabilities", len(l.Ops), len(l.Passes)), k.sameTypes(c)
}

// otherIR plays a ptobuild whose IR the plugin does not know.
func (k *Kit) otherIR() (string, error) {
	c := k.open(func(c *plugins.Config) { c.OtherIR = true })
	defer c.Close()
	l := c.Load()
	ds := l.Reports()
	if len(ds) != 1 || ds[0].Code != plugins.CodeProtocol {
		return "", fmt.Errorf("a ptobuild with another IR must be told so, but it got: %v", ds)
	}
	return "refused", nil
}

// kill ends the process between two questions.
func (k *Kit) kill() (string, error) {
	return "answers after a restart", k.disturb(func(p *os.Process) error { return p.Kill() })
}

// hang stops the process; after the deadline there is another one.
func (k *Kit) hang() (string, error) {
	if stop == nil {
		return "not tried on this system", nil
	}
	return "answers after the deadline and a restart", k.disturb(stop)
}

func (k *Kit) disturb(f func(*os.Process) error) error {
	c := k.open(func(c *plugins.Config) { c.Timeout = max(3*time.Second, 20*k.ready) }) // it bounds the restart too
	defer c.Close()
	l, err := k.load(c)
	if err != nil {
		return err
	}
	first := l.About[k.conf.Name].PID
	p, err := os.FindProcess(first)
	if err == nil {
		err = f(p)
	}
	if err != nil {
		return err
	}
	for range 100 { // a signal may take its time on a busy machine
		if l, err = k.load(c); err != nil {
			return err
		}
		if l.About[k.conf.Name].PID != first {
			return k.sameTypes(c)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return errors.New("it was not restarted")
}

// end closes the connection; the process must be gone then.
func (k *Kit) end() (string, error) {
	c := k.open(nil)
	l, err := k.load(c)
	if err != nil {
		return "", err
	}
	pid := l.About[k.conf.Name].PID
	began := time.Now()
	if err := c.Close(); err != nil {
		return "", err
	}
	if isRunning(pid) {
		return "", fmt.Errorf("process %d still runs after the connection was closed", pid)
	}
	return fmt.Sprintf("gone after %s", time.Since(began).Round(time.Millisecond)), nil
}

// sameTypes asks for the types that are known already.
func (k *Kit) sameTypes(c *client.Client) error {
	if len(k.calls) == 0 {
		_, err := k.load(c)
		return err
	}
	types, _, err := c.InferTypes(k.conf.Name, k.calls)
	if err != nil {
		return err
	}
	for i, t := range types {
		if t == nil || !ir.EqualTypes(t, k.calls[i].Typ) {
			return fmt.Errorf("%s has another type now", show(k.calls[i]))
		}
	}
	return nil
}

func show(c *ir.OpCall) string {
	text := ir.PrintExpr(c)
	var types []string
	for _, a := range c.Args {
		types = append(types, ir.PrintType(a.Type()))
	}
	return text + " of " + strings.Join(slices.Compact(types), ", ")
}
