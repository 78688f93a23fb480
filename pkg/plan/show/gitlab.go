package show

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// gitlabNeeds is how many needs GitLab takes for one job; one with more waits for the stages before it instead.
const gitlabNeeds = 50

// gitlabJob is one job of a GitLab pipeline.
type gitlabJob struct {
	Stage        string            `json:"stage"`
	Image        string            `json:"image,omitempty"`
	Tags         []string          `json:"tags,omitempty"`
	Needs        []string          `json:"needs,omitempty"`
	Variables    map[string]string `json:"variables,omitempty"`
	Script       []string          `json:"script"`
	AllowFailure bool              `json:"allow_failure,omitempty"`
	Timeout      string            `json:"timeout,omitempty"`
	Retry        *gitlabRetry      `json:"retry,omitempty"`
	Artifacts    *gitlabArtifacts  `json:"artifacts,omitempty"`
}

type gitlabRetry struct {
	Max  int      `json:"max"`
	When []string `json:"when"`
}

type gitlabArtifacts struct {
	Paths   []string            `json:"paths,omitempty"`
	Reports map[string][]string `json:"reports,omitempty"`
}

// GitLab prints the plan's tasks as a GitLab child pipeline. It is JSON, which is YAML too: nothing in a command can
// then mean more than its text. The gate and the targets stay with Sluice.
func GitLab(w io.Writer, p *plan.Plan) error {
	b := bufio.NewWriter(w)
	names := map[release.TaskID]string{}
	for _, t := range p.Tasks {
		names[t.ID] = t.Name
	}
	list := stages(p)
	if len(p.Tasks) == 0 {
		list = []string{"build-1"}
	}
	fmt.Fprintf(b, "{\n%s: %s", text("stages"), text(list))
	for i := range p.Tasks {
		fmt.Fprintf(b, ",\n%s: %s", text(p.Tasks[i].Name), text(gitlabOf(&p.Tasks[i], names)))
	}
	if len(p.Tasks) == 0 {
		// GitLab refuses a pipeline without jobs.
		fmt.Fprintf(b, ",\n%s: %s", text("nothing to do"), text(gitlabJob{Stage: "build-1", Script: []string{"true"}}))
	}
	fmt.Fprintln(b, "\n}")
	return b.Flush()
}

func gitlabOf(t *plan.Task, names map[release.TaskID]string) gitlabJob {
	job := gitlabJob{
		Stage: t.Stage, Image: t.Image, Tags: append([]string{t.Pool}, t.Tags...), Variables: t.Variables, AllowFailure: t.SoftFail,
	}
	if t.Prepare != "" {
		job.Script = append(job.Script, t.Prepare)
	}
	run := t.Run
	if t.Directory != "" {
		run = "cd " + shellQuote(t.Directory) + "\n" + run
	}
	job.Script = append(job.Script, run)
	if len(t.Needs) <= gitlabNeeds {
		for _, id := range t.Needs {
			job.Needs = append(job.Needs, names[id])
		}
	}
	if t.TimeoutS > 0 {
		job.Timeout = fmt.Sprintf("%d seconds", int64(math.Ceil(t.TimeoutS)))
	}
	job.Retry, job.Artifacts = gitlabRetries(t.Retry), gitlabOutputs(t)
	return job
}

// gitlabRetries maps classes to GitLab's; GitLab retries at most twice.
func gitlabRetries(retry []release.Retry) *gitlabRetry {
	words := map[release.Class][]string{
		release.ClassCommand: {"script_failure"}, release.ClassTimeout: {"job_execution_timeout"},
		release.ClassInfra: {"runner_system_failure"}, release.ClassInfraTimeout: {"stuck_or_timeout_failure"},
		release.ClassLost: {"stuck_or_timeout_failure"},
	}
	out := &gitlabRetry{}
	seen := map[string]bool{}
	for _, r := range retry {
		for _, word := range words[r.Class] {
			if r.Limit > 0 && !seen[word] {
				seen[word] = true
				out.When = append(out.When, word)
				out.Max = max(out.Max, min(2, int(r.Limit)))
			}
		}
	}
	if out.Max == 0 {
		return nil
	}
	return out
}

func gitlabOutputs(t *plan.Task) *gitlabArtifacts {
	out := &gitlabArtifacts{}
	for _, o := range t.Outputs {
		out.Paths = append(out.Paths, o.Path)
	}
	if t.Reports.JUnit != "" {
		out.Reports = map[string][]string{"junit": {t.Reports.JUnit}}
	}
	if out.Paths == nil && out.Reports == nil {
		return nil
	}
	return out
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// text is a value as JSON; the values here are strings, numbers and lists of them, which always have a form.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "null"
	}
	return string(b)
}
