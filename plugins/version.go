package plugins

import (
	"fmt"
	"strings"

	"golang.org/x/mod/semver"
)

// A version constraint is a list of terms, all of which must hold: "1.2.0" or "=1.2.0" is that very version, ">=1.2, <2" a range, "^1.2" what is compatible
// with 1.2 (below 2; for 0.x below the next 0.y), "~1.2" a later 1.2.x. "" fits every version.
var comparisons = []string{">=", "<=", ">", "<", "=", "^", "~"}

// CheckVersion says what is wrong with a constraint, "" when nothing is.
func CheckVersion(constraint string) string {
	for _, t := range terms(constraint) {
		if _, v := cutTerm(t); !semver.IsValid("v" + v) {
			return fmt.Sprintf("%q is no version", t)
		}
	}
	return ""
}

// VersionFits reports that a version satisfies a constraint. A version that is not of the form 1.2.3 fits only itself.
func VersionFits(constraint, version string) bool {
	if constraint == version {
		return true
	}
	v := "v" + version
	for _, t := range terms(constraint) {
		op, w := cutTerm(t)
		w = "v" + w
		if !semver.IsValid(v) || !semver.IsValid(w) {
			return false
		}
		n := semver.Compare(v, w)
		ok := false
		switch op {
		case ">=":
			ok = n >= 0
		case "<=":
			ok = n <= 0
		case ">":
			ok = n > 0
		case "<":
			ok = n < 0
		case "~":
			ok = n >= 0 && semver.MajorMinor(v) == semver.MajorMinor(w)
		case "^":
			ok = n >= 0 && semver.Major(v) == semver.Major(w) && (semver.Major(w) != "v0" || semver.MajorMinor(v) == semver.MajorMinor(w))
		default:
			ok = n == 0
		}
		if !ok {
			return false
		}
	}
	return true
}

func terms(constraint string) []string {
	if strings.TrimSpace(constraint) == "" {
		return nil
	}
	return strings.Split(constraint, ",")
}

func cutTerm(t string) (op, version string) {
	t = strings.TrimSpace(t)
	for _, op := range comparisons {
		if rest, ok := strings.CutPrefix(t, op); ok {
			return op, strings.TrimSpace(rest)
		}
	}
	return "=", t
}
