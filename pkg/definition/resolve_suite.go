package definition

import (
	"slices"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// take makes the tasks of a suite that a dialect read.
func (r *resolver) take(j *job) {
	got, err := j.suite.made.Tasks(r.asked())
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

// asked is what suites are asked for.
func (r *resolver) asked() plan.Asked {
	return plan.Asked{
		Change: r.req.Change, Environment: r.req.Environment, Settings: r.plan.Settings, Jailed: r.req.Jailed, Answers: r.req.Answers,
	}
}

// Question is what a dialect must know of the world before a plan can be made.
type Question struct{ Dialect, Text string }

// Questions lists what suites ask before their tasks for a change can be told. The answers go into Request.Answers. What is
// wrong with the request, Resolve tells.
func Questions(def *Definition, req Request) []Question {
	r := newResolver(def, req)
	r.accept()
	r.override()
	if len(r.problems) > 0 {
		return nil
	}
	var out []Question
	for _, s := range def.suites {
		asker, asks := s.made.(plan.Asker)
		if !asks {
			continue
		}
		texts, err := asker.Asks(r.asked())
		if err != nil {
			continue
		}
		for _, text := range texts {
			out = append(out, Question{s.dialect, text})
		}
	}
	return out
}

// linkReady adds what an imported task needs of its own suite.
func (r *resolver) linkReady(t *task) {
	for _, id := range t.ready.Needs {
		u, ok := t.job.made()[id]
		switch {
		case !ok:
			r.fail(t.job.suite.at, "", "%s needs %s, which %s does not have", t.name, shorten(printable(string(id)), 80), t.job.Name)
		case u.skipped != "":
			t.skipped = "it needs " + u.name + ", which is left out: " + shorten(u.skipped, 200)
		default:
			t.after([]*task{u})
		}
		r.edges++
	}
}

// kind is what a task is for. What a suite fetches for its tests is a build.
func (t *task) kind() release.TaskKind {
	if t.ready != nil && t.ready.Fetch.Wanted() {
		return release.Build
	}
	return t.job.kind
}

// made are the tasks of a suite by the ids that it gave them.
func (j *job) made() map[release.TaskID]*task {
	if j.given == nil {
		j.given = make(map[release.TaskID]*task, len(j.tasks))
		for _, t := range j.tasks {
			j.given[t.ready.ID] = t
		}
	}
	return j.given
}

// brought are the inputs that an imported task has of its own suite.
func (t *task) brought() []plan.Input {
	out := slices.Clone(t.ready.Inputs)
	for i := range out {
		out[i].From = slices.Clone(out[i].From)
		for k, id := range out[i].From {
			if u, ok := t.job.made()[id]; ok {
				out[i].From[k] = u.id
			}
		}
	}
	return out
}

// imported is the plan's task of a task that a dialect made: as it came, with what the include and the definition say.
func (r *resolver) imported(t *task, b *bound) plan.Task {
	out := *t.ready
	out.ID, out.Name, out.Kind, out.Matrix = t.id, t.name, t.kind(), t.values
	out.Stage = stageOf(t)
	out.Needs, out.Inputs = nil, t.brought()
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
	out.Environment = b.scope.name
	out.Secrets = r.secrets(b, append(Strings(t.v.Secrets), out.Secrets...))
	if out.Fetch.Wanted() {
		out.Variables, out.Secrets = nil, nil // nothing is run
	}
	if own != "" {
		out.Why = own + "; " + out.Why
	}
	out.Why = "imported by " + t.job.suite.dialect + "; " + out.Why
	r.bytes += len(out.Run) + len(out.Prepare) + len(out.Cleanup) + len(out.Why)
	return out
}
