package builder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/planner"
	"github.com/sluiceci/sluice/pkg/release"
)

// Policy says what becomes of untrusted changes.
type Policy string

// The policies.
const (
	Ask   Policy = "ask"   // a run of each commit waits until somebody who may write to the repository permits it
	Run   Policy = "run"   // they run, as untrusted
	Never Policy = "never" // they start no run
)

// admit says whether an untrusted change starts a run, and what its gate requires beside what its own definition says. That
// of a change which is trusted decides itself, and the installation may require more.
func (b *builder) admit(ctx context.Context, run release.RunID, c release.Change, j judgement) ([]string, event.Payload, error) {
	project := b.config.Projects[c.Repo]
	if j.trust.Covers(release.TrustTrusted) {
		return project.Require, nil, nil
	}
	require, verdict, err := b.rules(ctx, project, c, j.why)
	if err != nil || verdict != nil {
		return nil, verdict, err
	}
	if project.Policy == Never {
		return nil, event.ChangeIgnored{Kind: c.Kind, Reason: "the project runs no untrusted changes, and this is one: " + j.why}, nil
	}
	if project.Policy != Run && !j.writer {
		may, err := b.lets(ctx, run, c)
		if err != nil {
			return nil, nil, err
		}
		if !may {
			return nil, event.RunPermissionRequested{Change: c, Reason: j.why}, nil
		}
	}
	return append(require, project.Require...), nil, nil
}

// lets reports whether somebody permitted a run. The permission of a pull request's own run is of its head, and so holds for
// the runs that comments ask for at this head too.
func (b *builder) lets(ctx context.Context, run release.RunID, c release.Change) (bool, error) {
	own := c
	own.Kind, own.Nonce = release.PullRequest, ""
	runs := []release.RunID{run}
	if c.Kind == release.Comment {
		more, err := b.ownRuns(ctx, own)
		if err != nil {
			return false, err
		}
		runs = append(runs, more...)
	}
	for _, of := range runs {
		if _, err := b.deps.Bus.Get(ctx, event.TypeRunPermitted.FilterRun(of)); !bus.Empty(err) {
			return err == nil, err
		}
	}
	return false, nil
}

// ownRuns are the runs that a pull request has at its head beside those that comments ask for: one more for each time that it was
// closed and opened again.
func (b *builder) ownRuns(ctx context.Context, own release.Change) (runs []release.RunID, err error) {
	for n := 0; ; n++ {
		run := own.Reopened(n).RunID()
		if _, err := b.deps.Bus.Get(ctx, event.TypeChangeReceived.FilterRun(run)); err != nil && n > 0 {
			if bus.Empty(err) {
				err = nil
			}
			return runs, err
		}
		runs = append(runs, run)
	}
}

// permitted plans a run that somebody lets run. One that did not wait for it looks for the permission itself.
func (b *builder) permitted(ctx context.Context, d *bus.Delivery[event.RunPermitted]) error {
	e, err := b.deps.Bus.Get(ctx, event.TypeRunPermissionRequested.FilterRun(d.Event.Run))
	if bus.Empty(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if frozen, _, err := b.frozen(ctx, d.Event.Run); err != nil || frozen != nil {
		return err
	}
	if _, err := b.deps.Bus.Get(ctx, event.TypeRunFinished.FilterRun(d.Event.Run)); !bus.Empty(err) {
		return err // it was cancelled while it waited
	}
	said, err := b.first(ctx, d.Event.Run, e.Data.(event.RunPermissionRequested).Change, d.Event.Stored)
	if err != nil {
		return err
	}
	return d.Emit(ctx, said...)
}

// rules asks the definitions of the repository's own branches whether an untrusted change starts a run: that of the branch
// which it is for, and that of the release branch, since its author chooses the former. What they require of the gate the
// change's own definition cannot take back.
func (b *builder) rules(ctx context.Context, p Project, c release.Change, why string) (require []string, verdict event.Payload, err error) {
	names := p.ruling(c.Branch)
	heads, err := b.git.LsRemote(ctx, c.CloneURL, names...)
	if err != nil {
		return nil, nil, err
	}
	asked := 0
	for _, name := range names {
		head, there := heads[name]
		if !there {
			continue
		}
		asked++
		outcome, err := b.rule(ctx, c, name, head)
		switch {
		case fault.Is(err, fault.Invalid):
			return nil, event.ChangeIgnored{Kind: c.Kind, Reason: fmt.Sprintf("%s decides whether an untrusted change starts a run, and: %s", name, err)}, nil
		case err != nil:
			return nil, nil, err
		case outcome.Ignored != "":
			return nil, event.ChangeIgnored{Kind: c.Kind, Reason: "on " + name + ", " + outcome.Ignored}, nil
		}
		if !outcome.Starts {
			return nil, nil, fault.New(fault.Internal, "cannot tell whether %s lets an untrusted change start a run: the planner did not answer", name)
		}
		require = append(require, outcome.Require...)
	}
	if asked == 0 {
		return nil, event.ChangeIgnored{Kind: c.Kind, Reason: fmt.Sprintf("the change is untrusted (%s), and %s has no branch %s whose definition lets it start a run", why,
			c.Repo, strings.Join(names, " or "))}, nil
	}
	return require, nil, nil
}

// ruling are the branches whose definitions decide: the one that a change is for, and the first that is named of those that
// may publish or are watched.
func (p Project) ruling(target string) (names []string) {
	if release.ValidRef("refs/heads/" + target) {
		names = append(names, "refs/heads/"+target)
	}
	own := slices.Clone(p.ReleaseRefs)
	for _, branch := range p.Branches {
		own = append(own, "refs/heads/"+branch)
	}
	for _, name := range own {
		if strings.HasPrefix(name, "refs/heads/") && release.ValidRef(name) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
			break
		}
	}
	return names
}

// rule asks one definition. One that is wrong or not there is an error of kind Invalid.
func (b *builder) rule(ctx context.Context, c release.Change, name string, head release.Commit) (planner.Outcome, error) {
	if err := b.git.Fetch(ctx, c.CloneURL, head, name); err != nil {
		return planner.Outcome{}, err
	}
	text, err := b.git.ReadFile(ctx, c.CloneURL, head, definitionFile, definitionLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return planner.Outcome{}, fault.New(fault.Invalid, "there is no %s at %s", definitionFile, head.Short())
	}
	if err != nil {
		return planner.Outcome{}, err
	}
	at := c
	at.Commit = head
	outcome, err := b.config.Planner.Plan(ctx, planner.Job{File: definitionFile, Text: text, Change: c, Rules: true},
		host{b, b.tree(at, release.TrustTrusted), at, "", release.TrustTrusted, nil})
	if _, verdict, other := wrong(c, err); err != nil && verdict != nil && other == nil {
		return outcome, fault.New(fault.Invalid, "its definition at %s cannot be read: %w", head.Short(), err)
	}
	return outcome, err
}
