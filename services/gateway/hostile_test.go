package gateway

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

func TestHostileValues(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Config{Projects: []Project{widget()}}, remote{}, bus.Options{})
	commit := func(id string) object { return object{"head_commit": object{"id": id, "message": "m"}} }
	from := func(repo string) object {
		return object{"head": object{"ref": "x", "sha": headCommit, "repo": object{"full_name": repo}}}
	}
	long := strings.Repeat("x", 3<<20)
	cases := []struct {
		name, kind string
		body       object
		code       int
	}{
		{"huge ref", "push", pushOf(object{"ref": "refs/heads/" + strings.Repeat("x", 600)}), 400},
		{"enormous ref", "push", pushOf(object{"ref": "refs/heads/" + long}), 400},
		{"ref with a space", "push", pushOf(object{"ref": "refs/heads/a b"}), 400},
		{"ref that goes up", "push", pushOf(object{"ref": "refs/heads/../../etc"}), 400},
		{"ref as an option", "push", pushOf(object{"ref": "--upload-pack=touch /tmp/x"}), 400},
		{"ref with a wildcard", "push", pushOf(object{"ref": "refs/heads/*"}), 400},
		{"ref with a control character", "push", pushOf(object{"ref": "refs/heads/a\x00b"}), 400},
		{"ref that is no text", "push", pushOf(object{"ref": 7}), 400},
		{"commit of zeros", "push", pushOf(commit(noCommit)), 400},
		{"deleted", "push", pushOf(object{"after": noCommit}), 202},
		{"commit as an option", "push", pushOf(commit("--help")), 400},
		{"short commit", "push", pushOf(commit("1111111")), 400},
		{"commit in capitals", "push", pushOf(commit(strings.Repeat("A", 40))), 400},
		{"no repository", "push", pushOf(object{"repository": object{}}), 400},
		{"repository that goes up", "push", pushOf(object{"repository": object{"full_name": "../acme/widget"}}), 202},
		{"head that goes up", "pull_request", pullOf(object{"head": object{"ref": "../x", "sha": headCommit}}), 400},
		{"head of a huge repository's name", "pull_request", pullOf(from(long)), 400},
		{"head of an odd repository's name", "pull_request", pullOf(from("a\x1b[31m/b")), 400},
	}
	for _, k := range cases {
		got := w.send("gitea", k.kind, k.body)
		if got.code != k.code || got.Run != "" || len(got.text) > 2000 || strings.ContainsAny(got.text, "\x00\x1b") {
			t.Errorf("%s: %d %.300s, expected %d", k.name, got.code, got.text, k.code)
		}
	}
	if n := len(w.facts()); n != 0 {
		t.Errorf("%d facts came of them", n)
	}
	body := pushOf(object{"head_commit": object{"id": headCommit, "message": "\x1b[31m red\x00\a\n" + long, "url": long}, "sender": object{"login": long}})
	c := w.get(w.send("gitea", "push", body).Run, event.TypeChangeReceived).Data.(event.ChangeReceived).Change
	if strings.ContainsAny(c.Title, "\x00\x1b\a\n") || !strings.Contains(c.Title, "red") || len(c.Author) > 500 || len(c.URL) > 2100 {
		t.Errorf("stored title %q, author of %d bytes, URL of %d", c.Title, len(c.Author), len(c.URL))
	}
	if c.CloneURL != widget().CloneURL {
		t.Errorf("the commit would be fetched from %q, which is the delivery's word", c.CloneURL)
	}
}

// What is signed but cannot be read is the sender's to mend.
func TestBodiesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Config{Projects: []Project{widget()}}, remote{}, bus.Options{})
	for _, body := range []string{"", "null", "[]", `"text"`, `{"ref": `, "\xff\xfe", strings.Repeat("[", 20_000)} {
		if got := w.post("/hooks/gitea", signed("gitea", "push", []byte(body)), strings.NewReader(body)); got.code != http.StatusBadRequest {
			t.Errorf("%.20q: %d %s", body, got.code, got.text)
		}
	}
	for form, code := range map[string]int{"payload=" + url.QueryEscape("{}"): 400, "a=b": 400, "payload=%zz": 400} {
		h := signed("gitea", "push", []byte("{}"))
		h.Set("Content-Type", "application/x-www-form-urlencoded")
		if got := w.post("/hooks/gitea", h, strings.NewReader(form)); got.code != code {
			t.Errorf("form %q: %d %s", form, got.code, got.text)
		}
	}
}

// A stopped bus accepts nothing, and nothing of what was refused turns up when it comes back.
func TestStoppedBusStoresNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Config{Projects: []Project{widget()}, Tokens: tokens()}, remote{"refs/heads/master": numbered(1)}, bus.Options{})
	w.gateway.patience = 300 * time.Millisecond
	w.server.Close()
	for range 2 {
		if got := w.deliver("push-master-first.json"); got.code != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" || got.Run != "" {
			t.Errorf("%d %s", got.code, got.text)
		}
	}
	if got := w.do("/api/v1/runs", `{"project": "widget", "branch": "master"}`); got.code != http.StatusServiceUnavailable {
		t.Errorf("trigger: %d %s", got.code, got.text)
	}
	w.bus.Close()
	w.restart()
	if facts := w.facts(); len(facts) != 0 {
		t.Errorf("%d facts are stored of what was refused", len(facts))
	}
	if got := w.deliver("push-master-first.json"); got.code != http.StatusAccepted || len(w.facts()) != 1 {
		t.Errorf("after the restart: %d %s, %d facts", got.code, got.text, len(w.facts()))
	}
}

// restart brings the bus back from its directory, for the same gateway.
func (w *world) restart() {
	w.t.Helper()
	server, err := bus.Embed(bus.ServerOptions{Dir: w.dir})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(server.Close)
	b, err := server.Connect(w.t.Context(), bus.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(b.Close)
	w.server, w.bus, w.gateway.deps.Bus = server, b, b
}

// No secret is told, whatever is refused and whoever asks.
func TestRefusalsTellNoSecret(t *testing.T) {
	t.Parallel()
	w := newActingWorld(t, remote{"refs/heads/master": numbered(1)})
	header, body := pushed("acme/widget", "master", numbered(1), "wrong")
	answers := []answer{
		w.post("/hooks/gitea", header, strings.NewReader(body)),
		w.post("/hooks/gitea", http.Header{"X-Gitea-Event": {"push"}}, strings.NewReader(body)),
		w.post("/api/v1/runs", http.Header{"Authorization": {"Bearer t0kenX"}}, strings.NewReader("{}")),
		w.do("/api/v1/runs", `{"project": "t0ken"`),
		w.do("/api/v1/runs", `{"project": "widget", "branch": "gone"}`),
		w.do("/api/v1/runs/nothing/retry", "{}"),
	}
	for _, got := range answers {
		for _, secret := range []string{"s3cr3t", "n3w", "oth3r", "t0ken", "0ld"} {
			if strings.Contains(got.text, secret) {
				t.Errorf("%d %s tells %q", got.code, got.text, secret)
			}
		}
	}
	_, err := newGateway(Config{Projects: []Project{{Name: "p", Forge: "git", Repo: "a/p", CloneURL: "https://dev:pa55word@git.test/p"}}}, w.gateway.deps, remote{})
	if err == nil || strings.Contains(err.Error(), "pa55word") {
		t.Errorf("a password in clone_url would be in every event: %v", err)
	}
}

// The same key with something else to say is another request: taken for said already it would never be done.
func TestKeyOfAnotherRequest(t *testing.T) {
	t.Parallel()
	w := newActingWorld(t, remote{"refs/heads/master": numbered(1)})
	run := string(w.planned(1))
	cases := []struct{ path, one, other string }{
		{"/api/v1/runs", `{"project": "widget", "branch": "master"}`, `{"project": "widget", "branch": "master", "parameters": {"a": "b"}}`},
		{"/api/v1/runs/" + run + "/retry", `{"tasks": ["a"]}`, `{"tasks": ["b"]}`},
		{"/api/v1/runs/" + run + "/cancel", `{"reason": "one"}`, `{"reason": "two"}`},
		{"/api/v1/pools/gpu/drain", `{}`, `{"resume": true}`},
	}
	for _, k := range cases {
		first, again, other := w.do(k.path, k.one, "k"), w.do(k.path, k.one, "k"), w.do(k.path, k.other, "k")
		if first.code != 202 || again.code != 202 || again.Event != first.Event || other.code != 202 || other.Event == first.Event {
			t.Errorf("%s: %d, %d, then %d %s", k.path, first.code, again.code, other.code, other.text)
		}
	}
}

func TestBodiesOfActionsAreBounded(t *testing.T) {
	t.Parallel()
	w := newActingWorld(t, remote{})
	run := string(w.planned(1))
	before := len(w.facts())
	for _, k := range []struct{ verb, body string }{
		{"cancel", `{"reason": "` + strings.Repeat("x", 5000) + `"}`},
		{"approve", `{"note": "` + strings.Repeat("x", 5000) + `"}`},
		{"hold", `{"reason": "a\u001b[31m"}`},
		{"retry", `{"tasks": ["a b"]}`},
		{"retry", `{"tasks": [""]}`},
		{"retry", `{"tasks": ["../x"]}`},
	} {
		if got := w.do("/api/v1/runs/"+run+"/"+k.verb, k.body); got.code != http.StatusBadRequest || len(got.text) > 2000 {
			t.Errorf("%s %.40s: %d %.200s", k.verb, k.body, got.code, got.text)
		}
	}
	if n := len(w.facts()); n != before {
		t.Errorf("%d facts came of them", n-before)
	}
}

// A release that is published cannot be held any more, and whoever tries must learn it. Until then a hold is taken: no commit
// begins after it.
func TestTooLateToHold(t *testing.T) {
	t.Parallel()
	w := newActingWorld(t, remote{})
	opened, published := w.planned(2, event.GateOpened{}), w.planned(3, event.GateOpened{}, event.ReleasePublished{})
	for run, want := range map[release.RunID]int{opened: http.StatusAccepted, published: http.StatusConflict} {
		if got := w.do("/api/v1/runs/"+string(run)+"/hold", `{"reason": "stop"}`); got.code != want {
			t.Errorf("%d %s, want %d", got.code, got.text, want)
		}
	}
	if got := w.do("/api/v1/runs/"+string(opened)+"/hold", `{"before": "nowhere"}`); got.code != http.StatusBadRequest {
		t.Errorf("a target that is none: %d %s", got.code, got.text)
	}
	if got := w.do("/api/v1/runs/"+string(opened)+"/cancel", `{"reason": "stop"}`); got.code != http.StatusAccepted {
		t.Errorf("%d %s", got.code, got.text)
	}
}

// Runs are told apart by repository, so two projects of one would be one run, and one of them would never be built.
func TestOneProjectOfARepository(t *testing.T) {
	t.Parallel()
	one, two := widget(), widget()
	two.Name, two.Forge = "mirror", "github"
	if _, err := (Config{Projects: []Project{one, two}}).checked(); err == nil || !strings.Contains(err.Error(), "acme/widget") {
		t.Errorf("two projects of one repository: %v", err)
	}
	c := release.Change{Repo: "acme/widget", Ref: "refs/heads/master", Commit: headCommit}
	d := c
	d.Project, d.Forge = "mirror", "github"
	if c.RunID() != d.RunID() {
		t.Error("runs are told apart by more than the repository now: let projects share one")
	}
}
