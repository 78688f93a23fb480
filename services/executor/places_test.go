package executor

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// cloud is a provider whose places are files of a directory, tagged with whose they are.
func cloud(dir string) plan.Provider {
	return plan.Provider{
		Name: "cloud",
		Create: fmt.Sprintf(`for i in $(seq $SLUICE_NODES); do
echo "$SLUICE_RUN $SLUICE_OWNER $SLUICE_EXPIRES" > %[1]s/$SLUICE_TAG-$i; echo local >> "$SLUICE_PLACES"; done`, dir),
		Ready:   fmt.Sprintf(`n=$(cat %[1]s/asked 2>/dev/null || echo 0); echo $((n+1)) > %[1]s/asked; test $n -ge 1`, dir),
		Destroy: fmt.Sprintf(`rm -f %[1]s/$SLUICE_TAG-*; echo gone >> %[1]s/destroyed`, dir),
	}
}

func withProvider(p plan.Provider) func(*plan.Plan, *event.TaskDispatched) {
	return func(of *plan.Plan, _ *event.TaskDispatched) { of.Providers = []plan.Provider{p} }
}

func machines(dir string) []string {
	found, _ := filepath.Glob(filepath.Join(dir, "sluice-*"))
	return found
}

func TestPlacesAreMadeAndDestroyed(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t), t.TempDir()
	w.start("one", nil)
	f := w.run(plan.Task{
		Run:   fmt.Sprintf(`cat %s/sluice-*; echo "$SLUICE_PLACES" "$SLUICE_PLACE_ADDRESSES"`, dir),
		Lease: release.LeaseRequest{Provider: "cloud", Nodes: 2}, Owner: "perf",
	}, withProvider(cloud(dir)))
	log := w.log(f)
	if f.Class != release.ClassOK || f.Unclean != "" || phaseNames(f) != "prepare nodes command collect cleanup" ||
		strings.Count(log, string(testRun)+" perf 20") != 2 || !strings.Contains(log, `{"place":"cloud-1","address":"","token":"0","index":1}] local local`) {
		t.Errorf("got %+v, log %q", f, log)
	}
	if left := machines(dir); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
	await(w, event.PlacesCreated{Task: "job", Attempt: 1, Pool: "linux"})
	await(w, event.PlacesDestroyed{Pool: "linux", Task: "job", Attempt: 1})
}

// TestPlacesAreDestroyedWhateverHappens also when making them fails half-way.
func TestPlacesAreDestroyedWhateverHappens(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		name   string
		change func(*plan.Provider, *plan.Task)
		class  release.Class
		reason string
	}{
		{"half made", func(p *plan.Provider, _ *plan.Task) { p.Create = "(" + p.Create + "); exit 3" }, release.ClassInfra, "making the places ended with exit status 3"},
		{"too few", func(p *plan.Provider, _ *plan.Task) { p.Create += "; : > \"$SLUICE_PLACES\"" }, release.ClassInfra, "provider cloud made 0 places, expected 2"},
		{"no file", func(p *plan.Provider, _ *plan.Task) {
			p.Create += "; rm \"$SLUICE_PLACES\"; ln -s /etc/passwd \"$SLUICE_PLACES\""
		}, release.ClassInfra, "cannot read the places"},
		{"never ready", func(p *plan.Provider, task *plan.Task) {
			p.Ready, task.Timeouts.Nodes = "exit 1", release.Duration(500*time.Millisecond)
		}, release.ClassInfraTimeout, "waiting for the nodes took longer than 500ms"},
		{"the command fails", func(_ *plan.Provider, task *plan.Task) { task.Run = "exit 4" }, release.ClassCommand, "exit status 4"},
		{"destroying needs two tries", func(p *plan.Provider, _ *plan.Task) {
			p.Destroy = "test -e tried || { : > tried; exit 1; }; " + p.Destroy
		}, release.ClassOK, ""},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			w, dir := newWorld(t), t.TempDir()
			w.start("one", nil)
			provider, task := cloud(dir), plan.Task{Run: ":", Lease: release.LeaseRequest{Provider: "cloud", Nodes: 2}}
			one.change(&provider, &task)
			f := w.run(task, withProvider(provider))
			if f.Class != one.class || !strings.Contains(f.Reason, one.reason) || f.Unclean != "" {
				t.Errorf("class %s, %q, unclean %q, log %q", f.Class, f.Reason, f.Unclean, w.log(f))
			}
			if left := machines(dir); len(left) > 0 {
				t.Errorf("%v are left", left)
			}
		})
	}
}

// TestLeftoversAreSwept: an executor died with places made, and never came back. Another destroys them when they expire.
func TestLeftoversAreSwept(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t), t.TempDir()
	left := filepath.Join(dir, fmt.Sprintf("sluice-%s-job-1-1", testRun))
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.say(event.TaskStarted{Task: "job", Attempt: 1, Pool: "linux", Executor: "gone"}) // so that nobody runs it here
	w.dispatch(plan.Task{Run: ":", Lease: release.LeaseRequest{Provider: "cloud"}}, func(p *plan.Plan, d *event.TaskDispatched) {
		withProvider(cloud(dir))(p, d)
		text, _, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		digest, err := blob.PutBytes(t.Context(), w.blobs, text)
		if err != nil {
			t.Fatal(err)
		}
		w.say(event.PlacesCreated{Task: "job", Attempt: 1, Pool: "linux", Provider: "cloud", Plan: digest, Expires: time.Now().Add(time.Second)})
	})
	ahead := time.Now().Add(time.Second)
	w.start("one", nil)
	for time.Now().Before(ahead.Add(500 * time.Millisecond)) { // their time passes while they may be in use
		if len(machines(dir)) == 0 {
			t.Fatal("the places of an attempt that has not ended were destroyed")
		}
		time.Sleep(20 * time.Millisecond)
	}
	w.say(event.TaskFinished{Task: "job", Attempt: 1, Pool: "linux", Executor: "gone", Class: release.ClassLost, Outcome: release.Error})
	await(w, event.PlacesDestroyed{Pool: "linux", Task: "job", Attempt: 1})
	if again := machines(dir); len(again) > 0 {
		t.Errorf("%v are left", again)
	}
}

// kill starts an executor of its own process, waits until a task is up on it, and kills it.
func kill(t *testing.T, task plan.Task, change func(*plan.Plan, *event.TaskDispatched), until string) *world {
	t.Helper()
	server, err := bus.Embed(bus.ServerOptions{Dir: t.TempDir(), Port: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	b, err := server.Connect(t.Context(), bus.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	blobs := t.TempDir()
	w := &world{t: t, bus: b, blobs: blob.Dir(blobs), dir: t.TempDir()}
	helper := exec.Command(os.Args[0], "-test.run=^TestHelperExecutor$")
	helper.Env = append(os.Environ(), "SLUICE_HELPER_URL="+server.URL(), "SLUICE_HELPER_BLOBS="+blobs, "SLUICE_HELPER_DIR="+w.dir)
	if err := helper.Start(); err != nil {
		t.Fatal(err)
	}
	w.dispatch(task, change)
	w.awaitFile(until)
	_ = helper.Process.Kill()
	_ = helper.Wait()
	return w
}

// TestKilledExecutorCleansWhenItIsBack: the cleanup, and the places that were made, of an attempt that was in hand.
func TestKilledExecutorCleansWhenItIsBack(t *testing.T) {
	t.Parallel()
	dir, cloudDir := t.TempDir(), t.TempDir()
	w := kill(t, plan.Task{
		Run: "echo mine > state\n" + up(dir), Cleanup: "cat state > " + dir + "/cleaned; echo \"$SLUICE_PHASE $SLUICE_CLASS\"",
		Lease: release.LeaseRequest{Provider: "cloud"},
	}, withProvider(cloud(cloudDir)), filepath.Join(dir, "up"))
	if len(machines(cloudDir)) != 1 {
		t.Fatalf("there are places %v", machines(cloudDir))
	}
	w.start("second", nil)
	f := w.finished()
	if f.Class != release.ClassLost || f.Executor != "second" || f.Unclean != "" || phaseNames(f) != "cleanup" ||
		!slices.Contains(f.LastLines, "cleanup lost") {
		t.Errorf("got %+v", f)
	}
	if got := w.awaitFile(filepath.Join(dir, "cleaned")); got != "mine" {
		t.Errorf("cleaned %q", got)
	}
	await(w, event.PlacesDestroyed{Pool: "linux", Task: "job", Attempt: 1})
	w.awaitClean()
	if left := machines(cloudDir); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

func TestNoticeDrains(t *testing.T) {
	t.Parallel()
	answer := http.NewServeMux()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	for name, give := range map[string]func(*testing.T, *Notice) (tell func()){
		"file": func(t *testing.T, n *Notice) func() {
			n.File = filepath.Join(t.TempDir(), "notice")
			return func() { writeFileOrFail(t, n.File, "gone by noon\nmore\n") }
		},
		"url": func(t *testing.T, n *Notice) func() {
			n.URL = server.URL + "/spot"
			return func() {
				answer.HandleFunc("/spot", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "gone by noon") })
			}
		},
		"command": func(t *testing.T, n *Notice) func() {
			file := filepath.Join(t.TempDir(), "notice")
			n.Command = []string{"cat", file}
			return func() { writeFileOrFail(t, file, "gone by noon\n") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, dir := newWorld(t), t.TempDir()
			n := Notice{Every: 20 * time.Millisecond}
			tell := give(t, &n)
			w.start("one", func(c *Config) { c.Notice = n })
			w.dispatch(plan.Task{Run: up(dir), Keep: release.Duration(time.Hour)}, nil)
			w.awaitFile(filepath.Join(dir, "up"))
			tell()
			if f := w.finished(); f.Class != release.ClassLost || !f.KeptUntil.IsZero() {
				t.Errorf("got %+v", f)
			}
			said := w.awaitFleet(event.ExecutorDraining{Pool: "linux", Executor: "one"})
			if !strings.Contains(said.Reason, "gone by noon") || len(said.Running) != 1 || said.Deadline.IsZero() {
				t.Errorf("said %+v", said)
			}
			w.awaitBeat("one", func(b event.ExecutorHeartbeat) bool {
				return b.Draining && !b.Gone && strings.Contains(b.Reason, "taken away")
			})
			w.dispatch(plan.Task{ID: "next", Run: ":"}, nil)
			w.start("two", func(c *Config) { c.Dir = t.TempDir() })
			if f := await(w, event.TaskFinished{Pool: "linux", Task: "next", Attempt: 1}); f.Executor != "two" {
				t.Errorf("%s took work", f.Executor)
			}
		})
	}
}

func writeFileOrFail(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (w *world) awaitFleet(place event.ExecutorDraining) event.ExecutorDraining {
	w.t.Helper()
	subject := event.Root(event.Fleet, testSource, time.Now(), place).Subject()
	for end := time.Now().Add(deadline); time.Now().Before(end); time.Sleep(3 * time.Millisecond) {
		if e, err := w.bus.Get(w.t.Context(), subject); err == nil {
			return e.Data.(event.ExecutorDraining)
		}
	}
	w.t.Fatalf("nothing at %s", subject)
	return place
}
