package ir

import (
	"strconv"
	"strings"
)

// Generated names have the form base[__qualifier…][__role][_vN] (spec: passes-codegen 1.3). A user's base name may not contain "__".

var roles = map[string]bool{"ssa": true, "iter": true, "rv": true, "phi": true, "tile": true, "tmp": true, "out": true, "store": true, "idx": true}

// AutoName is a generated name taken apart.
type AutoName struct {
	Base       string
	Qualifiers []string
	Role       string
	Version    int // -1: none
}

// ParseName takes a hint apart. A hint without "__" is all base.
func ParseName(hint string) AutoName {
	base, rest, ok := strings.Cut(hint, "__")
	n := AutoName{Base: base, Version: -1}
	if !ok {
		return n
	}
	if i := strings.LastIndex(rest, "_v"); i >= 0 {
		// Only the spelling that String gives counts as a version: "_v01" stays part of the name.
		if v, err := strconv.Atoi(rest[i+2:]); err == nil && v >= 0 && rest[i+2:] == strconv.Itoa(v) {
			n.Version, rest = v, rest[:i]
		}
	}
	parts := strings.Split(rest, "__")
	if last := parts[len(parts)-1]; roles[last] {
		n.Role, parts = last, parts[:len(parts)-1]
	}
	for _, p := range parts {
		if p != "" {
			n.Qualifiers = append(n.Qualifiers, p)
		}
	}
	return n
}

func (n AutoName) String() string {
	var b strings.Builder
	b.WriteString(n.Base)
	for _, q := range n.Qualifiers {
		b.WriteString("__" + q)
	}
	if n.Role != "" {
		b.WriteString("__" + n.Role)
	}
	if n.Version >= 0 {
		b.WriteString("_v" + strconv.Itoa(n.Version))
	}
	return b.String()
}

// BaseName is the part of a hint before the first "__": the user's name.
func BaseName(hint string) string { base, _, _ := strings.Cut(hint, "__"); return base }
