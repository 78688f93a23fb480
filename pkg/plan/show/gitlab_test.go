package show_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/plan/show"
	"github.com/sluiceci/sluice/pkg/release"
)

// pipelineOf reads what is printed for GitLab as GitLab does: as YAML.
func pipelineOf(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var out map[string]any
	if err := yaml.Unmarshal(text, &out); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return out
}

func gitlab(t *testing.T, tasks ...plan.Task) (doc map[string]any, comments string) {
	t.Helper()
	var b bytes.Buffer
	if err := show.GitLab(&b, &plan.Plan{Tasks: tasks}); err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(b.String(), "\n{")
	return pipelineOf(t, b.Bytes()), head
}

// checkPipeline holds what GitLab demands of any pipeline: jobs of known stages, needs that are there and in no later stage.
func checkPipeline(t *testing.T, doc map[string]any, jobs int) {
	t.Helper()
	stages := doc["stages"].([]any)
	found := 0
	for name, value := range doc {
		job, is := value.(map[string]any)
		if !is || job["script"] == nil {
			continue
		}
		found++
		at := slices.Index(stages, job["stage"])
		if at < 0 {
			t.Errorf("%s is in the stage %v, expected one of %v", name, job["stage"], stages)
		}
		needs, _ := job["needs"].([]any)
		for _, n := range needs {
			other, is := doc[n.(string)].(map[string]any)
			if !is || slices.Index(stages, other["stage"]) > at {
				t.Errorf("%s needs %v, which is no job of its stage or an earlier one", name, n)
			}
		}
	}
	if found != jobs {
		t.Errorf("found %d jobs, expected %d", found, jobs)
	}
}

func TestGitLabJobs(t *testing.T) {
	doc, comments := gitlab(t,
		plan.Task{ID: "image", Name: "image", Kind: release.Build, Stage: "build-1", Pool: "p", Run: "make"},
		plan.Task{ID: "a", Name: "same", Kind: release.Build, Stage: "build-1", Pool: "p", Run: "make"},
		plan.Task{
			ID: "b", Name: "same", Kind: release.Test, Stage: "test-1", Pool: "p", Run: "make", Needs: []release.TaskID{"image", "a"},
			Concurrency: "lab/rack 1", GroupLimit: 1, Timeouts: release.Timeouts{Prepare: release.Duration(30e9)}, TimeoutS: 60,
			Variables: map[string]string{"A": "$HOME", "B": "b"}, Matrix: map[string]string{"py-v": "3"}, Cleanup: "rm -rf x", Checkout: "none",
			Caches: []plan.Cache{{Key: "pip", Files: []string{"lock.txt"}, Path: ".pip"}}, Secrets: []string{"TOKEN"},
			Retry: []release.Retry{
				{Class: release.ClassCommand, Limit: 1}, {Class: release.ClassInfra, Limit: 3}, {Class: release.ClassTimeout}, {Class: release.ClassPrepare, Limit: 1},
			},
			Variants: []plan.Variant{{Name: "1", Variables: map[string]string{"N": "it's"}}, {Name: "2", Variables: map[string]string{"N": "2"}}},
		},
		plan.Task{ID: "c", Name: "c", Kind: release.Test, Stage: "test-1", Pool: "p", Run: "make", Concurrency: "g", GroupLimit: 3, LongRunning: true},
	)
	checkPipeline(t, doc, 4)
	want := map[string]any{
		"stage": "test-1", "tags": []any{"p"}, "needs": []any{"build: image", "same"}, "resource_group": "lab/rack_1", "timeout": "90 seconds",
		"variables":    map[string]any{"A": map[string]any{"value": "$HOME", "expand": false}, "B": "b", "GIT_STRATEGY": "none", "SLUICE_MATRIX_PY_V": "3", "SLUICE_TASK": "b"},
		"script":       []any{`N='it'\''s' sh -euc 'make'`, `N='2' sh -euc 'make'`},
		"after_script": []any{"sh -euc 'rm -rf x'"}, "retry": map[string]any{"max": uint64(2), "when": []any{"script_failure", "runner_system_failure"}},
		"cache": []any{map[string]any{"key": map[string]any{"prefix": "pip", "files": []any{"lock.txt"}}, "paths": []any{".pip"}}},
	}
	if diff := cmp.Diff(want, doc["test: b"]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, lost := range []string{"set TOKEN", "no limit, for c", "no success for c", "at most twice, without a wait: same"} {
		if !strings.Contains(comments, lost) {
			t.Errorf("the comments do not say %q:\n%s", lost, comments)
		}
	}
}

// TestGitLabNeeds shows that a job with more needs than GitLab takes waits for its stages instead.
func TestGitLabNeeds(t *testing.T) {
	last := plan.Task{ID: "last", Name: "last", Kind: release.Test, Stage: "test-1", Run: "x"}
	var tasks []plan.Task
	for i := range 51 {
		id := release.TaskID(fmt.Sprint("t", i))
		tasks, last.Needs = append(tasks, plan.Task{ID: id, Name: string(id), Kind: release.Build, Stage: "build-1", Run: "x"}), append(last.Needs, id)
	}
	doc, comments := gitlab(t, append(tasks, last)...)
	checkPipeline(t, doc, 52)
	if doc["last"].(map[string]any)["needs"] != nil || !strings.Contains(comments, "waited for, by last") {
		t.Errorf("got %v, %s", doc["last"], comments)
	}
}

func TestGitLabSample(t *testing.T) {
	var b bytes.Buffer
	if err := show.GitLab(&b, sample()); err != nil {
		t.Fatal(err)
	}
	checkPipeline(t, pipelineOf(t, b.Bytes()), len(sample().Tasks))
}

// TestGitLabPlans prints every plan that the definition's cases resolve to.
func TestGitLabPlans(t *testing.T) {
	files, err := filepath.Glob("../../definition/testdata/*.golden")
	if err != nil || len(files) < 60 {
		t.Fatalf("found %d plans (%v), expected at least 60", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, doc, _ := strings.Cut(string(text), "\n")
		var p plan.Plan
		if !strings.HasPrefix(doc, "{") || json.Unmarshal([]byte(doc), &p) != nil {
			continue // problems, or a table
		}
		var b bytes.Buffer
		if err := show.GitLab(&b, &p); err != nil {
			t.Fatal(err)
		}
		checkPipeline(t, pipelineOf(t, b.Bytes()), max(1, len(p.Tasks)))
	}
}

// TestGitLabSignsTokens: a job asks GitLab for the tokens that its task asks Sluice for.
func TestGitLabSignsTokens(t *testing.T) {
	t.Parallel()
	doc, comments := gitlab(t, plan.Task{
		ID: "deploy", Name: "deploy", Stage: "build-1", Pool: "linux", Run: "true",
		Tokens: []plan.IDToken{{Name: "CLOUD", Audience: []string{"https://cloud.test"}}, {Name: "VAULT", Audience: []string{"a", "b"}}},
	})
	want := map[string]any{"CLOUD": map[string]any{"aud": []any{"https://cloud.test"}}, "VAULT": map[string]any{"aud": []any{"a", "b"}}}
	if diff := cmp.Diff(want, doc["deploy"].(map[string]any)["id_tokens"]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !strings.Contains(comments, "identity tokens are signed by GitLab, with its own claims, for deploy") {
		t.Errorf("the comments are\n%s", comments)
	}
}
