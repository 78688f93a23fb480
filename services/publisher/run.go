package publisher

import (
	"context"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// retryEvery is how soon an intent that did not become a fact is said again.
const retryEvery = 5 * time.Second

// run follows the facts and says what comes next for every run whose gate opened.
func (p *publisher) run(ctx context.Context) error {
	facts, err := p.deps.Bus.Follow(ctx, bus.Following{Name: Name + "-saga", Types: sagaHears()})
	if err != nil {
		return err
	}
	defer facts.Close()
	sagas, touched := map[release.RunID]*saga{}, map[release.RunID]bool{}
	for {
		batch, err := facts.Next(ctx, retryEvery)
		if err != nil {
			return err
		}
		for _, e := range batch.Events {
			fold(sagas, e)
			touched[e.Run] = true
		}
		if batch.Live {
			p.decide(ctx, sagas, touched)
		}
	}
}

func fold(sagas map[release.RunID]*saga, e event.Event) {
	s := sagas[e.Run]
	if s == nil {
		s = newSaga()
		sagas[e.Run] = s
	}
	s.apply(e)
	if s.published {
		sagas[e.Run] = &saga{published: true, targets: map[string]*progress{}, retries: map[string]bool{}, failed: map[int32]bool{}}
	}
}

// decide says what follows for the runs that were touched. A run stays touched until what it says is stored.
func (p *publisher) decide(ctx context.Context, sagas map[release.RunID]*saga, touched map[release.RunID]bool) {
	for run := range touched {
		s := sagas[run]
		intents := s.decide()
		events := make([]event.Event, 0, len(intents))
		for _, intent := range intents {
			events = append(events, event.New(s.cause, p.deps.Source(Name), p.deps.Now(), intent))
		}
		if err := p.deps.Bus.Publish(ctx, events...); err != nil {
			p.deps.Log.Warn("cannot say the next steps of a publication; trying again", "run", run, "err", err)
			continue
		}
		delete(touched, run)
	}
}
