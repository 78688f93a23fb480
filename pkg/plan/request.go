package plan

import (
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// Request is the event that asks for a task of a plan: what scheduling it needs.
func (t Task) Request(plan release.Digest, trust release.Trust) event.TaskRequested {
	return event.TaskRequested{
		Task: t.ID, Name: t.Name, Job: t.Job, Kind: t.Kind, Pool: t.Pool, Plan: plan, Needs: t.Needs, Priority: t.Priority,
		Timeouts: t.Timeouts, Retry: t.Retry, SoftFail: t.SoftFail, Resources: t.Resources,
		Owner: t.Owner, Group: t.Concurrency, GroupLimit: t.GroupLimit, Lease: t.Lease, Trust: trust,
		Environment: t.Environment,
	}
}
