package gateway

import (
	"context"
	"strings"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// permit lets a run of an untrusted change run. It is of one commit, since the run is.
func (g *gateway) permit(ctx context.Context, r request) (done, error) {
	run, err := g.run(ctx, r, event.TypeChangeReceived)
	if err != nil {
		return done{}, err
	}
	waits, err := g.said(ctx, run, event.TypeRunPermissionRequested)
	over, failed := g.said(ctx, run, event.TypeRunPlanned, event.TypeRunFinished)
	if err == nil {
		err = failed
	}
	if err == nil && (!waits || over) {
		err = inTheWay(fault.New(fault.Conflict, "cannot permit run %s: it does not wait for that; see sluice why %s", run, run))
	}
	if err != nil {
		return done{}, err
	}
	id, err := g.say(ctx, run, event.RunPermitted{Request: r.id, By: r.by, Note: r.body.Note})
	return done{Run: run, Event: id}, err
}

// shortest is how many digits name a commit in a comment.
const shortest = 7

// permit lets the runs of the pull request's head run: its own, and those that comments asked for. Forges do not all say
// which commit the author of a comment saw; so a run must have asked before the comment was written, unless the comment
// names the commit.
func (o *order) permit(ctx context.Context, named string) error {
	head := o.comment.Pull.Commit
	if named != "" && (len(named) < shortest || !strings.HasPrefix(string(head), strings.ToLower(named))) {
		o.done("nothing about permission: the head is commit %s, not %s", head.Short(), named)
		return nil
	}
	runs, err := o.runs(ctx)
	if err != nil {
		return err
	}
	waits := false
	for _, run := range runs {
		asked, err := o.permitOne(ctx, run, named != "")
		if err != nil {
			return err
		}
		waits = waits || asked
	}
	switch {
	case named != "" && o.commands.Plans(): // this comment's own run, which comes after
		return o.say(ctx, planned(o.comment, o.commands).RunID(), event.RunPermitted{Request: o.comment.Comment, By: o.comment.Author})
	case !waits:
		o.done("nothing about permission: no run of commit %s waits for it", head.Short())
	}
	return nil
}

// permitOne permits a run if it waits for that, and reports whether it does.
func (o *order) permitOne(ctx context.Context, run release.RunID, named bool) (waits bool, err error) {
	asked, err := o.gateway.deps.Bus.Get(ctx, event.TypeRunPermissionRequested.FilterRun(run))
	if bus.Empty(err) {
		return false, nil
	}
	if err != nil {
		return false, fault.As(fault.Transient, err)
	}
	closed, err := o.gateway.has(ctx, run, event.RunCancelRequested{Request: closedRequest})
	if err != nil || closed {
		return false, err
	}
	wish := event.RunPermitted{Request: o.comment.Comment, By: o.comment.Author}
	said, err := o.gateway.has(ctx, run, wish)
	if err != nil {
		return false, err
	}
	over, err := o.gateway.said(ctx, run, event.TypeRunPlanned, event.TypeRunFinished)
	if err != nil || over && !said {
		return false, err
	}
	seen, err := o.seen(ctx, asked)
	if err != nil {
		return false, err
	}
	if head := o.comment.Pull.Commit.Short(); !named && !seen {
		o.done("nothing about permission: the head, commit %s, is newer than the comment, or as new: look at it, and say /ok-to-test %[1]s", head)
		return true, nil
	}
	o.done("run %s of commit %s may run, as an untrusted change", run, o.comment.Pull.Commit.Short())
	return true, o.say(ctx, run, wish)
}

// seen reports whether a run had asked for permission when the comment came.
func (o *order) seen(ctx context.Context, asked event.Event) (bool, error) {
	c := o.comment
	subject := event.Root(event.Fleet, Name, asked.Time, event.CommentReceived{Comment: c.Comment, Project: c.Project, Number: c.Number}).Subject()
	e, err := o.gateway.deps.Bus.Get(ctx, subject)
	if bus.Empty(err) {
		return false, nil
	}
	return err == nil && asked.Seq < e.Seq, fault.As(fault.Transient, err)
}
