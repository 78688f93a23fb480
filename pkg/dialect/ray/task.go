package ray

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/dialect/ray/outcome"
	"github.com/sluiceci/sluice/pkg/dialect/ray/wheels"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// TaskOptions are what tests do not say about where and how they run.
type TaskOptions struct {
	Pool        string            // empty: whoever asks chooses it
	Provider    string            // of clusters; empty: no lease is asked for
	Environment string            // of every test, instead of its own
	Variables   map[string]string // set by the caller: before what the environment's file says
	Priority    int32
	NoLimits    bool // no concurrency groups
	Backoff     Backoff
	Wheels      *wheels.Found // under test; nil: none are fetched
	WheelWait   time.Duration // until they must be there; Ray's two hours when 0
}

// Backoff is the shortest and the longest wait before what the platform did is tried again.
type Backoff struct{ Min, Max time.Duration }

// ParseBackoff reads "30m..90m".
func ParseBackoff(s string) (Backoff, error) {
	low, high, found := strings.Cut(s, "..")
	least, err := time.ParseDuration(low)
	most, err2 := time.ParseDuration(high)
	if !found || err != nil || err2 != nil || least < 0 || most < least || most == 0 || most > 30*24*time.Hour {
		return Backoff{}, fault.New(fault.Invalid, "cannot read back-off %.60q, expected the shortest and the longest wait: 30m..90m", s)
	}
	return Backoff{least, most}, nil
}

// Tasks makes the tasks of a plan of what was selected.
func (s *Suite) Tasks(steps []Step, o TaskOptions) ([]plan.Task, error) {
	tasks := make([]plan.Task, 0, len(steps))
	used := map[release.TaskID]bool{}
	next := map[string]int{} // by file and name: the first number that no id was made with
	for _, python := range Pythons(steps) {
		used[wheelID(python)] = o.Wheels != nil
	}
	atOnce := limits(steps)
	for _, step := range steps {
		environment, err := s.ChooseEnvironment(o.Environment, step.Test)
		if err != nil {
			return nil, err
		}
		t := task(step, environment, o, atOnce[step.Test.Budget().Group])
		if used[t.ID] {
			t.ID = release.TaskID(release.Slug(string(t.ID) + "-" + release.Derive(step.Test.File, strconv.Itoa(step.Test.Line), t.Name)[:8]))
		}
		same := step.Test.File + "\x00" + t.Name
		for i := max(2, next[same]); used[t.ID]; i++ {
			t.ID = release.TaskID(release.Derive(step.Test.File, t.Name, strconv.Itoa(i)))
			next[same] = i + 1
		}
		used[t.ID] = true
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// task makes the task of one run of a test.
func task(step Step, environment Environment, o TaskOptions, atOnce int64) plan.Task {
	t := step.Test
	name := t.Label(step)
	out := plan.Task{
		ID: taskID(name), Name: name, Job: t.Definition, Kind: release.Test, Pool: o.Pool, Matrix: t.Matrix,
		Variables: t.placed(Layer(t.variables(), environment.Variables, o.Variables)), Tags: t.tags(environment.Name),
		Resources: t.resources(), TimeoutS: float64(max(t.Run.Timeout, 0)), Timeouts: t.timeouts(), Retry: t.retries(o.retries()),
		Stage: "test-1", Smoke: t.IsSmoke, Group: t.Group, Team: t.Team, Owner: t.Team, Frequency: string(t.Frequency),
		Priority: o.Priority, SoftFail: !t.Stable && t.rules.SoftUnstable, Stable: t.Stable, Prepare: t.Run.Prepare, Run: t.script(),
		LongRunning: t.Run.LongRunning, Directory: t.Directory(), Outputs: t.outputs(), Why: step.Why,
	}
	o.under(&out, t.Python)
	if !o.NoLimits {
		out.Concurrency, out.GroupLimit = t.Budget().Group, int32(atOnce)
		out.Why += "; " + t.sizeText()
	}
	if o.Provider != "" {
		out.Lease = release.LeaseRequest{Provider: o.Provider, Nodes: int32(min(max(t.Nodes(), 1), maxNodes))}
	}
	return out
}

// Label is the name of one run of a test, for people.
func (t *Test) Label(step Step) string {
	name := t.Name
	if t.IsSmoke {
		name += " [smoke test]"
	}
	if step.Of > 1 {
		name += fmt.Sprintf(" (%d)", step.Run)
	}
	return name
}

// taskID makes an id of a name: "microbenchmark.aws (1)" is "microbenchmark_aws_1".
func taskID(name string) release.TaskID {
	out := make([]byte, 0, len(name))
	for _, r := range name {
		switch {
		case r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
			out = append(out, byte(r))
		case len(out) > 0 && out[len(out)-1] != '_':
			out = append(out, '_')
		}
	}
	for len(out) > 0 && out[len(out)-1] == '_' {
		out = out[:len(out)-1]
	}
	if len(out) == 0 {
		return release.TaskID("test-" + release.Derive(name)[:8])
	}
	return release.TaskID(release.Slug(string(out)))
}

// tags say what a test needs of the place that it runs at.
func (t *Test) tags(environment string) []string {
	return []string{"env:" + environment, "python:" + t.Python, "byod:" + t.Cluster.Byod.Type, "type:" + t.Run.Type, "queue:" + t.queue()}
}

// placed adds where a test's cluster is, of what the test says itself and of the defaults of its environment.
func (t *Test) placed(variables map[string]string) map[string]string {
	for _, one := range []struct{ name, own, fallback string }{
		{"ANYSCALE_CLOUD_ID", t.Cluster.CloudID, "RELEASE_DEFAULT_CLOUD_ID"}, {"ANYSCALE_PROJECT", t.Cluster.ProjectID, "RELEASE_DEFAULT_PROJECT"},
	} {
		value := cmp.Or(one.own, variables[one.name], variables[one.fallback])
		if value != "" {
			variables[one.name] = value
		}
	}
	return variables
}

// script is the command, with the artifact of the test kept when it ends where that is outside of the working directory. It is
// kept from where the command runs.
func (t *Test) script() string {
	p := t.Run.ArtifactPath
	if p == "" || len(t.outputs()) > 0 {
		return t.Command()
	}
	keep := "if test -e " + quoted(p) + "; then cp -R " + quoted(p) + ` "$SLUICE_ARTIFACTS/" || true; fi`
	return "trap " + quoted(keep) + " EXIT\n" + t.Command()
}

// retries are those of the suite; a test that says how often its failures are tried again gets so many of each, of its command's
// own too.
func (t *Test) retries(list []release.Retry) []release.Retry {
	n := int32(min(max(t.Run.Retries, 0), maxRetries))
	if n == 0 {
		return list
	}
	for i := range list {
		list[i].Limit = n
	}
	return append(list, release.Retry{Class: release.ClassCommand, Limit: n})
}

const maxRetries = 100

func (t *Test) resources() map[string]float64 {
	out := map[string]float64{}
	for name, n := range map[string]int64{"cpu": t.Cluster.Size.CPUs, "gpu": t.Cluster.Size.GPUs, "nodes": t.Nodes()} {
		if n > 0 {
			out[name] = float64(n)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// variables are what the test itself sets: the environment of its image, and under names that begin with RAY_TEST what else a
// provider of clusters, an image builder or a reporter finds nowhere else in a task. What does not apply is left out.
func (t *Test) variables() map[string]string {
	out := Layer(t.Cluster.Byod.RuntimeEnv)
	for name, value := range map[string]string{
		"NAME": t.Name, "PYTHON": t.Python, "ALERT": t.Alert, "COMPUTE": t.ComputePath(), "ARTIFACT_PATH": t.Run.ArtifactPath,
		"CLOUD_NAME": cmp.Or(t.Cluster.Cloud, t.Cluster.CloudName), "PROJECT_ID": t.Cluster.ProjectID, "RAY_VERSION": t.Cluster.RayVersion,
		"IMAGE_LOCK": t.Cluster.Byod.Depset, "CLUSTER_ENV": t.Cluster.Env, "AUTOSUSPEND_MINS": number64(t.AutosuspendMins()),
		"IMAGE_TYPE": t.Cluster.Byod.Type, "IMAGE_SCRIPT": t.Cluster.Byod.PostBuildScript, "IMAGE_PIP": strings.Join(t.Cluster.Byod.Pip, "\n"),
	} {
		if value != "" {
			out["RAY_TEST_"+name] = value
		}
	}
	if t.IsSmoke {
		out["IS_SMOKE_TEST"] = "1"
	}
	if w := t.Run.Wait; w != nil {
		out["RAY_TEST_WAIT_NODES"], out["RAY_TEST_WAIT_TIMEOUT"] = number64(w.Nodes), number64(w.Timeout)
	}
	if t.Run.Prepare != "" {
		out["RAY_TEST_PREPARE_TIMEOUT"] = number64(t.Run.PrepareTimeout)
	}
	return out
}

// timeouts bound the command by the test's own timeout, and what goes before it by the times for nodes and for the prepare
// command.
func (t *Test) timeouts() release.Timeouts {
	seconds := func(n int64) release.Duration {
		return release.Duration(time.Duration(min(max(n, 0), 1<<31)) * time.Second)
	}
	return release.Timeouts{Command: seconds(t.Run.Timeout), Nodes: seconds(t.WaitTimeout()), Prepare: seconds(t.Run.PrepareTimeout)}
}

// retries are by cause: what the platform did is tried again, at most once and after 30 to 90 minutes where it is a matter of
// capacity, or after the back-off that is asked for; what the test did never is.
func (o TaskOptions) retries() []release.Retry {
	list := outcome.Retries()
	for i, r := range list {
		if o.Backoff.Max > 0 && r.Max > 0 {
			list[i].Backoff, list[i].Wait, list[i].Max = release.Random, release.Duration(o.Backoff.Min), release.Duration(o.Backoff.Max)
		}
	}
	return list
}

// outputs is the artifact of a test that leaves one in its working directory; one elsewhere is the cluster's to hand over.
func (t *Test) outputs() []plan.Output {
	p := t.Run.ArtifactPath
	if at := path.Join(t.Directory(), p); p != "" && !path.IsAbs(p) && fs.ValidPath(at) {
		return []plan.Output{{Type: "artifact", Path: at, Optional: true}}
	}
	return nil
}

// sizeText explains a concurrency group.
func (t *Test) sizeText() string {
	group := t.Budget().Group
	if t.Cluster.Unknown != "" {
		return fmt.Sprintf("concurrency group %s: %s", group, t.Cluster.Unknown)
	}
	return fmt.Sprintf("concurrency group %s: %d vCPUs, %d GPUs", group, t.Cluster.Size.CPUs, t.Cluster.Size.GPUs)
}
