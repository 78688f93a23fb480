package builder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/planner"
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
		said, err := b.first(ctx, d.Event.Run, d.Data.Change, d.Event.Stored)
		if err != nil {
			return err
		}
		return d.Emit(ctx, said...)
	}
	return d.Emit(ctx, answered(d.Data.Change, frozen, announce(frozen, digest))...)
}

// first is what follows from a change whose run has no plan.
func (b *builder) first(ctx context.Context, run release.RunID, c release.Change, announced time.Time) ([]event.Payload, error) {
	p, verdict, err := b.resolve(ctx, run, c, announced)
	if err != nil {
		return nil, err
	}
	if verdict != nil {
		return answered(c, nil, []event.Payload{verdict}), nil
	}
	digest, err := b.freeze(ctx, p)
	if err != nil {
		return nil, err
	}
	return answered(c, p, announce(p, digest)), nil
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
func (b *builder) resolve(ctx context.Context, run release.RunID, change release.Change, announced time.Time) (*plan.Plan, event.Payload, error) {
	if err := change.Validate(); err != nil {
		return nil, nil, fault.As(fault.Invalid, err)
	}
	judged, err := b.judge(ctx, change, announced)
	if fault.Is(err, fault.Invalid) {
		return nil, rejected(change, err), nil
	}
	if err != nil {
		return nil, nil, err
	}
	require, verdict, err := b.admit(ctx, run, change, judged)
	if err != nil || verdict != nil {
		return nil, verdict, err
	}
	text, verdict, err := b.definition(ctx, change)
	if err != nil || verdict != nil {
		return nil, verdict, err
	}
	base, err := b.base(ctx, change)
	if err != nil {
		return nil, nil, err
	}
	job := planner.Job{File: definitionFile, Text: text, Change: change}
	outcome, err := b.config.Planner.Plan(ctx, job, host{b, b.tree(change, judged.trust), change, base, judged.trust, require})
	switch {
	case err != nil:
		return wrong(change, err)
	case outcome.Plan == nil:
		return nil, event.ChangeIgnored{Kind: change.Kind, Reason: outcome.Ignored}, nil
	}
	p := outcome.Plan
	p.TrustWhy, p.Base = judged.why, base
	p.Release.Approvals = max(p.Release.Approvals, b.config.Projects[change.Repo].Approvals)
	if problems := b.confine(p); len(problems) > 0 {
		return nil, event.RunRejected{Change: change, Problems: problems}, nil
	}
	b.restrict(p)
	b.tellSecrets(p)
	if err := b.gather(p); err != nil {
		return nil, rejected(change, err), nil
	}
	return p, nil, nil
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

// restrict takes the right to publish from a plan of a change that the installation does not trust to release.
func (b *builder) restrict(p *plan.Plan) {
	if denied := b.denied(p); denied != "" {
		p.Targets, p.Release.Denied, p.Warnings = nil, denied, append(p.Warnings, denied)
	}
}

// tellSecrets warns of protected environments, and of secrets that tasks ask for and that the installation does not give them
// now. The environments and grants that hold when an attempt begins decide.
func (b *builder) tellSecrets(p *plan.Plan) {
	p.Warnings = append(p.Warnings, b.config.Environments.Explain(p)...)
	why := map[string]map[string]bool{}
	for _, one := range b.config.Grants.Explain(p, b.config.Environments) {
		if !one.Allowed {
			text := "secret " + one.Secret + " is not given: " + one.Reason
			if why[text] == nil {
				why[text] = map[string]bool{}
			}
			why[text][one.Work] = true
		}
	}
	for _, text := range slices.Sorted(maps.Keys(why)) {
		work := slices.Sorted(maps.Keys(why[text]))
		if more := len(work) - 3; more > 0 {
			work = append(work[:3], fmt.Sprintf("%d more", more))
		}
		p.Warnings = append(p.Warnings, strings.Join(work, ", ")+": "+text)
	}
}

// denied says why the installation lets nothing be published that the plan would let.
func (b *builder) denied(p *plan.Plan) string {
	if allowed, _ := p.Release.Allows(p.Change); !allowed {
		return ""
	}
	switch {
	case !b.config.Projects[p.Change.Repo].releases(p.Change.Ref):
	case p.Trust == release.TrustRelease:
		return ""
	default:
		return fmt.Sprintf("the definition lets %s publish, but the change is %s: %s", p.Change.Ref, p.Trust, p.TrustWhy)
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

func rejected(change release.Change, err error) event.Payload {
	return event.RunRejected{Change: change, Problems: problemsOf(err)}
}

// announce is what follows from a plan: the run is planned, its build tasks are requested.
func announce(p *plan.Plan, digest release.Digest) []event.Payload {
	planned := event.RunPlanned{
		Change: p.Change, Plan: digest, Release: p.Release, Skipped: int32(len(p.Skipped)), GateTests: p.Gate.Tests,
		Warnings: p.Warnings, Untested: p.Gate.Untested, KeepGoing: p.KeepGoing, Supersede: p.Supersede, RetryBudget: p.RetryBudget,
		Trust: p.Trust, TrustReason: p.TrustWhy,
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
		builds = append(builds, t.Request(digest, p.Trust))
	}
	return append([]event.Payload{planned}, builds...)
}
