package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/dialect/ray/outcome"
	"github.com/sluiceci/sluice/pkg/dialect/ray/wrapper"
)

// bench runs the wrapper around real processes; only its waits are over at once.
type wrapBench struct {
	wrapping
	out, said bytes.Buffer
	waits     []time.Duration
	heard     chan os.Signal
	dir       string
}

func newWrapBench(t *testing.T, attempts int, command ...string) *wrapBench {
	t.Helper()
	b := &wrapBench{heard: make(chan os.Signal, 4), dir: t.TempDir()}
	b.wrapping = wrapping{
		config: wrapper.Default(), command: command, out: &b.out, talk: &b.said, heard: b.heard, grace: time.Minute, seed: 7,
		after: func(d time.Duration) <-chan time.Time {
			b.waits = append(b.waits, d)
			over := make(chan time.Time, 1)
			over <- time.Now()
			return over
		},
	}
	b.config.Attempts = attempts
	return b
}

// exits runs a shell that ends with one code after the other, and writes down each time that it does.
func exitsWith(t *testing.T, attempts int, codes ...int) *wrapBench {
	t.Helper()
	b := newWrapBench(t, attempts)
	var list []string
	for _, c := range codes {
		list = append(list, strconv.Itoa(c))
	}
	script := `echo run >> "$0"; n=$(wc -l < "$0"); shift $((n - 1)); exit "$1"`
	b.command = append([]string{"sh", "-c", script, filepath.Join(b.dir, "runs")}, list...)
	return b
}

func (b *wrapBench) runs(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(b.dir, "runs"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Count(string(text), "run")
}

// TestRayWrapVectors is W1 to W10 with real child processes.
func TestRayWrapVectors(t *testing.T) {
	t.Parallel()
	type vector struct {
		attempts    int
		codes       []int
		runs, final int
	}
	vectors := map[string]vector{
		"W1": {3, []int{0}, 1, 0}, "W2": {3, []int{30, 0}, 2, 0}, "W3": {3, []int{30, 31, 0}, 3, 0}, "W4": {3, []int{32, 33, 30}, 3, 79},
		"W5": {3, []int{30, 41}, 2, 79}, "W7": {1, []int{30}, 1, 79}, "W10": {3, []int{30, 50}, 2, 79},
	}
	for _, code := range []int{1, 2, 3, 10, 11, 13, 15, 17, 19, 20, 29, 34, 39, 40, 41, 42, 43, 49, 50, 79, 124, 137, 143} {
		vectors[fmt.Sprint("W6 ", code)] = vector{3, []int{code}, 1, 79}
	}
	for name, v := range vectors {
		b := exitsWith(t, v.attempts, v.codes...)
		if code := exitCode(b.run()); code != v.final || b.runs(t) != v.runs || len(b.waits) != v.runs-1 {
			t.Errorf("%s: exit %d after %d runs and waits %v, want %d after %d\n%s", name, code, b.runs(t), b.waits, v.final, v.runs, b.said.String())
		}
		for _, d := range b.waits {
			if d < 30*time.Minute || d > 90*time.Minute {
				t.Errorf("%s: W15: waits %s", name, d)
			}
		}
	}
}

// TestRayWrapW9 has a command that took longer than is worth another try.
func TestRayWrapW9(t *testing.T) {
	t.Parallel()
	b := exitsWith(t, 1, 40)
	b.config.TimeLimit = time.Nanosecond
	if code := exitCode(b.run()); code != 40 {
		t.Errorf("exit %d, want the command's own\n%s", code, b.said.String())
	}
}

// TestRayWrapByCause asks for another try only where the cause may pass by itself.
func TestRayWrapByCause(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]int{33: 79, 13: 79, 40: 40, 41: 41, 42: 42, 43: 43, 11: 11, 1: 1, 0: 0} {
		b := exitsWith(t, 1, code)
		b.config.Ask = wrapper.AskPlatform
		if got := exitCode(b.run()); got != want {
			t.Errorf("%d: exit %d, want %d", code, got, want)
		}
	}
}

// TestRayWrapSignalWhileItWaits ends the wait, starts nothing more and asks for nothing.
func TestRayWrapSignalWhileItWaits(t *testing.T) {
	t.Parallel()
	b := exitsWith(t, 3, 30, 0)
	b.after = func(time.Duration) <-chan time.Time {
		b.heard <- syscall.SIGUSR1 // which is nobody's wish to end
		b.heard <- syscall.SIGINT
		return nil
	}
	if code := exitCode(b.run()); code != 130 || b.runs(t) != 1 {
		t.Errorf("exit %d after %d runs\n%s", code, b.runs(t), b.said.String())
	}
	for _, says := range []string{"attempt 2 of 3 begins in ", "attempt 1 of 3 ended with exit code 30 (infra timeout)", "cancelled by signal 2"} {
		if !strings.Contains(b.said.String(), says) {
			t.Errorf("it does not say %q:\n%s", says, b.said.String())
		}
	}
}

// TestRayWrapSignalAsItEnds: a signal that nobody passed on any more still cancels.
func TestRayWrapSignalAsItEnds(t *testing.T) {
	t.Parallel()
	b := exitsWith(t, 3, 30, 0)
	b.heard <- syscall.SIGTERM
	if code := exitCode(b.run()); code != 143 || b.runs(t) > 1 {
		t.Errorf("exit %d after %d runs", code, b.runs(t))
	}
}

// TestRayWrapKillsWhatIgnoresTheSignal after its grace.
func TestRayWrapKillsWhatIgnoresTheSignal(t *testing.T) {
	t.Parallel()
	b := newWrapBench(t, 3)
	b.grace = time.Millisecond
	ready := filepath.Join(b.dir, "ready")
	b.command = []string{"sh", "-c", `trap "" TERM; touch "$0"; while :; do sleep 0.05; done`, ready}
	go func() {
		for _, err := os.Stat(ready); err != nil; _, err = os.Stat(ready) {
			time.Sleep(time.Millisecond)
		}
		b.heard <- syscall.SIGTERM
	}()
	if code := exitCode(b.run()); code != 143 || !strings.Contains(b.said.String(), "is killed") {
		t.Errorf("exit %d\n%s", code, b.said.String())
	}
}

func TestRayWrapResultsAreEmptied(t *testing.T) {
	t.Parallel()
	b := newWrapBench(t, 2, "sh", "-c", `ls "$0"; mkdir "$0/d"; echo x > "$0/d/old"; exit 30`)
	b.results = filepath.Join(b.dir, "results")
	b.command = append(b.command, b.results)
	if code := exitCode(b.run()); code != 79 || b.out.String() != "" {
		t.Errorf("exit %d; an attempt found %q of the one before\n%s", code, b.out.String(), b.said.String())
	}
	here, err := os.Getwd()
	must(t, err)
	for _, dir := range []string{"/", ".", "..", here, filepath.Dir(here)} {
		if emptyResults(dir) == nil {
			t.Errorf("%s was emptied", dir)
		}
	}
}

func TestRayWrapTellsItsChild(t *testing.T) {
	t.Parallel()
	b := newWrapBench(t, 1, "sh", "-c", `echo $BUILDKITE_MAX_RETRIES $BUILDKITE_RETRY_CODE $BUILDKITE_TIME_LIMIT_FOR_RETRY "$@"`, "sh", "--smoke-test")
	if code := exitCode(b.run()); code != 0 || b.out.String() != "1 79 10800 --smoke-test\n" {
		t.Errorf("W13: exit %d, printed %q", code, b.out.String())
	}
}

func TestRayWrapJSON(t *testing.T) {
	t.Parallel()
	b := exitsWith(t, 2, 30, 41)
	b.json = true
	code := exitCode(b.run())
	lines := strings.Split(strings.TrimSpace(b.said.String()), "\n")
	var r wrapRecord
	must(t, json.Unmarshal([]byte(lines[len(lines)-1]), &r))
	if code != 79 || r.Exit != 79 || r.Class != "alert" || r.Outcome != "failure" || len(r.Attempts) != 2 || r.Attempts[1].Exit != 41 {
		t.Errorf("exit %d, %+v", code, r)
	}
}

// TestRayWrapFlags is how the contract is put together, W8 and W14 with it.
func TestRayWrapFlags(t *testing.T) {
	t.Parallel()
	config := func(f rayWrapFlags, env map[string]string) (wrapper.Config, error) {
		f.ask, f.retryMe, f.again = "all", 79, []int{30}
		return f.config(func(name string) string { return env[name] })
	}
	for name, c := range map[string]struct {
		flag string
		env  map[string]string
		want int
	}{
		"nothing":            {"", nil, 1},
		"the variable":       {"", map[string]string{"MAX_RETRIES": "3"}, 3},
		"the flag":           {"4", map[string]string{"MAX_RETRIES": "3"}, 4},
		"W8 tried again":     {"4", map[string]string{"BUILDKITE_RETRY_COUNT": "1"}, 1},
		"W14 none":           {"0", nil, -1},
		"W14 by variable":    {"", map[string]string{"MAX_RETRIES": "0"}, -1},
		"not a number":       {"many", nil, -1},
		"a retry count of x": {"", map[string]string{"BUILDKITE_RETRY_COUNT": "x"}, -1},
	} {
		got, err := config(rayWrapFlags{attempts: c.flag}, c.env)
		if (err != nil) != (c.want < 0) || err == nil && got.Attempts != c.want {
			t.Errorf("%s: %d attempts, %v", name, got.Attempts, err)
		}
	}
	if got := sluice(t, "ray", "wrap", "--max-retries", "0", "--", "true"); got.code != exitUsage {
		t.Errorf("W14: exit %d, said %q", got.code, got.talk)
	}
	if got := sluice(t, "ray", "wrap", "--", filepath.Join(t.TempDir(), "none")); got.code != exitError {
		t.Errorf("a command that is not there: exit %d, said %q", got.code, got.talk)
	}
	if ints([]outcome.Code{3})[0] != 3 || randomSeed() == randomSeed() {
		t.Error("seeds are equal")
	}
}
