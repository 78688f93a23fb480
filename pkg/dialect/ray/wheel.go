package ray

import (
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/await"
	"github.com/sluiceci/sluice/pkg/dialect/ray/wheels"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

const (
	wheelJob  = "ray-wheel"        // what the wheels under test are called together
	wheelWait = 7200 * time.Second // until they must be there
)

// Pythons lists the versions of Python that some steps need wheels for.
func Pythons(steps []Step) []string {
	var out []string
	for _, s := range steps {
		if !slices.Contains(out, s.Test.Python) {
			out = append(out, s.Test.Python)
		}
	}
	slices.Sort(out)
	return out
}

// WheelTasks fetch the wheels under test, one for each Python that the steps need. None are fetched when none were found.
func WheelTasks(steps []Step, o TaskOptions) ([]plan.Task, error) {
	if o.Wheels == nil {
		return nil, nil
	}
	var out []plan.Task
	for _, python := range Pythons(steps) {
		wheel, ok := o.Wheels.For(python)
		if !ok {
			return nil, fault.New(fault.Invalid, "cannot fetch a wheel for Python %s: the wheels that were looked for have none", python)
		}
		out = append(out, wheelTask(o, wheel))
	}
	return out, nil
}

func wheelTask(o TaskOptions, w wheels.Wheel) plan.Task {
	wait := o.WheelWait
	if wait == 0 {
		wait = wheelWait
	}
	why := "the wheel under test, " + o.Wheels.Spec + ", for Python " + w.Python
	if o.Wheels.Spec == "" {
		why = "the wheel of the commit under test for Python " + w.Python
	}
	return plan.Task{
		ID: wheelID(w.Python), Name: wheelJob + " (" + w.Python + ")", Job: wheelJob, Kind: release.Build, Pool: release.FetchPool,
		Matrix: map[string]string{"python": w.Python}, Stage: "build-1", Retry: o.retries(), Priority: o.Priority,
		Timeouts: release.Timeouts{Queue: release.Duration(wait), Command: release.Duration(time.Hour)}, TimeoutS: time.Hour.Seconds(),
		Fetch:   plan.Fetch{URL: w.URL, Every: release.Duration(await.Every), Commit: o.Wheels.Commit},
		Outputs: []plan.Output{{Type: wheelJob, Path: globbed(w.URL), StampIn: "ray/{_version,__init__}.py"}},
		Why:     why,
	}
}

func wheelID(python string) release.TaskID {
	return release.TaskID(wheelJob + "-" + strings.ReplaceAll(python, ".", "_"))
}

// globbed is a glob that matches the file of a URL: any wheel, and of what is not named so, anything.
func globbed(address string) string {
	if u, err := url.Parse(address); err == nil && path.Ext(u.Path) == ".whl" {
		return "*.whl"
	}
	return "*"
}

// under makes a task one that needs the wheel under test.
func (o TaskOptions) under(t *plan.Task, python string) {
	if o.Wheels == nil {
		return
	}
	wheel, _ := o.Wheels.For(python)
	t.Needs = append(t.Needs, wheelID(python))
	t.Inputs = append(t.Inputs, plan.Input{Job: wheelJob, From: []release.TaskID{wheelID(python)}})
	for name, value := range map[string]string{
		"RAY_WHEELS": wheel.URL, "RAY_COMMIT": string(o.Wheels.Commit), "RAY_BRANCH": o.Wheels.Branch, "RAY_VERSION": o.Wheels.Version,
	} {
		if value != "" {
			t.Variables[name] = value
		}
	}
}

// parameterWheels are the wheels that whoever starts a run asks for, before what its definition says.
const parameterWheels = "ray_wheels"

// wanted is which wheels a change's tests want; with false, none.
func (in *included) wanted(asked plan.Asked) (wheels.Wanted, bool, error) {
	spec, given := in.wheels, in.wheels != nil
	if text, asks := asked.Change.Parameters[parameterWheels]; asks {
		spec, given = &text, true
	}
	if !given {
		return wheels.Wanted{}, false, nil
	}
	selection, _, err := in.selected(asked)
	if err != nil {
		return wheels.Wanted{}, false, err
	}
	return wheels.Wanted{Spec: *spec, CI: ciOf(asked.Change), Pythons: Pythons(selection.Steps)}, true, nil
}

// ciOf is a change as a CI of Ray's would tell it.
func ciOf(c release.Change) wheels.CI {
	ci := wheels.CI{Commit: string(c.Commit), Branch: c.Branch}
	if c.Kind == release.PullRequest && c.HeadRef != "" {
		owner, _, _ := strings.Cut(c.HeadRepo, "/")
		ci.Branch, ci.PullRequestRepo = c.HeadRef, c.HeadRepo
		if owner != "" {
			ci.Branch = owner + ":" + c.HeadRef
		}
	}
	return ci
}

// Asks implements plan.Asker: which wheels are under test is for git and servers to say.
func (in *included) Asks(asked plan.Asked) ([]string, error) {
	want, some, err := in.wanted(asked)
	if err != nil || !some {
		return nil, err
	}
	return []string{want.Question()}, nil
}

// found are the wheels under test, as whoever plans has found them.
func (in *included) found(asked plan.Asked) (*wheels.Found, error) {
	want, some, err := in.wanted(asked)
	if err != nil || !some {
		return nil, err
	}
	answer, ok := asked.Answers[want.Question()]
	if asked.Answers == nil {
		return nil, nil // a plan that nobody will run, such as a check of the definition
	}
	if !ok {
		return nil, fault.New(fault.Invalid, "cannot tell which wheels are under test: nobody has looked for %q", want.Spec)
	}
	return wheels.ParseFound(answer)
}
