package environment

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// Check reports what is wrong with the environments of an installation's file.
func (r Rules) Check(projects []string) error {
	var problems []error
	for i, p := range r {
		if wrong := p.check(projects); wrong != "" {
			problems = append(problems, fault.New(fault.Invalid, "cannot protect environment %q (number %d under environments): %s", p.Name, i+1, wrong))
			continue
		}
		for j := range i {
			if r[j].Name == p.Name && overlap(r[j].Projects, p.Projects) {
				problems = append(problems, fault.New(fault.Invalid, "cannot protect environment %q twice: numbers %d and %d under environments are for the same project", p.Name, j+1, i+1))
			}
		}
	}
	return errors.Join(problems...)
}

func overlap(a, b []string) bool {
	return slices.Contains(a, "*") || slices.Contains(b, "*") || slices.ContainsFunc(a, func(p string) bool { return slices.Contains(b, p) })
}

// check says what is wrong with one environment, or "".
func (p Protected) check(projects []string) string {
	for _, project := range p.Projects {
		if project != "*" && !slices.Contains(projects, project) {
			return fmt.Sprintf("there is no project %q; the projects are %s", project, strings.Join(projects, ", "))
		}
	}
	for _, glob := range slices.Concat(p.Refs, p.Targets) {
		if !doublestar.ValidatePattern(glob) {
			return fmt.Sprintf("%q is no glob", glob)
		}
	}
	for i, reviewer := range p.Reviewers {
		if _, who, found := strings.Cut(subjectOf(reviewer), ":"); reviewer == "" || !found || who == "" {
			return fmt.Sprintf("%q is no reviewer; expected the owner of a token, or a subject such as github:ada", reviewer)
		}
		if slices.ContainsFunc(p.Reviewers[:i], func(other string) bool { return subjectOf(other) == subjectOf(reviewer) }) {
			return fmt.Sprintf("reviewer %s stands there twice", reviewer)
		}
	}
	switch {
	case !release.Token(p.Name):
		return "its name has letters, digits, - and _ only"
	case len(p.Projects) == 0:
		return "it has no projects; name them, or \"*\" for all"
	case p.Approvals < 0 || p.Approvals > len(p.Reviewers):
		return fmt.Sprintf("approvals is %d, and it has %d reviewers", p.Approvals, len(p.Reviewers))
	case p.Trust == release.TrustUntrusted:
		return "an untrusted change never uses it; expected trust: release or trusted"
	case p.Trust != "" && !p.Trust.Valid():
		return fmt.Sprintf("trust is %q, expected release or trusted", p.Trust)
	}
	return ""
}
