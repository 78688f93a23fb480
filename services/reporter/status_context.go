package reporter

import (
	"strings"

	"github.com/sluiceci/sluice/pkg/release"
)

const (
	statusContext = "sluice"
	// maxContext is how long the name of a status is at most; GitHub and GitLab take 255.
	maxContext = 200
)

// contextOf is what a status is called: "sluice/push/BRANCH", "sluice/tag/TAG", "sluice/pr/TARGET" and so on. One commit may be the
// head of several branches and pull requests, and be tagged. Each has a run of its own, and none may take the place of another's
// status: a pull request to a branch that requires little must not show a success to a branch that requires more.
func contextOf(c release.Change) string {
	words := map[release.ChangeKind]string{release.PullRequest: "pr", release.Push: "push"}
	word, known := words[c.Kind]
	if !known {
		word = string(c.Kind)
	}
	name := c.Branch
	if c.Kind == release.Tag {
		name = strings.TrimPrefix(c.Ref, "refs/tags/")
	}
	if name == "" { // a commit on no branch
		return statusContext + "/" + word
	}
	return shortened(statusContext + "/" + word + "/" + name)
}

// shortened cuts a long name. What it ends with keeps it apart from other long names.
func shortened(name string) string {
	if len(name) <= maxContext {
		return name
	}
	digest := release.Derive("status", name)[:8]
	return strings.ToValidUTF8(name[:maxContext-len(digest)-1], "") + "-" + digest
}
