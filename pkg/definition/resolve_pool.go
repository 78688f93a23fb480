package definition

import (
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// pool maps a task: its own choice, or the first pool that takes it.
func (r *resolver) pool(t *task, out *plan.Task) Pool {
	var chosen *Pool
	var why string
	switch v := t.v; {
	case v.Fetch.wanted():
		out.Pool, why = release.FetchPool, "it fetches its output, and holds no executor"
	case v.Pool.Value != "":
		out.Pool, why = v.Pool.Value, "the job names it"
		chosen = r.poolNamed(v.Pool.Value)
	case t.ready != nil && t.ready.Pool != "":
		why, chosen = "its dialect names it", r.poolNamed(t.ready.Pool)
	case len(r.def.Pools) == 0:
		out.Pool, why = "default", "the definition has no pools"
	default:
		if !r.spend(t.job.At, len(r.def.Pools)) {
			return Pool{}
		}
		chosen, why = choosePool(r.def.Pools, traitsOf(t, out))
		if chosen == nil {
			r.fail(t.job.At, "state its tags or resources, or add a pool without match", "no pool takes %s; tried %s", t.name, why)
			return Pool{}
		}
		out.Pool = chosen.Name.Value
	}
	out.Why = t.why + "; pool " + out.Pool + ": " + why
	r.bytes += len(out.Why)
	if chosen == nil {
		return Pool{}
	}
	if out.Image == "" {
		out.Image = chosen.Image.Value
	}
	out.Tags = append(out.Tags, Strings(chosen.Tags)...)
	return *chosen
}

func (r *resolver) poolNamed(name string) *Pool {
	for i := range r.def.Pools {
		if r.def.Pools[i].Name.Value == name {
			return &r.def.Pools[i]
		}
	}
	return nil
}

func traitsOf(t *task, out *plan.Task) *traits {
	return &traits{
		resources: out.Resources, matrix: t.values, tags: out.Tags,
		names: map[string]string{
			"job": t.job.Name, "kind": string(t.kind()), "group": out.Group, "team": out.Team, "frequency": out.Frequency,
		},
	}
}

// poolless leaves out the tasks that no pool takes, where the definition wants to be warned and not stopped.
func (r *resolver) poolless() {
	if r.def.PoolsUnmatched.Value != "warn" || len(r.def.Pools) == 0 {
		return
	}
	for _, t := range r.everyTask() {
		if t.skipped != "" || t.v.Fetch.wanted() || t.v.Pool.Value != "" || t.ready != nil && t.ready.Pool != "" || len(r.problems) > 0 {
			continue
		}
		if !r.spend(t.job.At, len(r.def.Pools)) {
			return
		}
		if pool, tried := choosePool(r.def.Pools, traitsOf(t, r.sketch(t))); pool == nil {
			t.skipped = "no pool takes it; tried " + tried
			r.unplaced = t.name
			r.warn("no pool takes %s; tried %s", t.name, tried)
		}
	}
}

// sketch is as much of a task as pools look at.
func (r *resolver) sketch(t *task) *plan.Task {
	b, put := r.bound(t), r.puts(t)
	out := &plan.Task{Group: t.v.Group.Value, Team: t.v.Team.Value, Frequency: t.v.Frequency.Value, Resources: b.resources}
	if t.ready != nil {
		*out = *t.ready
		out.Tags = append([]string(nil), out.Tags...)
	}
	for _, tag := range b.tags {
		out.Tags = append(out.Tags, put(tag))
	}
	return out
}
