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
	inner  *launch       // of form inlined: what the called function launches
}

type form uint8

const (
	plain   form = iota // out = self.kernel(…)
	submit              // out, tid = pl.submit(self.kernel, …)
	with                // with pl.at(…) as tid:
	grid                // for i in pl.spmd(…):
	inlined             // out = self.function(…), which launches the task
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
	id    string          // the name of its TaskId, "" when nobody asked
	deps  []string        // to add
	fresh bool            // the name is new
	taken map[string]bool // the names of the file
	waits *launch         // of form inlined: what waits in the called function, when it is not what gives the TaskId
}

// name gives the launch a name for its TaskId: the one that it has, or a new one. false: this form cannot have one.
func (w *rewrite) name() bool {
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
	case grid: // becomes a with statement
		s := w.l.stmt.(*syntax.For)
		if v, ok := s.Target.(*syntax.Name); !ok || v.ID == "_" || s.Body[0].At().Start.Line == s.At().Start.Line {
			return false
		}
	}
	base := "tid"
	if k := w.kernel(); k != "" { // the name of the function when it is inlined
		base = k + "_tid"
	}
	w.id, w.fresh = unused(base, w.taken), true
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
		if w.l.form == plain || w.l.form == submit || w.l.form == inlined {
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
	case inlined:
		return nil, true // threads has them
	case plain:
		args, ok := w.positional()
		if !ok {
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
		es = append(es, w.asSubmit(args))
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
		if s := w.l.stmt.(*syntax.For); w.fresh {
			body := s.Body[0].At().Start
			es = append(es, w.replace(syntax.Range{Start: s.At().Start, End: s.Iter.At().Start}, "with "), w.insert(s.Iter.At().End, " as "+w.id),
				w.insert(body, w.file.Text(s.Target.At())+" = pl.tile.get_block_idx()\n"+strings.Repeat(" ", int(body.Col)-1)))
		}
	}
	if len(w.deps) > 0 && len(c.Keywords) > 0 && w.l.form == plain { // asSubmit has them
		return es, true
	}
	if len(w.deps) > 0 {
		more, ok := w.depEdits()
		if !ok {
			return nil, false
		}
		es = append(es, more...)
	}
	return es, true
}

// positional gives the arguments of a plain call with keywords in the order of the parameters, as pl.submit takes them; nil when they stand as they should.
// false: they cannot be told.
func (w *rewrite) positional() (args []syntax.Expr, ok bool) {
	c := w.l.call
	if slices.ContainsFunc(c.Args, func(x syntax.Expr) bool { _, star := x.(*syntax.Starred); return star }) {
		return nil, false
	}
	if len(c.Keywords) == 0 {
		return nil, true
	}
	callee := w.function(w.kernel())
	if callee == nil {
		return nil, false
	}
	args = slices.Clone(c.Args)
	for p := range callee.Params.All() {
		if p.Name == "self" {
			continue
		}
		if i := slices.IndexFunc(c.Keywords, func(k syntax.Keyword) bool { return k.Name == p.Name }); i >= 0 {
			args = append(args, c.Keywords[i].Value)
		}
	}
	// Each keyword is a parameter, and none before the last of them is left out.
	return args, len(args) == len(c.Args)+len(c.Keywords) && w.leads(callee, args)
}

// leads reports that keywords name the parameters that follow the positional arguments.
func (w *rewrite) leads(callee *syntax.FunctionDef, args []syntax.Expr) bool {
	i := 0
	for p := range callee.Params.All() {
		if p.Name == "self" {
			continue
		}
		if i >= len(args) {
			return true
		}
		if i >= len(w.l.call.Args) && !slices.ContainsFunc(w.l.call.Keywords, func(k syntax.Keyword) bool { return k.Name == p.Name }) {
			return false
		}
		i++
	}
	return i == len(args)
}

// function is the definition of the only function of this name in the file.
func (w *rewrite) function(name string) (f *syntax.FunctionDef) {
	n := 0
	syntax.Walk(w.file, func(x syntax.Node) bool {
		if d, ok := x.(*syntax.FunctionDef); ok && d.Name == name {
			f = d
			n++
		}
		return true
	})
	if n != 1 {
		return nil
	}
	return f
}

// asSubmit makes a plain call a submit: up to its first argument, or as a whole with other arguments.
func (w *rewrite) asSubmit(args []syntax.Expr) diag.Edit {
	c := w.l.call
	head := "pl.submit(" + w.file.Text(c.Fun.At())
	if args == nil {
		end := c.End
		end.Col--
		if len(c.Args) > 0 {
			end = c.Args[0].At().Start
			head += ", "
		}
		return w.replace(syntax.Range{Start: c.Fun.At().Start, End: end}, head)
	}
	parts := []string{head}
	for _, a := range args {
		parts = append(parts, w.file.Text(a.At()))
	}
	if len(w.deps) > 0 {
		parts = append(parts, "deps=["+strings.Join(w.deps, ", ")+"]")
	}
	return w.replace(syntax.Range{Start: c.Fun.At().Start, End: c.End}, strings.Join(parts, ", ")+")")
}

// depEdits adds dependencies to the deps= of the call. An array of TaskIds stands alone there, and so does a comprehension: a task that waits for it takes its
// place beside others.
func (w *rewrite) depEdits() (Edits, bool) {
	c := w.l.call
	more := strings.Join(w.deps, ", ")
	for _, k := range c.Keywords {
		if k.Name != "deps" {
			continue
		}
		l, ok := k.Value.(*syntax.List)
		if ok {
			left := slices.DeleteFunc(slices.Clone(w.deps), func(id string) bool {
				return slices.ContainsFunc(l.Elems, func(x syntax.Expr) bool { return w.file.Text(x.At()) == id })
			})
			if len(left) == 0 {
				return nil, true
			}
			more = strings.Join(left, ", ")
		}
		switch {
		case ok && len(l.Elems) == 0:
			return Edits{w.replace(l.At(), "["+more+"]")}, true
		case ok && !slices.ContainsFunc(l.Elems, w.isArray):
			return Edits{w.insert(l.Elems[len(l.Elems)-1].At().End, ", "+more)}, true
		}
		if _, comprehension := k.Value.(*syntax.Comprehension); !ok && !comprehension {
			return nil, false
		}
		id := unused("all_tids", w.taken)
		at := w.l.stmt.At().Start
		wait := id + " = pl.system.task_dummy(deps=" + w.file.Text(k.Value.At()) + ")\n" + strings.Repeat(" ", int(at.Col)-1)
		return Edits{w.insert(at, wait), w.replace(k.Value.At(), "["+id+", "+more+"]")}, true
	}
	text := "deps=[" + more + "]"
	end := w.lastArgument()
	if end == (syntax.Pos{}) {
		end = c.End
		end.Col--
		if w.l.form == plain {
			text = ", " + text // after the kernel, which becomes the first argument
		}
		return Edits{w.insert(end, text)}, true
	}
	return Edits{w.insert(end, ", "+text)}, true
}

// isArray reports an array of TaskIds: the function makes it so.
func (w *rewrite) isArray(x syntax.Expr) bool {
	n, ok := x.(*syntax.Name)
	found := false
	syntax.Walk(w.l.around[0], func(y syntax.Node) bool {
		if a, isAssign := y.(*syntax.Assign); ok && isAssign && len(a.Targets) == 1 {
			if t, isName := a.Targets[0].(*syntax.Name); isName && t.ID == n.ID {
				if c, isCall := a.Value.(*syntax.Call); isCall {
					name, dsl := dslName(c)
					found = found || dsl && name == "pl.create"
				}
			}
		}
		return !found
	})
	return found
}

// unused is a name that is not taken; it is now.
func unused(base string, taken map[string]bool) string {
	name := base
	for n := 2; taken[name]; n++ {
		name = fmt.Sprint(base, n)
	}
	taken[name] = true
	return name
}

// Keyword adds a keyword argument to the call of the launch at a place.
func Keyword(f *syntax.File, at diag.Span, name, value string) Edits {
	l := findLaunch(f, at)
	if l == nil || l.form == plain || slices.ContainsFunc(l.call.Keywords, func(k syntax.Keyword) bool { return k.Name == name }) {
		return nil
	}
	w := &rewrite{file: f, l: l}
	if end := w.lastArgument(); end != (syntax.Pos{}) {
		return Edits{w.insert(end, ", "+name+"="+value)}
	}
	return nil
}

// lastArgument is where the last argument of the call ends; no place when there is none.
func (w *rewrite) lastArgument() (end syntax.Pos) {
	for _, a := range w.l.call.Args {
		end = a.At().End
	}
	for _, k := range w.l.call.Keywords {
		if before(end, k.At().End) {
			end = k.At().End
		}
	}
	return end
}

func (w *rewrite) insert(at syntax.Pos, text string) diag.Edit {
	return w.replace(syntax.Range{Start: at, End: at}, text)
}

func (w *rewrite) replace(r syntax.Range, text string) diag.Edit {
	return diag.Edit{Span: r.Span(w.file.Path), Text: text}
}
