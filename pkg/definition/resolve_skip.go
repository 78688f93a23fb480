package definition

import (
	"slices"
	"sort"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// conditions leaves out the tasks whose if does not hold or whose unless does.
func (r *resolver) conditions() {
	for _, j := range r.jobs {
		shared := r.sharedValues(r.scopeOf(&j.Value))
		for _, t := range j.tasks {
			t.why = "every " + string(j.kind) + " is made"
			values := shared
			if len(t.order) > 0 && j.Value.conditional() {
				values = withRow(shared, t)
			}
			r.apply(t, j.Value.If, true, values)
			r.apply(t, j.Value.Unless, false, values)
		}
	}
}

func (j *Job) conditional() bool { return j.If.At.Line > 0 || j.Unless.At.Line > 0 }

// sharedValues is what conditions read that is the same for every task of a job, made once for each environment.
func (r *resolver) sharedValues(s *scope) map[string]any {
	if known, ok := r.shared[s]; ok {
		return known
	}
	change := r.req.Change
	change.Parameters = r.parameters()
	out := changeValues(change)
	vars := r.variables(s.under, s.over)
	if vars == nil {
		vars = map[string]string{}
	}
	out["env"], out["environment"] = vars, s.name
	r.shared[s] = out
	celSettings("settings", &r.settings, func(path string, s *Setting) { out[path] = s.value() })
	return out
}

func withRow(shared map[string]any, t *task) map[string]any {
	out := make(map[string]any, len(shared)+2*len(t.order))
	for k, v := range shared {
		out[k] = v
	}
	for k, v := range t.values {
		out[k], out["matrix."+k] = v, v
	}
	return out
}

func (r *resolver) apply(t *task, text Text, want bool, values map[string]any) {
	if text.At.Line == 0 || t.skipped != "" {
		return
	}
	holds, ok := r.holds(text, t.name, values)
	switch {
	case !ok:
	case holds != want && want:
		t.skipped = "its condition does not hold: if " + text.Value
	case holds != want:
		t.skipped = "its condition holds: unless " + text.Value
	case want:
		t.why = "if " + text.Value + " holds"
	}
}

// holds evaluates a condition; what cannot be evaluated is a problem, not an answer.
func (r *resolver) holds(text Text, who string, values map[string]any) (holds, ok bool) {
	cond := r.evaluator.compile(text.Value)
	if cond.problem != "" {
		r.fail(text.At, "", "cannot read condition: %s", shorten(printable(cond.problem), 300))
		return false, false
	}
	holds, err := r.evaluator.eval(cond, values)
	if err != nil {
		r.fail(text.At, evalHint(err), "cannot evaluate the condition of %s: %s", who, shorten(printable(err.Error()), 200))
	}
	return holds, err == nil
}

func evalHint(err error) string {
	switch text := err.Error(); {
	case strings.Contains(text, "overload"), strings.Contains(text, "conversion"):
		return "matrix values are text: compare them with text, or write int(gpu) >= 2"
	case strings.Contains(text, "no such key"):
		return `ask first whether it is there: "NAME" in env && env.NAME == …`
	}
	return ""
}

// concern leaves out the jobs that no changed path concerns. A change that may publish is always made whole.
func (r *resolver) concern() {
	publishes, _ := r.def.Policy().Allows(r.req.Change)
	if len(r.def.Changed) == 0 || r.req.Changed == nil || publishes {
		return
	}
	concerned, reason := map[string]string{}, ""
	for _, path := range r.req.Changed {
		rule := slices.IndexFunc(r.def.Changed, func(rule Rule) bool { return matchesAny(rule.Paths, path) })
		if rule < 0 {
			reason = "no rule of changed matches " + path + ", so it concerns everything"
			break
		}
		for _, name := range r.def.Changed[rule].Jobs {
			r.mark(concerned, name.Value, "changed path "+path+" concerns "+name.Value)
		}
	}
	for _, j := range r.jobs {
		why, ok := concerned[j.Name]
		for _, t := range j.tasks {
			switch {
			case t.skipped != "":
			case reason != "":
				t.why = reason
			case ok:
				t.why = why
			default:
				t.skipped = "no changed path concerns it"
			}
		}
	}
}

// mark notes a job and everything that it needs.
func (r *resolver) mark(concerned map[string]string, name, why string) {
	if _, known := concerned[name]; known || r.byName[name] == nil {
		return
	}
	concerned[name] = why
	for _, need := range r.byName[name].Value.needed() {
		r.mark(concerned, need, why)
	}
}

func matchesAny(globs []Text, path string) bool {
	return slices.ContainsFunc(globs, func(g Text) bool {
		ok, _ := doublestar.Match(g.Value, path)
		return ok
	})
}

// choose keeps the tasks that --select names, and everything that they need.
func (r *resolver) choose() {
	if len(r.req.Select) == 0 {
		return
	}
	keep := map[*task]string{}
	for _, glob := range r.req.Select {
		if !validGlob(glob) {
			r.refuse(Flag("--select", glob), "", "expected a glob on a task's id or name")
			continue
		}
		found, left := 0, (*task)(nil)
		for _, t := range r.everyTask() {
			switch {
			case !t.named(glob):
			case t.skipped != "":
				left = t
			default:
				r.keep(keep, t, "selected by "+glob)
				found++
			}
		}
		switch {
		case found > 0:
		case left != nil:
			r.refuse(Flag("--select", glob), "", "%s is left out: %s", left.name, shorten(left.skipped, 300))
		default:
			r.refuse(Flag("--select", glob), nearest(glob, r.taskNames()), "no task has such an id or name")
		}
	}
	for _, t := range r.everyTask() {
		why, kept := keep[t]
		if kept {
			t.why = why
		} else if t.skipped == "" {
			t.skipped = "not selected"
		}
	}
}

func (t *task) named(glob string) bool {
	id, _ := doublestar.Match(glob, string(t.id))
	// A slash in a value is a letter like any other: * matches it.
	name, _ := doublestar.Match(strings.ReplaceAll(glob, "/", "|"), strings.ReplaceAll(t.name, "/", "|"))
	return id || name || glob == t.job.Name
}

// keep walks the needs with a list of its own, since a chain of needs may be long.
func (r *resolver) keep(keep map[*task]string, t *task, why string) {
	type step struct {
		task *task
		why  string
	}
	todo := []step{{t, why}}
	for len(todo) > 0 {
		now := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if _, known := keep[now.task]; known {
			continue
		}
		keep[now.task] = now.why
		for _, need := range now.task.needs {
			todo = append(todo, step{need, "needed by " + now.task.name})
		}
	}
}

func (r *resolver) everyTask() []*task {
	out := make([]*task, 0, r.tasks)
	for _, j := range r.jobs {
		out = append(out, j.tasks...)
	}
	return out
}

func (r *resolver) taskNames() []string {
	var out []string
	for _, j := range r.jobs {
		out = append(out, j.Name)
		if j.suite != nil {
			for _, t := range j.tasks {
				out = append(out, t.name)
			}
		}
	}
	sort.Strings(out)
	return out
}
