package schedule

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

const releaseCommit = release.Commit("4f2a9c1d0123456789abcdef0123456789abcdef")

// released is a plan of a push whose release has a budget of retries.
func released(budget int32) event.RunPlanned {
	p := push(3, 0)
	p.Change.Commit, p.Release.RetryBudget, p.KeepGoing = releaseCommit, budget, true
	return p
}

// TestReleaseRetryBudget: runs of one release share it, over rounds, restarts and forgetting; others do not.
func TestReleaseRetryBudget(t *testing.T) {
	t.Parallel()
	rerun := released(2)
	rerun.Change = rerun.Change.Rerun("first", "ann", "1")
	other := released(2)
	other.Change.Commit = "5f2a9c1d0123456789abcdef0123456789abcdef"
	manual := released(2)
	manual.Change.Kind = release.Manual
	b := newBench(t, Config{Keep: time.Minute})
	b.store("first", released(2), requested("a"), finish("a", 1, release.ClassLost))
	b.want(b.follow(), "delay a.2", "dispatch a.2")
	b.store("again", rerun, requested("a"), finish("a", 1, release.ClassLost))
	b.want(b.follow(), "delay a.2", "dispatch a.2")
	b.store("manual", manual, requested("a"), finish("a", 1, release.ClassLost))
	b.want(b.follow()[:1], "conclude a error lost after 1 in round 0")
	if why := Explain(b.s, "manual", "a", b.now); why.Reason != "attempt 1 ended as lost; all 2 retries of release 4f2a9c1d of master are used up" {
		t.Fatalf("%+v", why)
	}
	if why := Explain(b.s, "again", "", b.now); !slices.Equal(why.Retries, []RetriesLeft{{"release 4f2a9c1d of master", 2, 2}}) {
		t.Fatalf("%+v", why.Retries)
	}
	b.store("manual", event.RunRetryRequested{Request: "1"}, finish("a", 2, release.ClassLost))
	b.want(b.follow()[:1], "conclude a error lost after 2 in round 1") // a person's retry is made, and no more follows of itself
	b.store("other", other, requested("a"), finish("a", 1, release.ClassLost))
	b.want(b.follow(), "delay a.2", "dispatch a.2")

	b.store("first", event.RunFinished{})
	b.pass(time.Hour)
	b.store("other", finish("a", 2, release.ClassOK), event.GateHeld{Request: "tick"})
	if !b.s.Forgotten("first") {
		t.Fatal("the first run is not forgotten: this test shows nothing")
	}
	b.store("third", released(2), requested("a"), finish("a", 1, release.ClassLost))
	if got := b.follow(); !slices.Contains(got, "conclude a error lost after 1 in round 0") {
		t.Fatalf("retries of a forgotten run are forgotten: %v", got)
	}
}

func TestReleasesOfTheirOwn(t *testing.T) {
	t.Parallel()
	tag := func(commit release.Commit) event.RunPlanned {
		p := released(1)
		p.Release.Tags = []string{"v*"}
		p.Change.Kind, p.Change.Ref, p.Change.Commit = release.Tag, "refs/tags/v1.2", commit
		return p
	}
	pull := released(1)
	pull.Change.Kind = release.PullRequest
	elsewhere := pull
	elsewhere.Plan = release.DigestOf([]byte("another plan"))
	again := pull
	again.Change = pull.Change.Rerun("r", "ann", "1")
	a, b := tag("1111111111"), tag("2222222222")
	same := func(x, y event.RunPlanned) bool {
		one, _ := releaseOf(&x)
		two, _ := releaseOf(&y)
		return one == two
	}
	if !same(a, b) || same(a, released(1)) || same(pull, released(1)) || same(pull, elsewhere) || !same(pull, again) {
		t.Error("runs share a release with the wrong ones")
	}
	if _, name := releaseOf(&a); name != "release v1.2" {
		t.Error(name)
	}
	if _, name := releaseOf(&pull); name != "the run and its reruns" {
		t.Error(name)
	}
}

// budgeted is a release of three runs, and two schedulers that decide about it at the same time.
type budgeted struct {
	*bench
	d       dice
	budget  int
	own     int // budget of each run
	ofRun   map[release.RunID]int
	scheds  [2]*State
	read    [2]int
	flying  []Intent
	retried int // attempts after the first that were given out
}

func (w *budgeted) state() *State { return New(Config{Keep: -1, Resend: time.Second}) }

func (w *budgeted) feed(k, n int) {
	for ; n > 0 && w.read[k] < len(w.stream); n-- {
		w.scheds[k].Apply(w.stream[w.read[k]])
		w.read[k]++
	}
}

// land stores one intent, or loses it.
func (w *budgeted) land(i int, lost bool) {
	in := w.flying[i]
	w.flying = slices.Delete(w.flying, i, i+1)
	before := len(w.stream)
	if lost {
		return
	}
	w.store(in.Cause.Run, in.Payload)
	if d, is := in.Payload.(event.TaskDispatched); is && d.Attempt > 1 && len(w.stream) > before {
		w.retried++
		if w.ofRun[in.Cause.Run]++; w.retried > w.budget || w.ofRun[in.Cause.Run] > w.own {
			w.t.Fatalf("%d retries are made of %d, %d in %s of %d\n%s", w.retried, w.budget, w.ofRun[in.Cause.Run], in.Cause.Run, w.own,
				(&world{stream: w.stream}).told())
		}
	}
}

// finish ends an attempt that was given out, mostly as lost.
func (w *budgeted) finish() {
	var open []event.Event
	for _, e := range w.stream {
		if d, is := e.Data.(event.TaskDispatched); is && !w.places[event.Root(e.Run, "/x", w.now, finish(d.Task, d.Attempt, "")).Subject()] {
			open = append(open, e)
		}
	}
	if len(open) > 0 {
		e := open[w.d.roll("which", len(open))]
		d := e.Data.(event.TaskDispatched)
		class := []release.Class{release.ClassLost, release.ClassLost, release.ClassOK}[w.d.roll("class", 3)]
		w.store(e.Run, finish(d.Task, d.Attempt, class))
	}
}

func (w *budgeted) decide(k int) {
	intents, _ := Decide(w.scheds[k], w.now)
	w.scheds[k].Sent(intents)
	w.flying = append(w.flying, intents...)
}

// restart lets a scheduler die and begin again: it hears all that is stored before it decides, and what the old one has on
// its way may still land.
func (w *budgeted) restart(k int) {
	w.scheds[k], w.read[k] = w.state(), 0
	w.feed(k, len(w.stream))
}

func (w *budgeted) step() {
	k := w.d.roll("scheduler", 2)
	switch w.d.roll("step", 12) {
	case 0, 1:
		w.feed(k, 1+w.d.roll("facts", 6))
	case 2, 3, 4:
		w.feed(k, w.d.roll("behind", 2)*1000)
		w.decide(k)
	case 5, 6, 7:
		if n := len(w.flying); n > 0 {
			w.land(w.d.roll("intent", n), w.d.roll("lost", 6) == 0)
		}
	case 8, 9:
		w.finish()
	case 10:
		w.pass(time.Duration(w.d.roll("ms", 1500)) * time.Millisecond)
	case 11:
		w.restart(k)
	}
}

// TestReleaseBudgetIsNeverExceeded plays releases of three runs with two schedulers at once, which lag, die with intents on
// their way, and begin again: no retry more is made than the release has, and none more in a run than that has.
func TestReleaseBudgetIsNeverExceeded(t *testing.T) {
	t.Parallel()
	spent, surplus, full := 0, 0, 0
	for n := range 300 {
		d := seed(n)
		w := &budgeted{bench: newBench(t, Config{Keep: -1}), d: &d, budget: d.roll("budget", 6) + 1, own: d.roll("own", 5) + 1, ofRun: map[release.RunID]int{}}
		w.scheds = [2]*State{w.state(), w.state()}
		for i := range 3 {
			p := released(int32(w.budget))
			p.RetryBudget = int32(w.own)
			if i == 2 {
				p.Change = p.Change.Rerun("r0", "ann", "1")
			}
			run := release.RunID(fmt.Sprint("r", i))
			w.store(run, p)
			for k := range 3 {
				w.store(run, requested(release.TaskID(fmt.Sprint("t", k)), retries(release.Retry{Class: release.ClassLost, Limit: 4})))
			}
		}
		for range 150 + d.roll("steps", 150) {
			w.step()
		}
		w.settle(n)
		if w.retried == w.budget {
			spent++
		}
		surplus += w.surplus()
		for _, n := range w.ofRun {
			if n == w.own {
				full++
			}
		}
	}
	if spent < 150 || surplus < 15 || full < 100 {
		t.Errorf("the budget was spent in %d of 300 worlds, that of a run %d times, and %d retries too many were stored: these worlds show little",
			spent, full, surplus)
	}
}

// settle lets everything come to its end, and compares both schedulers with one that hears all in another order.
func (w *budgeted) settle(n int) {
	for range 200 {
		for k := range w.scheds {
			w.feed(k, len(w.stream))
			w.decide(k)
		}
		if len(w.flying) == 0 && w.over() {
			break
		}
		for len(w.flying) > 0 {
			w.land(0, false)
		}
		w.finish()
		w.pass(500 * time.Millisecond)
	}
	if !w.over() {
		w.t.Fatalf("world %d does not end\n%s", n, Dump(w.scheds[0]))
	}
	other, order := w.state(), slices.Clone(w.stream)
	for i := range order {
		k := i + w.d.roll("shuffle", len(order)-i)
		order[i], order[k] = order[k], order[i]
		other.Apply(order[i])
	}
	if a, b, c := Dump(w.scheds[0]), Dump(w.scheds[1]), Dump(other); a != b || a != c {
		w.t.Fatalf("world %d: three readers of one stream differ:\n%s\n%s\n%s", n, a, b, c)
	}
}

// over reports whether each task has ended.
func (w *budgeted) over() bool {
	for _, r := range w.scheds[0].runs {
		if r.counts.open > 0 || w.read[0] < len(w.stream) {
			return false
		}
	}
	return true
}

// surplus counts the retries that were stored beyond the budget.
func (w *budgeted) surplus() (n int) {
	for _, e := range w.stream {
		if strings.HasPrefix(tell(e.Data), "delay") {
			n++
		}
	}
	return max(0, n-w.budget)
}
