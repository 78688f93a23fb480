package wheels

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/sluiceci/sluice/pkg/dialect/ray/outcome"
	"github.com/sluiceci/sluice/pkg/release"
)

// Repo is a repository and a branch in it.
type Repo struct{ URL, Branch string }

// The repository that releases come from.
const (
	Main          = "https://github.com/ray-project/ray.git"
	DefaultBranch = "master"
)

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`)

// IsMain reports whether the repository is the one that releases come from.
func (r Repo) IsMain() bool {
	return strings.TrimSuffix(r.URL, ".git") == strings.TrimSuffix(Main, ".git")
}

// ParseRepo reads the forms of a repository that Ray's settings know: a URL, a page of a branch, "user:branch", "user".
func ParseRepo(s string) (Repo, error) {
	if strings.Contains(s, "://") {
		return parseURL(s)
	}
	user, branch, _ := strings.Cut(s, ":")
	if branch == "" {
		branch = DefaultBranch
	}
	return fork(user, "ray", branch)
}

// CheckedOut is the repository that a CI has checked out: its branch may be "user:branch", and then the repository is
// that of the pull request, or else the user's.
func CheckedOut(branch, prRepo string) (Repo, error) {
	user, rest, forked := strings.Cut(branch, ":")
	switch {
	case !forked:
		return checked(Repo{Main, given(branch, DefaultBranch)})
	case prRepo == "":
		return fork(user, "ray", rest)
	case strings.Contains(prRepo, "://"):
		r, err := parseURL(prRepo)
		if err != nil {
			return Repo{}, err
		}
		return checked(Repo{r.URL, rest})
	default:
		owner, name, ok := strings.Cut(prRepo, "/")
		if !ok {
			return Repo{}, badRepo(prRepo)
		}
		return fork(owner, strings.TrimSuffix(name, ".git"), rest)
	}
}

func given(s, unset string) string {
	if s == "" {
		return unset
	}
	return s
}

// fork is the repository of a user.
func fork(user, name, branch string) (Repo, error) {
	if !namePattern.MatchString(user) || !namePattern.MatchString(name) {
		return Repo{}, badRepo(user + "/" + name)
	}
	return checked(Repo{"https://github.com/" + user + "/" + name + ".git", branch})
}

// parseURL reads the URL of a repository, or of the page of one of its branches.
func parseURL(s string) (Repo, error) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") == "" {
		return Repo{}, badRepo(s)
	}
	switch u.Scheme {
	case "git":
		u.Scheme = "https"
	case "https", "http":
	default:
		return Repo{}, badRepo(s)
	}
	name, branch, page := strings.Cut(u.Path, "/tree/")
	if !page {
		branch = DefaultBranch
	}
	u.Path, u.RawPath = strings.TrimSuffix(strings.TrimSuffix(name, "/"), ".git")+".git", ""
	return checked(Repo{u.String(), branch})
}

// checked refuses a branch that no repository can have; git reads one that begins with a dash as an option.
func checked(r Repo) (Repo, error) {
	if !release.ValidRef("refs/heads/"+r.Branch) || strings.HasPrefix(r.Branch, "-") {
		return Repo{}, outcome.Raise("ReleaseTestCLIError", "cannot use branch %q: git has no such names", r.Branch)
	}
	return r, nil
}

func badRepo(s string) error {
	return outcome.Raise("ReleaseTestCLIError", "cannot read repository %q: expected https://HOST/USER/NAME.git, USER:BRANCH or USER", s)
}
