package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"slices"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
)

func (s Static) identity() Identity {
	grant := Grant{Role: s.Role, Projects: s.Projects}
	if grant.Role == None {
		grant.Role = Operator
	}
	if len(grant.Projects) == 0 {
		grant.Projects = []string{All}
	}
	return Identity{Subject: "token:" + s.Owner, Name: s.Owner, Method: event.TokenOfAPI, Grants: []Grant{grant}}
}

// stillGives reports whether a session that was opened with a token of the file is still worth what it was.
func (s Static) stillGives(subject string, grants []Grant) bool {
	now := s.identity()
	return now.Subject == subject && !slices.ContainsFunc(grants, func(g Grant) bool { return !now.Covers(g) })
}

// static finds a token of the installation's file. Every one is compared, each in constant time: of digests, so that not
// even a length is told. A token whose value is missing keeps nobody else out.
func (g *Gate) static(text string) (Static, error) {
	shown := sha256.Sum256([]byte(text))
	var found *Static
	var missing error
	for i, t := range g.o.Static {
		value, err := g.o.Secret(t.Secret)
		want := sha256.Sum256([]byte(value))
		missing = errors.Join(missing, err)
		if subtle.ConstantTimeCompare(shown[:], want[:]) == 1 && err == nil && value != "" {
			found = &g.o.Static[i]
		}
	}
	switch {
	case found != nil:
		return *found, nil
	case missing != nil:
		return Static{}, fault.New(fault.Internal, "cannot check the token: %w", missing)
	default:
		return Static{}, unknown(unknownToken())
	}
}
