package phase

import (
	"slices"
	"strconv"
	"testing"
	"time"
)

// TestDefect02SecondsAreNotAddedAsMinutes: a wait of 3,000 s for nodes adds 50 minutes of uptime, not 50 hours.
func TestDefect02SecondsAreNotAddedAsMinutes(t *testing.T) {
	t.Parallel()
	without := TimesOf(Asked{Timeout: time.Hour})
	with := TimesOf(Asked{Timeout: time.Hour, WaitForNodes: true, WaitTimeout: 3000 * time.Second})
	if got := with.MaxUptime - without.MaxUptime; got != 50*time.Minute {
		t.Errorf("a wait of 3000 s adds %s of uptime, want 50m", got)
	}
}

// TestDefect09NoTerminateRuns: a test whose cluster is kept goes through the same phases as every other, but for the
// last; Ray's switches to a runner that refuses its arguments.
func TestDefect09NoTerminateRuns(t *testing.T) {
	t.Parallel()
	var kept, ended []Phase
	Walk(Options{NoTerminate: true}, func(p Phase) How { kept = append(kept, p); return Done })
	Walk(Options{}, func(p Phase) How { ended = append(ended, p); return Done })
	want := slices.DeleteFunc(slices.Clone(ended), func(p Phase) bool { return p == Terminate })
	if !slices.Equal(kept, want) {
		t.Errorf("did %q, want %q", kept, want)
	}
}

// TestDefect23LongJobsKeepTheirLastLines: how long a test ran changes nothing about its log. It is fetched in every
// walk, and its tail has no clock.
func TestDefect23LongJobsKeepTheirLastLines(t *testing.T) {
	t.Parallel()
	var log []string
	for i := range 500 {
		log = append(log, strconv.Itoa(i))
	}
	if got := Tail(log); len(got) != TailLines || got[0] != "400" || got[99] != "499" {
		t.Errorf("the tail has %d lines from %s", len(got), got[0])
	}
	if got := Tail(log[:3]); len(got) != 3 {
		t.Errorf("a short log keeps %d of 3 lines", len(got))
	}
	fetched := false
	Walk(Options{}, func(p Phase) How {
		fetched = fetched || p == LastLogs
		if p == Command {
			return TimedOut
		}
		return Done
	})
	if !fetched {
		t.Error("the last lines of a test that ran out of time are not fetched")
	}
}
