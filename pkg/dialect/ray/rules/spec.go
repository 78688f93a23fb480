package rules

import (
	"fmt"
	"slices"
	"strings"
)

// Spec is one line of a specification: what a path is to emit.
type Spec struct {
	Line int
	Path string
	Tags []string // sorted
}

// ParseSpec reads a specification: "path: tag tag" on each line.
func ParseSpec(name, text string) ([]Spec, error) {
	var specs []Spec
	var problems []Problem
	n := 0
	for line := range strings.Lines(text) {
		n++
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		at := strings.LastIndex(line, ":")
		if at <= 0 {
			problems = append(problems, Problem{name, n, fmt.Sprintf("found %q, expected \"path: tags\"", line)})
			continue
		}
		tags := strings.Fields(line[at+1:])
		slices.Sort(tags)
		specs = append(specs, Spec{n, strings.TrimSpace(line[:at]), slices.Compact(tags)})
	}
	if len(problems) > 0 {
		return nil, invalid("specification", problems)
	}
	return specs, nil
}

// Check holds a file of rules to its specification. No line in it is a problem too: what nothing specifies is not
// shown to work.
func Check(f File, name string, specs []Spec) []Problem {
	if len(specs) == 0 {
		return []Problem{{name, 1, "it specifies nothing, expected lines \"path: tags\""}}
	}
	var problems []Problem
	for _, s := range specs {
		got := f.explain(s.Path)
		slices.Sort(got.Tags)
		if !slices.Equal(got.Tags, s.Tags) {
			problems = append(problems, Problem{name, s.Line, fmt.Sprintf("%s is to emit %q; %s", s.Path, strings.Join(s.Tags, " "), got)})
		}
	}
	return problems
}

// Shadowed lists the paths in a file that an earlier rule has settled: their rule can never be about them.
func (f File) Shadowed() []Problem {
	var problems []Problem
	for i, rule := range f.Rules {
		for _, path := range slices.Concat(rule.Dirs, rule.Files, rule.Patterns) {
			if earlier, by, ok := settled(f.Rules[:i], path); ok {
				problems = append(problems, Problem{f.Name, rule.Line, fmt.Sprintf("%s can never match: %s at line %d comes first", path, by, earlier.Line)})
			}
		}
	}
	return problems
}

// settled finds the rule among earlier ones that is about everything that a path, directory or pattern is about: a
// directory around it, or a pattern that it has verbatim or that ends in a star.
func settled(earlier []Rule, path string) (Rule, string, bool) {
	for _, rule := range earlier {
		for _, dir := range rule.Dirs {
			if path == dir || strings.HasPrefix(path, dir+"/") {
				return rule, dir + "/", true
			}
		}
		if slices.Contains(rule.Files, path) {
			return rule, path, true
		}
		for _, pattern := range rule.Patterns {
			if pattern == path || pattern == "*" {
				return rule, pattern, true
			}
		}
	}
	return Rule{}, "", false
}
