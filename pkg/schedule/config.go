package schedule

import (
	"math"
	"time"

	"github.com/sluiceci/sluice/pkg/environment"
	"github.com/sluiceci/sluice/pkg/lease"
	"github.com/sluiceci/sluice/pkg/release"
)

// Config bounds what the scheduler waits for. Zero values become the defaults.
type Config struct {
	Self       string                   // instance of this scheduler, which hears its own heartbeats; "" when silence counts without them
	LostAfter  time.Duration            // silence after which an executor counts as lost; 2s
	Return     time.Duration            // silence that executors are allowed when the scheduler hears again; 5s
	Disconnect map[string]time.Duration // by pool: silence after which what an executor runs counts as lost; LostAfter
	Lookahead  int                      // attempts given to a pool that has no executors, so that an autoscaler sees a queue; 8
	Resend     time.Duration            // until an intent that has not become a fact is made again; 3s
	Phase      time.Duration            // allowed to prepare, and to clean up, where a task bounds neither; 10m
	Overrun    time.Duration            // beyond a task's own timeouts, until its attempt is told to stop; 60s
	StopWithin time.Duration            // from telling an attempt to stop until it is given up; 30s
	Keep       time.Duration            // how long the tasks of a finished run are remembered; 1h, negative for ever
	Aging      int                      // one attempt in so many goes to the oldest task of its pool, whatever its priority and share; 16
	Unserved   time.Duration            // that what was given to a pool without executors may keep others waiting; 1m
	PassOver   int                      // attempts that may take of a budget before a task for which it is too small; 16
	Leases     lease.Config
	Accepts    map[string][]release.Trust // by pool, the changes that it takes; a pool that is not here takes every one
	Lends      map[string][]release.Trust // by provider of the installation, the changes that may lease its places; every one when it is not here
	Limits     []Limit                    // of the installation; what is set by limit.set counts instead

	Environments environment.Rules // protected ones of the installation
}

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&c.LostAfter, 2 * time.Second},
		{&c.Return, 5 * time.Second},
		{&c.Resend, 3 * time.Second},
		{&c.Phase, 10 * time.Minute},
		{&c.Overrun, time.Minute},
		{&c.StopWithin, 30 * time.Second},
		{&c.Keep, time.Hour},
		{&c.Unserved, time.Minute},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	for field, value := range map[*int]int{&c.Lookahead: 8, &c.Aging: 16, &c.PassOver: 16} {
		if *field <= 0 {
			*field = value
		}
	}
	return c
}

// Silence is after how long an executor that says nothing counts as lost.
func (c Config) Silence() time.Duration { return c.withDefaults().LostAfter }

// stamp is a moment in nanoseconds since 1970: a third of the size of a time.Time, of which a task has several. Zero is
// no moment.
type stamp int64

// stampOf takes moments beyond what a stamp can hold as the nearest that it can: times come from events, and events
// from anywhere.
func stampOf(t time.Time) stamp {
	switch {
	case t.IsZero():
		return 0
	case t.Year() < 1970:
		return 1
	case t.Year() > 2200:
		return stamp(time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano())
	default:
		return stamp(t.UnixNano())
	}
}

func (a stamp) time() time.Time {
	if a == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(a)).UTC()
}

// plus never wraps: a moment too far away is the farthest one.
func (a stamp) plus(d time.Duration) stamp {
	if d > 0 && a > math.MaxInt64-stamp(d) {
		return math.MaxInt64
	}
	return a + stamp(d)
}

func (a stamp) since(b stamp) time.Duration { return time.Duration(a - b) }

// earlier is the earlier of two moments, where zero is none.
func earlier(a, b stamp) stamp {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
