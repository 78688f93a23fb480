package publisher

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// retryEvery is how soon an intent that did not become a fact is said again.
const retryEvery = 5 * time.Second

// run follows the facts and says what comes next for every run whose gate opened.
func (p *publisher) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	facts, err := p.deps.Bus.Follow(ctx, bus.Following{Name: Name + "-saga", Types: sagaHears()})
	if err != nil {
		return err
	}
	defer facts.Close()
	if removed := sweep(p.config.Temp); len(removed) > 0 {
		p.deps.Log.Info("removed the temporary files of a publisher that was killed", "files", len(removed))
	}
	p.book.reset()
	answered := false
	touched := map[release.RunID]release.RunID{}
	for {
		batch, err := facts.Next(ctx, retryEvery)
		if err != nil {
			return err
		}
		p.book.take(batch)
		for _, e := range batch.Events {
			touched[e.Run] = ""
		}
		if batch.Live && !answered {
			if err := p.answer(ctx); err != nil {
				return err
			}
			answered = true
		}
		if batch.Live {
			p.decide(ctx, touched)
		}
	}
}

// decide says what follows for the runs that were touched. A run stays touched until what it says is stored, and while it
// waits for another. What was said counts for the next run at once, before it comes back as a fact.
func (p *publisher) decide(ctx context.Context, touched map[release.RunID]release.RunID) {
	for _, run := range slices.Sorted(maps.Keys(touched)) {
		cause, intents, waits := p.book.decide(run, p.deps.Now())
		events := make([]event.Event, 0, len(intents))
		for _, intent := range intents {
			events = append(events, event.New(cause, p.deps.Source(Name), p.deps.Now(), intent))
		}
		if err := p.deps.Bus.Publish(ctx, events...); err != nil {
			p.deps.Log.Warn("cannot say the next steps of a publication; trying again", "run", run, "err", err)
			continue
		}
		p.book.said(events)
		switch waits {
		case "":
			delete(touched, run)
		case touched[run], run: // told, or its own
		default:
			p.deps.Log.Info("a commit waits for another run, which is writing the same name", "run", run, "for", waits)
			touched[run] = waits
		}
	}
}
