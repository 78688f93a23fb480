// Package environment has the protected environments of an installation: which changes may use one, who must approve that,
// and which publish targets belong to one.
//
// A definition says in which environment a task runs. That alone means nothing: the installation's file says which names
// are protected, and only a run that a protected environment lets in gets what is granted to it.
package environment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/sluiceci/sluice/pkg/release"
)

// Protected is a protected environment of some projects.
type Protected struct {
	Name      string        `yaml:"name"`
	Projects  []string      `yaml:"projects"`  // by the names they have in the installation; "*" is every project
	Refs      []string      `yaml:"refs"`      // globs of full refs that may use it; any when empty
	Trust     release.Trust `yaml:"trust"`     // the lowest trust of a change that may use it: release, which is meant when empty, or trusted
	Reviewers []string      `yaml:"reviewers"` // who may approve: "github:ada", "oidc:4711"; "ada" is the owner of a token of the installation
	Approvals int           `yaml:"approvals"` // reviewers who must approve; 1 when there are any
	Targets   []string      `yaml:"targets"`   // globs of publish targets that belong to it
}

// Rules are the protected environments of an installation.
type Rules []Protected

// Find returns the environment of a name in a project, if it is protected there.
func (r Rules) Find(project, name string) (Protected, bool) {
	i := slices.IndexFunc(r, func(p Protected) bool { return p.Name == name && name != "" && p.covers(project) })
	if i < 0 {
		return Protected{}, false
	}
	return r[i], true
}

// Named reports whether any project has a protected environment of a name.
func (r Rules) Named(name string) bool {
	return slices.ContainsFunc(r, func(p Protected) bool { return p.Name == name })
}

// OfTarget lists the environments of a project that a publish target belongs to.
func (r Rules) OfTarget(project, target string) []Protected {
	var out []Protected
	for _, p := range r {
		if p.covers(project) && len(p.Targets) > 0 && matches(p.Targets, target) {
			out = append(out, p)
		}
	}
	return out
}

// OfTargets lists the environments that any of the targets belongs to, in the order of the file.
func (r Rules) OfTargets(project string, targets []string) []Protected {
	var out []Protected
	for _, p := range r {
		if p.covers(project) && len(p.Targets) > 0 && slices.ContainsFunc(targets, func(t string) bool { return matches(p.Targets, t) }) {
			out = append(out, p)
		}
	}
	return out
}

// Entered is the protected environment that a change may get into, as far as no reviewer decides that; "" for none.
func (r Rules) Entered(c release.Change, trust release.Trust, name string) string {
	p, protected := r.Find(c.Project, name)
	if !protected {
		return ""
	}
	if admitted, _ := p.Admits(c, trust); !admitted {
		return ""
	}
	return name
}

func (p Protected) covers(project string) bool {
	return slices.Contains(p.Projects, "*") || project != "" && slices.Contains(p.Projects, project)
}

// Admits reports whether a change may ever use the environment, and if not why.
func (p Protected) Admits(c release.Change, trust release.Trust) (bool, string) {
	need := p.Trust
	if need == "" {
		need = release.TrustRelease
	}
	switch {
	case c.Kind == release.PullRequest || c.Fork:
		return false, fmt.Sprintf("a pull request never uses environment %s", p.Name)
	case !matches(p.Refs, c.Ref):
		return false, fmt.Sprintf("environment %s is for refs %s, this run is of %s", p.Name, strings.Join(p.Refs, ", "), c.Ref)
	case !trust.Covers(need):
		if trust == "" {
			trust = release.TrustUntrusted
		}
		return false, fmt.Sprintf("environment %s is for changes of trust %s, this one is %s", p.Name, need, trust)
	}
	return true, ""
}

// Needs is how many reviewers must approve.
func (p Protected) Needs() int {
	if p.Approvals == 0 && len(p.Reviewers) > 0 {
		return 1
	}
	return p.Approvals
}

// ReviewedBy reports whether a subject may approve. A reviewer is named by the subject that the gateway recognizes, never
// by a name that people choose for themselves.
func (p Protected) ReviewedBy(subject string) bool {
	return subject != "" && slices.ContainsFunc(p.Reviewers, func(r string) bool { return subjectOf(r) == subject })
}

// subjectOf is a reviewer as the gateway calls them: a plain name is the owner of a token of the installation's file.
func subjectOf(reviewer string) string {
	if strings.Contains(reviewer, ":") {
		return reviewer
	}
	return "token:" + reviewer
}

// Approved counts the reviewers among subjects, each once, and says what the environment waits for.
func (p Protected) Approved(subjects []string) (enough bool, reason string) {
	have := map[string]bool{}
	for _, s := range subjects {
		if p.ReviewedBy(s) {
			have[s] = true
		}
	}
	if p.Needs() == 0 {
		return true, "no approval is needed"
	}
	reason = fmt.Sprintf("%d of %d approvals by reviewers (%s)", len(have), p.Needs(), strings.Join(p.Reviewers, ", "))
	return len(have) >= p.Needs(), reason
}

// Command is what a reviewer types.
func (p Protected) Command(run release.RunID) string {
	return fmt.Sprintf("sluice approve %s --environment %s", run, p.Name)
}

// matches reports whether one of the globs matches; without globs everything does.
func matches(globs []string, name string) bool {
	return len(globs) == 0 || slices.ContainsFunc(globs, func(glob string) bool {
		ok, err := doublestar.Match(glob, name)
		return ok && err == nil
	})
}
