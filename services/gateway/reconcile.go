package gateway

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

const (
	lookTimeout = 30 * time.Second      // of one look at a project's remote
	stagger     = 20 * time.Millisecond // between the first looks of two projects
)

// reconcile looks at a project's watched branches for ever and starts what no webhook announced. A forge that does not
// answer delays its own project only.
func (g *gateway) reconcile(ctx context.Context, p Project, wait time.Duration) error {
	seen := map[string]release.Commit{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		if err := g.look(ctx, p, seen); err != nil && ctx.Err() == nil {
			g.deps.Log.Warn("cannot look at the watched branches; trying again", "project", p.Name, "err", err)
		}
		wait = jitter(g.config.Poll)
	}
}

// jitter spreads the looks of many projects: between three and five quarters of d.
func jitter(d time.Duration) time.Duration { return d*3/4 + rand.N(d/2) }

// look announces each watched head that it has not announced yet. A head whose run was started by a webhook is announced
// again and changes nothing: its place is taken.
func (g *gateway) look(ctx context.Context, p Project, seen map[string]release.Commit) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	heads, err := g.git.LsRemote(ctx, p.CloneURL, patterns(p.Branches)...)
	if err != nil {
		return err
	}
	g.sighted.saw(p.Name, heads)
	maps.DeleteFunc(seen, func(ref string, _ release.Commit) bool { return heads[ref] == "" }) // a branch that is gone has no head before
	for _, ref := range slices.Sorted(maps.Keys(heads)) {
		if seen[ref] == heads[ref] {
			continue
		}
		change := head(p, ref, heads[ref], seen[ref])
		settled, err := g.find(ctx, change)
		if err != nil {
			return err
		}
		if settled {
			seen[ref] = heads[ref]
		}
	}
	return nil
}

// confirmedNonce makes a run of its own of a head whose first run was made before the repository showed it.
const confirmedNonce = "confirmed"

// find announces a head, unless its run has heard of it as a push. A run that was made of a delivery which the repository
// did not confirm at the time can publish nothing for ever, so a head that is there now gets another.
// It is looked at again until that is known.
func (g *gateway) find(ctx context.Context, c release.Change) (settled bool, err error) {
	known, err := g.announced(ctx, c.RunID())
	if err != nil {
		return false, err
	}
	if known {
		judged, doubted, err := g.standing(ctx, c.RunID())
		if err != nil || !doubted {
			return judged, err
		}
		c.Nonce = confirmedNonce
		if known, err := g.announced(ctx, c.RunID()); err != nil || known {
			return known, err
		}
	}
	run, _, err := g.announce(ctx, c)
	if err == nil {
		g.deps.Log.Info("found a head that no webhook announced", "project", c.Project, "ref", c.Ref, "commit", c.Commit, "run", run)
	}
	return err == nil, err
}

func (g *gateway) announced(ctx context.Context, run release.RunID) (bool, error) {
	_, err := g.deps.Bus.Get(ctx, event.TypeChangeReceived.FilterRun(run, string(release.Push)))
	if bus.Empty(err) {
		return false, nil
	}
	return err == nil, err
}

// standing reports whether the builder has said what it makes of a run, and whether that is that the repository did not
// confirm the push.
func (g *gateway) standing(ctx context.Context, run release.RunID) (judged, doubted bool, err error) {
	e, err := g.deps.Bus.Get(ctx, event.TypeRunPlanned.FilterRun(run))
	switch {
	case err == nil:
		planned, is := e.Data.(event.RunPlanned)
		return true, is && planned.Trust == release.TrustUntrusted, nil
	case !bus.Empty(err):
		return false, false, err
	}
	if doubted, err = g.said(ctx, run, event.TypeRunPermissionRequested); err != nil || doubted {
		return doubted, doubted, err
	}
	judged, err = g.said(ctx, run, event.TypeRunRejected, event.TypeChangeIgnored)
	return judged, false, err
}

func patterns(branches []string) []string {
	out := make([]string, 0, len(branches))
	for _, b := range branches {
		out = append(out, ref(b))
	}
	return out
}

func ref(branch string) string { return "refs/heads/" + branch }

// star is a watched branch with its one star taken for a letter.
func star(branch string) string { return strings.Replace(branch, "*", "x", 1) }

// head describes a polled head as the push that it must have been.
func head(p Project, ref string, commit, before release.Commit) release.Change {
	return release.Change{
		Kind: release.Push, Project: p.Name, Repo: p.Repo, CloneURL: p.CloneURL, Ref: ref,
		Branch: strings.TrimPrefix(ref, "refs/heads/"), Commit: commit, Before: before, Forge: p.Forge,
		Delivery: "reconcile", Verified: "poll",
	}
}
