package access

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
)

// MaxDepth is how many tokens may be made one with another, in a chain.
const MaxDepth = 4

// identity is whom a token or a session shows now. It is worth nothing when one of the tokens that it was made with has ended, or
// when the installation's file does not give its rights any more.
func (g *Gate) identity(ctx context.Context, t event.TokenCreated) (Identity, error) {
	line, err := g.lineage(ctx, t)
	if err != nil {
		return Identity{}, err
	}
	who := Identity{
		Subject: t.Subject, Name: t.Owner, Method: t.Kind, Token: t.Token, Grants: restored(t.Grants),
		Origin: Origin{Parent: t.Token, Depth: len(line), Login: t.Method, Groups: t.Groups, Expires: t.Expires},
	}
	if t.Kind == event.TokenOfSession { // what is made with it outlives it, and ends with the token that opened it
		who.Origin.Parent, who.Origin.Depth, who.Origin.Expires = t.Parent, len(line)-1, time.Time{}
		if len(line) > 1 {
			who.Origin.Expires = line[1].Expires
		}
	}
	root := line[len(line)-1]
	switch {
	case strings.HasPrefix(t.Subject, "token:"):
		if !slices.ContainsFunc(g.o.Static, func(s Static) bool { return s.stillGives(t.Subject, who.Grants) }) {
			return Identity{}, fault.New(fault.Denied, "cannot act: the installation's file does not give %s these roles any more", t.Subject)
		}
	case strings.HasPrefix(t.Subject, "oidc:"):
		// All that an OIDC provider's people may do stands in the file: what it gives no more, their tokens lose.
		most := Identity{Grants: g.o.Config.granted(root.Subject, "oidc:"+root.Owner, root.Groups)}
		who.Grants = slices.DeleteFunc(who.Grants, func(one Grant) bool { return !most.Covers(one) })
	}
	return who, nil
}

// lineage is a token and those that it was made with, up to one that was made with none. Each of them must hold.
func (g *Gate) lineage(ctx context.Context, t event.TokenCreated) ([]event.TokenCreated, error) {
	line := []event.TokenCreated{t}
	for t.Parent != "" {
		if len(line) > MaxDepth {
			return nil, fault.New(fault.Denied, "cannot act: more than %d tokens were made one with another", MaxDepth)
		}
		var err error
		if t, err = g.ledger.valid(ctx, t.Parent); err != nil {
			return nil, err
		}
		line = append(line, t)
	}
	return line, nil
}
