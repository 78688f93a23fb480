// Package access is who may do what over HTTP: roles and whom the installation gives them, tokens and sessions, and the gate
// that stands before every route. The routes say what they need, beside their handlers; nothing else decides.
package access

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
)

// Role is what somebody may do in a project. Each includes those before it.
type Role int

// The roles.
const (
	None       Role = iota
	Viewer          // looks: runs, logs, artifacts
	Developer       // starts, cancels and retries runs, holds gates
	Maintainer      // decides about releases and tests: approves, resumes, jails
	Operator        // runs the installation: pools, places, limits, dead letters
)

func roleNames() []string { return []string{"none", "viewer", "developer", "maintainer", "operator"} }

// ParseRole reads the name of a role.
func ParseRole(name string) (Role, error) {
	if i := slices.Index(roleNames(), name); i > 0 {
		return Role(i), nil
	}
	return None, fault.New(fault.Invalid, "cannot use role %q: expected one of %v", name, roleNames()[1:])
}

func (r Role) String() string {
	if r < None || r > Operator {
		return "none"
	}
	return roleNames()[r]
}

// UnmarshalText reads the name of a role.
func (r *Role) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRole(string(text))
	return err
}

// MarshalText writes the name of a role.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Grant is a role in projects: names, globs, or "*" for all of them.
type Grant struct {
	Role     Role     `yaml:"role" json:"role"`
	Projects []string `yaml:"projects" json:"projects"`
}

// All stands for every project, and for what belongs to none.
const All = "*"

func (g Grant) covers(project string) bool {
	return slices.ContainsFunc(g.Projects, func(p string) bool {
		if p == All {
			return true
		}
		hit, err := path.Match(p, project)
		return err == nil && hit && project != "" && project != All
	})
}

// Identity is who asks.
type Identity struct {
	Subject string // whom the installation knows: "oidc:4711"; "" for nobody in particular
	Name    string // for people, and in facts
	Method  string // how they showed who they are
	Token   string // id of the token or session; "" for those of the installation's file
	Cookie  bool   // shown by a browser without being asked
	Grants  []Grant
	Public  []string // projects that anybody may look at; nobody can give them to others
	Origin  Origin
}

// Origin is what an identity rests on. A token that it makes rests on the same.
type Origin struct {
	Parent  string    // token with which this one ends
	Depth   int       // number of tokens above this one
	Login   string    // the method of the login
	Groups  []string  // that the login told
	Expires time.Time // of the token; of a session only if a token opened it
}

// Anonymous reports whether nobody in particular asks.
func (i Identity) Anonymous() bool { return i.Subject == "" }

// In is the identity's role in a project; In(All) is its role in the whole installation.
func (i Identity) In(project string) Role {
	role := i.own(project)
	if (Grant{Viewer, i.Public}).covers(project) {
		role = max(role, Viewer)
	}
	return role
}

func (i Identity) own(project string) Role {
	role := None
	for _, g := range i.Grants {
		if g.covers(project) {
			role = max(role, g.Role)
		}
	}
	return role
}

// Best is the identity's role in the project where it may do most.
func (i Identity) Best() Role {
	role := None
	if len(i.Public) > 0 {
		role = Viewer
	}
	for _, g := range i.Grants {
		role = max(role, g.Role)
	}
	return role
}

// Sees reports whether the identity may look at a project.
func (i Identity) Sees(project string) bool { return i.In(project) >= Viewer }

// Covers reports whether the identity may give a grant to others: nobody gives what they do not have.
func (i Identity) Covers(g Grant) bool {
	return !slices.ContainsFunc(g.Projects, func(p string) bool {
		if i.own(All) >= g.Role {
			return false
		}
		return !slices.ContainsFunc(i.Grants, func(own Grant) bool {
			return own.Role >= g.Role && (slices.Contains(own.Projects, p) || !globbed(p) && own.covers(p))
		})
	})
}

// globbed reports whether a pattern matches other names than its own text. A backslash makes one too: `\bank` matches "bank",
// and `?????` matches the text `\bank`.
func globbed(p string) bool { return strings.ContainsAny(p, `*?[\`) }

// Stored is the grants as facts hold them.
func stored(grants []Grant) []event.RoleGrant {
	var out []event.RoleGrant
	for _, g := range grants {
		out = append(out, event.RoleGrant{Role: g.Role.String(), Projects: g.Projects})
	}
	return out
}

func restored(grants []event.RoleGrant) []Grant {
	var out []Grant
	for _, g := range grants {
		if role, err := ParseRole(g.Role); err == nil {
			out = append(out, Grant{Role: role, Projects: g.Projects})
		}
	}
	return out
}

type (
	identityKey struct{}
	remoteKey   struct{}
)

// With puts an identity into a context, and the address that it asks from.
func With(ctx context.Context, i Identity, remote string) context.Context {
	return context.WithValue(context.WithValue(ctx, identityKey{}, i), remoteKey{}, remote)
}

// From is the identity of a request that came through the gate; without one it is nobody, who may do nothing.
func From(ctx context.Context) Identity {
	i, _ := ctx.Value(identityKey{}).(Identity)
	return i
}

// Actor is the identity of a request as facts hold it.
func Actor(ctx context.Context) event.Actor {
	i := From(ctx)
	remote, _ := ctx.Value(remoteKey{}).(string)
	return event.Actor{Subject: i.Subject, Method: i.Method, Remote: remote}
}
