package executor

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/sluiceci/sluice/pkg/release"
)

// prepare makes the workspace: the commit, the inputs, then the task's own preparation.
func (a *attempt) prepare(ctx context.Context) error {
	if limit := firstSet(a.data.Timeouts.Prepare, a.task.Timeouts.Prepare); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, fail(release.ClassSetup, "preparing took longer than %s", limit))
		defer cancel()
	}
	if err := a.makeWorkspace(ctx); err != nil {
		return orCause(ctx, classify(release.ClassSetup, err))
	}
	if err := a.layInputs(ctx); err != nil {
		return orCause(ctx, classify(release.ClassSetup, err))
	}
	if a.task.Prepare == "" {
		return nil
	}
	return a.script(ctx, a.task.Prepare, release.ClassPrepare)
}

// orCause returns why ctx ended, if it did: what failed after that failed because of it.
func orCause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func firstSet(durations ...release.Duration) time.Duration {
	for _, d := range durations {
		if d > 0 {
			return d.Std()
		}
	}
	return 0
}

// makeWorkspace makes the directories and checks the commit out.
func (a *attempt) makeWorkspace(ctx context.Context) error {
	if err := a.e.place.make(a.dir); err != nil {
		return fail(release.ClassInfra, "cannot make the workspace: %w", err)
	}
	if a.task.Checkout != "none" {
		if err := a.checkOut(ctx); err != nil {
			return err
		}
	}
	return a.checkDirectory()
}

func (a *attempt) checkOut(ctx context.Context) error {
	change := a.plan.Change
	if a.e.git == nil {
		return fail(release.ClassConfig, "cannot check out commit %s: this executor has no git", change.Commit.Short())
	}
	// The ref helps where the remote gives out no single commits; a commit that is there already needs no network.
	if err := a.e.git.Fetch(ctx, change.CloneURL, change.Commit, change.Ref); err != nil {
		return err
	}
	return a.e.git.Checkout(ctx, change.CloneURL, change.Commit, a.workspace())
}

// checkDirectory makes sure that the task's directory is one of the workspace's.
func (a *attempt) checkDirectory() error {
	if a.task.Directory == "" {
		return nil
	}
	root, err := os.OpenRoot(a.workspace())
	if err != nil {
		return fail(release.ClassInfra, "cannot open the workspace: %w", err)
	}
	defer func() { _ = root.Close() }()
	info, err := root.Stat(filepath.Clean(a.task.Directory))
	if err != nil || !info.IsDir() {
		return fail(release.ClassConfig, "cannot run in directory %q: expected a directory of the workspace (%v)", a.task.Directory, err)
	}
	return nil
}
