package executor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// held is a lease of places on this machine, granted in the stream.
func (w *world) held(provider string, names ...string) release.Lease {
	w.t.Helper()
	l := release.Lease{Provider: provider, Until: time.Now().Add(time.Hour)}
	for i, name := range names {
		token := int64(i + 1)
		l.Places = append(l.Places, release.Held{Place: name, Token: token})
		w.sayFleet(event.LeaseGranted{
			Provider: provider, Place: name, Token: token, Holder: event.AttemptRef{Run: testRun, Task: "job", Attempt: 1},
		})
	}
	return l
}

func (w *world) sayFleet(p event.Payload) {
	w.t.Helper()
	if err := w.bus.Publish(w.t.Context(), event.Root(event.Fleet, testSource, time.Now(), p)); err != nil {
		w.t.Fatal(err)
	}
}

func withLease(l release.Lease) func(*plan.Plan, *event.TaskDispatched) {
	return func(_ *plan.Plan, d *event.TaskDispatched) { d.Lease = l }
}

func phaseNames(f event.TaskFinished) string {
	var names []string
	for _, phase := range f.Phases {
		names = append(names, phase.Name)
	}
	return strings.Join(names, " ")
}

const tellPhase = `echo "$SLUICE_PHASE $SLUICE_PLACE_NAMES $SLUICE_LEASE_TOKEN ${SLUICE_CLASS-}"`

// TestPhases: every phase in its order, each skippable; the last cleanup whatever happened.
func TestPhases(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		name   string
		change func(*plan.Task)
		class  release.Class
		log    string
		phases string
		dirty  string
	}{
		{"all", func(*plan.Task) {}, release.ClassOK, "cleanup-first/prepare/test/cleanup ok", "prepare cleanup-first command collect cleanup", ""},
		{"no first cleanup", func(p *plan.Task) { p.SkipPhases = []string{"cleanup-first"} }, release.ClassOK, "prepare/test/cleanup ok", "prepare command collect cleanup", ""},
		{"no preparation", func(p *plan.Task) { p.SkipPhases = []string{"prepare"} }, release.ClassOK, "cleanup-first/test/cleanup ok", "prepare cleanup-first command collect cleanup", ""},
		{"no test proves nothing", func(p *plan.Task) { p.SkipPhases = []string{"test"} }, release.ClassUnknown, "cleanup-first/prepare/cleanup unknown", "prepare cleanup-first command collect cleanup", ""},
		{"no last cleanup", func(p *plan.Task) { p.SkipPhases = []string{"cleanup"} }, release.ClassOK, "cleanup-first/prepare/test", "prepare cleanup-first command collect cleanup", "skipped"},
		{"failure", func(p *plan.Task) { p.Run += "; exit 3" }, release.ClassCommand, "cleanup-first/prepare/test/cleanup command", "prepare cleanup-first command collect cleanup", ""},
		{"preparation fails", func(p *plan.Task) { p.Prepare += "; exit 3" }, release.ClassPrepare, "cleanup-first/prepare/cleanup prepare", "prepare cleanup-first cleanup", ""},
		{"timeout", func(p *plan.Task) { p.Run += "; sleep 60"; p.TimeoutS = 2 }, release.ClassTimeout, "cleanup-first/prepare/test/cleanup timeout", "prepare cleanup-first command collect cleanup", ""},
		{"first cleanup fails", func(p *plan.Task) { p.Cleanup += "; test $SLUICE_PHASE = cleanup" }, release.ClassInfra, "cleanup-first/cleanup infra", "prepare cleanup-first cleanup", ""},
		{"last cleanup fails", func(p *plan.Task) { p.Cleanup += "; test $SLUICE_PHASE != cleanup" }, release.ClassOK, "cleanup-first/prepare/test/cleanup ok", "prepare cleanup-first command collect cleanup", "the cleanup ended with exit status 1"},
		{"last cleanup hangs", func(p *plan.Task) {
			p.Cleanup, p.SkipPhases = p.Cleanup+"; sleep 60", []string{"cleanup-first"}
			p.Timeouts.Cleanup = release.Duration(2 * time.Second)
		}, release.ClassOK, "prepare/test/cleanup ok", "prepare command collect cleanup", "the cleanup took longer than 2s"},
		{"runs as long as it may", func(p *plan.Task) { p.Run += "; sleep 60"; p.TimeoutS, p.LongRunning = 2, true }, release.ClassOK, "cleanup-first/prepare/test/cleanup ok", "prepare cleanup-first command collect cleanup", ""},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.start("one", nil)
			task := plan.Task{Cleanup: tellPhase, Prepare: tellPhase, Run: tellPhase, Lease: release.LeaseRequest{Provider: "lab"}}
			one.change(&task)
			f := w.run(task, withLease(w.held("lab", "rack-1")))
			var said []string
			for line := range strings.Lines(w.log(f)) {
				if phase, rest, ok := strings.Cut(strings.TrimSpace(line), " rack-1 1"); ok {
					said = append(said, phase+rest)
				}
			}
			if got := strings.Join(said, "/"); f.Class != one.class || got != one.log || phaseNames(f) != one.phases {
				t.Errorf("class %s (%s), log %q, phases %q; expected %s, %q, %q", f.Class, f.Reason, got, phaseNames(f), one.class, one.log, one.phases)
			}
			if one.dirty == "" && f.Unclean != "" || !strings.Contains(f.Unclean, one.dirty) {
				t.Errorf("unclean %q, expected %q", f.Unclean, one.dirty)
			}
			if left, _ := os.ReadDir(filepath.Join(w.dir, "records")); len(left) > 0 {
				t.Errorf("%d records are left", len(left))
			}
		})
	}
}

func TestCleanupRunsAfterACancel(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t), t.TempDir()
	w.start("one", nil)
	w.dispatch(plan.Task{Cleanup: "echo cleaned > " + dir + "/cleaned", Run: up(dir)}, nil)
	w.awaitFile(filepath.Join(dir, "up"))
	w.say(event.TaskCancelRequested{Pool: "linux", Task: "job", Attempt: 1, Reason: "not wanted"})
	if f := w.finished(); f.Class != release.ClassCancelled {
		t.Errorf("got %+v", f)
	}
	w.awaitFile(filepath.Join(dir, "cleaned"))
	w.clean()
}

// TestKeep leaves a failed attempt's workspace for a while, over a restart of the executor, and cleans it then.
func TestKeep(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t), t.TempDir()
	first := w.start("one", nil)
	w.dispatch(plan.Task{
		Run: "echo mine > kept; exit 3", Cleanup: "cat kept > " + dir + "/cleaned", Keep: release.Duration(time.Hour),
	}, nil)
	f := w.finished()
	if f.KeptUntil.IsZero() || f.Class != release.ClassCommand || phaseNames(f) != "prepare command collect" {
		t.Fatalf("got %+v", f)
	}
	if !strings.Contains(w.log(f), "kept until") {
		t.Errorf("log %q", w.log(f))
	}
	first.stop()
	ref := event.AttemptRef{Run: testRun, Task: "job", Attempt: 1}
	second := w.start("two", nil)
	w.awaitBeat("two", func(event.ExecutorHeartbeat) bool { return true })
	if b, err := os.ReadFile(filepath.Join(w.place().attempt(ref), "work", "kept")); err != nil || string(b) != "mine\n" {
		t.Errorf("the workspace is not kept: %v", err)
	}
	second.stop()
	w.elapse(ref)
	w.start("three", nil)
	if got := w.awaitFile(filepath.Join(dir, "cleaned")); got != "mine" {
		t.Errorf("cleaned %q", got)
	}
	w.awaitClean()
	if again := w.finished(); !again.KeptUntil.Equal(f.KeptUntil) {
		t.Errorf("the result has changed: %+v", again)
	}
}

// TestKeptPlaceIsReleased: who gives the place back is done with the workspace too. What is left of it touches no place
// any more.
func TestKeptPlaceIsReleased(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t), t.TempDir()
	w.start("one", nil)
	l := w.held("lab", "rack-1")
	w.dispatch(plan.Task{
		Run: "exit 3", SkipPhases: []string{"cleanup-first"}, Cleanup: "echo x > " + dir + "/cleaned", Keep: release.Duration(time.Hour),
		Lease: release.LeaseRequest{Provider: "lab"},
	}, withLease(l))
	if f := w.finished(); f.KeptUntil.IsZero() || f.Class != release.ClassCommand {
		t.Fatalf("got %+v", f)
	}
	w.sayFleet(event.LeaseEnded{Provider: "lab", Place: "rack-1", Token: 1, Reason: "ada released it"})
	w.awaitClean()
	if _, err := os.Stat(filepath.Join(dir, "cleaned")); err == nil {
		t.Error("its cleanup ran on a place that is another's")
	}
}

// place is the executor's directory, while no executor is there.
func (w *world) place() *place {
	return &place{attempts: filepath.Join(w.dir, "attempts"), records: filepath.Join(w.dir, "records")}
}

// elapse lets the time pass until which an attempt is kept.
func (w *world) elapse(ref event.AttemptRef) {
	w.t.Helper()
	r, found, err := w.place().recorded(ref)
	if err != nil || !found {
		w.t.Fatalf("there is no record: %v", err)
	}
	r.KeptUntil = time.Now().Add(-time.Second)
	if err := w.place().record(ref, r); err != nil {
		w.t.Fatal(err)
	}
}

// awaitClean waits until no workspace is left, and nothing is left to do.
func (w *world) awaitClean() {
	w.t.Helper()
	for end := time.Now().Add(deadline); ; time.Sleep(10 * time.Millisecond) {
		left := 0
		for _, of := range []string{"attempts", "records"} {
			entries, err := os.ReadDir(filepath.Join(w.dir, of))
			if err != nil {
				w.t.Fatal(err)
			}
			left += len(entries)
		}
		if left == 0 {
			return
		}
		if time.Now().After(end) {
			w.t.Fatalf("%d workspaces and records are left after %s", left, deadline)
		}
	}
}

func TestLeaseIsProvedBeforeEachPhase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("one", nil)
	l := w.held("lab", "rack-1")
	w.sayFleet(event.LeaseEnded{Provider: "lab", Place: "rack-1", Token: 1, Reason: "its executor was lost"})
	f := w.run(plan.Task{Cleanup: "echo touched", Run: "echo touched", Lease: release.LeaseRequest{Provider: "lab"}}, withLease(l))
	if f.Class != release.ClassLost || !strings.Contains(f.Reason, "the lease has ended") || strings.Contains(w.log(f), "touched\n") {
		t.Errorf("class %s, %q, log %q", f.Class, f.Reason, w.log(f))
	}
	if !strings.Contains(f.Unclean, "its cleanup did not run") {
		t.Errorf("unclean %q", f.Unclean)
	}
}

func TestLostLeaseEndsTheCommand(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t), t.TempDir()
	w.start("one", nil)
	l := w.held("lab", "rack-1")
	w.dispatch(plan.Task{Run: up(dir), Lease: release.LeaseRequest{Provider: "lab"}}, withLease(l))
	w.awaitFile(filepath.Join(dir, "up"))
	w.sayFleet(event.LeaseEnded{Provider: "lab", Place: "rack-1", Token: 1, Reason: "it was not renewed"})
	if f := w.finished(); f.Class != release.ClassLost || !strings.Contains(f.Reason, "it was not renewed") {
		t.Errorf("class %s, %q", f.Class, f.Reason)
	}
	w.daemonIsDead(dir)
}
