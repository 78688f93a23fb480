package publisher

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// maxDocument bounds a plan or a candidate.
const maxDocument = 64 << 20

// step makes one step of one target. What may succeed later comes again, with growing delays; what a person must decide
// is said.
func (p *publisher) step(ctx context.Context, d *bus.Delivery[event.PublicationRequested]) error {
	ctx, cancel := context.WithTimeout(ctx, p.config.StepTimeout)
	defer cancel()
	done, err := p.make(ctx, d.Event.Run, d.Data)
	if fault.Is(err, fault.Transient) {
		return fmt.Errorf("target %s is not %s yet: %w", d.Data.Target, d.Data.State, err)
	}
	if err != nil {
		return d.Emit(ctx, event.PublicationFailed{
			Target: d.Data.Target, Kind: d.Data.Kind, State: d.Data.State, Round: d.Data.Round,
			Fault: string(fault.Of(err)), Reason: err.Error(),
		})
	}
	return d.Emit(ctx, done)
}

// make opens what was tested, and nothing else, and lets the target make the step.
func (p *publisher) make(ctx context.Context, run release.RunID, want event.PublicationRequested) (event.PublicationAdvanced, error) {
	done := event.PublicationAdvanced{Target: want.Target, Kind: want.Kind, State: want.State, Round: want.Round}
	r, t, err := p.open(ctx, run, want)
	if err != nil {
		return done, err
	}
	target, err := Open(t, Setup{Temp: p.config.Temp, Root: p.config.Root, Now: p.deps.Now}, Secrets(p.deps.Secret))
	if err != nil {
		return done, err
	}
	switch want.State {
	case release.Probed:
		probe, err := target.Probe(ctx, r)
		done.Files, done.Detail = published(probe), probe.String()
		return done, err
	case release.Staged:
		return done, target.Stage(ctx, r)
	case release.Committed:
		if len(want.Leave) > 0 {
			done.Detail = "a run that was planned later has " + strings.Join(want.Leave, ", ")
		}
		return done, target.Commit(ctx, r)
	case release.Verified:
		return done, target.Verify(ctx, r)
	default:
		return done, fault.New(fault.Invalid, "cannot bring target %q to state %q: the states are %v", want.Target, want.State, release.PublicationStates())
	}
}

func published(p Probe) []event.PublishedFile {
	var out []event.PublishedFile
	for _, f := range p.Files {
		out = append(out, event.PublishedFile{Name: f.Name, Digest: f.Digest, URL: f.Location, Present: f.Present})
	}
	return out
}

// open reads the plan and the candidate, believes neither before checking, and picks the target's items.
func (p *publisher) open(ctx context.Context, run release.RunID, want event.PublicationRequested) (Release, plan.Target, error) {
	if err := p.gateOpened(ctx, run, want); err != nil {
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
	r := Release{Run: run, Project: frozen.Project, Commit: c.Commit, Branch: frozen.Change.Branch, Change: frozen.Change, Candidate: c, Items: picked, Leave: want.Leave}
	return r, frozen.Targets[i], err
}

// gateOpened looks itself whether the gate of the run opened for exactly this candidate and plan. A request alone proves
// nothing: whoever can write to the bus can make one.
func (p *publisher) gateOpened(ctx context.Context, run release.RunID, want event.PublicationRequested) error {
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
