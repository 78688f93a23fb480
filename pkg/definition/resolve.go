package definition

import (
	"fmt"
	"slices"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// The bounds of a plan.
const (
	maxTasks = 50_000
	maxEdges = 1_000_000
	maxBytes = 64 << 20   // of text in all tasks together
	maxSteps = 20_000_000 // of comparing rows with excludes and pools
)

// Request is what a definition is resolved for.
type Request struct {
	Change      release.Change
	Trust       release.Trust     // of the change; empty is untrusted
	Require     []string          // what the gate requires beside gate.require: of the installation, or of the branch that a pull request is for
	Changed     []string          // paths that the change touches; nil means unknown, which is everything
	Environment string            // of Definition.Environments; "" for the default
	Presets     []string          // applied in order, before Set
	Set         []string          // "a.b=VALUE", applied in order
	Select      []string          // globs on a task's id or name; what the chosen ones need comes with them
	Answers     map[string]string // to the questions of Questions
	Skip        []string          // globs on a task's id or name that are left out, with what cannot be made without them

	// Jailed are the tests that are left out since they fail for too long, by name, with the reason. A dialect may have
	// options that run them all the same.
	Jailed map[string]string
}

// Resolve makes the plan of a definition for one change. It is pure: the same definition and the same request give
// the same bytes. The error is an Errors with everything that does not resolve.
func Resolve(def *Definition, req Request) (*plan.Plan, error) {
	r := newResolver(def, req)
	for _, step := range []func(){
		r.accept,     // parameters
		r.override,   // settings, presets, environment
		r.expand,     // jobs to tasks, by their matrices
		r.identify,   // ids and names
		r.conditions, // if, unless
		r.concern,    // changed paths
		r.leave,      // skip
		r.poolless,   // pools, where to match none is no error
		r.link,       // needs by matrix
		r.choose,     // select
		r.fill,       // text, pools
		r.collide,    // files of one name that a task takes
		r.providers,
		r.gate,
		r.targets,
	} {
		step()
		if len(r.problems) > 0 {
			return nil, r.problems.orNil()
		}
	}
	return r.plan, nil
}

// resolver is the state of one resolution, filled step by step.
type resolver struct {
	*source
	def  *Definition
	req  Request
	plan *plan.Plan

	settings  Setting
	scopes    map[string]*scope // environments, by name
	shared    map[*scope]map[string]any
	given     map[string]string // parameters, with their defaults
	known     map[string]string
	evaluator *conditions

	jobs     []*job
	byName   map[string]*job
	tasks    int
	edges    int
	bytes    int
	steps    int
	unplaced string                   // a task that is left out because no pool takes it
	merges   int                      // entries that adjustments may still copy
	ids      map[release.TaskID]*task // of every task, also of those left out
}

// job is a job of the definition and the tasks that it becomes.
type job struct {
	Entry[Job]
	kind  release.TaskKind
	suite *suite // that a dialect read, or nil
	tasks []*task
	rows  map[string]*rowIndex
	given map[release.TaskID]*task // of a suite, by the ids that it gave
	bound map[*Job]*bound
}

// task is one row of a job; it is in the plan unless skipped says why not.
type task struct {
	job     *job
	v       *Job       // the job, as adjustments of the matrix changed it for this row
	ready   *plan.Task // of a suite; nil for a task of the definition's own
	values  map[string]string
	order   []string // of the keys
	id      release.TaskID
	name    string
	why     string
	skipped string
	number  int // its place among the job's tasks
	level   int // of tasks of its kind that come one after the other
	needs   []*task
	inputs  []input
}

// input is what one need of a task resolved to.
type input struct {
	job, kind string
	from      []*task
}

func newResolver(def *Definition, req Request) *resolver {
	s := &source{text: def.source.text}
	r := &resolver{
		source: s, def: def, req: req, evaluator: newConditions(&def.Settings, def.matrixKeys()), byName: map[string]*job{},
		scopes: map[string]*scope{}, shared: map[*scope]map[string]any{}, merges: maxMerged,
		plan: &plan.Plan{
			Project: def.Project.Value, Definition: def.Digest, Change: req.Change, Trust: req.Trust, Release: def.Policy(),
			Tasks: []plan.Task{}, Skipped: []plan.Skipped{}, Warnings: []string{},
			KeepGoing: def.KeepGoing.Value, RetryBudget: def.RetryBudget.Value, Supersede: def.supersedes(req.Change),
		},
	}
	for kind, list := range [2]Map[Job]{def.Builds, def.Tests} {
		for _, e := range list {
			j := &job{Entry: e, kind: [2]release.TaskKind{release.Build, release.Test}[kind]}
			r.jobs = append(r.jobs, j)
			r.byName[e.Name] = j
		}
	}
	for i := range def.suites {
		s := &def.suites[i]
		j := &job{Entry: Entry[Job]{Name: s.name, At: s.at, Value: s.change}, kind: release.Test, suite: s}
		r.jobs, r.byName[s.name] = append(r.jobs, j), j
	}
	return r
}

// refuse notes a problem of the request, which has no place in the text.
func (r *resolver) refuse(what, hint, format string, args ...any) {
	r.problems = append(r.problems, Problem{File: what, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// spend counts steps of work that a text can multiply; with false there have been too many, and it has been said.
func (r *resolver) spend(at Pos, steps int) bool {
	if r.steps > maxSteps {
		return false
	}
	if r.steps += steps; r.steps > maxSteps {
		r.fail(at, "", "comparing the tasks with every exclude and pool takes more than %d steps", maxSteps)
	}
	return r.steps <= maxSteps
}

func (r *resolver) warn(format string, args ...any) {
	r.plan.Warnings = append(r.plan.Warnings, fmt.Sprintf(format, args...))
}

func (r *resolver) skip(name, why string) {
	r.plan.Skipped = append(r.plan.Skipped, plan.Skipped{Name: name, Why: why})
}

// left reports whether any task of the job is in the plan.
func (j *job) left() bool {
	return slices.ContainsFunc(j.tasks, func(t *task) bool { return t.skipped == "" })
}
