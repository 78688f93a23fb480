package schedule

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

func TestGroupLimits(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{Lookahead: 20})
	b.queue("p", "a", 5, group("large", 2))
	b.queue("q", "b", 5, group("large", 1))
	b.queue("p", "c", 3)
	b.want(b.follow(), "dispatch a-0.1", "dispatch b-0.1", "dispatch c-0.1", "dispatch a-1.1", "dispatch c-1.1", "dispatch c-2.1")
	why := Explain(b.s, "a", "a-4", b.now)
	if why.State != "ready" || why.Reason != "group p/large is full: 2 of its attempts are given out, at most 2 are" || len(why.Holders) != 2 {
		t.Fatalf("%+v", why)
	}
	b.end("a", "a-0")
	b.want(b.follow(), "dispatch a-2.1")
	b.limit("1", event.LimitGroup, "p/large", "", 4)
	b.want(b.follow(), "dispatch a-3.1", "dispatch a-4.1")
	b.limit("2", event.LimitGroup, "large", "", 3) // of every project that has none of its own
	b.want(b.follow(), "dispatch b-1.1", "dispatch b-2.1")
	b.limit("3", event.LimitGroup, "large", "", 0)
	b.end("b", "b-0", "b-1", "b-2")
	b.want(b.follow())
	why = Explain(b.s, "b", "b-3", b.now)
	if why.Reason != "it takes 1 tasks, and group q/large may use 0: it waits until that is raised" {
		t.Fatalf("%+v", why)
	}
	b.store(event.Fleet, event.LimitSet{Request: "4", Of: event.LimitGroup, Name: "large", Unset: true})
	b.want(b.follow(), "dispatch b-3.1")
}

// TestLimitsAreFoldedInAnyOrder: the latest in the stream counts.
func TestLimitsAreFoldedInAnyOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{Lookahead: 20, Limits: []Limit{{Of: event.LimitPool, Name: "linux", Resource: "tasks", Amount: 1}}})
	b.queue("p", "a", 9)
	b.want(b.follow(), "dispatch a-0.1")
	late := event.Root(event.Fleet, "/test/1", b.now, event.LimitSet{Request: "x", Of: event.LimitPool, Name: "linux", Resource: "tasks", Amount: 3})
	late.Seq = 1000
	b.s.Apply(late)
	early := event.Root(event.Fleet, "/test/1", b.now, event.LimitSet{Request: "y", Of: event.LimitPool, Name: "linux", Resource: "tasks", Amount: 8})
	early.Seq = 999
	b.s.Apply(early)
	b.want(b.follow(), "dispatch a-1.1", "dispatch a-2.1")
}

func TestBudgets(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{Lookahead: 100})
	b.limit("1", event.LimitPool, "linux", "gpu", 4)
	b.limit("2", event.LimitPool, "linux", "cpu", 2.5)
	b.queue("p", "a", 9, uses("gpu", 1))
	b.queue("p", "b", 9, uses("cpu", 1), uses("gpu", 0))
	b.queue("p", "c", 2)
	got := b.follow()
	if len(got) != 8 || strings.Count(given(got), "a") != 4 || strings.Count(given(got), "b") != 2 {
		t.Fatalf("%v, want four on a gpu, two on a cpu, and two that need neither", got)
	}
	why := Explain(b.s, "b", "b-8", b.now)
	if why.Reason != "it takes 1 cpu: 2 of 2.5 that pool linux may use are taken; the limit was set by ann" {
		t.Fatalf("%+v", why)
	}
	b.limit("3", event.LimitPool, "linux", "gpu", 2)
	b.end("a", "a-0", "a-1") // two are left, which is what there may be
	b.want(b.follow())
	b.end("a", "a-2")
	b.want(b.follow(), "dispatch a-4.1")
}

// TestLoweredLimitTakesBackWhatIsNotSent as a drain does.
func TestLoweredLimitTakesBackWhatIsNotSent(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	b.queue("p", "a", 3)
	if first, _ := Decide(b.s, b.now); len(first) != 3 {
		t.Fatal("not dispatched")
	}
	b.limit("1", event.LimitPool, "linux", "tasks", 1)
	b.want(b.decide(), "dispatch a-2.1")
}

func TestProviderBudgetIsSharedByPools(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{Limits: []Limit{{Of: event.LimitProvider, Name: "cloud", Resource: "nodes", Amount: 10}}})
	leased := func(pool string, nodes int32) func(*event.TaskRequested) {
		return func(r *event.TaskRequested) {
			r.Pool, r.Lease = pool, release.LeaseRequest{Provider: "cloud", Nodes: nodes}
		}
	}
	b.queue("p", "a", 2, leased("x", 4))
	b.queue("p", "b", 2, leased("y", 4))
	b.want(b.follow(), "dispatch a-0.1", "dispatch a-1.1")
	if why := Explain(b.s, "b", "b-0", b.now); why.Reason != "it takes 4 nodes: 8 of 10 that provider cloud may use are taken" || len(why.Holders) != 2 {
		t.Fatalf("%+v", why)
	}
	b.store("a", event.TaskFinished{Task: "a-0", Attempt: 1, Pool: "x", Class: release.ClassOK, Outcome: release.Success})
	b.want(b.follow(), "dispatch b-0.1")
}

// TestBigTasksDoNotStarve: what a big task needs is kept for it once so many smaller ones have passed it; what it does
// not need is still given out.
func TestBigTasksDoNotStarve(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{Lookahead: 100, PassOver: 5, Aging: 1000})
	b.limit("1", event.LimitPool, "linux", "gpu", 4)
	b.queue("p", "small", 40, uses("gpu", 1))
	b.want(b.follow(), "dispatch small-0.1", "dispatch small-1.1", "dispatch small-2.1", "dispatch small-3.1")
	b.queue("p", "big", 1, uses("gpu", 4))
	b.follow()
	for i := range 4 {
		b.end("small", release.TaskID(fmt.Sprint("small-", i)))
		b.want(b.follow(), fmt.Sprintf("dispatch small-%d.1", i+4))
	}
	b.end("small", "small-4") // a fifth would pass it
	b.want(b.follow(), "dispatch small-8.1")
	b.end("small", "small-5")
	b.want(b.follow())
	b.queue("p", "none", 1)
	b.want(b.follow(), "dispatch none-0.1")
	why := Explain(b.s, "small", "small-30", b.now)
	if why.Reason != "what pool linux has left is kept for big/big-0, which has waited for longer" {
		t.Fatalf("%+v", why)
	}
	b.end("small", "small-6", "small-7")
	b.want(b.follow())
	b.end("small", "small-8")
	b.want(b.follow(), "dispatch big-0.1")
	b.end("big", "big-0")
	b.want(b.follow(), "dispatch small-9.1", "dispatch small-10.1", "dispatch small-11.1", "dispatch small-12.1")
}

// TestReservationEnds when the one it is for no longer waits, or could never have it.
func TestReservationEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(b *bench){
		"cancelled":  func(b *bench) { b.store("big", event.RunCancelRequested{Request: "1"}) },
		"impossible": func(b *bench) { b.limit("2", event.LimitPool, "linux", "gpu", 3) },
	} {
		b := newBench(t, Config{Lookahead: 100, PassOver: 1, Aging: 1000})
		b.limit("1", event.LimitPool, "linux", "gpu", 4)
		b.queue("p", "small", 20, uses("gpu", 1))
		b.follow()
		b.queue("p", "big", 1, uses("gpu", 4))
		b.follow()
		b.end("small", "small-0")
		b.follow()
		b.end("small", "small-1", "small-2")
		if got := given(b.follow()); got != "" {
			t.Fatalf("%s: %s, want what is free kept", name, got)
		}
		end(b)
		if got := given(b.follow()); !strings.HasPrefix(got, "small") {
			t.Errorf("%s: %q, want small ones", name, got)
		}
	}
}

// TestQuotas lists what is set and what is in use.
func TestQuotas(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{Limits: []Limit{{Of: event.LimitPool, Name: "linux", Resource: "cpu", Amount: 3}}})
	b.limit("1", event.WeightProject, "p", "", 2)
	b.queue("p", "a", 9, group("large", 2), uses("cpu", 1))
	b.follow()
	got := ""
	for _, q := range Quotas(b.s) {
		got += fmt.Sprintf("%s %s %s %g used %g waiting %d from %s %s\n", q.Of, q.Name, q.Resource, q.Amount, q.Used, q.Waiting, q.From, q.By)
	}
	want := `group p/large  2 used 2 waiting 7 from definition ` + `
pool linux cpu 3 used 2 waiting 0 from installation ` + `
weight-project p  2 used 0 waiting 0 from set ann
`
	if got != want {
		t.Fatalf("%s, want %s", got, want)
	}
}

// TestTenThousandQueued changes limits half-way: no limit that counts is ever passed, nothing is lost, nothing waits that
// may start.
func TestTenThousandQueued(t *testing.T) {
	t.Parallel()
	const tasks = 10_000
	f := newFloor(t, tasks)
	for f.done < tasks {
		switch {
		case f.done == tasks/4:
			f.limit("1", event.LimitGroup, "p/g1", "", 1)
			f.limit("2", event.LimitPool, "linux", "cpu", 7)
		case f.done == tasks/2:
			f.limit("3", event.LimitGroup, "p/g1", "", 9)
			f.limit("4", event.LimitPool, "linux", "cpu", 40)
			f.limit("5", event.WeightProject, "q", "", 5)
		case f.done == 3*tasks/4:
			f.store(event.Fleet, event.LimitSet{Request: "6", Of: event.LimitPool, Name: "linux", Resource: "cpu", Unset: true})
		}
		f.turn()
	}
	f.follow()
	f.check()
	if len(f.ran) != tasks {
		t.Fatalf("%d of %d tasks ran", len(f.ran), tasks)
	}
}

// floor is a pool with many tasks of different demands; it holds every decision against the limits.
type floor struct {
	*bench
	held  map[string]event.TaskRequested // what was dispatched and has not ended
	order []string
	asked map[string]event.TaskRequested
	ran   map[string]int
	done  int
}

func newFloor(t *testing.T, tasks int) *floor {
	f := &floor{bench: newBench(t, Config{Lookahead: 50}), held: map[string]event.TaskRequested{}, asked: map[string]event.TaskRequested{}, ran: map[string]int{}}
	for i, project := range []string{"p", "q"} {
		planned := push(int32(tasks/2), 0)
		planned.Change.Project = project
		run := release.RunID("run-" + project)
		f.store(run, planned)
		for k := range tasks / 2 {
			r := requested(release.TaskID(fmt.Sprint("t", k)), uses("cpu", float64(1+k%3)), priority(int32(k%2)))
			if k%3 == i {
				r.Group, r.GroupLimit = fmt.Sprint("g", k%2), 4
			}
			f.asked[string(run)+"/"+string(r.Task)] = r
			f.store(run, r)
		}
	}
	return f
}

// turn decides, and lets the oldest attempt end.
func (f *floor) turn() {
	intents, _ := Decide(f.s, f.now)
	f.s.Sent(intents)
	for _, i := range intents {
		f.store(i.Cause.Run, i.Payload)
		if d, is := i.Payload.(event.TaskDispatched); is {
			name := string(i.Cause.Run) + "/" + string(d.Task)
			f.held[name] = f.asked[name]
			f.order = append(f.order, name)
			f.ran[name]++
			f.lawful(name)
		}
	}
	if len(f.order) == 0 {
		f.t.Fatalf("nothing runs after %d", f.done)
	}
	name := f.order[0]
	f.order = f.order[1:]
	delete(f.held, name)
	run, task, _ := strings.Cut(name, "/")
	f.end(release.RunID(run), release.TaskID(task))
	f.done++
}

// lawful holds one dispatch against the limits as they are.
func (f *floor) lawful(name string) {
	run, _, _ := strings.Cut(name, "/")
	project := strings.TrimPrefix(run, "run-")
	cpu, inGroup := 0.0, 0
	for other, r := range f.held {
		cpu += r.Resources["cpu"]
		if r.Group != "" && r.Group == f.asked[name].Group && strings.HasPrefix(other, run) {
			inGroup++
		}
	}
	if limit, is := f.s.limits.of(limitKey{event.LimitPool, "linux", "cpu"}); is && cpu > limit {
		f.t.Fatalf("%s is dispatched: %g cpu of %g are used", name, cpu, limit)
	}
	g := f.asked[name]
	if limit, is := f.s.limits.group(project+"/"+g.Group, g.GroupLimit); g.Group != "" && is && float64(inGroup) > limit {
		f.t.Fatalf("%s is dispatched: %d of %g of its group run", name, inGroup, limit)
	}
	if f.ran[name] > 1 {
		f.t.Fatalf("%s is dispatched twice", name)
	}
}

// check looks that the books are even: nothing is held by anybody.
func (f *floor) check() {
	for _, b := range f.s.budgets {
		if b.used != (amounts{}) || len(b.parked) > 0 || b.reserved != nil {
			f.t.Errorf("%s %s: %v used, %d parked", b.of, b.name, b.used, len(b.parked))
		}
	}
	for _, p := range f.s.pools {
		if p.holding != 0 || p.queued != 0 || len(p.open) != 0 {
			f.t.Errorf("pool %s: %d held, %d queued, %d open", p.name, p.holding, p.queued, len(p.open))
		}
		for _, a := range p.accounts {
			if a.held != 0 {
				f.t.Errorf("%+v holds %d", a.key, a.held)
			}
		}
	}
}
