package phase

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/dialect/ray/outcome"
)

// TestE9EndToEnd plays each failure and looks at the code, and that the cluster is terminated in every case.
func TestE9EndToEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		phase Phase
		how   How
		o     Options
		want  outcome.Code
	}{
		{"", Done, Options{}, 0},
		{CreateCluster, Failed, Options{}, 13},
		{BuildImage, Failed, Options{}, 14},
		{BuildImage, TimedOut, Options{}, 31},
		{StartCluster, Failed, Options{}, 15},
		{StartCluster, TimedOut, Options{}, 32},
		{PrepareRemote, Failed, Options{}, 17},
		{WaitForNodes, TimedOut, Options{}, 33},
		{WaitForNodes, Failed, Options{}, 33}, // the nodes did not come, whoever noticed
		{Prepare, Failed, Options{}, 43},
		{Prepare, TimedOut, Options{}, 33},
		{Command, Failed, Options{}, 40},
		{Command, TimedOut, Options{}, 42},
		{Command, TimedOut, Options{LongRunning: true}, 0},
		{Command, Failed, Options{LongRunning: true}, 40},
		{FetchResult, Failed, Options{}, 0},
		{FetchResult, Failed, Options{NeedsResult: true}, 18},
		{LastLogs, Failed, Options{}, 0},
		{Terminate, Failed, Options{}, 0},
		{Alerts, Failed, Options{}, 41},
		{Report, Failed, Options{}, 0},
	} {
		t.Run(fmt.Sprintf("%s %s %v", c.phase, c.how, c.o), func(t *testing.T) {
			t.Parallel()
			var done []Phase
			got := Walk(c.o, func(p Phase) How {
				done = append(done, p)
				if p == c.phase {
					return c.how
				}
				return Done
			})
			if CodeOf(got) != c.want {
				t.Errorf("ends with %q, code %d; want %d", got, CodeOf(got), c.want)
			}
			if !slices.Contains(done, Terminate) || !slices.Contains(done, Report) {
				t.Errorf("did %q: the cluster is not terminated, or nothing reported", done)
			}
			if c.want != 0 && c.phase != Alerts && slices.Contains(done, Alerts) {
				t.Errorf("did %q: a failed test was judged by its alerts", done)
			}
		})
	}
}

func TestTheFirstFailureCounts(t *testing.T) {
	t.Parallel()
	got := Walk(Options{NeedsResult: true}, func(Phase) How { return Failed })
	if got != "ClusterCreationError" {
		t.Errorf("ended with %q, want the first", got)
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	m, s := time.Minute, time.Second
	for name, c := range map[string]struct {
		asked Asked
		want  Times
	}{
		"nothing": {Asked{}, Times{Build: 3600 * s, Start: 1800 * s, Command: 1800 * s, Autosuspend: 45 * m, MaxUptime: 60 * m, Job: 45 * m}},
		"a day":   {Asked{Timeout: 24 * time.Hour}, Times{Build: 3600 * s, Start: 1800 * s, Command: 24 * time.Hour, Autosuspend: 120 * m, MaxUptime: 1470 * m, Job: 1455 * m}},
		"prepare takes as long as the command": {
			Asked{Timeout: 600 * s, HasPrepare: true},
			Times{Build: 3600 * s, Start: 1800 * s, Command: 600 * s, Prepare: 600 * s, Autosuspend: 35 * m, MaxUptime: 50 * m, Job: 35 * m},
		},
		"all given": {
			Asked{Timeout: 600 * s, HasPrepare: true, PrepareTimeout: 60 * s, WaitForNodes: true, WaitTimeout: 300 * s, BuildTimeout: s, SessionTimeout: 2 * s, AutosuspendMins: -1, MaxUptimeMins: 20},
			Times{Build: s, Start: 2 * s, Wait: 300 * s, Command: 600 * s, Prepare: 60 * s, Autosuspend: -m, MaxUptime: 20 * m, Job: 19 * m},
		},
	} {
		if got := TimesOf(c.asked); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestMetricsTimeout(t *testing.T) {
	t.Parallel()
	for ran, want := range map[time.Duration]time.Duration{
		time.Minute: 30 * time.Second, 24 * time.Hour: 432 * time.Second, 100 * time.Hour: 15 * time.Minute,
	} {
		if got := MetricsTimeout(ran, 30*time.Second); got != want {
			t.Errorf("after %s: %s, want %s", ran, got, want)
		}
	}
}
