package gateway

import (
	"context"
	"slices"

	"github.com/sluiceci/sluice/pkg/directive"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// rerun starts all of each run again that is no rerun itself and has a plan.
func (o *order) rerun(ctx context.Context, runs []release.RunID) error {
	some := false
	for _, run := range runs {
		change, err := o.rerunOf(ctx, run, o.comment)
		if fault.Is(err, fault.Conflict) {
			continue
		}
		if err != nil {
			return err
		}
		if change.RerunOf != run {
			continue
		}
		some = true
		o.done("all of run %s is made again, on the same plan, as run %s", run, change.RunID())
		if err := o.say(ctx, change.RunID(), event.ChangeReceived{Change: change}); err != nil {
			return err
		}
	}
	if !some {
		o.done("nothing to retry: no run of this commit has a plan")
	}
	return nil
}

// rerunOf is the change with which a comment starts all of a run again; as it is when the run is a rerun itself.
func (o *order) rerunOf(ctx context.Context, run release.RunID, by event.CommentResolved) (release.Change, error) {
	planned, err := o.gateway.planned(ctx, run)
	if err != nil || planned.Change.RerunOf != "" {
		return planned.Change, err
	}
	return again(planned.Change, run, by.Author, release.Derive("rerun", by.Comment, string(run))), nil
}

// reruns lists the reruns of runs that earlier comments asked for.
func (o *order) reruns(ctx context.Context, runs []release.RunID, earlier []event.CommentResolved) (out []release.RunID, err error) {
	for _, c := range earlier {
		commands, err := directive.Parse(c.Text)
		if err != nil || !slices.ContainsFunc(commands, everything) || c.Pull.Commit != o.comment.Pull.Commit {
			continue
		}
		for _, run := range runs {
			change, err := o.rerunOf(ctx, run, c)
			if fault.Is(err, fault.Conflict) || err == nil && change.RerunOf != run {
				continue
			}
			if err != nil {
				return nil, err
			}
			there, err := o.gateway.said(ctx, change.RunID(), event.TypeChangeReceived)
			if err != nil {
				return nil, err
			}
			if there && !slices.Contains(out, change.RunID()) {
				out = append(out, change.RunID())
			}
		}
	}
	return out, nil
}

func everything(c directive.Command) bool {
	return c.Verb == directive.Retry && c.Text == directive.All
}
