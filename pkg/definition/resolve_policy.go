package definition

import (
	"sort"
	"time"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

const defaultTimeout = release.Duration(time.Hour)

// retries puts what a job states over the defaults; a job that states nothing leaves the defaults to dispatch.
func retries(stated Map[Retry]) []release.Retry {
	if len(stated) == 0 {
		return nil
	}
	byClass := map[string]release.Retry{}
	for _, one := range release.DefaultRetries() {
		byClass[string(one.Class)] = one
	}
	for _, e := range stated {
		one := release.Retry{Class: release.Class(e.Name), Limit: e.Value.Limit.Value}
		one.Wait, one.Max = release.Duration(5*time.Second), release.Duration(time.Minute)
		if known, ok := byClass[e.Name]; ok {
			one.Wait, one.Max = known.Wait, known.Max
		}
		one.Backoff = release.Backoff(e.Value.Backoff.Value)
		if e.Value.Wait.Set {
			one.Wait = e.Value.Wait.From
		}
		if e.Value.Max.Set {
			one.Max = e.Value.Max.Value
		}
		if e.Value.Wait.Range {
			one.Backoff, one.Max = release.Random, e.Value.Wait.To
		}
		one.Max = max(one.Max, one.Wait)
		byClass[e.Name] = one
	}
	var out []release.Retry
	for _, one := range byClass {
		out = append(out, one)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Class < out[j].Class })
	return out
}

func (v Timeout) release() release.Timeouts {
	out := release.Timeouts{
		Queue: v.Queue.Value, Prepare: v.Prepare.Value, Nodes: v.Nodes.Value, Command: v.Command.Value, Cleanup: v.Cleanup.Value,
		Disconnect: v.Disconnect.Value,
	}
	if !v.Command.Set {
		out.Command = defaultTimeout
	}
	return out
}

// supersedes reports whether a newer run of the same branch or pull request ends the run of a change.
func (def *Definition) supersedes(c release.Change) bool {
	if def.Supersede.Set {
		return def.Supersede.Value
	}
	releases, _ := def.Policy().Allows(c)
	return c.Kind == release.PullRequest || c.Kind == release.Push && !releases
}

// providers writes those that the tasks of the plan lease from.
func (r *resolver) providers() {
	used := map[string]bool{}
	for _, t := range r.plan.Tasks {
		used[t.Lease.Provider] = true
	}
	for _, e := range r.def.Providers {
		if !used[e.Name] {
			continue
		}
		look := r.lookup(&task{name: "provider " + e.Name})
		one := plan.Provider{
			Name: e.Name, Create: r.text(e.Value.Create).render(look), Destroy: r.text(e.Value.Destroy).render(look),
			Ready: r.text(e.Value.Ready).render(look), Expiry: e.Value.Expiry.Value, Limit: e.Value.Limit.Value,
		}
		if secrets := Strings(e.Value.Secrets); len(secrets) > 0 {
			if may, why := r.req.Trust.Secrets(r.req.Change.Kind); may {
				one.Secrets = secrets
			} else {
				r.warn("%s; withheld from provider %s: %s", why, e.Name, enumerate(secrets, 50))
			}
		}
		r.plan.Providers = append(r.plan.Providers, one)
		for i := range r.plan.Tasks {
			if request := &r.plan.Tasks[i].Lease; request.Provider == one.Name {
				request.Limit = one.Limit
			}
		}
	}
}
