package publish

import (
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/release"
)

// TestDefect11TheAnswerToAnUploadIsLookedAt: no status but 2xx is a success.
func TestDefect11TheAnswerToAnUploadIsLookedAt(t *testing.T) {
	t.Parallel()
	for status := range 600 {
		for try := 1; try <= UploadTries; try++ {
			if ok := Uploaded(status, try) == nil; ok != (status >= 200 && status < 300) {
				t.Fatalf("status %d at try %d: success %v", status, try, ok)
			}
		}
	}
}

// TestDefect13WhatIsMissingIsAFailure: jars that cannot be assembled, and a deployment that cannot be made, fail.
func TestDefect13WhatIsMissingIsAFailure(t *testing.T) {
	t.Parallel()
	j := Join{
		Modules: []string{"api", "runtime"}, Platforms: []string{"darwin", "linux"},
		Have: map[string][]string{"linux": {"api", "runtime"}, "darwin": {"api"}},
	}
	if err := j.Done(); err == nil || !strings.Contains(err.Error(), "darwin/runtime") {
		t.Errorf("%v", err)
	}
	j.Have["darwin"] = append(j.Have["darwin"], "runtime")
	if err := j.Done(); err != nil {
		t.Error(err)
	}
	if got := DeployJars(Build{Branch: "master"}, []string{"linux"}); got.Do || got.Outcome() != release.Error {
		t.Errorf("%+v, outcome %q", got, got.Outcome())
	}
}
