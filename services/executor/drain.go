package executor

import (
	"context"
	"fmt"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// drain takes no more work for good, and says so: in a fact, so that what is in hand can be planned for elsewhere, and in
// every heartbeat. It returns when the time of what runs is over.
func (e *executor) drain(ctx context.Context, reason string) <-chan time.Time {
	e.refuse(reason, true)
	e.farewell = &event.ExecutorDraining{
		Pool: e.config.Pool, Executor: e.deps.Instance, Reason: reason, Deadline: e.now().Add(e.config.Drain).UTC(),
		Running: e.state().Running,
	}
	e.sayFarewell(ctx)
	return time.After(e.config.Drain)
}

// sayFarewell says that the executor drains, until it is heard.
func (e *executor) sayFarewell(ctx context.Context) {
	if e.farewell == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := e.deps.Bus.Publish(ctx, event.Root(event.Fleet, e.source(), e.now(), *e.farewell)); err != nil {
		e.log.Warn("nobody was told that this executor ends; trying again", "err", err)
		return
	}
	e.farewell = nil
}

// stopAll ends what is still in hand, as lost: it is made again elsewhere at once.
func (e *executor) stopAll() {
	for _, a := range e.inHand(anyone) {
		a.stop(release.ClassLost, fmt.Sprintf("the executor was told to end and %s were over", e.config.Drain))
	}
}

// ending reports whether the executor takes no more work for good.
func (e *executor) ending() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.draining
}
