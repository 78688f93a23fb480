package gateway

import (
	"context"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

const (
	// closedRequest names the cancellation of what waits for permission when its pull request is closed.
	closedRequest = "pull-request-closed"
	// maxReopened is how often a pull request may be closed and opened again at one commit.
	maxReopened = 100
)

// pullClosed ends the runs of a closed pull request's head that wait for permission: nobody will give it. A run that has a plan
// goes on.
func (g *gateway) pullClosed(ctx context.Context, c release.Change, why string) error {
	o := order{gateway: g, comment: event.CommentResolved{Project: c.Project, Number: c.Number, Pull: c}}
	runs, err := o.runs(ctx)
	if err != nil {
		return err
	}
	for _, run := range runs {
		decided, err := g.said(ctx, run, event.TypeRunPlanned, event.TypeRunRejected, event.TypeChangeIgnored, event.TypeRunFinished)
		if err != nil {
			return err
		}
		if decided {
			continue
		}
		wish := event.RunCancelRequested{Request: closedRequest, By: Name, Reason: why + "; nobody had permitted its run"}
		if _, err := g.say(ctx, run, wish); err != nil {
			return err
		}
	}
	return nil
}

// pullReopened is the change of a pull request that is open again. Its commit has a new run if the closing ended the last one.
func (g *gateway) pullReopened(ctx context.Context, c release.Change) (release.Change, error) {
	for n := range maxReopened {
		change := c.Reopened(n)
		ended, err := g.has(ctx, change.RunID(), event.RunCancelRequested{Request: closedRequest})
		if err != nil || !ended {
			return change, err
		}
	}
	return c, fault.New(fault.Denied, "cannot start a run of pull request %d: it was opened %d times at commit %s; push another commit", c.Number, maxReopened, c.Commit.Short())
}

// pullRuns are the runs that a pull request had by itself at a commit: the first, and one for each time that it was reopened.
func pullRuns(c release.Change, there func(release.RunID) (bool, error)) ([]release.RunID, error) {
	runs := []release.RunID{c.RunID()}
	for n := 1; n < maxReopened; n++ {
		run := c.Reopened(n).RunID()
		known, err := there(run)
		if err != nil || !known {
			return runs, err
		}
		runs = append(runs, run)
	}
	return runs, nil
}
