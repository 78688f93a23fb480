package main

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
)

// rest is the end of each definition: a test, since the gate of a release that nothing tested stays shut. It starts after
// all builds have ended, so that what is measured of these is over by then.
const rest = "tests:\n  nothing: {run: \":\", checkout: none}\ngate: {require: [builds, tests]}\n"

// oneTask is a definition with one build, which writes the time at which it starts.
func oneTask(p probe) string {
	return "project: bench\nbuilds:\n  probe: {run: \"" + p.script() + "\", checkout: none}\n" + rest
}

// measureIdle is what Sluice costs while nothing happens.
func measureIdle(ctx context.Context, _ *limits, p *sluice) (judgement, error) {
	pause(ctx, 3*time.Second)
	before, err := p.cpu()
	if err != nil {
		return nil, err
	}
	const watch = 10 * time.Second
	pause(ctx, watch)
	after, err := p.cpu()
	if err != nil {
		return nil, err
	}
	resident, err := p.resident()
	return func(machine) []row {
		return []row{
			measured("resident memory, idle", resident, "MiB", 80, "the goal itself", 1, false),
			measured("CPU, idle", 100*(after-before)/watch.Seconds(), "% of a core", 1, "the goal itself", 1, false),
		}
	}, err
}

// pause lets time pass on purpose: what is measured is what Sluice does meanwhile.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// measureWebhook is how long a sender waits for its 2xx: the gateway alone, since the next delivery comes when the builder
// is done with the one before, and so does the publish that it is compared with. Each announces a commit of its own, on a branch that no trigger wants.
func measureWebhook(ctx context.Context, l *limits, p *sluice) (judgement, error) {
	var took, limit []float64
	for range 60 {
		commit, err := p.commit(ctx, "triggers: {push: {branches: [none]}}\n"+oneTask(probe{path: "true"}))
		if err != nil {
			return nil, err
		}
		syscall.Sync() // else the next fsync pays for what git has just written
		one, err := l.publishOne(ctx)
		if err != nil {
			return nil, err
		}
		limit = append(limit, one)
		start := time.Now()
		run, err := p.announce(ctx, commit)
		if err != nil {
			return nil, err
		}
		took = append(took, time.Since(start).Seconds())
		if err := p.ignored(ctx, run); err != nil {
			return nil, err
		}
	}
	return func(machine) []row {
		return []row{
			measured("webhook accepted (2xx), p50", 1000*quantile(took, 0.5), "ms", 1000*quantile(limit, 0.5), "a durable publish just before", 1.5, false),
		}
	}, nil
}

// measureStart announces commits of one task each, one after the other, and looks when the task's process started.
func measureStart(ctx context.Context, l *limits, p *sluice) (judgement, error) {
	probe := probe{path: l.probe.path, out: p.out() + "/started"}
	if err := writable(probe.out); err != nil {
		return nil, err
	}
	var fromRequest, fromHook []float64
	for i := range 40 {
		commit, err := p.commit(ctx, oneTask(probe))
		if err != nil {
			return nil, err
		}
		announced := time.Now()
		run, err := p.announce(ctx, commit)
		if err != nil {
			return nil, err
		}
		facts, err := p.finish(ctx, run)
		if err != nil {
			return nil, err
		}
		times, err := probe.times()
		if err != nil || len(times) != i+1 {
			return nil, fmt.Errorf("%d tasks have started, want %d: %w", len(times), i+1, err)
		}
		fromHook = append(fromHook, times[i].Sub(announced).Seconds())
		fromRequest = append(fromRequest, times[i].Sub(at(facts, event.TypeTaskRequested)).Seconds())
	}
	return func(m machine) []row { return judgeStart(m, fromRequest, fromHook) }, nil
}

// writable makes a file that tasks write to, whatever user they run as.
func writable(file string) error {
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return err
	}
	return os.Chmod(file, 0o666) //nolint:gosec // nobody else sees what it lies in
}

func judgeStart(m machine, fromRequest, fromHook []float64) []row {
	path := 3*m.publish + m.exec
	tail := 3*m.publishP99 + m.execP99
	return []row{
		measured("task requested → its process, p50", 1000*quantile(fromRequest, 0.5), "ms", 1000*path, "3 durable publishes + fork/exec", 3, false),
		measured("task requested → its process, p99", 1000*quantile(fromRequest, 0.99), "ms", 1000*path, "the same", 10, false),
		measured("  against the machine's own p99", 1000*quantile(fromRequest, 0.99), "ms", 1000*tail, "3 p99 publishes + p99 fork/exec", 10, false),
		measured("webhook → first process, p50", 1000*quantile(fromHook, 0.5), "ms", 1000*(m.fetch+quantile(fromRequest, 0.5)),
			"git fetch of the commit + the above", 1.5, false),
	}
}

func at(facts []event.Event, t event.Type) time.Time {
	for _, e := range facts {
		if e.Type == t {
			return e.Time
		}
	}
	return time.Time{}
}
