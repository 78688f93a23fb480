package bus

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
)

// maxInternal is how often a message is tried whose handler fails with an unknown error.
const maxInternal = 5

// verdict is what becomes of a message.
type verdict struct {
	ack   bool
	later time.Duration // with neither ack nor dead: when to try again
	dead  bool
}

// again is the error of a handler whose time has not come.
type again struct{ after time.Duration }

func (a *again) Error() string { return "it is to come again in " + a.after.String() }

// Again is what a handler returns to get its message once more after exactly that time, in this process or another:
// nothing has failed. So a message is a timer that no restart loses.
func Again(after time.Duration) error { return fault.As(fault.Transient, &again{after}) }

// untimely reports whether nothing has failed but the time has not come, and when it does.
func untimely(err error) (time.Duration, bool) {
	var timer *again
	if !errors.As(err, &timer) {
		return 0, false
	}
	return timer.after, true
}

// Untimely reports whether nothing has failed, but the time of a message has not come: its handler returned Again.
func Untimely(err error) bool {
	_, timer := untimely(err)
	return timer
}

// NextTry is how long a message waits that failed with a transient error and was delivered so often.
func NextTry(err error, deliveries int32) time.Duration {
	return judge(err, uint64(max(deliveries, 0))).later
}

// judge turns an error and the number of deliveries so far into a verdict. It is the only place that does.
func judge(err error, deliveries uint64) verdict {
	if wait, timer := untimely(err); timer {
		return verdict{later: wait}
	}
	switch fault.Of(err) {
	case "":
		return verdict{ack: true}
	case fault.Transient:
		return verdict{later: max(fault.RetryAfter(err), backoff(deliveries))}
	case fault.Internal:
		if deliveries < maxInternal {
			return verdict{later: backoff(deliveries)}
		}
	}
	return verdict{dead: true}
}

// backoff doubles from 100 ms to one minute.
func backoff(deliveries uint64) time.Duration {
	d := 100 * time.Millisecond
	for range min(deliveries, 12) {
		d *= 2
	}
	return min(d/2, time.Minute)
}

// settle does what judge says. A message is acknowledged, or given up, only after what follows from it is durable.
func (b *Bus) settle(ctx context.Context, service string, r *Route, msg pulled, e event.Event, cause error) {
	deliveries := uint64(1)
	if meta, err := msg.Metadata(); err == nil {
		deliveries = meta.NumDelivered
	}
	v := judge(cause, deliveries)
	if v.dead {
		if err := b.bury(ctx, r.Durable(service), msg, deliveries, cause); err != nil {
			b.log.Error("cannot store a dead letter; trying again", "event", e.Describe(), "err", err)
			v = verdict{later: backoff(deliveries)}
		}
	}
	if err := carry(msg, v, cause); err != nil {
		b.log.Warn("cannot settle a message; it will come again", "event", e.Describe(), "err", err)
	}
	if _, timer := untimely(cause); cause != nil && !timer {
		level := slog.LevelWarn
		if fault.RetryAfter(cause) > 0 { // it said itself when to come again
			level = slog.LevelInfo
		}
		b.log.Log(ctx, level, "cannot handle an event", "service", service, "route", r.Name, "event", e.Describe(), "err", cause,
			"delivery", deliveries, "again_in", v.later, "dead", v.dead)
	}
}

func carry(msg pulled, v verdict, cause error) error {
	switch {
	case v.ack:
		return msg.ack()
	case v.dead:
		return msg.dead(firstLine(cause))
	default:
		return msg.later(v.later)
	}
}
