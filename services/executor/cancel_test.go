package executor

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/service"
)

// wire is a network between an executor and its server that can be cut.
type wire struct {
	to  string
	l   net.Listener
	mu  sync.Mutex
	all []net.Conn
	cut bool
}

func newWire(t testing.TB, to string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{to: strings.TrimPrefix(to, "nats://"), l: l}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			if out := w.join(in); out != nil {
				group.Go(func() { _, _ = io.Copy(out, in); _ = out.Close(); _ = in.Close() })
				group.Go(func() { _, _ = io.Copy(in, out); _ = out.Close(); _ = in.Close() })
			}
		}
	})
	t.Cleanup(func() { _ = l.Close(); w.set(true); group.Wait() })
	return w
}

// join leads a connection to the server, unless the network is cut.
func (w *wire) join(in net.Conn) net.Conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut {
		_ = in.Close()
		return nil
	}
	out, err := net.Dial("tcp", w.to)
	if err != nil {
		_ = in.Close()
		return nil
	}
	w.all = append(w.all, in, out)
	return out
}

// set cuts the network, or mends it.
func (w *wire) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	if cut {
		for _, c := range w.all {
			_ = c.Close()
		}
		w.all = nil
	}
}

// remote is a world with an executor that comes over a wire.
func remote(t *testing.T) (*world, *wire) {
	t.Helper()
	server, err := bus.Embed(bus.ServerOptions{Dir: t.TempDir(), Port: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	b, err := server.Connect(t.Context(), bus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	w, c := &world{t: t, bus: b, blobs: blob.Dir(t.TempDir()), dir: t.TempDir()}, newWire(t, server.URL())
	w.over(c, "one")
	return w, c
}

// over starts an executor on the other side of a wire.
func (w *world) over(c *wire, instance string) {
	w.t.Helper()
	b, err := bus.Connect(w.t.Context(), "nats://"+c.l.Addr().String(), bus.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	deps := w.deps(instance)
	deps.Bus = b
	s, err := New(Config{Pool: "linux", Slots: 2, Dir: w.dir, Grace: 200 * time.Millisecond, Drain: 200 * time.Millisecond, MinFree: -1}, deps, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = service.Run(ctx, deps, &service.Health{}, s) }()
	w.t.Cleanup(func() { c.set(false); cancel(); <-done; b.Close() })
}

// TestAnOrderOfAnAbsenceIsObeyed: what is said while an executor has no connection is heard when it has one again: that its
// attempt is to stop, and that it ended for everybody else.
func TestAnOrderOfAnAbsenceIsObeyed(t *testing.T) {
	t.Parallel()
	lost := event.TaskFinished{Task: "job", Attempt: 1, Pool: "linux", Class: release.ClassLost, Outcome: release.Error, Reason: "silent"}
	for name, c := range map[string]struct {
		before, order event.Payload
	}{
		"stop":                   {nil, event.TaskCancelRequested{Pool: "linux", Task: "job", Attempt: 1, Reason: "not wanted"}},
		"stop, after another":    {event.TaskCancelRequested{Pool: "linux", Task: "job", Attempt: 7}, event.TaskCancelRequested{Pool: "linux", Task: "job", Attempt: 1, Reason: "not wanted"}},
		"it was declared ended":  {nil, lost},
		"its run was cancelled":  {nil, event.RunCancelRequested{Request: "r1", By: "eva"}},
		"cancelled, after other": {event.RunCancelRequested{Request: "r0", By: "eva"}, event.TaskCancelRequested{Pool: "linux", Task: "job", Attempt: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, wire := remote(t)
			dir := t.TempDir()
			if c.before != nil {
				w.say(c.before)
			}
			w.dispatch(plan.Task{Run: "trap 'touch " + dir + "/stopped; exit 1' TERM\necho up > " + dir + "/up\nwhile :; do sleep 0.05; done"}, nil)
			w.awaitFile(filepath.Join(dir, "up"))
			wire.set(true)
			w.say(c.order)
			if _, is := c.order.(event.RunCancelRequested); is { // the scheduler says it of each attempt that runs
				w.say(event.TaskCancelRequested{Pool: "linux", Task: "job", Attempt: 1, Reason: "the run was cancelled"})
			}
			wire.set(false)
			for end := time.Now().Add(deadline); ; time.Sleep(10 * time.Millisecond) {
				if _, err := os.Stat(filepath.Join(dir, "stopped")); err == nil {
					return
				}
				if time.Now().After(end) {
					t.Fatalf("%s after the connection came back the attempt still runs", deadline)
				}
			}
		})
	}
}

// TestWhatEndedIsNotStarted: the end of an attempt that waits in a queue is a fact. An executor that comes now skips it, and
// takes what comes after it.
func TestWhatEndedIsNotStarted(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]event.Payload{
		"queue timeout": event.TaskFinished{Task: "job", Attempt: 1, Pool: "linux", Class: release.ClassInfraTimeout, Outcome: release.Error},
		"run cancelled": event.RunCancelRequested{Request: "r1", By: "eva"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, dir := newWorld(t), t.TempDir()
			task := plan.Task{Run: "touch " + dir + "/ran-$SLUICE_ATTEMPT"}
			w.dispatch(task, nil)
			w.say(end, event.RunRetryRequested{Request: "r2", By: "eva"})
			w.dispatch(task, func(_ *plan.Plan, d *event.TaskDispatched) { d.Attempt = 2 })
			await(w, event.TaskDispatched{Task: "job", Attempt: 2, Pool: "linux"})
			time.Sleep(2 * justNow) // both have waited in their queue for longer
			w.start("one", nil)
			if f := await(w, event.TaskFinished{Pool: "linux", Task: "job", Attempt: 2}); f.Class != release.ClassOK {
				t.Errorf("the attempt of the new round ended as %s: %s", f.Class, f.Reason)
			}
			if _, err := os.Stat(filepath.Join(dir, "ran-1")); err == nil {
				t.Error("an attempt that had ended was run")
			}
		})
	}
}

// TestACancellationOfThePast: somebody cancelled the run and asked for it again, while the executor had no connection. The
// attempt of the new round is not meant.
func TestACancellationOfThePast(t *testing.T) {
	t.Parallel()
	w, c := remote(t)
	w.dispatch(plan.Task{Run: "true"}, nil)
	w.finished()
	c.set(true)
	w.say(event.RunCancelRequested{Request: "r1", By: "eva", Reason: "typo"}, event.RunRetryRequested{Request: "r2", By: "eva"})
	dir := t.TempDir()
	w.dispatch(plan.Task{Run: "echo up > " + dir + "/up; while ! test -e " + dir + "/go; do sleep 0.05; done"}, func(_ *plan.Plan, d *event.TaskDispatched) { d.Attempt = 2 })
	c.set(false)
	w.awaitFile(filepath.Join(dir, "up"))
	w.say(event.TaskCancelRequested{Pool: "linux", Task: "job", Attempt: 9}) // what the follower reads after the old cancellation
	w.awaitBeat("one", func(h event.ExecutorHeartbeat) bool { return len(h.Running) == 1 })
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if f := await(w, event.TaskFinished{Pool: "linux", Task: "job", Attempt: 2}); f.Class != release.ClassOK {
		t.Errorf("the attempt of the new round ended as %s: %s", f.Class, f.Reason)
	}
}
