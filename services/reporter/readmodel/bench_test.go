package readmodel

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/store/storetest"
)

// chains are tasks of a run, each of the four facts that a task costs, as eight slots would make them.
func chains(n int) []event.Event {
	const slots = 8
	var out []event.Event
	say := func(p event.Payload) {
		e := event.Root("4f2a9c1d-bench", "/executor/bench-1", storyTime(), p)
		e.Seq = uint64(len(out) + 1)
		out = append(out, e)
	}
	for i := range n {
		say(event.TaskRequested{Task: name(i), Name: "noop", Job: "noop", Kind: release.Build, Pool: "linux"})
	}
	for i := 0; i < n; i += slots {
		for j := i; j < min(i+slots, n); j++ {
			say(event.TaskDispatched{Task: name(j), Attempt: 1, Pool: "linux"})
		}
		for j := i; j < min(i+slots, n); j++ {
			say(event.TaskStarted{Task: name(j), Attempt: 1, Pool: "linux", Executor: "linux-1"})
		}
		for j := i; j < min(i+slots, n); j++ {
			say(event.TaskFinished{Task: name(j), Attempt: 1, Pool: "linux", Executor: "linux-1", Outcome: release.Success, Class: release.ClassOK})
		}
	}
	return out
}

func name(i int) release.TaskID { return release.TaskID(fmt.Sprintf("noop-%06d", i)) }

// BenchmarkApply measures events per second into each database, in batches as a rebuild reads them (1024) and as live
// work gives them.
func BenchmarkApply(b *testing.B) {
	events := chains(10_000)
	for kind, url := range storetest.URLs(b) {
		for _, size := range []int{16, 128, 1024} {
			b.Run(fmt.Sprintf("%s/%d", kind, size), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					m := openModel(b, url(b))
					b.StartTimer()
					start, before := time.Now(), cpu(b)
					foldAll(b, m, events, size)
					b.ReportMetric(float64(len(events))/time.Since(start).Seconds(), "events/s")
					b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(len(events)), "cpu-µs/event")
				}
			})
		}
	}
}

// cpu is the time that this process has computed so far.
func cpu(t testing.TB) time.Duration {
	t.Helper()
	var used syscall.Rusage
	must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
