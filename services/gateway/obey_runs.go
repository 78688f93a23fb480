package gateway

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/directive"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// runs lists the runs of the commit that a comment is bound to: the pull request's own, those that earlier comments
// asked for, and the reruns of these that earlier comments asked for.
func (o *order) runs(ctx context.Context) ([]release.RunID, error) {
	candidates, err := pullRuns(o.comment.Pull, func(run release.RunID) (bool, error) { return o.gateway.said(ctx, run, event.TypeChangeReceived) })
	if err != nil {
		return nil, err
	}
	earlier, err := o.earlier(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range earlier {
		commands, err := directive.Parse(c.Text)
		if err != nil || !commands.Plans() || c.Pull.Commit != o.comment.Pull.Commit || c.Comment == o.comment.Comment {
			continue
		}
		candidates = append(candidates, planned(c, commands).RunID())
	}
	var out []release.RunID
	for _, run := range candidates {
		there, err := o.gateway.said(ctx, run, event.TypeChangeReceived)
		if err != nil {
			return nil, err
		}
		if there && !slices.Contains(out, run) {
			out = append(out, run)
		}
	}
	reruns, err := o.reruns(ctx, out, earlier)
	return append(out, reruns...), err
}

// earlier reads the comments of the pull request that were bound before this one.
func (o *order) earlier(ctx context.Context) ([]event.CommentResolved, error) {
	f, err := o.gateway.deps.Bus.Follow(ctx, bus.Following{
		Name: Name + "-comments", Types: []event.Type{event.TypeCommentResolved}, Run: string(event.Fleet), Keys: keysOf(o.comment),
	})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []event.CommentResolved
	for {
		batch, err := f.Next(ctx, 10*time.Second)
		if err != nil {
			return nil, err
		}
		for _, e := range batch.Events {
			if e.ID == o.cause.ID {
				return out, nil
			}
			out = append(out, e.Data.(event.CommentResolved))
		}
		if batch.Live || len(batch.Events) == 0 {
			return out, nil
		}
	}
}

// keysOf are the tokens of the keys that all comments of a pull request have.
func keysOf(c event.CommentResolved) []string {
	return strings.Split(c.Key(), ".")[:2]
}

// ended reports whether a run has ended and how, unless it was asked to go on since.
func (o *order) ended(ctx context.Context, run release.RunID) (bool, release.Outcome, error) {
	finished, err := o.gateway.deps.Bus.Get(ctx, event.TypeRunFinished.FilterRun(run))
	if bus.Empty(err) {
		return false, "", nil
	}
	if err != nil {
		return false, "", fault.As(fault.Transient, err)
	}
	for _, t := range []event.Type{event.TypeRunRetryRequested, event.TypePublicationRetryRequested} {
		again, err := o.gateway.deps.Bus.Get(ctx, t.FilterRun(run))
		if err != nil && !bus.Empty(err) {
			return false, "", fault.As(fault.Transient, err)
		}
		if err == nil && again.Seq > finished.Seq {
			return false, "", nil
		}
	}
	return true, finished.Data.(event.RunFinished).Outcome, nil
}

func (o *order) cancel(ctx context.Context, reason string) error {
	runs, err := o.runs(ctx)
	if err != nil {
		return err
	}
	wish, some := event.RunCancelRequested{Request: o.comment.Comment, By: o.comment.Author, Reason: reason}, false
	for _, run := range runs {
		said, err := o.gateway.has(ctx, run, wish)
		if err != nil {
			return err
		}
		ended, _, err := o.ended(ctx, run)
		if err != nil {
			return err
		}
		if ended && !said {
			continue
		}
		if err := o.say(ctx, run, wish); err != nil {
			return err
		}
		some = true
		o.done("run %s is being cancelled", run)
	}
	if !some {
		o.done("nothing to cancel: no run of this commit goes on")
	}
	return nil
}

func (o *order) retry(ctx context.Context, all bool) error {
	runs, err := o.runs(ctx)
	if err != nil {
		return err
	}
	if all {
		return o.rerun(ctx, runs)
	}
	some := false
	for _, run := range runs {
		did, err := o.again(ctx, run)
		if err != nil {
			return err
		}
		some = some || did
	}
	if !some {
		o.done("nothing to retry: every run of this commit that has ended has succeeded")
	}
	return nil
}

// again asks for the next round of a run that has not succeeded; after its gate has opened, for its targets to go on.
func (o *order) again(ctx context.Context, run release.RunID) (bool, error) {
	opened, err := o.gateway.said(ctx, run, event.TypeGateOpened)
	if err != nil {
		return false, err
	}
	var wish event.Payload = event.RunRetryRequested{Request: o.comment.Comment, By: o.comment.Author}
	if opened {
		wish = event.PublicationRetryRequested{Request: o.comment.Comment, By: o.comment.Author}
	}
	said, err := o.gateway.has(ctx, run, wish)
	if err != nil {
		return false, err
	}
	ended, outcome, err := o.ended(ctx, run)
	if err != nil || !said && (!ended || outcome == release.Success) {
		return false, err
	}
	o.done("run %s goes on", run)
	return true, o.say(ctx, run, wish)
}
