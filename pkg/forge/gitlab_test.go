package forge_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/forge"
	"github.com/sluiceci/sluice/pkg/release"
)

func gitlabRequest(t testing.TB, event string, body any) forge.Request {
	return forge.Request{
		Header: http.Header{
			"X-Gitlab-Event": {event}, "X-Gitlab-Token": {hookSecret}, "X-Gitlab-Event-Uuid": {"u1"}, "Content-Type": {"application/json"},
		},
		Body: text(t, body), Secrets: []string{hookSecret}, Now: time.Now(),
	}
}

func labProject() object {
	return object{"path_with_namespace": "acme/tools/widget", "git_http_url": "https://gitlab.com/acme/tools/widget.git", "default_branch": "master"}
}

func gitlabPush(kind string, change object) object {
	body := object{
		"object_kind": kind, "event_name": kind, "before": parent, "after": head, "ref": "refs/heads/master", "ref_protected": true,
		"checkout_sha": head, "user_username": "dev", "project_id": 15, "project": labProject(), "total_commits_count": 2,
		"commits": []object{
			{"id": parent, "message": "Earlier\n", "title": "Earlier", "url": "https://gitlab.com/c/2"},
			{"id": head, "message": "Fix the gate\n\nLong story.", "title": "Fix the gate", "url": "https://gitlab.com/c/1"},
		},
	}
	for k, v := range change {
		body[k] = v
	}
	return body
}

func gitlabMerge(change object) object {
	attributes := object{
		"iid": 7, "action": "open", "title": "Better gate", "url": "https://gitlab.com/m/7", "state": "opened", "draft": false,
		"source_branch": "better", "target_branch": "master", "source_project_id": 15, "target_project_id": 15,
		"source": labProject(), "target": labProject(), "last_commit": object{"id": head, "message": "Fix"},
	}
	for k, v := range change {
		attributes[k] = v
	}
	return object{
		"object_kind": "merge_request", "user": object{"username": "dev"}, "project": labProject(), "object_attributes": attributes,
	}
}

func TestGitLabDeliveries(t *testing.T) {
	pushed := release.Change{
		Kind: release.Push, Repo: "acme/tools/widget", CloneURL: "https://gitlab.com/acme/tools/widget.git", Ref: "refs/heads/master",
		Branch: "master", Commit: head, Before: parent, Author: "dev", Title: "Fix the gate", URL: "https://gitlab.com/c/1",
		Forge: "gitlab", Delivery: "u1", Verified: "token",
	}
	pull := with(pushed, func(c *release.Change) {
		c.Kind, c.Ref, c.Before, c.Title, c.URL = release.PullRequest, "refs/merge-requests/7/head", "", "Better gate", "https://gitlab.com/m/7"
		c.Number, c.HeadRepo, c.HeadRef = 7, "acme/tools/widget", "better"
	})
	updated := object{"action": "update", "oldrev": parent}
	cases := []struct {
		name, event string
		body        object
		change      release.Change
		reason      string
	}{
		{"push", "Push Hook", gitlabPush("push", nil), pushed, ""},
		{
			"new branch without commits", "Push Hook", gitlabPush("push", object{"before": none, "commits": []object{}}),
			with(pushed, func(c *release.Change) { c.Before, c.Title, c.URL = "", "", "" }), "",
		},
		{
			"annotated tag", "Tag Push Hook", gitlabPush("tag_push", object{"ref": "refs/tags/v1", "before": none, "after": tagged}),
			with(pushed, func(c *release.Change) { c.Kind, c.Ref, c.Branch, c.Before = release.Tag, "refs/tags/v1", "", "" }), "",
		},
		{"deleted", "Push Hook", gitlabPush("push", object{"after": none, "checkout_sha": nil, "commits": []object{}}), release.Change{}, "refs/heads/master was deleted"},
		{"system hook", "System Hook", gitlabPush("push", nil), pushed, ""},
		{"opened", "Merge Request Hook", gitlabMerge(nil), pull, ""},
		{"commits added", "Merge Request Hook", gitlabMerge(updated), with(pull, func(c *release.Change) { c.Before = parent }), ""},
		{"title changed", "Merge Request Hook", gitlabMerge(object{"action": "update"}), release.Change{}, `merge request 7: "update" changes none of its commits`},
		{"approved", "Merge Request Hook", gitlabMerge(object{"action": "approved"}), release.Change{}, `merge request 7: "approved" changes none of its commits`},
		{"merged", "Merge Request Hook", gitlabMerge(object{"action": "merge"}), release.Change{}, "pull request 7 was merged: the push to its target says which commit it is"},
		{"closed", "Merge Request Hook", gitlabMerge(object{"action": "close"}), release.Change{}, "pull request 7 was closed"},
		{
			"fork", "Merge Request Hook", gitlabMerge(object{"source": object{"path_with_namespace": "dev/widget"}, "source_project_id": 99}),
			with(pull, func(c *release.Change) { c.HeadRepo, c.Fork = "dev/widget", true }), "",
		},
		{
			"fork is gone", "Merge Request Hook", gitlabMerge(object{"source": nil, "source_project_id": nil}),
			with(pull, func(c *release.Change) { c.HeadRepo, c.Fork = "", true }), "",
		},
	}
	for _, k := range cases {
		t.Run(k.name, func(t *testing.T) {
			got, err := forge.Parse("gitlab", gitlabRequest(t, k.event, k.body))
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

func TestGitLabTokenAndSignature(t *testing.T) {
	now := time.Now()
	key := "whsec_" + base64.StdEncoding.EncodeToString([]byte("thirty-two bytes of a signing key"))
	signed := func(at time.Time, secret, prefix string) forge.Request {
		r := gitlabRequest(t, "Push Hook", gitlabPush("push", nil))
		r.Header.Del("X-Gitlab-Token")
		seconds := fmt.Sprint(at.Unix())
		r.Header.Set("webhook-id", "w1")
		r.Header.Set("webhook-timestamp", seconds)
		mac := base64.StdEncoding.EncodeToString(sign(secret, "w1.", seconds, ".", string(r.Body)))
		r.Header.Set("webhook-signature", "v1a,xx v1,AAAA "+prefix+mac)
		r.Secrets, r.Now = []string{"old", key, "plain"}, now
		return r
	}
	token := func(value string) forge.Request {
		r := gitlabRequest(t, "Push Hook", gitlabPush("push", nil))
		r.Header.Set("X-Gitlab-Token", value)
		return r
	}
	const real = "thirty-two bytes of a signing key"
	cases := []struct {
		name     string
		request  forge.Request
		kind     fault.Kind
		verified string
	}{
		{"signature", signed(now, real, "v1,"), "", "signature"},
		{"signature of a plain secret", signed(now, "plain", "v1,"), "", "signature"},
		{"another secret", signed(now, "x", "v1,"), fault.Denied, ""},
		{"another version", signed(now, real, "v2,"), fault.Denied, ""},
		{"old", signed(now.Add(-6*time.Minute), real, "v1,"), fault.Denied, ""},
		{"of the future", signed(now.Add(6*time.Minute), real, "v1,"), fault.Denied, ""},
		{"token", token(hookSecret), "", "token"},
		{"wrong token", token("s3cr3"), fault.Denied, ""},
		{"no token", token(""), fault.Denied, ""},
	}
	for _, k := range cases {
		got, err := forge.Parse("gitlab", k.request)
		if fault.Of(err) != k.kind || got.Verified != k.verified {
			t.Errorf("%s: verified %q, %v", k.name, got.Verified, err)
		}
	}
}
