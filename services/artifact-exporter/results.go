package exporter

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// summary is the text of results/round-<n>.json.
type summary struct {
	Run      release.RunID   `json:"run"`
	Round    int32           `json:"round"`
	Outcome  release.Outcome `json:"outcome"`
	Reason   string          `json:"reason,omitempty"`
	Attempts []attempt       `json:"attempts"`
	Files    []listed        `json:"files"`
}

// attempt is one line of a summary.
type attempt struct {
	Task    release.TaskID    `json:"task"`
	Attempt int32             `json:"attempt"`
	Outcome release.Outcome   `json:"outcome"`
	Class   release.Class     `json:"class"`
	Reason  string            `json:"reason,omitempty"`
	Tests   release.TestCount `json:"tests,omitzero"`
}

// results sees to it that the results of all attempts are kept, and sums them up.
func (x *exporter) results(ctx context.Context, d *bus.Delivery[event.RunFinished]) error {
	r, wanted, err := x.find(ctx, d.Event.Run)
	if bus.Empty(err) {
		return nil // it ended before it was planned, as a run does that is cancelled at once: there is nothing to keep
	}
	if err != nil || !wanted {
		return err
	}
	home, err := x.home(ctx, r)
	if err != nil {
		return err
	}
	finished, err := x.finished(ctx, r, d.Event)
	if err != nil {
		return err
	}
	s := summary{Run: r.id, Round: d.Data.Round, Outcome: d.Data.Outcome, Reason: d.Data.Reason, Attempts: []attempt{}, Files: []listed{}}
	for part := range slices.Chunk(finished, 64) {
		if err := x.addAttempts(ctx, r, home, part, &s); err != nil {
			return err
		}
	}
	text, err := document(s)
	if err != nil {
		return err
	}
	if err := x.keep(ctx, home, textFile(fmt.Sprintf("results/round-%d.json", s.Round), text)); err != nil {
		return err
	}
	m := manifest{Files: s.Files}
	return d.Emit(ctx, event.ArtifactExported{
		Destination: x.name, Part: "results", Round: s.Round, Location: x.to.location(home),
		Manifest: release.DigestOf(text), Files: int32(len(s.Files)), Bytes: m.bytes(),
	})
}

// addAttempts keeps the files of some attempts at once, and adds them to the summary in their order.
func (x *exporter) addAttempts(ctx context.Context, r *run, home string, attempts []event.TaskFinished, s *summary) error {
	kept := make([][]file, len(attempts))
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(atATime)
	for i, t := range attempts {
		group.Go(func() (err error) {
			if kept[i], err = x.attemptFiles(inner, r, t); err != nil {
				return fmt.Errorf("cannot keep the results of %s, attempt %d of %s: %w", r.id, t.Attempt, t.Task, err)
			}
			return x.keep(inner, home, kept[i]...)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, t := range attempts {
		s.Attempts = append(s.Attempts, attempt{
			Task: t.Task, Attempt: t.Attempt, Outcome: t.Outcome, Class: t.Class, Reason: t.Reason, Tests: t.Tests,
		})
		for _, f := range kept[i] {
			s.Files = append(s.Files, listed{Path: f.path, Digest: f.digest, Size: f.size, MediaType: f.mediaType})
		}
	}
	return nil
}

// finished reads the attempts that had ended when the run did, in their order. Later ones belong to another round; so
// the summary is the same whenever it is written.
func (x *exporter) finished(ctx context.Context, r *run, end event.Event) ([]event.TaskFinished, error) {
	if end.Seq == 0 { // replayed from the dead letters
		stored, err := x.deps.Bus.Get(ctx, end.Subject())
		if err != nil {
			return nil, err
		}
		end = stored
	}
	follower, err := x.deps.Bus.Follow(ctx, bus.Following{
		Name: Name + "-results", Run: string(end.Run), Types: []event.Type{event.TypeTaskFinished},
	})
	if err != nil {
		return nil, err
	}
	defer follower.Close()
	var out []event.TaskFinished
	for {
		batch, err := follower.Next(ctx, 10*time.Second)
		if err != nil {
			return nil, err
		}
		for _, e := range batch.Events {
			if t, ok := e.Data.(event.TaskFinished); ok && e.Seq < end.Seq && r.pools[t.Task] == t.Pool {
				out = append(out, t)
			}
		}
		switch {
		case batch.Live || batch.Last > end.Seq:
			return out, nil
		case len(batch.Events) == 0:
			return nil, fault.New(fault.Transient, "cannot read the attempts of run %s: the stream is silent", end.Run)
		}
	}
}
