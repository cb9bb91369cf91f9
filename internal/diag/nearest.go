package diag

import "unicode/utf8"

// Nearest returns the candidate closest to word, or "" when none is close enough to be a likely typo (at most a third of the letters
// of the longer one differ). Of equally close ones the one that begins alike for longest counts, then the first.
func Nearest(word string, candidates []string) string {
	n := utf8.RuneCountInString(word)
	best, bestDist := "", 0
	for _, c := range candidates {
		near := max(n, utf8.RuneCountInString(c)) / 3
		if best != "" {
			near = min(near, bestDist)
		}
		d := distance(word, c, near+1)
		if d > near || c == word {
			continue
		}
		if best == "" || d < bestDist || sameStart(word, c) > sameStart(word, best) {
			best, bestDist = c, d
		}
	}
	return best
}

// sameStart counts the bytes that two words begin with alike.
func sameStart(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// distance is the optimal string alignment distance (insertion, deletion, substitution, swap of neighbours), or limit when it is not below.
func distance(a, b string, limit int) int {
	x, y := []rune(a), []rune(b)
	if len(x)-len(y) >= limit || len(y)-len(x) >= limit {
		return limit
	}
	prev2, prev, cur := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(x); i++ {
		cur[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return min(prev[len(y)], limit)
}
