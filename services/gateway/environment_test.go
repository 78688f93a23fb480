package gateway

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/environment"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestOnlyReviewersApproveAnEnvironment: an operator who is no reviewer is refused, and so is what could never count.
func TestOnlyReviewersApproveAnEnvironment(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Config{Projects: []Project{widget()}, Tokens: tokens(), Environments: environment.Rules{
		{Name: "prod", Projects: []string{"widget"}, Refs: []string{"refs/heads/master"}, Reviewers: []string{"ada"}},
		{Name: "lab", Projects: []string{"widget"}, Reviewers: []string{"bob"}},
		{Name: "prod", Projects: []string{"other"}, Reviewers: []string{"ada"}},
	}}, remote{}, bus.Options{})
	candidate := release.DigestOf([]byte("candidate"))
	say := func(n int, ref string, more ...event.Payload) release.RunID {
		c := release.Change{Kind: release.Push, Project: "widget", Repo: "acme/widget", Ref: ref, Branch: strings.TrimPrefix(ref, "refs/heads/"), Commit: numbered(n)}
		facts := append([]event.Payload{event.ChangeReceived{Change: c}}, more...)
		if len(more) > 0 {
			facts = append(facts, event.RunPlanned{Change: c, Trust: release.TrustRelease})
		}
		for _, p := range facts {
			if err := w.bus.Publish(t.Context(), event.Root(c.RunID(), "/test/1", time.Now(), p)); err != nil {
				t.Fatal(err)
			}
		}
		return c.RunID()
	}
	run := say(1, "refs/heads/master", event.CandidateAssembled{Candidate: candidate})
	feature := say(2, "refs/heads/feature", event.CandidateAssembled{})
	unplanned := say(3, "refs/heads/master")
	for _, k := range []struct {
		run         release.RunID
		environment string
		status      int
		want        string
	}{
		{run, "lab", http.StatusForbidden, "not among its reviewers"},
		{run, "staging", http.StatusNotFound, "the installation protects none of that name in project widget"},
		{feature, "prod", http.StatusConflict, "environment prod is for refs refs/heads/master"},
		{unplanned, "prod", http.StatusConflict, "has no plan yet"},
		{"nothing", "prod", http.StatusNotFound, ""},
		{run, "prod", http.StatusAccepted, ""},
	} {
		got := w.do("/api/v1/runs/"+string(k.run)+"/environments/"+k.environment+"/approve", `{"note": "seen"}`)
		if got.code != k.status || !strings.Contains(got.text, k.want) {
			t.Errorf("%s in %s: %d %s, expected %d %q", k.run, k.environment, got.code, got.text, k.status, k.want)
		}
	}
	want := event.EnvironmentApproved{Environment: "prod", Reviewer: "token:ada", By: "ada", Note: "seen", Candidate: candidate}
	e := w.get(run, event.TypeEnvironmentApproved)
	if e.Data != event.Payload(want) || e.Actor.Subject != "token:ada" {
		t.Errorf("stored %+v by %+v", e.Data, e.Actor)
	}
}
