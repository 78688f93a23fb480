package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/schedule"
)

// measureQueue is the memory that the scheduler's core keeps for each task that waits.
func measureQueue(context.Context, *bench, *limits) (judgement, error) {
	const tasks = 100_000
	before := heap()
	s := schedule.New(schedule.Config{})
	run := release.RunID("00000001-queue")
	plan := release.DigestOf([]byte(run))
	at := time.Now()
	say := func(i int, p event.Payload) {
		e := event.Root(run, "/bench", at, p)
		e.Seq, e.Stored = uint64(i+1), at
		s.Apply(e)
	}
	say(0, event.RunPlanned{Trust: release.TrustTrusted, Change: release.Change{Kind: release.Push, Project: "bench", Repo: repo, Ref: "refs/heads/master"}, Plan: plan, Builds: tasks})
	for i := range tasks {
		id := release.TaskID(fmt.Sprint("task-", i))
		say(i+1, event.TaskRequested{Task: id, Name: string(id), Job: "task", Kind: release.Build, Pool: "default", Plan: plan})
	}
	intents, _ := schedule.Decide(s, at)
	if len(intents) == 0 {
		return nil, fmt.Errorf("the scheduler gives none of %d tasks to a pool", tasks)
	}
	perTask := float64(heap()-before) / tasks
	runtime.KeepAlive(s)
	return func(machine) []row {
		return []row{measured(fmt.Sprintf("scheduler's memory per queued task (%d)", tasks), perTask, "B", 1024, "the goal itself", 1, false)}
	}, nil
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// measurePlan plans what is as large as plans get, and reads the suite of a large project.
func measurePlan(ctx context.Context, b *bench, _ *limits) (judgement, error) {
	dir := filepath.Join(b.dir, "large")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	text := "project: bench\nbuilds:\n  many: {matrix: {a: [" + numbered(100) + "], b: [" + numbered(100) + "]}, run: \"true {{ a }} {{ b }}\"}\n" + rest
	if err := os.WriteFile(filepath.Join(dir, "sluice.yaml"), []byte(text), 0o600); err != nil {
		return nil, err
	}
	if err := git(ctx, dir, "init", "-q", "--initial-branch=master"); err != nil {
		return nil, err
	}
	planned, err := fastest(ctx, 5, b.binary, "plan", dir, "--format", "json")
	if err != nil {
		return nil, err
	}
	imported, err := fastest(ctx, 5, b.binary, "import", "ray", "--unstable", "--root", suite, filepath.Join(suite, "release", "release_tests.yaml"), "--json")
	return func(machine) []row {
		return []row{
			measured("plan of 10 000 tasks", planned, "s", 1, "the goal itself", 1, false),
			measured("import of 313 tests", 1000*imported, "ms", 100, "the goal itself", 1, false),
		}
	}, err
}

// suite is the release tests of Ray, as their repository has them.
const suite = "test/data/ray/2024-11"

// fastest runs a command some times and returns the shortest time, in seconds.
func fastest(ctx context.Context, times int, name string, args ...string) (float64, error) {
	best := 0.0
	for i := range times {
		start := time.Now()
		cmd := exec.CommandContext(ctx, name, args...)
		if _, err := cmd.Output(); err != nil {
			return 0, fmt.Errorf("cannot run %s %v: %w", name, args, err)
		}
		if took := time.Since(start).Seconds(); i == 0 || took < best {
			best = took
		}
	}
	return best, nil
}
