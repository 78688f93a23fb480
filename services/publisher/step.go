package publisher

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/secret"
)

// maxDocument bounds a plan or a candidate.
const maxDocument = 64 << 20

// step makes one step of one target. What may succeed later comes again, with growing delays, until its time is over; what a
// person must decide is said.
func (p *publisher) step(ctx context.Context, d *bus.Delivery[event.PublicationRequested]) error {
	done, err := p.attempt(ctx, d)
	var forbidden *refused
	var broken *stoppedError
	switch {
	case errors.Is(err, errGone):
		return nil
	case errors.As(err, &broken):
		return d.Emit(ctx, failed(d.Data, "stopped", err))
	case errors.As(err, &forbidden):
		return d.Emit(ctx, failed(d.Data, notBegun, err))
	case fault.Is(err, fault.Transient) && p.patient(d, err):
		p.tell(ctx, d, err)
		return fmt.Errorf("target %s is not %s yet: %w", d.Data.Target, d.Data.State, err)
	case err != nil:
		return d.Emit(ctx, failed(d.Data, string(fault.Of(err)), err))
	}
	return d.Emit(ctx, done)
}

func failed(want event.PublicationRequested, kind string, err error) event.PublicationFailed {
	return event.PublicationFailed{
		Target: want.Target, Kind: want.Kind, State: want.State, Round: want.Round, Fault: kind, Reason: err.Error(),
	}
}

// patient reports whether a step is tried again. A registry that takes an upload and never shows it, or is away for a day, is
// for a person.
func (p *publisher) patient(d *bus.Delivery[event.PublicationRequested], err error) bool {
	return bus.Untimely(err) || p.deps.Now().Before(d.Event.Stored.Add(p.config.Patience))
}

// tell says what a step waits for: soon, then about every quarter of an hour.
func (p *publisher) tell(ctx context.Context, d *bus.Delivery[event.PublicationRequested], cause error) {
	n := d.Number()
	now := p.deps.Now()
	delayed := event.PublicationDelayed{
		Target: d.Data.Target, Kind: d.Data.Kind, State: d.Data.State, Round: d.Data.Round, Tried: n, Reason: cause.Error(),
		Next: now.Add(bus.NextTry(cause, n)).UTC(), Until: d.Event.Stored.Add(p.config.Patience).UTC(), Since: d.Event.Stored.UTC(),
	}
	p.book.delayed(d.Event.Run, delayed)
	if n != 3 && n != 6 && n != 12 && n%15 != 0 {
		return
	}
	if err := d.Emit(ctx, delayed); err != nil {
		p.deps.Log.Warn("cannot say what a publication waits for", "target", d.Data.Target, "err", err)
	}
}

// refused is a step that was forbidden before it began.
type refused struct{ why string }

func (r *refused) Error() string { return r.why }

var errGone = errors.New("nobody wants the step any more")

// attempt makes the step if it may be made now.
func (p *publisher) attempt(ctx context.Context, d *bus.Delivery[event.PublicationRequested]) (event.PublicationAdvanced, error) {
	ctx, cancel := context.WithTimeout(ctx, p.config.StepTimeout)
	defer cancel()
	w := &work{
		publisher: p, run: d.Event.Run, want: d.Data, stored: d.Event.Stored, seq: d.Event.Seq, tries: d.Number(),
		done: event.PublicationAdvanced{Target: d.Data.Target, Kind: d.Data.Kind, State: d.Data.State, Round: d.Data.Round},
	}
	err := w.make(ctx)
	return w.done, err
}

// granted finds the secrets and variables that the installation grants to a target of a project. A definition that names
// what belongs to another project gets nothing.
func (p *publisher) granted(r Release, t plan.Target) Secrets {
	return func(name string) (string, error) {
		d := p.config.Grants.Decide(secret.OfTarget(r.plan, t, name))
		if !d.Allowed {
			return "", fault.New(fault.Denied, "cannot give secret %s to target %s: %s", name, t.Name, d.Reason)
		}
		return p.deps.Secret(name)
	}
}

func published(p Probe) []event.PublishedFile {
	var out []event.PublishedFile
	for _, f := range p.Files {
		out = append(out, event.PublishedFile{Name: f.Name, Digest: f.Digest, URL: f.Location, Present: f.Present, Before: f.Before})
	}
	return out
}

// open reads the plan and the candidate, believes neither before checking, and picks the target's items.
func (p *publisher) open(ctx context.Context, run release.RunID, want event.PublicationRequested, seq uint64) (Release, plan.Target, error) {
	if err := p.gateOpened(ctx, run, want, seq); err != nil {
		return Release{}, plan.Target{}, err
	}
	frozen, err := p.plan(ctx, want.Plan)
	if err != nil {
		return Release{}, plan.Target{}, err
	}
	c, err := p.candidate(ctx, run, frozen, want.Blob)
	if err != nil {
		return Release{}, plan.Target{}, err
	}
	i := slices.IndexFunc(frozen.Targets, func(t plan.Target) bool { return t.Name == want.Target && t.Kind == want.Kind })
	if i < 0 {
		return Release{}, plan.Target{}, fault.New(fault.Invalid, "cannot publish to target %q of kind %s: the plan of run %s has no such target", want.Target, want.Kind, run)
	}
	picked, err := Select(c, frozen.Targets[i], p.openBlob)
	r := Release{Run: run, Project: frozen.Project, Commit: c.Commit, Branch: frozen.Change.Branch, Change: frozen.Change, Candidate: c, Items: picked, plan: frozen}
	return r, frozen.Targets[i], err
}

// gateOpened looks itself whether the gate of the run opened for exactly this candidate and plan. A request alone proves
// nothing: whoever can write to the bus can make one. A server of a cluster that was away may not have the opening yet, so
// its word counts only once the facts are read in their order up to the request.
func (p *publisher) gateOpened(ctx context.Context, run release.RunID, want event.PublicationRequested, seq uint64) error {
	for round := want.Round; round >= 0; round-- {
		e, err := p.deps.Bus.Get(ctx, event.Event{Type: event.TypeGateOpened, Run: run, Key: event.GateOpened{Round: round}.Key()}.Subject())
		if bus.Empty(err) {
			continue
		}
		if err != nil {
			return err
		}
		if g, ok := e.Data.(event.GateOpened); ok && g.Blob == want.Blob && g.Plan == want.Plan {
			return nil
		}
	}
	read, cancel := context.WithTimeout(ctx, caughtUp)
	defer cancel()
	if err := p.book.reach(read, seq); err != nil || p.book.opened(run, want) {
		return err
	}
	return fault.New(fault.Denied, "cannot publish candidate %s: the gate of run %s did not open for it", want.Blob, run)
}

// plan reads the frozen plan and checks by itself that its change may publish.
func (p *publisher) plan(ctx context.Context, d release.Digest) (*plan.Plan, error) {
	b, err := blob.ReadAll(ctx, p.deps.Blobs, d, maxDocument)
	if err != nil {
		return nil, err
	}
	frozen, err := plan.Decode(b)
	if err != nil {
		return nil, fault.As(fault.Invalid, err)
	}
	if ok, reason := frozen.Release.Allows(frozen.Change); !ok {
		return nil, fault.New(fault.Denied, "cannot publish commit %s: %s", frozen.Change.Commit.Short(), reason)
	}
	if on := frozen.Gate.On; len(on) > 0 && !slices.Contains(on, string(frozen.Change.Kind)) {
		return nil, fault.New(fault.Denied, "cannot publish commit %s: the gate is for changes of kind %v, this is a %s", frozen.Change.Commit.Short(), on, frozen.Change.Kind)
	}
	return frozen, nil
}

// candidate reads the frozen candidate; that its id fits its artifacts is checked before every step (admit).
func (p *publisher) candidate(ctx context.Context, run release.RunID, frozen *plan.Plan, d release.Digest) (release.Candidate, error) {
	var c release.Candidate
	b, err := blob.ReadAll(ctx, p.deps.Blobs, d, maxDocument)
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return c, fault.New(fault.Invalid, "cannot read candidate %s: %w", d, err)
	}
	if c.Run != run || c.Commit != frozen.Change.Commit {
		return c, fault.New(fault.Denied, "cannot publish candidate %s: it is of run %s at %s, this is run %s at %s", c.ID, c.Run, c.Commit.Short(), run, frozen.Change.Commit.Short())
	}
	return c, nil
}

func (p *publisher) openBlob(ctx context.Context, d release.Digest) (io.ReadCloser, error) {
	r, _, err := p.deps.Blobs.Open(ctx, d)
	return r, err
}
