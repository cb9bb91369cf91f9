package client

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/plugins"
	"github.com/ptobuild/ptobuild/plugins/template"
)

// emitter is the Emit of an op of a plugin: its template, read into plan statements.
func (c *Client) emitter(plugin string, spec *ops.Spec) func(*ops.EmitSite) ([]plan.Stmt, *diag.Diagnostic) {
	what := "emitting C++ of " + spec.Name
	return func(site *ops.EmitSite) ([]plan.Stmt, *diag.Diagnostic) {
		t, err := c.template(plugin, site.Call, site.Result != nil)
		var unread template.Unreadable
		if err != nil && !errors.As(err, &unread) {
			return nil, c.atOperand(asReport(plugin, what, err), site.Call)
		}
		var stmts []plan.Stmt
		if err == nil {
			stmts, err = t.Plan(spec, site)
		}
		if err != nil {
			return nil, diag.Errorf(plugins.CodeTemplate, site.Call.Pos, "plugin %s emits C++ for %s that cannot be accepted: %v", plugin, spec.Name, err).
				WithHint("this is a defect of the plugin; report it to its author")
		}
		return stmts, nil
	}
}

// template asks for the template of a call; answers are kept as those of infer are.
func (c *Client) template(plugin string, call *ir.OpCall, bound bool) (*template.Scanned, error) {
	short := keyers.Get().(*keyer)
	defer keyers.Put(short)
	plain := short.key(call, yesNo(bound)[0])
	if plain {
		if t := c.knownTemplates.get(short.b); t != nil {
			return t, nil
		}
	}
	q, err := c.templates.foresee(plugin, canonicalOf(call), bound)
	if err != nil {
		return nil, err
	}
	c.templates.wait(q)
	switch {
	case q.refused:
		return nil, c.emitPlaced(plugin, call, bound)
	case q.err != nil:
		return nil, q.err
	case plain:
		c.knownTemplates.put(short.b, q.answer)
	}
	return q.answer, nil
}

// foresee notes that the template of a call will be asked for. What is wrong is reported then.
func (c *Client) foresee(plugin string, call *ir.OpCall, bound bool) {
	short := keyers.Get().(*keyer)
	defer keyers.Put(short)
	if !short.key(call, yesNo(bound)[0]) || c.knownTemplates.get(short.b) == nil {
		_, _ = c.templates.foresee(plugin, canonicalOf(call), bound)
	}
}

// recallTemplate finds the answer of an earlier command.
func (c *Client) recallTemplate(q *question[*template.Scanned]) bool {
	var t template.Template
	if !c.recall(q.plugin, templateKey(q), &t) {
		return false
	}
	var err error
	q.answer, err = template.Scan(&t)
	return err == nil
}

func templateKey(q *question[*template.Scanned]) key { return keyOf("emit", q.data, yesNo(q.flag)) }

// askTemplates asks the plugin.
func (c *Client) askTemplates(batch []*question[*template.Scanned]) {
	plugin := batch[0].plugin
	m, err := messageOf(batch)
	if err != nil {
		failAll(batch, err)
		return
	}
	bound := make([]bool, len(batch))
	for i, q := range batch {
		bound[i] = q.flag
	}
	resp, err := c.call(&plugins.Request{Plugin: plugin, Emit: &plugins.EmitRequest{Ops: opsOf(m.calls), Calls: m.data, Bound: bound, Attempt: attemptOf(batch)}})
	if apart(batch, err, c.askTemplates) {
		return
	}
	if err == nil && resp.Emit == nil {
		err = errParts
	}
	if err == nil {
		err = reported(batch, resp.Emit.Errors)
	}
	if err == nil && len(resp.Emit.Templates) != len(batch) && !(len(batch) == 1 && batch[0].refused) {
		err = fmt.Errorf("%d templates for %d calls", len(resp.Emit.Templates), len(batch))
	}
	if err != nil {
		failAll(batch, err)
		return
	}
	for i, q := range batch {
		if q.refused {
			continue
		}
		t := resp.Emit.Templates[i]
		if q.answer, q.err = template.Scan(t); q.err == nil {
			c.remember(plugin, templateKey(q), t)
		}
	}
}

// emitPlaced asks about a call with its places, for the report.
func (c *Client) emitPlaced(plugin string, call *ir.OpCall, bound bool) error {
	data, err := plugins.EncodeCalls([]*ir.OpCall{call}, ir.NewVarTable())
	if err != nil {
		return err
	}
	resp, err := c.call(&plugins.Request{Plugin: plugin, Emit: &plugins.EmitRequest{Ops: []string{call.Op}, Calls: data, Bound: []bool{bound}}})
	switch {
	case err != nil:
		return err
	case resp.Emit == nil:
		return errParts
	case len(resp.Emit.Errors) == 0 || resp.Emit.Errors[0].Diag == nil:
		return errors.New("the same question got two answers")
	}
	return resp.Emit.Errors[0].Diag
}

// evaluate computes a call in the plugin. A test runs its kernels many times on the same data, so answers are kept, as far as they fit.
func (c *Client) evaluate(plugin string, spec *ops.Spec, e *ops.Evaluation) *diag.Diagnostic {
	what := "evaluating " + spec.Name
	key := evaluationKey(plugin, e)
	if kept := c.numbers.get(key); kept != nil {
		kept.into(e)
		return nil
	}
	file, err := c.sharedFile()
	if err != nil {
		return diag.Errorf(plugins.CodeHelper, diag.Span{}, "no file to hand data to plugin %s: %v", plugin, err)
	}
	defer c.files.Put(file)
	if err := plugins.WriteElements(file, e); err != nil {
		return diag.Errorf(plugins.CodeHelper, diag.Span{}, "handing data to plugin %s: %v", plugin, err)
	}
	resp, err := c.call(&plugins.Request{Plugin: plugin, Evaluate: &plugins.EvaluateRequest{Evaluation: withoutData(e), File: file.Name()}})
	switch {
	case err != nil:
		return diag.AsList(err, plugins.CodeHelper)[0]
	case resp.Evaluate == nil:
		return answer(plugin, what, errors.New("parts are missing"))
	case resp.Evaluate.Error != nil:
		return resp.Evaluate.Error
	}
	if err := plugins.ReadElements(file, e); err != nil {
		return answer(plugin, what, fmt.Errorf("its file: %w", err))
	}
	if spec.Result.Kind == ops.Value {
		switch resp.Evaluate.Scalar.(type) {
		case int64, float64, bool:
			e.Scalar = resp.Evaluate.Scalar
		default:
			return answer(plugin, what, errors.New("it gave no scalar"))
		}
	}
	e.Origin = resp.Evaluate.Origin
	c.numbers.put(key, e)
	return nil
}

// inFloat32 evaluates FP64 as FP32, for plugins that know no better.
func inFloat32(evaluate func(*ops.Evaluation) *diag.Diagnostic) func(*ops.Evaluation) *diag.Diagnostic {
	return func(e *ops.Evaluation) *diag.Diagnostic {
		n := *e
		n.Operands = slices.Clone(e.Operands)
		narrow := func(x *ops.Elements) *ops.Elements {
			if x == nil || x.DType != ir.FP64 {
				return x
			}
			y := *x
			y.DType, y.Data = ir.FP32, make([]byte, 4*x.Len())
			for i := range x.Len() {
				f := math.Float64frombits(binary.LittleEndian.Uint64(x.Data[8*i:]))
				binary.LittleEndian.PutUint32(y.Data[4*i:], math.Float32bits(float32(f)))
			}
			return &y
		}
		widen := func(to, from *ops.Elements) {
			if to == from {
				return
			}
			for i := range to.Len() {
				f := math.Float32frombits(binary.LittleEndian.Uint32(from.Data[4*i:]))
				binary.LittleEndian.PutUint64(to.Data[8*i:], math.Float64bits(float64(f)))
			}
		}
		for i, o := range e.Operands {
			n.Operands[i].Elements = narrow(o.Elements)
		}
		n.Result = narrow(e.Result)
		if d := evaluate(&n); d != nil {
			return d
		}
		for i, o := range e.Operands {
			if o.Elements != nil && o.Elements.Writable {
				widen(o.Elements, n.Operands[i].Elements)
			}
		}
		widen(e.Result, n.Result)
		e.Scalar, e.Origin = n.Scalar, n.Origin
		return nil
	}
}

func withoutData(e *ops.Evaluation) *ops.Evaluation {
	n := *e
	n.Operands = make([]ops.Operand, len(e.Operands))
	bare := func(x *ops.Elements) *ops.Elements {
		if x == nil {
			return nil
		}
		y := *x
		y.Data = nil
		return &y
	}
	for i, o := range e.Operands {
		o.Elements = bare(o.Elements)
		n.Operands[i] = o
	}
	n.Result = bare(e.Result)
	return &n
}

// sharedFile is a file of this client that no other evaluation uses now.
func (c *Client) sharedFile() (*os.File, error) {
	if f, ok := c.files.Get().(*os.File); ok {
		return f, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fileCount == 0 {
		if err := os.Mkdir(c.sharedFolder(), 0o700); err != nil {
			return nil, err
		}
	}
	c.fileCount++
	return os.OpenFile(filepath.Join(c.shared, fmt.Sprint(c.fileCount)), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

// sharedFolder names the folder of these files, which need not be there yet; the lock is held.
func (c *Client) sharedFolder() string {
	if c.shared == "" {
		dir := "/dev/shm" // memory; elsewhere the page cache does nearly as well
		if st, err := os.Stat(dir); err != nil || !st.IsDir() {
			dir = os.TempDir()
		}
		c.shared = filepath.Join(dir, fmt.Sprintf("ptobuild-%d-%x", os.Getpid(), rand.Uint64()))
	}
	return c.shared
}

func evaluationKey(plugin string, e *ops.Evaluation) [sha256.Size]byte {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %v\n", plugin, e.Op, e.Kwargs)
	for _, o := range e.Operands {
		fmt.Fprintf(h, "%T %v %v\n", o.Scalar, o.Scalar, o.List)
		if x := o.Elements; x != nil {
			fmt.Fprintf(h, "%s %v %v %t\n", x.DType, x.Shape, x.Valid, x.Writable)
			h.Write(x.Data)
		}
	}
	if e.Result != nil {
		fmt.Fprintf(h, "%s %v %v\n", e.Result.DType, e.Result.Shape, e.Result.Valid)
	}
	return [sha256.Size]byte(h.Sum(nil))
}
