package gateway

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/forge/forgetest"
	"github.com/sluiceci/sluice/pkg/release"
)

// stranger is the pull request of a fork at a commit.
func stranger(commit release.Commit) release.Change {
	return release.Change{
		Kind: release.PullRequest, Project: "widget", Repo: "acme/widget", CloneURL: widget().CloneURL, Ref: "refs/pull/2/head", Branch: "master",
		Commit: commit, Number: 2, HeadRepo: "eve/widget", HeadRef: "theirs", Fork: true,
	}
}

// waits stores what the gateway and the builder say of a pull request that needs permission.
func (w *talk) waits(c release.Change) release.RunID {
	w.t.Helper()
	w.fact(c.RunID(), event.ChangeReceived{Change: c})
	w.fact(c.RunID(), event.RunPermissionRequested{Change: c, Reason: "it comes from a fork"})
	return c.RunID()
}

// TestPermissionIsOfTheCommitThatItsAuthorSaw follows a stranger's pull request over two pushes.
func TestPermissionIsOfTheCommitThatItsAuthorSaw(t *testing.T) {
	t.Parallel()
	w := newTalk(t)
	w.run()
	first := w.waits(stranger(numbered(2)))
	said, later := 0, release.Commit(strings.Repeat("b", 40))
	comment := func(author, text, want string, permitted int) {
		t.Helper()
		if got := w.comment(2, author, text, ""); got.code != http.StatusAccepted || got.Ignored != "" { // this delivery names no head, as most do not
			t.Fatalf("%q: %d %s", text, got.code, got.text)
		}
		said++
		answered := w.answers(said)[said-1].Text
		if !strings.Contains(answered, want) {
			t.Errorf("%q by %s is answered with %s, expected %q", text, author, answered, want)
		}
		if n := len(of[event.RunPermitted](w.facts())); n != permitted {
			t.Errorf("after %q by %s there are %d permissions, expected %d", text, author, n, permitted)
		}
	}
	comment("eve", "/ok-to-test", "`/ok-to-test` needs write", 0)
	comment("dev", "/ok-to-test", "may run, as an untrusted change", 1)
	if p := w.get(first, event.TypeRunPermitted).Data.(event.RunPermitted); p.By != "dev" {
		t.Errorf("permitted by %s", p.By)
	}

	// The stranger pushes again. What was permitted was the commit before.
	w.forge.Put(forgetest.Pull{Number: 2, Head: string(later), Branch: "theirs", From: "eve/widget", Into: "master", Author: "eve"})
	comment("dev", "/ok-to-test", "no run of commit "+later.Short()+" waits for it", 1)
	second := w.waits(stranger(later))
	comment("dev", "/ok-to-test "+numbered(2).Short(), "the head is commit "+later.Short(), 1)
	comment("dev", "/ok-to-test 0", "the head is commit", 1)
	comment("dev", "/ok-to-test "+string(later), "run "+string(second)+" of commit", 2)
}

// TestPermissionThatWasSaidBeforeThePush is the race: the comment is written, the stranger pushes, then the comment is read.
// The forge tells the new head, and its run has asked after the comment came.
func TestPermissionThatWasSaidBeforeThePush(t *testing.T) {
	t.Parallel()
	w := newTalk(t)
	w.waits(stranger(numbered(2)))
	w.comment(2, "dev", "/ok-to-test", "") // nobody reads it yet
	w.forge.Put(forgetest.Pull{Number: 2, Head: string(numbered(5)), Branch: "theirs", From: "eve/widget", Into: "master", Author: "eve"})
	second := w.waits(stranger(numbered(5)))
	w.run()
	if text := w.answers(1)[0].Text; !strings.Contains(text, "is newer than the comment") || !strings.Contains(text, "/ok-to-test "+numbered(5).Short()) {
		t.Errorf("answered with %s", text)
	}
	if p := of[event.RunPermitted](w.facts()); len(p) != 0 {
		t.Errorf("%d runs are permitted: %v, the new one is %s", len(p), p, second)
	}
}

// TestPermissionHoldsForWhatCommentsAskFor: a run that /test asked for waits too, and the commit's permission is its.
func TestPermissionHoldsForWhatCommentsAskFor(t *testing.T) {
	t.Parallel()
	w := newTalk(t)
	w.run()
	w.comment(2, "dev", "/test smoke", "")
	w.until("the comment's run", func(all []event.Event) bool { return len(of[event.ChangeReceived](all)) == 1 })
	asked := of[event.ChangeReceived](w.facts())[0]
	w.fact(asked.Run, event.RunPermissionRequested{Change: asked.Data.(event.ChangeReceived).Change, Reason: "it comes from a fork"})
	w.comment(2, "dev", "/ok-to-test", "")
	w.answers(1)
	w.get(asked.Run, event.TypeRunPermitted)
	w.comment(2, "dev", "/ok-to-test "+numbered(2).Short()+"\n/test slow", "")
	w.until("the next run", func(all []event.Event) bool { return len(of[event.ChangeReceived](all)) == 2 })
	w.get(of[event.ChangeReceived](w.facts())[1].Run, event.TypeRunPermitted)
}

// TestOnlyWhatWaitsIsPermitted is the same act over the API.
func TestOnlyWhatWaitsIsPermitted(t *testing.T) {
	t.Parallel()
	w := newActingWorld(t, remote{})
	running := w.planned(1, event.RunPermissionRequested{})
	c := stranger(numbered(2))
	for _, p := range []event.Payload{event.ChangeReceived{Change: c}, event.RunPermissionRequested{Change: c}} {
		if err := w.bus.Publish(t.Context(), event.Root(c.RunID(), "/test/1", w.gateway.deps.Now(), p)); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.do("/api/v1/runs/"+string(running)+"/permit", "{}"); got.code != http.StatusConflict || !strings.Contains(got.Error.Message, "does not wait for that") {
		t.Errorf("a run with a plan: %d %s", got.code, got.text)
	}
	if got := w.do("/api/v1/runs/"+string(c.RunID())+"/permit", `{"note": "read it"}`); got.code >= 300 {
		t.Fatalf("%d %s", got.code, got.text)
	}
	if p := w.get(c.RunID(), event.TypeRunPermitted).Data.(event.RunPermitted); p.By != "ada" || p.Note != "read it" {
		t.Errorf("permitted %+v", p)
	}
}
