package schedule

import (
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

func seconds(n int) release.Duration { return release.Duration(time.Duration(n) * time.Second) }

// TestRetryByClass plays one task through results and looks at the verdict on each.
func TestRetryByClass(t *testing.T) {
	t.Parallel()
	command1 := release.Retry{Class: release.ClassCommand, Limit: 1}
	for name, c := range map[string]struct {
		policy  []release.Retry
		results []release.Class
		want    string // the verdict on the last one
		reason  string
	}{
		"command is the product's":   {nil, []release.Class{release.ClassCommand}, "conclude a failure command after 1 in round 0", "attempt 1 ended as command; command is not retried"},
		"lost goes on at once":       {nil, []release.Class{release.ClassLost}, "delay a.2", "attempt 1 ended as lost; retry 1 of 3 for lost at once"},
		"lost is used up":            {nil, []release.Class{release.ClassLost, release.ClassLost, release.ClassLost, release.ClassLost}, "conclude a error lost after 4 in round 0", "attempt 4 ended as lost; all 3 retries for lost are used up"},
		"infra waits":                {nil, []release.Class{release.ClassInfra}, "delay a.2", "attempt 1 ended as infra; retry 1 of 2 for infra in 5s"},
		"infra waits twice as long":  {nil, []release.Class{release.ClassInfra, release.ClassInfra}, "delay a.3", "attempt 2 ended as infra; retry 2 of 2 for infra in 10s"},
		"each class has its own":     {nil, []release.Class{release.ClassInfra, release.ClassLost, release.ClassInfra}, "delay a.4", "attempt 3 ended as infra; retry 2 of 2 for infra in 10s"},
		"setup once":                 {nil, []release.Class{release.ClassSetup, release.ClassSetup}, "conclude a error setup after 2 in round 0", "attempt 2 ended as setup; the one retry for setup is used up"},
		"its own policy":             {[]release.Retry{command1}, []release.Class{release.ClassCommand}, "delay a.2", "attempt 1 ended as command; retry 1 of 1 for command at once"},
		"its own policy ends":        {[]release.Retry{command1}, []release.Class{release.ClassCommand, release.ClassCommand}, "conclude a failure command after 2 in round 0", "attempt 2 ended as command; the one retry for command is used up"},
		"default where it says none": {[]release.Retry{command1}, []release.Class{release.ClassLost}, "delay a.2", "attempt 1 ended as lost; retry 1 of 3 for lost at once"},
		"zero forbids":               {[]release.Retry{{Class: release.ClassLost}}, []release.Class{release.ClassLost}, "conclude a error lost after 1 in round 0", "attempt 1 ended as lost; lost is not retried"},
		"unknown is no success":      {nil, []release.Class{release.ClassUnknown}, "conclude a error unknown after 1 in round 0", "attempt 1 ended as unknown; unknown is not retried"},
		"a class that nobody knows":  {nil, []release.Class{"odd"}, "conclude a error odd after 1 in round 0", "attempt 1 ended as odd; odd is not retried"},
		"cancelled is never retried": {[]release.Retry{{Class: release.ClassCancelled, Limit: 9}}, []release.Class{release.ClassCancelled}, "conclude a cancel cancelled after 1 in round 0", "attempt 1 was cancelled"},
	} {
		b := newBench(t, Config{})
		b.say(requested("a", retries(c.policy...)))
		var got []string
		for i, class := range c.results {
			b.say(start("a", int32(i+1)), finish("a", int32(i+1), class))
			got = b.decide()
			b.pass(time.Minute)
			b.say(event.TaskDelayed{Task: "a", Attempt: int32(i + 2), Until: b.now})
		}
		if len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: decided %v, want %s", name, got, c.want)
			continue
		}
		if why := reasonOf(b.s.wantOf("a")); why != c.reason {
			t.Errorf("%s: because %q, want %q", name, why, c.reason)
		}
	}
}

func (s *State) wantOf(id release.TaskID) event.Payload { return s.runs[testRun].tasks[id].want.say }

func reasonOf(p event.Payload) string { return saying(p) }

func TestBackoff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		policy release.Retry
		used   int32
		want   time.Duration
	}{
		{release.Retry{}, 1, 0},
		{release.Retry{Wait: seconds(5)}, 1, 5 * time.Second},
		{release.Retry{Wait: seconds(5)}, 3, 20 * time.Second},
		{release.Retry{Wait: seconds(5), Max: seconds(12)}, 3, 12 * time.Second},
		{release.Retry{Wait: seconds(50), Max: seconds(12)}, 1, 12 * time.Second},
		{release.Retry{Wait: seconds(5)}, 1000, 24 * time.Hour},
		{release.Retry{Wait: seconds(-5)}, 2, 0},
	} {
		if got := backoff(c.policy, c.used); got != c.want {
			t.Errorf("backoff(%+v, %d) = %s, want %s", c.policy, c.used, got, c.want)
		}
	}
}

// TestBackoffIsHeldInTime: nothing runs while a retry waits, and it goes on when its time has come.
func TestBackoffIsHeldInTime(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	b.say(requested("a"), start("a", 1), finish("a", 1, release.ClassInfra))
	b.want(b.follow(), "delay a.2")
	if why := Explain(b.s, testRun, "a", b.now); why.State != "delayed" || !why.Until.Equal(b.now.Add(5*time.Second)) {
		t.Fatalf("%+v", why)
	}
	_, next := Decide(b.s, b.now)
	if want := b.now.Add(5 * time.Second); next.IsZero() || next.After(want) {
		t.Fatalf("to be asked again at %s, want no later than %s", next, want)
	}
	b.pass(4 * time.Second)
	b.want(b.follow())
	b.pass(time.Second)
	b.want(b.follow(), "dispatch a.2")
}

// TestBackoffSurvivesAClockThatStepsBack: the decision was made on a clock that was an hour ahead.
func TestBackoffSurvivesAClockThatStepsBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	b.say(requested("a"), finish("a", 1, release.ClassInfra))
	b.say(event.TaskDelayed{Task: "a", Attempt: 2, Until: b.now.Add(time.Hour)})
	b.want(b.follow())
	b.pass(5 * time.Second)
	b.want(b.follow(), "dispatch a.2")
}

func TestQueueTimeout(t *testing.T) {
	t.Parallel()
	limit := timeouts(release.Timeouts{Queue: seconds(60)})
	b := newBench(t, Config{Lookahead: 1})
	b.say(requested("need"))
	b.pass(time.Hour) // waiting for a need is no waiting in a queue
	b.say(requested("first", limit), requested("a", limit, needs("need")))
	b.say(ok("need", 1)...)
	b.want(b.follow(), "dispatch first.1")
	b.want(b.watch(59 * time.Second))
	b.want(b.watch(time.Second), "refuse first.1", "finish a.1 infra_timeout", "finish first.1 infra_timeout", "delay a.2", "delay first.2")
	b.want(b.watch(30*time.Second), "dispatch first.2")
	b.want(b.watch(59 * time.Second)) // counted from the end of the back-off
	b.want(b.watch(time.Second)[:3], "refuse first.2", "finish a.2 infra_timeout", "finish first.2 infra_timeout")
}

// TestNobodyStartsWhatWasGivenUp: the place of the start is taken before the end is said. One that was started in the last
// moment is not given up.
func TestNobodyStartsWhatWasGivenUp(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		b := newBench(t, Config{})
		b.say(requested("a", timeouts(release.Timeouts{Queue: seconds(60)})))
		b.beat("linux", "x", 1)
		b.follow()
		b.watch(59*time.Second, func() { b.beat("linux", "x", 1) })
		b.pass(time.Second)
		if late {
			b.want(b.decide(), "refuse a.1") // on its way, when an executor claims the start
			b.say(start("a", 1))
			b.beat("linux", "x", 1, "a.1")
			b.want(b.follow())
			continue
		}
		b.want(b.follow(), "refuse a.1", "finish a.1 infra_timeout", "delay a.2")
		b.say(start("a", 1))
		b.want(b.watch(time.Minute, func() { b.beat("linux", "x", 1) }), "dispatch a.2")
	}
}

func TestOverrun(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	b.say(requested("a", timeouts(release.Timeouts{Command: seconds(100), Prepare: seconds(10), Cleanup: seconds(10)})))
	b.say(event.TaskDispatched{Task: "a", Attempt: 1, Pool: "linux"}, start("a", 1))
	alive := func(d time.Duration) []string {
		var out []string
		for range int(d / time.Second) {
			b.pass(time.Second)
			b.beat("linux", "x", 1, "a.1")
			out = append(out, b.follow()...)
		}
		return out
	}
	b.want(alive(179 * time.Second))
	b.want(alive(time.Second), "stop a.1")
	b.want(alive(29 * time.Second))
	b.want(alive(time.Second), "finish a.1 lost", "delay a.2", "dispatch a.2")
}

func TestNoBoundNoOverrun(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	b.say(requested("a"), event.TaskDispatched{Task: "a", Attempt: 1, Pool: "linux"}, start("a", 1))
	for range 100 {
		b.pass(time.Hour)
		b.beat("linux", "x", 1, "a.1")
		b.want(b.follow())
	}
}
