package event

import (
	"time"

	"github.com/sluiceci/sluice/pkg/release"
)

// CommentReceived says that somebody wrote directives into a comment of a pull request. Who that is on the forge, and
// what the pull request's head is, is found out next.
type CommentReceived struct {
	Comment  string         `json:"comment,omitempty"` // derived from the forge's id of it
	Project  string         `json:"project,omitempty"`
	Number   int32          `json:"number,omitempty"` // of the pull request
	Author   string         `json:"author,omitempty"`
	AuthorID int64          `json:"authorId,omitempty,string"` // where the forge asks for one
	Text     string         `json:"text,omitempty"`            // the directives, each on the line where it stands; no talk
	Head     release.Commit `json:"head,omitempty"`            // of the pull request, where the delivery says it
	URL      string         `json:"url,omitempty"`
	Forge    string         `json:"forge,omitempty"`
	Delivery string         `json:"delivery,omitempty"`
	Verified string         `json:"verified,omitempty"`
	At       time.Time      `json:"at,omitzero"`
}

// CommentResolved binds a comment to a commit, once and for all: what the forge said of its author and of the pull
// request's head when it was asked.
type CommentResolved struct {
	Comment    string         `json:"comment,omitempty"`
	Project    string         `json:"project,omitempty"`
	Number     int32          `json:"number,omitempty"`
	Author     string         `json:"author,omitempty"`
	Permission string         `json:"permission,omitempty"` // of the author: "read", "write", "admin", or none
	Text       string         `json:"text,omitempty"`
	Pull       release.Change `json:"pull,omitzero"` // the pull request at its head
	Open       bool           `json:"open,omitempty"`
	Moved      bool           `json:"moved,omitempty"` // the head is another than the comment's author saw
}

// CommentAnswered is what the author of a comment is told, in Markdown, on the forge.
type CommentAnswered struct {
	Comment string `json:"comment,omitempty"`
	Project string `json:"project,omitempty"`
	Number  int32  `json:"number,omitempty"`
	Text    string `json:"text,omitempty"`
}

// EventType, Key: see Payload.
func (CommentReceived) EventType() Type { return TypeCommentReceived }
func (c CommentReceived) Key() string   { return commentKey(c.Project, c.Number, c.Comment) }

func (CommentResolved) EventType() Type { return TypeCommentResolved }
func (c CommentResolved) Key() string   { return commentKey(c.Project, c.Number, c.Comment) }

func (CommentAnswered) EventType() Type { return TypeCommentAnswered }
func (c CommentAnswered) Key() string   { return commentKey(c.Project, c.Number, c.Comment) }

func commentKey(project string, n int32, comment string) string {
	return release.Slug(project) + "." + number(n) + "." + comment
}
