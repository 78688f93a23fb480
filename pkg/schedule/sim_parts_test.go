package schedule

import (
	"fmt"
	"slices"
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
	case event.TaskStarted:
		if p.Refused != "" && f.finished[fmt.Sprintf("%s.%d", p.Task, p.Attempt)] == "" {
			f.finished[fmt.Sprintf("%s.%d", p.Task, p.Attempt)] = release.ClassCancelled
		}
	case event.TaskFinished:
		f.ok[p.Task] = f.ok[p.Task] || p.Class == release.ClassOK
		f.finished[fmt.Sprintf("%s.%d", p.Task, p.Attempt)] = p.Class
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
		w.store(testRun, approve(request))
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
		w.store(testRun, approve(fmt.Sprint("kind", i)))
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
