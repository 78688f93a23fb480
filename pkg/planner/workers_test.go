package planner_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/definition"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/planner"
	"github.com/sluiceci/sluice/pkg/release"
)

// workerVariable makes the test's own program a worker.
const workerVariable = "planner-of-the-test"

func TestMain(m *testing.M) {
	if os.Args[0] != workerVariable {
		os.Exit(m.Run())
	}
	if err := planner.Serve(context.Background(), os.Stdin, os.Stdout, language()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// language has a dialect that does what hostile files might make one do.
func language() planner.Here { return planner.Here{Dialects: map[string]plan.Dialect{"bad": bad{}}} }

type bad struct{}

func (bad) Read(in plan.Included) (plan.Suite, error) {
	text, err := in.Open(in.Files[0])
	if err != nil {
		return nil, err
	}
	switch string(text) {
	case "loop":
		for {
		}
	case "eat":
		var all [][]byte
		for {
			all = append(all, make([]byte, 16<<20))
			clear(all[len(all)-1])
		}
	case "die":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	return bad{}, nil
}

func (bad) Asks(plan.Asked) ([]string, error) { return []string{"what?"}, nil }

func (bad) Tasks(asked plan.Asked) (plan.Imported, error) {
	return plan.Imported{Tasks: []plan.Task{{ID: "t", Name: "t-" + release.Slug(asked.Answers["what?"]), Kind: release.Test, Run: "true"}}}, nil
}

// files is a host with files in memory.
type files struct {
	texts  map[string]string
	failed error
}

func (f files) Glob(context.Context, definition.Repo, string) ([]string, error) {
	return []string{"f.bad"}, f.failed
}

func (f files) Read(_ context.Context, _ definition.Repo, name string, _ int64) ([]byte, error) {
	text, ok := f.texts[name]
	if !ok && f.failed == nil {
		return nil, fmt.Errorf("no %s: %w", name, fs.ErrNotExist)
	}
	return []byte(text), f.failed
}

func (f files) Request(context.Context) (definition.Request, error) {
	return definition.Request{Change: change()}, f.failed
}

func (f files) Answers(_ context.Context, questions []definition.Question) (map[string]string, error) {
	return map[string]string{questions[0].Text: "forty-two"}, f.failed
}

func change() release.Change {
	return release.Change{Kind: release.Push, Branch: "master", Ref: "refs/heads/master", Commit: release.Commit(strings.Repeat("a", 40))}
}

const included = "project: x\nbuilds: {a: {run: make}}\ntests: {include: [{bad: \"*.bad\"}]}\ngate: {require: [builds]}\n"

func job(text string) planner.Job {
	return planner.Job{File: "sluice.yaml", Text: []byte(text), Change: change()}
}

func workers(t *testing.T, timeout time.Duration) *planner.Workers {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := planner.New(planner.Options{Command: []string{self}, Args0: workerVariable, Timeout: timeout})
	t.Cleanup(w.Close)
	return w
}

// maker is what the builder wants of a planner.
type maker interface {
	Plan(context.Context, planner.Job, planner.Host) (planner.Outcome, error)
}

// TestPlansAreTheSameThereAndHere is the suite of both ways to make a plan.
func TestPlansAreTheSameThereAndHere(t *testing.T) {
	t.Parallel()
	away := errors.New("the forge does not answer")
	for name, m := range map[string]maker{"here": language(), "there": workers(t, time.Minute)} {
		got, err := m.Plan(t.Context(), job(included), files{texts: map[string]string{"f.bad": "fine"}})
		if err != nil || got.Plan == nil || len(got.Plan.Tasks) != 2 || got.Plan.Tasks[1].Name != "t-forty-two" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		got, err = m.Plan(t.Context(), job("project: x\ntriggers: {push: false}\nbuilds: {a: {run: make}}\n"), files{})
		if err != nil || got.Plan != nil || !strings.Contains(got.Ignored, "triggers.push") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		rules := job(included)
		rules.Rules = true
		got, err = m.Plan(t.Context(), rules, files{texts: map[string]string{"f.bad": "fine"}})
		if err != nil || !got.Starts || got.Plan != nil || !slices.Equal(got.Require, []string{"builds"}) {
			t.Errorf("%s: asked for the rules only: %+v, %v", name, got, err)
		}
		rules.Text = []byte("project: x\ntriggers: {push: false}\nbuilds: {a: {run: make}}\n")
		got, err = m.Plan(t.Context(), rules, files{})
		if err != nil || got.Starts || !strings.Contains(got.Ignored, "triggers.push") {
			t.Errorf("%s: asked for rules that let nothing start: %+v, %v", name, got, err)
		}
		var problems definition.Errors
		if _, err = m.Plan(t.Context(), job("project: x\nbuild: {}\n"), files{}); !errors.As(err, &problems) || len(problems) != 2 || problems[0].Excerpt == "" {
			t.Errorf("%s: a wrong definition gives %v", name, err)
		}
		if _, err = m.Plan(t.Context(), job(included), files{}); !errors.As(err, &problems) || !strings.Contains(err.Error(), "there is no such file") {
			t.Errorf("%s: a missing file gives %v", name, err)
		}
		if _, err = m.Plan(t.Context(), job(included), files{failed: away}); !errors.Is(err, away) {
			t.Errorf("%s: a host that fails gives %v", name, err)
		}
	}
}

// TestWhatDoesNotEndIsStopped: a plan that takes too long, or too much memory, or kills its process, is an error of its change
// and of nothing else.
func TestWhatDoesNotEndIsStopped(t *testing.T) {
	t.Parallel()
	for text, c := range map[string]struct {
		timeout time.Duration
		want    string
	}{
		"loop": {500 * time.Millisecond, "takes more than 500ms to plan"},
		"eat":  {time.Minute, "out of memory"},
		"die":  {time.Minute, "signal: killed"},
	} {
		w := workers(t, c.timeout)
		_, err := w.Plan(t.Context(), job(included), files{texts: map[string]string{"f.bad": text}})
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, expected %q", text, err, c.want)
		}
		w = workers(t, time.Minute) // which takes as long as the machine does to start a process
		if got, err := w.Plan(t.Context(), job(included), files{texts: map[string]string{"f.bad": "fine"}}); err != nil || got.Plan == nil {
			t.Errorf("after %s: %v", text, err)
		}
	}
}

// TestAPlanEndsWithItsContext: whoever wants no plan any more waits for none.
func TestAPlanEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	_, err := workers(t, time.Hour).Plan(ctx, job(included), files{texts: map[string]string{"f.bad": "loop"}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// BenchmarkPlan is what another process costs: a plan of two tasks here, and there.
func BenchmarkPlan(b *testing.B) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	w := planner.New(planner.Options{Command: []string{self}, Args0: workerVariable})
	b.Cleanup(w.Close)
	for name, m := range map[string]maker{"here": language(), "there": w} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := m.Plan(b.Context(), job(included), files{texts: map[string]string{"f.bad": "fine"}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
