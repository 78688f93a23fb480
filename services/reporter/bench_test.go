package reporter

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/logs"
	"github.com/sluiceci/sluice/pkg/release"
)

const (
	linesPerSecond = 10_000
	logSeconds     = 5
)

// BenchmarkLogLineToBrowser measures how long a line takes from the write of a task to the screen of a browser, at
// 10 000 lines a second: through the executor's gathering (25 ms), the stream, this service, and the page's script, to
// the frame in which it is painted.
func BenchmarkLogLineToBrowser(b *testing.B) {
	ctx := browser(b)
	w := begin(b, Config{})
	w.tell()
	for b.Loop() {
		must(b, chromedp.Do(ctx, chromedp.Navigate(w.url+w.path("running")+"/tasks/"+string(liveTask))))
		becomes(b, ctx, `document.getElementById("notice").textContent === "Following."`)
		_, err := chromedp.Run(ctx, chromedp.Evaluate[bool](watchLines))
		must(b, err)
		sent := w.arrivals(ctx)
		w.write(ctx)
		becomes(b, ctx, fmt.Sprintf("window.late.length >= %d", linesPerSecond*logSeconds))
		late, err := chromedp.Run(ctx, chromedp.Evaluate[[]float64]("window.late"))
		must(b, err)
		report(b, "", late)
		report(b, "wire-", <-sent)
	}
}

func report(b *testing.B, name string, late []float64) {
	b.Helper()
	slices.Sort(late)
	b.ReportMetric(late[len(late)/2], name+"p50-ms")
	b.ReportMetric(late[len(late)*99/100], name+"p99-ms")
}

// arrivals notes how old the lines are when they come to a client that does nothing with them.
func (w *world) arrivals(ctx context.Context) <-chan []float64 {
	messages, done := w.listen(w.path("running")+"/tasks/"+string(liveTask)+"/log", "")
	at := regexp.MustCompile(` at ([0-9.]+)</p>`)
	out := make(chan []float64, 1)
	go func() {
		defer done()
		var late []float64
		for m := range messages {
			now := float64(time.Now().UnixMicro()) / 1000
			for _, found := range at.FindAllStringSubmatch(m.data, -1) {
				wrote, _ := strconv.ParseFloat(found[1], 64)
				late = append(late, now-wrote)
			}
			if len(late) >= linesPerSecond*logSeconds || ctx.Err() != nil {
				break
			}
		}
		out <- late
	}()
	return out
}

// watchLines notes how old the lines are that come, in the frame in which they are painted.
const watchLines = `(() => {
	window.late = [];
	const seen = (block) => { for (const p of block.children) one(p); };
	const one = (p) => { const at = / at ([0-9.]+)$/.exec(p.textContent); if (at) window.late.push(performance.timeOrigin + performance.now() - Number(at[1])); };
	new MutationObserver((changes) => { for (const c of changes) for (const b of c.addedNodes) seen(b); })
		.observe(document.getElementById("lines"), { childList: true });
	return true;
})()`

// write writes lines at an even pace, as a task does.
func (w *world) write(ctx context.Context) {
	out := logs.New(logs.Options{Every: 25 * time.Millisecond, Live: math.MaxInt64, Sink: func(c logs.Chunk) {
		_, err := w.bus.PublishLog(bus.LogChunk{
			Pool: "linux", Run: w.story.Runs["running"], Task: liveTask, Attempt: 2, Number: c.Number, FirstLine: c.FirstLine, Data: []byte(c.Text),
		})
		must(w.t, err)
	}})
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	start := time.Now()
	for n := 0; n < linesPerSecond*logSeconds && ctx.Err() == nil; {
		<-tick.C
		for due := int(time.Since(start).Seconds() * linesPerSecond); n < due && n < linesPerSecond*logSeconds; n++ {
			_, err := fmt.Fprintf(out, "test_%06d of the long suite \x1b[32mPASSED\x1b[0m in a few ms at %.3f\n", n, float64(time.Now().UnixMicro())/1000)
			must(w.t, err)
		}
	}
	_, err := out.Close()
	must(w.t, err)
}

// BenchmarkFoldFromStream measures a rebuild: every fact of 10 000 tasks, out of the stream and into the tables.
func BenchmarkFoldFromStream(b *testing.B) {
	const tasks = 10_000
	for b.Loop() {
		b.StopTimer()
		w := begin(b, Config{})
		w.stop()
		<-w.ended
		must(b, w.bus.Publish(b.Context(), work(tasks)...))
		start, before := time.Now(), cpu(b)
		b.StartTimer()
		w.serve(Config{Database: "sqlite://" + b.TempDir() + "/again.db"})
		done := fmt.Sprintf(`"success":%d`, tasks)
		for deadline := start.Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			if _, body := w.get("/api/v1/runs"); strings.Contains(body, done) {
				break
			}
		}
		b.ReportMetric(4*tasks/time.Since(start).Seconds(), "events/s")
		b.ReportMetric(float64((cpu(b)-before).Microseconds())/(4*tasks), "cpu-µs/event")
		w.stop()
	}
}

// work is the four facts that each task costs.
func work(tasks int) []event.Event {
	var out []event.Event
	for i := range tasks {
		id := release.TaskID(fmt.Sprintf("noop-%06d", i))
		for _, p := range []event.Payload{
			event.TaskRequested{Task: id, Name: "noop", Job: "noop", Kind: release.Build, Pool: "linux"},
			event.TaskDispatched{Task: id, Attempt: 1, Pool: "linux"},
			event.TaskStarted{Task: id, Attempt: 1, Pool: "linux", Executor: "linux-1"},
			event.TaskFinished{Task: id, Attempt: 1, Pool: "linux", Executor: "linux-1", Outcome: release.Success, Class: release.ClassOK},
		} {
			out = append(out, event.Root("4f2a9c1d-bench", "/executor/bench-1", time.Now(), p))
		}
	}
	return out
}

// cpu is the time that this process has computed so far.
func cpu(t testing.TB) time.Duration {
	t.Helper()
	var used syscall.Rusage
	must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
