package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
)

// measureThroughput runs many tasks that do nothing, after some runs of few, on executors of different sizes.
func measureThroughput(ctx context.Context, b *bench, l *limits) (judgement, error) {
	judges := []judgement{}
	for _, n := range []int{2, slots, 32} {
		judge, err := alone(withSlots(n), func(ctx context.Context, _ *limits, p *sluice) (judgement, error) {
			return throughput(ctx, p, b.tasks, n)
		})(ctx, b, l)
		if err != nil {
			return nil, err
		}
		judges = append(judges, judge)
	}
	return func(m machine) []row {
		var rows []row
		for _, judge := range judges {
			rows = append(rows, judge(m)...)
		}
		return rows
	}, nil
}

func throughput(ctx context.Context, p *sluice, tasks, slots int) (judgement, error) {
	var few []float64
	for range 5 {
		facts, err := p.noops(ctx, 10)
		if err != nil {
			return nil, err
		}
		few = append(few, untilFirst(facts))
	}
	before, err := p.cpu()
	if err != nil {
		return nil, err
	}
	facts, err := p.noops(ctx, tasks)
	if err != nil {
		return nil, err
	}
	after, err := p.cpu()
	if err != nil {
		return nil, err
	}
	resident, err := p.resident()
	return func(m machine) []row {
		return judgeThroughput(m, tasks, slots, facts, after-before, quantile(few, 0.5), resident)
	}, err
}

func judgeThroughput(m machine, tasks, here int, facts []event.Event, cpu, few, resident float64) []row {
	first, last := span(facts)
	rate := float64(tasks) / last.Sub(first).Seconds()
	perTask := 1000 * (cpu/float64(tasks) - m.execCPU)
	rows := []row{
		measured(fmt.Sprintf("no-op tasks per second (%d, %d slots)", tasks, here), rate, "/s", m.execRate, "sh started and ended, 8 at a time", 0.4, true),
	}
	if here != slots {
		return rows
	}
	return append(rows,
		measured("  against the stream", rate, "/s", m.stream/3, "a third of the durable publishes/s", 0.4, true),
		measured("CPU per task beyond fork/exec", perTask, "ms", 0.4, "the goal itself", 1, false),
		measured(fmt.Sprintf("first of %d tasks started after", tasks), 1000*untilFirst(facts), "ms",
			1000*few, "the first of 10 tasks", 1.5, false),
		measured(fmt.Sprintf("resident memory, %d tasks", tasks), resident, "MiB", 120, "the goal itself", 1, false),
	)
}

// measureGrowth compares what a task of a large run costs with what one of a small run costs.
func measureGrowth(ctx context.Context, b *bench, l *limits) (judgement, error) {
	return alone(withSlots(slots), func(ctx context.Context, _ *limits, p *sluice) (judgement, error) {
		cost := func(tasks, runs int) (float64, error) {
			before, err := p.cpu()
			if err != nil {
				return 0, err
			}
			for range runs {
				if _, err := p.noops(ctx, tasks); err != nil {
					return 0, err
				}
			}
			after, err := p.cpu()
			return (after - before) / float64(tasks*runs), err
		}
		if _, err := cost(100, 3); err != nil { // what is done once is done
			return nil, err
		}
		small, err := cost(100, 10)
		if err != nil {
			return nil, err
		}
		large, err := cost(b.most, 1)
		return func(machine) []row {
			return []row{measured(fmt.Sprintf("CPU per task in a run of %d", b.most), 1000*large, "ms", 1000*small, "one of a run of 100", 1.2, false)}
		}, err
	})(ctx, b, l)
}

// fanned is a run of three layers: one task, 98 that need it, one that needs them.
const fanned = `project: bench
builds:
  one: {run: "sleep 0.3", checkout: none}
  many: {needs: [one], matrix: {n: [%s]}, run: "sleep 0.3", checkout: none}
  last: {needs: [many], run: "sleep 0.3", checkout: none}
`

// measureFan runs 1 → 98 → 1 tasks of 300 ms.
func measureFan(ctx context.Context, _ *limits, p *sluice) (judgement, error) {
	commit, err := p.commit(ctx, fmt.Sprintf(fanned, numbered(98))+rest)
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
	first, last := span(facts)
	took := last.Sub(first).Seconds()
	const limit = 0.3 * (1 + (98+slots-1)/slots + 1)
	return func(machine) []row {
		return []row{
			measured("1 → 98 → 1 tasks of 300 ms on 8 slots", took, "s", limit, "15 rounds of 300 ms", 4.7/4.5, false),
			measured("  from one layer to the next", 1000*edge(facts), "ms", 5, "the goal itself", 1, false),
		}
	}, nil
}

// edge is how long after the only task of the first layer ended the first of the second is given to an executor, in seconds.
func edge(facts []event.Event) float64 {
	var ended time.Time
	for _, e := range facts {
		switch p := e.Data.(type) {
		case event.TaskFinished:
			if p.Task == "one" {
				ended = e.Time
			}
		case event.TaskDispatched:
			if strings.HasPrefix(string(p.Task), "many") && !ended.IsZero() {
				return e.Time.Sub(ended).Seconds()
			}
		}
	}
	return 0
}

func numbered(n int) string {
	var numbers []string
	for i := range n {
		numbers = append(numbers, fmt.Sprintf("%q", fmt.Sprint(i)))
	}
	return strings.Join(numbers, ", ")
}

// noops runs a number of tasks that do nothing.
func (p *sluice) noops(ctx context.Context, tasks int) ([]event.Event, error) {
	commit, err := p.commit(ctx, "project: bench\nbuilds:\n  noop: {matrix: {n: ["+numbered(tasks)+"]}, run: \":\", checkout: none}\n"+rest)
	if err != nil {
		return nil, err
	}
	run, err := p.announce(ctx, commit)
	if err != nil {
		return nil, err
	}
	return p.finish(ctx, run)
}

// untilFirst is from the plan to the first start of a task, in seconds.
func untilFirst(facts []event.Event) float64 {
	return at(facts, event.TypeTaskStarted).Sub(at(facts, event.TypeRunPlanned)).Seconds()
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
