package gateway_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/services/gateway"
)

// captured reads a delivery that a real Gitea sent.
func captured(t testing.TB, name string) (http.Header, []byte) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "pkg", "forge", "testdata", "gitea", name+".json"))
	must(t, err)
	var d struct {
		Headers [][2]string `json:"headers"`
		Raw     string      `json:"body_raw"`
	}
	must(t, json.Unmarshal(text, &d))
	h := http.Header{}
	for _, pair := range d.Headers {
		h.Add(pair[0], pair[1])
	}
	return h, []byte(d.Raw)
}

// deliveries tells what each of the 36 captured deliveries is: kind, ref, commit and head before, or why it is none.
func deliveries() map[string]string {
	return map[string]string{
		"push-master-first":                      "push refs/heads/master e7d320ce ",
		"push-master-two-commits":                "push refs/heads/master 08ebabe2 e7d320ce",
		"push-branch-new":                        "push refs/heads/feature/x 45e89ef4 ",
		"push-branch-update":                     "push refs/heads/feature/x a8762ba1 45e89ef4",
		"push-branch-force":                      "push refs/heads/feature/x f065fc4e a8762ba1",
		"push-branch-during-pull-request":        "push refs/heads/feature/x 811f7831 f065fc4e",
		"push-master-from-merge":                 "push refs/heads/master ddff632f 08ebabe2",
		"test-delivery":                          "push refs/heads/master ddff632f ",
		"push-master-form-encoded":               "push refs/heads/master 1a01f97e ddff632f",
		"push-master-hook-type-gogs":             "push refs/heads/master 1a01f97e ddff632f",
		"push-tag-lightweight":                   "tag refs/tags/v1.0.0 08ebabe2 ",
		"push-tag-annotated":                     "tag refs/tags/v1.0.1 08ebabe2 ",
		"pull_request-opened":                    "pull_request refs/pull/1/head f065fc4e ",
		"pull_request-synchronized":              "pull_request refs/pull/1/head 811f7831 f065fc4e",
		"pull_request-reopened":                  "pull_request refs/pull/1/head 811f7831 ",
		"pull_request-opened-from-fork":          "pull_request refs/pull/2/head 1b56fa66  fork",
		"create-branch-feature":                  "ignored: was made: the push says which commit it is",
		"create-branch-master":                   "ignored: was made: the push says which commit it is",
		"create-tag-annotated":                   "ignored: was made: the push says which commit it is",
		"create-tag-lightweight":                 "ignored: was made: the push says which commit it is",
		"delete-branch":                          "ignored: was deleted",
		"delete-tag":                             "ignored: was deleted",
		"push-tag-delete":                        "ignored: was deleted",
		"fork":                                   "ignored: announces no revision",
		"issues-opened":                          "ignored: announces no revision",
		"release-published":                      "ignored: announces no revision",
		"status":                                 "ignored: a commit's status changed",
		"pull_request-comment-created":           "ignored: announces no revision",
		"pull_request-comment-edited":            "ignored: announces no revision",
		"pull_request-edited":                    "ignored: changes none of its commits",
		"pull_request-label_updated":             "ignored: changes none of its commits",
		"pull_request-review-approved":           "ignored: announces no revision",
		"pull_request-review-comment":            "ignored: announces no revision",
		"pull_request-closed-unmerged":           "ignored: pull request 1 was closed",
		"pull_request-closed-unmerged-from-fork": "ignored: pull request 2 was closed",
		"pull_request-closed-merged":             "ignored: pull request 1 was merged",
	}
}

func describe(c release.Change) string {
	out := strings.Join([]string{string(c.Kind), c.Ref, c.Commit.Short(), c.Before.Short()}, " ")
	if c.Fork {
		out += " fork"
	}
	return out
}

// TestEveryCapturedDelivery posts each of the 36 deliveries of a real Gitea to a bus of its own, and all of them to one.
func TestEveryCapturedDelivery(t *testing.T) {
	t.Parallel()
	if len(deliveries()) != 36 {
		t.Fatalf("%d deliveries are told of, expected 36", len(deliveries()))
	}
	e := newEdge(t, gateway.Config{Projects: []gateway.Project{widget()}}, bus.Options{})
	for name, want := range deliveries() {
		header, body := captured(t, name)
		got := e.post("/hooks/gitea", header, body)
		reason, ignored := strings.CutPrefix(want, "ignored: ")
		switch {
		case got.status != http.StatusAccepted:
			t.Errorf("%s: %d %s", name, got.status, got.text)
		case ignored && (got.Run != "" || !strings.Contains(got.Ignored, reason)):
			t.Errorf("%s: %s, expected it ignored: %s", name, got.text, reason)
		case ignored:
		default:
			kind, _, _ := strings.Cut(want, " ")
			stored, err := e.bus.Get(t.Context(), event.TypeChangeReceived.FilterRun(got.Run, kind))
			must(t, err)
			c := stored.Data.(event.ChangeReceived).Change
			// Two deliveries may tell of one change, in any order here; they differ in what they know of the head before.
			if !strings.HasPrefix(describe(c), strings.Join(strings.Fields(want)[:3], " ")) || c.RunID() != got.Run || stored.Run != got.Run {
				t.Errorf("%s: stored %q under run %s, expected %q under run %s", name, describe(c), stored.Run, want, c.RunID())
			}
			if c.Project != "widget" || c.CloneURL != widget().CloneURL || c.Verified != "signature" || c.Forge != "gitea" || c.At.IsZero() {
				t.Errorf("%s: stored %+v", name, c)
			}
		}
	}
	runs := map[release.RunID]bool{}
	for _, f := range e.facts() {
		runs[f.Run] = true
	}
	// 8 pushes, 2 tags and 3 pull requests, two of which are of commits that were pushed.
	if n := len(e.changes()); n != 13 || len(runs) != 11 || len(e.facts()) != 13 {
		t.Errorf("%d changes of %d runs and %d facts, expected 13, 11 and 13", n, len(runs), len(e.facts()))
	}
}

// TestCapturedDeliveryAlone looks at what is stored of a delivery when nothing was stored before.
func TestCapturedDeliveryAlone(t *testing.T) {
	t.Parallel()
	for name, want := range deliveries() {
		if strings.HasPrefix(want, "ignored") || !strings.Contains("push-tag-annotated pull_request-synchronized push-branch-force pull_request-opened-from-fork push-master-form-encoded", name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEdge(t, gateway.Config{Projects: []gateway.Project{widget()}}, bus.Options{})
			header, body := captured(t, name)
			got := e.post("/hooks/gitea/widget", header, body)
			for _, c := range e.changes() {
				if describe(c) != want || c.RunID() != got.Run || c.Delivery != header.Get("X-Gitea-Delivery") {
					t.Errorf("stored %q, expected %q: %+v", describe(c), want, c)
				}
			}
			if n := len(e.facts()); n != 1 {
				t.Errorf("%d facts, expected 1", n)
			}
		})
	}
}

func labOf(kind string, change object) object {
	project := object{"path_with_namespace": "acme/widget", "git_http_url": "file:///etc"}
	body := object{
		"object_kind": kind, "ref": "refs/heads/master", "before": parent, "after": head, "checkout_sha": head, "user_username": "dev",
		"user": object{"username": "dev"}, "project": project, "commits": []object{{"id": head, "title": "Fix the gate"}},
		"object_attributes": object{
			"iid": 7, "action": "open", "title": "Better gate", "source_branch": "better", "target_branch": "master",
			"source_project_id": 1, "target_project_id": 1, "source": project, "last_commit": object{"id": head},
		},
	}
	for k, v := range change {
		body[k] = v
	}
	return body
}

func TestGitHubAndGitLab(t *testing.T) {
	t.Parallel()
	lab := func(kind string) http.Header {
		return http.Header{"X-Gitlab-Event": {kind}, "X-Gitlab-Token": {widgetSecret}, "X-Gitlab-Event-Uuid": {"u-1"}, "Content-Type": {"application/json"}}
	}
	tagBody := object{"ref": "refs/tags/v1", "before": zeros, "after": tagged}
	cases := []struct {
		forge, name string
		header      func(body []byte) http.Header
		body        object
		want        string
	}{
		{"github", "push", func(b []byte) http.Header { return github(widgetSecret, "push", b) }, pushOf(nil), "push refs/heads/master 11111111 22222222"},
		{"github", "tag", func(b []byte) http.Header { return github(widgetSecret, "push", b) }, pushOf(tagBody), "tag refs/tags/v1 11111111 "},
		{"github", "pull", func(b []byte) http.Header { return github(widgetSecret, "pull_request", b) }, pullOf(nil), "pull_request refs/pull/7/head 11111111 "},
		{"gitlab", "push", func([]byte) http.Header { return lab("Push Hook") }, labOf("push", nil), "push refs/heads/master 11111111 22222222"},
		{"gitlab", "tag", func([]byte) http.Header { return lab("Tag Push Hook") }, labOf("tag_push", tagBody), "tag refs/tags/v1 11111111 "},
		{"gitlab", "pull", func([]byte) http.Header { return lab("Merge Request Hook") }, labOf("merge_request", nil), "pull_request refs/merge-requests/7/head 11111111 "},
	}
	for _, k := range cases {
		t.Run(k.forge+" "+k.name, func(t *testing.T) {
			t.Parallel()
			p := widget()
			p.Forge = k.forge
			e := newEdge(t, gateway.Config{Projects: []gateway.Project{p}}, bus.Options{})
			body := text(t, k.body)
			got := e.post("/hooks/"+k.forge, k.header(body), body)
			for _, c := range e.changes() {
				if describe(c) != k.want || c.RunID() != got.Run || c.CloneURL != p.CloneURL || c.Forge != k.forge {
					t.Errorf("stored %q, expected %q: %+v", describe(c), k.want, c)
				}
			}
			if n := len(e.facts()); n != 1 || got.status != http.StatusAccepted {
				t.Errorf("%d %s, and %d facts", got.status, got.text, n)
			}
		})
	}
}

// TestOneCommitIsOneRun: a branch that is pushed and its pull request are the same run, which hears of both.
func TestOneCommitIsOneRun(t *testing.T) {
	t.Parallel()
	e := newEdge(t, gateway.Config{Projects: []gateway.Project{widget()}}, bus.Options{})
	push, pull := text(t, pushOf(object{"ref": "refs/heads/better"})), text(t, pullOf(nil))
	one := e.post("/hooks/gitea", gitea(widgetSecret, "push", push), push)
	two := e.post("/hooks/gitea", gitea(widgetSecret, "pull_request", pull), pull)
	if one.Run == "" || one.Run != two.Run || len(e.facts()) != 2 {
		t.Errorf("runs %q and %q, %d facts", one.Run, two.Run, len(e.facts()))
	}
	fork := text(t, pullOf(object{"head": object{"ref": "better", "sha": head, "repo": object{"full_name": "eve/widget"}}}))
	if three := e.post("/hooks/gitea", gitea(widgetSecret, "pull_request", fork), fork); three.Run == one.Run || three.status != 202 {
		t.Errorf("the pull request of a fork is run %q", three.Run)
	}
}

// TestManyAtOnce: one delivery, sent by a forge that is impatient, is one fact.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	e := newEdge(t, gateway.Config{Projects: []gateway.Project{widget()}}, bus.Options{})
	header, body := captured(t, "push-master-two-commits")
	var wg sync.WaitGroup
	runs := make([]release.RunID, 16)
	for i := range runs {
		wg.Go(func() {
			got, err := send(t.Context(), e.url+"/hooks/gitea", header, bytes.NewReader(body))
			if err != nil || got.status != http.StatusAccepted {
				t.Errorf("%d %s, %v", got.status, got.text, err)
			}
			runs[i] = got.Run
		})
	}
	wg.Wait()
	for _, run := range runs {
		if run == "" || run != runs[0] {
			t.Errorf("runs %q", runs)
		}
	}
	if n := len(e.facts()); n != 1 {
		t.Errorf("%d facts, expected 1", n)
	}
}
