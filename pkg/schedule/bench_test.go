package schedule

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// BenchmarkRun takes runs of different sizes through their whole life, in batches as the service does: requested,
// dispatched, started, finished. Its ns/task is to be the same for all sizes.
func BenchmarkRun(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			facts := bigRun(n)
			b.ReportAllocs()
			start := processor(b)
			for b.Loop() {
				if done := live(facts); done != n {
					b.Fatalf("%d of %d tasks ended", done, n)
				}
			}
			b.ReportMetric(float64((processor(b)-start).Nanoseconds())/float64(b.N)/float64(n), "cpu-ns/task")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/task")
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "dispatches/s")
		})
	}
}

// processor is the processor time of this process, which other processes on the machine do not change.
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// bigRun is a run of n builds, in layers of a hundred that need one of the layer before.
func bigRun(n int) []event.Event {
	planned := push(int32(n), 0)
	out := []event.Event{{ID: "plan", Run: testRun, Type: event.TypeRunPlanned, Data: planned, Seq: 1, Stored: noon()}}
	for i := range n {
		r := requested(release.TaskID(fmt.Sprint("task-", i)))
		if i >= 100 {
			r.Needs = []release.TaskID{release.TaskID(fmt.Sprint("task-", i-100))}
		}
		out = append(out, event.Event{ID: "x", Run: testRun, Type: r.EventType(), Data: r, Seq: uint64(i + 2), Stored: noon()})
	}
	return out
}

// live plays the stream and eight executors of 64 slots; it returns how many tasks ended.
func live(facts []event.Event) int {
	s := New(Config{})
	now, seq, done := noon(), uint64(len(facts)+1), 0
	for i := range 8 {
		s.Apply(event.Event{Data: event.ExecutorHeartbeat{Pool: "linux", Executor: fmt.Sprint("x", i), Slots: 64}, Seq: uint64(i + 1)})
	}
	for _, e := range facts {
		s.Apply(e)
	}
	say := func(p event.Payload) {
		seq++
		s.Apply(event.Event{ID: "x", Run: testRun, Type: p.EventType(), Data: p, Seq: seq, Stored: now})
	}
	for {
		intents, _ := Decide(s, now)
		s.Sent(intents)
		given := 0
		for _, in := range intents {
			d, ok := in.Payload.(event.TaskDispatched)
			if !ok {
				continue
			}
			given++
			say(d)
			say(event.TaskStarted{Task: d.Task, Attempt: 1, Pool: "linux", Executor: "x0"})
			say(event.TaskFinished{Task: d.Task, Attempt: 1, Pool: "linux", Executor: "x0", Outcome: release.Success, Class: release.ClassOK})
		}
		if done += given; given == 0 {
			return done
		}
		now = now.Add(time.Millisecond)
	}
}

// BenchmarkOneByOne is the same with one decision per event, as on an idle bus.
func BenchmarkOneByOne(b *testing.B) {
	for _, n := range []int{100, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := New(Config{})
			for _, e := range bigRun(n) {
				s.Apply(e)
			}
			Decide(s, noon())
			seq := uint64(n + 10)
			for b.Loop() {
				seq++
				s.Apply(event.Event{ID: "x", Run: "another", Data: requested(release.TaskID(fmt.Sprint("t", seq))), Seq: seq, Stored: noon()})
				intents, _ := Decide(s, noon())
				s.Sent(intents)
			}
		})
	}
}

// BenchmarkQueuedTask measures what a task that waits takes, in bytes, with its name and a need.
func BenchmarkQueuedTask(b *testing.B) {
	const n = 100_000
	for b.Loop() {
		facts := bigRun(n)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		s := New(Config{})
		for _, e := range facts {
			s.Apply(e)
		}
		Decide(s, noon())
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B/task")
		runtime.KeepAlive(s)
		runtime.KeepAlive(facts)
	}
}
