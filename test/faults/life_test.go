package faults

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestLifeOfACommit holds docs/life-of-a-commit.md to what happens: the page's numbered events are those of a release,
// in their order, said by the services that it names.
func TestLifeOfACommit(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/life-of-a-commit.md")
	if err != nil {
		t.Fatal(err)
	}
	type step struct{ what, who string }
	var told []step
	for _, m := range regexp.MustCompile("(?m)^\\d+\\. `([a-z_.]+)`, said by the ([a-z-]+)").FindAllStringSubmatch(string(text), -1) {
		told = append(told, step{m[1], m[2]})
	}
	c := newCluster(t)
	facts := c.follow(t, c.world.push(1, false))
	var happened []step
	for _, e := range facts {
		s := step{string(e.Type), strings.Split(e.Source, "/")[1]}
		// Exports and the questions to targets go beside everything else; the page has no number for them.
		if e.Type != event.TypeArtifactExported && e.Type != event.TypePublicationChecked && !slices.Contains(happened, s) {
			happened = append(happened, s)
		}
	}
	if !slices.Equal(told, happened) {
		t.Errorf("the page tells\n%v\nbut what happened is\n%v", told, happened)
	}
}

// follow waits until the run of a pushed commit has ended and returns its facts.
func (c *cluster) follow(t *testing.T, commit release.Commit) []event.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	run := release.Change{Repo: repo, Ref: "refs/heads/master", Commit: commit}.RunID()
	facts, err := c.bus.Follow(ctx, bus.Following{Name: "faults", Run: string(run)})
	if err != nil {
		t.Fatal(err)
	}
	defer facts.Close()
	var seen []event.Event
	for !ended(seen) {
		batch, err := facts.Next(ctx, time.Second)
		if err != nil {
			t.Fatalf("run %s did not end: %v; facts:\n%s\n%s", run, err, story(seen), c.logs())
		}
		for _, e := range batch.Events {
			if seen = append(seen, e); ended(seen) {
				break // what was exported of it may be told in the same breath
			}
		}
	}
	return seen
}

// TestRejectedDefinition shows an author where the definition is wrong: on the commit, and in sluice status.
func TestRejectedDefinition(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.world.write("sluice.yaml", "project: tiny\nbuilds:\n  wheel:\n    rum: make\n")
	commit := c.world.push(1, false)
	facts := c.follow(t, commit)
	rejected := facts[slices.IndexFunc(facts, func(e event.Event) bool { return e.Type == event.TypeRunRejected })].Data.(event.RunRejected)
	p := rejected.Problems[0]
	if p.File != "sluice.yaml" || p.Line != 4 || p.Column != 5 || !strings.Contains(p.Message+p.Hint, "run") {
		t.Errorf("the problem is %+v, want sluice.yaml:4:5 and the nearest key", p)
	}
	status := c.status(t, commit, "failure")
	if !strings.Contains(status, "sluice.yaml:4:5") {
		t.Errorf("the commit's status is %q, want the place of the error in it", status)
	}
}

// status waits for a commit status of a state at the forge and returns its description.
func (c *cluster) status(t *testing.T, commit release.Commit, state string) string {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	for {
		for _, s := range c.world.forge.Statuses(string(commit)) {
			if s.State == state {
				return s.Description
			}
		}
		select {
		case <-deadline:
			t.Fatalf("no status %q within 30s; there are %+v\n%s", state, c.world.forge.Statuses(string(commit)), c.logs())
		case <-time.After(20 * time.Millisecond):
		}
	}
}
