package forge

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// hub is the body of a delivery of GitHub or Gitea, whose forms differ in what they leave out.
type hub struct {
	Action     string      `json:"action"`
	Ref        string      `json:"ref"`
	RefType    string      `json:"ref_type"`
	Before     string      `json:"before"`
	After      string      `json:"after"`
	Deleted    bool        `json:"deleted"`
	Forced     bool        `json:"forced"`
	Number     int32       `json:"number"`
	HeadCommit *hubCommit  `json:"head_commit"`
	Pull       *hubPull    `json:"pull_request"`
	Issue      *hubIssue   `json:"issue"`
	Comment    *hubComment `json:"comment"`
	Review     *struct{}   `json:"review"`
	Repository hubRepo     `json:"repository"`
	Pusher     hubUser     `json:"pusher"`
	Sender     hubUser     `json:"sender"`
}

type hubCommit struct {
	ID      string `json:"id"`
	Message string `json:"message"`
	URL     string `json:"url"`
}

type hubRepo struct {
	FullName string `json:"full_name"`
	CloneURL string `json:"clone_url"`
}

type hubUser struct {
	ID    int64  `json:"id"`
	Login string `json:"login"`
	Name  string `json:"name"`
}

type hubPull struct {
	Number int32   `json:"number"`
	Title  string  `json:"title"`
	URL    string  `json:"html_url"`
	Merged bool    `json:"merged"`
	User   hubUser `json:"user"`
	Base   hubEnd  `json:"base"`
	Head   hubEnd  `json:"head"`
}

// hubEnd is one end of a pull request. The repository of a head may be gone.
type hubEnd struct {
	Ref  string   `json:"ref"`
	SHA  string   `json:"sha"`
	Repo *hubRepo `json:"repo"`
}

// readHub reads a delivery of GitHub or Gitea.
func readHub(event string, payload []byte) (announcement, error) {
	var h hub
	if err := unmarshal(event, payload, &h); err != nil {
		return announcement{}, err
	}
	if err := h.shaped(event); err != nil {
		return announcement{}, err
	}
	switch event {
	case "push":
		return h.push()
	case "pull_request":
		return h.pull()
	case "issue_comment":
		return h.comment()
	case "create":
		return ignore(h.Repository.FullName, fmt.Sprintf("%s %q was made: the push says which commit it is", clip(h.RefType, 20), clip(h.Ref, 100)))
	case "delete":
		return ignore(h.Repository.FullName, fmt.Sprintf("%s %q was deleted", clip(h.RefType, 20), clip(h.Ref, 100)))
	case "ping":
		return ignore(h.Repository.FullName, "ping: the webhook works")
	case "status":
		return ignore(h.Repository.FullName, "a commit's status changed, not its files")
	default:
		return ignore(h.Repository.FullName, fmt.Sprintf("event %q announces no revision", strings.TrimSpace(clip(event, 60)+" "+clip(h.Action, 40))))
	}
}

func unmarshal(event string, payload []byte, into any) error {
	if err := json.Unmarshal(payload, into); err != nil {
		return fault.New(fault.Invalid, "cannot read the delivery of event %q: found %d bytes that begin with %q, expected the forge's JSON: %w",
			clip(event, 60), len(payload), clip(string(payload[:min(len(payload), 40)]), 40), err)
	}
	return nil
}

func (h hub) push() (announcement, error) {
	repo := h.Repository.FullName
	kind, branch, err := refKind(h.Ref)
	switch {
	case err != nil:
		return announcement{}, err
	case h.Deleted || zero(h.After):
		return ignore(repo, h.Ref+" was deleted")
	case kind == "":
		return ignore(repo, h.Ref+" is neither a branch nor a tag")
	case h.HeadCommit == nil && kind == release.Tag:
		return ignore(repo, h.Ref+" leads to no commit that the delivery names")
	}
	c := release.Change{
		Kind: kind, Repo: repo, CloneURL: h.Repository.CloneURL, Ref: h.Ref, Branch: branch, Commit: release.Commit(h.After),
		Forced: h.Forced, Author: clip(firstOf(h.Sender.Login, h.Pusher.Login, h.Pusher.Name), 100),
	}
	if h.HeadCommit != nil {
		c.Commit, c.Title, c.URL = release.Commit(h.HeadCommit.ID), clip(h.HeadCommit.Message, 200), clip(h.HeadCommit.URL, 2000)
	}
	c.Before = before(kind, h.Before, c.Commit)
	return announcement{repo: repo, change: c}, nil
}

func (h hub) pull() (announcement, error) {
	repo := h.Repository.FullName
	if h.Pull == nil {
		return announcement{}, fault.New(fault.Invalid, "cannot read the delivery of event \"pull_request\": found no object pull_request")
	}
	p := h.Pull
	number := max(h.Number, p.Number)
	switch h.Action {
	case "opened", "synchronize", "synchronized", "reopened":
	case "closed":
		return over(p.change(repo, h.Repository.CloneURL, number), p.Merged)
	default:
		return ignore(repo, fmt.Sprintf("pull request %d: %q changes none of its commits", number, clip(h.Action, 40)))
	}
	c := p.change(repo, h.Repository.CloneURL, number)
	c.Before = before(release.Push, h.Before, c.Commit)
	return announcement{repo: repo, change: c, opened: h.Action == "reopened"}, checkPull(c)
}

// change is a pull request at its head.
func (p hubPull) change(repo, cloneURL string, number int32) release.Change {
	head := ""
	if p.Head.Repo != nil {
		head = p.Head.Repo.FullName
	}
	return release.Change{
		Kind: release.PullRequest, Repo: repo, CloneURL: cloneURL, Ref: fmt.Sprintf("refs/pull/%d/head", number),
		Branch: p.Base.Ref, Commit: release.Commit(p.Head.SHA), Author: clip(p.User.Login, 100), Title: clip(p.Title, 200),
		URL: clip(p.URL, 2000), Number: number, HeadRepo: head, HeadRef: p.Head.Ref, Fork: head == "" || head != repo,
	}
}
