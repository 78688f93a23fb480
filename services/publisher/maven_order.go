package publisher

import (
	"cmp"
	"slices"
	"strings"
)

// mavenOrder compares two versions as Maven does (org.apache.maven.artifact.versioning.ComparableVersion): numbers as numbers,
// 1.0 as 1, alpha < beta < milestone < rc < snapshot < release < sp < other words < numbers.
func mavenOrder(a, b string) int { return parseMavenVersion(a).compare(parseMavenVersion(b)) }

// unordered reports whether two versions differ only in words that mean nothing to Maven, such as the letters of a commit: it
// compares them by the alphabet, which says nothing about which is newer.
func unordered(a, b string) bool {
	x, y := parseMavenVersion(a), parseMavenVersion(b)
	return x.meaningless(y)
}

// mavenItem is a part of a version: a number, a word, or a list of parts.
type mavenItem struct {
	number string // without leading zeros; "0" for zero
	word   string // a qualifier, by its canonical name
	list   []*mavenItem
	kind   mavenPart
}

type mavenPart uint8

const (
	mavenNumber mavenPart = iota
	mavenWord
	mavenList
)

// mavenQualifiers are the words that have a place, in their order; the release itself is the empty word.
func mavenQualifiers() []string {
	return []string{"alpha", "beta", "milestone", "rc", "snapshot", "", "sp"}
}

// mavenRelease is the place of the release among the qualifiers.
const mavenRelease = 5

// parseMavenVersion splits at dots, hyphens, and where digits meet letters. A hyphen, or such a meeting, opens a list; so does
// a word behind a dot that digits follow, or that comes last: 1.0.rc1 is 1.0-rc1.
func parseMavenVersion(version string) *mavenItem {
	root := &mavenItem{kind: mavenList}
	lists := []*mavenItem{root}
	text := strings.ToLower(version)
	start, digits := 0, false
	last := func() *mavenItem { return lists[len(lists)-1] }
	add := func(i *mavenItem) { last().list = append(last().list, i) }
	open := func() {
		next := &mavenItem{kind: mavenList}
		add(next)
		lists = append(lists, next)
	}
	end := func(i int) {
		if i == start {
			add(&mavenItem{number: "0"})
		} else {
			add(mavenItemOf(text[start:i], digits, false))
		}
		start = i + 1
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c == '.':
			end(i)
		case c == '-':
			end(i)
			open()
		case '0' <= c && c <= '9':
			if !digits && i > start {
				if len(last().list) > 0 {
					open()
				}
				add(mavenItemOf(text[start:i], false, true))
				start = i
				open()
			}
			digits = true
		default:
			if digits && i > start {
				add(mavenItemOf(text[start:i], true, false))
				start = i
				open()
			}
			digits = false
		}
	}
	if len(text) > start {
		if !digits && len(last().list) > 0 {
			open()
		}
		add(mavenItemOf(text[start:], digits, false))
	}
	for _, list := range slices.Backward(lists) {
		list.normalize()
	}
	return root
}

func mavenItemOf(text string, digits, beforeDigit bool) *mavenItem {
	if digits {
		text = strings.TrimLeft(text, "0")
		return &mavenItem{number: cmp.Or(text, "0")}
	}
	short := map[string]string{"a": "alpha", "b": "beta", "m": "milestone"}
	if long, is := short[text]; is && beforeDigit {
		text = long
	}
	switch text {
	case "ga", "final", "release":
		text = ""
	case "cr":
		text = "rc"
	}
	return &mavenItem{kind: mavenWord, word: text}
}

// normalize drops what says nothing at the end: 1.0 is 1, and 1-ga is 1.
func (i *mavenItem) normalize() {
	for n := len(i.list) - 1; n >= 0; n-- {
		if i.list[n].null() {
			i.list = slices.Delete(i.list, n, n+1)
		} else if i.list[n].kind != mavenList {
			return
		}
	}
}

func (i *mavenItem) null() bool {
	switch i.kind {
	case mavenNumber:
		return i.number == "0"
	case mavenWord:
		return i.word == ""
	default:
		return len(i.list) == 0
	}
}

// compare orders two parts; nil is a part that is not there.
func (i *mavenItem) compare(o *mavenItem) int {
	switch {
	case i == nil && o == nil:
		return 0
	case i == nil:
		return -o.compare(nil)
	case o == nil:
		return i.compareNone()
	case i.kind != o.kind:
		return cmp.Compare(mavenRank(i.kind), mavenRank(o.kind))
	case i.kind == mavenNumber:
		return cmp.Or(cmp.Compare(len(i.number), len(o.number)), strings.Compare(i.number, o.number))
	case i.kind == mavenWord:
		p, q := i.place(), o.place()
		return cmp.Or(cmp.Compare(p, q), strings.Compare(i.word, o.word))
	default:
		return i.compareLists(o)
	}
}

// mavenRank orders parts of different kinds: a word, then a list, then a number.
func mavenRank(k mavenPart) int {
	return map[mavenPart]int{mavenWord: 0, mavenList: 1, mavenNumber: 2}[k]
}

func (i *mavenItem) compareNone() int {
	switch i.kind {
	case mavenNumber:
		if i.number == "0" {
			return 0
		}
		return 1
	case mavenWord:
		return cmp.Compare(i.place(), mavenRelease)
	}
	for _, one := range i.list {
		if c := one.compare(nil); c != 0 {
			return c
		}
	}
	return 0
}

func (i *mavenItem) compareLists(o *mavenItem) int {
	for n := range max(len(i.list), len(o.list)) {
		if c := i.at(n).compare(o.at(n)); c != 0 {
			return c
		}
	}
	return 0
}

func (i *mavenItem) at(n int) *mavenItem {
	if n < len(i.list) {
		return i.list[n]
	}
	return nil
}

// place is a word's place among the qualifiers; words that mean nothing come after all that do.
func (i *mavenItem) place() int {
	if n := slices.Index(mavenQualifiers(), i.word); n >= 0 {
		return n
	}
	return len(mavenQualifiers())
}

// meaningless reports whether the first difference is one of words that mean nothing, or of a number behind such a word.
func (i *mavenItem) meaningless(o *mavenItem) bool {
	for n := range max(len(i.list), len(o.list)) {
		x, y := i.at(n), o.at(n)
		if x.compare(y) == 0 {
			continue
		}
		if x == nil || y == nil {
			return false
		}
		if x.kind == mavenList && y.kind == mavenList {
			return x.meaningless(y) || x.hash() && y.hash()
		}
		return x.hash() && y.hash()
	}
	return false
}

// hash reports whether a part looks like one of a commit: a word that means nothing, a long number, or a list that begins so.
func (i *mavenItem) hash() bool {
	const longest = 6 // digits of a number that counts something
	switch i.kind {
	case mavenNumber:
		return len(i.number) > longest
	case mavenWord:
		return i.place() == len(mavenQualifiers())
	}
	return slices.ContainsFunc(i.list, (*mavenItem).hash)
}
