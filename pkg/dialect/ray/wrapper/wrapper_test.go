package wrapper

import (
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/dialect/ray/outcome"
	"github.com/sluiceci/sluice/pkg/release"
)

// play runs the machine over the codes that a child would end with, and says how often it ran and what it exits with.
func play(t *testing.T, c Config, took time.Duration, codes ...outcome.Code) (runs int, waits []time.Duration, end Step) {
	t.Helper()
	var s State
	waited := false
	for range 100 {
		step := Next(c, s, 7, waited)
		waited = false
		switch step.Do {
		case Run:
			if step.Attempt != len(s.Attempts)+1 || step.Attempt > len(codes) {
				t.Fatalf("runs attempt %d after %d, with %d codes", step.Attempt, len(s.Attempts), len(codes))
			}
			s.Attempts = append(s.Attempts, Attempt{Code: codes[step.Attempt-1], Took: took})
		case Wait:
			waits, waited = append(waits, step.Wait), true
		case Exit:
			return len(s.Attempts), waits, step
		}
	}
	t.Fatal("it does not end")
	return 0, nil, Step{}
}

func with(change func(*Config)) Config {
	c := Default()
	change(&c)
	return c
}

// TestWrapperVectors is W1 to W9. W6 has all its codes.
func TestWrapperVectors(t *testing.T) {
	t.Parallel()
	three := with(func(c *Config) { c.Attempts = 3 })
	type vector struct {
		config Config
		took   time.Duration
		codes  []outcome.Code
		runs   int
		final  outcome.Code
	}
	vectors := map[string]vector{
		"W1":  {three, 0, []outcome.Code{0}, 1, 0},
		"W2":  {three, 0, []outcome.Code{30, 0}, 2, 0},
		"W3":  {three, 0, []outcome.Code{30, 31, 0}, 3, 0},
		"W4":  {three, 0, []outcome.Code{32, 33, 30}, 3, 79},
		"W5":  {three, 0, []outcome.Code{30, 41}, 2, 79},
		"W7":  {Default(), 0, []outcome.Code{30}, 1, 79},
		"W8":  {three.Retried(), 0, []outcome.Code{30}, 1, 79},
		"W9":  {three, 10801 * time.Second, []outcome.Code{40}, 1, 40},
		"W9=": {three, 10800 * time.Second, []outcome.Code{40}, 1, 79},
		"W10": {three, 0, []outcome.Code{30, 50}, 2, 79},
	}
	for _, code := range []outcome.Code{1, 2, 3, 10, 11, 13, 15, 17, 19, 20, 29, 34, 39, 40, 41, 42, 43, 49, 50, 79, 124, 137, 143} {
		vectors["W6 "+outcome.Reason(code)+time.Duration(code).String()] = vector{three, 0, []outcome.Code{code}, 1, 79}
	}
	for name, v := range vectors {
		runs, _, end := play(t, v.config, v.took, v.codes...)
		if runs != v.runs || end.Code != v.final {
			t.Errorf("%s: %d runs, exit %d (%s); want %d, %d", name, runs, end.Code, end.Why, v.runs, v.final)
		}
	}
}

// TestClassesStay: what the CI is asked for changes the exit code, never the class.
func TestClassesStay(t *testing.T) {
	t.Parallel()
	for code, want := range map[outcome.Code]release.Class{
		0: release.ClassOK, 11: release.ClassConfig, 13: release.ClassInfra, 33: release.ClassInfraTimeout, 40: release.ClassCommand,
		41: release.ClassAlert, 42: release.ClassTimeout, 43: release.ClassPrepare, 50: release.ClassUnknown,
	} {
		for ask, asks := range map[Ask]bool{
			AskAll: code != 0, AskNone: false, AskPlatform: code == 13 || code == 33,
		} {
			_, _, end := play(t, with(func(c *Config) { c.Ask = ask }), 0, code)
			final := code
			if asks {
				final = 79
			}
			if end.Class != want || end.Code != final {
				t.Errorf("%d, asking for %s: exit %d, class %s; want %d, %s", code, ask, end.Code, end.Class, final, want)
			}
		}
	}
}

func TestAdvice(t *testing.T) {
	t.Parallel()
	for code, want := range map[outcome.Code]string{
		0: "passed", 30: "likely the infrastructure; restart it", 13: "likely the infrastructure; restart it", 40: "review the logs", 11: "review the logs", 50: "review the logs",
	} {
		if _, _, end := play(t, Default(), 0, code); end.Advice() != want {
			t.Errorf("%d: %q, want %q", code, end.Advice(), want)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	if err := Default().Validate(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Config){
		"W14 no attempts": func(c *Config) { c.Attempts = 0 },
		"a code of 0":     func(c *Config) { c.Again = []outcome.Code{0} },
		"a code of 256":   func(c *Config) { c.RetryMe = 256 },
		"a word":          func(c *Config) { c.Ask = "some" },
		"no span":         func(c *Config) { c.Sleep = Backoff{2, 1} },
	} {
		if with(change).Validate() == nil {
			t.Errorf("%s is valid", name)
		}
	}
}

func TestFromEnv(t *testing.T) {
	t.Parallel()
	from := func(env map[string]string) (Config, error) {
		return FromEnv(Default(), func(name string) string { return env[name] })
	}
	got, err := from(map[string]string{"MAX_RETRIES": "3", "OVERRIDE_SLEEP_TIME": "0"})
	if err != nil || got.Attempts != 3 || got.Sleep != (Backoff{}) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := from(map[string]string{"MAX_RETRIES": "3", "BUILDKITE_RETRY_COUNT": "1"}); err != nil || got.Attempts != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := from(nil); err != nil || got.Attempts != 1 || got.Sleep.Least != 30*time.Minute {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := from(map[string]string{"MAX_RETRIES": "0", "BUILDKITE_RETRY_COUNT": "1"}); err != nil || got.Validate() == nil {
		t.Errorf("no attempts are valid: %+v, %v", got, err)
	}
	for _, name := range []string{"MAX_RETRIES", "BUILDKITE_RETRY_COUNT", "OVERRIDE_SLEEP_TIME"} {
		if _, err := from(map[string]string{name: "many"}); err == nil {
			t.Errorf("%s=many is read", name)
		}
	}
}

// TestW15Spread draws many waits: all within 30 to 90 minutes, both halves used, the same for the same seed.
func TestW15Spread(t *testing.T) {
	t.Parallel()
	b := Default().Sleep
	var early, late int
	for seed := range uint64(10_000) {
		d := b.Draw(seed, 1)
		if d < b.Least || d > b.Most || d%time.Second != 0 {
			t.Fatalf("seed %d draws %s", seed, d)
		}
		if d < time.Hour {
			early++
		} else {
			late++
		}
	}
	if early < 4500 || late < 4500 {
		t.Errorf("%d waits are shorter than an hour and %d are not", early, late)
	}
	if b.Draw(1, 1) != b.Draw(1, 1) || b.Draw(1, 1) == b.Draw(2, 1) && b.Draw(1, 2) == b.Draw(2, 2) {
		t.Error("the seed does not decide")
	}
	if d := (Backoff{time.Second, time.Second}).Draw(5, 1); d != time.Second {
		t.Errorf("a span of one second draws %s", d)
	}
}
