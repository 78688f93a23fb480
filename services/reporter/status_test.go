package reporter

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// forgeServer is a Gitea that takes statuses, unless it is down.
type forgeServer struct {
	mu       sync.Mutex
	down     bool
	statuses map[string][]string // commit → "state description"
	targets  map[string]string
	asked    []string // contexts
	refused  int
}

func startForge(t *testing.T) (*forgeServer, string) {
	t.Helper()
	f := &forgeServer{statuses: map[string][]string{}, targets: map[string]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/repos/rill/rillkit/statuses/{commit}", f.take)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return f, server.URL
}

func (f *forgeServer) take(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		f.refused++
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	var in struct{ State, Description, Context, TargetURL string }
	var raw map[string]string
	_ = json.NewDecoder(r.Body).Decode(&raw)
	in.State, in.Description, in.Context, in.TargetURL = raw["state"], raw["description"], raw["context"], raw["target_url"]
	f.asked = append(f.asked, in.Context)
	if r.Header.Get("Authorization") != "Bearer token-gitea" || !strings.HasPrefix(in.Context, "sluice/push/") && !strings.HasPrefix(in.Context, "sluice/pr/") {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	commit := r.PathValue("commit")
	f.statuses[commit] = append(f.statuses[commit], in.State+" "+in.Description)
	f.targets[commit] = in.TargetURL
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write([]byte("{}"))
}

func (f *forgeServer) of(c release.Commit) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.statuses[string(c)])
}

func (f *forgeServer) contexts() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.asked)
}

func (f *forgeServer) set(down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = down
}

func (f *forgeServer) refusals() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.refused
}

func forgeConfig(url string) Config {
	return Config{PublicURL: "https://sluice.example/", Projects: []Project{
		{Name: "rillkit", Forge: "gitea", Repo: "rill/rillkit", BaseURL: url, Token: "gitea"},
		{Name: "other", Forge: "git"},
	}}
}

func (w *world) commit(name string) release.Commit {
	return w.story.Of(name)[0].Data.(event.ChangeReceived).Change.Commit
}

// TestStatusesEndAsTheRunDid tells a forge the whole story, and expects each commit's last status to be its run's.
func TestStatusesEndAsTheRunDid(t *testing.T) {
	t.Parallel()
	f, url := startForge(t)
	w := begin(t, forgeConfig(url))
	w.tell()
	for name, want := range map[string]string{
		"released":       "success the candidate is on all 4 targets",
		"shut":           "failure the gate is shut: test-wheels (3.12) failed",
		"rejected":       `failure sluice.yaml:12:5: unknown key "neds"`,
		"pull request":   "success built and tested",
		"broken release": "failure the release failed on target maven",
		"running":        "pending the run has begun",
	} {
		eventually(t, func() bool {
			all := f.of(w.commit(name))
			return len(all) > 0 && strings.HasPrefix(all[len(all)-1], want)
		})
		if all := f.of(w.commit(name)); len(all) > 3 {
			t.Errorf("%s has the statuses %q, want transitions only", name, all)
		}
	}
	if all := f.of(w.commit("ignored")); len(all) != 0 {
		t.Errorf("an ignored change has the statuses %q, want none", all)
	}
	if got, want := f.targets[string(w.commit("shut"))], "https://sluice.example"+w.path("shut"); got != want {
		t.Errorf("the status leads to %q, want %q", got, want)
	}
}

// TestALatePlanHasAStatus shows that a commit whose run was cancelled before it was planned is told so once it is planned, and
// of several rounds the last.
func TestALatePlanHasAStatus(t *testing.T) {
	t.Parallel()
	f, url := startForge(t)
	w := begin(t, forgeConfig(url))
	change := release.Change{Kind: release.Push, Project: "rillkit", Repo: "rill/rillkit", Ref: "refs/heads/master", Branch: "master", Commit: "4f2a9c1d4f2a9c1d4f2a9c1d4f2a9c1d4f2a9c1d"}
	say := func(p event.Payload) {
		must(t, w.bus.Publish(t.Context(), event.Root("4f2a9c1d-late", "/t/1", time.Now(), p)))
	}
	say(event.RunFinished{Outcome: release.Cancelled, Reason: "too early"})
	say(event.RunFinished{Round: 1, Outcome: release.Cancelled, Reason: "cancelled by eva"})
	say(event.RunPlanned{Change: change, Builds: 1})
	eventually(t, func() bool { return len(f.of(change.Commit)) > 0 })
	if all := f.of(change.Commit); !strings.HasSuffix(all[0], " cancelled by eva") || strings.HasPrefix(all[0], "pending") {
		t.Errorf("the commit has the statuses %q, want its end", all)
	}
}

// TestNobodyPermittedHasItsEnd: a run that waited for permission and was cancelled has no plan, and its status says the end.
func TestNobodyPermittedHasItsEnd(t *testing.T) {
	t.Parallel()
	f, url := startForge(t)
	w := begin(t, forgeConfig(url))
	change := release.Change{
		Kind: release.PullRequest, Project: "rillkit", Repo: "rill/rillkit", Ref: "refs/pull/7/head", Branch: "master", Number: 7, Fork: true,
		Commit: "4f2a9c1d4f2a9c1d4f2a9c1d4f2a9c1d4f2a9c1d",
	}
	w.say(change.RunID(), time.Now(), event.RunPermissionRequested{Change: change, Reason: "it comes from a fork"})
	eventually(t, func() bool { return len(f.of(change.Commit)) == 1 })
	w.say(change.RunID(), time.Now(), event.RunFinished{Outcome: release.Cancelled, Reason: "pull request 7 was closed"})
	eventually(t, func() bool { return len(f.of(change.Commit)) == 2 })
	if all := f.of(change.Commit); !strings.HasPrefix(all[0], "pending waits for /ok-to-test") || !strings.HasSuffix(all[1], "pull request 7 was closed") {
		t.Errorf("the commit has the statuses %q", all)
	}
}

// TestDeadForgeDelaysStatusesOnly shows that a forge that is down delays nothing else, and gets its statuses later.
func TestDeadForgeDelaysStatusesOnly(t *testing.T) {
	t.Parallel()
	f, url := startForge(t)
	f.set(true)
	w := begin(t, forgeConfig(url))
	w.tell() // waits until all is folded
	eventually(t, func() bool { return f.refusals() > 3 })
	f.set(false)
	eventually(t, func() bool {
		shut, running := f.of(w.commit("shut")), f.of(w.commit("running"))
		return len(shut) > 0 && strings.HasPrefix(shut[len(shut)-1], "failure") && len(running) == 1
	})
}

// TestOldHistoryHasNoStatuses shows that a reporter that is new to a history says nothing about it.
func TestOldHistoryHasNoStatuses(t *testing.T) {
	t.Parallel()
	f, url := startForge(t)
	w := begin(t, forgeConfig(url))
	for i := range w.story.Events {
		w.story.Events[i].Time = w.story.Events[i].Time.Add(-25 * time.Hour)
	}
	w.tell()
	eventually(t, func() bool {
		streams, err := w.bus.Status(t.Context())
		must(t, err)
		for _, c := range streams[0].Consumers {
			if strings.HasPrefix(c.Name, "reporter-status") && c.Lag() > 0 {
				return false
			}
		}
		return true
	})
	if len(f.statuses) != 0 {
		t.Fatalf("%d commits have statuses, want none", len(f.statuses))
	}
}

// TestRunsOfOneCommitHaveStatusesOfTheirOwn: the head of master may be tagged and be the head of a pull request too.
func TestRunsOfOneCommitHaveStatusesOfTheirOwn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind        release.ChangeKind
		ref, branch string
		want        string
	}{
		{release.Push, "refs/heads/master", "master", "sluice/push/master"},
		{release.Push, "refs/heads/releases/1", "releases/1", "sluice/push/releases/1"},
		{release.Manual, "refs/heads/master", "master", "sluice/manual/master"},
		{release.Manual, "refs/commits/x", "", "sluice/manual"},
		{release.Schedule, "refs/heads/master", "master", "sluice/schedule/master"},
		{release.PullRequest, "refs/pull/7/head", "master", "sluice/pr/master"},
		{release.PullRequest, "refs/pull/8/head", "gh-pages", "sluice/pr/gh-pages"},
		{release.Tag, "refs/tags/v1", "", "sluice/tag/v1"},
		{release.Tag, "refs/tags/v2", "", "sluice/tag/v2"},
		{release.Comment, "refs/pull/7/head", "master", "sluice/comment/master"},
	} {
		if got := contextOf(release.Change{Kind: c.kind, Ref: c.ref, Branch: c.branch}); got != c.want {
			t.Errorf("the status of a %s of %s is called %q, expected %q", c.kind, c.ref, got, c.want)
		}
	}
	long := strings.Repeat("ä", 120)
	one, other := contextOf(release.Change{Kind: release.Push, Branch: long + "1"}), contextOf(release.Change{Kind: release.Push, Branch: long + "2"})
	if one == other || len(one) > maxContext || !utf8.ValidString(one) {
		t.Errorf("long names give %q and %q", one, other)
	}
}
