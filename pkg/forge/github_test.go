package forge_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/forge"
	"github.com/sluiceci/sluice/pkg/release"
)

const (
	head   = "1111111111111111111111111111111111111111"
	parent = "2222222222222222222222222222222222222222"
	tagged = "3333333333333333333333333333333333333333"
	none   = "0000000000000000000000000000000000000000"
)

type object = map[string]any

func sign(secret string, parts ...string) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	for _, p := range parts {
		mac.Write([]byte(p))
	}
	return mac.Sum(nil)
}

func text(t testing.TB, body any) []byte {
	t.Helper()
	if raw, ok := body.(string); ok {
		return []byte(raw)
	}
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func githubRequest(t testing.TB, event string, body any) forge.Request {
	b := text(t, body)
	return forge.Request{
		Header: http.Header{
			"X-Github-Event": {event}, "X-Github-Delivery": {"d1"}, "Content-Type": {"application/json"},
			"X-Hub-Signature-256": {"sha256=" + hex.EncodeToString(sign(hookSecret, string(b)))},
		},
		Body: b, Secrets: []string{hookSecret}, Now: time.Now(),
	}
}

// githubPush is a push in the form of GitHub's documentation, with some fields changed.
func githubPush(change object) object {
	body := object{
		"ref": "refs/heads/master", "before": parent, "after": head, "created": false, "deleted": false, "forced": false,
		"compare": "https://github.com/acme/widget/compare/2...1",
		"commits": []object{ // oldest first
			{"id": parent, "message": "Earlier", "added": []string{"a"}, "author": object{"username": "other"}},
			{"id": head, "message": "Fix the gate\n\nLong story."},
		},
		"head_commit": object{"id": head, "message": "Fix the gate\n\nLong story.", "url": "https://github.com/acme/widget/commit/1"},
		"repository":  object{"full_name": "acme/widget", "default_branch": "master", "clone_url": "https://github.com/acme/widget.git"},
		"pusher":      object{"name": "dev", "email": "dev@world.test"}, "sender": object{"login": "dev"},
	}
	for k, v := range change {
		body[k] = v
	}
	return body
}

func githubPull(action string, headRepo any) object {
	return object{
		"action": action, "number": 7, "before": parent, "after": head,
		"pull_request": object{
			"html_url": "https://github.com/acme/widget/pull/7", "title": "Better gate", "merged": false, "draft": false,
			"user": object{"login": "dev"},
			"base": object{"ref": "master", "sha": parent, "repo": object{"full_name": "acme/widget"}},
			"head": object{"ref": "better", "sha": head, "repo": headRepo},
		},
		"repository": object{"full_name": "acme/widget", "clone_url": "https://github.com/acme/widget.git"},
		"sender":     object{"login": "maintainer"},
	}
}

func githubChange(kind release.ChangeKind, ref string) release.Change {
	return release.Change{
		Kind: kind, Repo: "acme/widget", CloneURL: "https://github.com/acme/widget.git", Ref: ref, Commit: head, Author: "dev",
		Title: "Fix the gate", URL: "https://github.com/acme/widget/commit/1", Forge: "github", Delivery: "d1", Verified: "signature",
	}
}

func with(c release.Change, edit func(*release.Change)) release.Change { edit(&c); return c }

func TestGitHubDeliveries(t *testing.T) {
	onMaster := with(githubChange(release.Push, "refs/heads/master"), func(c *release.Change) { c.Branch, c.Before = "master", parent })
	pull := release.Change{
		Kind: release.PullRequest, Repo: "acme/widget", CloneURL: "https://github.com/acme/widget.git", Ref: "refs/pull/7/head", Branch: "master",
		Commit: head, Before: parent, Author: "dev", Title: "Better gate", URL: "https://github.com/acme/widget/pull/7", Number: 7,
		HeadRepo: "acme/widget", HeadRef: "better", Forge: "github", Delivery: "d1", Verified: "signature",
	}
	same := object{"full_name": "acme/widget"}
	cases := []struct {
		name, event string
		body        object
		change      release.Change
		reason      string
	}{
		{"push", "push", githubPush(nil), onMaster, ""},
		{"forced", "push", githubPush(object{"forced": true}), with(onMaster, func(c *release.Change) { c.Forced = true }), ""},
		{
			"new branch", "push", githubPush(object{"before": none, "created": true, "ref": "refs/heads/ü/x"}),
			with(githubChange(release.Push, "refs/heads/ü/x"), func(c *release.Change) { c.Branch = "ü/x" }), "",
		},
		{"annotated tag", "push", githubPush(object{"ref": "refs/tags/v1", "before": none, "after": tagged}), githubChange(release.Tag, "refs/tags/v1"), ""},
		{"tag of no commit", "push", githubPush(object{"ref": "refs/tags/v1", "head_commit": nil}), release.Change{}, "refs/tags/v1 leads to no commit that the delivery names"},
		{"deleted", "push", githubPush(object{"deleted": true, "after": none, "head_commit": nil}), release.Change{}, "refs/heads/master was deleted"},
		{"notes", "push", githubPush(object{"ref": "refs/notes/x"}), release.Change{}, "refs/notes/x is neither a branch nor a tag"},
		{"opened", "pull_request", githubPull("opened", same), pull, ""},
		{"synchronize", "pull_request", githubPull("synchronize", same), pull, ""},
		{"reopened", "pull_request", githubPull("reopened", same), pull, ""},
		{
			"fork", "pull_request", githubPull("opened", object{"full_name": "dev/widget", "fork": true}),
			with(pull, func(c *release.Change) { c.HeadRepo, c.Fork = "dev/widget", true }), "",
		},
		{"fork is gone", "pull_request", githubPull("synchronize", nil), with(pull, func(c *release.Change) { c.HeadRepo, c.Fork = "", true }), ""},
		{"labeled", "pull_request", githubPull("labeled", same), release.Change{}, `pull request 7: "labeled" changes none of its commits`},
		{"ready for review", "pull_request", githubPull("ready_for_review", same), release.Change{}, `pull request 7: "ready_for_review" changes none of its commits`},
		{"closed", "pull_request", githubPull("closed", same), release.Change{}, "pull request 7 was closed"},
		{"ping", "ping", object{"zen": "x", "repository": object{"full_name": "acme/widget"}}, release.Change{}, "ping: the webhook works"},
		{"merge queue", "merge_group", object{"action": "checks_requested"}, release.Change{}, `event "merge_group checks_requested" announces no revision`},
	}
	for _, k := range cases {
		t.Run(k.name, func(t *testing.T) {
			got, err := forge.Parse("github", githubRequest(t, k.event, k.body))
			if err != nil || got.Ignored != k.reason {
				t.Fatalf("ignored %q, expected %q; %v", got.Ignored, k.reason, err)
			}
			if over := strings.HasPrefix(k.reason, "pull request 7 was "); got.Closed != over || over && got.Change.RunID() != pull.RunID() {
				t.Errorf("closed %t, of run %s, expected %t and run %s", got.Closed, got.Change.RunID(), over, pull.RunID())
			} else if over {
				return
			}
			if diff := cmp.Diff(k.change, got.Change); diff != "" {
				t.Errorf("the change differs (-expected +found):\n%s", diff)
			}
		})
	}
}

func TestGitHubSignsTheForm(t *testing.T) {
	body := "payload=" + url.QueryEscape(string(text(t, githubPush(nil))))
	r := githubRequest(t, "push", body)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	if got, err := forge.Parse("github", r); err != nil || got.Change.Commit != head {
		t.Errorf("%+v, %v", got, err)
	}
	r.Header.Set("X-Hub-Signature-256", "sha1=00")
	if _, err := forge.Parse("github", r); !fault.Is(err, fault.Denied) {
		t.Errorf("a signature of another form: %v", err)
	}
}

func TestUnreadableBodies(t *testing.T) {
	pull := githubPull("opened", nil)
	pull["pull_request"].(object)["base"].(object)["ref"] = "a b"
	cases := map[string]any{
		"not JSON": "<html>", "empty": "", "cut off": `{"ref": "refs/he`, "a list": "[]", "another type": `{"ref": 7}`,
		"ref of an option": githubPush(object{"ref": "--upload-pack=x"}), "ref with dots": githubPush(object{"ref": "refs/heads/../x"}),
		"no commit": githubPush(object{"after": "abc", "head_commit": nil}), "commit is a path": githubPush(object{"head_commit": object{"id": "../../x"}}),
		"no repository": githubPush(object{"repository": object{}}), "no pull request": "{}", "branch with a space": pull,
		"deep": strings.Repeat("[", 20000),
	}
	for name, body := range cases {
		event := "push"
		if name == "no pull request" || name == "branch with a space" {
			event = "pull_request"
		}
		if got, err := forge.Parse("github", githubRequest(t, event, body)); !fault.Is(err, fault.Invalid) || !strings.HasPrefix(err.Error(), "cannot ") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestTitlesAreOneShortLine(t *testing.T) {
	body := githubPush(object{"head_commit": object{"id": head, "message": "\n a\tb\x1b[31m " + strings.Repeat("ü", 400) + "\nsecond"}})
	got, err := forge.Parse("github", githubRequest(t, "push", body))
	title := got.Change.Title
	if err != nil || len([]rune(title)) != 200 || !strings.HasPrefix(title, "a b [31m ü") || strings.ContainsAny(title, "\n\x1b") {
		t.Errorf("%q, %v", title, err)
	}
}

func ExampleParse() {
	body := []byte(`{"ref":"refs/heads/master","after":"1111111111111111111111111111111111111111","repository":{"full_name":"acme/widget"}}`)
	header := http.Header{}
	header.Set("X-GitHub-Event", "push")
	header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(sign("s3cr3t", string(body))))
	p, err := forge.Parse("github", forge.Request{Header: header, Body: body, Secrets: []string{"s3cr3t"}})
	fmt.Println(p.Change.Kind, p.Change.Branch, p.Change.Commit.Short(), err)
	// Output: push master 11111111 <nil>
}
