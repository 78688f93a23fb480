package client

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// Token is a token or a session, without what it is shown by.
type Token struct {
	ID      string            `json:"id"`
	Kind    string            `json:"kind"`
	Name    string            `json:"name"`
	Owner   string            `json:"owner"`
	Subject string            `json:"subject"`
	Grants  []event.RoleGrant `json:"grants,omitempty"`
	Created time.Time         `json:"created"`
	Expires time.Time         `json:"expires,omitzero"`
	Used    string            `json:"used,omitempty"`
	Revoked time.Time         `json:"revoked,omitzero"`
	By      string            `json:"by,omitempty"`
	State   string            `json:"state"`
}

// Tokens lists one's own tokens and sessions; operators see everybody's.
func (c *Client) Tokens(ctx context.Context) ([]Token, error) {
	page, err := get[struct {
		Tokens []Token `json:"tokens"`
	}](ctx, c, nil, "tokens")
	return page.Tokens, err
}

// NewToken is what a token is to be.
type NewToken struct {
	Name    string            `json:"name"`
	Grants  []event.RoleGrant `json:"grants"`
	Expires time.Time         `json:"expires,omitzero"`
}

// Minted is a new token: what it is shown by is told this once.
type Minted struct {
	ID    string `json:"id"`
	Token string `json:"token"`
}

// CreateToken makes a token. It is not tried again when the connection breaks: the first may have been made.
func (c *Client) CreateToken(ctx context.Context, t NewToken) (Minted, error) {
	return ask[Minted](ctx, c, call{method: "POST", path: []string{"tokens"}, body: t})
}

// RevokeToken ends a token or a session.
func (c *Client) RevokeToken(ctx context.Context, id, reason string) error {
	_, err := c.act(ctx, "", map[string]string{"reason": reason}, "tokens", id, "revoke")
	return err
}

// Deed is what a person did, as the audit lists it.
type Deed struct {
	Seq     uint64        `json:"seq"`
	ID      string        `json:"id"`
	Type    event.Type    `json:"type"`
	At      time.Time     `json:"time"`
	Who     string        `json:"who"`
	Subject string        `json:"subject,omitempty"`
	Method  string        `json:"method,omitempty"`
	Remote  string        `json:"remote,omitempty"`
	Run     release.RunID `json:"run,omitempty"`
	Project string        `json:"project,omitempty"`
	Line    string        `json:"line"`
}

// AuditQuery says whose acts to list, the newest first.
type AuditQuery struct {
	Who, Run, Project string
	Before            uint64
	Limit             int
}

// AuditPage is a part of the list. Next is the Before of the page after it, 0 when there is none.
type AuditPage struct {
	Acts []Deed `json:"acts"`
	Next uint64 `json:"next,omitempty"`
}

// Audit lists what people did.
func (c *Client) Audit(ctx context.Context, q AuditQuery) (AuditPage, error) {
	query := url.Values{"limit": {strconv.Itoa(q.Limit)}}
	for name, value := range map[string]string{"who": q.Who, "run": q.Run, "project": q.Project} {
		if value != "" {
			query.Set(name, value)
		}
	}
	number(query, "before", q.Before)
	return get[AuditPage](ctx, c, query, "audit")
}
