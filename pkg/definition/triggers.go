package definition

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/goccy/go-yaml/ast"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// Triggers says which changes start a run.
type Triggers struct {
	Push        Trigger        `key:"push" doc:"Pushes to branches. Branches that are named take the place of the default: name the release branch too, or a push to it starts no run." default:"the release branches" example:"{branches: [master, \"feature/*\"]}"`
	PullRequest Trigger        `key:"pull_request" doc:"Pull requests into branches." default:"every pull request" example:"{branches: [master]}"`
	Tag         Trigger        `key:"tag" doc:"Tags." default:"those of release.tags" example:"{tags: [\"v*\"]}"`
	Schedule    List[Schedule] `key:"schedule" doc:"Times at which the release branch is run." example:"[{name: nightly, cron: \"0 3 * * *\"}]"`
	Manual      Manual         `key:"manual" doc:"What a manual run may be given. Without this key, anything." example:"{parameters: {level: {default: low, choices: [low, high]}}}"`
	Comment     Trigger        `key:"comment" doc:"Commands in comments of pull requests." default:"none" example:"true"`
}

// Trigger is true, false, or the globs of what starts a run.
type Trigger struct {
	At       Pos
	Set      bool // the key is given
	Off      bool
	Branches List[Text] `key:"branches" doc:"Globs of branches; ** matches across slashes." example:"[\"feature/**\"]"`
	Tags     List[Text] `key:"tags" doc:"Globs of tags." example:"[\"v*\"]"`
}

func (t *Trigger) decode(d *decoder, n ast.Node) {
	t.At, t.Set = d.at(n), true
	switch b := n.(type) {
	case *ast.BoolNode:
		t.Off = !b.Value
	case *ast.NullNode:
	default:
		d.object(n, reflect.ValueOf(t).Elem())
	}
}

func (*Trigger) shape() shape { return either("true, false, or map", "trigger", Bool{}, Trigger{}) }

// Schedule is a named time at which a run is started.
type Schedule struct {
	At      Pos
	Name    Text      `key:"name" doc:"Name of the schedule." required:"true" example:"nightly"`
	Cron    Text      `key:"cron" doc:"Standard cron expression of five fields, in UTC." required:"true" example:"0 3 * * *"`
	Overlap Overlap   `key:"overlap" doc:"What becomes of a time at which the schedule's run before has not ended: skip leaves it out, queue starts it once that run has ended (of several times the last), allow starts it beside." default:"skip" example:"queue"`
	With    Map[Text] `key:"with" doc:"Parameters of the change, read as change.parameters.NAME by conditions and templates." example:"{frequency: nightly}"`
}

// Triggered says whether a change starts a run of the definition, with the reason.
func Triggered(def *Definition, change release.Change) (bool, string) {
	t := def.Triggers
	switch change.Kind {
	case release.Manual:
		return true, "a manual run is always made"
	case release.Push:
		return t.Push.matches("triggers.push", "branch", change.Branch, t.Push.Branches, def.releaseBranches())
	case release.PullRequest:
		return t.PullRequest.matches("triggers.pull_request", "branch", change.Branch, t.PullRequest.Branches, []string{"**"})
	case release.Tag:
		return t.Tag.matches("triggers.tag", "tag", tagOf(change), t.Tag.Tags, Strings(def.Release.Tags))
	case release.Schedule:
		return def.scheduled(change)
	case release.Comment:
		if t.Comment.Set && !t.Comment.Off {
			return true, "triggers.comment is on"
		}
		return false, "the definition has no triggers.comment"
	}
	return false, fmt.Sprintf("%q is no kind of change that starts runs", change.Kind)
}

func (t Trigger) matches(name, what, value string, globs []Text, fallback []string) (bool, string) {
	given := Strings(globs)
	switch {
	case t.Off:
		return false, name + " is false"
	case !t.Set:
		given, name = fallback, name+" by default"
	case len(given) == 0:
		return true, name + " takes every " + what
	}
	for _, glob := range given {
		if ok, _ := doublestar.Match(glob, value); ok {
			return true, fmt.Sprintf("%s %s matches %s of %s", what, value, glob, name)
		}
	}
	if len(given) == 0 {
		return false, fmt.Sprintf("%s names no %s, so %q starts none", name, what, value)
	}
	return false, fmt.Sprintf("%s %q matches none of %q of %s", what, value, given, name)
}

func (def *Definition) scheduled(change release.Change) (bool, string) {
	name := change.Parameters["schedule"]
	for _, s := range def.Triggers.Schedule {
		if name == "" || s.Name.Value == name {
			return true, "schedule " + s.Name.Value + " is due"
		}
	}
	return false, fmt.Sprintf("the definition has no schedule %q", name)
}

// unpushed says that triggers.push names branches and the release branch is none of them, so that a push to it starts no run and
// nothing is released. push: false says so on purpose.
func (def *Definition) unpushed() string {
	push, branch := def.Triggers.Push, def.Policy().Branch
	if !push.Set || push.Off || len(push.Branches) == 0 {
		return ""
	}
	if starts, _ := push.matches("triggers.push", "branch", branch, push.Branches, nil); starts {
		return ""
	}
	return "a push to the release branch " + branch + " starts no run: triggers.push names other branches only"
}

func (def *Definition) releaseBranches() []string {
	return append([]string{def.Policy().Branch}, Strings(def.Release.Also)...)
}

// Policy is the release policy that the definition states, with its defaults.
func (def *Definition) Policy() release.ReleasePolicy {
	p := release.ReleasePolicy{
		Branch: def.Release.Branch.Value, Also: Strings(def.Release.Also), Tags: Strings(def.Release.Tags),
		Approvals: def.Release.Approvals.Value, RetryBudget: def.Release.RetryBudget.Value,
		Schedules: slices.ContainsFunc(def.Gate.On, func(k GateKind) bool { return k.Value == string(release.Schedule) }),
	}
	if p.Branch == "" {
		p.Branch = "master"
	}
	return p
}

func tagOf(c release.Change) string {
	tag, found := strings.CutPrefix(c.Ref, "refs/tags/")
	if !found {
		return ""
	}
	return tag
}

// checkTriggers checks what the decoder cannot: that every schedule is a time.
func checkTriggers(c *checker) {
	checkParameters(c)
	seen := map[string]bool{}
	for _, s := range c.def.Triggers.Schedule {
		if _, problem := parseCron(s.Cron.Value); problem != "" && s.Cron.At.Line > 0 {
			c.fail(s.Cron.At, `write five fields: "0 3 * * *"`, "cannot read cron expression %q: %s", shorten(s.Cron.Value, 60), shorten(printable(problem), 200))
		}
		if seen[s.Name.Value] {
			c.fail(s.Name.At, "", "schedule %q is given twice", s.Name.Value)
		}
		seen[s.Name.Value] = true
	}
}

// Untriggered is the plan of a change that starts no run: no task, and every job left out for the one reason.
func Untriggered(def *Definition, change release.Change, why string) *plan.Plan {
	p := &plan.Plan{
		Project: def.Project.Value, Definition: def.Digest, Change: change, Release: def.Policy(),
		Tasks: []plan.Task{}, Skipped: []plan.Skipped{}, Warnings: []string{}, Gate: plan.Gate{Builds: true},
	}
	for _, list := range []Map[Job]{def.Builds, def.Tests} {
		for _, e := range list {
			p.Skipped = append(p.Skipped, plan.Skipped{Name: e.Name, Why: "no run is started: " + why})
		}
	}
	for _, e := range def.Publish {
		p.Skipped = append(p.Skipped, plan.Skipped{Name: "publish " + e.Name, Why: "no run is started: " + why})
	}
	return p
}
