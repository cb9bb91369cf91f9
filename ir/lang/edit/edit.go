// Package edit changes DSL programs as text. It knows the forms in which a program launches tasks, gives a launch a name for its TaskId, and makes one
// launch wait for another, with what that takes around loops and branches. It looks at syntax only: whether a changed program builds, and whether it
// does what it should, is for the caller to try.
package edit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// Edits are changes to one file.
type Edits = []diag.Edit

// launch is a statement that launches a task, with what it stands in.
type launch struct {
	stmt   syntax.Stmt
	call   *syntax.Call // the kernel call, pl.submit, pl.at, pl.spmd
	form   form
	around []syntax.Stmt // from the function definition inwards
}

type form uint8

const (
	plain  form = iota // out = self.kernel(…)
	submit             // out, tid = pl.submit(self.kernel, …)
	with               // with pl.at(…) as tid:
	grid               // for i in pl.spmd(…):
)

// findLaunch is the launch at a place of the file.
func findLaunch(f *syntax.File, at diag.Span) *launch {
	var chain []syntax.Stmt
	body := f.Body
	pos := syntax.Pos{Line: at.Line, Col: at.Col}
next:
	for {
		for _, s := range body {
			r := s.At()
			if before(pos, r.Start) || !before(pos, r.End) {
				continue
			}
			chain = append(chain, s)
			for _, b := range bodies(s) {
				if len(b) > 0 && !before(pos, b[0].At().Start) && before(pos, b[len(b)-1].At().End) {
					body = b
					continue next
				}
			}
			break next
		}
		break
	}
	first := slices.IndexFunc(chain, func(s syntax.Stmt) bool { _, ok := s.(*syntax.FunctionDef); return ok })
	if first < 0 {
		return nil
	}
	for i := len(chain) - 1; i > first; i-- {
		l := &launch{stmt: chain[i], around: chain[first:i]}
		if l.read() {
			return l
		}
	}
	return nil
}

func before(a, b syntax.Pos) bool { return a.Line < b.Line || a.Line == b.Line && a.Col < b.Col }

// bodies are the nested blocks of a statement.
func bodies(s syntax.Stmt) [][]syntax.Stmt {
	switch s := s.(type) {
	case *syntax.FunctionDef:
		return [][]syntax.Stmt{s.Body}
	case *syntax.ClassDef:
		return [][]syntax.Stmt{s.Body}
	case *syntax.If:
		return [][]syntax.Stmt{s.Body, s.Else}
	case *syntax.For:
		return [][]syntax.Stmt{s.Body}
	case *syntax.While:
		return [][]syntax.Stmt{s.Body}
	case *syntax.With:
		return [][]syntax.Stmt{s.Body}
	}
	return nil
}

// read recognises a launch.
func (l *launch) read() bool {
	var x syntax.Expr
	switch s := l.stmt.(type) {
	case *syntax.Assign:
		if len(s.Targets) == 1 {
			x = s.Value
		}
	case *syntax.ExprStmt:
		x = s.X
	case *syntax.With:
		l.form = with
		if len(s.Items) == 1 {
			x = s.Items[0].Context
		}
	case *syntax.For:
		l.form = grid
		x = s.Iter
	}
	call, ok := x.(*syntax.Call)
	if !ok {
		return false
	}
	l.call = call
	name, dsl := dslName(call)
	switch {
	case l.form == with:
		return name == "at" || name == "spmd"
	case l.form == grid:
		return name == "spmd"
	case name == "submit" || name == "spmd_submit":
		l.form = submit
		return true
	}
	return !dsl
}

// dslName is the name of a DSL function that is called as pl.name.
func dslName(c *syntax.Call) (name string, dsl bool) {
	a, ok := c.Fun.(*syntax.Attribute)
	if !ok {
		return "", false
	}
	switch m := a.X.(type) {
	case *syntax.Name:
		return a.Name, m.ID == "pl" || m.ID == "pld"
	case *syntax.Attribute: // pl.system.task_dummy
		if m, ok := m.X.(*syntax.Name); ok && (m.ID == "pl" || m.ID == "pld") {
			return m.ID + "." + a.Name, true
		}
	}
	return "", false
}

// rewrite is a launch with a TaskId that has a name, and with more dependencies.
type rewrite struct {
	file  *syntax.File
	l     *launch
	id    string   // the name of its TaskId, "" when nobody asked
	deps  []string // to add
	fresh bool     // the name is new
}

// name gives the launch a name for its TaskId: the one that it has, or a new one. false: this form cannot have one.
func (w *rewrite) name(taken map[string]bool) bool {
	if w.id != "" {
		return true
	}
	switch w.l.form {
	case submit:
		t, ok := targetOf(w.l.stmt).(*syntax.Tuple)
		if !ok || len(t.Elems) < 2 {
			return false
		}
		last, ok := t.Elems[len(t.Elems)-1].(*syntax.Name)
		if !ok {
			return false
		}
		if last.ID != "_" {
			w.id = last.ID
			return true
		}
	case with:
		if t, ok := w.l.stmt.(*syntax.With).Items[0].Target.(*syntax.Name); ok {
			w.id = t.ID
			return true
		}
	case grid:
		return false
	}
	base := "tid"
	if k := w.kernel(); k != "" {
		base = k + "_tid"
	}
	w.id, w.fresh = base, true
	for n := 2; taken[w.id]; n++ {
		w.id = fmt.Sprint(base, n)
	}
	taken[w.id] = true
	return true
}

// kernel is the name of the kernel that is called.
func (w *rewrite) kernel() string {
	fun := w.l.call.Fun
	if w.l.form == submit && len(w.l.call.Args) > 0 {
		fun = w.l.call.Args[0]
	}
	switch f := fun.(type) {
	case *syntax.Name:
		return f.ID
	case *syntax.Attribute:
		if w.l.form == plain || w.l.form == submit {
			return f.Name
		}
	}
	return ""
}

func targetOf(s syntax.Stmt) syntax.Expr {
	if a, ok := s.(*syntax.Assign); ok {
		return a.Targets[0]
	}
	return nil
}

// edits writes the changes of the launch; false when its form cannot take them.
func (w *rewrite) edits() (Edits, bool) {
	if !w.fresh && len(w.deps) == 0 {
		return nil, true
	}
	var es Edits
	c := w.l.call
	switch w.l.form {
	case plain:
		if len(c.Keywords) > 0 || slices.ContainsFunc(c.Args, func(x syntax.Expr) bool { _, star := x.(*syntax.Starred); return star }) {
			return nil, false
		}
		id := w.id
		if id == "" {
			id = "_"
		}
		if t := targetOf(w.l.stmt); t == nil {
			es = append(es, w.insert(w.l.stmt.At().Start, "_, "+id+" = "))
		} else {
			end := t.At().End
			if t, ok := t.(*syntax.Tuple); ok && t.Paren {
				return nil, false
			}
			if _, ok := t.(*syntax.Name); !ok {
				if _, ok := t.(*syntax.Tuple); !ok {
					return nil, false
				}
			}
			es = append(es, w.insert(end, ", "+id))
		}
		head := "pl.submit(" + w.file.Text(c.Fun.At())
		if len(c.Args) > 0 {
			head += ", "
		}
		// From the callee up to its first argument, or to the parenthesis that ends the call.
		end := c.End
		end.Col--
		if len(c.Args) > 0 {
			end = c.Args[0].At().Start
		}
		es = append(es, w.replace(syntax.Range{Start: c.Fun.At().Start, End: end}, head))
	case submit:
		if w.fresh {
			t := targetOf(w.l.stmt).(*syntax.Tuple)
			es = append(es, w.replace(t.Elems[len(t.Elems)-1].At(), w.id))
		}
	case with:
		if w.fresh {
			es = append(es, w.insert(w.l.stmt.(*syntax.With).Items[0].Context.At().End, " as "+w.id))
		}
	case grid:
		if w.fresh {
			return nil, false
		}
	}
	if len(w.deps) > 0 {
		es = append(es, w.depEdit())
	}
	return es, true
}

// depEdit adds dependencies to the deps= of the call.
func (w *rewrite) depEdit() diag.Edit {
	c := w.l.call
	more := strings.Join(w.deps, ", ")
	for _, k := range c.Keywords {
		if k.Name != "deps" {
			continue
		}
		if l, ok := k.Value.(*syntax.List); ok {
			if n := len(l.Elems); n > 0 {
				return w.insert(l.Elems[n-1].At().End, ", "+more)
			}
			return w.replace(l.At(), "["+more+"]")
		}
		return w.replace(k.Value.At(), "["+w.file.Text(k.Value.At())+", "+more+"]")
	}
	text := "deps=[" + more + "]"
	var end syntax.Pos // of the last argument
	for _, a := range c.Args {
		end = a.At().End
	}
	for _, k := range c.Keywords {
		if before(end, k.At().End) {
			end = k.At().End
		}
	}
	if end == (syntax.Pos{}) {
		end = c.End
		end.Col--
		if w.l.form == plain {
			text = ", " + text // after the kernel, which becomes the first argument
		}
		return w.insert(end, text)
	}
	return w.insert(end, ", "+text)
}

func (w *rewrite) insert(at syntax.Pos, text string) diag.Edit {
	return w.replace(syntax.Range{Start: at, End: at}, text)
}

func (w *rewrite) replace(r syntax.Range, text string) diag.Edit {
	return diag.Edit{Span: r.Span(w.file.Path), Text: text}
}
