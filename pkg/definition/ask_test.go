package definition_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sluiceci/sluice/pkg/definition"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// curious is a dialect whose one test needs what it fetches, from where somebody else knows.
type curious struct{}

func (curious) Read(plan.Included) (plan.Suite, error) { return curious{}, nil }
func (curious) Asks(asked plan.Asked) ([]string, error) {
	return []string{"where is " + asked.Change.Branch}, nil
}

func (curious) Tasks(asked plan.Asked) (plan.Imported, error) {
	at, known := asked.Answers["where is "+asked.Change.Branch]
	if !known {
		return plan.Imported{}, fmt.Errorf("nobody knows")
	}
	return plan.Imported{Tasks: []plan.Task{
		{
			ID: "it", Name: "it", Job: "it", Pool: release.FetchPool, Fetch: plan.Fetch{URL: at}, Outputs: []plan.Output{{Type: "it", Path: "*"}},
			Matrix: map[string]string{"n": "1"},
		},
		{
			ID: "test", Name: "test", Run: "make", Stable: true, Needs: []release.TaskID{"it"},
			Inputs: []plan.Input{{Job: "it", From: []release.TaskID{"it"}}},
		},
	}}, nil
}

// TestASuiteAsksAndFetches: what a dialect must know is asked before its tasks are made, what it fetches is a build, and
// each of two includes has its own.
func TestASuiteAsksAndFetches(t *testing.T) {
	t.Parallel()
	o := options()
	o.Dialects = map[string]plan.Dialect{"curious": curious{}}
	text := "project: p\ninclude: [{curious: dialect/a.lines}, {curious: dialect/a.lines, name: more, secrets: [KEY]}]\npools: [{name: any}]\ngate: {require: [tests]}\n"
	def, err := definition.Load(t.Context(), "sluice.yaml", []byte(text), o)
	if err != nil {
		t.Fatal(err)
	}
	req := definition.Request{Change: release.Change{Kind: release.Push, Repo: "a/b", Branch: "master", Ref: "refs/heads/master", Commit: commit}}
	questions := definition.Questions(def, req)
	if want := (definition.Question{Dialect: "curious", Text: "where is master"}); len(questions) != 2 || questions[0] != want {
		t.Fatalf("asked %v, want %v", questions, want)
	}
	if _, err := definition.Resolve(def, req); err == nil {
		t.Error("resolved without an answer")
	}
	req.Answers = map[string]string{questions[0].Text: "https://x.test/it.bin"}
	p, err := definition.Resolve(def, req)
	if err != nil {
		t.Fatal(err)
	}
	fetched := map[release.TaskID]bool{}
	for _, task := range p.Tasks {
		if task.Fetch.Wanted() {
			fetched[task.ID] = true
			if task.Kind != release.Build || task.Pool != release.FetchPool || task.Stage != "build-1" || len(task.Secrets) > 0 || slices.Contains(p.Gate.Tests, task.ID) {
				t.Errorf("fetched by %+v", task)
			}
		}
	}
	for _, task := range p.Tasks {
		if !task.Fetch.Wanted() && (len(task.Needs) != 1 || !fetched[task.Needs[0]] || len(task.Inputs) != 1 || task.Inputs[0].From[0] != task.Needs[0]) {
			t.Errorf("tested by %+v, want what its own suite fetches", task)
		}
	}
	if len(fetched) != 2 || len(p.Gate.Tests) != 2 {
		t.Errorf("%d are fetched, the gate demands %v", len(fetched), p.Gate.Tests)
	}
}
