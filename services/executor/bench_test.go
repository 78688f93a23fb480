package executor

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// BenchmarkNoOp runs no-op attempts on eight slots: facts fsynced, bus server in the same process. It tells the CPU
// that this process, server included, spends on an attempt, and what bare forks of the same command cost on top.
func BenchmarkNoOp(b *testing.B) {
	w := newWorld(b)
	w.start("one", func(c *Config) { c.Slots, c.Beat = 8, 500*time.Millisecond })
	var dispatched []event.Event
	w.dispatch(plan.Task{ID: "t", Run: ":"}, func(p *plan.Plan, d *event.TaskDispatched) {
		_, d.Plan, _ = p.Encode()
		for i := range b.N {
			one := *d
			one.Attempt = int32(i + 2)
			dispatched = append(dispatched, event.Root(testRun, testSource, time.Now(), one))
		}
	})
	await(w, event.TaskFinished{Pool: "linux", Task: "t", Attempt: 1})
	follower, err := w.bus.Follow(b.Context(), bus.Following{Name: "bench", New: true, Types: []event.Type{event.TypeTaskFinished}})
	if err != nil {
		b.Fatal(err)
	}
	defer follower.Close()
	before := spent(b, syscall.RUSAGE_SELF)
	b.ResetTimer()
	go func() {
		if err := w.bus.Publish(b.Context(), dispatched...); err != nil {
			b.Error(err)
		}
	}()
	for done := 0; done < b.N; {
		batch, err := follower.Next(b.Context(), time.Minute)
		if err != nil {
			b.Fatal(err)
		}
		for _, e := range batch.Events {
			if f := e.Data.(event.TaskFinished); f.Class != release.ClassOK {
				b.Fatal(f)
			}
			done++
		}
	}
	b.StopTimer()
	b.ReportMetric((spent(b, syscall.RUSAGE_SELF)-before)/float64(b.N), "self-µs/op")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
}

func spent(b *testing.B, who int) float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(who, &usage); err != nil {
		b.Fatal(err)
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e3
}

// BenchmarkForkExec is the limit of the same machine in the same minute.
func BenchmarkForkExec(b *testing.B) {
	before := spent(b, syscall.RUSAGE_SELF)
	b.SetParallelism(4)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := exec.Command("/bin/sh", "-eu", "-c", ":").Run(); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric((spent(b, syscall.RUSAGE_SELF)-before)/float64(b.N), "self-µs/op")
}

// BenchmarkStart is the time from a dispatch to the first line of its script, idle.
func BenchmarkStart(b *testing.B) {
	w := newWorld(b)
	w.start("one", nil)
	fifo := b.TempDir() + "/fifo"
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		b.Fatal(err)
	}
	reader, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	var one event.TaskDispatched
	w.dispatch(plan.Task{ID: "t", Run: "echo > " + fifo}, func(p *plan.Plan, d *event.TaskDispatched) {
		_, d.Plan, _ = p.Encode()
		one = *d
	})
	line := make([]byte, 16)
	_, _ = reader.Read(line)
	var took []time.Duration
	for b.Loop() {
		await(w, event.TaskFinished{Pool: "linux", Task: "t", Attempt: one.Attempt})
		one.Attempt++
		began := time.Now()
		w.say(one)
		if _, err := reader.Read(line); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

func FuzzParseAttempt(f *testing.F) {
	f.Add("4f2a9c1d-k3m2pa7q.wheel-3_12.1")
	f.Add("...")
	f.Fuzz(func(t *testing.T, name string) {
		ref, ok := parseAttempt(name)
		if !ok {
			return
		}
		p := &place{attempts: "/x"}
		if again, ok := parseAttempt(filepath.Base(p.attempt(ref))); !ok || again != ref {
			t.Errorf("%q is read as %+v and written as %q", name, ref, p.attempt(ref))
		}
	})
}
