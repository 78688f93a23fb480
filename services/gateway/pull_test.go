package gateway

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// pulled delivers what happens to the pull request of a stranger.
func (w *talk) pulled(action string, c release.Change) answer {
	w.t.Helper()
	body := fmt.Sprintf(`{"action": %q, "number": %d, "repository": {"full_name": "acme/widget"}, "pull_request": {"number": %[2]d, "title": "t", "user": {"login": "eve"},
		"base": {"ref": "master", "repo": {"full_name": "acme/widget"}}, "head": {"ref": "theirs", "sha": %q, "repo": {"full_name": "eve/widget"}}}}`, action, c.Number, c.Commit)
	mac := hmac.New(sha256.New, []byte("s3cr3t"))
	mac.Write([]byte(body))
	got := w.post("/hooks/gitea", http.Header{
		"X-Gitea-Event": {"pull_request"}, "X-Gitea-Delivery": {action}, "X-Gitea-Signature": {hex.EncodeToString(mac.Sum(nil))}, "Content-Type": {"application/json"},
	}, strings.NewReader(body))
	if got.code != http.StatusAccepted {
		w.t.Fatalf("%s: %d %s", action, got.code, got.text)
	}
	return got
}

// TestClosingEndsWhatWaits: nobody permits a run of a closed pull request, so it ends, those that comments asked for too. What has a
// plan goes on. A pull request that is opened again has a run again, which a comment can permit.
func TestClosingEndsWhatWaits(t *testing.T) {
	t.Parallel()
	w := newTalk(t)
	w.run()
	c := stranger(numbered(2))
	first := w.waits(c)
	w.comment(2, "dev", "/test smoke", "")
	w.until("the comment's run", func(all []event.Event) bool { return len(of[event.ChangeReceived](all)) == 2 })
	asked := of[event.ChangeReceived](w.facts())[1].Run
	planned := stranger(numbered(4))
	planned.Number, planned.Ref = 4, "refs/pull/4/head"
	w.waits(planned)
	w.fact(planned.RunID(), event.RunPlanned{Change: planned})

	for range 2 { // forges send again
		w.pulled("closed", c)
	}
	w.pulled("closed", planned)
	ended := map[release.RunID]string{}
	for _, e := range w.facts() {
		if p, is := e.Data.(event.RunCancelRequested); is {
			ended[e.Run] = p.Reason
		}
	}
	const want = "pull request 2 was closed; nobody had permitted its run"
	if len(ended) != 2 || ended[first] != want || ended[asked] != want {
		t.Errorf("ended are %v, expected %s and %s", ended, first, asked)
	}

	again := w.pulled("reopened", c)
	if twice := w.pulled("reopened", c); again.Run == first || twice.Run != again.Run {
		t.Errorf("opened again it has runs %s and %s, before it had %s", again.Run, twice.Run, first)
	}
	w.fact(again.Run, event.RunPermissionRequested{Change: c.Reopened(1), Reason: "it comes from a fork"})
	w.comment(2, "dev", "/ok-to-test", "")
	w.until("the permission", func(all []event.Event) bool { return len(of[event.RunPermitted](all)) == 1 })
	if other := w.pulled("reopened", planned); other.Run != planned.RunID() {
		t.Errorf("a pull request whose run was not ended has run %s, expected %s", other.Run, planned.RunID())
	}
}
