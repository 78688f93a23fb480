package definition

import (
	"github.com/sluiceci/sluice/pkg/plan"
)

// pool maps a task: its own choice, or the first pool that takes it.
func (r *resolver) pool(t *task, out *plan.Task) Pool {
	var chosen *Pool
	var why string
	switch v := t.job.Value; {
	case v.Pool.Value != "":
		out.Pool, why = v.Pool.Value, "the job names it"
		chosen = r.poolNamed(v.Pool.Value)
	case len(r.def.Pools) == 0:
		out.Pool, why = "default", "the definition has no pools"
	default:
		if !r.spend(t.job.At, len(r.def.Pools)) {
			return Pool{}
		}
		chosen, why = choosePool(r.def.Pools, &traits{
			resources: out.Resources, matrix: t.values, tags: out.Tags,
			names: map[string]string{"job": t.job.Name, "kind": string(t.job.kind), "group": out.Group},
		})
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
