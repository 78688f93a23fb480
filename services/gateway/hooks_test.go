package gateway

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// The 36 deliveries of a real Gitea, each over HTTP: a change is in the stream when its answer comes, all else is
// ignored with a reason, and the same commit on the same line is one run.
func TestEveryDeliveryOverHTTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Config{Projects: []Project{widget()}}, remote{}, bus.Options{})
	files, err := filepath.Glob("../../pkg/forge/testdata/gitea/*.json")
	if err != nil || len(files) != 36 {
		t.Fatalf("%d deliveries, expected 36; %v", len(files), err)
	}
	runs, ignored := map[string]release.RunID{}, 0
	for _, file := range files {
		name := filepath.Base(file)
		got := w.deliver(name)
		switch {
		case got.code != http.StatusAccepted:
			t.Errorf("%s: %d %s", name, got.code, got.text)
		case got.Ignored != "":
			ignored++
		default:
			runs[name] = got.Run
			w.stored(name, got)
		}
	}
	if ignored != 20 || len(runs) != 16 {
		t.Errorf("%d ignored and %d runs, expected 20 and 16", ignored, len(runs))
	}
	same := map[string]string{
		"pull_request-reopened.json":    "pull_request-synchronized.json",
		"test-delivery.json":            "push-master-from-merge.json",
		"push-master-form-encoded.json": "push-master-hook-type-gogs.json",
	}
	for one, other := range same {
		if runs[one] != runs[other] {
			t.Errorf("%s is run %s and %s is run %s, expected the same", one, runs[one], other, runs[other])
		}
	}
	if runs["pull_request-synchronized.json"] == runs["push-branch-during-pull-request.json"] {
		t.Error("a pull request and the push of its branch are one run")
	}
	distinct := map[release.RunID]bool{}
	for _, run := range runs {
		distinct[run] = true
	}
	if len(distinct) != 16-len(same) {
		t.Errorf("%d runs, expected %d", len(distinct), 16-len(same))
	}
}

// stored looks at the fact that an answer named.
func (w *world) stored(name string, got answer) {
	w.t.Helper()
	for _, e := range w.facts() {
		c, is := e.Data.(event.ChangeReceived)
		if e.ID != got.Event || !is {
			continue
		}
		if e.Run != got.Run || c.Change.Project != "widget" || c.Change.CloneURL != "https://git.test/acme/widget.git" || c.Change.At.IsZero() {
			w.t.Errorf("%s is stored as %+v of run %s", name, c.Change, e.Run)
		}
		return
	}
	w.t.Errorf("%s was answered with event %s, which is not in the stream", name, got.Event)
}

func TestDuplicatesInParallelAreOneRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Config{Projects: []Project{widget()}}, remote{}, bus.Options{})
	var wait sync.WaitGroup
	answers := make([]answer, 48)
	for i := range answers {
		wait.Go(func() { answers[i] = w.deliver("push-branch-during-pull-request.json") })
	}
	wait.Wait()
	for _, got := range answers {
		if got.code != http.StatusAccepted || got.Run != answers[0].Run || got.Run == "" {
			t.Fatalf("%d %s, expected run %s", got.code, got.text, answers[0].Run)
		}
	}
	if facts := w.facts(); len(facts) != 1 {
		t.Errorf("the stream has %d facts, expected 1", len(facts))
	}
}

// Law 1: what was answered with 2xx is stored; what could not be stored is answered with 503, and taken later.
func TestFullStreamAnswers503AndLosesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Config{Projects: []Project{widget()}}, remote{}, bus.Options{MaxBytes: 40_000})
	accepted, refused := map[release.RunID]bool{}, 0
	const deliveries = 100
	for i := range deliveries {
		switch got := w.push("acme/widget", "master", numbered(i), "s3cr3t"); got.code {
		case http.StatusAccepted:
			accepted[got.Run] = true
		case http.StatusServiceUnavailable:
			refused++
			if got.header.Get("Retry-After") == "" || got.Error.Kind != fault.Transient {
				t.Fatalf("refused without telling when to come again: %v %s", got.header, got.text)
			}
		default:
			t.Fatalf("%d %s", got.code, got.text)
		}
	}
	if refused == 0 || len(accepted) == 0 {
		t.Fatalf("%d accepted, %d refused: expected some of both", len(accepted), refused)
	}
	if facts := w.facts(); len(facts) != len(accepted) {
		t.Errorf("%d were accepted, %d are stored", len(accepted), len(facts))
	}
	larger, err := w.server.Connect(t.Context(), bus.Options{MaxBytes: 10_000_000}) // the operator makes room
	if err != nil {
		t.Fatal(err)
	}
	defer larger.Close()
	for i := range deliveries { // and the forge sends all of them again
		if got := w.push("acme/widget", "master", numbered(i), "s3cr3t"); got.code != http.StatusAccepted {
			t.Fatalf("with room again: %d %s", got.code, got.text)
		}
	}
	if facts := w.facts(); len(facts) != deliveries {
		t.Errorf("%d facts in the end, expected %d", len(facts), deliveries)
	}
}

func TestDeliveriesThatAreRefused(t *testing.T) {
	t.Parallel()
	github := Project{Name: "hub", Forge: "github", Repo: "acme/hub", CloneURL: "https://git.test/hub.git", Secrets: []string{"other"}}
	w := newWorld(t, Config{Projects: []Project{widget(), github, {Name: "plain", Repo: "x", CloneURL: "https://git.test/x"}}}, remote{}, bus.Options{})
	header, body := captured(t, "push-master-first.json")
	edited := func(edit func(http.Header)) http.Header {
		h := header.Clone()
		edit(h)
		return h
	}
	unsigned := edited(func(h http.Header) { h.Del("X-Gitea-Signature"); h.Del("X-Hub-Signature-256") })
	badHeader, badBody := pushed("acme/widget", "a b", numbered(1), "s3cr3t")
	cases := []struct {
		name, path string
		header     http.Header
		body       io.Reader
		code       int
		says       string
	}{
		{"unsigned", "/hooks/gitea", unsigned, strings.NewReader(body), 401, "X-Hub-Signature-256 is missing"},
		{"signature of nobody", "/hooks/gitea", edited(func(h http.Header) { h.Set("X-Gitea-Signature", "00ff") }), strings.NewReader(body), 401, "none of the 2 active secrets"},
		{"body changed", "/hooks/gitea", header, strings.NewReader(body + " "), 401, "changed on its way"},
		{"signed, but nonsense", "/hooks/gitea", badHeader, strings.NewReader(badBody), 400, "refs/heads/a b"},
		{"at another forge's door", "/hooks/github", header, strings.NewReader(body), 400, "send it to /hooks/gitea"},
		{"forge that nobody uses", "/hooks/gitlab", header, strings.NewReader(body), 401, "no project here"},
		{"forge that nobody knows", "/hooks/sourcehut", header, strings.NewReader(body), 404, "/hooks/gitea"},
		{"project that nobody knows", "/hooks/gitea/other", header, strings.NewReader(body), 401, "no project here"},
		{"too large", "/hooks/gitea", header, strings.NewReader(strings.Repeat("x", maxBody+1)), 413, "larger than"},
		{"too large, in pieces", "/hooks/gitea", header, io.LimitReader(endless{}, maxBody+1), 413, "larger than"},
		{"empty", "/hooks/gitea", header, strings.NewReader(""), 401, "changed on its way"},
	}
	for _, k := range cases {
		got := w.post(k.path, k.header, k.body)
		if got.code != k.code || !strings.Contains(got.Error.Message, k.says) {
			t.Errorf("%s: %d %s, expected %d with %q", k.name, got.code, got.text, k.code, k.says)
		}
		if strings.Contains(got.text, "s3cr3t") || strings.Contains(got.text, "acme/") {
			t.Errorf("%s: an unknown sender is told %s", k.name, got.text)
		}
	}
	if facts := w.facts(); len(facts) != 0 {
		t.Errorf("%d facts of refused deliveries are stored", len(facts))
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestSecretsBelongToProjects(t *testing.T) {
	t.Parallel()
	project := func(name, repo string, secrets ...string) Project {
		return Project{Name: name, Forge: "gitea", Repo: repo, CloneURL: "https://git.test/" + repo, Secrets: secrets}
	}
	w := newWorld(t, Config{Projects: []Project{
		project("one", "acme/one", "hook", "hook-new"), project("two", "acme/two", "hook"), project("three", "acme/three", "other"),
	}}, remote{}, bus.Options{})
	cases := []struct {
		name, repo, secret, path, project string
	}{
		{"shared by two, of the first", "acme/one", "s3cr3t", "", "one"},
		{"shared by two, of the second", "acme/two", "s3cr3t", "", "two"},
		{"during a rotation", "acme/one", "n3w", "", "one"},
		{"of another project", "acme/three", "s3cr3t", "", ""},
		{"of a repository that is not here", "acme/four", "oth3r", "", ""},
		{"by name", "acme/three", "oth3r", "/three", "three"},
		{"in capitals", "Acme/ONE", "n3w", "", "one"},
	}
	for i, k := range cases {
		h, body := pushed(k.repo, "master", numbered(i), k.secret)
		got := w.post("/hooks/gitea"+k.path, h, strings.NewReader(body))
		if got.code != http.StatusAccepted || (got.Ignored == "") != (k.project != "") {
			t.Errorf("%s: %d %s", k.name, got.code, got.text)
			continue
		}
		if k.project == "" {
			continue
		}
		if c := w.get(got.Run, event.TypeChangeReceived).Data.(event.ChangeReceived).Change; c.Project != k.project || c.Repo != "acme/"+k.project {
			t.Errorf("%s: project %s, repository %s", k.name, c.Project, c.Repo)
		}
	}
	got := w.push("acme/four", "master", numbered(9), "oth3r")
	if !strings.Contains(got.Ignored, "acme/three") || strings.Contains(got.Ignored, "acme/one") {
		t.Errorf("a signed delivery is told %q, expected the repositories of its own secret", got.Ignored)
	}
}

// A secret that the installation lacks is no reason to refuse for ever what it may have signed, nor anything else.
func TestMissingSecret(t *testing.T) {
	t.Parallel()
	broken := Project{Name: "broken", Forge: "gitea", Repo: "acme/broken", CloneURL: "https://git.test/b", Secrets: []string{"absent"}}
	w := newWorld(t, Config{Projects: []Project{broken, widget()}}, remote{}, bus.Options{})
	if got := w.deliver("push-master-first.json"); got.code != http.StatusAccepted {
		t.Errorf("of the project whose secret is there: %d %s", got.code, got.text)
	}
	for _, path := range []string{"/hooks/gitea", "/hooks/gitea/broken"} {
		h, body := pushed("acme/broken", "master", numbered(1), "whatever")
		if got := w.post(path, h, strings.NewReader(body)); got.code != http.StatusServiceUnavailable {
			t.Errorf("%s, of the project whose secret is missing: %d %s", path, got.code, got.text)
		}
	}
}
