package lower

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
)

// AssignNames chooses the C++ identifiers. The rules (mission document 000, "Naming Conventions"; passes-codegen 2.4):
//
//   - An external tensor is ext_<name>. The bare name of a parameter is not given to anything else.
//   - A variable takes the user's name; when that is taken, or the hint has role "out", the full hint; then _1, _2… are appended. Numeric tails of
//     user names are part of the name.
//   - A loop-carried variable takes its full hint.
//   - Names derived from others (x_ci, params_t0_deps) follow them. Numbered and derived names, C++ keywords and the names of the runtime API are
//     reserved, whatever the API profile, so that a user's variable of that name is the one that gives way.
//   - A name is free again after the braces that declare it; nothing ever shadows a visible name.
type namer struct {
	rules   map[*plan.Name]nameRule
	visible map[string]bool
	next    map[string]int  // where to look for a free number for a name
	derives map[string]bool // what names derived from variables will be called
	stack   [][]string      // names declared per open block
}

type nameRule struct {
	of             *plan.Name
	prefix, suffix string
	primary        bool
	external       bool
}

func newNamer() *namer {
	return &namer{rules: map[*plan.Name]nameRule{}, visible: map[string]bool{}, next: map[string]int{}, derives: map[string]bool{}}
}

// primary is the name of a user's variable.
func (n *namer) primary(hint string, at diag.Span) *plan.Name {
	m := &plan.Name{Hint: hint, Pos: at}
	n.rules[m] = nameRule{primary: true}
	return m
}

// raw is a name that takes its whole hint.
func (n *namer) raw(hint string, at diag.Span) *plan.Name {
	m := &plan.Name{Hint: hint, Pos: at}
	n.rules[m] = nameRule{}
	return m
}

// external is the name of an entry tensor.
func (n *namer) external(base string, at diag.Span) *plan.Name {
	m := &plan.Name{Hint: "ext_" + base, Pos: at}
	n.rules[m] = nameRule{external: true}
	return m
}

// fixed is a numbered name, which nothing else can take.
func (n *namer) fixed(text string) *plan.Name { return &plan.Name{Hint: text} }

// derived is the name of another thing with something around it.
func (n *namer) derived(of *plan.Name, prefix, suffix string) *plan.Name {
	m := &plan.Name{}
	if of == nil {
		m.Hint = strings.Trim(prefix+suffix, "_")
		n.rules[m] = nameRule{}
		return m
	}
	n.rules[m] = nameRule{of: of, prefix: prefix, suffix: suffix}
	if of.Hint != "" {
		n.derives[prefix+identifier(ir.BaseName(of.Hint))+suffix] = true
		n.derives[prefix+identifier(of.Hint)+suffix] = true
	}
	return m
}

// assign names everything that a file declares, in print order.
func (n *namer) assign(f *plan.File) {
	n.open()
	for _, t := range f.Tensors {
		n.name(t.Name)
		n.take(identifier(t.Param))
	}
	for _, s := range f.Scalars {
		n.name(s.Name)
		n.name(s.Union)
	}
	for _, d := range f.Dims {
		n.name(d.Name)
	}
	n.block(f.Body)
	n.close()
}

func (n *namer) open() { n.stack = append(n.stack, nil) }

func (n *namer) close() {
	for _, s := range n.stack[len(n.stack)-1] {
		delete(n.visible, s)
		if i := strings.LastIndexByte(s, '_'); i > 0 {
			if k, err := strconv.Atoi(s[i+1:]); err == nil {
				n.next[s[:i]] = min(n.next[s[:i]], k)
			}
		}
	}
	n.stack = n.stack[:len(n.stack)-1]
}

func (n *namer) take(text string) {
	if !n.visible[text] {
		n.visible[text] = true
		n.stack[len(n.stack)-1] = append(n.stack[len(n.stack)-1], text)
	}
}

func (n *namer) block(b []plan.Stmt) {
	for _, s := range b {
		for _, m := range plan.Declares(s) {
			n.name(m)
		}
		switch s := s.(type) {
		case *plan.For:
			n.open()
			n.name(s.Var)
			n.nested(s.Body)
			n.close()
		case *plan.Write:
			if s.Indices != nil {
				n.open()
				n.name(s.Indices)
				n.close()
			}
		default:
			for _, c := range plan.Blocks(s) {
				n.nested(c)
			}
		}
	}
}

func (n *namer) nested(b []plan.Stmt) {
	n.open()
	n.block(b)
	n.close()
}

// name chooses the text of one name.
func (n *namer) name(m *plan.Name) {
	if m.Text != "" {
		return
	}
	r, ok := n.rules[m]
	var candidates []string
	switch {
	case !ok: // fixed: reserved for it
		m.Text = m.Hint
		n.take(m.Text)
		return
	case r.of != nil:
		n.name(r.of)
		candidates = []string{r.prefix + r.of.Text + r.suffix}
	case r.external:
		candidates = []string{identifier(m.Hint)}
	default:
		full := identifier(m.Hint)
		if r.primary && ir.ParseName(m.Hint).Role != "out" {
			candidates = append(candidates, identifier(ir.BaseName(m.Hint)))
		}
		candidates = append(candidates, full)
	}
	own := r.of != nil || r.external
	free := func(c string) bool {
		return !n.visible[c] && (own || !n.reserved(c)) && !keywords()[c] && !runtimeNames()[c]
	}
	i := slices.IndexFunc(candidates, free)
	if i >= 0 {
		m.Text = candidates[i]
	} else {
		base := candidates[len(candidates)-1]
		for k := max(n.next[base], 1); ; k++ {
			if c := base + "_" + strconv.Itoa(k); free(c) {
				m.Text = c
				n.next[base] = k + 1
				break
			}
		}
	}
	n.take(m.Text)
}

// reserved reports a name that lowering derives or numbers, or that the printer uses.
func (n *namer) reserved(c string) bool {
	for _, p := range numbered {
		rest, ok := strings.CutPrefix(c, p.prefix)
		if !ok {
			continue
		}
		if rest, ok = strings.CutSuffix(rest, p.suffix); ok && rest != "" && strings.Trim(rest, "0123456789") == "" {
			return true
		}
	}
	return n.derives[c]
}

// numbered are the numbered names, with the number between prefix and suffix.
var numbered = []struct{ prefix, suffix string }{
	{"params_t", ""}, {"task_", "_outs"}, {"mixed_", ""}, {"alloc_", ""}, {"params_phase_fence_barrier_", ""}, {"phase_fence_barrier_", "_outs"},
}

// identifier makes a C++ identifier of a hint: letters outside ASCII become their code points.
func identifier(hint string) string {
	ok := hint != "" && (hint[0] < '0' || hint[0] > '9')
	for i := 0; ok && i < len(hint); i++ {
		c := hint[i]
		ok = c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	if ok {
		return hint
	}
	var b strings.Builder
	for i, r := range hint {
		switch {
		case r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
			b.WriteRune(r)
		case r >= '0' && r <= '9':
			if i == 0 {
				b.WriteByte('v')
			}
			b.WriteRune(r)
		default:
			b.WriteString("u" + strconv.FormatInt(int64(r), 16))
		}
	}
	if b.Len() == 0 {
		return "v"
	}
	return b.String()
}
