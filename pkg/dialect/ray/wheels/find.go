package wheels

import (
	"net/url"
	"path"
	"strings"

	"github.com/sluiceci/sluice/pkg/dialect/ray/outcome"
	"github.com/sluiceci/sluice/pkg/release"
)

// Buckets are where wheels are kept, as URLs without a slash at their end.
type Buckets struct{ Wheels, PullRequests string }

// Address is where the wheel of a commit is, or will be.
func (b Buckets) Address(r Repo, commit release.Commit, version string, p Python) string {
	file := File("ray", version, p, LinuxX86)
	if r.IsMain() {
		return b.Wheels + "/" + r.Branch + "/" + string(commit) + "/" + file
	}
	return b.PullRequests + "/" + string(commit) + "/tmp/artifacts/.whl/" + file
}

// Depth is how many commits of a branch are looked at.
const Depth = 10

// Candidate is a commit of a branch, and where its wheel would be.
type Candidate struct {
	Commit release.Commit
	URL    string
}

// Search is the search for the newest commit of a branch that has wheels: Candidates newest first, and for each of the
// first len(Exists) whether it is there.
type Search struct {
	Repo       Repo
	Candidates []Candidate
	Exists     []bool
}

// Next gives the candidate that is found, or the one to ask for next.
func (s Search) Next() (c Candidate, found bool, err error) {
	last := min(len(s.Candidates), Depth)
	for i, exists := range s.Exists[:min(last, len(s.Exists))] {
		if exists {
			return s.Candidates[i], true, nil
		}
	}
	if len(s.Exists) < last {
		return s.Candidates[len(s.Exists)], false, nil
	}
	return Candidate{}, false, outcome.Raise("RayWheelsNotFoundError",
		"cannot find wheels of branch %s of %s: none of its last %d commits has any; wait for its build, or name another branch", s.Repo.Branch, s.Repo.URL, last)
}

// Late is what a wait for a wheel ends with when its time is over.
func Late(address string, waited string) error {
	return outcome.Raise("RayWheelsTimeoutError", "cannot find %s: it did not come within %s; see whether its build failed", address, waited)
}

// CommitOf is the commit that a wheel's URL names: the folder that the wheel is in. "" when it names none.
func CommitOf(address string) release.Commit {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	for _, part := range strings.Split(path.Dir(u.Path), "/") {
		if sha.MatchString(part) {
			return release.Commit(part)
		}
	}
	return ""
}
