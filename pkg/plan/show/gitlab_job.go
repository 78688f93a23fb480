package show

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// GitLab's bounds.
const (
	gitlabNeeds      = 50 // of one job; one with more waits for the stages before it instead
	gitlabRetryLimit = 2
	gitlabCaches     = 4 // of one job
	gitlabCacheFiles = 2 // of one cache's key
)

// gitlabJob is one job of a GitLab pipeline.
type gitlabJob struct {
	Stage         string           `json:"stage"`
	Image         string           `json:"image,omitempty"`
	Tags          []string         `json:"tags,omitempty"`
	Needs         []string         `json:"needs,omitempty"`
	Variables     map[string]any   `json:"variables,omitempty"`
	Cache         []gitlabCache    `json:"cache,omitempty"`
	IDTokens      map[string]any   `json:"id_tokens,omitempty"`
	Script        []string         `json:"script"`
	AfterScript   []string         `json:"after_script,omitempty"`
	AllowFailure  bool             `json:"allow_failure,omitempty"`
	Timeout       string           `json:"timeout,omitempty"`
	Retry         *gitlabRetry     `json:"retry,omitempty"`
	ResourceGroup string           `json:"resource_group,omitempty"`
	Artifacts     *gitlabArtifacts `json:"artifacts,omitempty"`
}

type gitlabRetry struct {
	Max  int      `json:"max"`
	When []string `json:"when"`
}

type gitlabCache struct {
	Key   any      `json:"key"`
	Paths []string `json:"paths"`
}

type gitlabArtifacts struct {
	When    string              `json:"when,omitempty"`
	Paths   []string            `json:"paths,omitempty"`
	Reports map[string][]string `json:"reports,omitempty"`
}

func gitlabOf(p *plan.Plan, t *plan.Task, names map[release.TaskID]string) gitlabJob {
	job := gitlabJob{
		Stage: t.Stage, Image: t.Image, Tags: append([]string{t.Pool}, t.Tags...), Variables: gitlabVariables(t),
		AllowFailure: t.SoftFail, Script: gitlabScript(p, t), Retry: gitlabRetries(t.Retry), Artifacts: gitlabOutputs(t),
		Cache: gitlabCacheOf(t), IDTokens: gitlabTokens(t),
	}
	if t.Cleanup != "" && !slices.Contains(t.SkipPhases, "cleanup") {
		job.AfterScript = []string{gitlabPhase(t, t.Cleanup, nil)}
	}
	if len(t.Needs) <= gitlabNeeds {
		for _, id := range t.Needs {
			job.Needs = append(job.Needs, names[id])
		}
	}
	if s := t.TimeoutS + t.Timeouts.Prepare.Std().Seconds(); t.TimeoutS > 0 {
		job.Timeout = fmt.Sprintf("%d seconds", int64(math.Ceil(s)))
	}
	if t.Concurrency != "" && t.GroupLimit <= 1 {
		job.ResourceGroup = gitlabGroup(t.Concurrency)
	}
	return job
}

// gitlabTokens are the identity tokens that the job asks GitLab for: signed by GitLab, with its claims.
func gitlabTokens(t *plan.Task) map[string]any {
	out := map[string]any{}
	for _, token := range t.Tokens {
		out[token.Name] = map[string]any{"aud": token.Audience}
	}
	return out
}

func sorted(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// gitlabGroup is the name of a group in the letters that a resource group may have.
func gitlabGroup(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./", r)) {
			return r
		}
		return '_'
	}, name)
	return cmp.Or(strings.Trim(name, "/"), "_")
}

// gitlabWords maps a class to what GitLab calls such a failure. It does not tell a failed preparation from a failed
// command, so the first is not retried.
func gitlabWords(c release.Class) []string {
	switch c {
	case release.ClassCommand:
		return []string{"script_failure"}
	case release.ClassTimeout:
		return []string{"job_execution_timeout"}
	case release.ClassInfra, release.ClassSetup:
		return []string{"runner_system_failure"}
	case release.ClassInfraTimeout:
		return []string{"stuck_or_timeout_failure"}
	case release.ClassLost:
		return []string{"runner_system_failure", "stuck_or_timeout_failure"}
	case release.ClassUnknown:
		return []string{"unknown_failure"}
	}
	return nil
}

// gitlabRetries maps retries by class.
func gitlabRetries(retry []release.Retry) *gitlabRetry {
	out := &gitlabRetry{}
	for _, r := range retry {
		for _, word := range gitlabWords(r.Class) {
			if r.Limit <= 0 {
				continue
			}
			out.Max = max(out.Max, min(gitlabRetryLimit, int(r.Limit)))
			if !slices.Contains(out.When, word) {
				out.When = append(out.When, word)
			}
		}
	}
	if out.Max == 0 {
		return nil
	}
	return out
}

func gitlabCacheOf(t *plan.Task) []gitlabCache {
	var out []gitlabCache
	for _, c := range t.Caches[:min(len(t.Caches), gitlabCaches)] {
		name := strings.ReplaceAll(gitlabGroup(c.Key), "/", "_")
		one := gitlabCache{Key: name, Paths: []string{c.Path}}
		if len(c.Files) > 0 {
			one.Key = map[string]any{"prefix": name, "files": c.Files[:min(len(c.Files), gitlabCacheFiles)]}
		}
		out = append(out, one)
	}
	return out
}

func gitlabOutputs(t *plan.Task) *gitlabArtifacts {
	out := &gitlabArtifacts{}
	if len(t.Outputs) > 0 {
		out.Paths = []string{gitlabLeft + string(t.ID) + "/"}
	}
	if t.Reports.Results != "" { // They tell most of what failed.
		out.Paths, out.When = append(out.Paths, t.Reports.Results), "always"
	}
	if t.Reports.JUnit != "" {
		out.Reports = map[string][]string{"junit": {t.Reports.JUnit}}
	}
	if out.Paths == nil && out.Reports == nil {
		return nil
	}
	return out
}
