package gateway

import (
	"context"
	"strings"
	"sync"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// trigger starts a run of a commit, or of a branch's head. Each request is a run of its own; the same request again is
// the same run, also when the branch has moved meanwhile.
func (g *gateway) trigger(ctx context.Context, r request) (done, error) {
	change, err := g.asked(ctx, r)
	if err != nil {
		return done{}, err
	}
	run, event, err := g.announce(ctx, change)
	return done{Run: run, Event: event}, err
}

// asked is the change that a request means.
func (g *gateway) asked(ctx context.Context, r request) (release.Change, error) {
	p, err := g.in(r, access.Developer)
	if err != nil {
		return release.Change{}, err
	}
	if c, again := g.triggers.get(r.id); again {
		return c, nil
	}
	change := release.Change{
		Kind: release.Manual, Project: p.Name, Repo: p.Repo, CloneURL: p.CloneURL, Forge: p.Forge, Commit: r.body.Commit,
		Ref: "refs/heads/" + r.body.Branch, Branch: r.body.Branch, Author: r.by, Title: "started by " + r.by,
		Verified: "api", Nonce: r.id, Parameters: r.body.Parameters,
	}
	if err := g.locate(ctx, p, &change); err != nil {
		return release.Change{}, err
	}
	if err := change.Validate(); err != nil {
		return release.Change{}, fault.As(fault.Invalid, err)
	}
	return g.triggers.put(r.id, change), nil
}

func (g *gateway) project(name string) (Project, error) {
	var names []string
	for _, p := range g.config.Projects {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Project{}, fault.New(fault.Invalid, "cannot find project %q; there are: %s", name, strings.Join(names, ", "))
}

// locate fills in the commit of a branch, or checks that a commit was named. A commit alone is on no branch, and so it
// can never publish.
func (g *gateway) locate(ctx context.Context, p Project, c *release.Change) error {
	if c.Branch == "" {
		if c.Commit == "" {
			return fault.New(fault.Invalid, "cannot start a run: name a branch or a commit")
		}
		c.Ref = "refs/commits/" + string(c.Commit)
		return nil
	}
	if !release.ValidRef(c.Ref) {
		return fault.New(fault.Invalid, "cannot start a run: %q is no branch's name", c.Branch)
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	heads, err := g.git.LsRemote(ctx, p.CloneURL, c.Ref)
	if err != nil {
		return unavailable(err)
	}
	head, ok := heads[c.Ref]
	switch {
	case !ok:
		return fault.New(fault.Invalid, "cannot start a run: %s has no branch %q", p.Repo, c.Branch)
	case c.Commit == "":
		c.Commit = head
	case c.Commit != head:
		return fault.New(fault.Invalid, "cannot start a run: commit %s is not the head of %s, which is %s; name the commit alone",
			c.Commit.Short(), c.Branch, head.Short())
	}
	return nil
}

// unavailable is an error of the remote: whatever it says of the gateway's own rights there, it says nothing of the
// person's.
func unavailable(err error) error {
	if fault.Is(err, fault.Transient) {
		return err
	}
	return fault.New(fault.Internal, "cannot start a run: %w", err)
}

// memory is what the last triggers meant. A client whose connection broke asks again within seconds, and the branch may
// have moved by then. It is no fact: without it, such a client starts the run of the newer head.
type memory struct {
	mu      sync.Mutex
	changes map[string]release.Change
	order   []string
}

const remembered = 1000

func (m *memory) get(id string) (release.Change, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.changes[id]
	return c, ok
}

// put remembers a change, unless the same request, made twice at once, was remembered first; it returns what is.
func (m *memory) put(id string, c release.Change) release.Change {
	m.mu.Lock()
	defer m.mu.Unlock()
	if first, ok := m.changes[id]; ok {
		return first
	}
	if m.changes == nil {
		m.changes = map[string]release.Change{}
	}
	m.changes[id], m.order = c, append(m.order, id)
	if len(m.order) > remembered {
		delete(m.changes, m.order[0])
		m.order = m.order[1:]
	}
	return c
}
