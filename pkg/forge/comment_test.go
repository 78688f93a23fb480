package forge_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/forge"
)

func githubComment(change object) object {
	body := object{
		"action": "created", "issue": object{"number": 7, "title": "Better gate", "pull_request": object{"url": "https://api.github.com/x"}},
		"comment": object{
			"id": 991, "body": "Please\r\n/test smoke", "html_url": "https://github.com/c/991", "author_association": "MEMBER",
			"user": object{"login": "dev", "id": 5, "type": "User"},
		},
		"repository": object{"full_name": "acme/widget", "clone_url": "https://github.com/acme/widget.git"},
		"sender":     object{"login": "dev"},
	}
	for k, v := range change {
		body[k] = v
	}
	return body
}

func gitlabNote(change object) object {
	attributes := object{
		"id": 991, "note": "/test smoke", "noteable_type": "MergeRequest", "author_id": 5, "system": false, "action": "create",
		"url": "https://gitlab.com/c/991", "project_id": 15,
	}
	for k, v := range change {
		attributes[k] = v
	}
	return object{
		"object_kind": "note", "event_type": "note", "user": object{"id": 5, "username": "dev"}, "project": labProject(),
		"object_attributes": attributes, "merge_request": object{"iid": 7, "last_commit": object{"id": head}},
	}
}

// TestComments reads comments as GitHub and GitLab send them; Gitea's are among the captured deliveries.
func TestComments(t *testing.T) {
	t.Parallel()
	user := func(name, kind string) object { return object{"login": name, "id": 5, "type": kind} }
	note := func(username string) object {
		n := gitlabNote(nil)
		n["user"] = object{"id": 5, "username": username}
		return n
	}
	onIssue := gitlabNote(object{"noteable_type": "Issue"})
	cases := []struct {
		name, forge string
		body        object
		reason      string
	}{
		{"created", "github", githubComment(nil), ""},
		{"edited", "github", githubComment(object{"action": "edited"}), "a comment of pull request 7 was edited: only what is said anew is heard"},
		{"deleted", "github", githubComment(object{"action": "deleted"}), "a comment of pull request 7 was deleted: only what is said anew is heard"},
		{"on an issue", "github", githubComment(object{"issue": object{"number": 3}}), "issue 3 is no pull request: a comment there is about no revision"},
		{
			"of a bot", "github", githubComment(object{"comment": object{"id": 1, "body": "/test", "user": user("ci[bot]", "Bot")}}),
			"ci[bot] is a bot: programs are not listened to",
		},
		{
			"of our own", "github", githubComment(object{"comment": object{"id": 1, "body": "Done.\n\n" + forge.Answered + "x -->", "user": user("ada", "User")}}),
			"an answer of Sluice's own",
		},
		{
			"too large", "github", githubComment(object{"comment": object{"id": 1, "body": strings.Repeat("x", 1<<20+1), "user": user("ada", "User")}}),
			"the comment has 1048577 bytes, at most 1048576 are read",
		},
		{"created", "gitlab", gitlabNote(nil), ""},
		{"of an old GitLab", "gitlab", gitlabNote(object{"action": nil}), ""},
		{"changed", "gitlab", gitlabNote(object{"action": "update"}), "a comment of merge request 7 was changed (update): only what is said anew is heard"},
		{"of GitLab", "gitlab", gitlabNote(object{"system": true}), "a note of GitLab's own"},
		{"on an issue", "gitlab", onIssue, `a comment on "Issue" is about no merge request`},
		{"of a bot", "gitlab", note("project_15_bot_4ffca"), "project_15_bot_4ffca is a bot: programs are not listened to"},
	}
	for _, c := range cases {
		request := githubRequest(t, "issue_comment", c.body)
		want := &forge.Comment{ID: "991", Number: 7, Author: "dev", AuthorID: 5, Body: "Please\r\n/test smoke", URL: "https://github.com/c/991"}
		if c.forge == "gitlab" {
			request = gitlabRequest(t, "Note Hook", c.body)
			want.Body, want.URL, want.Head = "/test smoke", "https://gitlab.com/c/991", head
		}
		got, err := forge.Parse(c.forge, request)
		if err != nil || got.Ignored != c.reason {
			t.Errorf("%s %s: ignored %q, expected %q; %v", c.forge, c.name, got.Ignored, c.reason, err)
			continue
		}
		if c.reason != "" {
			want = nil
		}
		if diff := cmp.Diff(want, got.Comment); diff != "" {
			t.Errorf("%s %s (-expected +found):\n%s", c.forge, c.name, diff)
		}
	}
}

func TestUnreadableComments(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]object{
		"nothing": {"action": "created"}, "no author": githubComment(object{"comment": object{"id": 1, "body": "/test"}}),
		"no id": githubComment(object{"comment": object{"body": "/test", "user": object{"login": "a"}}}),
		"words": githubComment(object{"comment": object{"id": "x"}}),
	} {
		_, err := forge.Parse("github", forge.Request{
			Header: githubRequest(t, "issue_comment", body).Header, Body: text(t, body), Now: time.Now(),
		})
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v, expected an error of kind invalid", name, err)
		}
	}
}
