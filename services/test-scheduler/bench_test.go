package scheduler

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/service"
)

// floor is a bus with a scheduler on it and one fast executor's worth of slots.
type floor struct {
	b     *testing.B
	bus   *bus.Bus
	facts *bus.Follower
}

func newFloor(b *testing.B) *floor {
	server, err := bus.Embed(bus.ServerOptions{Dir: b.TempDir()})
	check(b, err)
	b.Cleanup(server.Close)
	conn, err := server.Connect(b.Context(), bus.Options{})
	check(b, err)
	b.Cleanup(conn.Close)
	deps := service.Deps{Bus: conn, Log: slog.New(slog.DiscardHandler), Now: time.Now, Instance: "s1"}
	s, err := New(Config{}, deps)
	check(b, err)
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- service.Run(ctx, deps, &service.Health{}, s) }()
	b.Cleanup(func() { cancel(); <-done })
	f := &floor{b: b, bus: conn}
	f.facts, err = conn.Follow(b.Context(), bus.Following{Name: "bench", Types: []event.Type{event.TypeTaskDispatched}})
	check(b, err)
	f.beat()
	return f
}

func (f *floor) beat() {
	f.say(event.Fleet, event.ExecutorHeartbeat{Pool: "linux", Executor: "x", Slots: 256})
}

func (f *floor) say(run release.RunID, payloads ...event.Payload) {
	events := make([]event.Event, 0, len(payloads))
	for _, p := range payloads {
		events = append(events, event.Root(run, "/bench/1", time.Now(), p))
	}
	check(f.b, f.bus.Publish(f.b.Context(), events...))
}

func (f *floor) next() []event.Event {
	batch, err := f.facts.Next(f.b.Context(), patience)
	check(f.b, err)
	return batch.Events
}

func request(i int) event.TaskRequested {
	return event.TaskRequested{Task: release.TaskID(fmt.Sprint("t", i)), Kind: release.Build, Pool: "linux"}
}

// BenchmarkThroughput takes 2 000 tasks through the scheduler, each fact fsynced, with an executor that answers at once.
func BenchmarkThroughput(b *testing.B) {
	const tasks = 2000
	f := newFloor(b)
	n, start := 0, processor(b)
	for b.Loop() {
		n++
		run := release.RunID(fmt.Sprint("run-", n))
		requests := make([]event.Payload, 0, tasks)
		for i := range tasks {
			requests = append(requests, request(i))
		}
		f.say(run, requests...)
		for done := 0; done < tasks; {
			var answers []event.Payload
			for _, e := range f.next() {
				d := e.Data.(event.TaskDispatched)
				answers = append(answers,
					event.TaskStarted{Task: d.Task, Attempt: d.Attempt, Pool: "linux", Executor: "x"},
					event.TaskFinished{Task: d.Task, Attempt: d.Attempt, Pool: "linux", Executor: "x", Class: release.ClassOK, Outcome: release.Success})
			}
			f.say(run, answers...)
			done += len(answers) / 2
			f.beat()
		}
	}
	b.ReportMetric(float64(n*tasks)/b.Elapsed().Seconds(), "tasks/s")
	b.ReportMetric(float64((processor(b)-start).Microseconds())/float64(n*tasks), "cpu-µs/task")
}

// BenchmarkLatency is the time from asking for a task, on an idle bus, to hearing of its dispatch: two durable publishes
// and the decision between.
func BenchmarkLatency(b *testing.B) {
	f := newFloor(b)
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		run := release.RunID(fmt.Sprint("run-", i))
		start := time.Now()
		f.say(run, request(0))
		for len(f.next()) == 0 {
			continue
		}
		took = append(took, time.Since(start))
		f.say(run, event.TaskFinished{Pool: "linux", Task: "t0", Attempt: 1, Class: release.ClassOK, Outcome: release.Success})
		f.beat()
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkPublish is the limit of both: one durable publish.
func BenchmarkPublish(b *testing.B) {
	f := newFloor(b)
	for i := 0; b.Loop(); i++ {
		f.say("limit", event.RunCancelRequested{Request: fmt.Sprint(i)})
	}
}

// processor is the processor time of this process.
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	check(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
