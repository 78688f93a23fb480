package publisher

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// mavenOrder compares two versions as Maven does, as far as people rely on it: numbers as numbers, 1.0 as 1, and
// alpha < beta < milestone < rc < snapshot < release < sp. Other words, such as a commit's letters, have no order: then it
// is 0, and who comes last is the newest.
func mavenOrder(a, b string) int {
	x, y := mavenParts(a), mavenParts(b)
	for i := range max(len(x), len(y)) {
		var p, q mavenPart
		if p.rank = mavenReleased; i < len(x) {
			p = x[i]
		}
		if q.rank = mavenReleased; i < len(y) {
			q = y[i]
		}
		if c := cmp.Or(cmp.Compare(p.rank, q.rank), cmp.Compare(p.number, q.number)); c != 0 || p.rank == mavenOther {
			return c
		}
	}
	return 0
}

type mavenPart struct{ rank, number int }

// Ranks of a part: the qualifiers before the release by their place in the list, then these.
const (
	mavenReleased = 10 + iota
	mavenPatched
	mavenOther
	mavenNumber
)

// mavenDigits is the longest number behind a hyphen that counts as one: longer ones are commits.
const mavenDigits = 6

func mavenParts(version string) (out []mavenPart) {
	for i, group := range strings.Split(strings.ToLower(version), "-") {
		for _, word := range strings.Split(group, ".") {
			out = append(out, mavenPartOf(word, i > 0))
		}
	}
	return out
}

func mavenPartOf(word string, qualifier bool) mavenPart {
	name := strings.TrimRight(word, "0123456789")
	n, _ := strconv.Atoi(word[len(name):])
	before := slices.Index([]string{"alpha", "beta", "milestone", "rc", "snapshot"}, name)
	switch {
	case name == "" && qualifier && len(word) > mavenDigits:
		return mavenPart{rank: mavenOther}
	case name == "" && n > 0:
		return mavenPart{mavenNumber, n}
	case name == "", name == "ga", name == "final":
		return mavenPart{rank: mavenReleased}
	case before >= 0:
		return mavenPart{before, n}
	case name == "sp":
		return mavenPart{mavenPatched, n}
	default:
		return mavenPart{rank: mavenOther}
	}
}
