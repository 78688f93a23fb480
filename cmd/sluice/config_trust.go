package main

import (
	"cmp"
	"slices"

	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/services/builder"
	"github.com/sluiceci/sluice/services/executor"
)

// poolRule says which changes a pool takes: the key "pools".
type poolRule struct {
	Name    string          `yaml:"name"`
	Accepts []release.Trust `yaml:"accepts"` // [release, trusted] when empty
}

// gateRule is what the installation requires of the gate of a project.
type gateRule struct {
	Require []string `yaml:"require"` // "builds", "tests", "tests.stable", "tests.NAME"
}

// pullRequests is what becomes of untrusted changes of a project.
type pullRequests struct {
	Untrusted builder.Policy `yaml:"untrusted"` // ask, run or never; ask when empty
}

// defaultAccepts is what a pool or a provider takes of which nothing is said: nothing that a stranger wrote.
func defaultAccepts() []release.Trust {
	return []release.Trust{release.TrustRelease, release.TrustTrusted}
}

// shareTrust tells the builder and the scheduler which changes each pool and provider takes. An executor can only take away
// from what the file says of its pool.
func (in *installation) shareTrust() {
	pools, providers := map[string][]release.Trust{}, map[string][]release.Trust{}
	for _, p := range in.Pools {
		pools[p.Name] = p.accepts()
	}
	members := in.Executors
	if len(members) == 0 && !in.NATS.external() {
		members = []executor.Config{{}}
	}
	for _, e := range members {
		e.Pool = cmp.Or(e.Pool, defaultPool)
		pools[e.Pool] = narrowed(pools[e.Pool], in.takes(e))
	}
	for _, p := range in.Providers {
		providers[p.Name] = p.Accepts
		if len(p.Accepts) == 0 {
			providers[p.Name] = defaultAccepts()
		}
	}
	in.Builder.Untrusted, in.Builder.Accepts = in.Untrusted, builder.Accepts{Pools: pools, Providers: providers}
	in.Scheduler.Accepts, in.Scheduler.Lends = pools, providers
}

// strangers reports whether some pool runs the code of untrusted changes.
func (in *installation) strangers() bool {
	for _, takes := range in.Builder.Accepts.Pools {
		if slices.Contains(takes, release.TrustUntrusted) {
			return true
		}
	}
	return false
}

// takes is which changes a member of a pool takes: what it says, what its pool does, or what its driver can hold back.
func (in *installation) takes(e executor.Config) []release.Trust {
	i := slices.IndexFunc(in.Pools, func(p poolRule) bool { return p.Name == e.Pool })
	switch {
	case i < 0:
		return e.Takes()
	case len(e.Accepts) == 0:
		return in.Pools[i].accepts()
	}
	return narrowed(in.Pools[i].accepts(), e.Accepts)
}

func (p poolRule) accepts() []release.Trust {
	if len(p.Accepts) == 0 {
		return defaultAccepts()
	}
	return p.Accepts
}

// narrowed is what is left of what a pool takes when a member takes only some of it; nil is a pool of which nothing is known.
func narrowed(known, takes []release.Trust) []release.Trust {
	if known == nil {
		return takes
	}
	return slices.DeleteFunc(slices.Clone(known), func(t release.Trust) bool { return !slices.Contains(takes, t) })
}
