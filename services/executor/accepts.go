package executor

import (
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/release"
)

// Takes is which changes an executor takes: what it says, or else every one where its driver keeps attempts from the machine,
// and those that are trusted where it does not.
func (c Config) Takes() []release.Trust {
	switch {
	case len(c.Accepts) > 0:
		return c.Accepts
	case c.Driver.Kind == "container", c.Driver.Local.Sandbox != "", c.Use != nil:
		return release.Trusts()
	}
	return []release.Trust{release.TrustRelease, release.TrustTrusted}
}

// accepted refuses an attempt of a change that this executor does not take, whoever gave it out. The plan, which the builder
// froze, says how far its change is trusted.
func (a *attempt) accepted() error {
	trust, takes := a.plan.Trust, a.e.config.Takes()
	if trust == "" {
		trust = release.TrustUntrusted
	}
	if slices.Contains(takes, trust) {
		return nil
	}
	names := make([]string, len(takes))
	for i, t := range takes {
		names[i] = string(t)
	}
	why := ""
	if a.plan.TrustWhy != "" {
		why = ": " + a.plan.TrustWhy
	}
	return fail(release.ClassConfig, "cannot run here: this executor of pool %s accepts %s changes only, and this change is %s%s",
		a.e.config.Pool, strings.Join(names, " and "), trust, why)
}
