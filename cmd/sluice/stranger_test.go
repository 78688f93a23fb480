package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/driver/drivertest"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/services/executor"
	scheduler "github.com/sluiceci/sluice/services/test-scheduler"
)

// siege is a platform whose default pool takes the changes of strangers, and whose pool signing, with a machine to lease, takes
// releases only. What strangers send it are deliveries as a forge signs them.
type siege struct {
	*vault
	repo string
}

func newSiege(t *testing.T, forge string) *siege {
	t.Helper()
	v := newVault(t, func(in *installation) {
		in.Pools = []poolRule{{Name: "default", Accepts: release.Trusts()}, {Name: "signing", Accepts: []release.Trust{release.TrustRelease}}}
		in.Executors = []executor.Config{{Pool: "default", Slots: 2, MinFree: -1}, {Pool: "signing", Slots: 1, MinFree: -1}}
		in.Providers = []scheduler.Provider{{Name: "metal", Pool: "signing", Places: []scheduler.PlaceConfig{{Name: "rack-1", Address: "local"}}}}
		for i := range in.Projects {
			in.Projects[i].Forge = forge
		}
	})
	return &siege{vault: v, repo: v.repos["one"]}
}

// commit makes one and gives it a ref, as forges do for pull requests.
func (s *siege) commit(ref string, files map[string]string) release.Commit {
	s.t.Helper()
	for file, text := range files {
		must(s.t, os.WriteFile(filepath.Join(s.repo, file), []byte(text), 0o600))
	}
	head := commitAll(s.t, s.repo)
	gitOf(s.t, s.repo, "update-ref", ref, string(head))
	return head
}

// away takes the newest commit off the branch that is checked out: only its ref keeps it.
func (s *siege) away() { gitOf(s.t, s.repo, "reset", "-q", "--hard", "HEAD~1") }

// deliver posts a delivery and returns the run that it starts.
func (s *siege) deliver(forge, kind, contentType string, body []byte) release.RunID {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.in.PublicURL+"/hooks/"+forge, bytes.NewReader(body))
	must(s.t, err)
	mac := hmac.New(sha256.New, []byte(secretsOfAll()["HOOK"]))
	mac.Write(body)
	sum := hex.EncodeToString(mac.Sum(nil))
	r.Header.Set("Content-Type", contentType)
	if forge == "github" {
		r.Header.Set("X-Github-Event", kind)
		r.Header.Set("X-Hub-Signature-256", "sha256="+sum)
	} else {
		r.Header.Set("X-Gitea-Event", kind)
		r.Header.Set("X-Gitea-Signature", sum)
	}
	answer, err := http.DefaultClient.Do(r)
	must(s.t, err)
	defer func() { _ = answer.Body.Close() }()
	var said struct{ Run release.RunID }
	must(s.t, json.NewDecoder(answer.Body).Decode(&said))
	if answer.StatusCode != http.StatusAccepted {
		s.t.Fatalf("the delivery is answered %d", answer.StatusCode)
	}
	return said.Run
}

// pull is a stranger's pull request to a branch.
func (s *siege) pull(number int, head release.Commit, branch, base string) release.RunID {
	s.t.Helper()
	return s.deliver("gitea", "pull_request", "application/json", fmt.Appendf(nil, `{"action": "opened", "number": %d, "repository": {"full_name": "acme/one"},
		"pull_request": {"number": %d, "title": "t", "user": {"login": "stranger"}, "base": {"ref": %q, "repo": {"full_name": "acme/one"}},
		"head": {"ref": %q, "sha": %q, "repo": {"full_name": "stranger/one"}}}}`, number, number, base, branch, head))
}

func pushed(branch string, commit release.Commit, message string) []byte {
	text, _ := json.Marshal(map[string]any{
		"ref": "refs/heads/" + branch, "before": strings.Repeat("0", 40), "after": commit, "repository": map[string]string{"full_name": "acme/one"},
		"head_commit": map[string]string{"id": string(commit), "message": message}, "sender": map[string]string{"login": "dev"},
	})
	return text
}

// permit lets a stranger's run run, once it waits for that.
func (s *siege) permit(run release.RunID) {
	s.t.Helper()
	s.until(run, event.TypeRunPermissionRequested, "", nil)
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, fmt.Sprintf("%s/api/v1/runs/%s/permit", s.in.PublicURL, run), strings.NewReader("{}"))
	must(s.t, err)
	r.Header.Set("Authorization", "Bearer "+secretsOfAll()["ADA_TOKEN"])
	answer, err := http.DefaultClient.Do(r)
	must(s.t, err)
	must(s.t, answer.Body.Close())
	if answer.StatusCode != http.StatusAccepted {
		s.t.Fatalf("the permission is answered %d", answer.StatusCode)
	}
}

// releases is a definition of the release branch that publishes a wheel.
const releases = `project: one
triggers: {push: {branches: ["**"]}, pull_request: true}
builds: {wheel: {run: "true", outputs: {wheel: "*.whl"}}}
gate: {require: [builds], on: [push]}
publish: {open: {kind: pypi-index, artifacts: [wheel], directory: open}}
`

// TestStrangersReadNothing: a pull request of a fork that somebody permitted runs beside the platform, and reads neither its
// files, nor another project's sources, nor its API over loopback. Its globs over
// deep directories do no harm.
func TestStrangersReadNothing(t *testing.T) {
	t.Parallel()
	s := newSiege(t, "gitea")
	s.commit("refs/heads/master", map[string]string{definitionName: releases})
	gitOf(t, s.repo, "branch", "gh-pages")
	state := s.in.Dir
	secrets := s.in.Secrets.Files[0]
	head := s.commit("refs/pull/7/head", map[string]string{"look.py": `import os, sys, urllib.request, urllib.error
state, secrets, url, other = sys.argv[1:]
for name in [state + "/connection.json", state + "/identities", state + "/nats", state + "/blobs", secrets, other]:
    print("file", "there" if os.path.exists(name) else "none", name)
for path in ["/api/v1/runs", "/api/v1/pools", "/api/v1/streams", "/api/v1/deadletters", "/metrics", "/"]:
    try: print("web", urllib.request.build_opener(urllib.request.HTTPHandler).open(url + path, timeout=20).geturl().removeprefix(url), path)
    except urllib.error.HTTPError as e: print("web", e.code, path)
d = "."
for i in range(60): d += "/a"
os.makedirs(d)
print("the end")
`, definitionName: fmt.Sprintf(`project: one
triggers: {pull_request: true}
builds:
  look:
    run: python3 look.py %s %s %s %s
    outputs: {stars: {path: "%szz", optional: true}}
`, state, secrets, s.in.PublicURL, s.repos["two"], strings.Repeat("**/", 6))})
	run := s.pull(7, head, "x", "master")
	s.away()
	s.permit(run)
	ended := s.until(run, event.TypeTaskFinished, "default.look.", nil).(event.TaskFinished)
	if strings.Contains(ended.Reason, "cannot run an untrusted change here") {
		drivertest.Lacks(t, ended.Reason)
	}
	if ended.Class != release.ClassOK || len(ended.Artifacts) > 0 {
		t.Errorf("it ended with %s (%s) and %d artifacts", ended.Class, ended.Reason, len(ended.Artifacts))
	}
	log := s.log(run, "look", "ADA_TOKEN")
	if strings.Count(log, "file none") != 6 || strings.Count(log, "web 401") != 6 {
		t.Errorf("a stranger's task sees:\n%s", log)
	}
}

// TestStrangersReachNoRelease are the ways to a release past the repository: a pull request from the release branch, a commit that
// is on no branch, a signed delivery read as something else; and the ways to machines that are kept for releases.
func TestStrangersReachNoRelease(t *testing.T) {
	t.Parallel()
	s := newSiege(t, "gitea")
	s.commit("refs/heads/master", map[string]string{definitionName: releases, "widget-1.0-py3-none-any.whl": wheel(t)})
	gitOf(t, s.repo, "branch", "gh-pages")

	t.Run("a pull request from the release branch takes nothing of the push", func(t *testing.T) {
		head := s.commit("refs/heads/master", map[string]string{"n": "2"})
		pull, push := s.pull(9, head, "master", "gh-pages"), s.deliver("gitea", "push", "application/json", pushed("master", head, "m"))
		if pull == push {
			t.Fatalf("both are run %s", pull)
		}
		s.until(pull, event.TypeRunPermissionRequested, "", nil)
		s.until(push, event.TypeReleasePublished, "", nil)
	})
	t.Run("a pool and a machine that are kept for releases", func(t *testing.T) {
		head := s.commit("refs/pull/3/head", map[string]string{definitionName: `project: one
triggers: {pull_request: true}
builds: {grab: {pool: signing, lease: {from: metal, places: [rack-1]}, run: "true"}}
`})
		s.away()
		run := s.pull(3, head, "x", "master")
		s.permit(run)
		s.rejected(t, run, "pool signing accepts release changes only", "provider metal accepts release and trusted changes only", "which is not in untrusted.providers")
	})
	t.Run("a commit on no branch, said to be the head of the release branch", func(t *testing.T) {
		head := s.commit("refs/pull/11/head", map[string]string{"n": "trojan"})
		s.away()
		run := s.deliver("gitea", "push", "application/json", pushed("master", head, "m"))
		s.permit(run) // somebody may even let it run
		planned := s.until(run, event.TypeRunPlanned, "", nil).(event.RunPlanned)
		if planned.Trust != release.TrustUntrusted || len(planned.Targets) > 0 {
			t.Errorf("it is trusted as %s (%s), and has targets %v", planned.Trust, planned.TrustReason, planned.Targets)
		}
		s.until(run, event.TypeRunFinished, "", nil)
	})
}

// rejected waits until a run is rejected, for each of these reasons.
func (s *siege) rejected(t *testing.T, run release.RunID, reasons ...string) {
	t.Helper()
	got := s.until(run, event.TypeRunRejected, "", nil).(event.RunRejected)
	var said string
	for _, p := range got.Problems {
		said += p.Message + "\n"
	}
	for _, want := range reasons {
		if !strings.Contains(said, want) {
			t.Errorf("rejected with\n%sexpected %q", said, want)
		}
	}
}

// TestSignedBytesMeanWhatTheyMeant: GitHub's signature is of the body and not of its type. A delivery of a topic branch, sent again
// as a form whose field is in a stranger's message, is still one of the topic branch, or nothing.
func TestSignedBytesMeanWhatTheyMeant(t *testing.T) {
	t.Parallel()
	s := newSiege(t, "github")
	topic := s.commit("refs/heads/topic", map[string]string{definitionName: strings.Replace(releases, `["**"]`, "[master]", 1)})
	evil := s.commit("refs/pull/9/head", map[string]string{"n": "trojan"})
	s.away()
	body := pushed("topic", topic, "harmless &payload="+url.QueryEscape(string(pushed("master", evil, "forged")))+"& text")
	first := s.deliver("github", "push", "application/json", body)
	again := s.deliver("github", "push", "application/x-www-form-urlencoded", body)
	said := s.until(again, event.TypeChangeReceived, "", nil).(event.ChangeReceived)
	if again != first || said.Change.Commit != topic || said.Change.Branch != "topic" {
		t.Errorf("as a form it starts run %s of %s on %s, and run %s as JSON", again, said.Change.Commit, said.Change.Branch, first)
	}
}
