package publisher

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestAFrozenPublisherMovesNoNameBack stops a publisher (SIGSTOP) that has been permitted to commit and is about to move the tag
// latest. Another publisher takes the commit over, and a release that was pushed later takes the tag. The first wakes up with its
// permission and its connection, and must not move the tag.
func TestAFrozenPublisherMovesNoNameBack(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.worlds, h.plan.Targets = h.worlds[4:], h.plan.Targets[4:]
	h.worlds[0].target.Options["tags"], h.worlds[0].target.Options["moving_tags"] = "{run}, latest", "latest"
	front := h.worlds[0].front
	text, err := json.Marshal(h.spec)
	check(t, err)
	cmd := exec.Command(os.Args[0]) //nolint:gosec // the test itself
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	var once sync.Once
	frozen := make(chan struct{})
	front.freeze = func() {
		once.Do(func() {
			check(t, cmd.Process.Signal(syscall.SIGSTOP))
			close(frozen)
		})
	}
	check(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})

	runs := []release.RunID{"aaaaaaaa-first", "bbbbbbbb-second", "cccccccc-third"}
	images := map[release.RunID]release.Digest{}
	publishAs := func(run release.RunID) {
		h.run = run
		h.say(event.ChangeReceived{Change: h.plan.Change})
		h.open(string(run))
	}
	publishAs(runs[0])
	h.facts(func(e event.Event) bool {
		p, is := e.Data.(event.PublicationAdvanced)
		if is && p.State == release.Staged {
			front.set("freeze /manifests/latest") // what comes next is the commit
		}
		return is && p.State == release.Staged
	})
	select {
	case <-frozen:
	case <-t.Context().Done():
		t.Fatal("nobody read the tag")
	}
	front.set("")
	h.start()
	h.facts(func(e event.Event) bool { return e.Type == event.TypeReleasePublished })
	images[runs[0]] = h.worlds[0].visible(t)["latest"]
	publishAs(runs[1])
	h.facts(func(e event.Event) bool { return e.Type == event.TypeReleasePublished })
	images[runs[1]] = h.worlds[0].visible(t)["latest"]
	before := moves(front)
	check(t, cmd.Process.Signal(syscall.SIGCONT))
	publishAs(runs[2]) // when that is through, the one that woke up has long sent what it would send
	h.facts(func(e event.Event) bool { return e.Type == event.TypeReleasePublished })
	if images[runs[0]] == images[runs[1]] || images[runs[1]] == h.worlds[0].visible(t)["latest"] {
		t.Fatalf("the releases are not told apart: %v", images)
	}
	if n := moves(front) - before; n != 1 {
		t.Errorf("after the publisher woke up the tag was moved %d times, want once, by the third release", n)
	}
}

// moves counts how often the tag latest was set.
func moves(front *faulty) (n int) {
	for _, write := range front.writes() {
		if strings.HasPrefix(write, http.MethodPut) && strings.HasSuffix(write, "/manifests/latest") {
			n++
		}
	}
	return n
}
