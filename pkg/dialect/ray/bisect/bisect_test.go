package bisect

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluiceci/sluice/test/property"
)

func began() time.Time { return time.Date(2024, 11, 5, 0, 0, 0, 0, time.UTC) }

func config(commits ...string) Config {
	return Config{Commits: commits, Parallel: 1, Runs: 1, Deadline: began().Add(time.Hour), Budget: 1000}
}

// follow runs a search against what each commit does: a letter for each of its runs, over and over. P passes, F fails, I
// is the infrastructure.
func follow(t testing.TB, c Config, does map[string]string) (step Step, rounds int, runs []Run) {
	t.Helper()
	for range 10_000 {
		step = Next(c, runs, began())
		if step.Do != Start {
			return step, rounds, runs
		}
		if len(step.Start) == 0 {
			t.Fatalf("starts nothing: %+v after %v", step, runs)
		}
		rounds++
		for _, r := range step.Start {
			if slices.ContainsFunc(runs, func(o Run) bool { return o.Key() == r.Key() }) {
				t.Fatalf("starts %s twice", r.Key())
			}
			letters := does[r.Commit]
			r.Outcome = map[byte]Outcome{'P': Pass, 'F': Fail, 'I': Infra}[letters[r.Number%len(letters)]]
			runs = append(runs, r)
		}
	}
	t.Fatal("it does not end")
	return step, rounds, runs
}

// TestVectors is 2.9's bisections, for one to three commits at a time.
func TestVectors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		commits string
		runs    int
		does    map[string]string
		want    string // "" for none
	}{
		"c3":                            {"c0 c1 c3 c4", 1, map[string]string{"c0": "P", "c1": "P", "c3": "F", "c4": "F"}, "c3"},
		"c1":                            {"c0 c1 c2", 1, map[string]string{"c0": "P", "c1": "F", "c2": "F"}, "c1"},
		"two":                           {"c0 c1", 1, map[string]string{"c0": "P", "c1": "F"}, "c1"},
		"two runs, one fails":           {"c0 c1 c2 c3", 2, map[string]string{"c0": "P", "c1": "P", "c2": "PF", "c3": "F"}, "c2"},
		"sanity: pass, fail":            {"c0 c1", 2, map[string]string{"c0": "P", "c1": "F"}, "c1"},
		"sanity: pass, flaky":           {"c0 c1", 2, map[string]string{"c0": "P", "c1": "PF"}, "c1"},
		"sanity: flaky, fail":           {"c0 c1", 2, map[string]string{"c0": "PF", "c1": "F"}, ""},
		"sanity: pass, pass":            {"c0 c1", 2, map[string]string{"c0": "P", "c1": "P"}, ""},
		"sanity: fail, fail":            {"c0 c1", 2, map[string]string{"c0": "F", "c1": "F"}, ""},
		"the infrastructure is no fail": {"c0 c1 c2", 1, map[string]string{"c0": "IP", "c1": "IIP", "c2": "IF"}, "c2"},
	} {
		for parallel := 1; parallel <= 3; parallel++ {
			k := config(strings.Fields(c.commits)...)
			k.Parallel, k.Runs = parallel, c.runs
			step, _, _ := follow(t, k, c.does)
			if step.Commit != c.want || (step.Do == Blame) != (c.want != "") || step.Why == "" {
				t.Errorf("2.9 %s, %d at a time: %+v, want %q", name, parallel, step, c.want)
			}
		}
	}
}

// TestCIBinarySearch is T T T F F: the fourth, in at most three builds, none of them of the two that are known.
func TestCIBinarySearch(t *testing.T) {
	t.Parallel()
	step, _, runs := follow(t, CI([]string{"1", "2", "3", "4", "5"}, began().Add(time.Hour), 10), map[string]string{"2": "P", "3": "P", "4": "F"})
	if step.Do != Blame || step.Commit != "4" || len(runs) > 3 {
		t.Errorf("%+v after %v", step, runs)
	}
	for state, want := range map[string]Outcome{
		"passed": Pass, "failed": Fail, "failing": Fail, "skipped": Infra, "blocked": Infra, "canceled": Infra, "not_run": Infra, "": Infra,
	} {
		if got := OfBuild(state); got != want {
			t.Errorf("%q says %s, want %s", state, got, want)
		}
	}
	if OfStep("soft_failed") != Fail || OfStep("hard_failed") != Fail || OfStep("passed") != Pass || OfStep("canceled") != Infra {
		t.Error("steps say something else")
	}
	if got := Gap("111", "444"); strings.Join(got, " ") != "^111 444~" {
		t.Errorf("%q", got)
	}
}

// TestFlakes: a test that fails now and then is run often enough, and a commit that flaked once is not blamed.
func TestFlakes(t *testing.T) {
	t.Parallel()
	c := config("a", "b", "c", "d", "e")
	c.FailRate, c.Confirm = 0.5, 5
	if c.need() != 5 {
		t.Errorf("%d runs for a test that fails every second time", c.need())
	}
	step, _, _ := follow(t, c, map[string]string{"a": "P", "b": "P", "c": "FPPPPPPPPP", "d": "PF", "e": "PPF"})
	if step.Do != Blame || step.Commit != "d" {
		t.Errorf("%+v", step)
	}
	c.FailRate = 0.001
	if c.need() != maxRuns {
		t.Errorf("%d runs", c.need())
	}
	c = config("a", "b")
	c.Confirm = 3
	if step, _, _ := follow(t, c, map[string]string{"a": "P", "b": "FPPPPP"}); step.Do != GiveUp {
		t.Errorf("a failing commit that flaked: %+v", step)
	}
}

// TestRoundsAreFew: three at a time find one of 100 in four rounds and the two ends.
func TestRoundsAreFew(t *testing.T) {
	t.Parallel()
	c, does := many(100, 63)
	c.Parallel = 3
	step, rounds, runs := follow(t, c, does)
	if step.Commit != "c63" || rounds > 6 || len(runs) > 15 {
		t.Errorf("%+v after %d rounds and %d runs", step, rounds, len(runs))
	}
}

func many(n, bad int) (Config, map[string]string) {
	does := map[string]string{}
	var commits []string
	for i := range n {
		commit := fmt.Sprint("c", i)
		commits, does[commit] = append(commits, commit), "P"
		if i >= bad {
			does[commit] = "F"
		}
	}
	return config(commits...), does
}

// TestAnyHistory finds the commit whatever the infrastructure does, however many at a time, and says the same for the same
// runs in any order: it can be stopped anywhere.
func TestAnyHistory(t *testing.T) {
	t.Parallel()
	property.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(2, 60).Draw(r, "commits")
		bad := rapid.IntRange(1, n-1).Draw(r, "bad")
		c, does := many(n, bad)
		c.Parallel, c.Runs = rapid.IntRange(1, 5).Draw(r, "parallel"), rapid.IntRange(1, 3).Draw(r, "runs")
		for _, commit := range slices.Sorted(maps.Keys(does)) { // rapid's draws come in one order
			does[commit] = strings.Repeat("I", rapid.IntRange(0, 2).Draw(r, "infra")) + does[commit]
		}
		step, _, runs := follow(t, c, does)
		if step.Do != Blame || step.Commit != fmt.Sprint("c", bad) || step.Passing != fmt.Sprint("c", bad-1) {
			r.Fatalf("%+v, want c%d", step, bad)
		}
		part := slices.Clone(runs[:rapid.IntRange(0, len(runs)).Draw(r, "stopped at")])
		before := Next(c, part, began())
		part = rapid.Permutation(part).Draw(r, "order")
		if after := Next(c, part, began()); fmt.Sprint(before) != fmt.Sprint(after) {
			r.Fatalf("%+v and %+v", before, after)
		}
	})
}

// TestItWaitsForWhatItStarted and ends what no longer matters.
func TestItWaitsForWhatItStarted(t *testing.T) {
	t.Parallel()
	c := config("c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7")
	c.Parallel, c.Sane = 3, true
	first := Next(c, nil, began())
	if first.Do != Start || len(first.Start) != 3 {
		t.Fatalf("%+v", first)
	}
	runs := slices.Clone(first.Start)
	if step := Next(c, runs, began()); step.Do != Await || len(step.Stop) != 0 {
		t.Errorf("%+v", step)
	}
	runs[1].Outcome = Fail // c3 fails: c5 matters no more, c1 does
	if step := Next(c, runs, began()); step.Do != Await || len(step.Stop) != 1 || step.Stop[0].Commit != "c5" {
		t.Errorf("%+v", step)
	}
	runs[0].Outcome = Pass
	if step := Next(c, runs, began()); step.Do != Start || len(step.Stop) != 1 || len(step.Start) != 1 || step.Start[0].Commit != "c2" {
		t.Errorf("%+v", step)
	}
	runs = append(runs, Run{"c2", 0, Fail})
	if step := Next(c, runs, began()); step.Do != Blame || step.Commit != "c2" || len(step.Stop) != 1 {
		t.Errorf("%+v", step)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Config){
		"one commit":     func(c *Config) { c.Commits = c.Commits[:1] },
		"twice":          func(c *Config) { c.Commits[1] = c.Commits[0] },
		"an empty one":   func(c *Config) { c.Commits[1] = "" },
		"none at a time": func(c *Config) { c.Parallel = 0 },
		"no runs":        func(c *Config) { c.Runs = 0 },
		"a rate of 2":    func(c *Config) { c.FailRate = 2 },
	} {
		c := config("a", "b", "c")
		change(&c)
		if step := Next(c, nil, began()); step.Do != GiveUp || step.Why == "" {
			t.Errorf("%s: %+v", name, step)
		}
	}
}
