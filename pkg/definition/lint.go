package definition

import (
	"slices"

	"github.com/sluiceci/sluice/pkg/release"
)

// Warnings tells what a definition says in vain, or what will not go as it reads: tasks that no change reaches, what
// nothing uses, secrets that a pull request's run does not get. None of it keeps the definition from being used.
func Warnings(def *Definition) Errors {
	l := &linter{source: &source{text: def.source.text}, def: def, checks: newConditions(&def.Settings, def.matrixKeys())}
	l.unpushed()
	l.unused()
	l.presets()
	l.shadowed()
	l.unreachable()
	l.withheld()
	if len(l.problems) == 0 {
		return nil
	}
	return l.problems.sorted()
}

// Broken tells what is wrong with parts of included suites. It keeps the definition from being used no more than warnings do: in a
// run, what is broken fails.
func Broken(def *Definition) Errors {
	if len(def.broken) == 0 {
		return nil
	}
	return slices.Clone(def.broken).sorted()
}

// linter has what the warnings of one definition share.
type linter struct {
	*source
	def    *Definition
	checks *conditions
	dead   map[string]string // jobs that no change reaches, and why
}

// unpushed warns of a release branch whose pushes start nothing.
func (l *linter) unpushed() {
	if text := l.def.unpushed(); text != "" {
		l.fail(l.def.Triggers.Push.At, "add it to branches; or write push: false where pushes are not to start runs", "%s", text)
	}
}

// unused warns of names that nothing uses.
func (l *linter) unused() {
	lists, templates, providers := l.used()
	for _, e := range l.def.Definitions {
		if !lists[e.Name] {
			l.fail(e.At, "", "the list %s is used by no matrix", e.Name)
		}
	}
	for _, e := range l.def.Templates {
		if !templates[e.Name] {
			l.fail(e.At, "", "no job extends the template %s", e.Name)
		}
	}
	for _, e := range l.def.Providers {
		if !providers[e.Name] {
			l.fail(e.At, "", "no job leases from the provider %s", e.Name)
		}
	}
	for _, e := range l.def.Environments {
		if v := e.Value; len(v.Vars)+len(v.Secrets) == 0 {
			l.fail(e.At, "", "the environment %s gives nothing", e.Name)
		}
	}
}

// used lists the names of lists, templates and providers that jobs use.
func (l *linter) used() (lists, templates, providers map[string]bool) {
	lists, templates, providers = map[string]bool{}, map[string]bool{}, map[string]bool{}
	note := func(j *Job) {
		for _, a := range slices.Concat(j.Matrix.Axes, j.Sequence.Axes) {
			lists[a.Ref] = true
		}
		for _, t := range j.Extends {
			templates[t.Value] = true
		}
		providers[j.Lease.From.Value] = true
		for _, a := range j.Matrix.Adjustments {
			providers[a.change.Lease.From.Value] = true
		}
	}
	for _, list := range []Map[Job]{l.def.Builds, l.def.Tests} {
		for i := range list {
			note(&list[i].Value)
		}
	}
	for i := range l.def.Templates {
		note((*Job)(&l.def.Templates[i].Value))
	}
	for _, from := range keysOf(providers) {
		if containsMark(from) || len(l.def.suites) > 0 { // any name may come of it
			for _, e := range l.def.Providers {
				providers[e.Name] = true
			}
		}
	}
	return lists, templates, providers
}

// presets warns of presets that change nothing.
func (l *linter) presets() {
	for _, e := range l.def.Presets {
		budget := maxOverrides
		if sets, ok := l.def.presetSets(e.Name, nil, &budget); ok && len(sets) == 0 {
			l.fail(e.At, "", "the preset %s sets nothing", e.Name)
		}
	}
}

// unreachable warns of jobs whose conditions hold for no change that starts a run, and of those that need them.
func (l *linter) unreachable() {
	l.dead = map[string]string{}
	kinds := l.def.kinds()
	for _, list := range []Map[Job]{l.def.Builds, l.def.Tests} {
		for i := range list {
			e := &list[i]
			if text, ok := l.never(&e.Value, kinds); ok {
				l.dead[e.Name] = text.Value
				l.fail(text.At, "", "job %s is never run: no change that starts a run meets its condition", e.Name)
			}
		}
	}
	for more := len(l.dead) > 0; more; {
		more = false
		for _, list := range []Map[Job]{l.def.Builds, l.def.Tests} {
			for i := range list {
				more = l.orphan(&list[i]) || more
			}
		}
	}
}

// orphan warns of a job that needs one that is never run; it reports whether that is news.
func (l *linter) orphan(e *Entry[Job]) bool {
	if _, known := l.dead[e.Name]; known {
		return false
	}
	for i := range e.Value.Needs.List {
		n := &e.Value.Needs.List[i]
		of, _ := n.of()
		if _, dead := l.dead[of]; dead && !n.Optional.Value {
			l.dead[e.Name] = "it needs " + of
			l.fail(n.text().At, "", "job %s is never run: it needs %s, which is never run", e.Name, of)
			return true
		}
	}
	return false
}

// kinds lists the kinds of change that start runs.
func (def *Definition) kinds() []release.ChangeKind {
	t, out := def.Triggers, []release.ChangeKind{release.Manual}
	if !t.Push.Off {
		out = append(out, release.Push)
	}
	if !t.PullRequest.Off {
		out = append(out, release.PullRequest)
	}
	if !t.Tag.Off && (t.Tag.Set || len(def.Release.Tags) > 0) {
		out = append(out, release.Tag)
	}
	if len(t.Schedule) > 0 {
		out = append(out, release.Schedule)
	}
	if t.Comment.Set && !t.Comment.Off {
		out = append(out, release.Comment)
	}
	return out
}

// never returns the condition of a job that holds for none of some kinds of change.
func (l *linter) never(j *Job, kinds []release.ChangeKind) (Text, bool) {
	for _, c := range []struct {
		text Text
		want bool
	}{{j.If, true}, {j.Unless, false}} {
		if c.text.At.Line == 0 {
			continue
		}
		if !slices.ContainsFunc(kinds, func(k release.ChangeKind) bool { return l.may(c.text.Value, k, c.want) }) {
			return c.text, true
		}
	}
	return Text{}, false
}

// may reports whether a condition can have an answer for a kind of change, whatever else the change is.
func (l *linter) may(text string, kind release.ChangeKind, want bool) bool {
	answer, known := l.checks.partial(text, map[string]any{"change.kind": string(kind)})
	return !known || answer == want
}
