package definition

import (
	"strconv"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// fill writes the tasks that are left into the plan, in the order of the text, and the others with their reasons.
func (r *resolver) fill() {
	withheld := map[string]bool{}
	may, why := r.req.Trust.Secrets(r.req.Change.Kind)
	for _, j := range r.jobs {
		r.tellSkipped(j)
		for _, t := range j.tasks {
			if t.skipped != "" {
				continue
			}
			out := r.task(t)
			if !may {
				for _, name := range out.Secrets {
					withheld[name] = true
				}
				out.Secrets = nil
			}
			r.plan.Tasks = append(r.plan.Tasks, out)
			if r.bytes > maxBytes {
				r.fail(j.At, "", "the tasks have more than %d bytes of text together", maxBytes)
			}
			if len(r.problems) > 0 {
				break // the rows of one job are wrong in the same way
			}
		}
	}
	if len(withheld) > 0 {
		r.warn("%s; withheld: %s", why, enumerate(keysOf(withheld), 50))
	}
}

// tellSkipped says why tasks are left out; of a whole job in one line when the reason is one.
func (r *resolver) tellSkipped(j *job) {
	reasons := map[string]bool{}
	for _, t := range j.tasks {
		reasons[t.skipped] = true
	}
	if len(reasons) == 1 && len(j.tasks) > 1 {
		if why := j.tasks[0].skipped; why != "" {
			r.skip(j.Name+" (all "+strconv.Itoa(len(j.tasks))+")", why)
		}
		return
	}
	for _, t := range j.tasks {
		if t.skipped != "" {
			r.skip(t.name, t.skipped)
		}
	}
}

// task is the plan's task of a row.
func (r *resolver) task(t *task) plan.Task {
	b := r.bound(t)
	if t.ready != nil {
		return r.imported(t, b)
	}
	v, put := t.v, r.puts(t)
	out := plan.Task{
		ID: t.id, Name: t.name, Job: t.job.Name, Kind: t.job.kind, Matrix: t.values, Stage: stageOf(t), NeedsArtifacts: b.artifacts,
		Timeouts: b.timeouts, TimeoutS: b.timeouts.Command.Std().Seconds(), Retry: b.retry, Exits: v.Retry.exits(), Resources: b.resources,
		Group: v.Group.Value, Owner: v.Owner.Value, Team: v.Team.Value, Frequency: v.Frequency.Value, Priority: v.Priority.Value,
		SoftFail: v.SoftFail.Value, Smoke: v.Smoke.Value, LongRunning: v.LongRunning.Value, Keep: v.Keep.Value,
		Stable: t.job.kind == release.Test && v.Stable.Or(true), Checkout: v.Checkout.Value, Network: v.Network.Value,
		Run: put(b.run), Prepare: put(b.prepare), Cleanup: put(b.cleanup), Directory: put(b.directory), Image: put(b.image),
		Reports: plan.Reports{JUnit: put(b.junit), Results: put(b.results)}, Variants: b.variants,
		Concurrency: put(b.group), GroupLimit: v.Concurrency.limit(), Gang: v.Gang.plan(),
	}
	for _, phase := range v.Skip {
		out.SkipPhases = append(out.SkipPhases, phase.Value)
	}
	r.wire(t, &out)
	r.parts(t, b, &out, put)
	env := make(map[string]string, len(v.Env))
	for i, e := range v.Env {
		env[e.Name] = put(b.env[i])
	}
	pool := r.pool(t, &out)
	out.Variables = r.merge(b, pool, env)
	out.Environment, out.Secrets = b.scope.name, r.secrets(b, Strings(v.Secrets))
	for _, e := range v.IDTokens {
		out.Tokens = append(out.Tokens, plan.IDToken{Name: e.Name, Audience: Strings(e.Value.Aud)})
	}
	r.paths(t, &out)
	if v.Fetch.wanted() {
		out.Fetch = r.fetch(t, b, &out, put)
	}
	return out
}

// puts renders texts with the values of a task, and counts them.
func (r *resolver) puts(t *task) func(*template) string {
	look := r.lookup(t)
	return func(tpl *template) string {
		s := tpl.render(look)
		r.bytes += len(s)
		return s
	}
}

// parts renders the lists of a task.
func (r *resolver) parts(t *task, b *bound, out *plan.Task, put func(*template) string) {
	v := t.v
	for _, tag := range b.tags {
		out.Tags = append(out.Tags, put(tag))
	}
	for i, e := range v.Outputs {
		out.Outputs = append(out.Outputs, v.output(e, put(b.outputs[i][0]), put(b.outputs[i][1])))
	}
	for _, c := range b.caches {
		one := plan.Cache{Key: put(c.key), Path: put(c.path), Files: []string{}}
		for _, file := range c.files {
			one.Files = append(one.Files, put(file))
		}
		out.Caches = append(out.Caches, one)
	}
	if v.Lease.At.Line > 0 {
		out.Lease = v.Lease.release()
		out.Lease.Provider = put(b.from)
		for _, place := range b.places {
			out.Lease.Places = append(out.Lease.Places, put(place))
		}
	}
}

// limit is how many of a group run at once; without a group, nothing.
func (v *Concurrency) limit() int32 {
	if v.At.Line == 0 {
		return 0
	}
	return max(1, v.Limit.Value)
}

func (v *Gang) plan() plan.Gang {
	return plan.Gang{Each: v.Each.Value, Stagger: v.Stagger.Value, Need: v.Need.Value}
}

func stageOf(t *task) string { return string(t.kind()) + "-" + strconv.Itoa(t.level) }

// wire writes the needs and inputs of a task.
func (r *resolver) wire(t *task, out *plan.Task) {
	for _, u := range t.needs {
		out.Needs = append(out.Needs, u.id)
	}
	for _, in := range t.inputs {
		one := plan.Input{Job: in.job, Type: in.kind}
		for _, u := range in.from {
			one.From = append(one.From, u.id)
		}
		out.Inputs = append(out.Inputs, one)
	}
}

func (j *Job) output(e Entry[Output], path, stampIn string) plan.Output {
	return plan.Output{
		Type: e.Name, Path: path, StampIn: stampIn, Stamped: j.Stamp.Value != "" || stampIn != "",
		Optional: e.Value.Optional.Value, MediaType: e.Value.MediaType.Value,
	}
}

// paths checks again what the values of a row have become part of.
func (r *resolver) paths(t *task, out *plan.Task) {
	check := func(p string, at Pos) {
		if problem := unsafePath(p); problem != "" && p != "" {
			r.fail(at, "", "%s: %s", t.name, problem)
		}
	}
	v := t.v
	check(out.Directory, v.Directory.At)
	check(out.Reports.JUnit, v.Reports.JUnit.At)
	check(out.Reports.Results, v.Reports.Results.At)
	for i, o := range out.Outputs {
		check(o.Path, v.Outputs[i].Value.Path.At)
		check(o.StampIn, v.Outputs[i].Value.StampIn.At)
		if o.Path == "" {
			r.fail(v.Outputs[i].At, "", "%s: the path of output %s is empty", t.name, o.Type)
		}
	}
	for i, c := range out.Caches {
		at := v.Cache[i].At
		check(c.Path, at)
		for _, file := range c.Files {
			check(file, at)
		}
		if c.Path == "" || c.Key == "" {
			r.fail(at, "", "%s: the key or the path of a cache is empty", t.name)
		}
	}
	if v.Concurrency.At.Line > 0 && out.Concurrency == "" {
		r.fail(v.Concurrency.At, "", "%s: the name of the concurrency group is empty", t.name)
	}
}
