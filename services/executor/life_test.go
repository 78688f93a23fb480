package executor

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/service"
)

// up is a script that leaves a deaf daemon, says that it is up, and would run for ever.
func up(dir string) string {
	return fmt.Sprintf(`setsid sh -c 'trap "" TERM HUP; echo $$ > %[1]s/daemon; while :; do sleep 0.2; done' &
while ! test -s %[1]s/daemon; do sleep 0.01; done
echo working; echo up > %[1]s/up; while :; do sleep 0.2; done`, dir)
}

func (w *world) daemonIsDead(dir string) {
	w.t.Helper()
	pid, err := strconv.Atoi(w.awaitFile(filepath.Join(dir, "daemon")))
	if err != nil {
		w.t.Fatal(err)
	}
	for end := time.Now().Add(deadline); syscall.Kill(pid, 0) == nil; time.Sleep(3 * time.Millisecond) {
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && strings.Contains(string(stat), ") Z ") {
			return
		}
		if time.Now().After(end) {
			w.t.Fatalf("the daemon %d is still alive", pid)
		}
	}
}

func TestOrdersToStop(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		name    string
		timeout float64
		order   event.Payload
		class   release.Class
		reason  string
	}{
		{"task cancelled", 0, event.TaskCancelRequested{Task: "job", Attempt: 1, Pool: "linux", Reason: "not wanted"}, release.ClassCancelled, "not wanted"},
		{"timeout", 0.5, nil, release.ClassTimeout, "the command ran longer than 500ms"},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			w, dir := newWorld(t), t.TempDir()
			w.start("one", nil)
			w.dispatch(plan.Task{Run: up(dir), TimeoutS: one.timeout}, nil)
			w.awaitFile(filepath.Join(dir, "up"))
			if one.order != nil {
				w.say(event.TaskCancelRequested{Task: "job", Attempt: 2, Pool: "linux", Reason: "another attempt"})
				w.say(one.order)
			}
			f := w.finished()
			if f.Class != one.class || f.Reason != one.reason || fmt.Sprint(f.LastLines) == "[]" {
				t.Errorf("got %+v", f)
			}
			w.daemonIsDead(dir)
			w.clean()
		})
	}
}

// TestTwinsOfAMessage: a dispatch that comes twice is acknowledged only once its attempt is claimed. While the first delivery
// may still fail, the second comes again: acknowledged, it would take the first with it, and nobody would run the attempt.
func TestTwinsOfAMessage(t *testing.T) {
	t.Parallel()
	e := newExecutor(Config{Pool: "linux", Dir: t.TempDir()}.orDefault(), service.Deps{Log: slog.New(slog.DiscardHandler)}, nil)
	ref := event.AttemptRef{Run: testRun, Task: "job", Attempt: 1}
	register := func() (*attempt, error) { return e.register(ref, 7, func(error) {}) }
	first, err := register()
	if first == nil || err != nil {
		t.Fatalf("the first delivery got %v, %v", first, err)
	}
	if a, err := register(); a != nil || !bus.Untimely(err) {
		t.Errorf("before the claim the second got %v, %v; expected that it comes again", a, err)
	}
	e.release(first)
	second, err := register()
	if second == nil || err != nil {
		t.Fatalf("after the first failed, the second got %v, %v; expected the attempt", second, err)
	}
	e.start(second)
	if a, err := register(); a != nil || err != nil {
		t.Errorf("while it runs a third got %v, %v; expected that it is done with", a, err)
	}
	e.release(second)
	if a, err := register(); a != nil || err != nil {
		t.Errorf("after its end a fourth got %v, %v; expected that it is done with", a, err)
	}
}

func TestCancelBeforeTheCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := newExecutor(Config{Pool: "linux", Dir: w.dir}.orDefault(), service.Deps{Bus: w.bus, Blobs: w.blobs, Log: slog.New(slog.DiscardHandler)}, nil)
	if err := e.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer e.close()
	ctx, cancel := context.WithCancelCause(t.Context())
	a, err := e.register(event.AttemptRef{Run: testRun, Task: "job", Attempt: 1}, 0, cancel)
	if err != nil {
		t.Fatal(err)
	}
	a.stop(release.ClassCancelled, "at once")
	w.dispatch(plan.Task{Run: ":"}, func(p *plan.Plan, d *event.TaskDispatched) {
		_, d.Plan, _ = p.Encode()
		if f := a.run(ctx, *d); f.Class != release.ClassCancelled || f.Reason != "at once" {
			t.Errorf("got %+v", f)
		}
	})
	w.clean()
}

func TestDrain(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t), t.TempDir()
	executor := w.start("one", nil)
	w.dispatch(plan.Task{Run: up(dir)}, nil)
	w.awaitFile(filepath.Join(dir, "up"))
	executor.stop()
	f := w.finished()
	if f.Class != release.ClassLost || !strings.Contains(f.Reason, "the executor was told to end") {
		t.Errorf("got %+v", f)
	}
	w.daemonIsDead(dir)
	w.clean()
	w.awaitBeat("one", func(b event.ExecutorHeartbeat) bool { return b.Gone && b.Draining && len(b.Running) == 0 })
}

func TestDrainLetsShortWorkEnd(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t), t.TempDir()
	executor := w.start("one", func(c *Config) { c.Drain = deadline })
	w.dispatch(plan.Task{Run: "echo up > " + dir + "/up; sleep 0.3"}, nil)
	w.awaitFile(filepath.Join(dir, "up"))
	executor.stop()
	if f := w.finished(); f.Class != release.ClassOK {
		t.Errorf("got %+v", f)
	}
}

// awaitBeat returns the first heartbeat of an executor that fits.
func (w *world) awaitBeat(instance string, fits func(event.ExecutorHeartbeat) bool) event.ExecutorHeartbeat {
	w.t.Helper()
	follower, err := w.bus.Follow(w.t.Context(), bus.Following{Name: "test", Stream: bus.Fleet})
	if err != nil {
		w.t.Fatal(err)
	}
	defer follower.Close()
	var last event.ExecutorHeartbeat
	for end := time.Now().Add(deadline); time.Now().Before(end); {
		batch, err := follower.Next(w.t.Context(), time.Second)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, e := range batch.Events {
			beat, ok := e.Data.(event.ExecutorHeartbeat)
			if ok && beat.Executor == instance && fits(beat) {
				return beat
			}
			last = beat
		}
	}
	w.t.Fatalf("no such heartbeat, the last is %+v", last)
	return last
}

func TestHeartbeatNamesWhatRuns(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t), t.TempDir()
	w.start("one", nil)
	w.dispatch(plan.Task{Run: up(dir)}, nil)
	w.awaitFile(filepath.Join(dir, "up"))
	want := event.AttemptRef{Run: testRun, Task: "job", Attempt: 1}
	w.awaitBeat("one", func(b event.ExecutorHeartbeat) bool {
		return b.Slots == 2 && b.Pool == "linux" && !b.Draining && len(b.Running) == 1 && b.Running[0] == want
	})
}

func TestLostClaimIsDropped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say(event.TaskStarted{Task: "job", Attempt: 1, Pool: "linux", Executor: "another"})
	w.start("one", nil)
	marker := filepath.Join(t.TempDir(), "ran")
	w.dispatch(plan.Task{Run: "echo ran > " + marker}, nil)
	w.dispatch(plan.Task{ID: "next", Run: ":"}, nil)
	await(w, event.TaskFinished{Pool: "linux", Task: "next", Attempt: 1})
	if _, err := os.Stat(marker); err == nil {
		t.Error("an attempt of another executor ran")
	}
	w.awaitBeat("one", func(b event.ExecutorHeartbeat) bool { return len(b.Running) == 0 })
}

func TestOneOfManyExecutorsRunsAnAttempt(t *testing.T) {
	t.Parallel()
	w, out := newWorld(t), t.TempDir()
	for i := range 3 {
		dir := filepath.Join(w.dir, strconv.Itoa(i))
		w.start(fmt.Sprintf("e%d", i), func(c *Config) { c.Dir = dir })
	}
	const tasks = 30
	for i := range tasks {
		id := release.TaskID(fmt.Sprintf("t%d", i))
		w.dispatch(plan.Task{ID: id, Run: fmt.Sprintf("echo x >> %s/%d", out, i)}, nil)
	}
	for i := range tasks {
		f := await(w, event.TaskFinished{Pool: "linux", Task: release.TaskID(fmt.Sprintf("t%d", i)), Attempt: 1})
		if b, err := os.ReadFile(filepath.Join(out, strconv.Itoa(i))); err != nil || string(b) != "x\n" || f.Class != release.ClassOK {
			t.Errorf("task %d ran as %q: %v, %+v", i, b, err, f)
		}
	}
}

func TestLateResultIsRefused(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t), t.TempDir()
	executor := w.start("one", nil)
	w.dispatch(plan.Task{Run: "echo up > " + dir + "/up; while ! test -e " + dir + "/go; do sleep 0.01; done"}, nil)
	w.awaitFile(filepath.Join(dir, "up"))
	w.say(event.TaskFinished{Pool: "linux", Task: "job", Attempt: 1, Class: release.ClassLost, Reason: "said the scheduler"})
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	executor.stop()
	if f := w.finished(); f.Reason != "said the scheduler" {
		t.Errorf("got %+v", f)
	}
	w.clean()
}

func TestFullDiskTakesNoWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	executor := w.start("one", func(c *Config) { c.MinFree = 1 << 62 })
	w.awaitBeat("one", func(b event.ExecutorHeartbeat) bool {
		return b.Draining && strings.Contains(b.Reason, "MiB free, expected at least")
	})
	w.dispatch(plan.Task{Run: ":"}, nil)
	executor.stop()
	w.start("two", func(c *Config) { c.MinFree = 1 })
	if f := w.finished(); f.Class != release.ClassOK || f.Executor != "two" {
		t.Errorf("got %+v", f)
	}
}

func TestPanicIsReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("one", func(c *Config) { c.Use = panicking{} })
	if f := w.run(plan.Task{Run: ":"}, nil); f.Class != release.ClassInfra || f.Reason != "the executor panicked: boom" {
		t.Errorf("got %+v", f)
	}
}

type panicking struct{}

func (panicking) Start(context.Context, driver.Spec) (driver.Process, error) { panic("boom") }

func TestEndlessLineIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("one", func(c *Config) { c.LiveLog = 1 << 20 })
	const size = 64 << 20 // 1 GB takes the same way for longer
	f := w.run(plan.Task{Run: fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x", size)}, nil)
	if f.Class != release.ClassOK || f.LogLines != 1 {
		t.Fatalf("got %+v", f)
	}
	if got := w.log(f); len(got) != size {
		t.Errorf("the log has %d bytes, expected %d", len(got), size)
	}
	live := w.live("job")
	if len(live) > 2<<20 || !strings.Contains(live, "the live log ends here") {
		t.Errorf("the live log has %d bytes", len(live))
	}
}

// TestHelperExecutor is no test: it is the executor that TestKilledExecutor kills.
func TestHelperExecutor(t *testing.T) {
	url := os.Getenv("SLUICE_HELPER_URL")
	if url == "" {
		return
	}
	b, err := bus.Connect(t.Context(), url, bus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	deps := service.Deps{
		Bus: b, Blobs: blob.Dir(os.Getenv("SLUICE_HELPER_BLOBS")), Log: slog.New(slog.DiscardHandler), Now: time.Now,
		Instance: "first", Secret: findSecret,
	}
	s, err := New(Config{Pool: "linux", Slots: 2, Dir: os.Getenv("SLUICE_HELPER_DIR"), MinFree: -1}, deps, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = service.Run(t.Context(), deps, &service.Health{}, s) // until it is killed
}

func TestKilledExecutor(t *testing.T) {
	t.Parallel()
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
	blobs, dir := t.TempDir(), t.TempDir()
	w := &world{t: t, bus: b, blobs: blob.Dir(blobs), dir: t.TempDir()}
	helper := exec.Command(os.Args[0], "-test.run=^TestHelperExecutor$")
	helper.Env = append(os.Environ(), "SLUICE_HELPER_URL="+server.URL(), "SLUICE_HELPER_BLOBS="+blobs, "SLUICE_HELPER_DIR="+w.dir)
	if err := helper.Start(); err != nil {
		t.Fatal(err)
	}
	w.dispatch(plan.Task{Run: up(dir)}, nil)
	w.awaitFile(filepath.Join(dir, "up"))
	_ = helper.Process.Kill()
	_ = helper.Wait()
	w.daemonIsDead(dir) // without any help: the watchdog

	w.start("second", nil)
	f := w.finished()
	if f.Class != release.ClassLost || f.Executor != "second" || !strings.Contains(f.Reason, "the executor ended while the attempt ran") {
		t.Errorf("got %+v", f)
	}
	w.dispatch(plan.Task{ID: "next", Run: ":"}, nil)
	if f := await(w, event.TaskFinished{Pool: "linux", Task: "next", Attempt: 1}); f.Class != release.ClassOK {
		t.Errorf("got %+v", f)
	}
	w.clean()
}
