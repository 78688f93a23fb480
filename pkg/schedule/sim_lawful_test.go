package schedule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// lawful holds every intent against the facts that the scheduler has.
func (w *world) lawful(intents []Intent) {
	f := w.known
	w.even()
	for place, held := range f.holders {
		if len(held) > 1 {
			w.t.Fatalf("place %s is held by %v", place, held)
		}
	}
	for _, i := range intents {
		if i.Cause.Run != testRun {
			continue
		}
		switch p := i.Payload.(type) {
		case event.TaskDispatched:
			w.lawfulDispatch(&f, p)
			w.lawfulDemand(&f, p)
		case event.RunCancelRequested:
			if !w.script.planned.Supersede || !f.newer || f.opened > 0 {
				w.t.Fatalf("the run is superseded by nobody: %+v", p)
			}
		case event.TaskDelayed:
			if before := f.finished[fmt.Sprintf("%s.%d", p.Task, p.Attempt-1)]; before == "" || before == release.ClassCancelled || before == release.ClassOK {
				w.t.Fatalf("%s is retried after an attempt that ended as %q", p.Task, before)
			}
		case event.GateOpened:
			w.lawfulOpening(&f)
		case event.RunFinished:
			if _, known := f.ends[p.Round]; known {
				w.t.Fatalf("round %d ends twice", p.Round)
			}
			if f.isCancelled() && f.opened == 0 && p.Outcome != release.Cancelled {
				w.t.Fatalf("the run is cancelled and ends as %s", p.Outcome)
			}
		}
	}
	for key, n := range f.classes {
		for _, r := range simRetry {
			if strings.HasSuffix(key, "/"+string(r.Class)) && n > (r.Limit+1)*(f.round()+1) {
				w.t.Fatalf("%s: %d attempts, although %d retries are allowed in each of %d rounds", key, n, r.Limit, f.round()+1)
			}
		}
	}
}

func (w *world) lawfulDispatch(f *facts, p event.TaskDispatched) {
	if f.isCancelled() {
		w.t.Fatalf("%s is dispatched after the cancellation", p.Task)
	}
	if f.ok[p.Task] {
		w.t.Fatalf("%s is dispatched after its success", p.Task)
	}
	for id := range f.failure {
		t := w.task(id)
		if decides := t.Kind != release.Test && !t.SoftFail || slices.Contains(w.script.planned.GateTests, id); decides && f.round() == 0 && !w.script.planned.KeepGoing {
			w.t.Fatalf("%s is dispatched although %s has failed, which decides the outcome\n%s\n%s", p.Task, id, w.told(), Dump(w.sched))
		}
	}
	if p.Attempt > 1 && f.finished[fmt.Sprintf("%s.%d", p.Task, p.Attempt-1)] == "" && len(f.concluded[p.Task]) == 0 {
		w.t.Fatalf("%s.%d is dispatched while the attempt before it has not ended", p.Task, p.Attempt)
	}
	for _, n := range w.task(p.Task).Needs {
		if !f.ok[n] && !(w.task(n).SoftFail && len(f.concluded[n]) > 0) {
			w.t.Fatalf("%s is dispatched before %s is done", p.Task, n)
		}
	}
	for _, in := range p.Inputs {
		if !f.ok[in.Task] || len(in.Artifacts) != 1 {
			w.t.Fatalf("%s gets %v of %s, which did not succeed", p.Task, in.Artifacts, in.Task)
		}
	}
}

// lawfulDemand holds a dispatch against the limits, and against the places that its attempt has.
func (w *world) lawfulDemand(f *facts, p event.TaskDispatched) {
	t := w.task(p.Task)
	group, cpu := 1.0, t.Resources["cpu"]
	for _, o := range w.script.tasks {
		n := f.last[o.Task]
		if o.Task == p.Task || n == 0 || f.ok[o.Task] || len(f.concluded[o.Task]) > 0 || f.finished[fmt.Sprintf("%s.%d", o.Task, n)] != "" {
			continue
		}
		if o.Group != "" {
			group++
		}
		if o.Pool == "linux" {
			cpu += o.Resources["cpu"]
		}
	}
	limit, set := f.limits[event.LimitGroup]
	if !set {
		limit = float64(t.GroupLimit)
	}
	if t.Group != "" && group > limit {
		w.t.Fatalf("%s is dispatched: %g of at most %g of its group run\n%s", p.Task, group, limit, w.told())
	}
	if limit, set := f.limits[event.LimitPool]; set && t.Pool == "linux" && t.Resources["cpu"] > 0 && cpu > limit {
		w.t.Fatalf("%s is dispatched: %g of at most %g cpus are used\n%s\n%s", p.Task, cpu, limit, w.told(), Dump(w.sched))
	}
	if w.script.places && len(p.Lease.Places) != int(t.Lease.Nodes) {
		w.t.Fatalf("%s is dispatched with %v, and asked for %d places", p.Task, p.Lease.Places, t.Lease.Nodes)
	}
	for _, h := range p.Lease.Places {
		if holder := f.holders[h.Place][h.Token]; holder != (event.AttemptRef{Run: testRun, Task: p.Task, Attempt: p.Attempt}) {
			w.t.Fatalf("%s.%d is dispatched with %s under token %d, which %v holds", p.Task, p.Attempt, h.Place, h.Token, holder)
		}
	}
}

// even holds the scheduler's books against a new count of what they say.
func (w *world) even() {
	used, held, windows := map[*budget]amounts{}, map[*account]int32{}, map[*pool]int32{}
	queued := map[*pool]int32{}
	for _, r := range w.sched.runs {
		for _, t := range r.list {
			if t.ready {
				queued[t.spec.pool]++
			}
			if !t.holding {
				continue
			}
			l := w.sched.lane(t)
			windows[t.spec.pool]++
			held[l.project] += l.shape.form.amounts.cost()
			held[l.owner] += l.shape.form.amounts.cost()
			for _, b := range l.shape.budgets {
				sum := used[b]
				for r, a := range l.shape.form.amounts {
					sum[r] += a
				}
				used[b] = sum
			}
		}
	}
	for _, b := range w.sched.budgets {
		if b.used != used[b] {
			w.t.Fatalf("%s %s has %v used, it is %v", b.of, b.name, b.used, used[b])
		}
	}
	for _, p := range w.sched.pools {
		if p.holding != windows[p] || p.queued != queued[p] {
			w.t.Fatalf("pool %s holds %d and queues %d, it is %d and %d", p.name, p.holding, p.queued, windows[p], queued[p])
		}
		for _, a := range p.accounts {
			if a.held != held[a] {
				w.t.Fatalf("%+v holds %d, it is %d", a.key, a.held, held[a])
			}
		}
	}
}

func (w *world) lawfulOpening(f *facts) {
	sc := w.script
	good := sc.publishes() && !f.isCancelled() && f.opened == 0 && f.held <= f.resumed &&
		f.approvals >= sc.planned.Release.Approvals && f.candidate[f.round()] && len(sc.planned.GateTests) > 0
	for _, t := range sc.tasks {
		if t.Kind != release.Test {
			good = good && f.requested[t.Task] && (f.ok[t.Task] || t.SoftFail && len(f.concluded[t.Task]) > 0)
		}
	}
	for _, id := range sc.planned.GateTests {
		good = good && f.ok[id]
	}
	if !good {
		w.t.Fatalf("the gate opens although not every condition holds: %+v", *f)
	}
}
