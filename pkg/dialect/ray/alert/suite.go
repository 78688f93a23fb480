package alert

import (
	"fmt"
	"math"
	"strings"

	"github.com/sluiceci/sluice/pkg/dialect/ray/outcome"
)

// Threshold is what one test may measure. The zero of a limit is "none".
type Threshold struct {
	Test       string
	Update     float64 // seconds since the results were last written, at most; infinite for a test that may never write
	Time       float64 // seconds that it took, at most
	Terminated int     // trials that came to their end, at least
	Smoke      *Threshold
}

// Suite is a set of thresholds.
type Suite struct {
	Name        string
	NeedsResult bool // without a result nothing can be judged
	Thresholds  []Threshold
}

// Suites lists the suites of November 2024.
func Suites() []Suite {
	return []Suite{
		{Name: "default"},
		{Name: "long_running_tests", NeedsResult: true, Thresholds: longRunning()},
		{Name: "tune_tests", NeedsResult: true, Thresholds: tune()},
		{Name: "xgboost_tests", NeedsResult: true, Thresholds: xgboost()},
	}
}

func longRunning() []Threshold {
	var out []Threshold
	for limit, tests := range map[float64]string{
		300: "actor_deaths many_actor_tasks many_drivers many_tasks many_tasks_serialized_ids node_failures",
		480: "apex impala many_ppo pbt serve",
	} {
		for _, test := range strings.Fields(tests) {
			out = append(out, Threshold{Test: "long_running_" + test, Update: limit})
		}
	}
	return append(out, Threshold{Test: "long_running_serve_failure", Update: math.Inf(1)})
}

func tune() []Threshold {
	t := func(name string, terminated int, time float64) Threshold {
		return Threshold{Test: "tune_scalability_" + name, Terminated: terminated, Time: time}
	}
	network := t("network_overhead", 100, 900)
	network.Smoke = &Threshold{Terminated: 20, Time: 400}
	return []Threshold{
		{Test: "tune_scalability_long_running_large_checkpoints", Update: 360},
		t("bookkeeping_overhead", 10000, 800), t("durable_trainable", 16, 650), network,
		t("result_throughput_cluster", 1000, 130), t("result_throughput_single_node", 96, 120), t("xgboost_sweep", 31, 3600),
	}
}

func xgboost() []Threshold {
	t := func(name string, terminated int, time float64) Threshold {
		return Threshold{Test: "xgboost_" + name, Terminated: terminated, Time: time}
	}
	return []Threshold{
		t("tune_small", 4, 90), t("tune_4x32", 4, 120), t("tune_32x4", 32, 600),
		t("train_small", 0, 45), t("train_moderate", 0, 60), t("train_gpu", 0, 40),
	}
}

// Find is the suite of a name; a test that names none has "default".
func Find(name string) (Suite, error) {
	if name == "" {
		name = "default"
	}
	var names []string
	for _, s := range Suites() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Suite{}, outcome.Raise("ReleaseTestConfigError", "Alert suite %s not found. Expected one of %s", name, strings.Join(names, ", "))
}

// For is the threshold about a test: of its full name, or else of the name without its last suffixes.
func (s Suite) For(test string) (Threshold, bool) {
	for name := test; name != ""; {
		for _, t := range s.Thresholds {
			if t.Test == name {
				return t, true
			}
		}
		at := strings.LastIndexByte(name, '.')
		if at < 0 {
			break
		}
		name = name[:at]
	}
	return Threshold{}, false
}

// Verdict is what a suite says of a test.
type Verdict struct {
	Alert string // why the test is no success; empty when it is
	By    string // the threshold that judged, by its name
	Note  string // why nothing judged it
}

// Err is the alert as an error.
func (v Verdict) Err() error {
	if v.Alert == "" {
		return nil
	}
	return outcome.Raise("ResultsAlert", "%s", v.Alert)
}

// Judge holds what a test measured to its thresholds. What is no success fails in every suite.
func (s Suite) Judge(test string, m Measured) Verdict {
	if m.Status != outcome.StatusSuccess {
		return Verdict{Alert: fmt.Sprintf("Test script did not finish successfully (%s).", m.Status)}
	}
	t, ok := s.For(test)
	switch {
	case !ok && len(s.Thresholds) > 0:
		return Verdict{Note: fmt.Sprintf("suite %s has no threshold for %s: only its status is judged", s.Name, test)}
	case !ok:
		return Verdict{}
	}
	name := t.Test
	if m.Smoke && t.Smoke != nil {
		t = *t.Smoke
	}
	return Verdict{By: name, Alert: t.judge(m)}
}

func (t Threshold) judge(m Measured) string {
	var said []string
	// Infinity is written as a number that nothing exceeds: a test that may never write is never late.
	if t.Update > 0 && m.SinceUpdate > t.Update {
		said = append(said, fmt.Sprintf("Last update to results json was too long ago (%s > %g)", seconds(m.SinceUpdate), t.Update))
	}
	if m.Terminated < t.Terminated {
		said = append(said, fmt.Sprintf("Some trials failed (num_terminated=%d < %d).", m.Terminated, t.Terminated))
	}
	if t.Time > 0 && m.TimeTaken > t.Time {
		said = append(said, fmt.Sprintf("Took too long to complete (time_taken=%s > %g).", seconds(m.TimeTaken), t.Time))
	}
	return strings.Join(said, " ")
}

func seconds(s float64) string {
	if math.IsInf(s, 1) {
		return "inf"
	}
	return fmt.Sprintf("%.2f", s)
}
