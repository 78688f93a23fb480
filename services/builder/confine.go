package builder

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// Untrusted is what the definition of an untrusted change may name: globs, where ** matches across slashes. What is not
// listed it may not, but for pools: there the pools themselves say what they accept.
type Untrusted struct {
	Pools        []string `yaml:"pools"`        // every pool that accepts untrusted changes when empty
	Images       []string `yaml:"images"`       // "docker.io/library/python:*"
	Networks     []string `yaml:"networks"`     // "full"; and "fetch" for what the builder fetches
	Providers    []string `yaml:"providers"`    // of places, of the installation
	Environments []string `yaml:"environments"` // of the definition
	Includes     []string `yaml:"includes"`     // URLs of other repositories whose files it includes
	Priority     int32    `yaml:"priority"`     // at most; a higher one is lowered
}

// Accepts is which changes pools and providers take, by their names. One that is not listed here may say it itself.
type Accepts struct {
	Pools     map[string][]release.Trust
	Providers map[string][]release.Trust
}

// confine lists what a plan may not have for how far its change is trusted. Left out of the plan nothing is: a run that
// skipped what the definition wants would look like one that made it.
func (b *builder) confine(p *plan.Plan) []event.Problem {
	c := confinement{plan: p, accepts: b.config.Accepts, limits: b.config.Untrusted, seen: map[string]bool{}}
	for i := range p.Tasks {
		t := &p.Tasks[i]
		c.accepted(t, b.config.Pool == "")
		if !p.Trust.Covers(release.TrustTrusted) {
			c.limit(t)
		}
	}
	return c.problems
}

type confinement struct {
	plan     *plan.Plan
	accepts  Accepts
	limits   Untrusted
	problems []event.Problem
	seen     map[string]bool
}

// accepted checks what pools and providers say of themselves.
func (c *confinement) accepted(t *plan.Task, pools bool) {
	if of, known := c.accepts.Pools[t.Pool]; known && pools && !slices.Contains(of, c.plan.Trust) {
		c.refuse(t, "pool "+t.Pool+" accepts "+levels(of)+" changes only")
	}
	if t.Lease.Provider == "" || c.brought(t.Lease.Provider) {
		return
	}
	of, known := c.accepts.Providers[t.Lease.Provider]
	if known && !slices.Contains(of, c.plan.Trust) {
		c.refuse(t, "provider "+t.Lease.Provider+" accepts "+levels(of)+" changes only")
	}
}

// brought reports whether the definition itself brings a provider.
func (c *confinement) brought(name string) bool {
	return slices.ContainsFunc(c.plan.Providers, func(p plan.Provider) bool { return p.Name == name })
}

func (c *confinement) limit(t *plan.Task) {
	l := c.limits
	switch from := t.Lease.Provider; {
	case from == "":
	case c.brought(from):
		c.refuse(t, "it leases places of "+from+", which the definition itself brings")
	case !some(l.Providers, from):
		c.refuse(t, "it leases places of "+from+", which is not in untrusted.providers")
	}
	if len(l.Pools) > 0 && !t.Fetch.Wanted() && !some(l.Pools, t.Pool) {
		c.refuse(t, "pool "+t.Pool+" is not in untrusted.pools")
	}
	if t.Image != "" && !some(l.Images, t.Image) {
		c.refuse(t, "image "+t.Image+" is not in untrusted.images")
	}
	if t.Network != "" && t.Network != "none" && !some(l.Networks, t.Network) {
		c.refuse(t, "network "+t.Network+" is not in untrusted.networks")
	}
	if t.Fetch.Wanted() && !some(l.Networks, "fetch") {
		c.refuse(t, `it fetches `+t.Fetch.URL+`, and "fetch" is not in untrusted.networks`)
	}
	if t.Environment != "" && t.Environment != "default" && !some(l.Environments, t.Environment) {
		c.refuse(t, "environment "+t.Environment+" is not in untrusted.environments")
	}
	t.Priority = min(t.Priority, l.Priority)
}

// refuse notes a problem once, with the first task that has it.
func (c *confinement) refuse(t *plan.Task, why string) {
	if c.seen[why] || len(c.problems) >= 50 {
		return
	}
	c.seen[why] = true
	trust := c.plan.Trust
	if trust == "" {
		trust = release.TrustUntrusted
	}
	c.problems = append(c.problems, event.Problem{
		File: definitionFile, Message: fmt.Sprintf("cannot run %s: %s, and this change is %s: %s", t.Name, why, trust, c.plan.TrustWhy),
		Hint: "the installation says what such a change may use: accepts of its pools and providers, and untrusted",
	})
}

func some(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		ok, _ := doublestar.Match(glob, name)
		return ok
	})
}

func levels(of []release.Trust) string {
	if len(of) == 0 {
		return "no"
	}
	names := make([]string, len(of))
	for i, t := range of {
		names[i] = string(t)
	}
	return strings.Join(names, " and ")
}
