package wrapper

import (
	"strconv"
	"time"

	"github.com/sluiceci/sluice/pkg/dialect/ray/outcome"
)

// FromEnv reads what Ray's pipeline sets: MAX_RETRIES, OVERRIDE_SLEEP_TIME, BUILDKITE_RETRY_COUNT. An attempt that the
// CI made because it was asked to makes no others of its own.
func FromEnv(c Config, lookup func(string) string) (Config, error) {
	attempts, err := outcome.Number("MAX_RETRIES", lookup("MAX_RETRIES"), c.Attempts)
	if err != nil {
		return Config{}, err
	}
	retried, err := outcome.Number("BUILDKITE_RETRY_COUNT", lookup("BUILDKITE_RETRY_COUNT"), 0)
	if err != nil {
		return Config{}, err
	}
	sleep, err := outcome.Number("OVERRIDE_SLEEP_TIME", lookup("OVERRIDE_SLEEP_TIME"), 0)
	if err != nil {
		return Config{}, err
	}
	c.Attempts = attempts
	if retried >= 1 {
		c = c.Retried()
	}
	if lookup("OVERRIDE_SLEEP_TIME") != "" {
		c.Sleep = Backoff{time.Duration(sleep) * time.Second, time.Duration(sleep) * time.Second}
	}
	return c, nil
}

// Retried is the contract of a run that the CI tries again.
func (c Config) Retried() Config {
	c.Attempts = min(1, c.Attempts)
	return c
}

// ChildEnv is what the child learns of the contract, by the names that Ray's runner reads.
func (c Config) ChildEnv() []string {
	return []string{
		"BUILDKITE_MAX_RETRIES=1",
		"BUILDKITE_RETRY_CODE=" + strconv.Itoa(int(c.RetryMe)),
		"BUILDKITE_TIME_LIMIT_FOR_RETRY=" + strconv.Itoa(int(c.TimeLimit/time.Second)),
	}
}
