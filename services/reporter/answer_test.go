package reporter

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/forge/forgetest"
	"github.com/sluiceci/sluice/pkg/release"
)

// say publishes a fact as another service would.
func (w *world) say(run release.RunID, at time.Time, p event.Payload) {
	w.t.Helper()
	must(w.t, w.bus.Publish(w.t.Context(), event.Root(run, "/test/1", at, p)))
}

// TestAnswersArePostedOnceAndMasked posts answers on the forge, through its absence and a restart of the reporter.
func TestAnswersArePostedOnceAndMasked(t *testing.T) {
	t.Parallel()
	f, stop := forgetest.Start("rill/rillkit")
	t.Cleanup(stop)
	f.Put(forgetest.Pull{Number: 7, Head: strings.Repeat("a", 40), Branch: "x", From: "rill/rillkit", Into: "master"})
	config := Config{PublicURL: "https://sluice.example/", Projects: []Project{
		{Name: "rillkit", Forge: "gitea", Repo: "rill/rillkit", BaseURL: f.URL, Token: "forge"},
	}}
	w := begin(t, config)
	f.Away(true)
	answer := event.CommentAnswered{Comment: "c1", Project: "rillkit", Number: 7, Text: "A run is planned.\n"}
	w.say("aaaaaaaa-run", time.Now(), answer)
	eventually(t, func() bool { return len(f.Calls()) > 1 })
	f.Away(false)
	eventually(t, func() bool { return len(f.Comments(7)) == 1 })
	if got := f.Comments(7)[0]; !strings.HasPrefix(got, "A run is planned.\n\n[Run aaaaaaaa-run](https://sluice.example/runs/aaaaaaaa-run)\n\n<!-- sluice:answer ") {
		t.Errorf("posted is %q", got)
	}

	w.stop()
	<-w.ended
	w.serve(config)
	answer.Comment, answer.Text = "c2", "The token is "+forgetest.Token+".\n"
	w.say(event.Fleet, time.Now(), answer)
	old := answer
	old.Comment = "c3"
	w.say(event.Fleet, time.Now().Add(-25*time.Hour), old) // nobody waits for it any more
	elsewhere := answer
	elsewhere.Comment, elsewhere.Project = "c4", "unknown"
	w.say(event.Fleet, time.Now(), elsewhere)
	eventually(t, func() bool { return w.lag("reporter-answer") == 0 && len(f.Comments(7)) == 2 })
	if got := f.Comments(7)[1]; !strings.HasPrefix(got, "The token is ***.\n\n<!--") {
		t.Errorf("posted is %q", got)
	}
}

// lag is what a consumer has not handled.
func (w *world) lag(consumer string) (n uint64) {
	w.t.Helper()
	streams, err := w.bus.Status(w.t.Context())
	must(w.t, err)
	for _, c := range streams[0].Consumers {
		if c.Name == consumer {
			n += uint64(c.Lag())
		}
	}
	return n
}

// TestACommentsRunIsNotTheCommits keeps a green part, which somebody asked for in a comment, from making the commit green.
func TestACommentsRunIsNotTheCommits(t *testing.T) {
	t.Parallel()
	f, url := startForge(t)
	w := begin(t, forgeConfig(url))
	commit := release.Commit(strings.Repeat("ab", 20))
	change := release.Change{Kind: release.Comment, Project: "rillkit", Repo: "rill/rillkit", Ref: "refs/pull/7/head", Commit: commit, Nonce: "c1"}
	w.say(change.RunID(), time.Now(), event.RunPlanned{Change: change})
	eventually(t, func() bool { return slices.Contains(f.contexts(), "sluice/comment") })
	if slices.ContainsFunc(f.contexts(), func(c string) bool { return c != "sluice/comment" }) {
		t.Errorf("statuses were set in %q", f.contexts())
	}
}
