package schedule

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/lease"
	"github.com/sluiceci/sluice/pkg/release"
)

// dice decides what happens in a simulated world: rapid's, which shrinks, or a seed's, which a table can hold.
type dice interface {
	roll(what string, sides int) int
}

// seed is a small generator of numbers (splitmix64).
type seed uint64

func (s *seed) roll(_ string, sides int) int {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) % uint64(sides))
}

// simTask is a task and what its product would do: the class of each attempt that an executor brings to its end; the
// last goes on for ever.
type simTask struct {
	event.TaskRequested
	results []release.Class
}

// script is a run as the world will play it.
type script struct {
	planned event.RunPlanned
	places  bool // there are some, and tasks that lease them
	tasks   []simTask
	retry   []release.Retry
	refused bool // the candidate's stamps are wrong
	broken  bool // a target refuses the release
}

var simRetry = []release.Retry{
	{Class: release.ClassInfra, Limit: 2, Wait: release.Duration(200 * time.Millisecond), Max: release.Duration(300 * time.Millisecond), Backoff: release.Random},
	{Class: release.ClassLost, Limit: 1000},
	{Class: release.ClassCommand, Limit: 1},
}

// drawScript makes a run of at most eight tasks.
func drawScript(d dice) script {
	sc := script{planned: push(int32(1+d.roll("builds", 3)), int32(d.roll("tests", 4)))}
	sc.places = d.roll("places", 6) == 0
	for i := range int(sc.planned.Builds + sc.planned.Tests) {
		t := drawTask(d, &sc.planned, i)
		drawDemand(d, sc.places, &t.TaskRequested)
		sc.tasks = append(sc.tasks, t)
	}
	sc.planned.Change.Project = "p"
	sc.planned.KeepGoing, sc.planned.Supersede = d.roll("keep going", 3) == 0, d.roll("supersede", 2) == 0
	switch d.roll("budget", 8) {
	case 0:
		sc.planned.RetryBudget = 1
	case 1:
		sc.planned.Release.RetryBudget = 2
	}
	switch d.roll("change", 9) {
	case 0:
		sc.planned.Change.Kind = release.PullRequest
	case 1:
		sc.planned.Change.Branch = "topic"
	case 2:
		sc.planned.Change.Fork = true
	}
	sc.planned.Release.Approvals = int32(max(0, d.roll("approvals", 6)-3))
	sc.refused, sc.broken = d.roll("refused", 12) == 0, d.roll("broken", 12) == 0
	return sc
}

func drawTask(d dice, planned *event.RunPlanned, i int) simTask {
	t := simTask{TaskRequested: requested(release.TaskID(fmt.Sprint("t", i)), retries(simRetry...))}
	t.Pool = []string{"linux", "gpu"}[d.roll("pool", 2)]
	first := 0
	if i >= int(planned.Builds) {
		t.Kind = release.Test
		if d.roll("required", 4) > 0 {
			planned.GateTests = append(planned.GateTests, t.Task)
		}
	}
	for k := first; k < i; k++ {
		if d.roll("need", 3) == 0 {
			t.Needs = append(t.Needs, release.TaskID(fmt.Sprint("t", k)))
		}
	}
	t.SoftFail = d.roll("soft", 6) == 0
	t.Priority = int32(d.roll("priority", 2))
	for range max(0, d.roll("tries", 5)-2) {
		t.results = append(t.results, []release.Class{release.ClassInfra, release.ClassCommand, release.ClassOK, release.ClassUnknown}[d.roll("class", 4)])
	}
	if last := d.roll("last", 8); last > 0 || len(t.results) == 0 {
		t.results = append(t.results, release.ClassOK)
	}
	return t
}

// drawDemand lets a task ask for what it shares with others.
func drawDemand(d dice, places bool, t *event.TaskRequested) {
	switch d.roll("demand", 6) {
	case 0:
		t.Group, t.GroupLimit = "g", 1
	case 1:
		t.Resources = map[string]float64{"cpu": 1}
	case 2:
		t.Resources = map[string]float64{"cpu": 2}
	case 3:
		t.Owner = "ann"
	case 4:
		if places {
			t.Lease = release.LeaseRequest{Provider: "lab", Nodes: int32(1 + d.roll("nodes", 2))}
		}
	}
}

func (t simTask) result(n int) release.Class { return t.results[min(n, len(t.results)-1)] }

// outcome is how the run ends where nothing goes wrong but the product: computed from the script alone.
func (sc script) outcome() release.Outcome {
	why, done := map[release.TaskID]release.Outcome{}, map[release.TaskID]bool{}
	var builds, tests release.Outcome
	for _, t := range sc.tasks {
		why[t.Task] = t.end(done, why)
		done[t.Task] = why[t.Task] == "" || t.SoftFail
		if t.Kind != release.Test && !done[t.Task] {
			builds = worse(builds, why[t.Task])
		}
		if slices.Contains(sc.planned.GateTests, t.Task) && why[t.Task] != "" {
			tests = worse(tests, why[t.Task])
		}
	}
	switch {
	case builds != "":
		return builds
	case sc.refused, len(sc.planned.GateTests) == 0, tests == "" && sc.publishes() && sc.broken:
		return release.Failure
	case tests != "":
		return tests
	}
	return release.Success
}

// worse is the product's fault if there is one, else the platform's.
func worse(a, b release.Outcome) release.Outcome {
	if a == release.Failure {
		return a
	}
	return b
}

func (sc script) publishes() bool {
	c := sc.planned.Change
	return c.Kind == release.Push && !c.Fork && c.Branch == "master"
}

// end is how a task ends: "" for success, else the outcome of what it failed of.
func (t simTask) end(done map[release.TaskID]bool, why map[release.TaskID]release.Outcome) release.Outcome {
	for _, n := range t.Needs {
		if !done[n] {
			return why[n]
		}
	}
	used := map[release.Class]int32{}
	for i := 0; ; i++ {
		c := t.result(i)
		if c == release.ClassOK {
			return ""
		}
		used[c]++
		limit := int32(0)
		for _, r := range simRetry {
			if r.Class == c {
				limit = r.Limit
			}
		}
		if used[c] > limit {
			return c.Outcome()
		}
	}
}

// world is a run among executors, a builder, a publisher and a scheduler, with everything that can happen to them.
type world struct {
	t       testing.TB
	d       dice
	script  script
	now     time.Time
	stream  []event.Event
	places  map[string]bool
	sched   *State
	read    int      // events that the scheduler has
	flying  []Intent // published, not stored yet
	members []*member
	beats   map[string]event.Event // the newest of each executor
	beatSeq uint64
	fed     uint64 // heartbeats that the scheduler has
	made    int    // executors so far
	ran     map[release.TaskID]int
	asked   int // requests by people
	meddled bool
	known   facts // that the scheduler has
	all     facts
}

// member is an executor.
type member struct {
	pool, name string
	hand       []event.AttemptRef
	mute       bool // it works, and is not heard
}

func newWorld(t testing.TB, d dice) *world {
	w := &world{
		t: t, d: d, script: drawScript(d), now: noon(), places: map[string]bool{}, beats: map[string]event.Event{},
		ran: map[release.TaskID]int{}, known: newFacts(), all: newFacts(),
	}
	w.meddled = w.script.planned.RetryBudget+w.script.planned.Release.RetryBudget > 0 // who gets the one retry is not the product's to say
	w.sched = New(w.config())
	w.store(event.Fleet, event.LimitSet{Request: "cpu", Of: event.LimitPool, Name: "linux", Resource: "cpu", Amount: 2})
	if w.script.places {
		for _, name := range []string{"m1", "m2"} {
			w.store(event.Fleet, event.PlaceRegistered{Provider: "lab", Place: name, Version: "1", Pool: "linux", Clean: true})
		}
	}
	w.store(testRun, w.script.planned)
	for _, t := range w.script.tasks {
		if t.Kind != release.Test {
			w.store(testRun, t.TaskRequested)
		}
	}
	w.member("linux")
	w.member("gpu")
	return w
}

func (w *world) config() Config {
	return Config{
		Keep: -1, Lookahead: 2, Resend: time.Second, Aging: 3, PassOver: 2,
		Leases: lease.Config{Grace: time.Second, Resend: time.Second, Undone: 2 * time.Second, Wait: 100 * time.Millisecond},
	}
}

func (w *world) member(pool string) {
	w.made++
	w.members = append(w.members, &member{pool: pool, name: fmt.Sprint("x", w.made)})
}

// store keeps one event per place, as the stream does; it reports whether this one was kept.
func (w *world) store(run release.RunID, p event.Payload) bool {
	e := event.Root(run, "/sim/1", w.now, p)
	place := e.Subject()
	if w.places[place] {
		return false
	}
	w.places[place] = true
	e.Seq, e.Stored = uint64(len(w.stream)+1), w.now
	w.stream = append(w.stream, e)
	w.all.take(e)
	return true
}

// feed gives the scheduler the next facts, some of them twice.
func (w *world) feed(n int) {
	for range n {
		if w.read == len(w.stream) {
			return
		}
		w.sched.Apply(w.stream[w.read])
		w.known.take(w.stream[w.read])
		w.read++
		if w.d.roll("twice", 8) == 0 {
			w.sched.Apply(w.stream[w.d.roll("which", w.read)])
		}
	}
}

// hear gives the scheduler the newest heartbeats.
func (w *world) hear() {
	for _, m := range w.members {
		if e, ok := w.beats[m.name]; ok && e.Seq > w.fed {
			w.sched.Apply(e)
		}
	}
	w.fed = w.beatSeq
}

// decide lets the scheduler decide, on all facts up to some point, as it does when it is live.
func (w *world) decide() {
	intents, _ := Decide(w.sched, w.now)
	w.lawful(intents)
	if w.d.roll("crash before sent", 30) == 0 {
		w.restart()
		return
	}
	w.sched.Sent(intents)
	w.flying = append(w.flying, intents...)
}

// land stores, loses or repeats one intent that is on its way.
func (w *world) land() {
	if len(w.flying) == 0 {
		return
	}
	i := w.d.roll("which intent", len(w.flying))
	in := w.flying[i]
	switch w.d.roll("fate", 8) {
	case 0: // lost
	case 1:
		w.store(in.Cause.Run, in.Payload)
		return // and comes again
	default:
		w.store(in.Cause.Run, in.Payload)
	}
	w.flying = slices.Delete(w.flying, i, i+1)
}

// restart folds the stream anew and compares.
func (w *world) restart() {
	old := Dump(w.sched)
	w.sched = New(w.config())
	for _, e := range w.stream[:w.read] {
		w.sched.Apply(e)
	}
	if now := Dump(w.sched); now != old {
		w.t.Fatalf("the state folded anew differs:\n%s\nfrom the live one:\n%s", now, old)
	}
	w.fed = 0
}

// work lets an executor do something: take, finish, or beat.
func (w *world) work(m *member) {
	switch w.d.roll("work", 4) {
	case 0, 1:
		w.take(m)
	case 2:
		w.finish(m)
	}
	w.beat(m, false)
}

func (w *world) beat(m *member, gone bool) {
	if m.mute {
		return
	}
	w.beatSeq++
	e := event.Root(event.Fleet, "/executor/"+m.name, w.now, event.ExecutorHeartbeat{
		Pool: m.pool, Executor: m.name, Slots: 2, Running: slices.Clone(m.hand), Gone: gone,
	})
	e.Seq = w.beatSeq
	w.beats[m.name] = e
}

// take claims the oldest attempt of the pool that nobody has started.
func (w *world) take(m *member) {
	if len(m.hand) >= 2 {
		return
	}
	for _, e := range w.all.given {
		p, is := e.Data.(event.TaskDispatched)
		if is && p.Pool == m.pool && w.store(e.Run, event.TaskStarted{Task: p.Task, Attempt: p.Attempt, Pool: m.pool, Executor: m.name}) {
			m.hand = append(m.hand, event.AttemptRef{Run: e.Run, Task: p.Task, Attempt: p.Attempt})
			return
		}
	}
}

// finish ends what an executor has in hand: as it was told to, or as the product does.
func (w *world) finish(m *member) {
	if len(m.hand) == 0 {
		return
	}
	ref := m.hand[0]
	m.hand = m.hand[1:]
	class := release.ClassOK
	if ref.Run == testRun {
		class = w.task(ref.Task).result(w.ran[ref.Task])
	}
	told := w.places[event.Event{Type: event.TypeTaskCancelRequested, Run: ref.Run, Key: event.TaskCancelRequested{Task: ref.Task, Attempt: ref.Attempt, Pool: m.pool}.Key()}.Subject()]
	if told {
		class = release.ClassCancelled
	}
	p := finish(ref.Task, ref.Attempt, class)
	p.Pool, p.Executor = m.pool, m.name
	if w.d.roll("cleaned", 4) > 0 {
		p.Phases = []event.Phase{{Name: "cleanup"}}
	}
	if w.store(ref.Run, p) && !told {
		w.ran[ref.Task]++
	}
}

func (w *world) task(id release.TaskID) simTask {
	i := slices.IndexFunc(w.script.tasks, func(t simTask) bool { return t.Task == id })
	return w.script.tasks[i]
}

// die takes an executor away, with or without a last word, and starts another.
func (w *world) die(i int) {
	m := w.members[i]
	switch w.d.roll("gone", 3) {
	case 0:
		w.beat(m, true)
		w.hear()
	case 1:
		w.store(event.Fleet, event.ExecutorDraining{Pool: m.pool, Executor: m.name, Deadline: w.now.Add(time.Second)})
	}
	w.members = slices.Delete(w.members, i, i+1)
	w.member(m.pool)
}
