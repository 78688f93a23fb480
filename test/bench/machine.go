package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// machine is what this machine can do, now, beside whatever else it is doing.
type machine struct {
	publish    float64 // seconds for one durable publish, one writer, median
	publishP99 float64
	stream     float64 // durable publishes in a second, as many at once as the stream takes
	exec       float64 // seconds from asking for a shell that starts a program to its first instruction, median
	execP99    float64
	execRate   float64 // shells started and ended in a second, two at a time
	execCPU    float64 // CPU seconds of one of them, of both sides
	fetch      float64 // seconds for a git fetch of one new commit into an existing mirror, median
}

// limits measures the machine, with a server of its own, which stores on the same disk in the same way.
type limits struct {
	dir    string
	probe  probe
	server *bus.Server
	bus    *bus.Bus
	count  int // of facts, so that each has a place of its own
}

func newLimits(ctx context.Context, dir string) (*limits, error) {
	probe, err := newProbe(dir)
	if err != nil {
		return nil, err
	}
	server, err := bus.Embed(bus.ServerOptions{Dir: filepath.Join(dir, "limit")})
	if err != nil {
		return nil, err
	}
	b, err := server.Connect(ctx, bus.Options{})
	if err != nil {
		server.Close()
		return nil, err
	}
	return &limits{dir: dir, probe: probe, server: server, bus: b}, nil
}

func (l *limits) close() {
	l.bus.Close()
	l.server.Close()
}

// measure takes about two seconds.
func (l *limits) measure(ctx context.Context) (m machine, err error) {
	if m.publish, m.publishP99, err = l.measurePublish(ctx); err != nil {
		return m, err
	}
	if m.stream, err = l.measureStream(ctx); err != nil {
		return m, err
	}
	if m.exec, m.execP99, err = measureExec(ctx, l.probe); err != nil {
		return m, err
	}
	if m.execRate, m.execCPU, err = measureExecRate(ctx); err != nil {
		return m, err
	}
	m.fetch, err = measureFetch(ctx, l.dir)
	return m, err
}

// mean is what the machine could do between two measurements.
func mean(a, b machine) machine {
	half := func(x, y float64) float64 { return (x + y) / 2 }
	return machine{
		publish: half(a.publish, b.publish), publishP99: half(a.publishP99, b.publishP99), stream: half(a.stream, b.stream),
		exec: half(a.exec, b.exec), execP99: half(a.execP99, b.execP99),
		execRate: half(a.execRate, b.execRate), execCPU: half(a.execCPU, b.execCPU), fetch: half(a.fetch, b.fetch),
	}
}

// publishOne stores a fact and says how long that took.
func (l *limits) publishOne(ctx context.Context) (float64, error) {
	l.count++
	e := fact("one", l.count)
	start := time.Now()
	err := l.bus.Publish(ctx, e)
	return time.Since(start).Seconds(), err
}

func fact(name string, i int) event.Event {
	return event.Root("bench", "/bench", time.Now(), event.TaskRequested{Task: release.TaskID(fmt.Sprint(name, i)), Pool: "p"})
}

// measurePublish publishes one event after the other, as a service would that waits for each.
func (l *limits) measurePublish(ctx context.Context) (median, p99 float64, err error) {
	var took []float64
	for range 500 {
		one, err := l.publishOne(ctx)
		if err != nil {
			return 0, 0, err
		}
		took = append(took, one)
	}
	return quantile(took, 0.5), quantile(took, 0.99), nil
}

// measureStream publishes from so many goroutines that the stream never waits for one.
func (l *limits) measureStream(ctx context.Context) (float64, error) {
	const n, writers = 2000, 64
	first := l.count
	l.count += n
	start := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for w := range writers {
		group.Go(func() error {
			for i := w; i < n; i += writers {
				if err := l.bus.Publish(ctx, fact("many", first+i)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := group.Wait()
	return n / time.Since(start).Seconds(), err
}

// probe is a program that writes the time at which it started.
type probe struct{ path, out string }

func newProbe(dir string) (probe, error) {
	p := probe{path: filepath.Join(dir, "probe"), out: filepath.Join(dir, "started")}
	source := filepath.Join(dir, "probe.c")
	text := `#include <stdio.h>
#include <time.h>
int main(int n, char **v) {
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	FILE *f = fopen(v[1], "a");
	if (!f) return 1;
	fprintf(f, "%lld.%09ld\n", (long long)t.tv_sec, t.tv_nsec);
	return fclose(f);
}
`
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		return p, err
	}
	if out, err := exec.Command("cc", "-O1", "-static", "-o", p.path, source).CombinedOutput(); err != nil {
		return p, fmt.Errorf("cannot compile the probe: %w: %s", err, out)
	}
	return p, nil
}

// script is what a task runs: the shell that every task has, and in it the probe.
func (p probe) script() string { return "exec " + p.path + " " + p.out }

// times reads what the probe has written.
func (p probe) times() ([]time.Time, error) {
	text, err := os.ReadFile(p.out)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []time.Time
	for line := range strings.Lines(string(text)) {
		var s, n int64
		if _, err := fmt.Sscanf(line, "%d.%d", &s, &n); err != nil {
			return nil, err
		}
		out = append(out, time.Unix(s, n))
	}
	return out, nil
}

func measureExec(ctx context.Context, p probe) (median, p99 float64, err error) {
	p.out += "-limit" // not where the tasks write
	var took []float64
	for i := range 150 {
		start := time.Now()
		if err := exec.CommandContext(ctx, "/bin/sh", "-eu", "-c", p.script()).Run(); err != nil {
			return 0, 0, err
		}
		times, err := p.times()
		if err != nil || len(times) != i+1 {
			return 0, 0, fmt.Errorf("the probe wrote %d times, want %d: %w", len(times), i+1, err)
		}
		took = append(took, times[i].Sub(start).Seconds())
	}
	return quantile(took, 0.5), quantile(took, 0.99), os.Remove(p.out)
}

// measureExecRate starts what a no-op task starts, from as many goroutines as a pool has slots.
func measureExecRate(ctx context.Context) (rate, cpu float64, err error) {
	const n = 1000
	before, start := usage(), time.Now()
	var left atomic.Int64
	left.Store(n)
	var failed atomic.Value
	var group sync.WaitGroup
	for range slots {
		group.Go(func() {
			for left.Add(-1) >= 0 {
				if err := exec.CommandContext(ctx, "/bin/sh", "-eu", "-c", ":").Run(); err != nil {
					failed.Store(err)
				}
			}
		})
	}
	group.Wait()
	if err, ok := failed.Load().(error); ok {
		return 0, 0, err
	}
	return n / time.Since(start).Seconds(), (usage() - before) / n, nil
}

// usage is the CPU time, in seconds, of this process and of its children that have ended.
func usage() float64 {
	var total float64
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var r syscall.Rusage
		if syscall.Getrusage(who, &r) == nil {
			total += time.Duration(r.Utime.Nano() + r.Stime.Nano()).Seconds()
		}
	}
	return total
}

// measureFetch fetches one new commit into a mirror that has the ones before, over file://, with the git command.
func measureFetch(ctx context.Context, dir string) (float64, error) {
	origin, mirror := filepath.Join(dir, "origin"), filepath.Join(dir, "mirror.git")
	for _, args := range [][]string{{"init", "-q", origin}, {"init", "-q", "--bare", mirror}} {
		if err := git(ctx, dir, args...); err != nil {
			return 0, err
		}
	}
	var took []float64
	for i := range 8 {
		if err := os.WriteFile(filepath.Join(origin, "file"), fmt.Append(nil, time.Now()), 0o644); err != nil {
			return 0, err
		}
		for _, args := range [][]string{{"add", "-A"}, {"commit", "-q", "-m", fmt.Sprint(i)}} {
			if err := git(ctx, origin, args...); err != nil {
				return 0, err
			}
		}
		start := time.Now()
		if err := git(ctx, mirror, "fetch", "-q", "--no-tags", "file://"+origin, "HEAD"); err != nil {
			return 0, err
		}
		took = append(took, time.Since(start).Seconds())
	}
	return quantile(took, 0.5), nil
}

func git(ctx context.Context, dir string, args ...string) error {
	args = append([]string{"-c", "user.name=Ada", "-c", "user.email=ada@example.com"}, args...)
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot run git %v: %w: %s", args, err, out)
	}
	return nil
}

func quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
