package phase

import (
	"time"

	"github.com/sluiceci/sluice/pkg/release"
)

// Asked is what a test says about time; zero is "nothing".
type Asked struct {
	Timeout         time.Duration // of the command
	HasPrepare      bool
	PrepareTimeout  time.Duration
	WaitForNodes    bool
	WaitTimeout     time.Duration
	BuildTimeout    time.Duration
	SessionTimeout  time.Duration
	AutosuspendMins int // -1 is "never", as Ray's service takes it
	MaxUptimeMins   int
}

// Times are what the phases of a test may take.
type Times struct {
	Build, Start, Wait, Prepare, Command time.Duration
	Autosuspend                          time.Duration // negative: never
	MaxUptime                            time.Duration // of the cluster
	Job                                  time.Duration // of everything that runs on it
}

const (
	buildTimeout   = 3600 * time.Second
	startTimeout   = 1800 * time.Second
	waitTimeout    = 3000 * time.Second
	commandTimeout = 1800 * time.Second
	buffer         = 15 * time.Minute
	maxAutosuspend = 120 * time.Minute
)

// TimesOf derives all times from what a test says.
//
// The longest uptime is a sum of durations. Ray adds the seconds of the wait for nodes as minutes, so that a test which
// waits 50 minutes for its nodes may keep them for two days.
func TimesOf(a Asked) Times {
	t := Times{
		Build: given(a.BuildTimeout, buildTimeout), Start: given(a.SessionTimeout, startTimeout),
		Command: given(a.Timeout, commandTimeout),
	}
	if a.HasPrepare {
		t.Prepare = given(a.PrepareTimeout, t.Command)
	}
	if a.WaitForNodes {
		t.Wait = given(a.WaitTimeout, waitTimeout)
	}
	base := (t.Command + t.Prepare).Truncate(time.Minute) + buffer
	t.Autosuspend = min(maxAutosuspend, base)
	if a.AutosuspendMins != 0 {
		t.Autosuspend = time.Duration(a.AutosuspendMins) * time.Minute
		base = max(base, t.Autosuspend)
	}
	t.MaxUptime = base + t.Wait + buffer
	if a.MaxUptimeMins > 0 {
		t.MaxUptime = time.Duration(a.MaxUptimeMins) * time.Minute
	}
	t.Job = min(t.MaxUptime-time.Minute, t.Command+t.Prepare+buffer)
	return t
}

func given(asked, unset time.Duration) time.Duration {
	if asked > 0 {
		return asked
	}
	return unset
}

// Timeouts are the times as a task of the plan has them: the nodes are part of the preparation.
func (t Times) Timeouts() release.Timeouts {
	return release.Timeouts{
		Prepare: release.Duration(t.Start + t.Wait + t.Prepare),
		Command: release.Duration(t.Command),
	}
}

// MetricsTimeout is how long to collect metrics of a test that ran so long: a 200th of it, at least what is given and
// at most 15 minutes.
func MetricsTimeout(ran, least time.Duration) time.Duration {
	return max(least, min(ran/200, 15*time.Minute))
}

// TailLines is how many last lines of a log a record holds.
const TailLines = 100

// Tail gives the last lines of a log, of a test that ran for a minute as of one that ran for a day.
func Tail(lines []string) []string { return lines[max(0, len(lines)-TailLines):] }
