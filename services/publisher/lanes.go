package publisher

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
)

// lanes bound how many steps of one target are made at once, so that a registry that is slow holds up its own targets only,
// however many there are. A step that finds its lane full comes again.
//
// A retry may ask for a step that is under way. It waits for that one, and then finds everything there. It does not wait for one
// that hangs.
type lanes struct {
	mu   sync.Mutex
	wide int
	busy map[string][]*underway // by target
}

type underway struct {
	step  string
	began time.Time
}

const (
	// laneFull is how soon a step comes again that found its lane full.
	laneFull = time.Second
	// hanging is how long a step is under way before the same step is made beside it.
	hanging = time.Minute
)

func newLanes(wide int) *lanes { return &lanes{wide: wide, busy: map[string][]*underway{}} }

// enter lets a step of a target begin, or returns nil. The caller calls leave when the step has ended.
func (l *lanes) enter(target, step string, now time.Time) (leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.busy[target]) >= l.wide {
		return nil
	}
	if slices.ContainsFunc(l.busy[target], func(u *underway) bool { return u.step == step && now.Sub(u.began) < hanging }) {
		return nil
	}
	u := &underway{step, now}
	l.busy[target] = append(l.busy[target], u)
	return func() { l.leave(target, u) }
}

// wait enters as soon as there is room, while ctx lasts.
func (l *lanes) wait(ctx context.Context, target, step string, now func() time.Time) (leave func(), err error) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if leave = l.enter(target, step, now()); leave != nil {
			return leave, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fault.New(fault.Transient, "other steps of the target are under way: %w", ctx.Err())
		}
	}
}

func (l *lanes) leave(target string, u *underway) {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := slices.DeleteFunc(l.busy[target], func(other *underway) bool { return other == u })
	if l.busy[target] = left; len(left) == 0 {
		delete(l.busy, target)
	}
}
