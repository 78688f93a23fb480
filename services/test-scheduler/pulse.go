package scheduler

import (
	"context"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
)

// pulse says a heartbeat that the desk hears through the bus: as long as it comes back, the silence of executors is theirs.
// The desk must be at work for it, since to other schedulers it means that somebody decides.
func (d *desk) pulse(ctx context.Context) error {
	every := d.s.config.beat()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for number := int64(1); ; number++ {
		if d.working() {
			d.beat(ctx, number, 4*every)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// beat is between the heartbeats of a scheduler.
func (c Config) beat() time.Duration { return c.core().Silence() / 4 }

// beat says one heartbeat. One that is not stored in time is made good by the next.
func (d *desk) beat(ctx context.Context, number int64, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	beat := event.SchedulerHeartbeat{Scheduler: d.s.deps.Instance, Number: number}
	if err := d.s.deps.Bus.Publish(ctx, event.Root(event.Fleet, d.s.deps.Source(Name), d.s.deps.Now(), beat)); err != nil {
		d.s.deps.Log.Debug("the scheduler's own heartbeat was not stored", "err", err)
	}
}

// whenBlind calls again once the desk has been blind for a while, and not before what follows had time to hear anything.
func (d *desk) whenBlind(ctx context.Context, again func()) {
	ticker := time.NewTicker(blindFor)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if d.blind() >= blindFor {
			again()
			return
		}
	}
}

// working reports whether the desk decides.
func (d *desk) working() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.live
}

// blind is for how long the desk has not heard itself; zero while it can tell who lives.
func (d *desk) blind() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.live {
		return 0
	}
	since, blind := d.state.Blind(d.s.deps.Now())
	if !blind {
		return 0
	}
	return max(since, time.Nanosecond)
}
