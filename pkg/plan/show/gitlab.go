package show

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// GitLab prints the plan's tasks as a GitLab child pipeline: every row of a matrix is a job of its own, so neither rules
// nor parallel are left to resolve. Below the comments it is JSON, which is YAML too: nothing in a command can then mean
// more than its text. The gate and the targets stay with Sluice; what else GitLab cannot do is told in the comments.
func GitLab(w io.Writer, p *plan.Plan) error {
	b := bufio.NewWriter(w)
	names, list := gitlabNames(p), stages(p)
	if len(p.Tasks) == 0 {
		list = []string{"build-1"}
	}
	for _, line := range gitlabLosses(p) {
		fmt.Fprintf(b, "# %s\n", clean(line))
	}
	// Without rules, GitLab leaves a child's jobs out where a merge request started it.
	fmt.Fprintf(b, "{\n%s: %s,\n%s: %s", text("workflow"), `{"rules":[{"when":"always"}]}`, text("stages"), text(list))
	fmt.Fprintf(b, ",\n%s: %s", text("variables"), text(map[string]string{
		"SLUICE_COMMIT": "$CI_COMMIT_SHA", "SLUICE_BRANCH": gitlabBranch(p), "SLUICE_RUN": "$CI_PIPELINE_ID",
		"SLUICE_INPUTS": "$CI_PROJECT_DIR/" + gitlabLaid,
	}))
	for i := range p.Tasks {
		fmt.Fprintf(b, ",\n%s: %s", text(names[p.Tasks[i].ID]), text(gitlabOf(p, &p.Tasks[i], names)))
	}
	if len(p.Tasks) == 0 {
		// GitLab refuses a pipeline without jobs.
		fmt.Fprintf(b, ",\n%s: %s", text("nothing to do"), text(gitlabJob{Stage: "build-1", Script: []string{"true"}}))
	}
	fmt.Fprintln(b, "\n}")
	return b.Flush()
}

// gitlabBranch is where GitLab names the branch of the change; of a pull request its target, of a tag none.
func gitlabBranch(p *plan.Plan) string {
	switch p.Change.Kind {
	case release.PullRequest, release.Comment:
		return "$CI_MERGE_REQUEST_TARGET_BRANCH_NAME"
	case release.Tag:
		return ""
	}
	return "$CI_COMMIT_BRANCH"
}

// gitlabKeywords mean something else at the top of a pipeline than a job.
func gitlabKeywords() []string {
	return []string{
		"image", "services", "stages", "types", "before_script", "after_script", "variables", "cache", "include", "default", "workflow",
		"spec", "pages", "true", "false", "nil",
	}
}

const gitlabNameLength = 255

// gitlabNames are what the jobs are called: as their tasks, unless that is a keyword, hides the job, or is taken.
func gitlabNames(p *plan.Plan) map[release.TaskID]string {
	names, taken := make(map[release.TaskID]string, len(p.Tasks)), map[string]bool{}
	for _, t := range p.Tasks {
		name := t.Name
		if slices.Contains(gitlabKeywords(), name) || strings.HasPrefix(name, ".") || len(name) > gitlabNameLength || taken[name] || name == "" {
			name = string(t.Kind) + ": " + string(t.ID)
		}
		taken[name], names[t.ID] = true, name
	}
	return names
}

// gitlabLosses says what the pipeline does not do as the plan does, each with some of the tasks that it is lost for.
func gitlabLosses(p *plan.Plan) []string {
	losses := []struct {
		what string
		lost func(*plan.Task) bool
	}{
		{"a report that is missing, or tells of no test, fails nothing:", func(t *plan.Task) bool { return t.Reports != (plan.Reports{}) }},
		{"nobody looks that outputs carry the commit, of", func(t *plan.Task) bool {
			return slices.ContainsFunc(t.Outputs, func(o plan.Output) bool { return o.Stamped })
		}},
		{"a group of more than one at once has no form, and no limit, for", func(t *plan.Task) bool { return t.Concurrency != "" && t.GroupLimit > 1 }},
		{"more needs than GitLab takes: the stages before are waited for, by", func(t *plan.Task) bool { return len(t.Needs) > gitlabNeeds }},
		{"identity tokens are signed by GitLab, with its own claims, for", func(t *plan.Task) bool { return len(t.Tokens) > 0 }},
		{"GitLab leases no places for", func(t *plan.Task) bool { return t.Lease.Wanted() }},
		{"to reach the timeout is no success for", func(t *plan.Task) bool { return t.LongRunning }},
		{"GitLab has no priorities for", func(t *plan.Task) bool { return t.Priority != 0 }},
		{"GitLab retries at most twice, without a wait:", func(t *plan.Task) bool { return retriesMore(t.Retry) }},
	}
	out := []string{"Written by sluice plan --format gitlab. The gate and what is published stay with Sluice."}
	var secrets []string
	for _, t := range p.Tasks {
		secrets = append(secrets, t.Secrets...)
	}
	if len(secrets) > 0 {
		out = append(out, "secrets are variables of the project: set "+some(secrets))
	}
	for _, l := range losses {
		var names []string
		for i := range p.Tasks {
			if l.lost(&p.Tasks[i]) {
				names = append(names, p.Tasks[i].Name)
			}
		}
		if len(names) > 0 {
			out = append(out, l.what+" "+some(names))
		}
	}
	return out
}

// some lists the first of some names, each once.
func some(names []string) string {
	const most = 8
	slices.Sort(names)
	if names = slices.Compact(names); len(names) > most {
		names = append(names[:most:most], fmt.Sprintf("… %d in all", len(names)))
	}
	return strings.Join(names, ", ")
}

func retriesMore(retry []release.Retry) bool {
	return slices.ContainsFunc(retry, func(r release.Retry) bool { return r.Limit > gitlabRetryLimit })
}

// gitlabVariables are a task's variables, which GitLab is not to expand.
func gitlabVariables(t *plan.Task) map[string]any {
	values := maps.Clone(t.Variables)
	if values == nil {
		values = map[string]string{}
	}
	for key, value := range t.Matrix {
		values["SLUICE_MATRIX_"+strings.Map(variableRune, key)] = value
	}
	values["SLUICE_TASK"] = string(t.ID)
	if t.Checkout == "none" {
		values["GIT_STRATEGY"] = "none"
	}
	out := make(map[string]any, len(values))
	for name, value := range values {
		out[name] = value
		if strings.Contains(value, "$") {
			out[name] = gitlabValue{Value: value}
		}
	}
	return out
}

// gitlabValue is a variable whose dollars stay as they are.
type gitlabValue struct {
	Value  string `json:"value"`
	Expand bool   `json:"expand"`
}

func variableRune(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z':
		return r - 'a' + 'A'
	case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return r
	}
	return '_'
}

// text is a value as JSON, its commands as they were written; the values here are strings, numbers and lists of them, which
// always have a form.
func text(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "null"
	}
	return strings.TrimSpace(b.String())
}
