package release

import (
	"fmt"
	"path"
	"strings"
	"time"
)

// ChangeKind says how a revision arrived.
type ChangeKind string

// The kinds of change. Schedule, comment and manual changes name the revision that they act on.
const (
	Push        ChangeKind = "push"
	Tag         ChangeKind = "tag"
	PullRequest ChangeKind = "pull_request"
	Schedule    ChangeKind = "schedule"
	Comment     ChangeKind = "comment"
	Manual      ChangeKind = "manual"
)

// Local is the Verified of a change that nobody announced: a working directory that `sluice run` took as it is.
const Local = "local"

// Change is a revision that arrived: what a webhook, the reconciler or a person announced, in one shape for every
// forge.
type Change struct {
	Kind     ChangeKind `json:"kind,omitempty"`
	Project  string     `json:"project,omitempty"`  // the project's name in this installation
	Repo     string     `json:"repo,omitempty"`     // "owner/name" of the repository that hears the change
	CloneURL string     `json:"cloneUrl,omitempty"` // where git fetches the commit from
	Ref      string     `json:"ref,omitempty"`      // "refs/heads/master", "refs/tags/v1", "refs/pull/7/head"
	Branch   string     `json:"branch,omitempty"`   // the branch pushed to; for a pull request its target
	Commit   Commit     `json:"commit,omitempty"`   // peeled: never a tag object
	Before   Commit     `json:"before,omitempty"`   // the branch's head before; empty when unknown or new
	Forced   bool       `json:"forced,omitempty"`   // Before is known not to be an ancestor
	Author   string     `json:"author,omitempty"`
	Title    string     `json:"title,omitempty"` // first line of the commit message, or of the pull request
	URL      string     `json:"url,omitempty"`   // the page of the change on the forge

	Number   int32  `json:"number,omitempty"`   // pull request
	HeadRepo string `json:"headRepo,omitempty"` // pull request: "owner/name" that the commit comes from
	HeadRef  string `json:"headRef,omitempty"`  // pull request: the branch there
	Fork     bool   `json:"fork,omitempty"`     // pull request: HeadRepo is not Repo, or is not known

	Forge    string    `json:"forge,omitempty"`    // "github", "gitlab", "gitea", "git"
	Delivery string    `json:"delivery,omitempty"` // the forge's id of the delivery; "reconcile" for a polled head
	Verified string    `json:"verified,omitempty"` // "signature", "token" (no body integrity), "poll", "api", Local
	Nonce    string    `json:"nonce,omitempty"`    // manual: makes a new run of a commit that had one
	At       time.Time `json:"at,omitzero"`

	Parameters map[string]string `json:"parameters,omitempty"` // manual and comment

	RerunOf RunID  `json:"rerunOf,omitempty"` // the run whose frozen plan is to be run again, as a whole
	RerunBy string `json:"rerunBy,omitempty"` // who asked for that
}

// RunID derives the run that a change belongs to. The same repository, ref and commit is the same run however it was
// announced: a delivery replayed, a head found by polling. The same commit on another branch (a fast-forward merge to the
// release branch) is another run, and so is a pull request of it: a run has one plan and one level of trust, and whoever
// can open a pull request must not decide either for a push.
func (c Change) RunID() RunID {
	return RunID(c.Commit.Short() + "-" + Derive("run", c.Repo, c.Line(), string(c.Commit), c.Nonce)[:8])
}

// Rerun is the change that starts all of a run again on its plan: the same revision, in a run of its own. The same request
// is the same run.
func (c Change) Rerun(of RunID, by, request string) Change {
	c.RerunOf, c.RerunBy, c.Nonce, c.Delivery = of, by, request, ""
	return c
}

// Reopened is the change of a pull request that was closed, and opened again, so many times at this commit. Each time is a run of
// its own where the closing ended the run before.
func (c Change) Reopened(times int) Change {
	if times > 0 {
		c.Nonce = fmt.Sprintf("reopened-%d", times)
	}
	return c
}

// Line is what the commit is the newest of: a branch, a tag, or a pull request, which never shares the line of a branch.
func (c Change) Line() string {
	if branch := "refs/heads/"; c.Kind == PullRequest && (c.Ref == "" || strings.HasPrefix(c.Ref, branch)) {
		return fmt.Sprintf("refs/pull/%d/head", c.Number) // no forge says so, and no delivery may
	}
	return c.Ref
}

// Validate checks what every later step relies on.
func (c Change) Validate() error {
	switch {
	case !c.Commit.Valid():
		return fmt.Errorf("cannot take change of %q: commit is %q, expected 40 hexadecimal digits", c.Repo, c.Commit)
	case c.Repo == "":
		return fmt.Errorf("cannot take change of commit %s: the repository is empty", c.Commit.Short())
	case c.Ref == "":
		return fmt.Errorf("cannot take change of %q at %s: the ref is empty", c.Repo, c.Commit.Short())
	}
	return nil
}

// ReleasePolicy says which changes may publish. The zero policy lets none.
type ReleasePolicy struct {
	Branch    string   `json:"branch,omitempty"`    // the release branch, "master" by default
	Also      []string `json:"also,omitempty"`      // globs of further branches, "releases/*"
	Tags      []string `json:"tags,omitempty"`      // globs of tags that release, "v*"
	Approvals int32    `json:"approvals,omitempty"` // people who must approve before the gate opens
	Denied    string   `json:"denied,omitempty"`    // why the installation lets this change publish nothing, whatever the rest says

	Schedules   bool  `json:"schedules,omitempty"`   // scheduled runs of a release branch may publish too
	RetryBudget int32 `json:"retryBudget,omitempty"` // retries of all runs of a release together; 0 means no limit
}

// Allows reports whether a change may publish, with the reason.
func (p ReleasePolicy) Allows(c Change) (bool, string) {
	switch {
	case p.Denied != "":
		return false, p.Denied
	case c.Verified == Local:
		return false, "a run of a working directory never publishes"
	case c.Kind == PullRequest || c.Fork:
		return false, "a pull request never publishes"
	case c.Kind == Tag:
		for _, glob := range p.Tags {
			if ok, _ := path.Match(glob, strings.TrimPrefix(c.Ref, "refs/tags/")); ok {
				return true, "tag matches " + glob
			}
		}
		return false, fmt.Sprintf("tag %s matches none of release.tags %q", c.Ref, p.Tags)
	case c.Kind == Schedule && !p.Schedules:
		return false, "a schedule run publishes only where gate.on says schedule"
	case c.Kind != Push && c.Kind != Manual && c.Kind != Schedule:
		return false, fmt.Sprintf("a %s run never publishes", c.Kind)
	case p.releases(c.Branch):
		return true, "branch " + c.Branch + " is a release branch"
	default:
		return false, fmt.Sprintf("branch %s is not the release branch %s", c.Branch, p.Branch)
	}
}

// Name is the release that a change is for, if it may publish: a tag, whatever commit it is on, "v1.2"; else one commit of a
// branch, "4f2a9c1d of master".
func (p ReleasePolicy) Name(c Change) string {
	if allowed, _ := p.Allows(c); !allowed {
		return ""
	}
	if c.Kind == Tag {
		return strings.TrimPrefix(c.Ref, "refs/tags/")
	}
	return c.Commit.Short() + " of " + c.Branch
}

func (p ReleasePolicy) releases(branch string) bool {
	if branch == "" {
		return false
	}
	if branch == p.Branch {
		return true
	}
	for _, glob := range p.Also {
		if ok, _ := path.Match(glob, branch); ok {
			return true
		}
	}
	return false
}
