package lower

import (
	"maps"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// pipeBuffers checks the names by which the two ends of a pipe share a buffer: one kernel reserves it, the kernel on the other core imports it.
func (u *Unit) pipeBuffers() {
	if u.mode == Dump || u.diags.HasErrors() {
		return
	}
	reserved := map[string]map[string]bool{} // function → names
	var imports []*ir.OpCall
	for _, f := range u.prog.Funcs {
		ir.Inspect(f.Body, func(s ir.Stmt) bool {
			ir.Exprs(s, func(e ir.Expr) bool {
				c, ok := e.(*ir.OpCall)
				if !ok {
					return true
				}
				switch name := kwText(c, "name"); c.Op {
				case "system.reserve_buffer":
					if reserved[f.Name] == nil {
						reserved[f.Name] = map[string]bool{}
					}
					if reserved[f.Name][name] {
						u.errorf(CodePipe, c.Pos, "'%s' reserves a buffer named '%s' twice", f.Name, name).WithHint("the other end of a pipe finds a buffer by its name; use another one")
					}
					reserved[f.Name][name] = true
				case "system.import_peer_buffer":
					imports = append(imports, c)
				}
				return true
			})
			return true
		})
	}
	for _, c := range imports {
		name, peer := kwText(c, "name"), kwText(c, "peer_func")
		if u.byFunc[peer] == nil || reserved[peer][name] {
			continue // the peer may be in another program
		}
		d := u.warnf(CodePipe, c.Pos, "'%s' reserves no buffer named '%s'", peer, name).WithRelated(u.byFunc[peer].span(), "the other end of the pipe")
		names := slices.Sorted(maps.Keys(reserved[peer]))
		if best := diag.Nearest(name, names); best != "" {
			d.WithHint("did you mean '%s'?", best)
		} else {
			d.WithHint("reserve it there: pl.reserve_buffer(name=\"%s\", size=…)", name)
		}
	}
}

func kwText(c *ir.OpCall, name string) string {
	v, _ := c.Kwargs.Get(name)
	s, _ := v.(string)
	return s
}
