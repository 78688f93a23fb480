package main

import (
	"context"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/definition"
	"github.com/sluiceci/sluice/pkg/planner"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/services/builder"
)

// texts is a host with files in memory.
type texts map[string]string

func (t texts) Glob(context.Context, definition.Repo, string) ([]string, error) { return nil, nil }

func (t texts) Read(_ context.Context, _ definition.Repo, name string, _ int64) ([]byte, error) {
	text, ok := t[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return []byte(text), nil
}

func (t texts) Request(context.Context) (definition.Request, error) {
	return definition.Request{Change: aPush()}, nil
}

func (t texts) Answers(context.Context, []definition.Question) (map[string]string, error) {
	return nil, nil
}

func aPush() release.Change {
	return release.Change{Kind: release.Push, Repo: "a/b", Branch: "master", Ref: "refs/heads/master", Commit: release.Commit(strings.Repeat("a", 40))}
}

// TestTheBuilderPlansInAnotherProcess: of this program, with its dialects. The template is one that the engine's lexer never
// comes to the end of.
func TestTheBuilderPlansInAnotherProcess(t *testing.T) {
	t.Parallel()
	planners, err := newPlanners(builder.Config{PlanTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(planners.Close)
	const suite = `- {name: t, group: g, working_dir: w, frequency: nightly, team: core, cluster: {byod: {}, cluster_compute: c.yaml},
   run: {timeout: 60, script: python x.py}}
`
	const definitionText = "project: one\nbuilds: {a: {run: 'true'}}\ntests: {include: [{ray: r.yaml, options: {frequency: nightly}}]}\ngate: {require: [builds]}\n"
	job := planner.Job{File: "sluice.yaml", Text: []byte(definitionText), Change: aPush()}
	for compute, want := range map[string]string{"region: {{ 6 }}\n": "", "region: {{6.é}}\n": "cannot read this expression"} {
		outcome, err := planners.Plan(t.Context(), job, texts{"r.yaml": suite, "w/c.yaml": compute})
		if err != nil || outcome.Plan == nil || len(outcome.Plan.Tasks) != 2 {
			t.Fatalf("%s: %+v, %v", compute, outcome, err)
		}
		if why := outcome.Plan.Tasks[1].Why; !strings.Contains(why, want) || strings.Contains(why, "broken") != (want != "") {
			t.Errorf("%s: the test's task is there because %s", compute, why)
		}
	}
}
