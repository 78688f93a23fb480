package schedule

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// again folds the stream anew, as a scheduler does that was killed and started.
func (b *bench) again() {
	b.s = New(b.cfg)
	for _, e := range b.stream {
		b.s.Apply(e)
	}
}

// TestTheServersClockIsOff: the clock that stamps facts is wrong, always or from some moment on. A limit of five minutes
// ends nothing in ten seconds, and ends it in time.
func TestTheServersClockIsOff(t *testing.T) {
	t.Parallel()
	const off = 40 * time.Minute
	for name, c := range map[string]struct{ before, after time.Duration }{
		"behind": {-off, -off}, "ahead": {off, off}, "steps back": {0, -off}, "steps forward": {0, off}, "is set right": {-off, 0},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " restart=", restart), func(t *testing.T) {
				t.Parallel()
				b := newBench(t, Config{Self: "me"})
				now := c.before
				store := func(p ...event.Payload) { // by the server's clock
					b.now = b.now.Add(now)
					b.say(p...)
					b.now = b.now.Add(-now)
				}
				var got []string
				decide := func() {
					b.echo(now)
					b.beat("linux", "x", 1, "a.1")
					intents, _ := Decide(b.s, b.now)
					b.s.Sent(intents)
					for _, i := range intents {
						store(i.Payload)
					}
					got = append(got, short(intents)...)
				}
				limits := release.Timeouts{Queue: seconds(300), Command: seconds(300), Prepare: seconds(10), Cleanup: seconds(10)}
				store(requested("a", timeouts(limits)))
				decide()
				now = c.after
				b.pass(time.Second)
				store(start("a", 1))
				if restart {
					b.again()
				}
				for range 10 {
					decide()
					b.pass(time.Second)
				}
				b.want(got, "dispatch a.1")
				most := 600 // a step of the clock counts as time in which nobody looked
				if c.before != c.after || restart {
					most = 2 * 3600
				}
				for range most {
					if decide(); len(got) > 1 {
						break
					}
					b.pass(time.Second)
				}
				if len(got) < 2 || got[1] != "stop a.1" {
					t.Errorf("its limit is never noticed: %v", got)
				}
			})
		}
	}
}

// TestDowntimeIsNobodysQueueTimeout: an hour in which no scheduler decided is not an hour in which a pool did not come.
func TestDowntimeIsNobodysQueueTimeout(t *testing.T) {
	t.Parallel()
	limit := timeouts(release.Timeouts{Queue: release.Duration(30 * time.Minute)})
	for name, restart := range map[string]bool{"it slept": false, "it was killed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, Config{})
			b.say(requested("first"))
			b.beat("linux", "x", 1)
			b.follow()
			b.say(start("first", 1), requested("second", limit), requested("third", limit))
			b.beat("linux", "x", 1, "first.1")
			b.want(b.follow(), "dispatch second.1")
			b.pass(time.Hour)
			b.say(requested("during", limit))
			b.pass(time.Hour)
			if restart {
				b.again()
			}
			b.beat("linux", "x", 2, "first.1")
			b.want(b.follow(), "dispatch third.1", "dispatch during.1")
			got := b.watch(31*time.Minute, func() { b.beat("linux", "x", 2, "first.1") })
			for _, task := range []string{"second", "third", "during"} {
				if !has(got, "finish "+task+".1 infra_timeout") {
					t.Errorf("%s was not started in 31 minutes, and its limit of 30 is not noticed: %v", task, got)
				}
			}
		})
	}
}

// TestAnotherSchedulersTimeCounts: one that is started while another decides has missed nothing.
func TestAnotherSchedulersTimeCounts(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	b.say(requested("a", timeouts(release.Timeouts{Queue: release.Duration(30 * time.Minute)})))
	b.pass(time.Hour)
	e := event.Root(event.Fleet, "/test-scheduler/you", b.now, event.SchedulerHeartbeat{Scheduler: "you", Number: 1})
	e.Stored = b.now
	b.s.Apply(e)
	b.want(b.decide(), "finish a.1 infra_timeout")
}
