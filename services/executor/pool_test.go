package executor

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/driver/choose"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

func TestImageNeedsAPoolOfContainers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("one", nil)
	f := w.run(plan.Task{Run: ":", Image: "ghcr.io/acme/build"}, nil)
	if f.Class != release.ClassConfig || !strings.Contains(f.Reason, `cannot run in image "ghcr.io/acme/build": the executors of pool linux run commands with the driver "local"`) {
		t.Errorf("class %s, %q", f.Class, f.Reason)
	}
}

// watching is a local driver that remembers what it was asked for.
type watching struct {
	driver.Driver
	mu    sync.Mutex
	specs []driver.Spec
}

func (w *watching) Start(ctx context.Context, s driver.Spec) (driver.Process, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.specs = append(w.specs, s)
	return w.Driver.Start(ctx, s)
}

func TestDriverIsToldWhatATaskMayUse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	local, err := driver.NewLocal(driver.LocalOptions{Place: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = local.Close() })
	seen := &watching{Driver: local}
	w.start("one", func(c *Config) { c.Use = seen })
	f := w.run(plan.Task{
		Run: ":", Image: "img@sha256:1", Network: "full", Owner: "perf",
		Resources: map[string]float64{"cpu": 2, "memory": 1 << 30, "pids": 500},
	}, nil)
	if f.Class != release.ClassOK || len(seen.specs) != 1 {
		t.Fatalf("got %+v, %d commands", f, len(seen.specs))
	}
	s := seen.specs[0]
	want := driver.Limits{CPU: 2, Memory: 1 << 30, Processes: 500}
	if s.Image != "img@sha256:1" || !s.Network || s.Limits != want || s.Root == "" || s.Labels["owner"] != "perf" || s.Labels["run"] != string(testRun) {
		t.Errorf("asked for %+v", s)
	}
}

func TestUnknownDriverDoesNotStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := newExecutor(Config{Pool: "linux", Dir: w.dir, Driver: choose.Config{Kind: "vm"}}.orDefault(), w.deps("one"), nil)
	if err := e.open(t.Context()); err == nil || !strings.Contains(err.Error(), `cannot open a driver of kind "vm"`) {
		t.Errorf("got %v", err)
	}
}

// TestLogTakesAnything: colours, bytes that are no text, and many lines at once; all of it arrives, live and stored.
func TestLogTakesAnything(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("one", nil)
	const lines = 50_000
	f := w.run(plan.Task{Run: fmt.Sprintf(`printf '\033[31mred\033[0m \377\376 caf\303\251\n'; seq %d`, lines)}, nil)
	log := w.log(f)
	if f.LogLines != lines+1 || strings.Count(log, "\n") != lines+1 || !utf8.ValidString(log) || !strings.HasPrefix(log, "\x1b[31mred\x1b[0m \ufffd\ufffd café\n1\n2\n") {
		t.Errorf("%d lines: %.100q", f.LogLines, log)
	}
	if live := w.live("job"); live != log {
		t.Errorf("the live log has %d bytes, the stored one %d", len(live), len(log))
	}
	if last := f.LastLines[len(f.LastLines)-1]; last != fmt.Sprint(lines) {
		t.Errorf("the last line is %q", last)
	}
}

// TestHostileOutputs ends attempts whose outputs are no files, or whose names lead elsewhere.
func TestHostileOutputs(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct{ run, path, reason string }{
		"socket":   {`python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("x")' || { echo no python; exit 9; }`, "x", `cannot keep "x": it is a socket`},
		"loop":     {"ln -s x y; ln -s y x", "x", "x"},
		"upwards":  {"mkdir d; ln -s ../../x d/x; echo s > ../x", "d/x", "it is a link that leaves the workspace"},
		"unlisted": {"mkdir -p d/e; echo x > d/e/f; chmod 000 d/e/f; mkfifo d/e/g", "d", `"e/g" is a`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.start("one", nil)
			f := w.run(plan.Task{Run: one.run, Outputs: []plan.Output{{Type: "x", Path: one.path}}}, nil)
			if strings.Contains(w.log(f), "no python") {
				return
			}
			if f.Class != release.ClassCommand || !strings.Contains(f.Reason, one.reason) || len(f.Artifacts) > 0 {
				t.Errorf("class %s, %q", f.Class, f.Reason)
			}
		})
	}
}

// TestDeafDaemonsAreKilled: a task that ends well and leaves daemons that hear no signal, and holds its output open.
func TestDeafDaemonsAreKilled(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t), t.TempDir()
	w.start("one", nil)
	f := w.run(plan.Task{Run: fmt.Sprintf(`setsid sh -c 'trap "" TERM HUP INT; echo $$ > %[1]s/daemon; while :; do sleep 0.2; done' &
while ! test -s %[1]s/daemon; do sleep 0.01; done`, dir)}, nil)
	if f.Class != release.ClassOK || !strings.Contains(w.log(f), "processes were still running and have been killed") {
		t.Errorf("got %+v, log %q", f, w.log(f))
	}
	w.daemonIsDead(filepath.Clean(dir))
}
