package gateway

import (
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/loopback"
	outside "github.com/sluiceci/sluice/pkg/world"
)

// A gateway that was away finds what was pushed meanwhile, and nothing else: its state is the stream. It has not seen
// the head before, and does not guess it.
func TestReconcilerAfterARestart(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	plain := Project{Name: "plain", Forge: "git", Repo: "a/plain", CloneURL: "file://" + r.dir, Branches: []string{"master", "releases/*", "z"}}
	config := Config{Projects: []Project{plain}, Poll: 20 * time.Millisecond}
	one, two, deep := r.commit("master"), r.commit("releases/1"), r.commit("releases/2/rc")
	w := newWorld(t, config, newCache(t), bus.Options{})
	stop := w.run()
	w.until("the heads of three branches", has(one, two, deep))
	stop()

	r.git("checkout", "-q", "master")
	missed := r.commit("master")
	r.git("branch", "-q", "-D", "releases/1") // a branch that is gone is no news
	again, err := newGateway(config, w.gateway.deps, newCache(t))
	if err != nil {
		t.Fatal(err)
	}
	w.gateway = again
	w.run()
	w.until("what was pushed meanwhile", has(missed))
	r.git("checkout", "-q", "master")
	last := r.commit("z") // the look that finds it has looked at every other branch before
	w.until("the last branch of a look", has(last))
	found := changes(w.facts())
	if c := found[missed][0]; c.Before != "" || c.Branch != "master" || c.Verified != "poll" {
		t.Errorf("%+v", c)
	}
	if facts := w.facts(); len(facts) != 5 {
		t.Errorf("%d facts, expected 5: one of each head", len(facts))
	}
}

// A branch that was deleted and made anew has no head before: what it had is no ancestor of it.
func TestBranchMadeAnew(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("master")
	first := r.commit("releases/1")
	plain := Project{Name: "plain", Forge: "git", Repo: "a/plain", CloneURL: "file://" + r.dir, Branches: []string{"master", "releases/*"}}
	w := newWorld(t, Config{Projects: []Project{plain}, Poll: 20 * time.Millisecond}, newCache(t), bus.Options{})
	w.run()
	w.until("the branch", has(first))
	r.git("checkout", "-q", "master")
	r.git("branch", "-q", "-D", "releases/1")
	between := r.commit("master") // a look that finds it has seen that the branch is gone
	w.until("another branch's head", has(between))
	anew := r.commit("releases/1")
	w.until("the new branch", has(anew))
	if c := changes(w.facts())[anew][0]; c.Before != "" {
		t.Errorf("before %s, expected none", c.Before)
	}
}

// A forge that is away delays its own project only, and what was pushed there is found when it is back.
func TestRemoteThatComesBack(t *testing.T) {
	t.Parallel()
	asleep, awake := newRepo(t), newRepo(t)
	far, near := asleep.commit("master"), awake.commit("master")
	address := loopback.ReserveFor(t)
	w := newWorld(t, Config{Poll: 20 * time.Millisecond, Projects: []Project{
		{Name: "far", Forge: "git", Repo: "a/far", CloneURL: "http://" + address + "/" + filepath.Base(asleep.dir) + "/.git"},
		{Name: "near", Forge: "git", Repo: "a/near", CloneURL: "file://" + awake.dir},
	}}, newCache(t), bus.Options{})
	w.run()
	w.until("the head of the other project", has(near))
	w.until("its next head", has(awake.commit("master")))
	if n := len(changes(w.facts())[far]); n != 0 {
		t.Errorf("%d changes of a forge that is away", n)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	forge := &http.Server{Handler: outside.NewForge(filepath.Dir(asleep.dir), "", "", "").Handler(), ReadHeaderTimeout: time.Minute}
	t.Cleanup(func() { _ = forge.Close() })
	go func() { _ = forge.Serve(listener) }() // until Close
	w.until("the head of the forge that came back", has(far))
}

// The first look of a new installation starts a run of each watched head: a head that nobody announced is a head that
// was missed, and the stream cannot tell a new project from a lost webhook.
func TestFirstLook(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	old := r.commit("master")
	head := r.commit("master")
	plain := Project{Name: "plain", Forge: "git", Repo: "a/plain", CloneURL: "file://" + r.dir}
	w := newWorld(t, Config{Projects: []Project{plain}, Poll: 20 * time.Millisecond}, newCache(t), bus.Options{})
	w.run()
	w.until("the head", has(head))
	if len(changes(w.facts())[old]) != 0 {
		t.Error("a commit below the head has a run")
	}
	if e := w.get(changes(w.facts())[head][0].RunID(), event.TypeChangeReceived); e.Source != "/gateway/test" {
		t.Errorf("said by %s", e.Source)
	}
}
