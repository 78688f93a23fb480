package forge_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/forge"
)

// fuzz feeds bodies to a parser: whatever comes is a change that can be relied on, a reason, or an Invalid error.
func fuzz(f *testing.F, name, eventHeader string) {
	f.Fuzz(func(t *testing.T, event, kind string, body []byte) {
		h := http.Header{eventHeader: {event}, "Content-Type": {kind}}
		got, err := forge.Parse(name, forge.Request{Header: h, Body: body, Now: time.Now()})
		switch {
		case err != nil && !fault.Is(err, fault.Invalid):
			t.Errorf("%v is %s", err, fault.Of(err))
		case err != nil || got.Ignored != "":
		case got.Comment != nil:
			if c := got.Comment; c.ID == "" || c.Number <= 0 || c.Author == "" || c.Head != "" && !c.Head.Valid() {
				t.Errorf("%+v", c)
			}
		case got.Change.Validate() != nil || got.Change.RunID() == "" || got.Change.Verified != "" || got.Change.Forge != name:
			t.Errorf("%+v", got.Change)
		}
	})
}

func FuzzGitea(f *testing.F) {
	for file := range giteaCases() {
		h, body := captured(f, file)
		f.Add(h.Get("X-Gitea-Event"), h.Get("Content-Type"), body)
	}
	fuzz(f, "gitea", "X-Gitea-Event")
}

func FuzzGitHub(f *testing.F) {
	f.Add("push", "application/json", text(f, githubPush(nil)))
	f.Add("pull_request", "application/json", text(f, githubPull("opened", nil)))
	f.Add("issue_comment", "application/json", text(f, githubComment(nil)))
	fuzz(f, "github", "X-Github-Event")
}

func FuzzGitLab(f *testing.F) {
	f.Add("Push Hook", "application/json", text(f, gitlabPush("push", nil)))
	f.Add("Merge Request Hook", "application/json", text(f, gitlabMerge(nil)))
	f.Add("Note Hook", "application/json", text(f, gitlabNote(nil)))
	fuzz(f, "gitlab", "X-Gitlab-Event")
}

// FuzzSignatures feeds headers to the checks: nothing but the right secret is ever accepted.
func FuzzSignatures(f *testing.F) {
	f.Add("sha256=00", "v1,AAAA", "1700000000", "token")
	f.Fuzz(func(t *testing.T, hub, standard, at, token string) {
		for name, header := range map[string]string{"gitea": "X-Gitea-Event", "github": "X-Github-Event", "gitlab": "X-Gitlab-Event"} {
			h := http.Header{
				header: {"push"}, "X-Hub-Signature-256": {hub}, "X-Gitea-Signature": {hub}, "Webhook-Signature": {standard},
				"Webhook-Timestamp": {at}, "X-Gitlab-Token": {token},
			}
			_, err := forge.Parse(name, forge.Request{Header: h, Body: []byte("{}"), Secrets: []string{"a secret that nobody guesses"}, Now: time.Unix(1700000000, 0)})
			if !fault.Is(err, fault.Denied) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	h, body := captured(b, "push-master-two-commits.json")
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := forge.Parse("gitea", forge.Request{Header: h, Body: body, Secrets: []string{hookSecret}}); err != nil {
			b.Fatal(err)
		}
	}
}
