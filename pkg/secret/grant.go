package secret

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/sluiceci/sluice/pkg/release"
)

// Grant gives some secrets to some work. Every list that is given must name what asks; a list that is empty names
// everything, except Projects, which must be given.
type Grant struct {
	Names        []string      `yaml:"names"`        // of secrets
	Projects     []string      `yaml:"projects"`     // by the names they have in the installation; "*" is every project
	Refs         []string      `yaml:"refs"`         // globs of full refs: "refs/heads/releases/*"
	Environments []string      `yaml:"environments"` // protected, that the task was let into
	Kinds        []string      `yaml:"kinds"`        // of task: build, test, prepare, cleanup, or provider
	Targets      []string      `yaml:"targets"`      // globs of publish targets; with them the secrets are the publisher's, and no task gets them
	Trust        release.Trust `yaml:"trust"`        // the lowest level of trust that gets them: release, which is meant when empty, or trusted

	upkeep bool // of the installation's places: the scheduler's own tasks
}

// KindProvider is the kind of the commands of a definition's provider of places.
const KindProvider = "provider"

// Use is work that asks for a secret.
type Use struct {
	Name        string // of the secret
	Project     string // as the installation names it
	Ref         string
	Environment string // the protected one that the work was let into; never what a definition calls it
	Kind        string // of task; empty for a publication
	Target      string // of a publication; empty for a task
	Trust       release.Trust
	Change      release.ChangeKind
	Upkeep      bool // it is the installation's own work: its places are cleaned and checked
}

// Decision is whether a secret is given, and why.
type Decision struct {
	Allowed  bool
	Withheld bool // the change is not trusted enough for any secret; its work goes on without
	Reason   string
}

// Grants are those of an installation. They are judged in order; the first that applies gives the secret.
type Grants []Grant

// Upkeep grants secrets to the installation's own work on its places.
func Upkeep(names []string) Grant { return Grant{Names: names, upkeep: true} }

// Decide decides whether work gets a secret.
func (g Grants) Decide(u Use) Decision {
	if may, why := u.Trust.Secrets(u.Change); !may && !u.Upkeep {
		return Decision{Withheld: true, Reason: why}
	}
	var near []string
	for i, one := range g {
		if !slices.Contains(one.Names, u.Name) {
			continue
		}
		miss := one.misses(u)
		if miss == "" {
			return Decision{Allowed: true, Reason: fmt.Sprintf("grant %d of the installation gives secret %s", i+1, u.Name)}
		}
		near = append(near, fmt.Sprintf("grant %d is %s", i+1, miss))
	}
	return Decision{Reason: u.refusal(near)}
}

// misses says what keeps a grant from applying, or "".
func (g Grant) misses(u Use) string {
	need := g.Trust
	if need == "" {
		need = release.TrustRelease
	}
	switch {
	case g.upkeep != u.Upkeep:
		return "for other work"
	case g.upkeep:
		return ""
	case (u.Target != "") != (len(g.Targets) > 0):
		return "for " + either(len(g.Targets) > 0, "publishing only", "tasks only")
	case !slices.Contains(g.Projects, u.Project) && !slices.Contains(g.Projects, "*"):
		return "for another project"
	case !matches(g.Refs, u.Ref):
		return "for refs " + strings.Join(g.Refs, ", ")
	case len(g.Environments) > 0 && !slices.Contains(g.Environments, u.Environment):
		return "for work that was let into environment " + strings.Join(g.Environments, ", ") + ", and this was let into " + either(u.Environment == "", "none", u.Environment)
	case u.Target != "" && !matches(g.Targets, u.Target):
		return "for targets " + strings.Join(g.Targets, ", ")
	case u.Target == "" && len(g.Kinds) > 0 && !slices.Contains(g.Kinds, u.Kind):
		return "for tasks of kind " + strings.Join(g.Kinds, ", ")
	case !u.Trust.Covers(need):
		return "for changes of trust " + string(need)
	}
	return ""
}

func either(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}

// matches reports whether one of the globs matches; without globs everything does.
func matches(globs []string, name string) bool {
	return len(globs) == 0 || slices.ContainsFunc(globs, func(glob string) bool {
		ok, err := doublestar.Match(glob, name)
		return ok && err == nil
	})
}

// refusal says what no grant gives, and the grant that would.
func (u Use) refusal(near []string) string {
	text := fmt.Sprintf("no grant of the installation names it for project %s, ref %s", u.Project, u.Ref)
	add := fmt.Sprintf("names: [%s], projects: [%s], refs: [%q]", u.Name, u.Project, u.Ref)
	if u.Environment != "" {
		text += ", environment " + u.Environment
		add += fmt.Sprintf(", environments: [%s]", u.Environment)
	}
	if u.Target != "" {
		text += ", target " + u.Target
		add += fmt.Sprintf(", targets: [%s]", u.Target)
	} else {
		text += ", kind " + u.Kind
		add += fmt.Sprintf(", kinds: [%s]", u.Kind)
	}
	if u.Trust != release.TrustRelease {
		text += ", trust " + string(u.Trust)
		add += fmt.Sprintf(", trust: %s", u.Trust)
	}
	if len(near) > 0 {
		text += " (" + strings.Join(near, "; ") + ")"
	}
	return text + "; if it may have it, add {" + add + "} to grants under secrets: in the installation's file"
}
