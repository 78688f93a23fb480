package scheduler

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/schedule"
)

const (
	crowdTasks = 10_000
	crowdTime  = 4 * time.Minute // for all of it, on a machine that has much else to do
)

// crowd is 10 000 tasks of one pool, half of them in a concurrency group, and executors that say what the test wants. It
// counts from the facts in their order, as nobody else does.
type crowd struct {
	*house
	ctx      context.Context
	hand     map[event.AttemptRef]bool // dispatched and not finished; true for those of the group
	most     map[bool]int              // attempts at once: of the group, and of the pool
	finished int
}

// TestLimitsOfACrowd changes limits while 10 000 tasks wait. From the moment that a limit counts it holds at every fact,
// and every task ends once.
func TestLimitsOfACrowd(t *testing.T) {
	t.Parallel()
	h := newHouseOn(t, bus.ServerOptions{NoSync: true}) // it is the limits that count here, and not what a crash leaves
	h.scheduler("s1", Config{LostAfter: time.Hour, Lookahead: 300, Limits: []schedule.Limit{{Of: event.LimitPool, Name: "linux", Resource: "tasks", Amount: 200}}})
	ctx, cancel := context.WithTimeout(t.Context(), crowdTime)
	defer cancel()
	c := &crowd{house: h, ctx: ctx, hand: map[event.AttemptRef]bool{}, most: map[bool]int{true: 60, false: 200}}
	requests := []event.Payload{event.RunPlanned{Trust: release.TrustTrusted, Builds: crowdTasks, KeepGoing: true}}
	for i := range crowdTasks {
		r := event.TaskRequested{Task: release.TaskID(fmt.Sprint("t", i)), Kind: release.Build, Pool: "linux"}
		if i%2 == 0 {
			r.Group, r.GroupLimit = "half", 60
		}
		requests = append(requests, r)
	}
	h.say(run, requests...)
	h.say(event.Fleet, event.ExecutorHeartbeat{Pool: "linux", Executor: "x", Slots: 300})
	c.work(crowdTasks / 3)
	c.limit("1", event.LimitGroup, "half", "", true, 15)
	c.work(crowdTasks / 2)
	c.limit("2", event.LimitPool, "linux", "tasks", false, 70)
	c.work(2 * crowdTasks / 3)
	c.limit("3", event.LimitGroup, "half", "", true, 65)
	c.work(crowdTasks)
	if len(c.hand) > 0 || c.finished != crowdTasks {
		t.Errorf("%d of %d tasks finished, %d attempts are left", c.finished, crowdTasks, len(c.hand))
	}
}

// work ends what is in hand, and takes what follows, until so many tasks have ended.
func (c *crowd) work(until int) {
	c.t.Helper()
	for c.finished < until {
		c.read()
		c.end()
	}
	c.read()
}

// end ends the attempts in hand.
func (c *crowd) end() {
	var said []event.Payload
	for ref := range c.hand {
		said = append(said,
			event.TaskStarted{Task: ref.Task, Attempt: ref.Attempt, Pool: "linux", Executor: "x"},
			event.TaskFinished{Task: ref.Task, Attempt: ref.Attempt, Pool: "linux", Executor: "x", Class: release.ClassOK, Outcome: release.Success})
	}
	c.say(run, said...)
}

// read takes the facts that are there, or come soon, and looks at the limits after each: until no more may be given out, or
// nothing comes any more.
func (c *crowd) read() {
	c.t.Helper()
	if c.ctx.Err() != nil {
		c.t.Fatalf("%d of %d tasks finished within %s", c.finished, crowdTasks, crowdTime)
	}
	for {
		batch, err := c.facts.Next(c.ctx, 20*time.Millisecond)
		check(c.t, err)
		for _, e := range batch.Events {
			c.take(e)
		}
		if len(batch.Events) == 0 || batch.Live && c.inHand(false) >= c.most[false] {
			return
		}
	}
}

func (c *crowd) take(e event.Event) {
	switch f := e.Data.(type) {
	case event.TaskDispatched:
		ref := event.AttemptRef{Run: e.Run, Task: f.Task, Attempt: f.Attempt}
		if f.Attempt != 1 {
			c.t.Errorf("%s was dispatched again: %s", f.Task, f.Reason)
		}
		c.hand[ref] = number(f.Task)%2 == 0
		for group, most := range c.most {
			if n := c.inHand(group); n > most && (c.hand[ref] || !group) {
				c.t.Errorf("with %s there are %d attempts at once, want at most %d (of the group: %t)", e.Describe(), n, most, group)
			}
		}
	case event.TaskFinished:
		delete(c.hand, event.AttemptRef{Run: e.Run, Task: f.Task, Attempt: f.Attempt})
		c.finished++
	}
}

// inHand counts the attempts in hand: those of the group, or all.
func (c *crowd) inHand(group bool) int {
	n := 0
	for _, is := range c.hand {
		if is || !group {
			n++
		}
	}
	return n
}

func number(id release.TaskID) (n int) {
	_, _ = fmt.Sscanf(string(id), "t%d", &n)
	return n
}

// limit sets a limit, and waits until the scheduler knows of it and has nothing on its way that it decided before. What is
// in hand may exceed the limit then, and nothing may be added to it.
func (c *crowd) limit(request string, of event.LimitOf, name, resource string, group bool, amount int) {
	c.t.Helper()
	before := c.most[group]
	c.most[group] = max(before, amount)
	c.say(event.Fleet, event.LimitSet{Request: request, Of: of, Name: name, Resource: resource, Amount: float64(amount), By: "ada"})
	for {
		c.read()
		quotas, err := bus.Ask[Everything, []schedule.Quota](c.ctx, c.bus, TopicLimits, Everything{})
		check(c.t, err)
		i := slices.IndexFunc(quotas, func(q schedule.Quota) bool { return q.Of == of && q.Name == name && q.Resource == resource })
		if i >= 0 && quotas[i].Amount == float64(amount) && quotas[i].Used == float64(c.inHand(group)) {
			break
		}
	}
	c.most[group] = amount
}
