package event

import "time"

// Actor is who asked for what an event says, over HTTP: the events of people carry it in their envelope.
type Actor struct {
	Subject string // whom the installation knows: "oidc:4711", "github:ada", "token:ada"
	Method  string // how they showed it: "token", "session", or the kind of login
	Remote  string // the address that the request came from
}

// The kinds of tokens.
const (
	TokenOfAPI     = "token"
	TokenOfSession = "session" // that a login made
)

// TokenCreated says that somebody may act until a time. The token itself is known to its owner only: here is its digest.
type TokenCreated struct {
	Token   string      `json:"token,omitempty"` // id, which is a part of the token
	Kind    string      `json:"kind,omitempty"`
	Name    string      `json:"name,omitempty"`
	Subject string      `json:"subject,omitempty"` // as whom its bearer acts
	Owner   string      `json:"owner,omitempty"`   // the subject's name for people
	Method  string      `json:"method,omitempty"`  // how they showed who they are when it was made
	Hash    string      `json:"hash,omitempty"`    // sha256 of the token, hex
	Grants  []RoleGrant `json:"grants,omitempty"`  // of its own
	Groups  []string    `json:"groups,omitempty"`  // of the subject, whose roles the installation says
	Parent  string      `json:"parent,omitempty"`  // of a session: the token that it was opened with, with which it ends
	Expires time.Time   `json:"expires,omitzero"`
	By      string      `json:"by,omitempty"`
}

// RoleGrant is a role in projects; "*" is every project.
type RoleGrant struct {
	Role     string   `json:"role,omitempty"`
	Projects []string `json:"projects,omitempty"`
}

// TokenRevoked says that a token is worth nothing any more.
type TokenRevoked struct {
	Token  string `json:"token,omitempty"`
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// TokenUsed says that a token was used on a day, of UTC.
type TokenUsed struct {
	Token string `json:"token,omitempty"`
	Day   string `json:"day,omitempty"` // 2026-11-22
}

// DeadLetterReplayed says that somebody gave a dead letter to its consumer again, which took it.
type DeadLetterReplayed struct {
	Request string `json:"request,omitempty"`
	Letter  int64  `json:"letter,omitempty,string"` // its place in the stream of dead letters
	By      string `json:"by,omitempty"`
}

// EventType, Key: see Payload.
func (TokenCreated) EventType() Type       { return TypeTokenCreated }
func (t TokenCreated) Key() string         { return t.Token }
func (TokenRevoked) EventType() Type       { return TypeTokenRevoked }
func (t TokenRevoked) Key() string         { return t.Token }
func (TokenUsed) EventType() Type          { return TypeTokenUsed }
func (t TokenUsed) Key() string            { return t.Token + "." + t.Day }
func (DeadLetterReplayed) EventType() Type { return TypeDeadLetterReplayed }
func (d DeadLetterReplayed) Key() string {
	return long(d.Letter) + "." + d.Request
}
