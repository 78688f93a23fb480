package rules

import (
	"fmt"
	"slices"
	"strings"
)

// Reason is why a path emits tags, by one file.
type Reason struct {
	Path string   `json:"path"`
	File string   `json:"file"`
	Line int      `json:"line,omitempty"` // of the rule; 0 when none matches
	By   string   `json:"by,omitempty"`   // the line of the rule that matches
	Tags []string `json:"tags"`
}

// String is the reason in one sentence.
func (r Reason) String() string {
	tags := strings.Join(r.Tags, " ")
	switch {
	case r.Line == 0:
		return fmt.Sprintf("%s: no rule of %s is about it, so it emits every tag: %s", r.Path, r.File, tags)
	case tags == "":
		return fmt.Sprintf("%s: %s:%d matches it by %s and emits nothing", r.Path, r.File, r.Line, r.By)
	default:
		return fmt.Sprintf("%s: %s:%d matches it by %s: %s", r.Path, r.File, r.Line, r.By, tags)
	}
}

// Decision is what a change emits.
type Decision struct {
	All     bool     `json:"all,omitempty"` // everything runs, whatever is tagged
	Tags    []string `json:"tags"`
	Reasons []Reason `json:"reasons,omitempty"`
	Why     string   `json:"why,omitempty"` // of All
}

// Runs reports whether a step with tags runs: one without always does, every other when one of its tags is emitted.
func (d Decision) Runs(tags []string) bool {
	return d.All || len(tags) == 0 || slices.ContainsFunc(tags, func(t string) bool { return slices.Contains(d.Tags, t) })
}

// Change is what is known of a change.
type Change struct {
	Branch      string // pushed to; empty for a pull request
	Everything  bool   // somebody asked for all tests
	PullRequest bool
	Paths       []string
}

// Decide unites what the files say about the paths of a change. On the release branches everything runs.
func Decide(files []File, c Change) Decision {
	switch {
	case c.Everything:
		return Decision{All: true, Tags: []string{"*"}, Why: "all tests were asked for"}
	case !c.PullRequest && (c.Branch == "master" || strings.HasPrefix(c.Branch, "releases/")):
		return Decision{All: true, Tags: []string{"*"}, Why: "everything runs on branch " + c.Branch}
	}
	d := Decision{Tags: []string{}}
	for _, path := range c.Paths {
		for _, f := range files {
			reason := f.explain(path)
			d.Reasons = append(d.Reasons, reason)
			for _, tag := range reason.Tags {
				if !slices.Contains(d.Tags, tag) {
					d.Tags = append(d.Tags, tag)
				}
			}
		}
	}
	slices.Sort(d.Tags)
	return d
}

// explain says what one file emits for a path.
func (f File) explain(path string) Reason {
	r := Reason{Path: path, File: f.Name, Tags: []string{}}
	rule, by, ok := f.Match(path)
	if !ok {
		r.Tags = append(r.Tags, f.All()...)
		return r
	}
	r.Line, r.By = rule.Line, by
	r.Tags = append(r.Tags, rule.Tags...)
	return r
}
