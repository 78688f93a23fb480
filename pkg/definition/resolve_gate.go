package definition

import (
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// gate lists the tests that the gate demands. A required test that is left out is told, and where the change could
// be published, a gate that would demand no test at all is an error: missing is not passing.
func (r *resolver) gate() {
	r.plan.Gate = plan.Gate{Builds: true, On: r.gateOn()}
	if text := r.def.unpushed(); text != "" {
		r.warn("%s", text)
	}
	seen := map[release.TaskID]bool{}
	for _, require := range r.requires() {
		if require.Value == "builds" {
			continue
		}
		found := 0
		for _, j := range r.jobs {
			if !required(require.Value, j) {
				continue
			}
			var absent []*task
			for _, t := range j.tasks {
				switch {
				case t.kind() != release.Test, require.Value == "tests.stable" && !t.stable():
				case t.skipped != "":
					absent = append(absent, t)
				default:
					seen[t.id] = true
					found++
				}
			}
			r.warnAbsent(j, absent)
		}
		if found == 0 && r.couldPublish() {
			r.fail(require.At, "write gate: {require: [builds]} to publish without tests",
				"the gate requires %s, but this plan has no such test: missing is not passing", require.Value)
		}
	}
	for _, t := range r.plan.Tasks {
		if seen[t.ID] {
			r.plan.Gate.Tests = append(r.plan.Gate.Tests, t.ID)
		}
	}
	r.plan.Gate.Untested = r.untested()
}

// warnAbsent tells of the required tests of a job that are left out, those with the same reason together.
func (r *resolver) warnAbsent(j *job, absent []*task) {
	var reasons []string
	by := map[string][]*task{}
	for _, t := range absent {
		if by[t.skipped] == nil {
			reasons = append(reasons, t.skipped)
		}
		by[t.skipped] = append(by[t.skipped], t)
	}
	for _, why := range reasons {
		switch same := by[why]; {
		case len(same) == 1:
			r.warn("the gate requires %s, which is left out: %s", same[0].name, why)
		default:
			r.warn("the gate requires %s, of which %d of %d are left out: %s", j.Name, len(same), len(j.tasks), why)
		}
	}
}

// untested reports whether a gate without tests is meant: the definition asks for builds only, or the change cannot
// publish and its tests are left out with reasons.
func (r *resolver) untested() bool {
	if len(r.plan.Gate.Tests) > 0 {
		return false
	}
	buildsOnly := !slices.ContainsFunc(r.requires(), func(t Text) bool { return t.Value != "builds" })
	return buildsOnly || !r.couldPublish()
}

// requires lists what the gate requires: what the definition says, or the default, and what the request adds. The commit
// that is judged can require more, and never less.
func (r *resolver) requires() []Text {
	at := r.def.Gate.At
	if at.Line == 0 {
		at = r.pos(1, 1)
	}
	stated := slices.Clone(r.def.Gate.Require)
	for _, name := range append(Requires(r.def), r.req.Require...) {
		if !slices.ContainsFunc(stated, func(t Text) bool { return t.Value == name }) {
			stated = append(stated, Text{Value: name, At: at})
		}
	}
	return stated
}

// Requires is gate.require of a definition, or the default.
func Requires(def *Definition) []string {
	if stated := Strings(def.Gate.Require); len(stated) > 0 {
		return stated
	}
	return []string{"builds", "tests.stable"}
}

func required(require string, j *job) bool {
	if j.kind != release.Test {
		return false
	}
	switch require {
	case "tests":
		return true
	case "tests.stable":
		return j.suite != nil || slices.ContainsFunc(j.tasks, (*task).stable)
	}
	return strings.TrimPrefix(require, "tests.") == j.Name
}

// stable reports whether a test counts for tests.stable.
func (t *task) stable() bool {
	if t.ready != nil {
		return t.ready.Stable
	}
	return t.v.Stable.Or(true)
}

func (r *resolver) gateOn() []string {
	var on []string
	for _, kind := range r.def.Gate.On {
		on = append(on, kind.Value)
	}
	if len(on) > 0 {
		return on
	}
	on = []string{string(release.Push)}
	if len(r.def.Release.Tags) > 0 {
		on = append(on, string(release.Tag))
	}
	return on
}

// couldPublish reports whether this plan may end in a publication.
func (r *resolver) couldPublish() bool {
	ok, _ := r.mayPublish()
	return ok
}

func (r *resolver) mayPublish() (bool, string) {
	if len(r.req.Select) > 0 {
		return false, "only a part of the plan is selected"
	}
	if len(r.req.Skip) > 0 {
		return false, "a part of the plan is skipped on request"
	}
	if r.unplaced != "" {
		return false, "no pool takes " + r.unplaced
	}
	allowed, why := r.plan.Release.Allows(r.req.Change)
	if !allowed {
		return false, why
	}
	if on := r.plan.Gate.On; !slices.Contains(on, string(r.req.Change.Kind)) {
		return false, "gate.on is " + strings.Join(on, ", ") + "; this is a " + string(r.req.Change.Kind) + " run"
	}
	return true, why
}

// targets offers the places to publish to; those that are not offered are skipped with the reason.
func (r *resolver) targets() {
	may, why := r.mayPublish()
	values := r.sharedValues(r.scopeOf(&Job{}))
	for _, e := range r.def.Publish {
		name := "publish " + e.Name
		if !may {
			r.skip(name, "not offered: "+why)
			continue
		}
		when := why
		if reason, ok := r.offered(e, values); !ok {
			r.skip(name, reason)
			continue
		} else if reason != "" {
			when += ", and " + reason
		}
		r.offer(e, when)
	}
}

func (r *resolver) offered(e Entry[Target], values map[string]any) (reason string, ok bool) {
	if t := e.Value.If; t.At.Line > 0 {
		if holds, _ := r.holds(t, e.Name, values); !holds {
			return "its condition does not hold: if " + t.Value, false
		}
		reason = "if " + t.Value + " holds"
	}
	if t := e.Value.Unless; t.At.Line > 0 {
		if holds, _ := r.holds(t, e.Name, values); holds {
			return "its condition holds: unless " + t.Value, false
		}
	}
	return reason, true
}

func (r *resolver) offer(e Entry[Target], when string) {
	t := plan.Target{
		Name: e.Name, Kind: e.Value.kind(e.Name), Select: Strings(e.Value.Artifacts), Options: map[string]string{}, When: when,
	}
	for _, a := range e.Value.Artifacts {
		if !r.made(a.Value) {
			r.fail(a.At, "give the target a condition", "target %s takes %s, but every task that makes it is left out", e.Name, a.Value)
		}
	}
	for _, o := range e.Value.Options {
		t.Options[o.Name] = r.text(o.Value).render(r.lookup(&task{name: "publish " + e.Name}))
	}
	r.plan.Targets = append(r.plan.Targets, t)
}

// made reports whether a task of the plan makes what a selector names.
func (r *resolver) made(selector string) bool {
	of, kind, dotted := strings.Cut(selector, ".")
	if !dotted {
		of, kind = "", selector
	}
	return slices.ContainsFunc(r.jobs, func(j *job) bool {
		return j.kind == release.Build && j.left() && (of == "" || j.Name == of) && slices.Contains(j.Value.Outputs.Names(), kind)
	})
}
