package wheels

import (
	"regexp"
	"sort"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

var (
	versionLine = regexp.MustCompile(`(?m)^(?:__version__|version)\s*=\s*["']([^"'\s]{1,100})["']`)
	commitLine  = regexp.MustCompile(`(?m)^(?:__commit__|commit)\s*=\s*["']([^"'\n]*)["']`)
)

// VersionIn reads the version from the text of _version.py or __init__.py.
func VersionIn(text string) (string, error) {
	m := versionLine.FindStringSubmatch(text)
	if m == nil {
		return "", fault.New(fault.Invalid, "cannot read the version: found no line version = \"…\"")
	}
	return m[1], nil
}

// CommitIn reads the commit from the text of _version.py: one that a build has written, not the word that it was to
// replace.
func CommitIn(text string) (release.Commit, error) {
	m := commitLine.FindStringSubmatch(text)
	switch {
	case m == nil:
		return "", fault.New(fault.Invalid, "cannot read the commit: found no line commit = \"…\"")
	case !release.Commit(m[1]).Valid():
		return "", fault.New(fault.Invalid, "cannot read the commit: found %q, expected 40 hexadecimal digits; the build did not stamp it", m[1])
	}
	return release.Commit(m[1]), nil
}

// Stamp puts a commit in the place of the word in the text of _version.py.
func Stamp(text string, commit release.Commit) (string, error) {
	const placeholder = "{{RAY_COMMIT_SHA}}"
	switch {
	case !commit.Valid():
		return "", fault.New(fault.Invalid, "cannot stamp the wheel: commit is %q, expected 40 hexadecimal digits", commit)
	case strings.Count(text, placeholder) != 1:
		return "", fault.New(fault.Invalid, "cannot stamp the wheel: found %s %d times, expected once", placeholder, strings.Count(text, placeholder))
	}
	return strings.Replace(text, placeholder, string(commit), 1), nil
}

// Verify holds what wheels carry against the commit that they are to be of. Without an expectation nothing is verified,
// and that is an error, as is a wheel that carries none.
func Verify(expected release.Commit, carried map[string]release.Commit) error {
	if !expected.Valid() {
		return fault.New(fault.Invalid, "cannot verify wheels: the expected commit is %q, expected 40 hexadecimal digits", expected)
	}
	if len(carried) == 0 {
		return fault.New(fault.Invalid, "cannot verify wheels of %s: there are none", expected.Short())
	}
	var wrong []string
	for name, commit := range carried {
		if commit != expected {
			wrong = append(wrong, name+" carries "+given(string(commit), "none"))
		}
	}
	sort.Strings(wrong)
	if len(wrong) > 0 {
		return fault.New(fault.Invalid, "cannot test wheels of %s: %s", expected, strings.Join(wrong, "; "))
	}
	return nil
}
