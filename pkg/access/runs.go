package access

import (
	"context"
	"sync"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// runs knows of which project a run is: the stream says so, and it never changes.
type runs struct {
	bus   *bus.Bus
	mu    sync.Mutex
	known map[string]string
}

const maxKnown = 20_000

// project is the project of a run, "" for a run that is not there or of none.
func (r *runs) project(ctx context.Context, run string) (string, error) {
	if !release.Token(run) || run == string(event.Fleet) {
		return "", nil
	}
	r.mu.Lock()
	project, known := r.known[run]
	r.mu.Unlock()
	if known {
		return project, nil
	}
	project, err := r.ask(ctx, release.RunID(run))
	if err != nil || project == "" {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil || len(r.known) >= maxKnown {
		r.known = map[string]string{}
	}
	r.known[run] = project
	return project, nil
}

func (r *runs) ask(ctx context.Context, run release.RunID) (string, error) {
	for _, t := range []event.Type{event.TypeChangeReceived, event.TypeRunPlanned, event.TypeRunRejected} {
		e, err := r.bus.Get(ctx, t.FilterRun(run))
		if bus.Empty(err) {
			continue
		}
		if err != nil {
			return "", err
		}
		switch d := e.Data.(type) {
		case event.ChangeReceived:
			return d.Change.Project, nil
		case event.RunPlanned:
			return d.Change.Project, nil
		case event.RunRejected:
			return d.Change.Project, nil
		}
	}
	return "", nil
}
