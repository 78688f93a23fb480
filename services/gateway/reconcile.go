package gateway

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// lookTimeout bounds one look at a project's remote.
const lookTimeout = 30 * time.Second

// reconcile looks at a project's watched branches for ever and starts what no webhook announced. A forge that does not
// answer delays its own project only.
func (g *gateway) reconcile(ctx context.Context, p Project) error {
	seen := map[string]release.Commit{}
	for {
		if err := g.look(ctx, p, seen); err != nil && ctx.Err() == nil {
			g.deps.Log.Warn("cannot look at the watched branches; trying again", "project", p.Name, "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(jitter(g.config.Poll)):
		}
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
	for _, ref := range slices.Sorted(maps.Keys(heads)) {
		if seen[ref] == heads[ref] {
			continue
		}
		change := head(p, ref, heads[ref], seen[ref])
		known, err := g.announced(ctx, change)
		if err != nil {
			return err
		}
		if !known {
			run, err := g.announce(ctx, change)
			if err != nil {
				return err
			}
			g.deps.Log.Info("found a head that no webhook announced", "project", p.Name, "ref", ref, "commit", change.Commit, "run", run)
		}
		seen[ref] = heads[ref]
	}
	return nil
}

func patterns(branches []string) []string {
	var out []string
	for _, b := range branches {
		out = append(out, "refs/heads/"+b)
	}
	return out
}

// announced reports whether the run has heard of this change as a push.
func (g *gateway) announced(ctx context.Context, c release.Change) (bool, error) {
	_, err := g.deps.Bus.Get(ctx, event.TypeChangeReceived.FilterRun(c.RunID(), string(release.Push)))
	if nothing(err) {
		return false, nil
	}
	return err == nil, err
}

// head describes a polled head as the push that it must have been.
func head(p Project, ref string, commit, before release.Commit) release.Change {
	return release.Change{
		Kind: release.Push, Project: p.Name, Repo: p.Repo, CloneURL: p.CloneURL, Ref: ref,
		Branch: strings.TrimPrefix(ref, "refs/heads/"), Commit: commit, Before: before, Forge: p.Forge,
		Delivery: "reconcile", Verified: "poll",
	}
}
