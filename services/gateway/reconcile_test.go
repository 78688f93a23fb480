package gateway

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/git"
	"github.com/sluiceci/sluice/pkg/release"
	outside "github.com/sluiceci/sluice/pkg/world"
)

// repo is a real repository that tests push to.
type repo struct {
	t    testing.TB
	dir  string
	born bool // has a commit
}

func newRepo(t testing.TB) *repo {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("git is not installed")
		}
		t.Skip("git is not installed")
	}
	r := &repo{t: t, dir: t.TempDir()}
	r.git("init", "-q", "-b", "master")
	return r
}

func (r *repo) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=dev", "GIT_AUTHOR_EMAIL=dev@world.test", "GIT_COMMITTER_NAME=dev", "GIT_COMMITTER_EMAIL=dev@world.test")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit makes a commit upon what is checked out and puts a branch there, in one step: whoever looks sees no half of it.
func (r *repo) commit(branch string) release.Commit {
	r.t.Helper()
	if r.born {
		r.git("checkout", "-q", "--detach")
	}
	r.git("commit", "-q", "--allow-empty", "-m", "on "+branch+" at "+time.Now().String())
	r.git("checkout", "-q", "--detach")
	r.git("branch", "-q", "-f", branch)
	r.born = true
	return release.Commit(r.git("rev-parse", "HEAD"))
}

func newCache(t testing.TB) *git.Cache {
	t.Helper()
	cache, err := git.New(t.TempDir(), git.Options{LsTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return cache
}

// changes are the changes of the stream, by commit.
func changes(facts []event.Event) map[release.Commit][]release.Change {
	out := map[release.Commit][]release.Change{}
	for _, e := range facts {
		if c, is := e.Data.(event.ChangeReceived); is {
			out[c.Change.Commit] = append(out[c.Change.Commit], c.Change)
		}
	}
	return out
}

func has(commits ...release.Commit) func([]event.Event) bool {
	return func(facts []event.Event) bool {
		for _, c := range commits {
			if len(changes(facts)[c]) == 0 {
				return false
			}
		}
		return true
	}
}

// A plain git server sends no webhooks; its watched branches are looked at all the same, while the forge of another
// project hangs and that of a third is gone.
func TestReconcilerFindsHeads(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first, topic := r.commit("master"), r.commit("topic")
	stable := r.commit("releases/1")
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() }))
	t.Cleanup(hanging.Close)
	gone := httptest.NewServer(nil)
	gone.Close()
	projects := []Project{
		{Name: "hanging", Repo: "a/hanging", CloneURL: hanging.URL + "/x.git"},
		{Name: "gone", Repo: "a/gone", CloneURL: gone.URL + "/x.git"},
		{Name: "plain", Forge: "git", Repo: "a/plain", CloneURL: "file://" + r.dir, Branches: []string{"master", "releases/*"}},
	}
	w := newWorld(t, Config{Projects: projects, Poll: 40 * time.Millisecond}, newCache(t), bus.Options{})
	w.run()
	w.until("the heads of two branches", has(first, stable))
	r.git("checkout", "-q", "master")
	second := r.commit("master")
	w.until("the next head", has(second))
	found := changes(w.facts())
	if c := found[second][0]; c.Kind != release.Push || c.Branch != "master" || c.Before != first || c.Delivery != "reconcile" ||
		c.Verified != "poll" || c.Forge != "git" || c.Project != "plain" {
		t.Errorf("%+v", c)
	}
	if len(found) != 3 || len(found[topic]) != 0 {
		t.Errorf("%d changes, expected 3 and none of the branch that nobody watches", len(found))
	}
}

// Whether a webhook or the reconciler is first, and whether the gateway starts anew between them: one run.
func TestReconcilerAndWebhookAreOneRun(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	project := Project{Name: "p", Forge: "gitea", Repo: "acme/p", CloneURL: "file://" + r.dir, Secrets: []string{"hook"}}
	announced := r.commit("master")
	w := newWorld(t, Config{Projects: []Project{project}, Poll: 20 * time.Millisecond}, newCache(t), bus.Options{})
	told := w.push("acme/p", "master", announced, "s3cr3t")
	w.run()
	found := r.commit("master")
	w.until("the head that no webhook announced", has(found))
	late := w.push("acme/p", "master", found, "s3cr3t")
	if c := changes(w.facts())[found][0]; late.Run != c.RunID() || told.Run == "" {
		t.Errorf("found as run %s, announced as run %s", c.RunID(), late.Run)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	again, err := newGateway(w.gateway.config, w.gateway.deps, newCache(t)) // it has seen nothing yet
	if err != nil {
		t.Fatal(err)
	}
	if err := again.look(ctx, again.config.Projects[0], map[string]release.Commit{}); err != nil {
		t.Fatal(err)
	}
	for commit, all := range changes(w.facts()) {
		if len(all) != 1 {
			t.Errorf("commit %s has %d facts, expected 1", commit, len(all))
		}
	}
}

// The whole way over HTTP: git pushes to a forge, which sends its webhook or loses it.
func TestPushesOverHTTP(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	w := newWorld(t, Config{Poll: 30 * time.Millisecond}, newCache(t), bus.Options{})
	for _, kept := range []bool{true, false} {
		name, hook := "acme/lost", ""
		if kept {
			name, hook = "acme/kept", w.url+"/hooks/gitea"
		}
		mux := http.NewServeMux()
		front := httptest.NewServer(mux)
		t.Cleanup(front.Close)
		forge := outside.NewForge(filepath.Join(t.TempDir(), "forge"), front.URL, hook, "s3cr3t")
		mux.Handle("/", forge.Handler())
		if err := forge.Create(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		project := Project{Name: filepath.Base(name), Forge: "gitea", Repo: name, CloneURL: forge.CloneURL(name), Secrets: []string{"hook"}, Branches: []string{"master"}}
		w.gateway.config.Projects = append(w.gateway.config.Projects, project)
		r.git("remote", "add", project.Name, project.CloneURL)
	}
	pushed := r.commit("master")
	for _, name := range []string{"kept", "lost"} {
		r.git("push", "-q", name, "master")
	}
	w.until("the webhook's change", has(pushed))
	w.run()
	w.until("both", func(facts []event.Event) bool { return len(changes(facts)[pushed]) == 2 })
	how := map[string]string{}
	for _, c := range changes(w.facts())[pushed] {
		how[c.Repo] = c.Verified
	}
	if how["acme/kept"] != "signature" || how["acme/lost"] != "poll" {
		t.Errorf("%v, expected the one announced by a signed webhook and the other found by polling", how)
	}
}

func TestConfigurationsThatAreRefused(t *testing.T) {
	t.Parallel()
	good := Project{Name: "p", Forge: "gitea", Repo: "a/p", CloneURL: "https://git.test/p"}
	edited := func(edit func(*Project)) Config {
		p := good
		edit(&p)
		return Config{Projects: []Project{p}}
	}
	for says, c := range map[string]Config{
		"must be set":          edited(func(p *Project) { p.CloneURL = "" }),
		`forge is "bitbucket"`: edited(func(p *Project) { p.Forge = "bitbucket" }),
		`"a b" is no branch`:   edited(func(p *Project) { p.Branches = []string{"a b"} }),
		`"**" is no branch`:    edited(func(p *Project) { p.Branches = []string{"**"} }),
		"two projects named":   {Projects: []Project{good, good}},
		"gateway.poll":         {Poll: time.Nanosecond},
	} {
		if _, err := c.checked(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, expected %q", err, says)
		}
	}
}
