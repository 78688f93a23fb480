package secret

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/sluiceci/sluice/pkg/environment"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// Config is the section "secrets" of an installation's file. A list in its place is a list of files.
type Config struct {
	Files     []string         `yaml:"files"`     // of NAME=value lines: providers of kind "file" in short
	Providers []ProviderConfig `yaml:"providers"` // asked in this order, after the files
	Grants    Grants           `yaml:"grants"`
}

// UnmarshalYAML reads the section, or a list of files.
func (c *Config) UnmarshalYAML(decode func(any) error) error {
	var files []string
	if decode(&files) == nil {
		c.Files = files
		return nil
	}
	type plain Config
	return decode((*plain)(c))
}

var validName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Check reports what is wrong with the grants. Reserved are the credentials of services, with what each is: no
// definition gets one.
func (c Config) Check(reserved map[string]string, projects []string, rules environment.Rules) error {
	publishing, tasks := map[string]int{}, map[string]int{}
	var problems []error
	for i, g := range c.Grants {
		if err := g.check(i, reserved, projects, rules); err != nil {
			problems = append(problems, err)
		}
		for _, name := range g.Names {
			if len(g.Targets) > 0 {
				publishing[name] = i + 1
			} else {
				tasks[name] = i + 1
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(publishing)) {
		if task, both := tasks[name]; both {
			problems = append(problems, fault.New(fault.Invalid, "cannot grant secret %s: grant %d gives it to the publisher and grant %d to tasks; "+
				"a credential for publishing goes to no task, so use two secrets", name, publishing[name], task))
		}
	}
	return errors.Join(problems...)
}

func (g Grant) check(i int, reserved map[string]string, projects []string, rules environment.Rules) error {
	wrong := func(format string, args ...any) error {
		return fault.New(fault.Invalid, "cannot use grant %d of secrets: %s", i+1, fmt.Sprintf(format, args...))
	}
	for _, name := range g.Names {
		if !validName.MatchString(name) {
			return wrong("%q is no name of a secret; expected letters, digits and _", name)
		}
		if what, is := reserved[name]; is {
			return wrong("%s is %s, and no definition may have it", name, what)
		}
	}
	for _, project := range g.Projects {
		if project != "*" && !slices.Contains(projects, project) {
			return wrong("there is no project %q; the projects are %s", project, strings.Join(projects, ", "))
		}
	}
	kinds := []string{string(release.Build), string(release.Test), string(release.Prepare), string(release.Cleanup), KindProvider}
	for _, kind := range g.Kinds {
		if !slices.Contains(kinds, kind) {
			return wrong("%q is no kind of task; the kinds are %s", kind, strings.Join(kinds, ", "))
		}
	}
	for _, glob := range slices.Concat(g.Refs, g.Targets) {
		if !doublestar.ValidatePattern(glob) {
			return wrong("%q is no glob", glob)
		}
	}
	switch {
	case len(g.Names) == 0:
		return wrong("it has no names")
	case g.upkeep:
		return nil
	case len(g.Projects) == 0:
		return wrong("it has no projects; name them, or \"*\" for all")
	case len(g.Targets) > 0 && len(g.Kinds) > 0:
		return wrong("it has kinds and targets; expected kinds for tasks, or targets for the publisher")
	case len(g.Targets) > 0 && len(g.Environments) > 0:
		return wrong("it has environments and targets; which targets an environment protects is said with its own targets, under environments")
	case g.unprotected(rules) != "":
		return wrong("%s", g.unprotected(rules))
	case g.Trust == release.TrustUntrusted:
		return wrong("an untrusted change never gets a secret; expected trust: release or trusted")
	case g.Trust != "" && !g.Trust.Valid():
		return wrong("trust is %q, expected release or trusted", g.Trust)
	}
	return nil
}

// unprotected names an environment of the grant that is not protected, or "". Anybody who writes a definition can call an
// environment by its name, so a grant to it would be a grant to all.
func (g Grant) unprotected(rules environment.Rules) string {
	for _, name := range g.Environments {
		for _, project := range g.Projects {
			if _, is := rules.Find(project, name); !is && !(project == "*" && rules.Named(name)) {
				return fmt.Sprintf("environment %s is not protected in project %s; add it under environments: in this file", name, project)
			}
		}
	}
	return ""
}

// ForTasks lists the names that tasks may have, ForTargets those that the publisher may.
func (g Grants) ForTasks() []string   { return g.names(false) }
func (g Grants) ForTargets() []string { return g.names(true) }

func (g Grants) names(publishing bool) []string {
	var out []string
	for _, one := range g {
		if (len(one.Targets) > 0) == publishing {
			out = append(out, one.Names...)
		}
	}
	return out
}
