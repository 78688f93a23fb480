package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// facts are what a simple reading of the stream finds: the oracle that the scheduler is held against.
type facts struct {
	ok        map[release.TaskID]bool
	concluded map[release.TaskID]map[int32]bool     // by round
	finished  map[string]release.Class              // by task and attempt
	classes   map[string]int32                      // by task and class
	failure   map[release.TaskID]bool               // concluded as the product's fault
	given     []event.Event                         // dispatches
	last      map[release.TaskID]int32              // the newest attempt that was dispatched
	limits    map[event.LimitOf]float64             // of group g, and of the cpus of pool linux; without one there is none
	holders   map[string]map[int64]event.AttemptRef // of places, by token
	newer     bool                                  // a newer run of the branch has a plan
	requested map[release.TaskID]bool
	retries   []uint64
	opened    uint64
	cancelled uint64
	held      uint64
	resumed   uint64
	approvals int32
	candidate map[int32]bool
	refused   map[int32]bool
	published bool
	failed    bool
	ends      map[int32]release.Outcome
}

func newFacts() facts {
	return facts{
		ok: map[release.TaskID]bool{}, concluded: map[release.TaskID]map[int32]bool{}, finished: map[string]release.Class{},
		classes: map[string]int32{}, requested: map[release.TaskID]bool{}, candidate: map[int32]bool{},
		refused: map[int32]bool{}, ends: map[int32]release.Outcome{}, failure: map[release.TaskID]bool{},
		last: map[release.TaskID]int32{}, limits: map[event.LimitOf]float64{}, holders: map[string]map[int64]event.AttemptRef{},
	}
}

func (f *facts) take(e event.Event) {
	if d, is := e.Data.(event.TaskDispatched); is {
		f.given = append(f.given, e)
		if e.Run == testRun {
			f.last[d.Task] = max(f.last[d.Task], d.Attempt)
		}
	}
	switch e.Run {
	case testRun:
		f.takeRun(e)
	case event.Fleet:
		f.takeFleet(e)
	default:
		_, planned := e.Data.(event.RunPlanned)
		f.newer = f.newer || planned
	}
}

// takeFleet takes limits and leases.
func (f *facts) takeFleet(e event.Event) {
	switch p := e.Data.(type) {
	case event.LimitSet:
		f.limits[p.Of] = p.Amount
		if p.Unset {
			delete(f.limits, p.Of)
		}
	case event.LeaseGranted:
		if f.holders[p.Place] == nil {
			f.holders[p.Place] = map[int64]event.AttemptRef{}
		}
		f.holders[p.Place][p.Token] = p.Holder
	case event.LeaseEnded:
		delete(f.holders[p.Place], p.Token)
	}
}

func (f *facts) takeRun(e event.Event) {
	switch p := e.Data.(type) {
	case event.TaskRequested:
		f.requested[p.Task] = true
	case event.TaskFinished:
		f.ok[p.Task] = f.ok[p.Task] || p.Class == release.ClassOK
		f.finished[p.Key()] = p.Class
		f.classes[string(p.Task)+"/"+string(p.Class)]++
	case event.TaskConcluded:
		if f.concluded[p.Task] == nil {
			f.concluded[p.Task] = map[int32]bool{}
		}
		f.concluded[p.Task][p.Round] = true
		if p.Outcome == release.Failure {
			f.failure[p.Task] = true
		}
	case event.RunRetryRequested:
		f.retries = append(f.retries, e.Seq)
	case event.RunCancelRequested:
		f.cancelled = e.Seq
	case event.GateHeld:
		f.held = e.Seq
	case event.GateResumed:
		f.resumed = e.Seq
	case event.GateApproved:
		f.approvals++
	case event.GateOpened:
		f.opened = e.Seq
	case event.CandidateAssembled:
		f.candidate[p.Round] = true
	case event.CandidateRejected:
		f.refused[p.Round] = true
	case event.ReleasePublished:
		f.published = true
	case event.ReleaseFailed:
		f.failed = true
	case event.RunFinished:
		f.ends[p.Round] = p.Outcome
	}
}

func (f *facts) round() int32 { return int32(len(f.retries)) }

// isCancelled reports whether the latest cancellation came after the latest retry that could take it back.
func (f *facts) isCancelled() bool {
	for _, seq := range slices.Backward(f.retries) {
		if f.opened == 0 || seq < f.opened {
			return f.cancelled > seq
		}
	}
	return f.cancelled > 0
}

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

// others lets the builder and the publisher do what is theirs.
func (w *world) others() {
	f := w.all
	round := f.round()
	if f.candidate[round] {
		for _, t := range w.script.tasks {
			if t.Kind == release.Test {
				w.store(testRun, t.TaskRequested)
			}
		}
	} else if !f.refused[round] {
		w.assemble(&f, round)
	}
	if f.opened > 0 && !f.published && !f.failed {
		if w.script.broken {
			w.store(testRun, event.ReleaseFailed{Reasons: []string{"pypi has another file of that name"}})
		} else {
			w.store(testRun, event.ReleasePublished{})
		}
	}
}

// assemble is the builder's part: it waits until each build succeeded or was concluded in this very round.
func (w *world) assemble(f *facts, round int32) {
	bad := w.script.refused
	for _, t := range w.script.tasks {
		if t.Kind == release.Test || f.ok[t.Task] {
			continue
		}
		if !f.concluded[t.Task][round] {
			return
		}
		bad = bad || !t.SoftFail
	}
	if bad {
		w.store(testRun, event.CandidateRejected{Round: round, Reasons: []string{"no"}})
	} else {
		w.store(testRun, assembled(round))
	}
}

// meddle lets people do something.
func (w *world) meddle() {
	w.asked++
	request := fmt.Sprint("q", w.asked)
	switch w.d.roll("meddling", 12) {
	case 8:
		w.store(event.Fleet, event.LimitSet{Request: request, Of: event.LimitGroup, Name: "g", Amount: float64(w.d.roll("limit", 3))})
	case 9:
		w.store(event.Fleet, event.LimitSet{Request: request, Of: event.LimitPool, Name: "linux", Resource: "cpu", Amount: float64(w.d.roll("cpus", 4))})
	case 10:
		w.store(event.Fleet, event.LimitSet{Request: request, Of: event.WeightOwner, Name: "ann", Amount: float64(w.d.roll("weight", 3))})
	case 11:
		w.meddled = w.meddled || w.script.planned.Supersede
		newer := event.RunPlanned{Change: w.script.planned.Change}
		newer.Change.Commit = "5555555555"
		w.store("newer", newer)
	case 0:
		w.meddled = true
		w.store(testRun, event.RunCancelRequested{Request: request})
	case 1:
		w.meddled = true
		w.store(testRun, event.RunRetryRequested{Request: request})
	case 2:
		w.meddled = true
		id := w.script.tasks[w.d.roll("task", len(w.script.tasks))].Task
		w.store(testRun, event.RunRetryRequested{Request: request, Tasks: []release.TaskID{id}})
	case 3:
		w.store(testRun, event.GateHeld{Request: request})
	case 4:
		w.store(testRun, event.GateResumed{Request: request})
	case 5:
		w.store(testRun, event.GateApproved{By: request})
	case 6:
		w.store(event.Fleet, event.PoolDrainRequested{Request: request, Pool: "linux"})
	case 7:
		w.store(event.Fleet, event.PoolDrainRequested{Request: request, Pool: "linux", Resume: true})
	}
}

// step is one thing that happens.
func (w *world) step() {
	switch w.d.roll("step", 24) {
	case 0, 1, 2:
		w.feed(1 + w.d.roll("facts", 4))
	case 3, 4, 5, 6:
		w.feed(len(w.stream))
		w.pulse()
		w.hear()
		w.decide()
	case 7, 8, 9, 10:
		w.land()
	case 11, 12, 13, 14, 15:
		w.work(w.members[w.d.roll("who", len(w.members))])
	case 16, 17:
		w.others()
	case 18, 19:
		w.now = w.now.Add(time.Duration(1+w.d.roll("ms", 900)) * time.Millisecond)
	case 20:
		w.trouble()
	case 21:
		if w.d.roll("luck", 2) == 0 {
			w.die(w.d.roll("who dies", len(w.members)))
		}
	case 22:
		w.restart()
	case 23:
		if w.d.roll("patience", 2) == 0 {
			w.meddle()
		}
	}
}

// pulse lets the executors beat, as they do whatever else happens; now and then one is late.
func (w *world) pulse() {
	for _, m := range w.members {
		if w.d.roll("late", 8) > 0 {
			w.beat(m, false)
		}
	}
}

// trouble is what is rare: a jump of the clock, an executor that is not heard.
func (w *world) trouble() {
	switch w.d.roll("trouble", 4) {
	case 0:
		w.now = w.now.Add(time.Hour)
	case 1:
		w.now = w.now.Add(-time.Minute)
	case 2:
		w.members[w.d.roll("who is mute", len(w.members))].mute = true
	case 3:
		w.flying = nil
	}
}

// settleDown lets the world be kind until the run has ended: everything works, and people do what is theirs to do.
func (w *world) settleDown() {
	for _, m := range w.members {
		m.mute = false
	}
	for _, e := range w.stream {
		if e.Stored.After(w.now) {
			w.now = e.Stored // the clock has been corrected
		}
	}
	for i := range 8 {
		w.store(testRun, event.GateApproved{By: fmt.Sprint("kind", i)})
	}
	w.store(testRun, event.GateResumed{Request: "kind"})
	w.store(event.Fleet, event.PoolDrainRequested{Request: "kind", Pool: "linux", Resume: true})
	w.store(event.Fleet, event.LimitSet{Request: "kind1", Of: event.LimitGroup, Name: "g", Unset: true})
	w.store(event.Fleet, event.LimitSet{Request: "kind2", Of: event.LimitPool, Name: "linux", Resource: "cpu", Amount: 3})
	for range 400 {
		for _, m := range w.members {
			w.finish(m)
			w.take(m)
			w.beat(m, false)
		}
		w.others()
		w.feed(len(w.stream))
		w.hear()
		intents, _ := Decide(w.sched, w.now)
		w.lawful(intents)
		w.sched.Sent(intents)
		for _, in := range append(w.flying, intents...) {
			w.store(in.Cause.Run, in.Payload)
		}
		w.flying = nil
		f := w.all
		if outcome, over := f.ends[f.round()]; over && w.read == len(w.stream) {
			w.check(outcome)
			return
		}
		w.now = w.now.Add(250 * time.Millisecond)
	}
	w.t.Fatalf("the run does not end:\n%s\n%s\n%+v", w.told(), Dump(w.sched), Explain(w.sched, testRun, "", w.now))
}

// check holds the end against the one that an undisturbed world gives, and the state against one folded in another
// order.
func (w *world) check(outcome release.Outcome) {
	f := w.all
	if want := w.script.outcome(); !w.meddled && outcome != want {
		w.t.Fatalf("the run ended as %s, an undisturbed one as %s:\n%s", outcome, want, w.told())
	}
	if f.opened > 0 && !w.script.publishes() {
		w.t.Fatal("the gate opened for a change that may not publish")
	}
	w.shuffled()
}

// shuffled folds the stream in another order, with repetitions.
func (w *world) shuffled() {
	other := New(w.config())
	order := slices.Clone(w.stream)
	for i := range order {
		k := i + w.d.roll("shuffle", len(order)-i)
		order[i], order[k] = order[k], order[i]
		other.Apply(order[i])
		other.Apply(order[w.d.roll("again", i+1)])
	}
	if got, want := Dump(other), Dump(w.sched); got != want {
		w.t.Fatalf("the state folded in another order differs:\n%s\nfrom the live one:\n%s", got, want)
	}
}

func (w *world) told() string {
	out := ""
	for _, e := range w.stream {
		out += fmt.Sprintf("%3d %s %s %s\n", e.Seq, e.Stored.Format("15:04:05.000"), e.Describe(), tell(e.Data))
	}
	return out
}

// play lets a world happen.
func play(w *world, steps int) {
	for range steps {
		w.step()
	}
	w.settleDown()
}
