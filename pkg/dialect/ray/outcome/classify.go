package outcome

import (
	"fmt"
	"strconv"
	"time"

	"github.com/sluiceci/sluice/pkg/release"
)

// Limits are what a CI lets a test have: how often it was tried, how often it may be, and how long an attempt may have
// taken for another to be worth it.
type Limits struct {
	RetryCount int // attempts before this one
	MaxRetries int // that the CI makes
	TimeLimit  time.Duration
}

// LimitsFrom reads the limits from the variables of the CI.
func LimitsFrom(lookup func(string) string) (Limits, error) {
	var l Limits
	var seconds int
	for _, v := range []struct {
		name  string
		unset int
		into  *int
	}{
		{"BUILDKITE_RETRY_COUNT", 0, &l.RetryCount},
		{"BUILDKITE_MAX_RETRIES", 1, &l.MaxRetries},
		{"BUILDKITE_TIME_LIMIT_FOR_RETRY", 0, &seconds},
	} {
		n, err := Number(v.name, lookup(v.name), v.unset)
		if err != nil {
			return Limits{}, err
		}
		*v.into = n
	}
	l.TimeLimit = time.Duration(seconds) * time.Second
	return l, nil
}

// Number reads a variable that holds a whole number of at least 0, or is not set.
func Number(name, text string, unset int) (int, error) {
	if text == "" {
		return unset, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 1e9 {
		return 0, Raise("ReleaseTestCLIError", "cannot read %s: found %q, expected a whole number of at least 0", name, text)
	}
	return n, nil
}

// left reports whether the CI would make another attempt after one that took so long.
func (l Limits) left(took time.Duration) bool {
	return l.RetryCount < l.MaxRetries && took <= l.TimeLimit
}

// Verdict is how an attempt ended.
type Verdict struct {
	Code      Code
	Status    Status
	Class     release.Class
	Exception string
	Runtime   time.Duration // what the record says; 0 where a duration would mislead
}

// Classify says how an attempt ended that an exception ended after a while. The status is transient when the cause is
// the platform's and another attempt is left; the class is the cause, however many attempts are left.
func Classify(exception string, took time.Duration, l Limits) Verdict {
	row := OfException(exception)
	v := Verdict{Code: row.Code, Status: row.Status, Class: row.Class, Exception: exception, Runtime: took}
	if row.NoRuntime {
		v.Runtime = 0
	}
	if v.platform() && l.left(took) {
		v.Status = StatusTransient
	}
	return v
}

// platform reports whether the failure can pass by itself: the machine's, the network's, the cluster's. A wrong
// definition stays wrong, and what nobody understood is nobody's excuse.
func (v Verdict) platform() bool {
	switch v.Class {
	case release.ClassInfra, release.ClassInfraTimeout, release.ClassSetup:
		return true
	default:
		return false
	}
}

// Retries is the policy that Sluice's scheduler has for Ray's tests: what is a matter of capacity is tried again after 30
// to 90 minutes, held by a timer and not by a runner; what a machine did, sooner; what the product did, never.
func Retries() []release.Retry {
	return []release.Retry{
		{Class: release.ClassLost, Limit: 1},
		{Class: release.ClassInfra, Limit: 1, Wait: release.Duration(time.Minute), Max: release.Duration(10 * time.Minute)},
		{
			Class: release.ClassInfraTimeout, Limit: 1, Backoff: release.Random,
			Wait: release.Duration(30 * time.Minute), Max: release.Duration(90 * time.Minute),
		},
	}
}

func (v Verdict) String() string {
	return fmt.Sprintf("%s (code %d, class %s)", v.Status, v.Code, v.Class)
}
