package schedule

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/test/property"
)

// TestMain makes ten thousand worlds the ordinary number; -rapid.checks asks for another.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800) // worlds are small and many
	flag.Parse()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "rapid.checks" })
	if !asked {
		_ = flag.Set("rapid.checks", "10000")
	}
	os.Exit(m.Run())
}

// drawn are rapid's dice.
type drawn struct{ t *rapid.T }

func (d drawn) roll(what string, sides int) int { return rapid.IntRange(0, sides-1).Draw(d.t, what) }

// rapidTB lets a world fail as rapid's tests do.
type rapidTB struct {
	testing.TB
	t *rapid.T
}

func (r rapidTB) Helper()                        {}
func (r rapidTB) Fatal(args ...any)              { r.t.Fatal(args...) }
func (r rapidTB) Fatalf(format string, a ...any) { r.t.Fatalf(format, a...) }

// TestLaws plays worlds at random. A failing one is shrunk and printed with its seed; what it taught goes into
// TestWorldsThatFailedOnce.
func TestLaws(t *testing.T) {
	t.Parallel()
	property.Check(t, func(rt *rapid.T) {
		d := drawn{rt}
		play(newWorld(rapidTB{t, rt}, d), d.roll("steps", 150))
	})
}

// TestSeededWorlds plays worlds by number, with fair dice, and counts what happened in them: worlds in which nothing
// happens prove nothing.
func TestSeededWorlds(t *testing.T) {
	t.Parallel()
	const worlds = 1500
	seen := map[string]int{}
	for n := range worlds {
		s := seed(n)
		w := newWorld(numbered{t, n}, &s)
		play(w, 60+s.roll("steps", 200))
		for what, did := range w.happened() {
			if did {
				seen[what]++
			}
		}
	}
	t.Logf("of %d worlds: %v", worlds, seen)
	if seen["moot"] == 0 {
		t.Error("no task was left out because the outcome was settled")
	}
	for what, least := range map[string]int{
		"opened": 5, "closed": 20, "published": 5, "cancelled": 20, "retried": 20, "lost": 10, "skipped": 5, "delayed": 20, "attempt 3": 5,
		"limited": 20, "draining": 10, "superseded": 2, "leased": 1,
	} {
		if seen[what] < worlds*least/100 {
			t.Errorf("%s happened in %d of %d worlds, want %d %%", what, seen[what], worlds, least)
		}
	}
}

// TestCalmWorlds: where nothing goes wrong nothing is lost, and every attempt is one that the product asked for.
func TestCalmWorlds(t *testing.T) {
	t.Parallel()
	for n := range 500 {
		s := seed(n)
		w := newWorld(numbered{t, n}, &s)
		w.settleDown()
		if w.happened()["lost"] {
			t.Fatalf("world %d: somebody was lost:\n%s", n, w.told())
		}
	}
}

// numbered names the world that failed.
type numbered struct {
	testing.TB
	n int
}

func (f numbered) Fatal(args ...any) {
	f.Helper()
	f.TB.Fatal(append([]any{"world", f.n, ":"}, args...)...)
}

func (f numbered) Fatalf(format string, args ...any) {
	f.Helper()
	f.TB.Fatalf("world %d: "+format, append([]any{f.n}, args...)...)
}

func (w *world) happened() map[string]bool {
	out := map[string]bool{}
	for _, e := range w.stream {
		switch p := e.Data.(type) {
		case event.GateOpened:
			out["opened"] = true
		case event.GateClosed:
			out["closed"] = true
		case event.ReleasePublished:
			out["published"] = true
		case event.RunCancelRequested:
			out["cancelled"] = true
			out["superseded"] = out["superseded"] || strings.HasPrefix(p.Request, "superseded")
		case event.RunRetryRequested:
			out["retried"] = true
		case event.TaskFinished:
			out["lost"] = out["lost"] || p.Class == release.ClassLost
		case event.TaskConcluded:
			out["moot"] = out["moot"] || p.Moot
			out["skipped"] = out["skipped"] || strings.HasPrefix(p.Reason, "skipped")
		case event.LimitSet:
			out["limited"] = out["limited"] || strings.HasPrefix(p.Request, "q")
		case event.ExecutorDraining:
			out["draining"] = true
		case event.TaskDispatched:
			out["leased"] = out["leased"] || len(p.Lease.Places) > 0 && e.Run == testRun
		case event.TaskDelayed:
			out["delayed"] = true
		case event.TaskStarted:
			out[fmt.Sprint("attempt ", p.Attempt)] = true
		}
	}
	return out
}
