package wheels

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/sluiceci/sluice/pkg/dialect/ray/outcome"
	"github.com/sluiceci/sluice/pkg/release"
)

// Kind is what the wheels under test are named by.
type Kind string

// The kinds.
const (
	ByCommit Kind = "commit"
	ByBranch Kind = "branch" // the newest of its last ten commits that has wheels
	ByHead   Kind = "head"   // the newest commit of a branch, whether it has wheels yet or not
	ByURL    Kind = "url"
	ByFile   Kind = "file" // to be uploaded first
)

// Ask is what the wheels under test are.
type Ask struct {
	Kind   Kind
	Repo   Repo
	Commit release.Commit // ByCommit
	URL    string         // ByURL
	Path   string         // ByFile
	Doubt  bool           // ByCommit: the word could be a branch's name too; see Settle
}

// CI is what the CI around says.
type CI struct {
	Commit          string `json:"commit,omitempty"`
	Branch          string `json:"branch,omitempty"`
	PullRequestRepo string `json:"pull_request_repo,omitempty"`
}

var sha = regexp.MustCompile(`^[0-9a-f]{40}$`)

// Parse reads what somebody asked for: nothing (the CI's commit), a URL, file://PATH, a commit, a branch, each of the
// last two as "user:…" or "https://HOST/REPO.git:…", or a ref, "refs/heads/NAME", which is a branch whatever it looks
// like.
func Parse(spec string, ci CI) (Ask, error) {
	if path, ok := strings.CutPrefix(spec, "file://"); ok {
		if path == "" || strings.ContainsRune(path, 0) {
			return Ask{}, outcome.Raise("ReleaseTestCLIError", "cannot use %q: expected the path of a wheel after file://", spec)
		}
		return Ask{Kind: ByFile, Path: path}, nil
	}
	if spec == "" {
		return parseCI(ci)
	}
	if strings.HasPrefix(spec, "http://") || strings.HasPrefix(spec, "https://") {
		return parseAddress(spec)
	}
	owner, name, ok := strings.Cut(spec, ":")
	if !ok {
		return named(spec, "", ci)
	}
	return named(name, owner, ci)
}

// parseCI is the commit that the CI has checked out.
func parseCI(ci CI) (Ask, error) {
	if ci.Commit == "" {
		return Ask{}, outcome.Raise("RayWheelsUnspecifiedError",
			"cannot tell which wheels to test: none are named and the CI names no commit; name some, such as \"master\" for the newest of that branch")
	}
	repo, err := CheckedOut(ci.Branch, ci.PullRequestRepo)
	if err != nil {
		return Ask{}, err
	}
	if !sha.MatchString(ci.Commit) {
		return Ask{Kind: ByHead, Repo: repo}, nil // "HEAD", of a build that somebody started by hand
	}
	return Ask{Kind: ByCommit, Repo: repo, Commit: release.Commit(ci.Commit)}, nil
}

// parseAddress tells a wheel's URL from a repository's with a branch or commit behind it.
func parseAddress(spec string) (Ask, error) {
	u, err := url.Parse(spec)
	if err != nil || u.Host == "" {
		return Ask{}, outcome.Raise("ReleaseTestCLIError", "cannot read %q as a URL", spec)
	}
	scheme := strings.Index(spec, "://") + len("://")
	slash := strings.IndexByte(spec[scheme:], '/')
	if slash < 0 || strings.HasSuffix(u.Path, ".whl") {
		return Ask{Kind: ByURL, URL: spec}, nil
	}
	repo, name, ok := strings.Cut(spec[scheme+slash:], ":")
	if !ok {
		return Ask{Kind: ByURL, URL: spec}, nil
	}
	r, err := parseURL(spec[:scheme+slash] + repo)
	if err != nil {
		return Ask{}, err
	}
	if sha.MatchString(name) {
		return Ask{Kind: ByCommit, Repo: r, Commit: release.Commit(name), Doubt: true}, nil
	}
	r.Branch = strings.TrimPrefix(name, "refs/heads/")
	r, err = checked(r)
	return Ask{Kind: ByBranch, Repo: r}, err
}

// named reads a commit or a branch, of a user or of the main repository.
func named(name, owner string, ci CI) (Ask, error) {
	repo := Repo{Main, DefaultBranch}
	var err error
	switch {
	case owner != "":
		repo, err = fork(owner, "ray", DefaultBranch)
	case sha.MatchString(name):
		repo, err = CheckedOut(ci.Branch, ci.PullRequestRepo)
	}
	if err != nil {
		return Ask{}, err
	}
	if sha.MatchString(name) {
		return Ask{Kind: ByCommit, Repo: repo, Commit: release.Commit(name), Doubt: true}, nil
	}
	repo.Branch = strings.TrimPrefix(name, "refs/heads/")
	repo, err = checked(repo)
	return Ask{Kind: ByBranch, Repo: repo}, err
}

// Settle ends the doubt about 40 hexadecimal digits: what the repository has decides, and where it has both, a person.
func (a Ask) Settle(isCommit, isBranch bool) (Ask, error) {
	name := string(a.Commit)
	switch {
	case !a.Doubt || isCommit && !isBranch:
		a.Doubt = false
		return a, nil
	case isBranch && !isCommit:
		return Ask{Kind: ByBranch, Repo: Repo{a.Repo.URL, name}}, nil
	case isBranch:
		return Ask{}, outcome.Raise("ReleaseTestCLIError",
			"cannot tell what %s is: %s has a commit and a branch of this name; write refs/heads/%s for the branch", name, a.Repo.URL, name)
	default:
		return Ask{}, outcome.Raise("RayWheelsNotFoundError", "cannot find %s: %s has no such commit and no such branch", name, a.Repo.URL)
	}
}
