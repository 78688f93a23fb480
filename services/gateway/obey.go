package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/directive"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// order is a comment that is obeyed, and what is told of it.
type order struct {
	gateway  *gateway
	cause    event.Event
	comment  event.CommentResolved
	commands directive.Commands
	reply    directive.Reply
}

// obey does what a comment says, or tells its author why not. All of it is derived from facts, so it may be done again.
func (g *gateway) obey(ctx context.Context, d *bus.Delivery[event.CommentResolved]) error {
	o := order{gateway: g, cause: d.Event, comment: d.Data, reply: directive.Reply{Commit: string(d.Data.Pull.Commit)}}
	if o.check() {
		if err := o.act(ctx); err != nil {
			return err
		}
		if o.commands.Plans() {
			return o.plan(ctx) // the builder answers, when it knows the plan
		}
	}
	return o.say(ctx, event.Fleet, event.CommentAnswered{
		Comment: d.Data.Comment, Project: d.Data.Project, Number: d.Data.Number, Text: directive.Answer(o.reply),
	})
}

// check reads the comment. A comment is obeyed as a whole or not at all.
func (o *order) check() bool {
	c := o.comment
	commands, err := directive.Parse(c.Text)
	_ = errors.As(err, &o.reply.Problems) // there may be none
	o.commands, o.reply.Held = commands, directive.Permission(c.Permission)
	o.reply.Refused = commands.Refused(o.reply.Held)
	o.reply.Help = commands.Has(directive.Help) && err == nil
	switch {
	case err != nil, len(o.reply.Refused) > 0:
		o.reply.Commit = ""
		return false
	case c.Moved && slices.ContainsFunc(commands, func(one directive.Command) bool { return one.Verb != directive.Help }):
		o.reply.Failed = []string{"the head of the pull request has moved since the comment was written: look at it, and say it again"}
		return false
	case !c.Open && commands.Plans():
		o.reply.Failed = []string{"the pull request is closed"}
		return false
	}
	return true
}

// say stores a fact of a run. Its id is derived from the comment and from the run: one comment says the same of several.
func (o *order) say(ctx context.Context, run release.RunID, p event.Payload) error {
	e := event.New(o.cause, o.gateway.deps.Source(Name), o.gateway.deps.Now(), p)
	e.Run, e.ID = run, release.Derive(o.cause.ID, string(run), string(e.Type), e.Key)
	return o.gateway.deps.Bus.Publish(ctx, e)
}

// planned is the change that a comment asks for: the pull request at the head that the comment is bound to.
func planned(c event.CommentResolved, commands directive.Commands) release.Change {
	change := c.Pull
	change.Kind, change.Nonce, change.Author = release.Comment, c.Comment, c.Author
	change.Parameters = map[string]string{"directives": commands.String()}
	return change
}

func (o *order) plan(ctx context.Context) error {
	change := planned(o.comment, o.commands)
	change.At = o.cause.Time
	if len(o.reply.Done) > 0 {
		change.Parameters["done"] = strings.Join(o.reply.Done, "\n")
	}
	return o.say(ctx, change.RunID(), event.ChangeReceived{Change: change})
}

// act does what is said about the runs that there are.
func (o *order) act(ctx context.Context) error {
	for _, c := range o.commands {
		var err error
		switch c.Verb {
		case directive.Cancel:
			err = o.cancel(ctx, c.Text)
		case directive.Retry:
			err = o.retry(ctx, c.Text == directive.All)
		case directive.Hold:
			err = o.gate(ctx, "held", event.GateHeld{Request: o.comment.Comment, By: o.comment.Author, Reason: c.Text})
		case directive.Resume:
			err = o.gate(ctx, "no longer held", event.GateResumed{Request: o.comment.Comment, By: o.comment.Author})
		case directive.Permit:
			err = o.permit(ctx, c.Text)
		case directive.Approve:
			err = o.approve(ctx, c.Text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (o *order) done(format string, args ...any) {
	o.reply.Done = append(o.reply.Done, fmt.Sprintf(format, args...))
}

// approve approves the candidate that the pull request's own run has now.
func (o *order) approve(ctx context.Context, note string) error {
	run := o.comment.Pull.RunID()
	candidate, err := o.gateway.candidate(ctx, run)
	if err != nil {
		return err
	}
	if candidate == "" {
		o.done("nothing is approved: run %s has no candidate yet", run)
		return nil
	}
	p, err := o.gateway.project(o.comment.Project)
	if err != nil {
		return err
	}
	subject := p.Forge + ":" + o.comment.Author // as who signs in with the forge is called
	return o.gate(ctx, "approved", event.GateApproved{Approver: subject, By: o.comment.Author, Note: note, Candidate: candidate})
}

// gate says something about the gate of the pull request's own run. Runs that comments asked for never publish.
func (o *order) gate(ctx context.Context, how string, p event.Payload) error {
	g, run := o.gateway, o.comment.Pull.RunID()
	there, err := g.said(ctx, run, event.TypeChangeReceived)
	if err != nil {
		return err
	}
	again, err := g.has(ctx, run, p)
	if err != nil {
		return err
	}
	opened, err := g.said(ctx, run, event.TypeGateOpened)
	switch {
	case err != nil:
		return err
	case !there:
		o.done("nothing about the gate: there is no run of this commit")
	case opened && !again:
		o.done("nothing about the gate of run %s: it has opened, and its release is on its way", run)
	default:
		o.done("the gate of run %s is %s", run, how)
		return o.say(ctx, run, p)
	}
	return nil
}

// has reports whether a fact is stored in its place.
func (g *gateway) has(ctx context.Context, run release.RunID, p event.Payload) (bool, error) {
	_, err := g.deps.Bus.Get(ctx, event.Root(run, Name, g.deps.Now(), p).Subject())
	if bus.Empty(err) {
		return false, nil
	}
	return err == nil, fault.As(fault.Transient, err)
}
