package definition

import (
	"strconv"
	"strings"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// fill writes the tasks that are left into the plan, in the order of the text, and the others with their reasons.
func (r *resolver) fill() {
	withheld := map[string]bool{}
	for _, j := range r.jobs {
		r.tellSkipped(j)
		if !j.left() {
			continue
		}
		texts := r.bindJob(j)
		for _, t := range j.tasks {
			if t.skipped != "" {
				continue
			}
			out := r.task(t, texts)
			if !r.req.Change.Trusted() {
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
		r.warn("a run of a pull request gets no secrets; withheld: %s", enumerate(keysOf(withheld), 50))
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

// bound is the texts of a job with everything put in but the values of a row.
type bound struct {
	run, prepare, directory, image, junit, results *template
	tags                                           []*template
	env                                            []*template
	outputs                                        [][2]*template
	retry                                          []release.Retry
	timeouts                                       release.Timeouts
	resources                                      map[string]float64
}

func (r *resolver) bindJob(j *job) *bound {
	v := &j.Value
	b := &bound{
		run: r.shell(v.Run), prepare: r.shell(v.Prepare), directory: r.text(v.Directory), image: r.text(v.Image),
		junit: r.text(v.Reports.JUnit), results: r.text(v.Reports.Results),
		retry: retries(v.Retry.Map), timeouts: v.Timeout.release(),
	}
	for _, t := range v.Tags {
		b.tags = append(b.tags, r.text(t))
	}
	for _, e := range v.Env {
		b.env = append(b.env, r.text(e.Value))
	}
	for _, e := range v.Outputs {
		b.outputs = append(b.outputs, [2]*template{r.text(e.Value.Path), r.text(e.Value.StampIn)})
	}
	if len(v.Resources) > 0 {
		b.resources = map[string]float64{}
		for _, e := range v.Resources {
			b.resources[e.Name] = e.Value.Value
		}
	}
	return b
}

// text binds a text that no shell reads.
func (r *resolver) text(t Text) *template {
	return parseTemplate(r.source, t).bind(r.constant)
}

// shell binds a command. What a stranger chose, a branch's name for instance, is put in only if it means itself
// however it is quoted; otherwise the command would be theirs.
func (r *resolver) shell(t Text) *template {
	return parseTemplate(r.source, t).bind(func(p part) (string, bool) {
		value, ok := r.constant(p)
		if ok && fromChange(p.name) && !safeInShell(value) {
			r.fail(r.place(p), "read it from the environment: \"$SLUICE_BRANCH\", \"$SLUICE_REF\"",
				"{{ %s }} is %q, which a shell would not take as it is", p.name, shorten(printable(value), 60))
		}
		return value, ok
	})
}

// constant looks up what is the same for every task; a setting that presets made a list has no text.
func (r *resolver) constant(p part) (string, bool) {
	value, ok := r.known[p.name]
	path, isSetting := strings.CutPrefix(p.name, "settings.")
	if ok || !isSetting {
		return value, ok
	}
	switch s, problem, hint := r.settings.lookup(path); {
	case s == nil:
		r.fail(r.place(p), hint, "%s", problem)
	case s.List != nil || s.Map:
		r.fail(r.place(p), "take it as the values of a matrix key: $"+p.name, "%s is a list, expected one value", p.name)
	default:
		value = s.Text
	}
	r.known[p.name] = value
	return value, true
}

// lookup is the names that differ from task to task.
func (r *resolver) lookup(t *task) func(part) string {
	return func(p part) string {
		short := strings.TrimPrefix(p.name, "matrix.")
		value, ok := t.values[short]
		if !ok {
			r.fail(r.place(p), "", "%s has no matrix key %s", t.name, short)
		}
		return value
	}
}

func (r *resolver) task(t *task, b *bound) plan.Task {
	v, look := &t.job.Value, r.lookup(t)
	put := func(tpl *template) string {
		s := tpl.render(look)
		r.bytes += len(s)
		return s
	}
	out := plan.Task{
		ID: t.id, Name: t.name, Job: t.job.Name, Kind: t.job.kind, Matrix: t.values,
		Stage: string(t.job.kind) + "-" + strconv.Itoa(t.level), NeedsArtifacts: Strings(v.Needs.Artifacts),
		Timeouts: b.timeouts, TimeoutS: b.timeouts.Command.Std().Seconds(), Retry: b.retry, Resources: b.resources,
		Group: v.Group.Value, Owner: v.Owner.Value, Priority: v.Priority.Value, SoftFail: v.SoftFail.Value,
		Stable: t.job.kind == release.Test && v.Stable.Or(true), Checkout: v.Checkout.Value, Secrets: r.secrets(v),
		Run: put(b.run), Prepare: put(b.prepare), Directory: put(b.directory), Image: put(b.image),
		Reports: plan.Reports{JUnit: put(b.junit), Results: put(b.results)},
	}
	r.wire(t, &out)
	for _, tag := range b.tags {
		out.Tags = append(out.Tags, put(tag))
	}
	for i, e := range v.Outputs {
		out.Outputs = append(out.Outputs, r.output(t, e, put(b.outputs[i][0]), put(b.outputs[i][1])))
	}
	env := make(map[string]string, len(v.Env))
	for i, e := range v.Env {
		env[e.Name] = put(b.env[i])
	}
	pool := r.pool(t, &out)
	out.Variables = r.variables(textMap(pool.Variables), textMap(r.defaults), env, textMap(r.environment.Vars))
	for k, val := range out.Variables {
		r.bytes += len(k) + len(val)
	}
	r.paths(t, &out)
	return out
}

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

func (r *resolver) output(t *task, e Entry[Output], path, stampIn string) plan.Output {
	return plan.Output{
		Type: e.Name, Path: path, StampIn: stampIn, Stamped: t.job.Value.Stamp.Value != "" || stampIn != "",
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
	check(out.Directory, t.job.Value.Directory.At)
	check(out.Reports.JUnit, t.job.Value.Reports.JUnit.At)
	check(out.Reports.Results, t.job.Value.Reports.Results.At)
	for i, o := range out.Outputs {
		check(o.Path, t.job.Value.Outputs[i].Value.Path.At)
		check(o.StampIn, t.job.Value.Outputs[i].Value.StampIn.At)
		if o.Path == "" {
			r.fail(t.job.Value.Outputs[i].At, "", "%s: the path of output %s is empty", t.name, o.Type)
		}
	}
}

// secrets are the names that the job asks for and those that the environment gives.
func (r *resolver) secrets(v *Job) []string {
	seen := map[string]bool{}
	for _, s := range append(Strings(v.Secrets), Strings(r.environment.Secrets)...) {
		seen[s] = true
	}
	if len(seen) == 0 {
		return nil
	}
	return keysOf(seen)
}
