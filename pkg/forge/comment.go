package forge

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// Comment is what a person said about a pull request.
type Comment struct {
	ID       string // the forge's
	Number   int32  // of the pull request
	Author   string
	AuthorID int64 // 0 where the delivery does not say it
	Body     string
	URL      string
	Head     release.Commit // of the pull request; only Gitea and GitLab say it
}

// Answered is part of every answer that PostAnswer writes, so that no answer is taken for a comment.
const Answered = "<!-- sluice:answer "

// maxComment is the largest comment that is read, in bytes: the largest forge takes 1 MB.
const maxComment = 1 << 20

// hubComment is the comment in a delivery of GitHub or Gitea.
type hubComment struct {
	ID   int64  `json:"id"`
	Body string `json:"body"`
	URL  string `json:"html_url"`
	User struct {
		ID    int64  `json:"id"`
		Login string `json:"login"`
		Type  string `json:"type"` // "User" or "Bot"; only GitHub says it
	} `json:"user"`
}

// hubIssue is what a comment is about. Both forges count pull requests among the issues.
type hubIssue struct {
	Number int32     `json:"number"`
	Pull   *struct{} `json:"pull_request"` // absent when it is no pull request
}

// comment reads a comment. One that was changed or deleted later is past: what was said once was done.
func (h hub) comment() (announcement, error) {
	repo := h.Repository.FullName
	switch {
	case h.Comment == nil || h.Issue == nil:
		return announcement{}, fault.New(fault.Invalid, "cannot read the delivery of event \"issue_comment\": found no objects comment and issue")
	case h.Issue.Pull == nil:
		return ignore(repo, fmt.Sprintf("issue %d is no pull request: a comment there is about no revision", h.Issue.Number))
	case h.Action != "created":
		return ignore(repo, fmt.Sprintf("a comment of pull request %d was %s: only what is said anew is heard", h.Issue.Number, clip(h.Action, 40)))
	case h.Comment.User.Type == "Bot":
		return ignore(repo, fmt.Sprintf("%s is a bot: programs are not listened to", clip(h.Comment.User.Login, 60)))
	}
	c := Comment{
		ID: strconv.FormatInt(h.Comment.ID, 10), Number: h.Issue.Number, Author: clip(h.Comment.User.Login, 100),
		AuthorID: h.Comment.User.ID, Body: h.Comment.Body, URL: clip(h.Comment.URL, 2000),
	}
	if h.Pull != nil {
		c.Head = release.Commit(h.Pull.Head.SHA)
	}
	return c.announce(repo)
}

// labNote is the body of GitLab's delivery of a comment.
type labNote struct {
	User struct {
		ID       int64  `json:"id"`
		Username string `json:"username"`
	} `json:"user"`
	Project labProject `json:"project"`
	Note    struct {
		ID     int64  `json:"id"`
		Text   string `json:"note"`
		On     string `json:"noteable_type"`
		Action string `json:"action"` // "create" or "update"; older GitLabs tell of new ones only, without a word
		System bool   `json:"system"` // GitLab's own: "added 1 commit"
		URL    string `json:"url"`
	} `json:"object_attributes"`
	Merge *struct {
		Number int32     `json:"iid"`
		Last   labCommit `json:"last_commit"`
	} `json:"merge_request"`
}

// botNames are what GitLab calls the users of its project and group tokens: project_15_bot_4ffca.
func botName(name string) bool {
	for _, kind := range []string{"project_", "group_"} {
		if rest, ok := strings.CutPrefix(name, kind); ok {
			number, after, _ := strings.Cut(rest, "_")
			if _, err := strconv.Atoi(number); err == nil && strings.HasPrefix(after, "bot") {
				return true
			}
		}
	}
	return false
}

func (n labNote) comment() (announcement, error) {
	repo := n.Project.Path
	switch {
	case n.Note.On != "MergeRequest" || n.Merge == nil:
		return ignore(repo, fmt.Sprintf("a comment on %q is about no merge request", clip(n.Note.On, 40)))
	case n.Note.Action != "create" && n.Note.Action != "":
		return ignore(repo, fmt.Sprintf("a comment of merge request %d was changed (%s): only what is said anew is heard", n.Merge.Number, clip(n.Note.Action, 40)))
	case n.Note.System:
		return ignore(repo, "a note of GitLab's own")
	case botName(n.User.Username):
		return ignore(repo, fmt.Sprintf("%s is a bot: programs are not listened to", clip(n.User.Username, 60)))
	}
	return Comment{
		ID: strconv.FormatInt(n.Note.ID, 10), Number: n.Merge.Number, Author: clip(n.User.Username, 100), AuthorID: n.User.ID,
		Body: n.Note.Text, URL: clip(n.Note.URL, 2000), Head: release.Commit(n.Merge.Last.ID),
	}.announce(repo)
}

// announce checks what every forge's comment must have.
func (c Comment) announce(repo string) (announcement, error) {
	switch {
	case c.ID == "0" || c.Number <= 0 || c.Author == "":
		return announcement{}, fault.New(fault.Invalid, "cannot read the delivery of a comment: found id %s, pull request %d, author %q; expected all three",
			c.ID, c.Number, c.Author)
	case strings.Contains(c.Body, Answered):
		return ignore(repo, "an answer of Sluice's own")
	case len(c.Body) > maxComment:
		return ignore(repo, fmt.Sprintf("the comment has %d bytes, at most %d are read", len(c.Body), maxComment))
	}
	if !c.Head.Valid() {
		c.Head = ""
	}
	return announcement{repo: repo, comment: &c}, nil
}
