package outcome

import (
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/release"
)

// TestDefect08RealFailuresAreNeverTransient: no failure of the product, of the definition, or that nobody understood,
// is called transient, whatever is left of the CI's retries.
func TestDefect08RealFailuresAreNeverTransient(t *testing.T) {
	t.Parallel()
	generous := Limits{MaxRetries: 9, TimeLimit: 24 * time.Hour}
	for _, row := range Table() {
		for _, e := range row.Exceptions {
			v := Classify(e, time.Second, generous)
			if v.Class.Outcome() == release.Failure && v.Status == StatusTransient {
				t.Errorf("%s is the product's fault and called %s", e, v)
			}
			if v.Class == release.ClassConfig && v.Status == StatusTransient {
				t.Errorf("%s stays wrong and is called %s", e, v)
			}
			if v.Class != row.Class {
				t.Errorf("%s: the class changed from %s to %s with what is left", e, row.Class, v.Class)
			}
		}
	}
}

// TestDefect05RetriesAreAlive: what Sluice's scheduler makes of a test's policy does retry infrastructure timeouts,
// after at least 30 and at most 90 minutes; and never what the product did.
func TestDefect05RetriesAreAlive(t *testing.T) {
	t.Parallel()
	alive := map[release.Class]release.Retry{}
	for _, r := range Retries() {
		alive[r.Class] = r
		if r.Class.Outcome() != release.Error {
			t.Errorf("%s is retried", r.Class)
		}
	}
	r := alive[release.ClassInfraTimeout]
	if r.Limit < 1 || r.Backoff != release.Random || r.Wait.Std() != 30*time.Minute || r.Max.Std() != 90*time.Minute {
		t.Errorf("infra_timeout: %+v", r)
	}
}

// TestDefect16ErrorsBeforeTheRunHaveTheirCode: 10 and 11, not 1.
func TestDefect16ErrorsBeforeTheRunHaveTheirCode(t *testing.T) {
	t.Parallel()
	if got := CodeOf(Raise("ReleaseTestCLIError", "cannot find test %q", "x")); got != 10 {
		t.Errorf("an unknown test is code %d, want 10", got)
	}
	if got := CodeOf(Raise("ReleaseTestConfigError", "cannot find environment %q", "x")); got != 11 {
		t.Errorf("an unknown environment is code %d, want 11", got)
	}
}
