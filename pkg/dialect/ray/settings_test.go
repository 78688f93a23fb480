package ray

import (
	"strings"
	"testing"
)

// TestSettings has the vectors F18 and F19, and what goes before what.
func TestSettings(t *testing.T) {
	t.Parallel()
	type vars = map[string]string
	for _, c := range []struct {
		name         string
		env, prompts vars
		want         func(Settings) bool
	}{
		{"nothing", nil, nil, func(s Settings) bool {
			return s.Frequency == Any && !s.PreferSmoke && s.Filters == nil && s.Priority == 0 && !s.NoConcurrencyLimit
		}},
		{"F18", vars{"TEST_NAME": "n", "TEST_ATTR_REGEX_FILTERS": "team:x"}, nil, func(s Settings) bool { return len(s.Filters) == 1 && s.Filters[0].Attr == "team" }},
		{"name", vars{"TEST_NAME": "n"}, nil, func(s Settings) bool {
			return len(s.Filters) == 1 && s.Filters[0].Attr == "name" && s.Filters[0].Values[0] == "n"
		}},
		{"filters of today", vars{"TEST_NAME": "n", "TEST_FILTERS": "team:x\nteam:y"}, nil, func(s Settings) bool {
			return len(s.Filters) == 1 && s.Filters[0].Attr == "team" && len(s.Filters[0].Values) == 2
		}},
		{"prompt before filters", vars{"TEST_FILTERS": "team:x"}, vars{"release-test-name": "n"}, func(s Settings) bool { return s.Filters[0].Attr == "name" }},
		{"F19", vars{"RELEASE_FREQUENCY": "any-smoke"}, nil, func(s Settings) bool { return s.Frequency == Any && s.PreferSmoke }},
		{"F19 not preferred", vars{"RELEASE_FREQUENCY": "any-smoke", "RELEASE_PREFER_SMOKE_TESTS": "0"}, nil, func(s Settings) bool { return s.Frequency == Any && !s.PreferSmoke }},
		{"preferred", vars{"RELEASE_FREQUENCY": "NIGHTLY", "RELEASE_PREFER_SMOKE_TESTS": "1"}, nil, func(s Settings) bool { return s.Frequency == Nightly && s.PreferSmoke }},
		{"prompt first", vars{"RELEASE_FREQUENCY": "nightly", "RELEASE_PRIORITY": "high"}, vars{"release-frequency": "weekly"}, func(s Settings) bool {
			return s.Frequency == Weekly && s.Priority == 50
		}},
		{"limits", vars{"NO_CONCURRENCY_LIMIT": "1"}, nil, func(s Settings) bool { return s.NoConcurrencyLimit }},
		{"limits by prompt", vars{"NO_CONCURRENCY_LIMIT": "1"}, vars{"release-no-concurrency-limit": "no"}, func(s Settings) bool { return !s.NoConcurrencyLimit }},
		{"wheels", vars{"RAY_WHEELS": "a"}, vars{"release-ray-wheels": "b"}, func(s Settings) bool { return s.Wheels == "b" }},
		{"repo", vars{"RAY_TEST_REPO": "ada:x", "RAY_TEST_BRANCH": "y"}, nil, func(s Settings) bool { return s.Repo == "https://github.com/ada/ray.git" && s.Branch == "y" }},
		{"repo by prompt", vars{"RAY_TEST_REPO": "ada:x"}, vars{"release-ray-test-repo-branch": "bob:z"}, func(s Settings) bool {
			return s.Repo == "https://github.com/bob/ray.git" && s.Branch == "z"
		}},
		{"repo of the build", vars{"BUILDKITE_REPO": "https://h/r.git", "BUILDKITE_BRANCH": "b"}, nil, func(s Settings) bool { return s.Repo == "https://h/r.git" && s.Branch == "b" }},
	} {
		got, err := ReadSettings(c.env, c.prompts)
		if err != nil || !c.want(got) {
			t.Errorf("%s: got %+v and %v", c.name, got, err)
		}
	}
	for variable, c := range map[string][2]string{
		"RELEASE_FREQUENCY":          {"nightly-smoke", "Frequency not found: nightly-smoke. Must be one of ['manual', 'any', "},
		"RELEASE_PRIORITY":           {"urgent", "Priority not found: urgent. Must be one of ['default', 'manual', 'high', 'highest']"},
		"RELEASE_PREFER_SMOKE_TESTS": {"maybe", "RELEASE_PREFER_SMOKE_TESTS"},
		"NO_CONCURRENCY_LIMIT":       {"maybe", "NO_CONCURRENCY_LIMIT"},
		"TEST_ATTR_REGEX_FILTERS":    {"x", "Should be of the form attr:regex"},
		"RAY_TEST_REPO":              {":x", "cannot read the repository"},
	} {
		if _, err := ReadSettings(map[string]string{variable: c[0]}, nil); err == nil || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%s=%s: got %v, want %q", variable, c[0], err, c[1])
		}
	}
}

// TestRepos has the vectors R1 to R3.
func TestRepos(t *testing.T) {
	t.Parallel()
	for _, c := range [][4]string{
		{"R1", "https://github.com/ray-project/ray.git", "https://github.com/ray-project/ray.git", "master"},
		{"R2", "https://github.com/user/ray/tree/branch/sub", "https://github.com/user/ray.git", "branch/sub"},
		{"R3", "user:branch/sub", "https://github.com/user/ray.git", "branch/sub"},
		{"R3 user", "user", "https://github.com/user/ray.git", "master"},
	} {
		if url, branch, err := ParseRepo(c[1]); err != nil || url != c[2] || branch != c[3] {
			t.Errorf("%s: got %s, %s, %v", c[0], url, branch, err)
		}
	}
}

// TestBuildRepos has the vectors R4 to R6.
func TestBuildRepos(t *testing.T) {
	t.Parallel()
	for _, c := range [][5]string{
		{"R4", "https://github.com/user/ray-fork", "user:some_branch", "https://github.com/user/ray-fork", "some_branch"},
		{"R5", "", "user:some_branch", "https://github.com/user/ray.git", "some_branch"},
		{"R6", "git://github.com/user/ray-fork.git", "user:some_branch", "https://github.com/user/ray-fork.git", "some_branch"},
		{"own branch", "", "some_branch", "https://github.com/ray-project/ray.git", "some_branch"},
	} {
		if url, branch := BuildRepo("https://github.com/ray-project/ray.git", c[1], c[2]); url != c[3] || branch != c[4] {
			t.Errorf("%s: got %s, %s", c[0], url, branch)
		}
	}
}

// TestPriorities is vector R7.
func TestPriorities(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int32{"default": 0, "manual": 10, "high": 50, "highest": 100} {
		if got, err := ParsePriority(name); err != nil || got != want {
			t.Errorf("R7 %s: got %d and %v, want %d", name, got, err, want)
		}
	}
	if _, err := ParsePriority("urgent"); err == nil {
		t.Error("R7: urgent is no priority")
	}
}
