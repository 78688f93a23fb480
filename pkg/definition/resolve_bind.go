package definition

import (
	"strings"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// bound is the texts of a job with everything put in but the values of a row.
type bound struct {
	run, prepare, cleanup, directory, image, junit, results *template
	group, from                                             *template
	url, digest, commit                                     *template
	tags, places                                            []*template
	env                                                     []*template
	outputs                                                 [][2]*template
	caches                                                  []cacheTemplates
	retry                                                   []release.Retry
	timeouts                                                release.Timeouts
	resources                                               map[string]float64
	variants                                                []plan.Variant
	artifacts                                               []string
	scope                                                   *scope
}

type cacheTemplates struct {
	key, path *template
	files     []*template
}

// bound binds a job once, however many tasks it has.
func (r *resolver) bound(t *task) *bound {
	if t.job.bound[t.v] == nil {
		if t.job.bound == nil {
			t.job.bound = map[*Job]*bound{}
		}
		t.job.bound[t.v] = r.bindJob(t.job.Name, t.v)
	}
	return t.job.bound[t.v]
}

func (r *resolver) bindJob(name string, v *Job) *bound {
	b := &bound{scope: r.scopeOf(v)}
	r.known["environment"] = b.scope.name
	b.run, b.prepare, b.cleanup = r.text(v.Run), r.text(v.Prepare), r.text(v.Cleanup)
	b.directory, b.image = r.text(v.Directory), r.text(v.Image)
	b.junit, b.results = r.text(v.Reports.JUnit), r.text(v.Reports.Results)
	b.group, b.from = r.text(v.Concurrency.Group), r.text(v.Lease.From)
	b.tags, b.places = r.list(v.Tags), r.list(v.Lease.Places)
	b.retry, b.timeouts, b.artifacts = retries(v.Retry.Map), v.Timeout.release(), v.Needs.artifacts()
	if v.Fetch.wanted() {
		r.bindFetch(b, v)
	}
	for _, e := range v.Env {
		b.env = append(b.env, r.text(e.Value))
	}
	for _, e := range v.Outputs {
		b.outputs = append(b.outputs, [2]*template{r.text(e.Value.Path), r.text(e.Value.StampIn)})
	}
	for _, c := range v.Cache {
		b.caches = append(b.caches, cacheTemplates{r.text(c.Key), r.text(c.Path), r.list(c.Files)})
	}
	for _, e := range v.Resources {
		if b.resources == nil {
			b.resources = map[string]float64{}
		}
		b.resources[e.Name] = e.Value.Value
	}
	for _, one := range r.variants(name, &v.Sequence) {
		b.variants = append(b.variants, plan.Variant{Name: variantName(one), Variables: one.values})
	}
	r.known["environment"] = r.req.Environment
	return b
}

// variantName is a measurement for people: "batch=8, gpu=2".
func variantName(one row) string {
	parts := make([]string, len(one.keys))
	for i, k := range one.keys {
		parts[i] = k + "=" + one.values[k]
	}
	return strings.Join(parts, ", ")
}

func (r *resolver) list(texts []Text) []*template {
	var out []*template
	for _, t := range texts {
		out = append(out, r.text(t))
	}
	return out
}

// text binds a text. What others than the definition's author choose is in none that a shell reads: see checker.commands.
func (r *resolver) text(t Text) *template {
	return parseTemplate(r.source, t).bind(r.constant)
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
