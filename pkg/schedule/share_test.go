package schedule

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

func owner(name string) func(*event.TaskRequested) {
	return func(r *event.TaskRequested) { r.Owner = name }
}

func group(name string, limit int32) func(*event.TaskRequested) {
	return func(r *event.TaskRequested) { r.Group, r.GroupLimit = name, limit }
}

func uses(resource string, amount float64) func(*event.TaskRequested) {
	return func(r *event.TaskRequested) {
		if r.Resources == nil {
			r.Resources = map[string]float64{}
		}
		r.Resources[resource] = amount
	}
}

// queue gives a run of a project some tasks, named after the run.
func (b *bench) queue(project string, run release.RunID, n int, options ...func(*event.TaskRequested)) {
	planned := push(int32(n), 0)
	planned.Change.Project = project
	b.store(run, planned)
	for i := range n {
		b.store(run, requested(release.TaskID(fmt.Sprint(run, "-", i)), options...))
	}
}

func (b *bench) limit(request string, of event.LimitOf, name, resource string, amount float64) {
	b.store(event.Fleet, event.LimitSet{Request: request, Of: of, Name: name, Resource: resource, Amount: amount, By: "ann"})
}

// given lists the tasks of some decisions, without their numbers.
func given(decided []string) string {
	var out []string
	for _, d := range decided {
		if name, is := strings.CutPrefix(d, "dispatch "); is {
			who, _, _ := strings.Cut(name, "-")
			out = append(out, who)
		}
	}
	return strings.Join(out, " ")
}

// end lets attempts succeed.
func (b *bench) end(run release.RunID, tasks ...release.TaskID) {
	for _, t := range tasks {
		b.store(run, ok(t, 1)...)
	}
}

func TestShares(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(b *bench)
		want    string
	}{
		"projects share alike, however much one has": {func(b *bench) {
			b.queue("p", "a", 20)
			b.queue("q", "b", 3)
		}, "a b a b a b a a"},
		"a run more gives a project no more": {func(b *bench) {
			b.queue("p", "a", 9)
			b.queue("p", "b", 9)
			b.queue("q", "c", 9)
		}, "a c b c a c b c"},
		"by weight": {func(b *bench) {
			b.limit("1", event.WeightProject, "p", "", 3)
			b.queue("p", "a", 20)
			b.queue("q", "b", 20)
		}, "a a b a a a b a"},
		"owners in a project": {func(b *bench) {
			b.queue("p", "a", 20, owner("ann"))
			b.queue("p", "b", 20, owner("bob"))
			b.queue("p", "c", 20, owner("bob"))
		}, "a b a c a b a c"},
		"owners by weight": {func(b *bench) {
			b.limit("1", event.WeightOwner, "bob", "", 2)
			b.queue("p", "a", 20, owner("ann"))
			b.queue("p", "b", 20, owner("bob"))
		}, "b a b b a b b a"},
		"no weight: when nobody else wants anything": {func(b *bench) {
			b.limit("1", event.WeightProject, "p", "", 0)
			b.queue("p", "a", 20)
			b.queue("q", "b", 3)
		}, "b b b a a a a a"},
		"what weighs more has less": {func(b *bench) {
			b.queue("p", "a", 20, uses("nodes", 3))
			b.queue("q", "b", 20)
		}, "a b b b a b b b"},
		"priority before share": {func(b *bench) {
			b.queue("p", "a", 6, priority(1))
			b.queue("q", "b", 3)
		}, "a a a a a a b b"},
	} {
		b := newBench(t, Config{Lookahead: 8, Aging: 1000})
		c.prepare(b)
		if got := given(b.decide()); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestShareIsOfWhatIsHeld: who has nothing left in the pool is next, whatever it has had before.
func TestShareIsOfWhatIsHeld(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{Lookahead: 4})
	b.queue("p", "a", 8)
	b.queue("q", "b", 8)
	b.want(b.follow(), "dispatch a-0.1", "dispatch b-0.1", "dispatch a-1.1", "dispatch b-1.1")
	b.end("b", "b-0", "b-1")
	b.want(b.follow(), "dispatch b-2.1", "dispatch b-3.1")
	b.end("a", "a-0")
	b.end("b", "b-2")
	b.want(b.follow(), "dispatch a-2.1", "dispatch b-4.1")
}

// TestProjectKnownAfterItsTasks: the share moves with the run when the plan is heard last.
func TestProjectKnownAfterItsTasks(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{Lookahead: 4})
	for i := range 6 {
		b.store("a", requested(release.TaskID(fmt.Sprint("a-", i))))
	}
	b.want(b.follow(), "dispatch a-0.1", "dispatch a-1.1", "dispatch a-2.1", "dispatch a-3.1")
	b.queue("q", "b", 6)
	planned := push(6, 0)
	planned.Change.Project = "p"
	b.store("a", planned)
	b.end("a", "a-0", "a-1")
	b.want(b.follow(), "dispatch b-0.1", "dispatch b-1.1")
}

// TestEverythingThatMayStartDoes is the bound on starvation: a task before which at most n were requested in its pool
// is given to it among the next Aging*(n+1) attempts, whatever the priorities, weights and numbers of those that come
// after it.
func TestEverythingThatMayStartDoes(t *testing.T) {
	t.Parallel()
	for n := range 300 {
		d := seed(n)
		aging := 2 + d.roll("aging", 7)
		b := newBench(numbered{t, n}, Config{Lookahead: 1, Aging: aging})
		before := d.roll("before", 6)
		if before > 0 {
			b.queue("p", "early", before, priority(int32(d.roll("priority", 4))))
		}
		b.limit("1", event.WeightProject, "poor", "", float64(d.roll("weight", 2)))
		b.queue("poor", "victim", 1, priority(-5))
		bound := aging * (before + 1)
		b.queue("rich", "flood", bound+5, priority(9))
		b.starves(bound)
	}
}

// starves fails when the victim does not start among the next attempts of a pool that has room for one.
func (b *bench) starves(bound int) {
	for range bound {
		now := b.follow()
		if len(now) != 1 {
			b.t.Fatalf("decided %v: the pool has room for one", now)
		}
		if now[0] == "dispatch victim-0.1" {
			return
		}
		who := release.TaskID(strings.TrimSuffix(strings.TrimPrefix(now[0], "dispatch "), ".1"))
		b.end(release.RunID(strings.Split(string(who), "-")[0]), who)
	}
	b.t.Fatalf("%d attempts of others went before it", bound)
}
