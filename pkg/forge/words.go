package forge

import (
	"fmt"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// refKind tells a branch, whose name it returns, from a tag. Of any other ref the kind is empty.
func refKind(ref string) (release.ChangeKind, string, error) {
	if !release.ValidRef(ref) {
		return "", "", fault.New(fault.Invalid, "cannot read the delivery of a push: ref is %q, expected a name such as \"refs/heads/master\"", clip(ref, 100))
	}
	if branch, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
		return release.Push, branch, nil
	}
	if strings.HasPrefix(ref, "refs/tags/") {
		return release.Tag, "", nil
	}
	return "", "", nil
}

// before is the head that a branch had. A tag's may be a tag object, and one that equals the commit (a forge's test
// delivery) says nothing.
func before(kind release.ChangeKind, claimed string, commit release.Commit) release.Commit {
	c := release.Commit(claimed)
	if kind != release.Push || !c.Valid() || c == commit {
		return ""
	}
	return c
}

// zero reports whether a forge says "no commit".
func zero(object string) bool { return object != "" && strings.Trim(object, "0") == "" }

// over is a pull request that was closed or merged: it announces no revision, and ends what waits for permission.
func over(c release.Change, merged bool) (announcement, error) {
	why := fmt.Sprintf("pull request %d was closed", c.Number)
	if merged {
		why = fmt.Sprintf("pull request %d was merged: the push to its target says which commit it is", c.Number)
	}
	known := c.Validate() == nil && checkPull(c) == nil // a closed one may lack what an open one has
	return announcement{repo: c.Repo, ignored: why, change: c, closed: known}, nil
}

// checkPull refuses a pull request whose branches could not be named to git.
func checkPull(c release.Change) error {
	for what, branch := range map[string]string{"base": c.Branch, "head": c.HeadRef} {
		name := "refs/heads/" + strings.TrimPrefix(branch, "refs/heads/")
		if branch == "" && what == "head" {
			continue // the repository of the head is gone
		}
		if !release.ValidRef(name) {
			return fault.New(fault.Invalid, "cannot read the delivery of pull request %d: its %s is %q, expected a branch", c.Number, what, clip(branch, 100))
		}
	}
	if c.Number <= 0 {
		return fault.New(fault.Invalid, "cannot read the delivery of a pull request: its number is %d", c.Number)
	}
	return nil
}

func firstOf(some ...string) string {
	for _, s := range some {
		if s != "" {
			return s
		}
	}
	return ""
}
