package faults

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/loopback"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/service"
)

// house is `sluice up`: every service and the NATS server in one process, which dies as a whole.
type house struct {
	t     testing.TB
	dir   string // what the process keeps
	world *surroundings
	nats  string // address
	*process
}

// newHouse starts a house whose directory is dir, in surroundings of its own.
func newHouse(t testing.TB, dir string) *house {
	t.Helper()
	h := &house{t: t, dir: dir, world: newSurroundings(t, t.TempDir()), nats: loopback.ReserveFor(t)}
	text, err := os.ReadFile(h.world.config)
	if err != nil {
		t.Fatal(err)
	}
	// The house has its blobs in its own directory, and a socket for this test.
	_, rest, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	text = fmt.Appendf(nil, "nats: {listen: %q, pools: [far]}\n%s\n", h.nats, rest)
	if err := os.WriteFile(h.world.config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	h.start()
	t.Cleanup(h.stop)
	return h
}

func (h *house) start() {
	h.t.Helper()
	log, err := os.OpenFile(filepath.Join(h.world.dir, "up.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		h.t.Fatal(err)
	}
	cmd := exec.Command(binary(h.t), "up", "--dir", h.dir, "--config", h.world.config, "--listen", h.world.gateway, "--log", "debug")
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.process = &process{cmd: cmd, exited: make(chan struct{})}
	go func(p *process) {
		_ = p.cmd.Wait() // a killed process exits with an error
		_ = log.Close()
		close(p.exited)
	}(h.process)
	h.ready()
}

// ready waits until the house answers.
func (h *house) ready() {
	h.t.Helper()
	deadline := time.After(2 * time.Minute)
	for {
		response, err := http.Get("http://" + h.world.gateway + "/readyz")
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-deadline:
			h.t.Fatalf("not ready within 30s: %v\n%s", err, h.log())
		case <-h.exited:
			h.t.Fatalf("sluice up ended\n%s", h.log())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// key is the file of an identity's key.
func (h *house) key(identity string) string {
	return filepath.Join(h.dir, "identities", identity+".nk")
}

func (h *house) kill() {
	_ = h.cmd.Process.Signal(syscall.SIGKILL)
	<-h.exited
}

func (h *house) stop() {
	_ = h.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-h.exited:
	case <-time.After(2 * time.Minute):
		h.t.Errorf("sluice up did not end within 30s of SIGTERM\n%s", h.log())
		h.kill()
	}
}

func (h *house) log() string {
	text, _ := os.ReadFile(filepath.Join(h.world.dir, "up.log"))
	return string(text[max(0, len(text)-6000):])
}

// onlooker is the identity that the house gives to whoever can read its directory.
func (h *house) onlooker() bus.Options {
	h.t.Helper()
	seed, err := os.ReadFile(filepath.Join(h.dir, "identities", service.Onlooker+".nk"))
	if err != nil {
		h.t.Fatal(err)
	}
	key, err := bus.ReadKey(seed)
	if err != nil {
		h.t.Fatal(err)
	}
	return bus.Options{Name: "faults", Identity: service.Onlooker, Key: &key, Onlooker: true}
}

// follow reads the facts of a commit's run until one of a type has come.
func (h *house) follow(commit release.Commit, until event.Type) []event.Event {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 4*time.Minute)
	defer cancel()
	b := connected(h.t, "nats://"+h.nats, h.onlooker())
	defer b.Close()
	run := release.Change{Repo: repo, Ref: "refs/heads/master", Commit: commit}.RunID()
	facts, err := b.Follow(ctx, bus.Following{Name: "faults", Run: string(run)})
	for ; err != nil; facts, err = b.Follow(ctx, bus.Following{Name: "faults", Run: string(run)}) {
		select { // The server is started anew when its disk has room again.
		case <-ctx.Done():
			h.t.Fatal(err)
		case <-time.After(100 * time.Millisecond):
		}
	}
	defer facts.Close()
	var seen []event.Event
	for len(seen) == 0 || seen[len(seen)-1].Type != until {
		batch, err := facts.Next(ctx, time.Second)
		if err != nil {
			h.t.Fatalf("no %s of run %s: %v; facts:\n%s\n%s", until, run, err, story(seen), h.log())
		}
		for _, e := range batch.Events {
			if seen = append(seen, e); e.Type == until {
				return seen
			}
		}
	}
	return seen
}

// TestKillTheWholeHouse kills everything at once, the NATS server too, at each turn of a run's life. What was answered
// is on the disk: the run goes on where it stood, and is published once.
func TestKillTheWholeHouse(t *testing.T) {
	t.Parallel()
	h := newHouse(t, t.TempDir())
	for i, moment := range []event.Type{
		event.TypeChangeReceived, event.TypeTaskStarted, event.TypeCandidateAssembled, event.TypeGateOpened,
		event.TypePublicationAdvanced,
	} {
		commit := h.world.push(i, false)
		h.follow(commit, moment)
		h.kill()
		h.start()
		facts := h.follow(commit, event.TypeRunFinished)
		if end := facts[len(facts)-1].Data.(event.RunFinished); end.Outcome != release.Success {
			t.Fatalf("killed after %s, the run ended with %s: %s; facts:\n%s", moment, end.Outcome, end.Reason, story(facts))
		}
		for target, n := range h.world.received(commit) {
			if n != 1 {
				t.Errorf("killed after %s: %s received %d of the commit, want 1; facts:\n%s", moment, target, n, story(facts))
			}
		}
	}
}

// TestFullDisk fills the disk under a house: webhooks are answered 503 and nothing that was answered 202 is lost; with
// room again, everything goes on.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, 192<<20)
	h := newHouse(t, filepath.Join(dir, "sluice"))
	h.follow(h.world.push(1, false), event.TypeRunFinished)
	ballast := fill(t, dir)
	commit := h.world.push(2, false) // its webhook is refused, and forges do not try again
	h.refuses(commit)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	facts := h.follow(commit, event.TypeRunFinished) // found by the reconciler
	if end := facts[len(facts)-1].Data.(event.RunFinished); end.Outcome != release.Success {
		t.Errorf("with room again the run ended with %s: %s; facts:\n%s", end.Outcome, end.Reason, story(facts))
	}
	for target, n := range h.world.received(commit) {
		if n != 1 {
			t.Errorf("%s received %d of the commit, want 1", target, n)
		}
	}
}

// refuses waits until webhooks are answered 503. The room on the disk is looked at ten times a second: before that a fact may still
// fit, which is stored and answered 202.
func (h *house) refuses(commit release.Commit) {
	h.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		switch status := h.hook(commit); {
		case status == http.StatusServiceUnavailable:
			return
		case status != http.StatusAccepted || time.Now().After(end):
			h.t.Fatalf("with a full disk the webhook was answered %d, want 503\n%s", status, h.log())
		}
	}
}

// smallDisk mounts a disk of a size, in bytes, in memory.
func smallDisk(t testing.TB, size int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("cannot mount a small disk: %v; these tests run as root", err)
		}
		t.Skipf("cannot mount a small disk: %v; run as root to see this test", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// fill writes a file until the disk takes no more.
func fill(t testing.TB, dir string) string {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	block := make([]byte, 64<<10)
	for len(block) > 0 {
		if _, err := f.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
	_ = f.Close() // a full disk may say so again
	return f.Name()
}

// hook sends the webhook of a push to master again and returns the answer's status.
func (h *house) hook(commit release.Commit) int {
	h.t.Helper()
	status, err := h.world.forge.Redeliver(h.t.Context(), repo, "refs/heads/master", string(commit))
	if err != nil {
		h.t.Fatal(err)
	}
	return status
}
