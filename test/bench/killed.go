package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// measureKilled kills an executor that has a task in hand, and looks when the task's process starts again on another one,
// and whether the first process still lives then.
func measureKilled(ctx context.Context, b *bench, l *limits) (judgement, error) {
	p, err := b.start(ctx, "{pool: other, slots: 1}")
	if err != nil {
		return nil, err
	}
	defer p.stop()
	var took []float64
	orphans := 0
	for i := range 3 {
		one, left, err := killOnce(ctx, l, p, i)
		if err != nil {
			return nil, fmt.Errorf("%w\n%s", err, p.tail())
		}
		took, orphans = append(took, one), orphans+left
	}
	return func(machine) []row {
		return []row{
			measured("executor killed: its work starts again after", quantile(took, 0.5), "s", 3, "the goal itself", 1, false),
			measured("  processes of it that live then", float64(orphans), "", 1, "one", 0, false),
		}
	}, nil
}

func killOnce(ctx context.Context, l *limits, p *sluice, i int) (took float64, orphans int, err error) {
	first, err := p.executor(ctx, fmt.Sprintf("a%d", i))
	if err != nil {
		return 0, 0, err
	}
	killed := false
	defer func() {
		if !killed {
			end(first, syscall.SIGTERM)
		}
	}()
	probe := probe{path: l.probe.path, out: filepath.Join(p.dir, fmt.Sprintf("killed-%d", i))}
	mark := fmt.Sprintf("600.%d%d", os.Getpid(), i) // how long it sleeps, and how it is told from others
	script := fmt.Sprintf("%s %s; test $(wc -l <%s) -gt 1 || exec sleep %s", probe.path, probe.out, probe.out, mark)
	commit, err := p.commit(ctx, "project: bench\nbuilds:\n  long: {run: \""+script+"\", checkout: none}\n"+rest)
	if err != nil {
		return 0, 0, err
	}
	run, err := p.announce(ctx, commit)
	if err != nil {
		return 0, 0, err
	}
	if err := p.await(ctx, run, event.TypeTaskStarted); err != nil {
		return 0, 0, err
	}
	second, err := p.executor(ctx, fmt.Sprintf("b%d", i))
	if err != nil {
		return 0, 0, err
	}
	defer end(second, syscall.SIGTERM)
	for processes(mark) == 0 { // it sleeps
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		pause(ctx, 10*time.Millisecond)
	}
	at := time.Now()
	killed = true
	end(first, syscall.SIGKILL)
	times := []time.Time{}
	for len(times) < 2 {
		if times, err = probe.times(); err != nil || ctx.Err() != nil {
			return 0, 0, fmt.Errorf("the task was not started again: %w", ctx.Err())
		}
		pause(ctx, 5*time.Millisecond)
	}
	orphans = processes(mark)
	_, err = p.finish(ctx, run)
	return times[1].Sub(at).Seconds(), orphans, err
}

// executor starts an executor in a process of its own, and waits until it lives.
func (p *sluice) executor(ctx context.Context, name string) (*exec.Cmd, error) {
	config, err := p.write(name+".yaml", "url: "+p.nats, withSlots(1))
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(p.binary, "serve", "executor", "--config", config, "--dir", filepath.Join(p.dir, name), "--log", "warn")
	cmd.Stderr = &bytes.Buffer{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	beats, err := p.bus.Follow(ctx, bus.Following{Name: "bench", Stream: bus.Fleet, New: true})
	if err != nil {
		return nil, err
	}
	defer beats.Close()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	for seen := map[string]bool{}; ; {
		batch, err := beats.Next(ctx, 20*time.Second)
		if err != nil || len(batch.Events) == 0 {
			end(cmd, syscall.SIGTERM)
			return nil, fmt.Errorf("executor %s does not live: %w\n%s", name, err, cmd.Stderr)
		}
		for _, e := range batch.Events {
			beat, ok := e.Data.(event.ExecutorHeartbeat)
			if !ok || beat.Pool != "default" || beat.Draining || len(beat.Running) > 0 {
				continue
			}
			if seen[beat.Executor] { // twice, so that it takes work
				return cmd, nil
			}
			seen[beat.Executor] = true
		}
	}
}

// await waits for the first fact of a type.
func (p *sluice) await(ctx context.Context, run release.RunID, t event.Type) error {
	facts, err := p.bus.Follow(ctx, bus.Following{Name: "bench", Run: string(run), Types: []event.Type{t}})
	if err != nil {
		return err
	}
	defer facts.Close()
	batch, err := facts.Next(ctx, time.Minute)
	if err == nil && len(batch.Events) == 0 {
		err = fmt.Errorf("run %s has no %s after a minute", run, t)
	}
	return err
}

// processes counts those that have a word in their command.
func processes(word string) int {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	n := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(text), "sleep\x00"+word) {
			n++
		}
	}
	return n
}
