package ray

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Settings are what a run of the release suite is asked for by its surroundings.
type Settings struct {
	Frequency          Frequency
	PreferSmoke        bool
	Filters            Filters
	Repo, Branch       string // of the tests
	Wheels             string // what is under test, as written
	Priority           int32
	NoConcurrencyLimit bool
}

const (
	promptRepo       = "release-ray-test-repo-branch"
	variableRepo     = "RAY_TEST_REPO"
	variableBranch   = "RAY_TEST_BRANCH"
	variablePreferIt = "RELEASE_PREFER_SMOKE_TESTS"
	variableNoLimit  = "NO_CONCURRENCY_LIMIT"
)

// ReadSettings reads the settings: answers to the CI's prompts before variables before defaults.
func ReadSettings(env, prompts map[string]string) (Settings, error) {
	s := Settings{Frequency: Any}
	value := func(prompt, variable string) string {
		if strings.TrimSpace(prompts[prompt]) != "" {
			return prompts[prompt]
		}
		return env[variable]
	}
	s.Wheels = value("release-ray-wheels", "RAY_WHEELS")
	for _, read := range []func() error{
		func() error {
			return s.frequency(value("release-frequency", "RELEASE_FREQUENCY"), env[variablePreferIt])
		},
		func() error {
			return s.filters(env, prompts)
		},
		func() error { return s.priority(value("release-priority", "RELEASE_PRIORITY")) },
		func() error { return s.limits(prompts["release-no-concurrency-limit"], env[variableNoLimit]) },
		func() error { return s.repo(prompts[promptRepo], env) },
	} {
		if err := read(); err != nil {
			return Settings{}, err
		}
	}
	return s, nil
}

func (s *Settings) frequency(text, prefer string) (err error) {
	if text != "" {
		if s.Frequency, s.PreferSmoke, err = ParseFrequency(text); err != nil {
			return err
		}
	}
	if prefer == "" {
		return nil
	}
	n, err := strconv.Atoi(strings.TrimSpace(prefer))
	if err != nil {
		return numberExpected(variablePreferIt, prefer)
	}
	s.PreferSmoke = n != 0
	return nil
}

func numberExpected(name, found string) error {
	return fault.New(fault.Invalid, "cannot read %s: found %.60q, expected a number: 0 or 1", name, found)
}

// filters reads the filters: those by attribute replace the one by name wholly, and what the CI's prompts say replaces what
// variables say. Today's names of both come before the older ones in prompts, and after them in variables, as Ray has it.
func (s *Settings) filters(env, prompts map[string]string) (err error) {
	for _, source := range []struct{ text, name string }{
		{prompts["release-test-filters"], ""},
		{prompts["release-test-attr-regex-filters"], ""},
		{"", prompts["release-test-name"]},
		{env["TEST_ATTR_REGEX_FILTERS"], ""},
		{env["TEST_FILTERS"], ""},
		{"", env["TEST_NAME"]},
	} {
		switch {
		case strings.TrimSpace(source.text) != "":
			s.Filters, err = ParseFilters(source.text)
			return err
		case strings.TrimSpace(source.name) != "":
			s.Filters, err = NewFilters([]string{"name:" + source.name})
			return err
		}
	}
	return nil
}

func (s *Settings) priority(text string) (err error) {
	if text != "" {
		s.Priority, err = ParsePriority(text)
	}
	return err
}

func (s *Settings) limits(prompt, variable string) error {
	if prompt != "" {
		s.NoConcurrencyLimit = prompt == "yes"
		return nil
	}
	if variable == "" {
		return nil
	}
	n, err := strconv.Atoi(strings.TrimSpace(variable))
	if err != nil {
		return numberExpected(variableNoLimit, variable)
	}
	s.NoConcurrencyLimit = n != 0
	return nil
}

// repo is what was asked for, else that of the build.
func (s *Settings) repo(prompt string, env map[string]string) (err error) {
	switch {
	case prompt != "":
		s.Repo, s.Branch, err = ParseRepo(prompt)
	case env[variableRepo] != "":
		if s.Repo, s.Branch, err = ParseRepo(env[variableRepo]); err == nil && env[variableBranch] != "" {
			s.Branch = env[variableBranch]
		}
	default:
		s.Repo, s.Branch = BuildRepo(env["BUILDKITE_REPO"], env["BUILDKITE_PULL_REQUEST_REPO"], env["BUILDKITE_BRANCH"])
	}
	return err
}

// Request is the selection that the settings ask for.
func (s Settings) Request() Request {
	return Request{Frequency: s.Frequency, PreferSmoke: s.PreferSmoke, Filters: s.Filters}
}

// defaultBranch is the branch that is meant when none is named.
const defaultBranch = "master"

// ParseRepo reads where tests come from: a URL, a URL with /tree/BRANCH, USER:BRANCH or USER, whose fork it is.
func ParseRepo(text string) (url, branch string, err error) {
	text = strings.TrimSpace(text)
	switch {
	case strings.Contains(text, "://"):
		url, branch, _ = strings.Cut(text, "/tree/")
		if branch == "" {
			return url, defaultBranch, nil
		}
		return strings.TrimSuffix(url, ".git") + ".git", branch, nil
	case text == "" || strings.HasPrefix(text, ":") || strings.ContainsAny(text, " \t\n"):
		return "", "", fault.New(fault.Invalid, "cannot read the repository %.80q: expected https://…/repo.git, https://…/repo/tree/BRANCH, USER:BRANCH or USER", text)
	}
	user, branch, _ := strings.Cut(text, ":")
	if branch == "" {
		branch = defaultBranch
	}
	return fork(user), branch, nil
}

func fork(user string) string { return fmt.Sprintf("https://github.com/%s/ray.git", user) }

// BuildRepo is the repository and branch of a CI build. A branch of a fork is "user:branch"; its repository is that of the
// pull request, or where that is not told the user's fork. Git's own protocol, which has no encryption, becomes https.
func BuildRepo(repo, pullRequestRepo, branch string) (url, name string) {
	url, name = repo, branch
	if user, rest, ok := strings.Cut(branch, ":"); ok {
		name = rest
		url = pullRequestRepo
		if url == "" {
			url = fork(user)
		}
	}
	if rest, ok := strings.CutPrefix(url, "git://"); ok {
		url = "https://" + rest
	}
	return url, name
}
