package gateway

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

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
		"push-tag-annotated":                     "tag refs/tags/v1.0.1 08ebabe2 ", // not the tag object
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
		"pull_request-comment-created":           "ignored: no directive of Sluice's",
		"pull_request-comment-edited":            "ignored: only what is said anew is heard",
		"pull_request-edited":                    "ignored: changes none of its commits",
		"pull_request-label_updated":             "ignored: changes none of its commits",
		"pull_request-review-approved":           "ignored: announces no revision",
		"pull_request-review-comment":            "ignored: announces no revision",
		"pull_request-closed-unmerged":           "ignored: pull request 1 was closed",
		"pull_request-closed-unmerged-from-fork": "ignored: pull request 2 was closed",
		"pull_request-closed-merged":             "ignored: pull request 1 was merged",
	}
}

// described is a change in the words of the table above.
func described(c release.Change) string {
	out := strings.Join([]string{string(c.Kind), c.Ref, c.Commit.Short(), c.Before.Short()}, " ")
	if c.Fork {
		out += " fork"
	}
	return out
}

// Each of the 36 deliveries is what the table says. Where two tell of one change, the first one's word stays.
func TestWhatEachDeliveryIs(t *testing.T) {
	t.Parallel()
	if len(deliveries()) != 36 {
		t.Fatalf("the table has %d deliveries, expected 36", len(deliveries()))
	}
	w := newWorld(t, Config{Projects: []Project{widget()}}, remote{}, bus.Options{})
	first := map[string]string{} // by run and kind: what is expected there
	all := deliveries()
	for _, name := range slices.Sorted(maps.Keys(all)) { // a closing comes before the pull request, and so ends no run
		want := all[name]
		got := w.deliver(name + ".json")
		if reason, ignored := strings.CutPrefix(want, "ignored: "); ignored || got.Run == "" {
			if got.Run != "" || !strings.Contains(got.Ignored, reason) {
				t.Errorf("%s: %d %s, expected %s", name, got.code, got.text, want)
			}
			continue
		}
		place := string(got.Run) + " " + strings.Fields(want)[0]
		if first[place] == "" {
			first[place] = want
		}
		if strings.Fields(first[place])[2] != strings.Fields(want)[2] {
			t.Errorf("%s, which is %q, is of the run of %q", name, want, first[place])
		}
	}
	facts := w.facts()
	for _, e := range facts {
		c := e.Data.(event.ChangeReceived).Change
		if want := first[string(e.Run)+" "+e.Key]; described(c) != want || c.RunID() != e.Run || c.Verified != "signature" {
			t.Errorf("run %s has %q, expected %q: %+v", e.Run, described(c), want, c)
		}
	}
	if len(facts) != 13 || len(first) != 13 { // 8 pushes, 2 tags, 3 pull requests
		t.Errorf("%d facts in %d places, expected 13", len(facts), len(first))
	}
}

// The commits of deliveries that are made here.
const (
	headCommit = "1111111111111111111111111111111111111111"
	lastCommit = "2222222222222222222222222222222222222222"
	tagObject  = "3333333333333333333333333333333333333333"
	noCommit   = "0000000000000000000000000000000000000000"
)

type object = map[string]any

func with(body, change object) object {
	for k, v := range change {
		body[k] = v
	}
	return body
}

// pushOf is a push to master of acme/widget in the form of GitHub and Gitea, with some fields changed.
func pushOf(change object) object {
	return with(object{
		"ref": "refs/heads/master", "before": lastCommit, "after": headCommit,
		"head_commit": object{"id": headCommit, "message": "Fix the gate\n\nLong story.", "url": "https://forge.test/c/1"},
		"repository":  object{"full_name": "acme/widget", "clone_url": "file:///etc"},
		"sender":      object{"login": "dev"},
	}, change)
}

// pullOf is a pull request from branch better to master of acme/widget, with some fields changed.
func pullOf(change object) object {
	repo := object{"full_name": "acme/widget", "clone_url": "file:///etc"}
	return object{"action": "opened", "number": 7, "repository": repo, "pull_request": with(object{
		"number": 7, "title": "Better gate", "user": object{"login": "dev"},
		"base": object{"ref": "master", "sha": lastCommit, "repo": repo}, "head": object{"ref": "better", "sha": headCommit, "repo": repo},
	}, change)}
}

// labOf is a delivery of GitLab.
func labOf(kind string, change object) object {
	project := object{"path_with_namespace": "acme/widget", "git_http_url": "file:///etc"}
	return with(object{
		"object_kind": kind, "ref": "refs/heads/master", "before": lastCommit, "after": headCommit, "checkout_sha": headCommit,
		"user_username": "dev", "project": project, "commits": []object{{"id": headCommit, "title": "Fix the gate"}},
		"object_attributes": object{
			"iid": 7, "action": "open", "title": "Better gate", "source_branch": "better", "target_branch": "master",
			"source_project_id": 1, "target_project_id": 1, "source": project, "last_commit": object{"id": headCommit},
		},
	}, change)
}

// send posts a delivery of a forge, with the secret s3cr3t.
func (w *world) send(forge, kind string, content object) answer {
	w.t.Helper()
	body, err := json.Marshal(content)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.post("/hooks/"+forge, signed(forge, kind, body), strings.NewReader(string(body)))
}

// signed are a delivery's headers.
func signed(forge, kind string, body []byte) http.Header {
	mac := hmac.New(sha256.New, []byte("s3cr3t"))
	mac.Write(body)
	sum := hex.EncodeToString(mac.Sum(nil))
	h := http.Header{}
	switch forge {
	case "github":
		h.Set("X-GitHub-Event", kind)
		h.Set("X-Hub-Signature-256", "sha256="+sum)
	case "gitlab":
		h.Set("X-Gitlab-Event", kind)
		h.Set("X-Gitlab-Token", "s3cr3t")
	default:
		h.Set("X-Gitea-Event", kind)
		h.Set("X-Gitea-Signature", sum)
	}
	return h
}

func TestGitHubAndGitLab(t *testing.T) {
	t.Parallel()
	tag := object{"ref": "refs/tags/v1", "before": noCommit, "after": tagObject}
	cases := []struct {
		forge, kind string
		body        object
		want        string
	}{
		{"github", "push", pushOf(nil), "push refs/heads/master 11111111 22222222"},
		{"github", "push", pushOf(tag), "tag refs/tags/v1 11111111 "},
		{"github", "pull_request", pullOf(nil), "pull_request refs/pull/7/head 11111111 "},
		{"gitlab", "Push Hook", labOf("push", nil), "push refs/heads/master 11111111 22222222"},
		{"gitlab", "Tag Push Hook", labOf("tag_push", tag), "tag refs/tags/v1 11111111 "},
		{"gitlab", "Merge Request Hook", labOf("merge_request", nil), "pull_request refs/merge-requests/7/head 11111111 "},
	}
	for _, forge := range []string{"github", "gitlab"} {
		p := widget()
		p.Forge = forge
		w := newWorld(t, Config{Projects: []Project{p}}, remote{}, bus.Options{})
		for _, k := range cases {
			if k.forge != forge {
				continue
			}
			got := w.send(forge, k.kind, k.body)
			key, _, _ := strings.Cut(k.want, " ")
			e, err := w.bus.Get(t.Context(), event.TypeChangeReceived.FilterRun(got.Run, key))
			if err != nil {
				t.Fatalf("%s, %s: %d %s, %v", forge, k.kind, got.code, got.text, err)
			}
			c := e.Data.(event.ChangeReceived).Change
			if described(c) != k.want || c.CloneURL != p.CloneURL || c.Forge != forge || c.Verified == "" {
				t.Errorf("%s, %s: stored %q, expected %q: %+v", forge, k.kind, described(c), k.want, c)
			}
		}
	}
}

// A branch that is pushed and a pull request of it are two runs, in whichever order they come: a run has one level of trust,
// and whoever opens a pull request must not take the push's place. A fork's is a third.
func TestAPullRequestNeverTakesThePushesPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Config{Projects: []Project{widget()}}, remote{}, bus.Options{})
	pushed := w.send("gitea", "push", pushOf(object{"ref": "refs/heads/better"}))
	pulled := w.send("gitea", "pull_request", pullOf(nil))
	if pushed.Run == "" || pulled.Run == "" || pushed.Run == pulled.Run || len(w.facts()) != 2 {
		t.Errorf("runs %q and %q, %d facts", pushed.Run, pulled.Run, len(w.facts()))
	}
	fork := w.send("gitea", "pull_request", pullOf(object{"head": object{"ref": "better", "sha": headCommit, "repo": object{"full_name": "eve/widget"}}}))
	if fork.Run == pushed.Run || fork.Run != pulled.Run || fork.code != http.StatusAccepted {
		t.Errorf("the same commit from a fork is run %q: %d %s", fork.Run, fork.code, fork.text)
	}
}
