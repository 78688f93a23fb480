package gateway

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/forge/forgetest"
	"github.com/sluiceci/sluice/pkg/release"
)

// talk is a gateway with a forge that can be asked: pull request 1 is by dev, who writes; ada administers, eve reads.
type talk struct {
	*world
	forge *forgetest.Forge
	said  int
}

func newTalk(t *testing.T) *talk {
	t.Helper()
	f, stop := forgetest.Start("acme/widget")
	t.Cleanup(stop)
	f.Put(forgetest.Pull{Number: 1, Head: string(numbered(1)), Branch: "feature/x", From: "acme/widget", Into: "master", Author: "dev"})
	f.Put(forgetest.Pull{Number: 2, Head: string(numbered(2)), Branch: "theirs", From: "eve/widget", Into: "master", Author: "eve"})
	f.Put(forgetest.Pull{Number: 3, Head: string(numbered(3)), Branch: "old", From: "acme/widget", Into: "master", Closed: true})
	for person, permission := range map[string]string{"ada": "admin", "dev": "write", "eve": "read"} {
		f.Allow(person, permission)
	}
	p := widget()
	p.BaseURL, p.Token = f.URL, "forge"
	return &talk{world: newWorld(t, Config{Projects: []Project{p}}, remote{}, bus.Options{}), forge: f}
}

// comment delivers a comment as Gitea does, and returns what the gateway answers.
func (w *talk) comment(pull int, author, text string, head release.Commit) answer {
	w.t.Helper()
	w.said++
	body := fmt.Sprintf(`{"action":"created","is_pull":true,"issue":{"number":%d,"pull_request":{"merged":false}},
		"pull_request":{"number":%d,"head":{"sha":%q}},"repository":{"full_name":"acme/widget"},
		"comment":{"id":%d,"body":%q,"user":{"login":%q,"id":5}}}`, pull, pull, head, 100+w.said, text, author)
	mac := hmac.New(sha256.New, []byte("s3cr3t"))
	mac.Write([]byte(body))
	return w.post("/hooks/gitea", http.Header{
		"X-Gitea-Event": {"issue_comment"}, "X-Gitea-Delivery": {fmt.Sprint("d", w.said)}, "X-Gitea-Signature": {hex.EncodeToString(mac.Sum(nil))},
		"Content-Type": {"application/json"},
	}, strings.NewReader(body))
}

// answers waits for a number of answers and returns them in their order.
func (w *talk) answers(n int) (out []event.CommentAnswered) {
	w.t.Helper()
	w.until(fmt.Sprintf("%d answers", n), func(all []event.Event) bool {
		out = nil
		for _, e := range all {
			if p, is := e.Data.(event.CommentAnswered); is {
				out = append(out, p)
			}
		}
		return len(out) >= n
	})
	return out
}

// of lists the facts of a type.
func of[P event.Payload](all []event.Event) (out []event.Event) {
	for _, e := range all {
		if _, is := e.Data.(P); is {
			out = append(out, e)
		}
	}
	return out
}

func TestACommentBecomesARunOfItsOwn(t *testing.T) {
	t.Parallel()
	w := newTalk(t)
	w.run()
	got := w.comment(1, "dev", "Please.\n/test smoke light a=b\n/skip jar\nmy password is s3cr3t", numbered(1))
	if got.code != http.StatusAccepted || got.Event == "" || got.Ignored != "" {
		t.Fatalf("%d %s", got.code, got.text)
	}
	w.until("a change", func(all []event.Event) bool { return len(of[event.ChangeReceived](all)) == 1 })
	e := of[event.ChangeReceived](w.facts())[0]
	c := e.Data.(event.ChangeReceived).Change
	if c.Kind != release.Comment || c.Commit != numbered(1) || c.Author != "dev" || c.Project != "widget" || c.Fork || e.Run != c.RunID() ||
		c.CloneURL != "https://git.test/acme/widget.git" || c.Parameters["directives"] != "/test smoke light a=b\n/skip jar" || c.Verified != "signature" {
		t.Errorf("the change is %+v of run %s", c, e.Run)
	}
	pull := c
	pull.Kind, pull.Nonce = release.PullRequest, ""
	if e.Run == pull.RunID() {
		t.Error("the comment's run is that of the pull request")
	}
	received := of[event.CommentReceived](w.facts())[0].Data.(event.CommentReceived)
	if received.Text != "\n/test smoke light a=b\n/skip jar" {
		t.Errorf("stored is %q, expected the directives and no talk", received.Text)
	}
	if again := w.comment(1, "dev", "/test", numbered(1)); again.code != http.StatusAccepted {
		t.Fatal(again.text)
	}
	w.until("another run", func(all []event.Event) bool { return len(of[event.ChangeReceived](all)) == 2 })
}

// TestSaidOnceIsHeardOnce delivers one comment many times: it is one fact, one run.
func TestSaidOnceIsHeardOnce(t *testing.T) {
	t.Parallel()
	w := newTalk(t)
	w.run()
	for range 5 {
		w.said = 0
		w.comment(1, "dev", "/test\n/hold", numbered(1))
	}
	w.answers(1)
	all := w.facts()
	if r, s, a := len(of[event.CommentReceived](all)), len(of[event.CommentResolved](all)), len(of[event.CommentAnswered](all)); r != 1 || s != 1 || a != 1 {
		t.Errorf("%d received, %d resolved, %d answered", r, s, a)
	}
}

// TestWhatMayNotBeDoneIsAnswered shows every refusal: an answer, and nothing else.
func TestWhatMayNotBeDoneIsAnswered(t *testing.T) {
	t.Parallel()
	cases := []struct {
		pull         int
		author, text string
		head         release.Commit
		want         string
	}{
		{1, "eve", "/test", numbered(1), "`/test` needs write"},
		{1, "dev", "/approve\n/test", numbered(1), "`/approve` needs admin"},
		{1, "nobody", "/help", numbered(1), "Your permission in this repository is `none`"},
		{1, "ada", "/tset\n/hold", numbered(1), "did you mean /test?"},
		{1, "ada", "/test", numbered(9), "has moved since the comment was written"},
		{3, "ada", "/test", numbered(3), "the pull request is closed"},
		{1, "eve", "/help", numbered(9), "`/env NAME`: choose the environment"},
		{1, "ada", "/hold x", numbered(1), "nothing about the gate: there is no run of this commit"},
		{1, "dev", "/cancel", numbered(1), "nothing to cancel"},
		{1, "dev", "/retry", numbered(1), "nothing to retry"},
		{1, "ada", "/test @all\n/lgtm", numbered(1), "unknown directive /lgtm"},
	}
	w := newTalk(t)
	w.run()
	for i, c := range cases {
		if got := w.comment(c.pull, c.author, c.text, c.head); got.code != http.StatusAccepted || got.Ignored != "" {
			t.Fatalf("%q: %d %s", c.text, got.code, got.text)
		}
		all := w.answers(i + 1)
		if got := all[i]; !strings.Contains(got.Text, c.want) || got.Number != int32(c.pull) || got.Project != "widget" {
			t.Errorf("%q by %s is answered with\n%s\nexpected %q in it", c.text, c.author, got.Text, c.want)
		}
	}
	for _, e := range w.facts() {
		if !strings.HasPrefix(string(e.Type), "comment.") {
			t.Errorf("%s was said", e.Describe())
		}
	}
}

// TestCommentsThatAreNotForUs are answered over HTTP and leave nothing in the stream.
func TestCommentsThatAreNotForUs(t *testing.T) {
	t.Parallel()
	w := newTalk(t)
	for text, why := range map[string]string{
		"Nice!": "has no directive", "/lgtm": "no directive of Sluice's", "```\n/test\n```": "has no directive",
		"Done.\n\n<!-- sluice:answer x -->\n/test": "Sluice's own", strings.Repeat("/test\n", 20000): "at most 65536 are read",
	} {
		if got := w.comment(1, "dev", text, ""); got.code != http.StatusAccepted || !strings.Contains(got.Ignored, why) {
			t.Errorf("%.40q is answered %d %s, expected %q", text, got.code, got.text, why)
		}
	}
	w.gateway.config.Projects[0].Token = ""
	if got := w.comment(1, "dev", "/test", ""); !strings.Contains(got.Ignored, "has no token") {
		t.Errorf("without a token: %s", got.text)
	}
	if all := w.facts(); len(all) != 0 {
		t.Errorf("%d facts are stored", len(all))
	}
}

// TestForgeThatIsAwayLosesNoComment: the comment is stored and answered at once, and obeyed once the forge is back, bound
// to the commit that its author saw.
func TestForgeThatIsAwayLosesNoComment(t *testing.T) {
	t.Parallel()
	w := newTalk(t)
	w.forge.Away(true)
	stop := w.run()
	if got := w.comment(2, "dev", "/test", numbered(2)); got.code != http.StatusAccepted || got.Event == "" {
		t.Fatalf("%d %s", got.code, got.text)
	}
	for len(w.forge.Calls()) < 2 {
		w.until("another attempt", func([]event.Event) bool { return len(w.forge.Calls()) > 1 })
	}
	if n := len(of[event.CommentResolved](w.facts())); n != 0 {
		t.Fatalf("%d comments are resolved without the forge", n)
	}
	stop()
	w.forge.Away(false)
	w.run()
	w.until("the change", func(all []event.Event) bool { return len(of[event.ChangeReceived](all)) == 1 })
	c := of[event.ChangeReceived](w.facts())[0].Data.(event.ChangeReceived).Change
	if !c.Fork || c.HeadRepo != "eve/widget" {
		t.Errorf("a comment on a fork is the change %+v", c)
	}
	if ok, why := (release.ReleasePolicy{Branch: "master"}).Allows(c); ok {
		t.Errorf("it may publish: %s", why)
	}
	// What was resolved holds, whatever the forge says later.
	w.forge.Put(forgetest.Pull{Number: 2, Head: string(numbered(8)), Branch: "theirs", From: "eve/widget", Into: "master"})
	w.said = 0
	w.comment(2, "dev", "/test", numbered(2))
	if n := len(of[event.CommentResolved](w.facts())); n != 1 {
		t.Errorf("%d times resolved", n)
	}
}

// TestRunsOfTheHead cancels, holds, approves and retries what there is of a pull request's head: its own run, and those
// of comments.
func TestRunsOfTheHead(t *testing.T) {
	t.Parallel()
	w := newTalk(t)
	w.run()
	own := release.Change{
		Kind: release.PullRequest, Project: "widget", Repo: "acme/widget", CloneURL: widget().CloneURL, Ref: "refs/pull/1/head", Branch: "master",
		Commit: numbered(1), Number: 1, HeadRepo: "acme/widget", HeadRef: "feature/x",
	}
	w.fact(own.RunID(), event.ChangeReceived{Change: own})
	w.comment(1, "dev", "/test smoke", numbered(1))
	w.until("the comment's run", func(all []event.Event) bool { return len(of[event.ChangeReceived](all)) == 2 })
	second := of[event.ChangeReceived](w.facts())[1].Run

	w.fact(own.RunID(), event.CandidateAssembled{Candidate: release.DigestOf([]byte("candidate"))})
	w.comment(1, "ada", "/hold wait\n/approve fine", numbered(1))
	if text := w.answers(1)[0].Text; !strings.Contains(text, "is held") || !strings.Contains(text, "is approved") {
		t.Errorf("answered %s", text)
	}
	held, approved := w.get(own.RunID(), event.TypeGateHeld).Data.(event.GateHeld), w.get(own.RunID(), event.TypeGateApproved).Data.(event.GateApproved)
	if held.By != "ada" || held.Reason != "wait" || approved.By != "ada" || approved.Approver != "gitea:ada" || approved.Note != "fine" || approved.Candidate != release.DigestOf([]byte("candidate")) {
		t.Errorf("%+v %+v", held, approved)
	}
	w.comment(1, "ada", "/resume", numbered(1))
	w.answers(2)
	w.get(own.RunID(), event.TypeGateResumed)

	w.comment(1, "dev", "/cancel too slow", numbered(1))
	w.answers(3)
	cancelled := of[event.RunCancelRequested](w.facts())
	if len(cancelled) != 2 || !slices.ContainsFunc(cancelled, func(e event.Event) bool { return e.Run == own.RunID() }) ||
		!slices.ContainsFunc(cancelled, func(e event.Event) bool { return e.Run == second }) {
		t.Errorf("%d runs are cancelled: %v", len(cancelled), cancelled)
	}

	w.fact(own.RunID(), event.RunFinished{Outcome: release.Cancelled})
	w.fact(second, event.RunFinished{Outcome: release.Success})
	w.comment(1, "dev", "/cancel\n/retry", numbered(1))
	text := w.answers(4)[3].Text
	if !strings.Contains(text, "nothing to cancel") || !strings.Contains(text, fmt.Sprintf("run %s goes on", own.RunID())) || strings.Contains(text, string(second)) {
		t.Errorf("answered %s", text)
	}
	if retried := of[event.RunRetryRequested](w.facts()); len(retried) != 1 || retried[0].Run != own.RunID() {
		t.Errorf("retried %v", retried)
	}
	w.comment(1, "dev", "/retry", numbered(1)) // it goes on already
	if text := w.answers(5)[4].Text; !strings.Contains(text, "nothing to retry") {
		t.Errorf("answered %s", text)
	}
	w.fact(own.RunID(), event.GateOpened{})
	w.comment(1, "ada", "/hold", numbered(1))
	if text := w.answers(6)[5].Text; !strings.Contains(text, "it has opened") {
		t.Errorf("answered %s", text)
	}
}

// fact stores a fact that another service would say.
func (w *talk) fact(run release.RunID, p event.Payload) {
	w.t.Helper()
	if err := w.bus.Publish(w.t.Context(), event.Root(run, "/test/1", w.gateway.deps.Now(), p)); err != nil {
		w.t.Fatal(err)
	}
}

// TestCommentsOfEveryForge hears a comment in the words of each forge, and asks each in its own.
func TestCommentsOfEveryForge(t *testing.T) {
	t.Parallel()
	hub := `{"action":"created","issue":{"number":1,"pull_request":{}},"repository":{"full_name":"acme/widget"},
		"comment":{"id":7,"body":"/test","user":{"login":"dev","id":5,"type":"User"}}}`
	lab := fmt.Sprintf(`{"object_kind":"note","user":{"id":5,"username":"dev"},"project":{"path_with_namespace":"acme/widget"},
		"object_attributes":{"id":7,"note":"/test","noteable_type":"MergeRequest","action":"create"},
		"merge_request":{"iid":1,"last_commit":{"id":%q}}}`, numbered(1))
	mac := hmac.New(sha256.New, []byte("s3cr3t"))
	mac.Write([]byte(hub))
	for forge, d := range map[string]struct {
		header http.Header
		body   string
		ref    string
	}{
		"github": {http.Header{"X-Github-Event": {"issue_comment"}, "X-Hub-Signature-256": {"sha256=" + hex.EncodeToString(mac.Sum(nil))}}, hub, "refs/pull/1/head"},
		"gitlab": {http.Header{"X-Gitlab-Event": {"Note Hook"}, "X-Gitlab-Token": {"s3cr3t"}}, lab, "refs/merge-requests/1/head"},
	} {
		f, stop := forgetest.Start("acme/widget")
		t.Cleanup(stop)
		f.Put(forgetest.Pull{Number: 1, Head: string(numbered(1)), Branch: "feature/x", From: "acme/widget", Into: "master"})
		f.Allow("dev", "write")
		f.Allow("5", "write")
		p := widget()
		p.Forge, p.BaseURL, p.Token = forge, f.URL, "forge"
		w := newWorld(t, Config{Projects: []Project{p}}, remote{}, bus.Options{})
		w.run()
		if got := w.post("/hooks/"+forge, d.header, strings.NewReader(d.body)); got.code != http.StatusAccepted || got.Event == "" {
			t.Fatalf("%s: %d %s", forge, got.code, got.text)
		}
		w.until("the change", func(all []event.Event) bool { return len(of[event.ChangeReceived](all)) == 1 })
		c := of[event.ChangeReceived](w.facts())[0].Data.(event.ChangeReceived).Change
		if c.Forge != forge || c.Ref != d.ref || c.Commit != numbered(1) || c.Kind != release.Comment {
			t.Errorf("%s: %+v", forge, c)
		}
	}
}
