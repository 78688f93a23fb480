package forge_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/forge"
	"github.com/sluiceci/sluice/pkg/release"
)

// hookSecret is the secret of every captured delivery.
const hookSecret = "s3cr3t"

// captured reads a delivery that a real Gitea sent.
func captured(t testing.TB, file string) (http.Header, []byte) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "gitea", file))
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Headers [][2]string `json:"headers"`
		Raw     string      `json:"body_raw"`
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	h := http.Header{}
	for _, pair := range d.Headers {
		h.Add(pair[0], pair[1])
	}
	return h, []byte(d.Raw)
}

const (
	giteaClone  = "http://127.0.0.1:24300/acme/widget.git"
	giteaCommit = "http://127.0.0.1:24300/acme/widget/commit/"
)

// push is the change that a push by dev to acme/widget makes.
func push(ref, commit, before, title string) release.Change {
	branch, _ := strings.CutPrefix(ref, "refs/heads/")
	return release.Change{
		Kind: release.Push, Repo: "acme/widget", CloneURL: giteaClone, Ref: ref, Branch: branch, Commit: release.Commit(commit),
		Before: release.Commit(before), Author: "dev", Title: title, URL: giteaCommit + commit,
	}
}

func tag(ref, commit, title string) release.Change {
	c := push(ref, commit, "", title)
	c.Kind, c.Branch = release.Tag, ""
	return c
}

func pull(number int32, commit, before, title, from, branch string) release.Change {
	n := string(rune('0' + number))
	return release.Change{
		Kind: release.PullRequest, Repo: "acme/widget", CloneURL: giteaClone, Ref: "refs/pull/" + n + "/head", Branch: "master",
		Commit: release.Commit(commit), Before: release.Commit(before), Author: "dev", Title: title,
		URL: "http://127.0.0.1:24300/acme/widget/pulls/" + n, Number: number, HeadRepo: from, HeadRef: branch, Fork: from != "acme/widget",
	}
}

func by(author string, c release.Change) release.Change { c.Author = author; return c }

// The commits of the captured repository.
const (
	first, third   = "e7d320ce", "08ebabe2"
	feature1       = "45e89ef4"
	feature2       = "a8762ba1"
	amended, synch = "f065fc4e", "811f7831"
	merged, fourth = "ddff632f", "1a01f97e"
	fork           = "1b56fa66"
)

// giteaCases tells of each of the 36 deliveries what it is: a change, a comment, or the reason why it is neither.
func giteaCases() map[string]struct {
	change  release.Change
	comment *forge.Comment
	reason  string
} {
	type expected = struct {
		change  release.Change
		comment *forge.Comment
		reason  string
	}
	const master, x = "refs/heads/master", "refs/heads/feature/x"
	changes := map[string]release.Change{
		"push-master-first":               push(master, first, "", "Initial commit"),
		"push-master-two-commits":         push(master, third, first, "third"),
		"push-branch-new":                 push(x, feature1, "", "feature work"),
		"push-branch-update":              push(x, feature2, feature1, "feature work 2"),
		"push-branch-force":               push(x, amended, feature2, "feature work 2 amended"),
		"push-branch-during-pull-request": push(x, synch, amended, "feature sync"),
		"push-master-from-merge":          by("admin", push(master, merged, third, "Merge #1")),
		"test-delivery":                   by("admin", push(master, merged, "", "Merge #1")),
		"push-master-form-encoded":        push(master, fourth, merged, "fourth"),
		"push-master-hook-type-gogs":      push(master, fourth, merged, "fourth"),
		"push-tag-lightweight":            tag("refs/tags/v1.0.0", third, "third"),
		"push-tag-annotated":              tag("refs/tags/v1.0.1", third, "third"),
		"pull_request-opened":             pull(1, amended, "", "Add feature", "acme/widget", "feature/x"),
		"pull_request-synchronized":       pull(1, synch, amended, "Add feature", "acme/widget", "feature/x"),
		"pull_request-reopened":           pull(1, synch, "", "Add feature (edited)", "acme/widget", "feature/x"),
		"pull_request-opened-from-fork":   pull(2, fork, "", "Fork PR", "dev/widget", "from-fork"),
	}
	reasons := map[string]string{
		"create-branch-feature":                  `branch "feature/x" was made: the push says which commit it is`,
		"create-branch-master":                   `branch "master" was made: the push says which commit it is`,
		"create-tag-annotated":                   `tag "v1.0.1" was made: the push says which commit it is`,
		"create-tag-lightweight":                 `tag "v1.0.0" was made: the push says which commit it is`,
		"delete-branch":                          `branch "feature/x" was deleted`,
		"delete-tag":                             `tag "v1.0.0" was deleted`,
		"push-tag-delete":                        "refs/tags/v1.0.0 was deleted",
		"fork":                                   `event "fork" announces no revision`,
		"issues-opened":                          `event "issues opened" announces no revision`,
		"release-published":                      `event "release published" announces no revision`,
		"status":                                 "a commit's status changed, not its files",
		"pull_request-comment-edited":            `a comment of pull request 1 was edited: only what is said anew is heard`,
		"pull_request-edited":                    `pull request 1: "edited" changes none of its commits`,
		"pull_request-label_updated":             `pull request 1: "label_updated" changes none of its commits`,
		"pull_request-review-approved":           `event "pull_request_approved reviewed" announces no revision`,
		"pull_request-review-comment":            `event "pull_request_comment reviewed" announces no revision`,
		"pull_request-closed-unmerged":           "pull request 1 was closed",
		"pull_request-closed-unmerged-from-fork": "pull request 2 was closed",
		"pull_request-closed-merged":             "pull request 1 was merged: the push to its target says which commit it is",
	}
	all := map[string]expected{"pull_request-comment-created.json": {comment: &forge.Comment{
		ID: "2", Number: 1, Author: "dev", AuthorID: 2, Body: "/run tests please",
		URL: "http://127.0.0.1:24300/acme/widget/pulls/1#issuecomment-2", Head: "811f783101f4150b8e55d01498a3c0bbbe255f43",
	}}}
	for name, c := range changes {
		all[name+".json"] = expected{change: c}
	}
	for name, r := range reasons {
		all[name+".json"] = expected{reason: r}
	}
	return all
}

func TestEveryGiteaDelivery(t *testing.T) {
	cases := giteaCases()
	files, err := filepath.Glob("testdata/gitea/*.json")
	if err != nil || len(files) != 36 || len(cases) != 36 {
		t.Fatalf("%d files and %d cases, expected 36 of both; %v", len(files), len(cases), err)
	}
	for file, want := range cases {
		t.Run(strings.TrimSuffix(file, ".json"), func(t *testing.T) {
			header, body := captured(t, file)
			got, err := forge.Parse("gitea", forge.Request{Header: header, Body: body, Secrets: []string{"old", hookSecret}, Now: time.Now()})
			if err != nil {
				t.Fatal(err)
			}
			repo := "acme/widget"
			if file == "fork.json" { // it tells of the new repository
				repo = "dev/widget"
			}
			if got.Repo != repo || got.Secret != 1 || got.Verified != "signature" || got.Delivery != header.Get("X-Gitea-Delivery") {
				t.Errorf("repository %q, secret %d, verified %q, delivery %q", got.Repo, got.Secret, got.Verified, got.Delivery)
			}
			if got.Ignored != want.reason {
				t.Errorf("ignored: %q\nexpected %q", got.Ignored, want.reason)
			}
			if closed := strings.Contains(file, "-closed-"); got.Closed != closed || closed && !got.Change.Commit.Valid() || got.Reopened != strings.Contains(file, "-reopened") {
				t.Errorf("closed %t, reopened %t, at commit %s", got.Closed, got.Reopened, got.Change.Commit)
			}
			if diff := cmp.Diff(want.comment, got.Comment); diff != "" {
				t.Errorf("the comment differs (-expected +found):\n%s", diff)
			}
			if want.reason != "" || want.comment != nil {
				return
			}
			want.change.Forge, want.change.Verified, want.change.Delivery = "gitea", "signature", got.Delivery
			if diff := cmp.Diff(want.change, short(got.Change)); diff != "" {
				t.Errorf("the change differs (-expected +found):\n%s", diff)
			}
		})
	}
}

// short shortens full commit names, after a look at their length, so that the table above can be read.
func short(c release.Change) release.Change {
	full := string(c.Commit)
	if c.Commit.Valid() {
		c.Commit = release.Commit(c.Commit.Short())
		c.URL = strings.Replace(c.URL, full, string(c.Commit), 1)
	}
	if c.Before.Valid() {
		c.Before = release.Commit(c.Before.Short())
	}
	return c
}

func TestGiteaSignatures(t *testing.T) {
	header, body := captured(t, "push-master-first.json")
	form, formBody := captured(t, "push-master-form-encoded.json")
	without := func(h http.Header, names ...string) http.Header {
		h = h.Clone()
		for _, n := range names {
			h.Del(n)
		}
		return h
	}
	one := []string{hookSecret}
	cases := map[string]struct {
		header  http.Header
		body    []byte
		secrets []string
		kind    fault.Kind
	}{
		"right":                     {header, body, one, ""},
		"rotated":                   {header, body, []string{hookSecret, "new"}, ""},
		"copy for GitHub's readers": {without(header, "X-Gitea-Signature"), body, one, ""},
		"missing":                   {without(header, "X-Gitea-Signature", "X-Hub-Signature-256"), body, one, fault.Denied},
		"of another secret":         {header, body, []string{"a", "b"}, fault.Denied},
		"of an empty secret":        {header, body, []string{""}, fault.Denied},
		"body changed":              {header, append([]byte(" "), body...), one, fault.Denied},
		"nobody checks":             {without(header, "X-Gitea-Signature"), body, nil, ""},
		"form changed":              {form, []byte(strings.Replace(string(formBody), "fourth", "f0urth", 1)), one, fault.Denied},
		"form without payload":      {form, []byte("a=b"), one, fault.Invalid},
		"form unreadable":           {form, []byte("payload=%zz"), one, fault.Invalid},
		"no event":                  {without(header, "X-Gitea-Event", "X-GitHub-Event"), body, one, fault.Invalid},
		"GitHub's headers only":     {without(header, "X-Gitea-Event"), body, one, fault.Invalid},
	}
	for name, k := range cases {
		got, err := forge.Parse("gitea", forge.Request{Header: k.header, Body: k.body, Secrets: k.secrets, Now: time.Now()})
		if fault.Of(err) != k.kind {
			t.Errorf("%s: %v is %q, expected %q", name, err, fault.Of(err), k.kind)
		}
		if err != nil && (!strings.HasPrefix(err.Error(), "cannot ") || strings.Contains(err.Error(), hookSecret)) {
			t.Errorf("%s: %q", name, err)
		}
		if name == "nobody checks" && (got.Verified != "" || got.Secret != -1) {
			t.Errorf("an unchecked delivery is %q by secret %d", got.Verified, got.Secret)
		}
	}
	if _, err := forge.Parse("github", forge.Request{Header: header, Body: body, Secrets: one}); !fault.Is(err, fault.Invalid) ||
		!strings.Contains(err.Error(), "/hooks/gitea") {
		t.Errorf("a delivery of Gitea at GitHub's door: %v", err)
	}
}
