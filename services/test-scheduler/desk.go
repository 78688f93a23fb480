package scheduler

import (
	"context"
	"sync"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/lease"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/schedule"
)

// desk is where decisions are made: the core, and what is known of how new its knowledge is. Its loop writes; questions
// read.
type desk struct {
	s      *scheduler
	sender *sender

	mu      sync.Mutex
	state   *schedule.State
	live    bool // the history is read: from here on it decides
	fresh   bool // the last batch of facts was the newest
	answers bool
	blinded bool // it was said that the scheduler is blind
	decided time.Time
}

func newDesk(s *scheduler) *desk {
	return &desk{s: s, sender: newSender(s.deps), state: schedule.New(s.core())}
}

// take folds a batch.
func (d *desk) take(batch bus.Batch, facts bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range batch.Events {
		d.state.Apply(e)
	}
	d.tellDoubts()
	if facts {
		d.fresh = batch.Live
		d.live = d.live || batch.Live
	}
}

// tellDoubts reports facts that do not count because whoever said them may not speak of the attempt.
func (d *desk) tellDoubts() {
	for _, x := range d.state.Doubts() {
		d.s.deps.Log.Warn("ignored what a pool says of an attempt of another pool", "pool", x.Pool, "owner", x.Owner,
			"run", x.Run, "task", x.Task, "attempt", x.Attempt)
	}
}

// decide says what follows from what is known and returns how long until the next look. While facts stream in it looks
// only now and then: what is decided on old knowledge is harmless, but mostly in vain.
func (d *desk) decide(ctx context.Context) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.s.deps.Now()
	if !d.live {
		return idle
	}
	if since := now.Sub(d.decided); !d.fresh && since >= 0 && since < settle {
		return settle
	}
	d.decided = now
	d.open(ctx)
	intents, next := schedule.Decide(d.state, now)
	d.warn(now)
	if wanted := len(intents); wanted > 0 {
		if intents = d.current(ctx, intents); len(intents) < wanted {
			next = now.Add(settle)
		}
	}
	if len(intents) > 0 && d.sender.send(ctx, intents) {
		d.state.Sent(intents)
	}
	return until(next, now)
}

// warn says once that the scheduler is blind, and that it sees again. The first heartbeat takes a moment to come back: for as long as
// two of them nothing is wrong.
func (d *desk) warn(now time.Time) {
	since, blind := d.state.Blind(now)
	if blind = blind && since > 2*d.s.config.beat(); blind == d.blinded {
		return
	}
	d.blinded = blind
	if blind {
		d.s.deps.Log.Warn("this scheduler does not hear itself through the bus; no executor is declared lost until it does", "for", since)
		return
	}
	d.s.deps.Log.Info("this scheduler hears itself through the bus")
}

func until(next, now time.Time) time.Duration {
	if next.IsZero() {
		return idle
	}
	return min(max(next.Sub(now), time.Millisecond), idle)
}

// recall reads the facts of runs that were forgotten and are needed again.
func (d *desk) recall(ctx context.Context) error {
	for _, run := range d.recalls() {
		facts, err := d.s.history(ctx, run)
		if err != nil {
			return err
		}
		d.take(bus.Batch{Events: facts}, false)
	}
	return nil
}

func (d *desk) recalls() []release.RunID {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state.Recalls()
}

// history reads every fact of a run.
func (s *scheduler) history(ctx context.Context, run release.RunID) ([]event.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	f, err := s.deps.Bus.Follow(ctx, bus.Following{Name: Name + "-recall", Run: string(run), Types: schedule.Hears()})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []event.Event
	for {
		batch, err := f.Next(ctx, patrol)
		if err != nil {
			return nil, err
		}
		if out = append(out, batch.Events...); batch.Live {
			return out, nil
		}
	}
}

// open begins to answer questions, once the answers are true.
func (d *desk) open(ctx context.Context) {
	if d.answers {
		return
	}
	d.answers = true
	for topic, err := range map[string]error{
		TopicWhy:    bus.Answer(ctx, d.s.deps.Bus, TopicWhy, d.why),
		TopicQueues: bus.Answer(ctx, d.s.deps.Bus, TopicQueues, d.queues),
		lease.Topic: bus.Answer(ctx, d.s.deps.Bus, lease.Topic, d.places),
		TopicLimits: bus.Answer(ctx, d.s.deps.Bus, TopicLimits, d.quotas),
	} {
		if err != nil {
			d.s.deps.Log.Error("nobody will be told", "topic", topic, "err", err)
		}
	}
}

func (d *desk) why(ctx context.Context, q Question) (schedule.Why, error) {
	if !release.Token(string(q.Run)) || q.Task != "" && !release.Token(string(q.Task)) {
		return schedule.Why{}, fault.New(fault.Invalid, "cannot explain run %q, task %q: expected letters, digits, - and _", q.Run, q.Task)
	}
	if d.forgotten(q.Run) {
		return d.remember(ctx, q)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return schedule.Explain(d.state, q.Run, q.Task, d.s.deps.Now()), nil
}

func (d *desk) forgotten(run release.RunID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state.Forgotten(run)
}

// remember explains a run that ended long ago, from its facts.
func (d *desk) remember(ctx context.Context, q Question) (schedule.Why, error) {
	config := d.s.config.core()
	config.Keep = -1
	state := schedule.New(config)
	facts, err := d.s.history(ctx, q.Run)
	if err != nil {
		return schedule.Why{}, err
	}
	for _, e := range facts {
		state.Apply(e)
	}
	return schedule.Explain(state, q.Run, q.Task, d.s.deps.Now()), nil
}

func (d *desk) queues(context.Context, Everything) ([]schedule.Pool, error) { return d.pools(), nil }

func (d *desk) pools() []schedule.Pool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return schedule.Survey(d.state)
}
