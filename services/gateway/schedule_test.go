package gateway

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// hands is a clock that a test sets.
type hands struct {
	mu  sync.Mutex
	now time.Time
}

func (h *hands) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *hands) set(text string) {
	now, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = now
}

// watcher reads the stream once, for as long as a test waits.
type watcher struct {
	t        *testing.T
	follower *bus.Follower
	facts    []event.Event
}

func (w *world) watch(t *testing.T) *watcher {
	t.Helper()
	f, err := w.bus.Follow(t.Context(), bus.Following{Name: "watch"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return &watcher{t: t, follower: f}
}

func (x *watcher) until(what string, met func([]event.Event) bool) {
	x.t.Helper()
	for end := time.Now().Add(30 * time.Second); !met(x.facts); {
		batch, err := x.follower.Next(x.t.Context(), 50*time.Millisecond)
		if err != nil {
			x.t.Fatal(err)
		}
		x.facts = append(x.facts, batch.Events...)
		if time.Now().After(end) {
			x.t.Fatalf("waited in vain for %s; the stream has %d facts", what, len(x.facts))
		}
	}
}

// define commits a definition to a branch.
func (r *repo) define(branch, text string) release.Commit {
	r.t.Helper()
	if r.born {
		r.git("checkout", "-q", "--detach")
	}
	if err := os.WriteFile(filepath.Join(r.dir, definitionName), []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
	r.git("add", definitionName)
	return r.commit(branch)
}

const nightly = `project: p
release: {branch: master}
triggers: {schedule: [{name: nightly, cron: "0 3 * * *", overlap: allow, with: {frequency: nightly}}, {name: weekly, cron: "0 6 * * 0", overlap: allow}]}
builds: {a: {run: make}}
`

// schedules are the changes of schedules in the stream, by what they were due for.
func schedules(facts []event.Event) map[string][]release.Change {
	out := map[string][]release.Change{}
	for _, e := range facts {
		if c, is := e.Data.(event.ChangeReceived); is && c.Change.Kind == release.Schedule {
			out[c.Change.Nonce] = append(out[c.Change.Nonce], c.Change)
		}
	}
	return out
}

func due(nonces ...string) func([]event.Event) bool {
	return func(facts []event.Event) bool {
		found := schedules(facts)
		for _, n := range nonces {
			if len(found["schedule:"+n]) == 0 {
				return false
			}
		}
		return true
	}
}

// A schedule starts a run of the release branch's head at its time; what a gateway that was away has missed is started
// once; and a branch whose definition does not release from it starts nothing.
func TestSchedulesStartRuns(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.define("master", nightly)
	r.define("topic", "project: p\nrelease: {branch: master}\ntriggers: {schedule: [{name: mine, cron: \"* * * * *\"}]}\nbuilds: {a: {run: make}}\n")
	r.git("checkout", "-q", "master")
	clock := &hands{}
	clock.set("2026-11-19T12:00:00Z") // a Thursday
	plain := Project{Name: "plain", Forge: "git", Repo: "a/plain", CloneURL: "file://" + r.dir, Branches: []string{"master", "topic"}}
	config := Config{Projects: []Project{plain}, Poll: 20 * time.Millisecond}
	w := newWorld(t, config, newCache(t), bus.Options{})
	w.gateway.deps.Now = clock.Now
	seen := w.watch(t)
	stop := w.run()
	seen.until("the head", has(first))
	clock.set("2026-11-20T03:00:01Z")
	seen.until("the first night", due("2026-11-20T03:00:00Z:nightly"))
	c := schedules(seen.facts)["schedule:2026-11-20T03:00:00Z:nightly"][0]
	if c.Commit != first || c.Branch != "master" || c.Ref != "refs/heads/master" || c.Parameters["frequency"] != "nightly" || c.Parameters["schedule"] != "nightly" || c.Validate() != nil {
		t.Errorf("%+v", c)
	}
	clock.set("2026-11-22T06:00:10Z") // a Sunday
	seen.until("a week", due("2026-11-22T03:00:00Z:nightly", "2026-11-22T06:00:00Z:weekly"))
	stop()

	second := r.define("master", nightly)
	clock.set("2026-12-01T09:00:00Z") // nine nights and a Sunday later
	again, err := newGateway(config, w.gateway.deps, newCache(t))
	if err != nil {
		t.Fatal(err)
	}
	w.gateway = again
	stop = w.run()
	seen.until("what was missed", due("2026-12-01T03:00:00Z:nightly", "2026-11-29T06:00:00Z:weekly"))
	clock.set("2026-12-02T03:00:00Z")
	seen.until("the next night", due("2026-12-02T03:00:00Z:nightly"))
	stop()
	found := schedules(seen.facts)
	for nonce, all := range found {
		want := first
		if nonce > "schedule:2026-11-29" {
			want = second
		}
		if len(all) != 1 || all[0].Commit != want {
			t.Errorf("%s: %+v", nonce, all)
		}
	}
	if len(found) != 6 {
		t.Errorf("%d runs, expected 6: the topic branch starts none, and missed nights one", len(found))
	}
}

// Two gateways, and one that begins anew, find the same times due: one run for each.
func TestScheduledRunsAreOne(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.define("master", nightly)
	clock := &hands{}
	clock.set("2026-11-19T12:00:00Z")
	plain := Project{Name: "plain", Forge: "git", Repo: "a/plain", CloneURL: "file://" + r.dir}
	config := Config{Projects: []Project{plain}, Poll: 20 * time.Millisecond}
	w := newWorld(t, config, newCache(t), bus.Options{})
	w.gateway.deps.Now = clock.Now
	seen := w.watch(t)
	w.run()
	one := w.gateway
	other, err := newGateway(config, one.deps, newCache(t))
	if err != nil {
		t.Fatal(err)
	}
	seen.until("the head", has(first))
	w.gateway = other
	w.run()
	clock.set("2026-11-20T03:00:00Z")
	seen.until("the night", due("2026-11-20T03:00:00Z:nightly"))
	clock.set("2026-11-21T03:00:00Z")
	seen.until("the next night", due("2026-11-21T03:00:00Z:nightly"))
	clock.set("2026-11-22T06:00:00Z")
	seen.until("a morning", due("2026-11-22T06:00:00Z:weekly", "2026-11-22T03:00:00Z:nightly"))
	found := schedules(seen.facts)
	for nonce, all := range found {
		if len(all) != 1 {
			t.Errorf("%s: %d facts", nonce, len(all))
		}
	}
	if len(found) != 4 {
		t.Errorf("%d runs, expected 4", len(found))
	}
}

// What a schedule that never started a run has missed is started even where what the gateway finds first is another head.
// A schedule that the head before did not have counts from the new head.
func TestFirstTimesAreNotMissed(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.define("master", nightly)
	clock := &hands{}
	clock.set("2026-11-18T12:00:00Z") // a Wednesday
	plain := Project{Name: "plain", Forge: "git", Repo: "a/plain", CloneURL: "file://" + r.dir, Branches: []string{"master"}}
	config := Config{Projects: []Project{plain}, Poll: 20 * time.Millisecond}
	w := newWorld(t, config, newCache(t), bus.Options{})
	w.gateway.deps.Now = clock.Now
	seen := w.watch(t)
	stop := w.run()
	seen.until("the head", has(first))
	stop()

	second := r.define("master", strings.Replace(nightly, `cron: "0 6 * * 0"`, `cron: "0 6 * * 4"`, 1)) // another day
	clock.set("2026-11-19T12:00:00Z")
	again, err := newGateway(config, w.gateway.deps, newCache(t))
	if err != nil {
		t.Fatal(err)
	}
	w.gateway = again
	w.run()
	seen.until("the missed night", due("2026-11-19T03:00:00Z:nightly"))
	clock.set("2026-11-26T06:00:00Z")
	seen.until("the first Thursday", due("2026-11-26T06:00:00Z:weekly", "2026-11-26T03:00:00Z:nightly"))
	found := schedules(seen.facts)
	if len(found) != 3 || found["schedule:2026-11-19T03:00:00Z:nightly"][0].Commit != second {
		t.Errorf("%+v", found)
	}
}

func TestNonces(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)
	if name, due, ok := readNonce(nonce("a:b", at)); name != "a:b" || !due.Equal(at) || !ok {
		t.Error(name, due, ok)
	}
	for _, bad := range []string{"", "x", "schedule:", "schedule:2026-11-20T03:00:00Z", "schedule:2026-99-20T03:00:00Z:a"} {
		if _, _, ok := readNonce(bad); ok {
			t.Errorf("%q is read", bad)
		}
	}
}
