package main

import (
	"context"
	"fmt"
	"strings"
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
func measureIdle(ctx context.Context, p *sluice, _ machine) ([]row, error) {
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
	return []row{
		measured("resident memory, idle", resident, "MiB", 80, "the goal itself", 1, false),
		measured("CPU, idle", 100*(after-before)/watch.Seconds(), "% of a core", 1, "the goal itself", 1, false),
	}, err
}

// pause lets time pass on purpose: what is measured is what Sluice does meanwhile.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// measureWebhook is how long a sender waits for its 2xx. It is one commit, announced on branches that no trigger wants,
// so that what is measured is the gateway, with a builder at work beside it.
func measureWebhook(ctx context.Context, p *sluice, m machine) ([]row, error) {
	commit, err := p.commit(ctx, oneTask(probe{path: "true"}))
	if err != nil {
		return nil, err
	}
	var took []float64
	for i := range 300 {
		start := time.Now()
		if _, err := p.announceRef(ctx, "refs/heads/bench-"+fmt.Sprint(i), commit); err != nil {
			return nil, err
		}
		took = append(took, time.Since(start).Seconds())
	}
	return []row{measured("webhook accepted (2xx), p50", 1000*quantile(took, 0.5), "ms", 1000*m.publish, "one durable publish", 1.5, false)}, nil
}

// measureStart announces commits of one task each, one after the other, and looks when the task's process started.
func measureStart(ctx context.Context, p *sluice, m machine) ([]row, error) {
	probe := probe{path: p.dir + "/probe", out: p.dir + "/started"}
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
	path := 3*m.publish + m.exec
	tail := 3*m.publishP99 + m.execP99
	return []row{
		measured("task requested → its process, p50", 1000*quantile(fromRequest, 0.5), "ms", 1000*path, "3 durable publishes + fork/exec", 3, false),
		measured("task requested → its process, p99", 1000*quantile(fromRequest, 0.99), "ms", 1000*path, "the same", 10, false),
		measured("  against the machine's own p99", 1000*quantile(fromRequest, 0.99), "ms", 1000*tail, "3 p99 publishes + p99 fork/exec", 10, false),
		measured("webhook → first process, p50", 1000*quantile(fromHook, 0.5), "ms", 1000*(m.fetch+quantile(fromRequest, 0.5)),
			"git fetch of the commit + the above", 1.5, false),
	}, nil
}

func at(facts []event.Event, t event.Type) time.Time {
	for _, e := range facts {
		if e.Type == t {
			return e.Time
		}
	}
	return time.Time{}
}

// measureThroughput runs many tasks that do nothing.
func measureThroughput(ctx context.Context, p *sluice, m machine, tasks int) ([]row, error) {
	var numbers []string
	for i := range tasks {
		numbers = append(numbers, fmt.Sprintf("%q", fmt.Sprint(i)))
	}
	commit, err := p.commit(ctx, "project: bench\nbuilds:\n  noop: {matrix: {n: ["+strings.Join(numbers, ", ")+"]}, run: \":\", checkout: none}\n"+rest)
	if err != nil {
		return nil, err
	}
	before, err := p.cpu()
	if err != nil {
		return nil, err
	}
	run, err := p.announce(ctx, commit)
	if err != nil {
		return nil, err
	}
	facts, err := p.finish(ctx, run)
	if err != nil {
		return nil, err
	}
	after, err := p.cpu()
	if err != nil {
		return nil, err
	}
	resident, err := p.resident()
	first, last := span(facts)
	rate := float64(tasks) / last.Sub(first).Seconds()
	perTask := 1000 * ((after-before)/float64(tasks) - m.execCPU)
	return []row{
		measured(fmt.Sprintf("no-op tasks per second (%d, %d slots)", tasks, slots), rate, "/s", m.execRate, "sh started and ended, 8 at a time", 0.4, true),
		measured("CPU per task beyond fork/exec", perTask, "ms", 0.4, "the goal itself", 1, false),
		measured("first of the tasks started after", 1000*started(facts).Sub(at(facts, event.TypeRunPlanned)).Seconds(), "ms",
			1000*(3*m.publish+m.exec), "3 durable publishes + fork/exec", 10, false),
		measured(fmt.Sprintf("resident memory, %d tasks", tasks), resident, "MiB", 120, "the goal itself", 1, false),
	}, err
}

// span is from the first request of a task to the last end of a build.
func span(facts []event.Event) (first, last time.Time) {
	first = at(facts, event.TypeTaskRequested)
	for _, e := range facts {
		switch e.Type {
		case event.TypeTaskFinished:
			last = e.Time
		case event.TypeCandidateAssembled: // the builds are over
			return first, last
		}
	}
	return first, last
}

func started(facts []event.Event) time.Time { return at(facts, event.TypeTaskStarted) }
