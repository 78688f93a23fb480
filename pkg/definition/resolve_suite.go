package definition

import (
	"slices"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// take makes the tasks of a suite that a dialect read.
func (r *resolver) take(j *job) {
	got, err := j.suite.made.Tasks(plan.Asked{
		Change: r.req.Change, Environment: r.req.Environment, Settings: r.plan.Settings, Jailed: r.req.Jailed,
	})
	if err != nil {
		for _, one := range flatten(err) {
			r.fail(j.suite.at, "", "cannot plan the tests of %s: %s", j.Name, shorten(printable(one.Error()), 300))
		}
		return
	}
	if r.tasks += len(got.Tasks); r.tasks > maxTasks {
		r.fail(j.suite.at, "", "the definition makes more than %d tasks, counted up to %s", maxTasks, j.Name)
		return
	}
	for i := range got.Tasks {
		ready := &got.Tasks[i]
		name := ready.Name
		if name == "" {
			name = string(ready.ID)
		}
		j.tasks = append(j.tasks, &task{
			job: j, v: &j.Value, ready: ready, order: keysOf(ready.Matrix), values: ready.Matrix, name: name, number: i,
		})
	}
	r.plan.Skipped = append(r.plan.Skipped, got.Skipped...)
	r.plan.Warnings = append(r.plan.Warnings, got.Warnings...)
}

// linkReady adds what an imported task needs of its own suite.
func (r *resolver) linkReady(t *task) {
	for _, id := range t.ready.Needs {
		u, ok := r.ids[id]
		switch {
		case !ok || u.job != t.job:
			r.fail(t.job.suite.at, "", "%s needs %s, which %s does not have", t.name, shorten(printable(string(id)), 80), t.job.Name)
		case u.skipped != "":
			t.skipped = "it needs " + u.name + ", which is left out: " + shorten(u.skipped, 200)
		default:
			t.after([]*task{u})
		}
		r.edges++
	}
}

// imported is the plan's task of a task that a dialect made: as it came, with what the include and the definition say.
func (r *resolver) imported(t *task, b *bound) plan.Task {
	out := *t.ready
	out.ID, out.Name, out.Kind, out.Matrix = t.id, t.name, release.Test, t.values
	out.Stage = stageOf(t)
	out.Needs, out.Inputs = nil, slices.Clone(out.Inputs)
	out.Tags = slices.Clone(out.Tags)
	if out.Job == "" {
		out.Job = t.job.Name
	}
	if out.Timeouts.Command == 0 {
		out.Timeouts.Command = defaultTimeout
	}
	out.TimeoutS = out.Timeouts.Command.Std().Seconds()
	for _, tag := range b.tags {
		out.Tags = append(out.Tags, tag.render(r.lookup(t)))
	}
	r.wire(t, &out)
	env := textMap(t.v.Env)
	for k, v := range out.Variables {
		env[k] = v
	}
	own := out.Why
	pool := r.pool(t, &out)
	out.Variables = r.merge(b, pool, env)
	out.Secrets = r.secrets(b, append(Strings(t.v.Secrets), out.Secrets...))
	if own != "" {
		out.Why = own + "; " + out.Why
	}
	out.Why = "imported by " + t.job.suite.dialect + "; " + out.Why
	r.bytes += len(out.Run) + len(out.Prepare) + len(out.Cleanup) + len(out.Why)
	return out
}
