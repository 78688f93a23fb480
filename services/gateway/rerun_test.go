package gateway

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestRetryOfAllIsANewRun asks for all of a run again: one request is one run, and of the old run nothing is said.
func TestRetryOfAllIsANewRun(t *testing.T) {
	t.Parallel()
	w := newActingWorld(t, remote{})
	of := w.planned(1, event.GateOpened{}) // even then: its own candidate stays what it is
	path := "/api/v1/runs/" + string(of) + "/retry"
	first, again, other := w.do(path, `{"all": true}`, "k1"), w.do(path, `{"all": true}`, "k1"), w.do(path, `{"all": true}`, "k2")
	if first.code != http.StatusAccepted || first.Run == of || first.Run != again.Run || first.Event != again.Event || first.Run == other.Run {
		t.Fatalf("%d %s; runs %s and %s of one key, %s of another", first.code, first.text, first.Run, again.Run, other.Run)
	}
	change := w.get(first.Run, event.TypeChangeReceived).Data.(event.ChangeReceived).Change
	was := w.get(of, event.TypeRunPlanned).Data.(event.RunPlanned).Change
	if change.RerunOf != of || change.RerunBy != "ada" || change.RunID() != first.Run || change.Kind != was.Kind || change.Ref != was.Ref ||
		change.Commit != was.Commit || !change.At.Equal(was.At) {
		t.Errorf("the rerun is of %+v, the run was of %+v", change, was)
	}
	if n := len(w.facts()); n != 5 { // change, plan and gate of the run, and two reruns
		t.Errorf("%d facts, expected 5", n)
	}
}

func TestRetryOfAllIsRefused(t *testing.T) {
	t.Parallel()
	w := newActingWorld(t, remote{})
	of := string(w.planned(1))
	rejected := release.Change{Kind: release.Push, Repo: "acme/widget", Ref: "refs/heads/master", Branch: "master", Commit: numbered(2)}
	(&talk{world: w}).fact(rejected.RunID(), event.RunRejected{Change: rejected})
	for path, k := range map[string]struct {
		body, says string
		code       int
	}{
		of:                       {`{"all": true, "tasks": ["a"]}`, "only some tasks", http.StatusBadRequest},
		string(rejected.RunID()): {`{"all": true}`, "it has no plan", http.StatusConflict},
		"00000000-aaaaaaaa":      {`{"all": true}`, "cannot find run", http.StatusNotFound},
	} {
		if got := w.do("/api/v1/runs/"+path+"/retry", k.body); got.code != k.code || !strings.Contains(got.text, k.says) {
			t.Errorf("%s of %s: %d %s, expected %d and %q", k.body, path, got.code, got.text, k.code, k.says)
		}
	}
}

// TestACommentRerunsAll says /retry all: the run of the pull request gets a rerun, once, which later comments know of.
func TestACommentRerunsAll(t *testing.T) {
	t.Parallel()
	w := newTalk(t)
	w.run()
	own := release.Change{
		Kind: release.PullRequest, Project: "widget", Repo: "acme/widget", Ref: "refs/pull/1/head", Branch: "master", Commit: numbered(1),
		Number: 1, HeadRepo: "acme/widget", HeadRef: "feature/x",
	}
	w.fact(own.RunID(), event.ChangeReceived{Change: own})
	w.comment(1, "dev", "/retry all", numbered(1))
	if text := w.answers(1)[0].Text; !strings.Contains(text, "no run of this commit has a plan") {
		t.Errorf("answered %s", text)
	}
	w.fact(own.RunID(), event.RunPlanned{Change: own})
	w.comment(1, "dev", "/retry all", numbered(1))
	text := w.answers(2)[1].Text
	received := of[event.ChangeReceived](w.facts())
	if len(received) != 2 || received[1].Data.(event.ChangeReceived).Change.RerunOf != own.RunID() || !strings.Contains(text, string(received[1].Run)) {
		t.Fatalf("answered %s; received %v", text, received)
	}
	w.comment(1, "dev", "/cancel", numbered(1))
	w.answers(3)
	if cancelled := of[event.RunCancelRequested](w.facts()); len(cancelled) != 2 || cancelled[1].Run != received[1].Run {
		t.Errorf("cancelled %v, expected the run and its rerun", cancelled)
	}
}
