package rules

import (
	"slices"
	"strings"
)

// Match reports whether the rule is about a path, and by which of its lines.
func (r Rule) Match(path string) (by string, ok bool) {
	for _, dir := range r.Dirs {
		if path == dir || strings.HasPrefix(path, dir+"/") {
			return dir + "/", true
		}
	}
	if slices.Contains(r.Files, path) {
		return path, true
	}
	for _, pattern := range r.Patterns {
		if fnmatch(pattern, path) {
			return pattern, true
		}
	}
	return "", false
}

// Match finds the first rule about a path.
func (f File) Match(path string) (r Rule, by string, ok bool) {
	for _, rule := range f.Rules {
		if by, ok := rule.Match(path); ok {
			return rule, by, true
		}
	}
	return Rule{}, "", false
}

// All is every tag of the file: the declared ones, or else those that its rules emit.
func (f File) All() []string {
	if f.Declared != nil {
		return slices.Sorted(slices.Values(f.Declared))
	}
	seen := map[string]bool{}
	var all []string
	for _, r := range f.Rules {
		for _, tag := range r.Tags {
			if !seen[tag] {
				seen[tag] = true
				all = append(all, tag)
			}
		}
	}
	slices.Sort(all)
	return all
}

// fnmatch matches as Python's fnmatch.fnmatchcase does: "*" is any text, slashes too, "?" any one character, "[seq]" and
// "[!seq]" one of a set. It takes time in proportion to pattern × path.
func fnmatch(pattern, path string) bool {
	p, s := []rune(pattern), []rune(path)
	star, mark := -1, 0
	i, j := 0, 0
	for j < len(s) {
		if i < len(p) && p[i] == '*' {
			star, mark = i, j
			i++
			continue
		}
		if width, ok := one(p[i:], s[j]); ok {
			i += width
			j++
			continue
		}
		if star < 0 {
			return false
		}
		mark++
		i, j = star+1, mark
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}

// one matches one character against the beginning of a pattern, and says how much of the pattern that took.
func one(p []rune, c rune) (width int, ok bool) {
	if len(p) == 0 {
		return 0, false
	}
	switch p[0] {
	case '?':
		return 1, true
	case '[':
		if end := setEnd(p); end > 0 {
			return end + 1, inSet(p[1:end], c)
		}
	}
	return 1, p[0] == c
}

// setEnd is where the set that p begins with is closed; 0 when it is not, and "[" stands for itself. A "]" at its first
// place belongs to it.
func setEnd(p []rune) int {
	i := 1
	if i < len(p) && p[i] == '!' {
		i++
	}
	if i < len(p) && p[i] == ']' {
		i++
	}
	for i < len(p) && p[i] != ']' {
		i++
	}
	if i >= len(p) {
		return 0
	}
	return i
}

func inSet(set []rune, c rune) bool {
	negated := set[0] == '!'
	if negated {
		set = set[1:]
	}
	found := false
	for i := 0; i < len(set); i++ {
		if i+2 < len(set) && set[i+1] == '-' {
			found = found || set[i] <= c && c <= set[i+2]
			i += 2
			continue
		}
		found = found || set[i] == c
	}
	return found != negated
}
