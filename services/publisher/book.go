package publisher

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/environment"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// book is the fold of all publications, for the loop that decides and for the workers that make steps.
type book struct {
	mu   sync.Mutex
	all  *sagas
	read uint64        // place of the last fact
	more chan struct{} // closed when it has grown
}

func newBook(rules environment.Rules) *book {
	b := &book{all: newSagas(), more: make(chan struct{})}
	b.all.rules = rules
	return b
}

// take folds what was read.
func (b *book) take(batch bus.Batch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range batch.Events {
		b.all.apply(e)
	}
	if batch.Last > b.read {
		b.read = batch.Last
		close(b.more)
		b.more = make(chan struct{})
	}
}

// decide returns what is to be said next of a run, and what it waits for.
func (b *book) decide(run release.RunID, now time.Time) (cause event.Event, intents []event.Payload, waits release.RunID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	intents, waits = b.all.decide(run, now)
	return b.all.of[run].cause, intents, waits
}

// said takes requests into account before they come back as facts: the next run is decided with them.
func (b *book) said(events []event.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range events {
		if _, asked := e.Data.(event.PublicationRequested); asked {
			b.all.apply(e)
		}
	}
}

func (b *book) permit(run release.RunID, p event.PublicationRequested, now time.Time) permit {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.permit(run, p, now)
}

// reach waits until everything up to a place in the stream is folded.
func (b *book) reach(ctx context.Context, seq uint64) error {
	for {
		b.mu.Lock()
		read, more := b.read, b.more
		b.mu.Unlock()
		if read >= seq {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return fault.New(fault.Transient, "cannot decide whether it may commit: the facts are read up to %d, the newest that matters is %d", read, seq)
		}
	}
}

// opened reports whether the gate of a run is known to have opened for the candidate and the plan of a request.
func (b *book) opened(run release.RunID, want event.PublicationRequested) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.all.of[run]
	return s != nil && s.opened != nil && s.opened.Blob == want.Blob && s.opened.Plan == want.Plan
}

// caughtUp is how long a worker waits until the fold is as new as the stream.
const caughtUp = 10 * time.Second

// current makes the fold as new as the stream is now, as far as it matters for a commit: what people said of the run, and which
// names any run has taken. What cannot be undone is decided on nothing older.
func (p *publisher) current(ctx context.Context, run release.RunID) error {
	ctx, cancel := context.WithTimeout(ctx, caughtUp)
	defer cancel()
	subjects := []string{event.TypePublicationRequested.Filter(), event.TypePublicationAdvanced.Filter()}
	for _, t := range []event.Type{
		event.TypeRunCancelRequested, event.TypeGateHeld, event.TypeGateResumed, event.TypePublicationRetryRequested, event.TypePublicationUndoRequested,
		event.TypePublicationFailed, event.TypeReleaseFailed,
	} {
		subjects = append(subjects, t.FilterRun(run))
	}
	newest := uint64(0)
	for _, subject := range subjects {
		e, err := p.deps.Bus.Get(ctx, subject)
		if err != nil && !bus.Empty(err) {
			return fault.As(fault.Transient, err)
		}
		newest = max(newest, e.Seq)
	}
	return p.book.reach(ctx, newest)
}

// reset begins the fold anew, with the facts read from their beginning.
func (b *book) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	rules := b.all.rules
	b.all, b.read = newSagas(), 0
	b.all.rules = rules
}

// repeated reports whether a person asked for a step again after its target was committed.
func (b *book) repeated(run release.RunID, p event.PublicationRequested) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.all.of[run]
	return s != nil && !s.target(p.Target, p.Kind).done[attempt{release.Committed, p.Round}]
}

// had is what the names of a target stood for before a run was committed to it.
func (b *book) had(run release.RunID, p event.PublicationRequested) map[string]release.Digest {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.had(run, b.all.of[run].target(p.Target, p.Kind))
}

// stopped waits until somebody stops a release, and ends the commit that is under way.
func (b *book) stopped(ctx context.Context, run release.RunID, stop context.CancelCauseFunc) {
	for {
		b.mu.Lock()
		why, more := "", b.more
		if s := b.all.of[run]; s != nil {
			why = s.orders.broken()
		}
		b.mu.Unlock()
		if why != "" {
			stop(&stoppedError{why})
			return
		}
		select {
		case <-more:
		case <-ctx.Done():
			return
		}
	}
}

// delayed notes that a step is to be tried again, each time: the facts tell of some of the tries.
func (b *book) delayed(run release.RunID, p event.PublicationDelayed) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.all.of[run]; s != nil && !s.published {
		s.target(p.Target, p.Kind).wait(p)
	}
}

// standings are how the targets of a run are, now.
func (b *book) standings(run release.RunID, now time.Time) []standing {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.all.of[run]
	if s == nil {
		return nil
	}
	b.all.waits(run, s, now)
	return s.standings(run)
}

// waiting lists the publications that wait for something.
func (b *book) waiting(now time.Time) (out []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, run := range slices.Sorted(maps.Keys(b.all.of)) {
		s := b.all.of[run]
		if s.over() {
			continue
		}
		b.all.waits(run, s, now)
		for _, one := range s.standings(run) {
			if one.waits {
				out = append(out, "run "+string(run)+", "+one.String())
			}
		}
	}
	return out
}

// refuses is why nothing of a run would be published now, or "".
func (b *book) refuses(run release.RunID) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.all.of[run]
	switch {
	case s == nil || s.planned == nil || s.published:
		return ""
	case s.opened == nil:
		return cmp.Or(s.orders.stopped(), "the gate has not opened")
	default:
		return cmp.Or(s.orders.stopped(), s.forbidden())
	}
}

// committed reports whether users may see something of a target.
func (b *book) committed(run release.RunID, target, kind string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.all.of[run]
	return s != nil && s.target(target, kind).reached.Reached(release.Committed)
}

// lost are those names of a target, except the ones that were left, that releases have which were pushed later, with what those
// make them stand for.
func (b *book) lost(run release.RunID, t moved, left []string) map[string]release.Digest {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.lost(run, t, left)
}

// moved are the names that a commit moves, and the place of its run's push.
func (b *book) moved(run release.RunID, p event.PublicationRequested) moved {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.all.of[run]
	return moved{s.at, s.target(p.Target, p.Kind).names}
}
