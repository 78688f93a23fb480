package builder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/definition"
	"github.com/sluiceci/sluice/pkg/definition/tree"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

const (
	definitionFile  = "sluice.yaml"
	definitionLimit = 1 << 20 // bytes; a larger definition is refused before it is parsed
	planLimit       = 64 << 20
)

// plan answers a change with the run's plan and its build tasks, or with the reason why there is none. A run that has a
// plan keeps it, whatever came to announce its commit again.
func (b *builder) plan(ctx context.Context, d *bus.Delivery[event.ChangeReceived]) error {
	if d.Data.Change.RerunOf != "" {
		return b.rerun(ctx, d)
	}
	frozen, digest, err := b.frozen(ctx, d.Event.Run)
	if err != nil {
		return err
	}
	if frozen == nil {
		var verdict event.Payload
		if frozen, verdict, err = b.resolve(ctx, d.Data.Change); err != nil {
			return err
		}
		if verdict != nil {
			return d.Emit(ctx, answered(d.Data.Change, nil, []event.Payload{verdict})...)
		}
		if digest, err = b.freeze(ctx, frozen); err != nil {
			return err
		}
	}
	return d.Emit(ctx, answered(d.Data.Change, frozen, announce(frozen, digest))...)
}

// frozen returns the plan that the run has already, or nil.
func (b *builder) frozen(ctx context.Context, run release.RunID) (*plan.Plan, release.Digest, error) {
	e, err := b.deps.Bus.Get(ctx, event.TypeRunPlanned.FilterRun(run))
	if bus.Empty(err) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	digest := e.Data.(event.RunPlanned).Plan
	text, err := blob.ReadAll(ctx, b.deps.Blobs, digest, planLimit)
	if err != nil {
		return nil, "", fmt.Errorf("cannot read the plan of run %s: %w", run, err)
	}
	p, err := plan.Decode(text)
	return p, digest, err
}

func (b *builder) freeze(ctx context.Context, p *plan.Plan) (release.Digest, error) {
	text, digest, err := p.Encode()
	if err != nil {
		return "", err
	}
	if _, err := blob.PutBytes(ctx, b.deps.Blobs, text); err != nil {
		return "", fmt.Errorf("cannot freeze the plan: %w", err)
	}
	return digest, nil
}

// resolve makes the plan of a change from the definition at its commit. A change that gives no plan gets a verdict.
func (b *builder) resolve(ctx context.Context, change release.Change) (*plan.Plan, event.Payload, error) {
	if err := change.Validate(); err != nil {
		return nil, nil, fault.As(fault.Invalid, err)
	}
	text, verdict, err := b.definition(ctx, change)
	if err != nil || verdict != nil {
		return nil, verdict, err
	}
	def, err := b.load(ctx, change, text)
	if err != nil {
		return wrong(change, err)
	}
	if wanted, why := definition.Triggered(def, change); !wanted {
		return nil, event.ChangeIgnored{Kind: change.Kind, Reason: why}, nil
	}
	request, err := b.request(change, b.changed(ctx, change))
	if err != nil {
		return nil, rejected(change, err), nil
	}
	if request.Jailed, err = b.jailed(ctx, request); err != nil {
		return nil, nil, err
	}
	if request.Answers, err = b.answers(ctx, def, request); fault.Is(err, fault.Transient) {
		return nil, nil, err
	} else if err != nil {
		return nil, rejected(change, err), nil
	}
	p, err := definition.Resolve(def, request)
	if err != nil {
		return nil, rejected(change, asComment(change, err)), nil
	}
	b.restrict(p)
	if err := b.gather(p); err != nil {
		return nil, rejected(change, err), nil
	}
	return p, nil, nil
}

// answers are those to what the dialects of a definition ask. They are asked once: what comes of them is frozen in the plan.
func (b *builder) answers(ctx context.Context, def *definition.Definition, request definition.Request) (map[string]string, error) {
	out := map[string]string{}
	for _, q := range definition.Questions(def, request) {
		answer := b.config.Answers[q.Dialect]
		if _, known := out[q.Text]; known || answer == nil {
			continue
		}
		text, err := answer(ctx, q.Text)
		if err != nil {
			return nil, err
		}
		out[q.Text] = text
	}
	return out, nil
}

// gather sends every task to the one pool that there is. What the task's own pool says of it, such as an image, stays.
// Places that nobody offers here would be waited for in vain.
func (b *builder) gather(p *plan.Plan) error {
	if b.config.Pool == "" {
		return nil
	}
	offered := slices.Clone(b.config.Providers)
	for _, own := range p.Providers {
		offered = append(offered, own.Name)
	}
	for i := range p.Tasks {
		t := &p.Tasks[i]
		if from := t.Lease.Provider; from != "" && !slices.Contains(offered, from) {
			return fault.New(fault.Invalid, "cannot run %s here: it leases places of %s, which neither the definition nor --config offers; "+
				"name the installation's file with --config, or run other tasks with --select", t.Name, from)
		}
		if t.Pool != b.config.Pool && !t.Fetch.Wanted() {
			t.Pool, t.Why = b.config.Pool, t.Why+"; it runs here, where there is no other pool than "+b.config.Pool
		}
	}
	return nil
}

// load reads the text of a definition with what it includes, of the same commit or of repositories that the
// installation allows.
func (b *builder) load(ctx context.Context, change release.Change, text []byte) (*definition.Definition, error) {
	return definition.Load(ctx, definitionFile, text, definition.Options{
		Loader:   tree.Git{Cache: b.git, URL: change.CloneURL, Commit: change.Commit, Allowed: b.config.Includes},
		Dialects: b.config.Dialects, Targets: b.config.Targets,
	})
}

// wrong tells problems of the definition as a verdict. That a forge does not answer is none.
func wrong(change release.Change, err error) (*plan.Plan, event.Payload, error) {
	var problems definition.Errors
	if !errors.As(err, &problems) {
		return nil, nil, err
	}
	return nil, rejected(change, err), nil
}

// restrict takes the right to publish from a plan whose ref the installation does not trust to release.
func (b *builder) restrict(p *plan.Plan) {
	if denied := b.denied(p); denied != "" {
		p.Targets, p.Release.Denied, p.Warnings = nil, denied, append(p.Warnings, denied)
	}
}

// denied says why the installation lets nothing be published that the plan would let.
func (b *builder) denied(p *plan.Plan) string {
	if allowed, _ := p.Release.Allows(p.Change); !allowed {
		return ""
	}
	for _, glob := range b.config.Releases[p.Change.Repo] {
		if ok, _ := path.Match(glob, p.Change.Ref); ok {
			return ""
		}
	}
	return "the definition lets " + p.Change.Ref + " publish, but the installation does not: it is not in the project's release_refs"
}

// definition reads the definition at the commit. That there is none, or no such commit, is a verdict; that the forge
// does not answer is not.
func (b *builder) definition(ctx context.Context, change release.Change) ([]byte, event.Payload, error) {
	if err := b.git.Fetch(ctx, change.CloneURL, change.Commit, change.Ref); err != nil {
		if fault.Is(err, fault.Invalid) {
			return nil, rejected(change, err), nil
		}
		return nil, nil, err
	}
	text, err := b.git.ReadFile(ctx, change.CloneURL, change.Commit, definitionFile, definitionLimit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, rejected(change, fmt.Errorf("there is no %s at commit %s", definitionFile, change.Commit.Short())), nil
	case fault.Is(err, fault.Invalid):
		return nil, rejected(change, err), nil
	}
	return text, nil, err
}

// changed lists the paths that a change touches; nil means that they are not known, and every task is wanted.
func (b *builder) changed(ctx context.Context, change release.Change) []string {
	if !change.Before.Valid() {
		return nil
	}
	paths, err := b.git.ChangedPaths(ctx, change.CloneURL, change.Before, change.Commit)
	if err != nil {
		b.deps.Log.Warn("cannot tell what a change touches; planning everything", "commit", change.Commit, "err", err)
		return nil
	}
	return paths
}

func rejected(change release.Change, err error) event.Payload {
	return event.RunRejected{Change: change, Problems: problemsOf(err)}
}

// announce is what follows from a plan: the run is planned, its build tasks are requested.
func announce(p *plan.Plan, digest release.Digest) []event.Payload {
	planned := event.RunPlanned{
		Change: p.Change, Plan: digest, Release: p.Release, Skipped: int32(len(p.Skipped)), GateTests: p.Gate.Tests,
		Warnings: p.Warnings, Untested: p.Gate.Untested, KeepGoing: p.KeepGoing, Supersede: p.Supersede, RetryBudget: p.RetryBudget,
	}
	for _, kind := range p.Gate.On {
		planned.GateOn = append(planned.GateOn, release.ChangeKind(kind))
	}
	for _, t := range p.Targets {
		planned.Targets = append(planned.Targets, event.TargetName{Name: t.Name, Kind: t.Kind})
	}
	var builds []event.Payload
	for _, t := range p.Tasks {
		if t.Kind == release.Test {
			planned.Tests++
			continue
		}
		planned.Builds++
		builds = append(builds, t.Request(digest))
	}
	return append([]event.Payload{planned}, builds...)
}
