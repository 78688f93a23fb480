package builder

import (
	"context"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// base is the commit that a change is compared with to tell which paths it changes; empty means that every path counts.
//
// A pull request is compared with where it left its target, whichever of its commits is announced: what its earlier commits
// changed is not tested until a run of it succeeds as a whole. A push is compared with the last head of the branch whose run
// succeeded: what failed, or was never run to its end, is run again.
func (b *builder) base(ctx context.Context, c release.Change) (release.Commit, error) {
	if c.Number > 0 {
		return b.mergeBase(ctx, c), nil
	}
	if !c.Before.Valid() {
		return "", nil
	}
	before := release.Change{Kind: c.Kind, Repo: c.Repo, Ref: c.Ref, Branch: c.Branch, Commit: c.Before}.RunID()
	e, err := b.deps.Bus.Get(ctx, event.TypeRunFinished.FilterRun(before))
	if err != nil && !bus.Empty(err) {
		return "", fault.As(fault.Transient, err)
	}
	if finished, is := e.Data.(event.RunFinished); err == nil && is && finished.Outcome == release.Success {
		return c.Before, nil
	}
	frozen, _, err := b.frozen(ctx, before)
	if err != nil || frozen == nil {
		return "", err
	}
	return frozen.Base, nil
}

// mergeBase is where a pull request left its target. Where nobody can tell, every path counts.
func (b *builder) mergeBase(ctx context.Context, c release.Change) release.Commit {
	ref := "refs/heads/" + c.Branch
	heads, err := b.git.LsRemote(ctx, c.CloneURL, ref)
	if err != nil || !heads[ref].Valid() {
		b.deps.Log.Warn("cannot tell the head of a pull request's target; planning everything", "commit", c.Commit, "target", ref, "err", err)
		return ""
	}
	base, err := b.git.MergeBase(ctx, c.CloneURL, heads[ref], c.Commit)
	if err != nil {
		b.deps.Log.Warn("cannot tell where a pull request left its target; planning everything", "commit", c.Commit, "target", ref, "err", err)
		return ""
	}
	return base
}

// changed lists the paths that a change touches; nil means that they are not known, and every task is wanted.
func (b *builder) changed(ctx context.Context, c release.Change, base release.Commit) []string {
	if base == "" {
		return nil
	}
	paths, err := b.git.ChangedPaths(ctx, c.CloneURL, base, c.Commit)
	if err != nil {
		b.deps.Log.Warn("cannot tell what a change touches; planning everything", "commit", c.Commit, "base", base, "err", err)
		return nil
	}
	return paths
}
