package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// minted is what a request says of a new token.
type minted struct {
	Grants  []access.Grant `json:"grants,omitempty"`
	Expires time.Time      `json:"expires,omitzero"`
}

const (
	tokenTime = 90 * 24 * time.Hour
	tokenMost = 366 * 24 * time.Hour
	maxGrants = 50

	maxProjects = 200 // of one role
)

// TokenStatus is a token or a session as it is shown: never what it is shown by.
type TokenStatus struct {
	Token   string            `json:"id"`
	Kind    string            `json:"kind"`
	Name    string            `json:"name"`
	Owner   string            `json:"owner"`
	Subject string            `json:"subject"`
	Grants  []event.RoleGrant `json:"grants,omitempty"`
	Created time.Time         `json:"created"`
	Expires time.Time         `json:"expires,omitzero"`
	Used    string            `json:"used,omitempty"` // day of the last use
	Revoked time.Time         `json:"revoked,omitzero"`
	By      string            `json:"by,omitempty"` // who revoked it
	State   string            `json:"state"`        // valid, expired, revoked
}

// tokenActions is what a person can do about tokens. Everybody may make one that can do what they can, or less.
func (g *gateway) tokenActions() []action {
	return []action{
		{"POST /api/v1/tokens", access.Any(access.Viewer), g.createToken},
		{"POST /api/v1/tokens/{token}/revoke", access.Any(access.Viewer), g.revokeToken},
	}
}

// createToken makes a token for whoever asks. It is told once: the stream has its digest.
func (g *gateway) createToken(ctx context.Context, r request) (done, error) {
	now := g.deps.Now()
	m, origin := r.body.minted, r.who.Origin
	if m.Expires.IsZero() {
		m.Expires = now.Add(tokenTime)
		if !origin.Expires.IsZero() && origin.Expires.Before(m.Expires) {
			m.Expires = origin.Expires
		}
	}
	switch {
	case origin.Depth >= access.MaxDepth:
		return done{}, fault.New(fault.Invalid, "cannot make a token with this one: it is itself one of %d that were made one with another; sign in, or use one above it", origin.Depth)
	case !origin.Expires.IsZero() && m.Expires.After(origin.Expires):
		return done{}, fault.New(fault.Invalid, "cannot make a token until %s: it ends with the one that makes it, at %s", m.Expires.Format(time.RFC3339), origin.Expires.Format(time.RFC3339))
	case r.body.Name == "" || !plain(r.body.Name, maxName):
		return done{}, fault.New(fault.Invalid, "cannot make a token named %.50q: expected a name of 1 to %d bytes, which tells what it is for", r.body.Name, maxName)
	case !m.Expires.After(now) || m.Expires.After(now.Add(tokenMost)):
		return done{}, fault.New(fault.Invalid, "cannot make a token until %s: expected a time within the next year", m.Expires.Format(time.RFC3339))
	case len(m.Grants) == 0 || len(m.Grants) > maxGrants:
		return done{}, fault.New(fault.Invalid, "cannot make a token with %d roles: expected 1 to %d, such as {\"role\": \"developer\", \"projects\": [\"rillkit\"]}", len(m.Grants), maxGrants)
	}
	say := event.TokenCreated{
		Kind: event.TokenOfAPI, Name: r.body.Name, Subject: r.who.Subject, Owner: r.by, Method: cmp.Or(origin.Login, r.who.Method),
		Groups: origin.Groups, Parent: origin.Parent, Expires: m.Expires.UTC(), By: r.by,
	}
	for _, grant := range m.Grants {
		if grant.Role == access.None || len(grant.Projects) == 0 || len(grant.Projects) > maxProjects || !r.who.Covers(grant) {
			return done{}, fault.New(fault.Denied, "cannot make a token with role %s in %v: expected a role and projects that are yours to give", grant.Role, grant.Projects)
		}
		say.Grants = append(say.Grants, event.RoleGrant{Role: grant.Role.String(), Projects: grant.Projects})
	}
	text, fact := access.Mint(say)
	id, err := g.say(ctx, event.Fleet, fact)
	return done{Event: id, ID: fact.Token, Secret: text}, err
}

// revokeToken ends a token or a session: one's own, or anybody's for operators.
func (g *gateway) revokeToken(ctx context.Context, r request) (done, error) {
	id := r.path("token")
	unknown := absent("cannot find token %.40q; list them with sluice tokens list", id)
	if !release.Token(id) {
		return done{}, unknown
	}
	all, err := g.tokens(ctx, id)
	if err != nil {
		return done{}, err
	}
	if len(all) == 0 || !visible(r.who, all[0]) {
		return done{}, unknown
	}
	event, err := g.say(ctx, event.Fleet, event.TokenRevoked{Token: id, By: r.by, Reason: r.body.Reason})
	return done{Event: event, ID: id}, err
}

// visible: tokens are shown to whom they belong, and to operators. Whoever shows a token sees no sessions, and no token that can do
// more: one that leaks ends none of them.
func visible(who access.Identity, t TokenStatus) bool {
	switch {
	case who.Anonymous():
		return false
	case who.In(access.All) >= access.Operator:
		return true
	case t.Subject != who.Subject:
		return false
	case who.Method == event.TokenOfAPI && who.Token != "" && who.Token != t.Token:
		return t.Kind == event.TokenOfAPI && !slices.ContainsFunc(t.Grants, func(g event.RoleGrant) bool {
			role, err := access.ParseRole(g.Role)
			return err != nil || !who.Covers(access.Grant{Role: role, Projects: g.Projects})
		})
	default:
		return true
	}
}

func (g *gateway) tokenList() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all, err := g.tokens(r.Context(), "")
		if err != nil {
			g.refuse(r.Context(), err, w)
			return
		}
		who := access.From(r.Context())
		all = slices.DeleteFunc(all, func(t TokenStatus) bool { return !visible(who, t) })
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string][]TokenStatus{"tokens": all}) // the asker is gone when this fails
	})
}

// tokens folds what was said of tokens, of one or of all, the newest first.
func (g *gateway) tokens(ctx context.Context, id string) ([]TokenStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var keys []string
	if id != "" {
		keys = []string{id}
	}
	known := map[string]*TokenStatus{}
	types := []event.Type{event.TypeTokenCreated, event.TypeTokenRevoked, event.TypeTokenUsed}
	err := g.history(ctx, types, func(e event.Event) { foldToken(known, e) }, keys)
	now, out := g.deps.Now(), []TokenStatus{}
	for _, t := range known {
		if t.Token == "" {
			continue
		}
		switch t.State = "valid"; {
		case !t.Revoked.IsZero():
			t.State = "revoked"
		case !t.Expires.IsZero() && !now.Before(t.Expires):
			t.State = "expired"
		}
		out = append(out, *t)
	}
	slices.SortFunc(out, func(a, b TokenStatus) int { return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.Token, b.Token)) })
	return out, err
}

func foldToken(known map[string]*TokenStatus, e event.Event) {
	of := func(id string) *TokenStatus {
		if known[id] == nil {
			known[id] = &TokenStatus{}
		}
		return known[id]
	}
	switch d := e.Data.(type) {
	case event.TokenCreated:
		t := of(d.Token)
		t.Token, t.Kind, t.Name, t.Owner, t.Subject = d.Token, d.Kind, d.Name, d.Owner, d.Subject
		t.Grants, t.Created, t.Expires = d.Grants, e.Time, d.Expires
	case event.TokenRevoked:
		t := of(d.Token)
		t.Revoked, t.By = e.Time, d.By
	case event.TokenUsed:
		t := of(d.Token)
		t.Used = max(t.Used, d.Day)
	}
}
