package forge

import (
	"fmt"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// lab is the body of a delivery of GitLab.
type lab struct {
	Kind        string      `json:"object_kind"`
	Ref         string      `json:"ref"`
	Before      string      `json:"before"`
	After       string      `json:"after"`
	CheckoutSHA string      `json:"checkout_sha"` // null when the ref is gone; of an annotated tag its commit
	UserName    string      `json:"user_username"`
	User        labUser     `json:"user"`
	Project     labProject  `json:"project"`
	Commits     []labCommit `json:"commits"`
	Merge       *labMerge   `json:"object_attributes"`
}

type labUser struct {
	Username string `json:"username"`
}

type labProject struct {
	Path   string `json:"path_with_namespace"`
	GitURL string `json:"git_http_url"`
}

type labCommit struct {
	ID      string `json:"id"`
	Title   string `json:"title"`
	Message string `json:"message"`
	URL     string `json:"url"`
}

type labMerge struct {
	Number     int32       `json:"iid"`
	Action     string      `json:"action"`
	OldRev     string      `json:"oldrev"` // only when commits changed
	Title      string      `json:"title"`
	URL        string      `json:"url"`
	Source     *labProject `json:"source"`
	SourceID   int64       `json:"source_project_id"`
	TargetID   int64       `json:"target_project_id"`
	SourceName string      `json:"source_branch"`
	TargetName string      `json:"target_branch"`
	Last       labCommit   `json:"last_commit"`
}

// readLab reads a delivery of GitLab. A system hook says what it is in its body only.
func readLab(event string, payload []byte) (announcement, error) {
	var kind struct {
		Kind    string     `json:"object_kind"`
		Project labProject `json:"project"`
	}
	if err := unmarshal(event, payload, &kind); err != nil {
		return announcement{}, err
	}
	switch kind.Kind {
	case "push", "tag_push", "merge_request":
	case "note":
		var n labNote
		if err := unmarshal(event, payload, &n); err != nil {
			return announcement{}, err
		}
		return n.comment()
	default:
		return ignore(kind.Project.Path, fmt.Sprintf("event %q of %q announces no revision", clip(event, 60), clip(kind.Kind, 60)))
	}
	// The attributes of other events have other forms, so they are read only now.
	var l lab
	if err := unmarshal(event, payload, &l); err != nil {
		return announcement{}, err
	}
	if kind.Kind == "merge_request" {
		return l.merge()
	}
	return l.push()
}

func (l lab) push() (announcement, error) {
	repo := l.Project.Path
	kind, branch, err := refKind(l.Ref)
	switch {
	case err != nil:
		return announcement{}, err
	case zero(l.After):
		return ignore(repo, l.Ref+" was deleted")
	case kind == "":
		return ignore(repo, l.Ref+" is neither a branch nor a tag")
	case l.CheckoutSHA == "" && kind == release.Tag:
		return ignore(repo, l.Ref+" leads to no commit that the delivery names")
	}
	c := release.Change{
		Kind: kind, Repo: repo, CloneURL: l.Project.GitURL, Ref: l.Ref, Branch: branch,
		Commit: release.Commit(firstOf(l.CheckoutSHA, l.After)), Author: clip(l.UserName, 100),
	}
	c.Before = before(kind, l.Before, c.Commit)
	for _, commit := range l.Commits {
		if commit.ID == string(c.Commit) {
			c.Title, c.URL = clip(firstOf(commit.Title, commit.Message), 200), clip(commit.URL, 2000)
		}
	}
	return announcement{repo: repo, change: c}, nil
}

func (l lab) merge() (announcement, error) {
	repo, m := l.Project.Path, l.Merge
	switch {
	case m == nil:
		return announcement{}, fault.New(fault.Invalid, "cannot read the delivery of a merge request: found no object_attributes")
	case m.Action == "merge", m.Action == "close":
		return over(l.change(m), m.Action == "merge")
	case m.Action == "open", m.Action == "reopen", m.Action == "update" && m.OldRev != "":
	default:
		return ignore(repo, fmt.Sprintf("merge request %d: %q changes none of its commits", m.Number, clip(m.Action, 40)))
	}
	c := l.change(m)
	c.Before = before(release.Push, m.OldRev, c.Commit)
	return announcement{repo: repo, change: c, opened: m.Action == "reopen"}, checkPull(c)
}

// change is a merge request at its head.
func (l lab) change(m *labMerge) release.Change {
	repo, head := l.Project.Path, ""
	if m.Source != nil {
		head = m.Source.Path
	}
	return release.Change{
		Kind: release.PullRequest, Repo: repo, CloneURL: l.Project.GitURL, Ref: fmt.Sprintf("refs/merge-requests/%d/head", m.Number),
		Branch: m.TargetName, Commit: release.Commit(m.Last.ID), Author: clip(l.User.Username, 100), Title: clip(m.Title, 200),
		URL: clip(m.URL, 2000), Number: m.Number, HeadRepo: head, HeadRef: m.SourceName,
		Fork: head == "" || head != repo || m.SourceID != m.TargetID,
	}
}
