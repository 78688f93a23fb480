package executor

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/release"
)

// setUp makes the workspace: the commit, the inputs, the caches.
func (a *attempt) setUp(ctx context.Context) error {
	ctx, cancel := bounded(ctx, a.prepareLimit(), release.ClassSetup, "preparing")
	defer cancel()
	for _, step := range []func(context.Context) error{a.makeWorkspace, a.layInputs, a.layCaches} {
		if err := step(ctx); err != nil {
			return orCause(ctx, classify(release.ClassSetup, err))
		}
	}
	return nil
}

func (a *attempt) prepareLimit() time.Duration {
	return firstSet(a.data.Timeouts.Prepare, a.task.Timeouts.Prepare)
}

// prepare runs the task's own preparation, in what setting up has left of the time for both. It returns when it has ended
// everywhere: so that the commands of a gang start together.
func (a *attempt) prepare(ctx context.Context, setUp time.Duration) error {
	if a.task.Prepare == "" || a.skips(phasePrepare) {
		return nil
	}
	if err := a.prove(ctx); err != nil {
		return err
	}
	if limit := a.prepareLimit(); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, max(limit-setUp, time.Millisecond),
			fail(release.ClassPrepare, "preparing took longer than %s", limit))
		defer cancel()
	}
	return a.phase("prepare", func() error {
		return a.everywhere(ctx, order{phase: phasePrepare, what: "the preparation", text: a.task.Prepare, class: release.ClassPrepare})
	})
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
	if err := a.checkImage(); err != nil {
		return err
	}
	if err := cmp.Or(a.checkIsolation(), a.checkConfined()); err != nil {
		return err
	}
	if err := a.e.place.make(a.dir); err != nil {
		return fail(release.ClassInfra, "cannot make the workspace: %w", err)
	}
	if !a.e.local() {
		if err := giveStepper(a.dir); err != nil {
			return fail(release.ClassInfra, "cannot make the workspace: %w", err)
		}
	}
	if a.task.Checkout != "none" {
		if err := a.checkOut(ctx); err != nil {
			return err
		}
	}
	return a.checkDirectory()
}

// checkIsolation refuses a change that nobody vouches for where its commands would not be held back. The scheduler sends none
// to a pool that does not accept it; this is for one that accepts what its machines cannot hold.
func (a *attempt) checkIsolation() error {
	if a.e.site == nil || a.plan.Trust.Covers(release.TrustTrusted) {
		return nil
	}
	if err := driver.IsolationOf(a.e.site).Untrusted(); err != nil {
		return fail(release.ClassConfig, "%w; send it to a pool of containers or sandboxes", err)
	}
	return nil
}

// checkImage refuses a task that names an image where nothing can be made of one: what it runs in is part of what it
// proves.
func (a *attempt) checkImage() error {
	kind := a.e.config.Driver.Kind
	if a.task.Image == "" || kind == "container" || kind == "auto" || a.e.config.Use != nil {
		return nil
	}
	if kind == "" {
		kind = "local"
	}
	return fail(release.ClassConfig, "cannot run in image %q: the executors of pool %s run commands with the driver %q, expected "+
		"\"container\"; send the task to a pool of containers, or take the image out of the definition", a.task.Image, a.e.config.Pool, kind)
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
